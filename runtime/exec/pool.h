/* A thread pool: workers that run one job after the other, a barrier for the threads of a job, and
   progress counters. Fewer threads than there are may run the jobs. Contract: thread 0 is whoever
   calls; with one thread nothing is ever waited for. Signals stay with the caller's threads.
   Denormals are zero in every worker. */
#ifndef GCRT_POOL_H
#define GCRT_POOL_H
#include "runtime/base/machine.h"
#include <pthread.h>
#include <stdatomic.h>

enum { POOL_LINE = 128 }; /* pairs of cache lines are fetched together */

typedef struct BarrierNode { /* where some threads meet, or the last ones of some nodes */
  _Alignas(POOL_LINE) _Atomic int arrived;
  /* read behind an arrival, when the next one may have taken the line above */
  _Alignas(POOL_LINE) int n; /* that it waits for */
  struct BarrierNode *up;    /* NULL: the root */
} BarrierNode;

/* What every thread does before the barrier is seen by every thread behind it. */
typedef struct Barrier { /* of n threads */
  _Alignas(POOL_LINE) _Atomic int generation;
  _Alignas(POOL_LINE) _Atomic int sleepers; /* at the barrier, and at counters */
  _Alignas(POOL_LINE) int n;
  int spins;  /* of a thread before it sleeps */
  int leaves; /* nodes that threads arrive at, in equal parts */
  BarrierNode node[];
} Barrier;
uint64_t barrier_bytes(int n);
/* In barrier_bytes(n) that are zero and lie on a line. */
void barrier_init(Barrier *b, int n, int spins);
void barrier_wait(Barrier *b, int t); /* t: the thread's number, 0 to n - 1 */
/* The same; while others are waited for `idle` is called now and then, as long as it says that it
   has more to do. It may take a few microseconds. */
typedef bool BarrierIdle(const void *arg);
void barrier_wait_idle(Barrier *b, int t, BarrierIdle *idle, const void *arg);

typedef struct Counter { /* how far a thread is */
  _Alignas(POOL_LINE) _Atomic int at;
} Counter;
/* By its thread, whose work before is seen by those that waited for it; the barrier is the one of
   all threads that may wait for it. */
void counter_signal(Counter *c, Barrier *all, int at);
void counter_wait(Counter *c, Barrier *all, int at); /* until it is there, or further */

typedef void PoolJob(void *arg, int t, int nt);
typedef struct Worker Worker;
struct Claims; /* claim.h */
typedef struct Pool {
  Barrier *barrier; /* of the threads that run jobs; NULL before pool_start */
  Barrier *other;   /* of those that will, when they are others */
  PoolJob *job;     /* NULL: the workers end */
  void *arg;
  struct Claims *claims; /* of each thread */
  Worker *workers;       /* threads 1 to threads - 1 */
  int threads;           /* the caller's included */
  int wanted;            /* by pool_use */
  int spins;             /* of a barrier */
  _Atomic int running;   /* of them run jobs */
  _Atomic int parked;    /* of them sleep until they do */
  pthread_mutex_t start; /* held until the number of threads is settled */
} Pool;
uint64_t pool_bytes(int threads);
/* Starts threads - 1 workers, or as many as the system gives, in the pool_bytes(threads) at p. pin:
   each worker stays on a CPU of its own, of another core as long as there are; the caller's thread
   does not, since threads that it starts would stay with it. */
bool pool_start(Pool *p, int threads, bool pin, Err *e);
int pool_size(const Pool *p); /* threads that run jobs, the caller's too; 1 before pool_start */
/* From thread 0, between jobs: the first n of the pool's threads run them from now on. */
void pool_use(Pool *p, int n);
/* From thread 0, and from it alone: all threads run the job, then it goes on. */
void pool_run(Pool *p, PoolJob *job, void *arg);
/* ours: false in the child of a fork, where the workers do not exist. */
void pool_stop(Pool *p, bool ours);

#endif
