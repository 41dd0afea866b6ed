/* Types and layouts: interned, so that equality is ==; names and sizes of dtypes; broadcasting.
   Contract: a type's bytes stay below 2^62, so that sums of a few sizes never overflow 64 bits.
   Scratch dims are on the stack up to SMALL_RANK, in the context's arena above. */
#include "ir.h"
#include "ir/support/ctx_impl.h"

static const uint64_t MAX_TYPE_BYTES = UINT64_C(1) << 62;
enum { WIDEST = 8 }; /* bytes of the widest dtype */

static const struct {
  const char *name;
  int size;
} dtypes[DTYPES] = {
    [DT_BOOL] = {"bool", 1}, [DT_U8] = {"u8", 1},   [DT_I8] = {"i8", 1},
    [DT_I32] = {"i32", 4},   [DT_I64] = {"i64", 8}, [DT_F16] = {"f16", 2},
    [DT_BF16] = {"bf16", 2}, [DT_F32] = {"f32", 4}, [DT_F64] = {"f64", 8},
};

int dtype_size(Dtype dt) { return dtypes[dt].size; }

Dtype dtype_sum(Dtype dt) { return dtype_is_float(dt) && dtype_size(dt) < 4 ? DT_F32 : dt; }
const char *dtype_name(Dtype dt) { return dtypes[dt].name; }

bool dtype_parse(const char *s, Dtype *out) {
  for (int i = 0; i < DTYPES; i++)
    if (strcmp(s, dtypes[i].name) == 0) {
      *out = (Dtype)i;
      return true;
    }
  return false;
}

/* ---- types ---- */

typedef struct TypeKey {
  Dtype dtype;
  int rank;
  const int64_t *dim;
} TypeKey;

static bool type_equal(const void *entry, const void *key) {
  const Type *t = entry;
  const TypeKey *k = key;
  bool same = t->dtype == k->dtype && t->rank == k->rank;
  for (int i = 0; same && i < k->rank; i++) same = type_axis(t, i) == k->dim[i];
  return same;
}

const int64_t *type_axes(const Type *t, int64_t *axis) {
  for (int i = 0; i < t->rank; i++) axis[i] = type_axis(t, i);
  return axis;
}

/* The dims at their bounds, and the extents; false if an axis is too long. */
static bool decode(Ctx *c, const TypeKey *k, int64_t *dim, const Extent **extent) {
  for (int i = 0; i < k->rank; i++) {
    extent[i] = axis_extent(c, k->dim[i]);
    dim[i] = k->dim[i];
    if (extent[i] && __builtin_mul_overflow(axis_multiple(k->dim[i]), extent[i]->bound, &dim[i]))
      return false;
    if (extent[i] && (dim[i] == 0 || dim[i] > INT32_MAX)) return false;
  }
  return true;
}

/* ---- */

/* The elements are counted at the size of the widest dtype, so that a conversion, and a tensor of
   indices of the same shape, can be addressed whenever the tensor itself can. Zero extents are left
   out of the product that must not overflow: [2^40, 0, 2^40] is rejected, too. */
static bool count_elements(const TypeKey *k, int64_t *numel, uint64_t *bytes) {
  uint64_t n = 1, size = (uint64_t)dtype_size(k->dtype), widest;
  bool empty = false;
  for (int i = 0; i < k->rank; i++) {
    if (k->dim[i] < 0) return false;
    if (k->dim[i] == 0)
      empty = true;
    else if (!checked_mul(n, (uint64_t)k->dim[i], &n))
      return false;
  }
  if (!checked_mul(n, WIDEST, &widest) || widest >= MAX_TYPE_BYTES) return false;
  size *= n;
  *numel = empty ? 0 : (int64_t)n;
  *bytes = empty ? 0 : size;
  return true;
}

