/* Data parallelism: what each rank has of a value, and what an op asks of its operands. See
   distribute.c. */
#ifndef GC_PASSES_DISTRIBUTE_IMPL_H
#define GC_PASSES_DISTRIBUTE_IMPL_H
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

/* The placement of a value on the ranks. Of an axis that is sharded a rank has every block of the
   batch: seen as [outer, batch, inner], its own run of consecutive rows of the middle. */
typedef enum PlacementKind {
  REPLICATED, /* every rank has all of it */
  SHARDED,    /* every rank has its rows of the batch */
  SLICED,     /* every rank has a run of the elements, in row-major order; the last may be short */
  PARTIAL     /* the value is the sum of what the ranks have */
} PlacementKind;

typedef struct Placement {
  PlacementKind kind;
  int axis;      /* SHARDED: which one holds the batch … */
  int64_t outer; /* … and how many times, as type_get takes a dim: it may be bounded */
  bool local;    /* between to_local and from_local: made of the rank's own values. REPLICATED:
                    each rank has another; PARTIAL: not the sum, but that of the rank's rows as an
                    estimate of all */
} Placement;

static inline bool placement_same(Placement a, Placement b) {
  return a.kind == b.kind && a.local == b.local &&
         (a.kind != SHARDED || (a.axis == b.axis && a.outer == b.outer));
}

typedef struct Moments Moments;

typedef struct DistributeHow {
  int ranks;
  bool exact;         /* the bits of one process: no sum of floats is divided among ranks */
  const bool *sliced; /* by global: each rank has a slice of it; NULL: all of every one */
  const int *copy; /* by global: where an entry leaves all of it as it has gathered it; -1: nowhere;
                      NULL: of none */
  Link link;
} DistributeHow;

typedef struct Distribution {
  Arena *a;
  const Entry *e;
  int ranks;
  bool exact;
  int64_t batch;           /* rows, at the bound */
  const Extent *extent;    /* of the batch; NULL: it is static */
  Placement *at;           /* by value: where all that read it find it */
  bool *reduce;            /* by value: it is made as a partial sum, and reduced at once */
  const bool *sliced;      /* by global: each rank has a slice of it; NULL: all of every one */
  const int *copy;         /* as above */
  bool *update;            /* by value: the update of such a global is made of it; or NULL */
  Moments *const *moments; /* by value: the mean or sum of squares that it is; or NULL */
} Distribution;

/* The value is the same in all that `want`, SHARDED or SLICED, divides among the ranks: a constant,
   a broadcast, or a function of their elements. Each rank makes its part anew (build_free). */
bool placement_is_free(const Distribution *d, ValueId v, Placement want);
enum { NOT_SHARED = -2 };
/* The operand whose placement along the batch all can have; -1: none is along it; NOT_SHARED: they
   differ. */
int placement_shared(const Distribution *d, const Op *op, const Placement *have);

/* The rows of the whole batch as a dim. */
static inline int64_t batch_as_axis(const Distribution *d) {
  return d->extent ? axis_of_extent(d->extent, 1) : d->batch;
}
/* Where the rows of x are in y, another shape of the same elements; false: in no one axis. */
bool placement_reshaped(const Distribution *d, const Type *x, const Type *y, Placement p,
                        Placement *to);

/* What the op takes and gives, if its operands are at `have`: `want`, by operand, and `get`, by
   result. Ops with blocks are the caller's. */
void placement_rule(const Distribution *d, const Op *op, const Placement *have, Placement *want,
                    Placement *get);
/* The placement of every value of the entry, of which the inputs along the batch are sharded. */
Distribution placements_of(Arena *a, const Entry *e, int64_t batch, const Extent *extent,
                           const DistributeHow *how, Moments *const *moments);
/* What a scan has of what an iteration yields. */
Placement placement_stack(Placement slice);

/* The first op that needs all rows of the batch, in an entry with an extent; NULL: none does. */
const Op *placements_refused(Distribution *d);

/* ---- static_batch.c ---- */
/* The batch has as many rows as its bound; false: a part of an axis has another extent, too. */
bool batch_made_static(Arena *a, Entry *e, const Extent *batch);

/* ---- slices.c: the state of optimizers in slices, one on each rank ---- */
/* Can be sliced: there is an element for each rank. */
bool slices_fit(const Type *t, int ranks);
const Type *slice_type(Ctx *c, const Type *t, int ranks);
/* By global: which are sliced. */
bool *slices_choose(Arena *a, const Module *m, int ranks);
/* By value: what the updates of sliced globals are made of. */
bool *slices_updates(Arena *a, const Entry *e, const bool *sliced, int ranks);
/* The rank's slice of x, which every rank has, or of which every rank has a summand; and back. */
ValueId slice_of(Builder *b, ValueId x, int ranks);
ValueId slice_sum(Builder *b, ValueId x, int ranks);
ValueId slice_gather(Builder *b, ValueId slice, const Type *whole);
/* A slice whose elements behind the end of the whole are zero, as a sum of them needs. */
ValueId slice_zero_behind(Builder *b, ValueId x, const Type *whole, int ranks);
/* The globals have become slices: their initial values, too. */
void slices_store(Module *m, const bool *sliced, uint32_t n, int ranks);

/* ---- sliced_params.c: params in slices, gathered where a step begins ---- */
typedef enum ParamChoice { PARAM_UNSEEN, PARAM_SLICED, PARAM_WHOLE } ParamChoice;
/* Looks at an entry's stores of params; what it reads is placed. NULL: the entry does not train, or
   is no entry of ranks. */
void params_look(const Distribution *d, const Entry *e, ParamChoice *choice);
/* Adds what is chosen to `sliced`; entries that do not train read copies from here on. By global:
   its copy, or -1. */
int *params_slice(Arena *a, Module *m, const ParamChoice *choice, bool *sliced);
/* The entry `gather`; the globals are slices. */
void params_gather(Module *m, const int *copy, uint32_t n);

/* ---- local_batch_norm.c ---- */
/* Takes to_local and from_local out of what every rank runs whole. */
void local_drop(Module *m);

/* ---- moments.c: the mean and the variance over the batch, of each rank's own ---- */
enum { MOMENT_VIEWS = 4 };
struct Moments {
  ValueId x, sum, mean;         /* mean: sum(x) / count */
  const Op *squares;            /* sum((x - mean)^2) */
  const Op *view[MOMENT_VIEWS]; /* from the mean to x's shape, the last one first */
  int views;
  bool gathers; /* by one message */
  /* as they are built: */
  ValueId own, within; /* of the rank's rows: the mean, squares around it; NO_ID: not built */
  ValueId all;         /* [ranks, …]: summands of the mean, squares, number of elements */
};
/* By value: what a mean and its sum of squares belong to; NULL: there is none. */
Moments **moments_find(Arena *a, Entry *e, const Link *link, int ranks);

/* Builds the entry that every rank runs; no op is refused. */
void distribute_build(const Distribution *d, Entry *e);
#endif
