/* How many threads of a pool are the fastest while other programs run. Each thread has an equal
   share of every step, and all wait for the one that had to give its CPU away: beside one other
   busy program a step takes twice as long on all CPUs, and a little longer on all but one.
   Contract: adapt_run comes behind each run; the caller then gives the pool so many threads.
   Nothing is tried where no thread had to do without its CPU. */
#ifndef GCRT_ADAPT_H
#define GCRT_ADAPT_H
#include "runtime/base/rt.h"

typedef struct Use { /* of CPUs by the process, so far */
  double wall, cpu;  /* seconds; those of all threads */
  long preempted;    /* how often one of them had to leave its CPU */
} Use;

typedef struct Adapt {
  const void *what; /* whose runs are compared */
  double spent;     /* seconds of the runs of the window */
  long runs;
  Use begun;          /* when the window began */
  int from;           /* a trial: the threads before it; else 0 */
  double was;         /* of it, seconds of a run with these */
  int faster, slower; /* of it, windows that were */
  int pause;          /* windows before the next trial */
  int next_pause;     /* 0: none has failed */
  int way;            /* of the next trial: -1, a thread less, or 1 */
  Use (*look)(void);  /* NULL: the system is asked */
} Adapt;

/* The last run took so many seconds on n of `most` threads. Returns how many the next one has. */
int adapt_run(Adapt *a, const void *what, double seconds, int n, int most);
#endif
