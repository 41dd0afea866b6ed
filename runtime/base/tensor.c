/* Tensors as users and files see them: logical row-major order, whatever the storage is.
   Contract: tensor_get and tensor_put copy a run of logical elements between a flat buffer and the
   storage that gcrt.h describes; the zero tail of panels is what the program's init has written. */
#include "runtime/base/rt.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of GcTensor.extents: as a run has them, or at their bounds if run is NULL. */
static int64_t extents_product(const GcEntry *e, uint32_t extents, const int32_t *run) {
  int64_t n = 1;
  for (; extents; extents >>= 4) {
    uint32_t k = (extents & 15) - 1;
    n *= run ? run[k] : e->extents[k].bound;
  }
  return n;
}

/* Elements of a part of an axis in a run. */
static int64_t part_of_run(const GcEntry *e, const GcPart *x, const int32_t *extents) {
  int64_t n =
      x->whole / extents_product(e, x->extents, NULL) * extents_product(e, x->extents, extents) -
      x->first;
  return n < 0 ? 0 : n < x->rows ? n : x->rows;
}

GcTensor tensor_of_run(const GcEntry *e, const GcTensor *t, const int32_t *extents,
                       int64_t dims[RUN_RANK]) {
  GcTensor now = *t;
  now.planned = t;
  if (!t->extents || t->rank > RUN_RANK) return now;
  for (int i = 0; i < t->rank; i++) {
    dims[i] = t->dims[i] / extents_product(e, t->extents[i], NULL) *
              extents_product(e, t->extents[i], extents);
    const GcPart *part = t->parts && t->parts[i].rows ? &t->parts[i] : NULL;
    if (part) dims[i] = dims[i] / part->rows * part_of_run(e, part, extents);
  }
  now.run_dims = dims;
  return now;
}

static uint64_t dim(const GcTensor *t, int i) {
  return (uint64_t)(t->run_dims ? t->run_dims[i] : t->dims[i]);
}

/* Elements of an axis as it lies. */
static uint64_t stored_dim(const GcTensor *t, int i) {
  return t->compact ? dim(t, i) : (uint64_t)t->dims[i];
}

uint64_t tensor_count(const GcTensor *t) {
  uint64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= dim(t, i);
  return n;
}

uint64_t tensor_row_elems(const GcTensor *t) {
  uint64_t n = 1;
  for (int i = 1; i < t->rank; i++) n *= dim(t, i);
  return n;
}

uint64_t tensor_logical_bytes(const GcTensor *t) {
  return tensor_count(t) * (uint64_t)elem_info[t->dtype].size;
}

/* Where logical element `index` lies, in elements. */
uint64_t tensor_place(const GcTensor *t, uint64_t index) {
  uint64_t at = 0, size = 1, panel = 0;
  for (int i = t->rank - 1; i >= 0; i--) {
    int axis = t->order ? t->order[i] : i;
    uint64_t below = 1, x;
    if (t->order) {
      for (int k = axis + 1; k < t->rank; k++) below *= dim(t, k);
      x = index / below % dim(t, axis);
    } else {
      x = index % dim(t, axis);
      index /= dim(t, axis);
    }
    if (i == t->rank - 1 && t->panel > 0) {
      size = (uint64_t)t->panel;
      at = x % size;
      panel = x / size;
    } else {
      at += x * size;
      size *= stored_dim(t, axis);
    }
  }
  return at + panel * size;
}

/* Elements that lie side by side in storage without panels, in the order of the axes: up to the
   first axis from behind of which a run has fewer than the storage. */
static uint64_t side_by_side(const GcTensor *t) {
  uint64_t n = 1;
  for (int i = t->rank - 1; i >= 0; i--) {
    n *= dim(t, i);
    if (dim(t, i) != stored_dim(t, i)) break;
  }
  return n;
}

/* Elements that are copied and looked at while they are in the nearest cache. */
enum { BLOCK = 2048 };

/* In pieces along the last logical axis, or of several: side by side in storage, or evenly apart.
 */
static void ordered_copy(const GcTensor *t, char *storage, uint64_t first, uint64_t n, char *flat,
                         bool get) {
  uint64_t size = (uint64_t)elem_info[t->dtype].size;
  uint64_t N = t->order || t->panel > 0 ? dim(t, t->rank - 1) : side_by_side(t);
  bool fastest = !t->order || t->order[t->rank - 1] == t->rank - 1;
  while (n) {
    uint64_t j = first % N, run = N - j, from = tensor_place(t, first), step = 1;
    if (fastest && t->panel > 0 && run > (uint64_t)t->panel - j % (uint64_t)t->panel)
      run = (uint64_t)t->panel - j % (uint64_t)t->panel;
    if (run > n) run = n;
    if (run > BLOCK) run = BLOCK;
    if (!fastest && run > 1) step = tensor_place(t, first + 1) - from;
    uint64_t piece = step == 1 ? run : 1; /* elements side by side */
    for (uint64_t i = 0; i < run; i += piece, flat += piece * size) {
      char *at = storage + (from + i * step) * size;
      if (get)
        memcpy(flat, at, piece * size);
      else
        memcpy(at, flat, piece * size);
    }
    if (get) elem_one_nan(flat - run * size, (Elem)t->dtype, run);
    first += run, n -= run;
  }
}

