/* SIGINT and SIGTERM: the first asks for an end after the running step, the second ends at once. A
   process of a launcher gets one Ctrl-C twice, from the terminal and from the launcher, which ends
   it by SIGKILL where the user insists. Contract: a write to a closed pipe or beyond a size limit
   is an error that is reported, not a signal. A signal handler has no argument, hence what is of
   the process here. */
#include "runtime/base/rt.h"
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t seen;
/* Of a process in which a message names the file: an executable, whose one thread loads. Models of
   a library load at the same time. */
static bool tells;
static char mapped[PATH_MAX]; /* "": no file */

static void on_signal(int sig) { seen = sig; }

void signals_catch(bool launched) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = on_signal;
  /* back to the default: the second one kills */
  a.sa_flags = SA_RESTART | (launched ? 0 : (int)SA_RESETHAND);
  sigaction(SIGINT, &a, NULL);
  sigaction(SIGTERM, &a, NULL);
  a.sa_handler = SIG_IGN;
  a.sa_flags = 0;
  sigaction(SIGPIPE, &a, NULL);
  sigaction(SIGXFSZ, &a, NULL);
}

void signals_tell_mapped(void) { tells = true; }

void signals_mapped(const char *path) {
  if (tells) snprintf(mapped, sizeof mapped, "%s", path);
}

const char *signal_mapped(void) { return mapped; }

int signal_seen(void) { return seen; }
