/* Running the C compiler; see process.h. posix_spawn, with output through a pipe so that what the
   compiler says can be shown behind gc's own message, or not at all. */
#define _GNU_SOURCE
#include "codegen/build/process.h"
#include "codegen/codegen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_LIMIT = 64 << 10 };
extern char **environ;

typedef struct Process {
  int pid; /* -1: not running */
  int out; /* read end of its standard output and error, or -1 */
} Process;

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

static bool process_start(Process *p, const char *const *argv) {
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

/* ---- one tool, or several ---- */

typedef struct Running {
  Process p;
  char *text; /* of OUTPUT_LIMIT and a zero, once there is some */
  size_t n;
} Running;

/* Waits for output of any; an interrupt goes to all tools, whose output then ends. Outside of a
   guard the signals are not blocked and do what they always do. */
static void wait_for_output(const Running *r, struct pollfd *fd, int n) {
  sigset_t open;
  sigprocmask(SIG_SETMASK, NULL, &open);
  for (int i = 0; i < 3; i++) sigdelset(&open, interrupts[i]);
  for (int i = 0; i < n; i++) fd[i] = (struct pollfd){.fd = r[i].p.out, .events = POLLIN};
  while (ppoll(fd, (nfds_t)n, NULL, &open) < 0 && errno == EINTR)
    for (int i = 0; i < n && interrupted; i++)
      if (r[i].p.out >= 0) kill(r[i].p.pid, interrupted);
}

/* False at the end. What does not fit is read and dropped: the tool must not block. */
static bool take_output(Running *r, Arena *a) {
  char rest[4096];
  if (!r->text) r->text = arena_alloc(a, OUTPUT_LIMIT + 1);
  bool fits = r->n < OUTPUT_LIMIT;
  ssize_t got = fits ? read(r->p.out, r->text + r->n, OUTPUT_LIMIT - r->n)
                     : read(r->p.out, rest, sizeof rest);
  if (got < 0 && errno == EINTR) return true;
  if (got > 0 && fits) r->n += (size_t)got;
  return got > 0;
}

static int end_of(Process *p) {
  int status = 0;
  close(p->out);
  p->out = -1;
  while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) {
  }
  p->pid = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int process_wait(Process *p, Arena *a, char **output) {
  Running r = {.p = *p};
  struct pollfd fd;
  do wait_for_output(&r, &fd, 1);
  while (take_output(&r, a));
  int status = end_of(&r.p);
  *p = r.p;
  if (output) *output = r.text;
  return status;
}

int process_run(const char *const *argv, Arena *a, char **output) {
  Process p;
  if (!process_start(&p, argv)) return -1;
  return process_wait(&p, a, output);
}

void process_run_all(ProcessJob *job, int n, int most, ProcessWatch watch, Arena *a) {
  if (most > n) most = n;
  Running *run = ARENA_ARRAY(a, Running, most + 1);
  struct pollfd *fd = ARENA_ARRAY(a, struct pollfd, most + 1);
  int *of = ARENA_ARRAY(a, int, most + 1), next = 0, running = 0, ended = 0, error = 0;
  bool failed = false;
  for (int i = 0; i < n; i++) job[i].status = PROCESS_NOT_RUN;
  for (int i = 0; i < most; i++) run[i].p.out = -1;
  for (;;) {
    for (int i = 0; i < most && next < n && !failed && !process_interrupted(); i++) {
      if (run[i].p.out >= 0) continue;
      of[i] = next;
      run[i] = (Running){0};
      if (process_start(&run[i].p, job[next++].argv)) {
        running++;
        continue;
      }
      error = errno;
      job[of[i]].status = -1;
      failed = true;
    }
    if (!running) break;
    if (watch.ended) watch.ended(watch.data, ended, n);
    wait_for_output(run, fd, most);
    for (int i = 0; i < most; i++) {
      if (run[i].p.out < 0 || !fd[i].revents || take_output(&run[i], a)) continue;
      ProcessJob *j = &job[of[i]];
      j->status = end_of(&run[i].p);
      j->output = run[i].text;
      failed |= j->status != 0;
      running--, ended++;
    }
  }
  errno = error;
}

int process_cores(void) {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return n > 0 ? n : 1;
}

/* ---- the words of CC ---- */

void codegen_cc_words(Arena *a, const char *cc, const char ***words, uint32_t *n) {
  static const char blanks[] = " \t\n";
  VEC(const char *) w = {0};
  for (const char *s = cc + strspn(cc, blanks); *s; s += strspn(s, blanks)) {
    size_t length = strcspn(s, blanks);
    vec_push(a, &w, arena_printf(a, "%.*s", (int)length, s));
    s += length;
  }
  *words = w.at;
  *n = w.n;
}

const char *codegen_cc_path(Arena *a, const char *cc) {
  const char **words, *path = getenv("PATH");
  uint32_t n;
  codegen_cc_words(a, cc, &words, &n);
  if (!n) return NULL;
  if (strchr(words[0], '/')) return words[0];
  for (const char *s = path ? path : "/bin:/usr/bin"; *s; s += *s == ':') {
    size_t length = strcspn(s, ":");
    const char *file = arena_printf(a, "%.*s/%s", (int)length, length ? s : ".", words[0]);
    if (access(file, X_OK) == 0) return file;
    s += length;
  }
  return NULL;
}
