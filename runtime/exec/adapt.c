/* Threads beside other programs, by trial: see adapt.h. In windows of some runs it looks whether
   the threads had their CPUs. If one of them lacked its own for most of the time, it tries a thread
   less, or one more again: windows with either number take turns, and the better of three pairs
   decides, since what other programs do differs from one window to the next. Trials that are of no
   use become rare.
   Algorithm: hill climbing. */
#include "runtime/exec/adapt.h"
#include <sys/resource.h>
#include <time.h>

enum { RUNS = 2, PREEMPTED = 4, PAIRS = 2, MOST_PAUSE = 64 }; /* PAIRS: that decide */
#define WINDOW 50e-3 /* s, at least: some time slices of a scheduler */
#define FASTER 0.95  /* of the time before, to be worth a change */
#define MISSING 0.7  /* CPUs; to do without one thread on two CPUs is worth it from 1 on */

static Use look(const Adapt *a) {
  struct rusage u;
  struct timespec t;
  if (a->look) return a->look();
  Use now = {.wall = clock_now()};
  if (getrusage(RUSAGE_SELF, &u) == 0) now.preempted = u.ru_nivcsw;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0)
    now.cpu = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  return now;
}

/* Threads wait for one another asleep, so that a CPU that one lacks is one that others miss. */
static bool disturbed(const Adapt *a, const Use *now, int n) {
  double wall = now->wall - a->begun.wall, cpu = now->cpu - a->begun.cpu;
  return now->preempted - a->begun.preempted >= PREEMPTED && n * wall - cpu > MISSING * wall;
}

static int first(Adapt *a, int n, int most, double now, bool disturbed) {
  if (a->pause > 0) {
    a->pause--;
    return n;
  }
  if (n == most && !disturbed) return n;
  if (n == most || (!a->way && n > 1)) a->way = -1;
  if (n == 1) a->way = 1;
  a->from = n, a->was = now;
  a->faster = a->slower = 0;
  return n + a->way;
}

static int next(Adapt *a, int n, double now) {
  int from = a->from;
  if (n == from) {
    a->was = now;
    return n + a->way;
  }
  bool faster = now < FASTER * a->was;
  a->faster += faster, a->slower += !faster;
  if (a->faster < PAIRS && a->slower < PAIRS) return from;
  a->from = 0;
  if (faster) {
    a->pause = a->next_pause = 0;
    return n;
  }
  a->way = -a->way;
  a->pause = a->next_pause = a->next_pause ? 2 * a->next_pause : 1;
  if (a->next_pause > MOST_PAUSE) a->pause = a->next_pause = MOST_PAUSE;
  return from;
}

int adapt_run(Adapt *a, const void *what, double seconds, int n, int most) {
  if (most == 1) return n;
  if (a->what != what) { /* runs of another entry take another time */
    int back = a->from ? a->from : n;
    *a = (Adapt){.what = what, .look = a->look};
    a->begun = look(a);
    return back;
  }
  a->spent += seconds, a->runs++;
  if (a->spent < WINDOW || a->runs < RUNS) return n;
  const Use now = look(a);
  double run = a->spent / (double)a->runs;
  int then = a->from ? next(a, n, run) : first(a, n, most, run, disturbed(a, &now, n));
  a->spent = 0, a->runs = 0, a->begun = now;
  return then;
}
