/* The axes of files that are as long as a run has them, beside the batch: `t` of i32[n <= 8, t <=
   128] is the second dim of the array. Contract: one extent has one value in all files of an entry;
   rows are as long as that in the files, and lie in the input at the strides of the bound. */
#include "runtime/data/dataset.h"
#include <inttypes.h>
#include <string.h>

/* So many times an extent and more elements. */
typedef struct FileAxis {
  int slot; /* of the extent; -1: the axis is static, or the batch's */
  uint64_t times, more;
} FileAxis;

static FileAxis file_axis(const FileExtents *x, const GcTensor *t, int k) {
  const GcPart *part = t->parts && t->parts[k].rows ? &t->parts[k] : NULL;
  const int slot = !x || !t->extents ? -1 : (int)(part ? part->extents : t->extents[k]) - 1;
  if (slot < 0 || (!part && k == 0 && slot == x->batch))
    return (FileAxis){.slot = -1, .times = (uint64_t)t->dims[k]};
  const uint64_t bound = (uint64_t)x->entry->extents[slot].bound;
  if (!part) return (FileAxis){slot, (uint64_t)t->dims[k] / bound, 0};
  const uint64_t parts = (uint64_t)(t->dims[k] / part->rows);
  return (FileAxis){slot, parts * ((uint64_t)part->whole / bound), parts * (uint64_t)-part->first};
}

bool column_has_extents(const FileExtents *x, const GcTensor *t) {
  for (int k = 0; k < t->rank; k++)
    if (file_axis(x, t, k).slot >= 0) return true;
  return false;
}

void column_shapes_text(const Column *c, char *out, size_t size) {
  GcTensor t = c->t->planned ? *c->t->planned : *c->t;
  int64_t dims[RUN_RANK];
  GcExtent extents[GC_EXTENTS];
  if (!c->entry || !c->entry->ranks || c->fixed || t.rank == 0 || t.rank > RUN_RANK) {
    tensor_shapes_text(c->entry, &t, out, size);
    return;
  }
  GcEntry all = *c->entry;
  memcpy(dims, t.dims, (size_t)t.rank * sizeof *dims);
  dims[0] *= all.ranks;
  t.dims = dims;
  if (t.extents && t.extents[0]) {
    memcpy(extents, all.extents, (size_t)all.nextents * sizeof *extents);
    extents[t.extents[0] - 1].bound *= all.ranks;
    all.extents = extents;
  }
  tensor_shapes_text(&all, &t, out, size);
}

/* The same of an input without extents, of any number of axes. */
static bool same_axes(const GcTensor *t, int rank, const uint64_t *dims) {
  int at = 0;
  for (int k = 0; k < t->rank; k++) {
    if (t->dims[k] == 1) continue;
    while (at < rank && dims[at] == 1) at++;
    if (at == rank || dims[at++] != (uint64_t)t->dims[k]) return false;
  }
  while (at < rank && dims[at] == 1) at++;
  return at == rank;
}

/* An extent may be 1, too: so what comes next of axes k on of the input and `at` on of the array is
   found from the last ones backwards. */
bool column_axes(const Column *c, int rank, const uint64_t *dims, uint64_t out[RUN_RANK]) {
  enum { NO_WAY, BOTH, OF_INPUT, OF_ARRAY, END };
  const GcTensor *t = c->t;
  unsigned char next[RUN_RANK + 1][ARRAY_RANK + 1] = {{NO_WAY}};
  if (!c->extents) return same_axes(t, rank, dims);
  for (int k = t->rank; k >= 0; k--)
    for (int at = rank; at >= 0; at--) {
      const bool input = k < t->rank, array = at < rank;
      const bool same = input && array &&
                        (file_axis(c->extents, t, k).slot >= 0 || dims[at] == (uint64_t)t->dims[k]);
      next[k][at] = same && next[k + 1][at + 1]                   ? BOTH
                    : input && t->dims[k] == 1 && next[k + 1][at] ? OF_INPUT
                    : array && dims[at] == 1 && next[k][at + 1]   ? OF_ARRAY
                    : !input && !array                            ? END
                                                                  : NO_WAY;
    }
  for (int k = 0, at = 0; next[0][0] && k < t->rank;) {
    const unsigned char now = next[k][at];
    if (now != OF_ARRAY) out[k++] = now == BOTH ? dims[at] : 1;
    at += now != OF_INPUT;
  }
  return next[0][0];
}

