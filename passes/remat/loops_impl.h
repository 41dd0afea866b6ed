/* What the files of the frontier of loop schedules share: loops.c (pairs of loops, the frontier)
   and loops_cost.c (schedules of one pair). */
#ifndef GC_PASSES_REMAT_LOOPS_IMPL_H
#define GC_PASSES_REMAT_LOOPS_IMPL_H
#include "passes/remat/remat_impl.h"

typedef struct LoopFinder {
  Arena *a;
  const Entry *e;
  int *position;    /* by op: in the entry's body */
  ValueId *root;    /* by value: what it is a view of */
  uint32_t *uses;   /* by value: reads in the entry's body */
  int *last;        /* by value: position of the last one, of its views, too */
  const Op **store; /* by global: its last store */
  int *loaded;      /* by global: position of its last load */
} LoopFinder;

typedef VEC(LoopSchedule) LoopSchedules;

static inline double loop_bytes_of(const Entry *e, ValueId v) {
  return (double)value_type(e, v)->bytes;
}

/* ---- loops_cost.c ---- */
/* Those of a pair that hold less than all that cost less, the cheapest first. */
LoopSchedules loop_schedules_of(const LoopFinder *f, const LoopPair *p);
#endif
