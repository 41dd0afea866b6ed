/* The streams of an entry on the CPU: the pool's threads are divided into groups, which run the
   steps of their own streams and wait for each other where a step says so. Contract: streams_settle
   comes before a run; every thread goes through all steps in order, and does those that
   streams_enter grants. */
#ifndef GCRT_STREAMS_H
#define GCRT_STREAMS_H
#include "runtime/exec/memory.h"
#include "runtime/exec/pool.h"

typedef struct Streams Streams;

typedef struct Slot { /* of a thread in its group */
  Barrier *barrier;
  int t, nt;
} Slot;

uint64_t streams_bytes(const GcEntry *e, int threads);
/* NULL where the entry has one stream. */
Streams *streams_make(const GcEntry *e, Memory *m, int threads);
/* Divides the threads into groups: a group of one thread may have several streams. */
void streams_settle(Streams *s, Pool *pool);
Slot streams_slot(const Streams *s, int who);
int streams_width(const Streams *s, int step); /* threads that run the step */
/* Waits for what the step must come after; false: another group runs it. */
bool streams_enter(const Streams *s, int who, int step);
/* The step, or the whole loop, is over for this thread. */
void streams_leave(const Streams *s, int who, int step);
void streams_leave_loop(const Streams *s, int who, int loop);
/* After a run, when no thread is in it any more. */
void streams_reset(Streams *s);
#endif
