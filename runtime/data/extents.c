/* The axes of files that are as long as a run has them, beside the batch: `t` of i32[n <= 8, t <=
   128] is the second dim of the array. Contract: one extent has one value in all files of an entry;
   rows are as long as that in the files, and lie in the input at the strides of the bound. */
#include "runtime/data/dataset.h"
#include <inttypes.h>

/* The extent of axis k, unless it is the batch's; -1: it is static. */
static int extent_of(const FileExtents *x, const GcTensor *t, int k) {
  int slot = x && t->extents ? (int)t->extents[k] - 1 : -1;
  return slot >= 0 && !(k == 0 && slot == x->batch) ? slot : -1;
}

bool column_has_extents(const FileExtents *x, const GcTensor *t) {
  for (int k = 0; k < t->rank; k++)
    if (extent_of(x, t, k) >= 0) return true;
  return false;
}

static bool settle(Column *c, FileExtents *x, int slot, uint64_t value, Err *e) {
  const GcExtent *extent = &x->entry->extents[slot];
  if (value < 1 || value > (uint64_t)extent->bound) {
    err_set(e, EXIT_WRONG,
            "%s: %s of the input %s would be %" PRIu64 ", which is not in 1 to %" PRId64, c->text,
            extent->name, c->t->name, value, extent->bound);
    return err_hint(e, value < 1 ? "give a file with elements"
                                 : "give a shorter file, or compile the program with a larger "
                                   "bound");
  }
  if (x->value[slot] && (uint64_t)x->value[slot] != value) {
    err_set(e, EXIT_WRONG, "%s: %s of the input %s is %" PRIu64 ", but %d in %s", c->text,
            extent->name, c->t->name, value, x->value[slot], x->by[slot]);
    return err_hint(e, "one extent has one value in all files of a run");
  }
  x->value[slot] = (int32_t)value;
  x->by[slot] = c->text;
  return true;
}

/* The input as the runs have it, once its extents are settled. */
static void take_shape(Column *c, const FileExtents *x) {
  const GcTensor *t = c->t;
  c->run = *t;
  for (int k = 0; k < t->rank; k++) {
    int slot = extent_of(x, t, k);
    c->run_dims[k] = t->dims[k];
    if (slot >= 0) c->run_dims[k] = t->dims[k] / x->entry->extents[slot].bound * x->value[slot];
  }
  c->run.run_dims = c->run_dims;
  c->run.planned = t;
  c->t = &c->run;
  c->row_elems = c->fixed ? tensor_count(c->t) : tensor_row_elems(c->t);
  c->run_limit = (GcLimit){(int64_t)(c->fixed ? tensor_row_elems(c->t) : c->row_elems),
                           t->nlimits == 1 ? t->limits[0].limit : 0};
  c->run.limits = &c->run_limit; /* of several, kernels report what is out of range */
  c->run.nlimits = t->nlimits == 1;
  c->piece = 1;
  for (int k = t->rank - 1; k >= !c->fixed; k--) {
    c->piece *= (uint64_t)c->run_dims[k];
    if (c->run_dims[k] != t->dims[k]) break;
  }
}

bool column_settle_dims(Column *c, FileExtents *x, int rank, const uint64_t *dims, Err *e) {
  const GcTensor *t = c->t;
  for (int k = 0; k < t->rank && rank == t->rank; k++) {
    int slot = extent_of(x, t, k);
    uint64_t times = slot < 0 ? 1 : (uint64_t)(t->dims[k] / x->entry->extents[slot].bound);
    if (slot >= 0 && dims[k] % times == 0 && !settle(c, x, slot, dims[k] / times, e)) return false;
  }
  column_at_bounds(c, x);
  return true;
}

bool column_settle_count(Column *c, FileExtents *x, uint64_t row, Err *e) {
  const GcTensor *t = c->t;
  uint64_t others = 1;
  int open = -1;
  for (int k = c->fixed ? 0 : 1; k < t->rank; k++) {
    int slot = extent_of(x, t, k);
    uint64_t bound = slot < 0 ? 1 : (uint64_t)x->entry->extents[slot].bound;
    others *= (uint64_t)t->dims[k] / bound;
    if (slot < 0) continue;
    if (x->value[slot])
      others *= (uint64_t)x->value[slot];
    else if (open < 0)
      open = slot;
    else
      others = 0; /* two that are open */
  }
  if (open >= 0 && others && row % others == 0 && !settle(c, x, open, row / others, e))
    return false;
  column_at_bounds(c, x);
  return true;
}

void column_at_bounds(Column *c, FileExtents *x) {
  if (c->t == &c->run) return;
  for (int k = 0; k < c->t->rank; k++) {
    int slot = extent_of(x, c->t, k);
    if (slot < 0 || x->value[slot]) continue;
    x->value[slot] = (int32_t)x->entry->extents[slot].bound;
    x->by[slot] = c->text;
  }
  take_shape(c, x);
}