const Type *type_get(Ctx *c, Dtype dt, int rank, const int64_t *dim) {
  TypeKey key = {dt, rank, dim};
  int64_t numel, small[SMALL_RANK], *at_bound = NULL;
  const Extent **extent = NULL;
  uint64_t bytes;
  if (rank < 0) return NULL;
  for (int i = 0; i < rank && !extent; i++)
    if (axis_is_bounded(dim[i])) extent = ARENA_ARRAY(c->arena, const Extent *, rank);
  if (extent) {
    at_bound = rank <= SMALL_RANK ? small : ARENA_ARRAY(c->arena, int64_t, rank);
    if (!decode(c, &key, at_bound, extent)) return NULL;
  }
  const TypeKey bound = {dt, rank, extent ? at_bound : dim};
  if (!count_elements(&bound, &numel, &bytes)) return NULL;
  size_t dim_bytes = sizeof dim[0] * (size_t)rank;
  uint64_t hash = hash_word(rank ? hash_bytes(HASH_START, dim, dim_bytes) : 0, dt);
  void **entry = intern_entry(c, &c->types, hash, type_equal, &key);
  if (!*entry) {
    Type *t = arena_alloc(c->arena, sizeof *t + dim_bytes);
    t->dtype = dt;
    t->rank = rank;
    t->numel = numel;
    t->bytes = bytes;
    t->extent = extent;
    if (rank) memcpy(t->dim, bound.dim, dim_bytes);
    *entry = t;
  }
  return *entry;
}

/* Room for n dims. */
static int64_t *dims_of(Ctx *c, int n, int64_t *small) {
  return n <= SMALL_RANK ? small : ARENA_ARRAY(c->arena, int64_t, n);
}

const Type *type_scalar(Ctx *c, Dtype dt) { return type_get(c, dt, 0, NULL); }

const Type *type_with_dtype(Ctx *c, const Type *t, Dtype dt) {
  int64_t small[SMALL_RANK];
  return t->dtype == dt ? t : type_get(c, dt, t->rank, type_axes(t, dims_of(c, t->rank, small)));
}

const Type *type_with_extent(Ctx *c, const Type *t, int axis, int64_t n) {
  int64_t small[SMALL_RANK], *dim = dims_of(c, t->rank, small);
  for (int i = 0; i < t->rank; i++) dim[i] = i == axis ? n : type_axis(t, i);
  return type_get(c, t->dtype, t->rank, dim);
}

const Type *type_joined(Ctx *c, const Type *t) {
  int64_t small[SMALL_RANK], *dim = dims_of(c, t->rank + 1, small), all = 1;
  int last = -1, first = 0, n = 0;
  while (first < t->rank && t->dim[first] == 1) first++;
  for (int i = first + 1; i < t->rank; i++)
    if (type_extent(t, i)) last = i;
  if (last < 0) return t;
  for (int i = 0; i <= last && all; i++) all = axis_product(c, all, type_axis(t, i));
  dim[n++] = all;
  for (int i = last + 1; i < t->rank; i++) dim[n++] = type_axis(t, i);
  return all ? type_get(c, t->dtype, n, dim) : NULL;
}

const Type *type_stacked(Ctx *c, const Type *row, int64_t n) {
  int64_t small[SMALL_RANK], *dim = dims_of(c, row->rank + 1, small);
  dim[0] = n;
  for (int i = 0; i < row->rank; i++) dim[i + 1] = type_axis(row, i);
  return type_get(c, row->dtype, row->rank + 1, dim);
}

const char *type_str(Ctx *c, const Type *t) {
  char small[256], *text = small;
  size_t size = 16 + (size_t)t->rank * 21, at; /* a dim has at most 19 digits and a comma */
  for (int i = 0; i < t->rank; i++)
    for (int k = 0; type_extent(t, i) && k < t->extent[i]->nfactors; k++)
      size += strlen(t->extent[i]->factor[k]->name) + 24;
  if (size > sizeof small)
    text = arena_alloc(c->arena, size);
  else
    size = sizeof small;
  at = (size_t)snprintf(text, size, "%s[", dtype_name(t->dtype));
  for (int i = 0; i < t->rank; i++) {
    const Extent *x = type_extent(t, i);
    const char *before = i ? "," : "";
    const bool bare = x && t->dim[i] == x->bound && x->nfactors == 1;
    if (!x || t->dim[i] != x->bound) {
      at += (size_t)snprintf(text + at, size - at, "%s%lld", before,
                             (long long)(x ? t->dim[i] / x->bound : t->dim[i]));
      before = "*";
    }
    for (int k = 0; x && k < x->nfactors; k++, before = "*") {
      const Extent *f = x->factor[k]; /* the name of a part has its parentheses */
      at += (size_t)snprintf(text + at, size - at, bare || f->whole ? "%s%s" : "%s(%s", before,
                             f->name);
      if (!f->whole)
        at += (size_t)snprintf(text + at, size - at, bare ? "<=%lld" : "<=%lld)",
                               (long long)f->bound);
    }
  }
  text[at++] = ']';
  return intern_n(c, text, at);
}

