/* What the files of the search for aggregates share: aggregate.c (the walk, what aggregates become)
   and aggregate_rows.c (values by rows). */
#ifndef GC_IR_AGGREGATE_IMPL_H
#define GC_IR_AGGREGATE_IMPL_H
#include "ir/ir.h"

typedef enum How {
  SAME,   /* whatever the rows are */
  BY_ROW, /* along `axis`, in which the batch's rows stand in order `outer` times; what belongs to a
             row follows from that row */
  COUNT,  /* a multiple of the number of rows */
  WHOLE,  /* an aggregate of rows */
  OTHER   /* anything else */
} How;
typedef struct State {
  How how;
  int axis;
  Aggregate aggregate;
  int64_t outer; /* as an axis: it may be a multiple of an extent */
} State;

typedef struct Walk {
  const Entry *e;
  State *of;            /* by value */
  bool *assigned;       /* by global: the entry stores into it */
  const Extent *extent; /* of the batch, or NULL: it has `rows` rows */
  int64_t rows;
} Walk;

static const State same = {.how = SAME}, other = {.how = OTHER};

static inline State by_row(int axis, int64_t outer) {
  return (State){.how = BY_ROW, .axis = axis, .outer = outer};
}
static inline State whole(Aggregate a) { return (State){.how = a ? WHOLE : OTHER, .aggregate = a}; }
static inline State moved_to(State s, int axis) { return s.axis = axis, s; }
static inline bool is(State s, Aggregate a) { return s.how == WHOLE && s.aggregate == a; }
/* A sum of rows: of anything, or of ones. */
static inline bool is_sum(State s) { return s.how == COUNT || is(s, AGGREGATE_SUM); }
static inline bool same_rows(State x, State y) { return x.axis == y.axis && x.outer == y.outer; }

/* ---- aggregate_rows.c ---- */
/* Of the results of an op of which an operand is by rows. */
State aggregate_of_rows(const Walk *w, const Op *op);
State aggregate_of_product(const Walk *w, const Op *op);
Aggregate aggregate_of_reduction(OpKind k);
/* The extent, of an axis, is a multiple of the batch's. */
bool aggregate_has_batch(const Walk *w, const Extent *x);
#endif
