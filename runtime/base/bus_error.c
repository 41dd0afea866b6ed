/* SIGBUS: a read behind the new end of a mapped file that another program cut short. Contract: of
   executables alone, since it ends the process, with one message and an exit code. */
#include "runtime/base/rt.h"
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const char *of_program = "";

static void put(const char *text) {
  for (size_t n = strlen(text); n;) {
    ssize_t w = write(STDERR_FILENO, text, n);
    if (w <= 0) break;
    text += w, n -= (size_t)w;
  }
}

/* Of what a handler may call: no buffers of stdio, no functions at exit. */
static void on_bus_error(int sig, siginfo_t *info, void *context) {
  (void)context;
  if (info->si_code != BUS_ADRERR ||
      !signal_mapped()[0]) { /* no file's: it comes again, as by default */
    signal(sig, SIG_DFL);
    return;
  }
  static atomic_flag told = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set(&told)) pause(); /* another thread tells it and ends both */
  const char *const parts[] = {of_program, ": error: ", signal_mapped(),
                               ": is cut short while it is in use\n"
                               "  hint: run again without the other program that writes it\n"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) put(parts[i]);
  _exit(EXIT_WRONG);
}

void bus_error_catch(const char *program) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  of_program = program;
  signals_tell_mapped();
  a.sa_sigaction = on_bus_error;
  a.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &a, NULL);
}