/* A dim as a program says it, if the text form of the IR says it otherwise; else NULL. */
static const char *dim_text(Ctx *c, const Type *t, int i) {
  const Extent *x = type_extent(t, i);
  if (!x) return NULL;
  if (x->whole) return axis_str(c, type_axis(t, i));
  const int64_t times = axis_multiple(type_axis(t, i));
  if (times == 1 || x->nfactors > 1) return NULL;
  return intern_printf(c, "%lld*%s<=%lld", (long long)times, x->name, (long long)t->dim[i]);
}

const char *type_text(Ctx *c, const Type *t) {
  const char *text = intern_printf(c, "%s[", dtype_name(t->dtype));
  bool other = false;
  for (int i = 0; i < t->rank; i++) {
    const int64_t axis = type_axis(t, i);
    const char *own = dim_text(c, t, i);
    const char *one = own ? own : type_str(c, type_get(c, DT_F32, 1, &axis)) + 4;
    other |= own != NULL;
    text = intern_printf(c, "%s%s%.*s", text, i ? "," : "", (int)strlen(one) - !own, one);
  }
  return other ? intern_printf(c, "%s]", text) : type_str(c, t);
}

const Type *type_broadcast(Ctx *c, const Type *a, const Type *b) {
  int rank = a->rank > b->rank ? a->rank : b->rank;
  int64_t small[SMALL_RANK];
  int64_t *dim = dims_of(c, rank, small);
  for (int i = 1; i <= rank; i++) { /* from the last axis */
    int64_t x = i <= a->rank ? type_axis(a, a->rank - i) : 1;
    int64_t y = i <= b->rank ? type_axis(b, b->rank - i) : 1;
    if (x != y && x != 1 && y != 1) return NULL;
    dim[rank - i] = x == 1 ? y : x;
  }
  return type_get(c, a->dtype, rank, dim);
}

bool type_same_dims(const Type *a, const Type *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (type_axis(a, i) != type_axis(b, i)) return false;
  return true;
}

bool type_same_elements(const Type *a, const Type *b) {
  if (a->numel != b->numel) return false;
  if (!a->extent && !b->extent) return true;
  if (a->numel == 0) return false;
  for (int i = 0, k = 0;;) {
    while (i < a->rank && a->dim[i] == 1) i++;
    while (k < b->rank && b->dim[k] == 1) k++;
    if (i == a->rank || k == b->rank) return i == a->rank && k == b->rank;
    if (type_extent(a, i) != type_extent(b, k)) return false; /* the outermost of both */
    int64_t x = a->dim[i++], y = b->dim[k++];
    while (x != y) {
      bool left = x < y;
      if (left ? i == a->rank : k == b->rank) return false;
      if (left ? type_extent(a, i) : type_extent(b, k)) return false;
      if (left)
        x *= a->dim[i++];
      else
        y *= b->dim[k++];
    }
  }
}

bool type_same_rows(const Type *a, const Type *b) {
  return a->rank && b->rank && a->numel && a->numel == b->numel && type_same_elements(a, b) &&
         type_axis(a, a->rank - 1) == type_axis(b, b->rank - 1);
}

/* ---- layouts ---- */

static bool layout_equal(const void *entry, const void *key) {
  const Layout *a = entry, *b = key;
  return a->nr == b->nr && a->interleaved == b->interleaved && a->order == b->order &&
         a->winograd == b->winograd && a->image == b->image && a->padding == b->padding;
}

static const Layout *layout_of(Ctx *c, const int64_t *order, int n, Layout key) {
  if (key.nr < 0) gc_bug(c, "a layout of panels of %d columns was asked for", key.nr);
  bool same = true;
  for (int i = 0; order && i < n; i++) same = same && order[i] == i;
  if (!same) key.order = intern_ints(c, order, n);
  if (!key.order && !key.nr) return NULL;
  uint64_t hash = hash_word((uint64_t)(uintptr_t)key.order, (uint64_t)key.nr * 2 + key.winograd);
  hash = hash_word(hash_word(hash, (uint64_t)(uintptr_t)key.image), (uint64_t)key.interleaved);
  void **entry = intern_entry(c, &c->layouts, hash, layout_equal, &key);
  if (!*entry) {
    Layout *l = ARENA_NEW(c->arena, Layout);
    *l = key;
    *entry = l;
  }
  return *entry;
}

const Layout *layout_get(Ctx *c, const int64_t *order, int n, int nr) {
  return layout_of(c, order, n, (Layout){.nr = nr});
}

