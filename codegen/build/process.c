/* Running the C compiler; see process.h. posix_spawn, with output through a pipe so that what the
   compiler says can be shown behind gc's own message, or not at all. */
#define _GNU_SOURCE
#include "codegen/build/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_LIMIT = 64 << 10 };
extern char **environ;

/* ---- interrupts ---- */

static const int interrupts[3] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t interrupted; /* a handler has nothing else to write to */

static void on_interrupt(int sig) { interrupted = sig; }

static void interrupts_set(sigset_t *set) {
  sigemptyset(set);
  for (int i = 0; i < 3; i++) sigaddset(set, interrupts[i]);
}

void process_guard_begin(ProcessGuard *g) {
  sigset_t block;
  interrupts_set(&block);
  sigprocmask(SIG_BLOCK, &block, &g->mask);
  struct sigaction act = {.sa_handler = on_interrupt};
  sigemptyset(&act.sa_mask);
  interrupted = 0;
  for (int i = 0; i < 3; i++) {
    sigaction(interrupts[i], NULL, &g->action[i]);
    if (g->action[i].sa_handler != SIG_IGN) sigaction(interrupts[i], &act, NULL);
  }
}

void process_guard_end(ProcessGuard *g) {
  for (int i = 0; i < 3; i++) sigaction(interrupts[i], &g->action[i], NULL);
  sigprocmask(SIG_SETMASK, &g->mask, NULL);
  if (interrupted) raise(interrupted);
}

bool process_interrupted(void) { /* handled, or still waiting because the tool ended first */
  sigset_t pending;
  sigpending(&pending);
  bool any = interrupted != 0;
  for (int i = 0; i < 3; i++) any |= sigismember(&pending, interrupts[i]) == 1;
  return any;
}

/* Waits for output; an interrupt goes to the tool, whose output then ends. Outside of a guard the
   signals are not blocked and do what they always do. */
static void wait_for_output(Process *p) {
  struct pollfd fd = {.fd = p->out, .events = POLLIN};
  sigset_t open;
  sigprocmask(SIG_SETMASK, NULL, &open);
  for (int i = 0; i < 3; i++) sigdelset(&open, interrupts[i]);
  while (ppoll(&fd, 1, NULL, &open) < 0 && errno == EINTR)
    if (interrupted) kill(p->pid, interrupted);
}

bool process_start(Process *p, const char *const *argv) {
  p->pid = p->out = -1;
  int fd[2];
  if (pipe2(fd, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fd[1], 1);
  posix_spawn_file_actions_adddup2(&actions, fd[1], 2);
  posix_spawnattr_t attr;
  posix_spawnattr_init(&attr);
  sigset_t none, all;
  sigemptyset(&none);
  interrupts_set(&all);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &all);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid;
  /* posix_spawnp does not write to argv; its type is older than const */
  int error = posix_spawnp(&pid, argv[0], &actions, &attr, (char *const *)(uintptr_t)argv, environ);
  posix_spawnattr_destroy(&attr);
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
    wait_for_output(p);
    ssize_t got = n < OUTPUT_LIMIT ? read(p->out, text + n, OUTPUT_LIMIT - n)
                                   : read(p->out, rest, sizeof rest);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (n < OUTPUT_LIMIT) n += (size_t)got;
  }
  close(p->out);
  int status = 0;
  while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) {
  }
  p->pid = -1;
  if (output) *output = text;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int process_run(const char *const *argv, Arena *a, char **output) {
  Process p;
  if (!process_start(&p, argv)) return -1;
  return process_wait(&p, a, output);
}