/* The extent of an axis of so many elements; of a file that has others no run can be. */
static bool settle(Column *c, FileExtents *x, const FileAxis *axis, uint64_t elements, Err *e) {
  const uint64_t rest = elements > axis->more ? elements - axis->more : 0,
                 value = rest / axis->times;
  const int slot = axis->slot;
  const GcExtent *extent = &x->entry->extents[slot];
  if (rest % axis->times) return true;
  const uint64_t least = (uint64_t)extent_least(extent);
  if (value < least || value > (uint64_t)extent->bound) {
    err_set(e, EXIT_WRONG,
            "%s: %s of the input %s would be %" PRIu64 ", which is not in %" PRIu64 " to %" PRId64,
            c->text, extent->name, c->t->name, value, least, extent->bound);
    if (value < least && extent->window)
      return err_hint(e, "give a larger file: %s has no room for its window in a smaller one",
                      extent->window);
    return err_hint(e, value < 1 ? axis->more ? "give a longer file" : "give a file with elements"
                                 : "give a shorter file, or compile the program with a larger "
                                   "bound");
  }
  if (x->value[slot] && (uint64_t)x->value[slot] != value && x->at_bound[slot]) {
    err_set(e, EXIT_WRONG,
            "%s: %s of the input %s is %" PRIu64 ", but %s has no axis that says %s, which is then "
            "at its bound, %d",
            c->text, extent->name, c->t->name, value, x->by[slot], extent->name, x->value[slot]);
    return err_hint(e, "give %s as an .npy array", x->by[slot]);
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
    const FileAxis axis = file_axis(x, t, k);
    uint64_t n = axis.times;
    if (axis.slot >= 0) n = n * (uint64_t)x->value[axis.slot] + axis.more;
    c->run_dims[k] = (int64_t)n;
  }
  c->run.run_dims = c->run_dims;
  c->run.planned = t;
  c->t = &c->run;
  c->row_elems = c->fixed ? tensor_count(c->t) : tensor_row_elems(c->t);
  c->run_limit = (GcLimit){(int64_t)(c->fixed ? tensor_row_elems(c->t) : c->row_elems),
                           t->nlimits == 1 ? t->limits[0].limit : 0};
  c->run.limits = &c->run_limit; /* of several, kernels report what is out of range */
  c->run.nlimits = t->nlimits == 1;
  c->piece = c->pitch = c->even = 1;
  for (int k = t->rank - 1; k >= !c->fixed; k--) {
    c->piece *= (uint64_t)c->run_dims[k];
    c->pitch *= (uint64_t)(t->compact ? c->run_dims[k] : t->dims[k]);
    if (c->run_dims[k] == t->dims[k]) continue;
    if (k > !c->fixed) c->even = (uint64_t)c->run_dims[k - 1];
    break;
  }
}

bool column_uneven(const Column *c, int rank, const uint64_t *dims, Err *e) {
  const GcTensor *t = c->t->planned ? c->t->planned : c->t;
  for (int k = 0; c->extents && rank == t->rank && k < rank; k++) {
    const FileAxis axis = file_axis(c->extents, t, k);
    if (axis.slot < 0 || dims[k] < axis.more || (dims[k] - axis.more) % axis.times == 0) continue;
    char more[60] = "";
    if (axis.more) snprintf(more, sizeof more, " and %" PRIu64 " more", axis.more);
    (void)err_hint(e,
                   "axis %d of the file has %" PRIu64
                   " elements, and the input takes a multiple of "
                   "%" PRIu64 "%s there: leave some out, or add some",
                   k, dims[k], axis.times, more);
    return true;
  }
  return false;
}

bool column_settle_dims(Column *c, FileExtents *x, int rank, const uint64_t *dims, Err *e) {
  const GcTensor *t = c->t;
  for (int k = 0; k < t->rank && rank == t->rank; k++) {
    const FileAxis axis = file_axis(x, t, k);
    if (axis.slot >= 0 && !settle(c, x, &axis, dims[k], e)) return false;
  }
  column_at_bounds(c, x);
  return true;
}

bool column_settle_count(Column *c, FileExtents *x, uint64_t row, Err *e) {
  const GcTensor *t = c->t;
  uint64_t others = 1;
  FileAxis open = {.slot = -1};
  for (int k = c->fixed ? 0 : 1; k < t->rank; k++) {
    const FileAxis axis = file_axis(x, t, k);
    if (axis.slot < 0)
      others *= axis.times;
    else if (x->value[axis.slot])
      others *= axis.times * (uint64_t)x->value[axis.slot] + axis.more;
    else if (open.slot < 0)
      open = axis;
    else
      others = 0; /* two that are open */
  }
  if (open.slot >= 0 && others && row % others == 0 && !settle(c, x, &open, row / others, e))
    return false;
  column_at_bounds(c, x);
  return true;
}

void column_at_bounds(Column *c, FileExtents *x) {
  if (c->t == &c->run) return;
  for (int k = 0; k < c->t->rank; k++) {
    const int slot = file_axis(x, c->t, k).slot;
    if (slot < 0 || x->value[slot]) continue;
    x->value[slot] = (int32_t)x->entry->extents[slot].bound;
    x->by[slot] = c->text;
    x->at_bound[slot] = true;
  }
  take_shape(c, x);
}
