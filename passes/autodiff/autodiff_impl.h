/* Shared by the files of autodiff: the state of one expansion, and the backward pass of loops. */
#ifndef GC_PASSES_AUTODIFF_IMPL_H
#define GC_PASSES_AUTODIFF_IMPL_H
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

typedef struct Diff {
  PassRun *r;
  bool *is_target; /* by old value: a later grad asks for it */
  bool *read;      /* by old value: an op reads it */
  VEC(OpId) extra; /* stop_gradient ops and copies of pins: they go when all is expanded */
  /* of the grad op being expanded; values lo … hi-1 of the new entry */
  ValueId lo, hi;
  bool *active;      /* by value - lo: depends on a value asked for, with a gradient */
  ValueId *sum;      /* by value - lo: gradient so far, or NO_ID */
  uint32_t capacity; /* elements of both */
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

/* ---- windows.c ---- */
/* What expands windows along bounded axes that the target has no kernels for; else NULL. */
ExpandFn *windows_expansion(const Target *t, const Entry *e, const Op *op);

/* ---- slices.c ---- */
/* The sum of both where the later one is the gradient of a slice that the sum so far has zeros for:
   its parts side by side. NO_ID where they have to be added. */
ValueId diff_beside(Builder *b, ValueId sum, ValueId dv);

/* ---- a scan's backward pass: scan.c, scan_sums.c ---- */
/* One of the ops that a sum adds up, to be done for all iterations at once. */
typedef struct SumTerm {
  const Op *op;
  ValueId x[2]; /* its operands, of either body, that are stacked */
  int sign;     /* of rows by the counter: as rows_by_counter says; else 0 */
  int64_t from;
} SumTerm;

typedef VEC(SumTerm) SumTerms;

typedef struct ScanBack {
  GradCtx *g;
  Diff *d;
  Entry *e;
  Op *scan;        /* forward; it gets results as values are saved */
  const Op *yield; /* its end */
  Op *back;        /* backward */
  Arena *a;
  bool *available; /* by value: see back_is_there */
  ValueId *carry;  /* by carry: its gradient as it comes in, or NO_ID */
  uint32_t n;      /* values once the backward body is built: of all that it can need */
  ValueId *there;  /* by value below n: what stands for it in the backward body, or NO_ID */
  Block *again;    /* what is computed again, to be put in front */
  VEC(ValueId)
  inits, types_of, xs;  /* of the loop to be built: operands, and values like its carries */
  VEC(ValueId) outside; /* values with accumulators */
  VEC(ValueId) so_far;  /* their gradients from behind the loop, or NO_ID */
  SumTerms *behind;     /* by value in `outside`: what is summed behind the loop, if anything */
  VEC(ValueId) given;   /* what the backward loop stacks */
} ScanBack;

/* ---- scan.c ---- */
bool diff_mark_scan(Diff *d, const Entry *e, const Op *scan);
void diff_back_scan(GradCtx *g, const Op *scan);

/* The type of a value's stack over all iterations. */
const Type *back_stack_type(const ScanBack *s, ValueId v);
/* The forward loop's stack of a value of its body, if it has one; else NO_ID. */
ValueId back_stack_of(const ScanBack *s, ValueId v);
/* The operand of the forward loop whose slice the value is; else -1. */
int back_slice_of(const ScanBack *s, ValueId v);
/* A row by the counter of what comes from outside, which is as good as a slice. */
bool back_is_row(const ScanBack *s, const Op *op, int *sign, int64_t *from);
/* The backward body can have the value of the forward body without another stack. */
bool back_is_there(const ScanBack *s, ValueId v);
/* The forward loop stacks the value from now on. */
ValueId back_save(ScanBack *s, ValueId v);

/* ---- scan_sums.c ---- */
/* Takes sums out of the backward body b that are to be had behind the loop. */
void back_find_sums(ScanBack *s, const Block *b);
/* Builds the gradient of outside[i], behind the loop. */
ValueId back_sum(ScanBack *s, const Op *back, uint32_t i);
#endif
