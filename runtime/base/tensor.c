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

/* The same of a matrix whose rows are interleaved. */
static uint64_t interleaved_place(const GcTensor *t, uint64_t index) {
  const int outer = t->order ? t->order[0] : 0;
  const uint64_t x[] = {index / dim(t, 1), index % dim(t, 1)}, row = x[outer],
                 column = x[1 - outer];
  const uint64_t nr = (uint64_t)t->panel, by = (uint64_t)t->interleaved;
  const uint64_t groups = (stored_dim(t, outer) + by - 1) / by;
  return ((column / nr * groups + row / by) * nr + column % nr) * by + row % by;
}

/* Where logical element `index` lies, in elements. */
uint64_t tensor_place(const GcTensor *t, uint64_t index) {
  if (t->interleaved) return interleaved_place(t, index);
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

/* ---- copies of runs of elements ---- */

enum {
  BLOCK = 2048,  /* elements that are copied and looked at while they are in the nearest cache */
  MOST_AXES = 64 /* of two elements or more, in storage that has an address */
};

/* A place in a tensor that goes on in logical order. Axes of one element are left out, and
   neighbours that lie as one axis does are one: a filter of 1 x 1 has its input channels last. */
typedef struct Walk {
  struct {
    uint64_t n, step, at; /* step: between its elements in storage */
  } axis[MOST_AXES];      /* of two elements or more each */
  int n;
  int panelled; /* the axis that is cut into panels, whose step is 1; -1: there is none */
  uint64_t panel, panel_step;
} Walk;

/* Between neighbours along an axis in storage, in elements; axis -1: between panels. */
static uint64_t step_of(const GcTensor *t, int axis) {
  uint64_t size = 1;
  for (int i = t->rank - 1; i >= 0; i--) {
    const int here = t->order ? t->order[i] : i;
    if (here == axis) break;
    size *= i == t->rank - 1 && t->panel > 0 ? (uint64_t)t->panel : stored_dim(t, here);
  }
  return size;
}

static void walk_begin(Walk *w, const GcTensor *t, uint64_t first) {
  const int panelled = t->panel <= 0 || !t->rank ? -1
                       : t->order                ? t->order[t->rank - 1]
                                                 : t->rank - 1;
  w->n = 0, w->panelled = -1;
  w->panel = (uint64_t)t->panel, w->panel_step = step_of(t, -1);
  for (int i = 0; i < t->rank; i++) {
    const uint64_t n = dim(t, i), step = step_of(t, i);
    if (n == 1) continue;
    if (w->n && i != panelled && w->axis[w->n - 1].step == n * step) {
      w->axis[w->n - 1].n *= n, w->axis[w->n - 1].step = step;
      continue;
    }
    if (i == panelled) w->panelled = w->n;
    w->axis[w->n].n = n, w->axis[w->n++].step = step;
  }
  for (int i = w->n - 1; i >= 0; i--) w->axis[i].at = first % w->axis[i].n, first /= w->axis[i].n;
}

static uint64_t walk_place(const Walk *w) {
  uint64_t place = 0;
  for (int i = 0; i < w->n; i++)
    place += i == w->panelled ? w->axis[i].at % w->panel + w->axis[i].at / w->panel * w->panel_step
                              : w->axis[i].at * w->axis[i].step;
  return place;
}

/* Elements from here on that lie evenly apart, *step from one to the next. */
static uint64_t walk_run(const Walk *w, uint64_t *step) {
  const int last = w->n - 1;
  *step = 1;
  if (last < 0) return 1;
  const uint64_t left = w->axis[last].n - w->axis[last].at;
  if (last != w->panelled) return *step = w->axis[last].step, left;
  const uint64_t of_panel = w->panel - w->axis[last].at % w->panel;
  return left < of_panel ? left : of_panel;
}

/* By no more than a run. */
static void walk_on(Walk *w, uint64_t n) {
  for (int i = w->n - 1; i >= 0; i--, n = 1) {
    if ((w->axis[i].at += n) < w->axis[i].n) return;
    w->axis[i].at = 0;
  }
}

static inline void apart_copy(char *storage, uint64_t step, char *flat, uint64_t n, size_t size,
                              bool get) {
  for (uint64_t i = 0; i < n; i++)
    if (get)
      memcpy(flat + i * size, storage + i * step * size, size);
    else
      memcpy(storage + i * step * size, flat + i * size, size);
}

static void run_copy(char *storage, uint64_t step, char *flat, uint64_t n, size_t size, bool get) {
  if (step == 1) {
    memcpy(get ? flat : storage, get ? storage : flat, n * size);
    return;
  }
  switch (size) { /* so many bytes are one instruction */
  case 1: apart_copy(storage, step, flat, n, 1, get); break;
  case 2: apart_copy(storage, step, flat, n, 2, get); break;
  case 4: apart_copy(storage, step, flat, n, 4, get); break;
  case 8: apart_copy(storage, step, flat, n, 8, get); break;
  default: apart_copy(storage, step, flat, n, size, get); break;
  }
}

/* Runs are what a row has in one panel, or in one group of rows. */
static void interleaved_copy(const GcTensor *t, char *storage, uint64_t first, uint64_t n,
                             char *flat, bool get) {
  const uint64_t size = (uint64_t)elem_info[t->dtype].size, all = dim(t, 1);
  const bool turned = t->order && t->order[0] == 1;
  const uint64_t most = (uint64_t)(turned ? t->interleaved : t->panel);
  const uint64_t step = turned ? 1 : (uint64_t)t->interleaved;
  for (uint64_t run; n; n -= run, first += run, flat += run * size) {
    const uint64_t at = first % all, of_row = all - at;
    run = most - at % most;
    if (run > of_row) run = of_row;
    if (run > n) run = n;
    run_copy(storage + tensor_place(t, first) * size, step, flat, run, size, get);
    if (get) elem_one_nan(flat, (Elem)t->dtype, run);
  }
}

static void ordered_copy(const GcTensor *t, char *storage, uint64_t first, uint64_t n, char *flat,
                         bool get) {
  const uint64_t size = (uint64_t)elem_info[t->dtype].size;
  Walk w;
  if (!n) return;
  if (t->interleaved) {
    interleaved_copy(t, storage, first, n, flat, get);
    return;
  }
  walk_begin(&w, t, first);
  for (uint64_t block; n; n -= block, flat += block * size) {
    block = n < BLOCK ? n : BLOCK;
    for (uint64_t done = 0, run, step; done < block; done += run) {
      run = walk_run(&w, &step);
      if (run > block - done) run = block - done;
      run_copy(storage + walk_place(&w) * size, step, flat + done * size, run, size, get);
      walk_on(&w, run);
    }
    if (get) elem_one_nan(flat, (Elem)t->dtype, block);
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
