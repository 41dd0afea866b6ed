/* SIGINT and SIGTERM: the first asks for an end after the running step, the second ends at once.
   Contract: a write to a closed pipe or beyond a size limit is an error that is reported, not a
   signal. A signal handler has no argument, hence the one flag of the process. */
#include "runtime/base/rt.h"
#include <signal.h>
#include <string.h>

static volatile sig_atomic_t seen;

static void on_signal(int sig) { seen = sig; }

void signals_catch(void) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = on_signal;
  a.sa_flags = (int)(SA_RESETHAND | SA_RESTART); /* back to the default: the second one kills */
  sigaction(SIGINT, &a, NULL);
  sigaction(SIGTERM, &a, NULL);
  a.sa_handler = SIG_IGN;
  a.sa_flags = 0;
  sigaction(SIGPIPE, &a, NULL);
  sigaction(SIGXFSZ, &a, NULL);
}

int signal_seen(void) { return seen; }
