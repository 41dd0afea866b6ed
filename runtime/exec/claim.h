/* Parts of a step that threads take as they become free. Each has as many of its own, and takes
   those that are left to others when it has none: a thread whose CPU another program has holds up
   one part, not its whole share. Contract: all threads of a job go through the same steps with
   claims, with a barrier in front of each and behind it; parts are the shares of as many threads,
   so results are the same.
   Algorithm: work stealing from fixed shares (Blumofe and Leiserson, "Scheduling Multithreaded
   Computations by Work Stealing", 1999), without a queue: a share is a counter. */
#ifndef GCRT_CLAIM_H
#define GCRT_CLAIM_H
#include "runtime/exec/pool.h"

enum { CLAIM_PARTS = 4 }; /* of each thread: more cost products more packing than they even out */

typedef struct Claims { /* of a thread */
  /* how many of its parts are taken, by whomever, in every other step */
  _Alignas(POOL_LINE) _Atomic int taken[2];
} Claims;
/* By the caller of the pool, in front of a job of n threads. */
void claims_clear(Claims *all, int n);

typedef struct Claimant { /* a thread on its way through a job */
  Claims *all;            /* of its nt threads */
  int t, nt;
  int turn; /* which of `taken` the step counts in; 0 of the first */
} Claimant;

/* Calls `run` with each part that the thread takes, of nt * CLAIM_PARTS. */
typedef void ClaimRun(const void *arg, int part, int parts);
void claim_step(Claimant *c, ClaimRun *run, const void *arg);
#endif
