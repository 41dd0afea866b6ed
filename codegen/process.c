/* Running the C compiler; see process.h. posix_spawn, with output through a pipe so that what the
   compiler says can be shown behind gc's own message, or not at all. */
#define _GNU_SOURCE
#include "codegen/process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_LIMIT = 64 << 10 };
extern char **environ;

bool process_start(Process *p, const char *const *argv) {
  p->pid = p->out = -1;
  int fd[2];
  if (pipe2(fd, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fd[1], 1);
  posix_spawn_file_actions_adddup2(&actions, fd[1], 2);
  pid_t pid;
  /* posix_spawnp does not write to argv; its type is older than const */
  int error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(fd[1]);
  if (error) {
    close(fd[0]);
    errno = error;
    return false;
  }
  p->pid = pid;
  p->out = fd[0];
  return true;
}

int process_wait(Process *p, Arena *a, char **output) {
  char *text = arena_alloc(a, OUTPUT_LIMIT + 1);
  size_t n = 0;
  char rest[4096];
  for (;;) { /* what does not fit is read and dropped: the tool must not block */
    ssize_t got = n < OUTPUT_LIMIT ? read(p->out, text + n, OUTPUT_LIMIT - n)
                                   : read(p->out, rest, sizeof rest);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (n < OUTPUT_LIMIT) n += (size_t)got;
  }
  close(p->out);
  int status = 0;
  while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) {}
  p->pid = -1;
  if (output) *output = text;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int process_run(const char *const *argv, Arena *a, char **output) {
  Process p;
  if (!process_start(&p, argv)) return -1;
  return process_wait(&p, a, output);
}
