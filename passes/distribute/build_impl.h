/* What building an entry for ranks shares, for build*.c and moments.c alone. */
#ifndef GC_PASSES_DISTRIBUTE_BUILD_IMPL_H
#define GC_PASSES_DISTRIBUTE_BUILD_IMPL_H
#include "passes/distribute/distribute_impl.h"

typedef struct Made { /* of an old value: all of it, on every rank */
  ValueId v;
  const Block *in;
} Made;

typedef struct Build {
  const Distribution *d;
  Builder *b;
  const Entry *old;
  ValueId *map;         /* by old value: what a rank has */
  Made *whole;          /* by old value */
  const Extent *extent; /* of a rank's rows; NULL: they are static */
  ValueId rows;         /* of all ranks together, where there is one */
  bool done;
} Build;

static inline Ctx *ctx_of(const Build *c) { return c->b->m->ctx; }

/* Of the batch that a rank has, at most. */
static inline int64_t part_rows(const Distribution *d) {
  return (d->batch + d->ranks - 1) / d->ranks;
}

/* The rank's own rows as a dim. */
static inline int64_t own_rows_as_axis(const Build *c) {
  return c->extent ? axis_of_extent(c->extent, 1) : part_rows(c->d);
}

/* ---- build_placement.c ---- */
/* What a rank has of a value of type t at the placement. */
const Type *part_type(const Build *c, const Type *t, Placement p);
/* The block is in the outer one, or is that. */
bool is_around(const Block *outer, const Block *b);
/* Of a partial sum: all of it, or the rank's slice. */
ValueId build_sum_over_ranks(Build *c, ValueId x, bool slice);
/* x times the share of the rank's rows in the batch, or over it. */
ValueId build_by_share(Build *c, ValueId x, bool over);
/* What an op has made as v: reduced, if that is where it is. */
ValueId build_reduced(Build *c, ValueId v, ValueId x, Placement made);
/* The rank's rows of what every rank has. */
ValueId build_own_rows(Build *c, ValueId x, const Type *t, Placement p);
/* What is free at p (placement_is_free), as small as the part. */
ValueId build_free(Build *c, ValueId v, Placement p);
/* All of an old value, and a rank's of it at another placement. */
ValueId build_whole_of(Build *c, ValueId v);
ValueId build_at_placement(Build *c, ValueId v, Placement want);

/* ---- moments.c ---- */
/* x is the rank's part of a mean or of a sum of squares over the batch. */
ValueId build_moments(Build *c, ValueId v, ValueId x, Moments *m);
#endif