void tensor_get(const GcTensor *t, const void *storage, uint64_t first, uint64_t n, void *dst) {
  uint64_t size = (uint64_t)elem_info[t->dtype].size;
  if (t->panel > 0 || t->order || t->run_dims) {
    ordered_copy(t, (char *)storage, first, n, dst, true);
    return;
  }
  for (uint64_t i = 0; i < n; i += BLOCK) {
    const uint64_t k = n - i < BLOCK ? n - i : BLOCK;
    char *to = (char *)dst + i * size;
    memcpy(to, (const char *)storage + (first + i) * size, k * size);
    elem_one_nan(to, (Elem)t->dtype, k);
  }
}

void tensor_put(const GcTensor *t, void *storage, uint64_t first, uint64_t n, const void *src) {
  uint64_t size = (uint64_t)elem_info[t->dtype].size;
  if (t->panel > 0 || t->order || t->run_dims)
    ordered_copy(t, storage, first, n, (char *)src, false);
  else
    memcpy((char *)storage + first * size, src, n * size);
}

void dims_text(Elem type, int rank, const uint64_t *dims, char *out, int size) {
  int at = snprintf(out, (size_t)size, "%s[", elem_info[type].name);
  for (int i = 0; i < rank && at < size; i++)
    at += snprintf(out + at, (size_t)(size - at), "%s%llu", i ? ", " : "",
                   (unsigned long long)dims[i]);
  if (at < size) snprintf(out + at, (size_t)(size - at), "]");
}

const GcLimit *tensor_out_of_range(const GcTensor *t, const Rows *rows, uint64_t *row,
                                   int64_t *value) {
  uint64_t size = (uint64_t)elem_info[rows->type].size, bad;
  for (*row = 0; *row < rows->n; ++*row) {
    const uint8_t *at = (const uint8_t *)rows->data + *row * rows->step * size;
    for (int i = 0; i < t->nlimits; i++) {
      const GcLimit *l = &t->limits[i];
      uint64_t n = (uint64_t)l->count;
      if (t->nlimits == 1 && *row + 1 < rows->n && rows->step < n)
        n = rows->step; /* the rest is looked at with the next row */
      if (l->limit && !elem_below(at, rows->type, n, l->limit, &bad, value)) return l;
      at += (uint64_t)l->count * size;
    }
  }
  return NULL;
}

void tensor_type_text(const GcTensor *t, char *out, int size) {
  dims_text((Elem)t->dtype, t->rank, (const uint64_t *)(t->run_dims ? t->run_dims : t->dims), out,
            size);
}

void tensor_shapes_text(const GcEntry *e, const GcTensor *t, char *out, size_t size) {
  if (t->planned) t = t->planned; /* as the program declares it */
  tensor_type_text(t, out, (int)size);
  if (!e || !t->extents) return;
  size_t at = strcspn(out, "[");
  for (int i = 0; i < t->rank && at < size; i++) {
    const char *before = i ? ", " : "[";
    const GcPart *part = t->parts && t->parts[i].rows ? &t->parts[i] : NULL;
    const int64_t parts = part ? t->dims[i] / part->rows : 0,
                  first = part ? parts * part->first : 0;
    uint32_t left = part ? part->extents : t->extents[i];
    int64_t times = (part ? parts * part->whole : t->dims[i]) / extents_product(e, left, NULL);
    if (!left || times != 1) {
      at += (size_t)snprintf(out + at, size - at, "%s%" PRId64, before, times);
      before = " * ";
    }
    for (; left && at < size; left >>= 4, before = " * ")
      at += (size_t)snprintf(out + at, size - at, "%s%s", before, e->extents[(left & 15) - 1].name);
    if (first && at < size)
      at += (size_t)snprintf(out + at, size - at, " %c %" PRId64, first < 0 ? '+' : '-',
                             first < 0 ? -first : first);
    if (t->extents[i] && at < size)
      at += (size_t)snprintf(out + at, size - at, " <= %" PRId64, t->dims[i]);
  }
  if (at < size) snprintf(out + at, size - at, "]");
}
