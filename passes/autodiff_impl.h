/* What the files of autodiff share: the state of one expansion, and the backward path of loops. */
#ifndef GC_PASSES_AUTODIFF_IMPL_H
#define GC_PASSES_AUTODIFF_IMPL_H
#include "passes/pass_list.h"
#include "passes/plan_impl.h"

typedef struct Diff {
  PassRun *r;
  bool *pinned;    /* by old value: a later grad asks for it */
  bool *read;      /* by old value: somebody reads it */
  VEC(OpId) extra; /* stop_gradient ops and copies of pins: they go when all is expanded */
  /* of the grad op being expanded; values lo … hi-1 of the new entry */
  ValueId lo, hi;
  bool *active;  /* by value - lo: depends on a value asked for, with a gradient */
  ValueId *sum;  /* by value - lo: gradient so far, or NO_ID */
  uint32_t room; /* elements of both */
} Diff;

static inline bool diff_active(const Diff *d, ValueId v) {
  return v >= d->lo && v < d->hi && d->active[v - d->lo];
}

/* ---- autodiff.c ---- */
/* Adds a contribution to the gradient of v, if that is wanted. */
void diff_add(GradCtx *g, ValueId v, ValueId dv);
/* Marks every value that depends on an active one through gradient rules, among the ops [from, to).
   True if any was not marked before. */
bool diff_mark(Diff *d, const Entry *e, const Block *blk, uint32_t from, uint32_t to);
/* Runs the rules of the ops [from, to), the last one first. */
void diff_back(GradCtx *g, const Block *blk, uint32_t from, uint32_t to);

/* ---- autodiff_scan.c ---- */
bool diff_mark_scan(Diff *d, const Entry *e, const Op *scan);
void diff_back_scan(GradCtx *g, const Op *scan);
#endif