const Layout *layout_winograd(Ctx *c, const int64_t *order, int nr, const Type *image,
                              const int64_t *padding) {
  Layout key = {.nr = nr, .winograd = true, .image = image};
  if (image) key.padding = intern_ints(c, padding, 4);
  return layout_of(c, order, 4, key);
}

const Layout *layout_panels(Ctx *c, int nr) { return layout_get(c, NULL, 0, nr); }

const Layout *layout_interleaved(Ctx *c, const Layout *panels, int rows) {
  Layout key = *panels;
  key.interleaved = rows;
  return layout_of(c, key.order ? key.order->at : NULL, key.order ? (int)key.order->n : 0, key);
}

int layout_axis(const Layout *l, int i) { return l && l->order ? (int)l->order->at[i] : i; }

bool layout_fits(const Type *t, const Layout *l) {
  if (!l) return true;
  if (l->nr < 0 || (l->nr && t->rank < 2)) return false;
  if (l->interleaved && (l->interleaved < 2 || !l->nr || l->winograd || t->rank != 2)) return false;
  if (l->winograd &&
      (!l->nr || !l->order || t->rank != 4 || t->dim[2] != 3 || t->dim[3] != 3 || t->extent))
    return false;
  if (!l->order) return l->nr > 0;
  if (l->order->n != t->rank) return false;
  for (int i = 0; i < t->rank; i++) {
    int seen = 0;
    for (int k = 0; k < t->rank; k++) seen += l->order->at[k] == i;
    if (seen != 1) return false;
  }
  return true;
}

/* Numbers along an axis of storage. */
static int64_t layout_dim(const Type *t, const Layout *l, int axis) {
  return t->dim[axis] + (l && l->winograd && axis >= 2);
}

int64_t layout_strides(const Type *t, const Layout *l, int64_t *stride) {
  bool panels = l && l->nr && t->rank > 0;
  int64_t n = 1;
  int i = t->rank - 1;
  const int64_t together = panels && l->interleaved ? l->interleaved : 1;
  if (panels) {
    stride[layout_axis(l, i--)] = together;
    n = l->nr * together;
  }
  for (; i >= 0; i--) {
    int axis = layout_axis(l, i);
    stride[axis] = n;
    n *= (layout_dim(t, l, axis) + together - 1) / together;
  }
  return panels ? n : 0;
}

int64_t layout_row(const Type *t, const Layout *l) {
  if (t->rank == 0) return 0;
  int64_t row = t->dim[t->rank - 1];
  if (!l) return row;
  return !l->order && !l->interleaved && l->nr >= row ? l->nr : 0;
}

bool layout_same_rows(const Type *a, const Layout *x, const Type *b, const Layout *y) {
  int64_t row = layout_row(a, x);
  return row && row == layout_row(b, y) && type_same_rows(a, b);
}

bool layout_same(const Type *t, const Layout *a, const Layout *b) {
  if (a == b) return true;
  if ((a && a->nr) || (b && b->nr)) return false;
  int i = 0, k = 0; /* the same order of all axes that are not of extent 1 */
  for (;; i++, k++) {
    while (i < t->rank && t->dim[layout_axis(a, i)] == 1) i++;
    while (k < t->rank && t->dim[layout_axis(b, k)] == 1) k++;
    if (i == t->rank || k == t->rank) return true;
    if (layout_axis(a, i) != layout_axis(b, k)) return false;
  }
}

bool layout_bytes(const Type *t, const Layout *l, uint64_t *out) {
  if (!l || !l->nr || t->rank == 0 || t->numel == 0) {
    *out = t->bytes;
    return true;
  }
  uint64_t columns = (uint64_t)t->dim[layout_axis(l, t->rank - 1)], nr = (uint64_t)l->nr, padded,
           rows = (uint64_t)t->numel / columns, bytes;
  if (!checked_add(columns, nr - 1, &padded)) return false;
  padded = padded / nr * nr;
  if (l->interleaved) {
    const uint64_t together = (uint64_t)l->interleaved;
    if (!checked_add(rows, together - 1, &rows)) return false;
    rows = rows / together * together;
  }
  if ((l->winograd && !checked_mul(rows / 9, 16, &rows)) || !checked_mul(rows, padded, &bytes) ||
      !checked_mul(bytes, (uint64_t)dtype_size(t->dtype), &bytes))
    return false;
  *out = bytes;
  return true;
}
