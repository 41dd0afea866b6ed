/* The preparation of the next batch on a thread of its own, while the threads of the pool run a
   step. Contract: it has a turn of the batch's memory that the step does not touch; what is asked
   for is taken or dropped before the next thing is. */
#ifndef GCRT_AHEAD_H
#define GCRT_AHEAD_H
#include "runtime/exec/session.h"

typedef struct Ahead Ahead;
typedef struct AheadBatch {
  Exec *x;
  uint64_t batch;
  GcEnv env; /* of its step */
  int turn;  /* of the memory */
} AheadBatch;

/* On the thread: everything that the step of the batch then finds. Seconds that it has read rows.
 */
typedef double AheadPrepare(Session *s, const AheadBatch *b);
Ahead *ahead_start(Session *s, AheadPrepare *prepare, Err *e); /* NULL: there is no thread */
void ahead_stop(Ahead *a);
void ahead_begin(Ahead *a, const AheadBatch *b); /* nothing is under way */
/* What was begun last is over. Its turn, if it is of this batch and step, and a fault that a kernel
   reported is now the session's; -1: it is of another, or nothing was. */
int ahead_take(Ahead *a, const Exec *x, uint64_t batch, uint64_t step);
/* Where the thread's kernels report. */
Fault *ahead_fault(Ahead *a);
#endif
