/* What the conformance test gives to each op: operands, attributes, and how far results may be off.
   Special values go through every element-wise op. */
#include "tests/num/conformance.h"
#include "tests/num/random_program.h"
#include "tests/num/random_window.h"

#include <math.h>

static int64_t below(Case *c, int64_t n) { return random_below(&c->seed, n); }

static double between(Case *c, double lo, double hi) {
  return lo + (hi - lo) * (double)(random_next(&c->seed) >> 11) * 0x1p-53;
}

/* ---- operands ---- */

static const double specials[] = {
    0.0,     -0.0,       1,         -1,    0.5,      -0.5,         1.5,           2.5,
    -2.5,    INFINITY,   -INFINITY, NAN,   65504,    -65504,       65519,         3.4e38,
    -3.4e38, 1e-3,       -7,        3,     0x1p-126, 0x1p-149,     -0x1p-130,     0x1p-24,
    0x1p-14, -0x1.8p-24, 16777217,  256.5, -129,     2147483648.0, -2147483648.0, 9.3e18,
    -9.3e18, 1e300,      255};
static const int64_t int_specials[] = {
    0,   1,   -1,        2,         -2,        7,         -7,       127,
    255, 256, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 16777217, (1LL << 53) + 1};
enum {
  SPECIALS = sizeof specials / sizeof specials[0],
  INT_SPECIALS = sizeof int_specials / sizeof int_specials[0]
};

static double special_float(Case *c) {
  for (;;) {
    double v = specials[below(c, SPECIALS)];
    double most = c->row->special_max;
    if (most > 0 && isfinite(v) && fabs(v) > most) continue;
    if (c->row->rule != EXACT && v != 0 && fabs(v) < 0x1p-126) continue;
    return v;
  }
}

Scalar conformance_element(Case *c, Dtype dt, int64_t limit) {
  const Row *r = c->row;
  Scalar s;
  if (dtype_is_float(dt) && c->minus) {
    s.f = -0.0;
  } else if (dtype_is_float(dt)) {
    double hi = r->hi > 0 ? r->hi : 2, v = between(c, r->lo, hi);
    s.f = c->size == 4 && r->hi == 0 ? special_float(c) : random_next(&c->seed) & 1 ? v : -v;
  } else if (limit > 0) {
    s.i = below(c, limit);
  } else {
    s.i = c->size == 4 ? int_specials[below(c, INT_SPECIALS)] : below(c, 23) - 11;
  }
  return scalar_round(s, dt, INTERP_DTYPE);
}

static const Type *type_of(Case *c, Dtype dt, int rank, const int64_t *dim) {
  return type_get(c->ctx, dt, rank, dim);
}

static void operand(Case *c, Dtype dt, int rank, const int64_t *dim) {
  c->x[c->n++].type = type_of(c, dt, rank, dim);
}

static void indices(Case *c, int rank, const int64_t *dim, int64_t limit) {
  c->limit[c->n] = limit;
  int narrow = limit <= INT8_MAX ? 0 : limit <= UINT8_MAX ? 1 : 2;
  static const Dtype dtypes[] = {DT_I8, DT_U8, DT_I32, DT_I64};
  operand(c, dtypes[narrow + below(c, 4 - narrow)], rank, dim);
}

static const Ints *ints(Case *c, int n, const int64_t *at) { return intern_ints(c->ctx, at, n); }

/* Extents of the case's size, rank from least to 4. */
static int shape(Case *c, int least, int64_t dim[4]) {
  static const int64_t small[] = {1, 2, 3, 5, 7, 1, 13, 17};
  static const int64_t large[][4] = {{31, 1031},  {1031, 31}, {40009},
                                     {7, 61, 79}, {128, 256}, {3, 11, 5, 211},
                                     {20011, 2},  {2, 20011}, {37, 64, 1, 16}};
  if (c->size == 3) {
    for (;;) {
      const int64_t *d = large[below(c, 9)];
      int rank = 0;
      while (rank < 4 && d[rank]) dim[rank] = d[rank], rank++;
      if (rank >= least) return rank;
    }
  }
  if (c->size == 4) {
    for (int i = 1; i < least; i++) dim[i] = 1;
    return dim[0] = 1013, least > 1 ? least : 1;
  }
  int rank = c->size == 0 ? least : least + (int)below(c, 5 - least);
  int64_t n = 1;
  for (int i = 0; i < rank; i++) {
    do dim[i] = small[below(c, 8)];
    while (n * dim[i] > 4000);
    n *= dim[i];
  }
  if (c->size == 1 && rank > 1 && below(c, 8) == 0) dim[below(c, rank)] = 0;
  return rank;
}

static void unary(Case *c) {
  int64_t d[4];
  int rank = shape(c, 0, d);
  operand(c, c->dt, rank, d);
}

static void binary(Case *c) {
  unary(c);
  operand(c, c->dt, c->x[0].type->rank, c->x[0].type->dim);
}

static void choice(Case *c) {
  int64_t d[4];
  int rank = shape(c, 0, d);
  operand(c, DT_BOOL, rank, d);
  operand(c, c->dt, rank, d);
  operand(c, c->dt, rank, d);
}

/* To each dtype in turn: sizes 0 … 4 stand for other targets, and shapes follow from the seed. */
static void conversion(Case *c) {
  unary(c);
  c->given = type_with_dtype(c->ctx, c->x[0].type, (Dtype)below(c, DTYPES));
}

static void leaf(Case *c) {
  int64_t d[4];
  int rank = shape(c, c->kind == OP_IOTA, d);
  c->given = type_of(c, c->dt, rank, d);
  if (c->kind == OP_IOTA) c->attr[AT_AXIS].i = below(c, rank);
  if (c->kind == OP_CONST) {
    Scalar s = conformance_element(c, c->dt, 0);
    c->attr[AT_VALUE].i = s.i;
  }
  if (c->kind == OP_RANDOM_UNIFORM || c->kind == OP_RANDOM_NORMAL) {
    c->attr[AT_KEY].str = intern(c->ctx, "noise");
    c->attr[AT_DRAW].i = below(c, 3);
    if (below(c, 2)) operand(c, DT_I32, 0, NULL);
  }
}

static void global(Case *c) {
  unary(c);
  const char *path = intern_printf(c->ctx, "g%u", c->m->globals.n);
  c->global =
      module_add_global(c->m, (Global){.kind = GLOBAL_STATE, .path = path, .type = c->x[0].type});
}

static void reshaped(Case *c) {
  unary(c);
  const Type *t = c->x[0].type;
  int64_t d[2] = {t->numel, 1};
  for (int64_t p = 2; p < 8 && t->numel; p++)
    if (t->numel % p == 0) d[0] = t->numel / p, d[1] = p;
  c->given = type_of(c, c->dt, 2, d);
}

static void permuted(Case *c) {
  unary(c);
  int64_t p[4] = {0, 1, 2, 3};
  int rank = c->x[0].type->rank;
  for (int i = rank - 1; i > 0; i--) {
    int64_t j = below(c, i + 1), keep = p[i];
    p[i] = p[j], p[j] = keep;
  }
  c->attr[AT_PERM].ints = ints(c, rank, p);
}

static void widened(Case *c) {
  int64_t d[4], part[4];
  int rank = shape(c, 0, d), lead = rank ? (int)below(c, rank + 1) : 0;
  for (int i = lead; i < rank; i++) part[i - lead] = random_next(&c->seed) & 1 ? d[i] : 1;
  operand(c, c->dt, rank - lead, part);
  c->given = type_of(c, c->dt, rank, d);
}

static void cut(Case *c) {
  unary(c);
  const Type *t = c->x[0].type;
  int64_t starts[4], steps[4], d[4];
  for (int i = 0; i < t->rank; i++) {
    starts[i] = t->dim[i] ? below(c, t->dim[i] < 4 ? t->dim[i] : 4) : 0;
    steps[i] = 1 + below(c, 3);
    int64_t room = (t->dim[i] - starts[i] + steps[i] - 1) / steps[i];
    d[i] = room - below(c, room < 3 ? room + 1 : 3);
  }
  c->attr[AT_STARTS].ints = ints(c, t->rank, starts);
  c->attr[AT_STEPS].ints = ints(c, t->rank, steps);
  c->given = type_of(c, c->dt, t->rank, d);
}

static void some_axes(Case *c) {
  unary(c);
  const Type *t = c->x[0].type;
  int64_t axes[4];
  int n = 0;
  c->terms = 1;
  for (int i = 0; i < t->rank; i++)
    if (random_next(&c->seed) & 1) c->terms *= t->dim[i], axes[n++] = i;
  c->attr[AT_AXES].ints = ints(c, n, axes);
}

static void one_axis(Case *c) {
  int64_t d[4];
  int rank = shape(c, 1, d);
  operand(c, c->dt, rank, d);
  c->attr[AT_AXIS].i = below(c, rank);
}

static void running(Case *c) {
  one_axis(c);
  c->attr[AT_BACKWARD].i = below(c, 2);
  c->terms = 1 + c->x[0].type->dim[c->attr[AT_AXIS].i];
}

static void padded(Case *c) {
  unary(c);
  int rank = c->x[0].type->rank;
  int64_t lo[4], hi[4], inner[4];
  for (int i = 0; i < rank; i++) lo[i] = below(c, 3), hi[i] = below(c, 3), inner[i] = below(c, 3);
  Scalar s = conformance_element(c, c->dt, 0);
  c->attr[AT_VALUE].i = s.i;
  c->attr[AT_LO].ints = ints(c, rank, lo);
  c->attr[AT_HI].ints = ints(c, rank, hi);
  c->attr[AT_INTERIOR].ints = ints(c, rank, inner);
}

static void joined(Case *c) {
  int64_t d[4];
  int rank = shape(c, 1, d), parts = 1 + (int)below(c, 4);
  int64_t axis = below(c, rank);
  c->attr[AT_AXIS].i = axis;
  for (int k = 0; k < parts; k++) {
    d[axis] = c->size == 0 ? 1 : below(c, 8);
    operand(c, c->dt, rank, d);
  }
}

static void product(Case *c) {
  static const int64_t extents[] = {1, 2, 3, 5, 6, 7, 13, 16, 17, 31, 33, 64};
  int64_t m = extents[below(c, 12)], n = extents[below(c, 12)], k = extents[below(c, 12)],
          page = 1 + below(c, 3);
  if (c->size == 0) m = n = k = 1;
  if (c->size == 3) m = 61 + below(c, 90), n = 67 + below(c, 200), k = 37 + below(c, 300);
  if (c->size == 3 && below(c, 3) == 0) /* deep: panels are packed, sums are of two chains */
    m = 64 + below(c, 40), n = 65 + below(c, 80), k = 513 + below(c, 700);
  if (c->size == 1 && below(c, 4) == 0) k = 0;
  bool ta = random_next(&c->seed) & 1, tb = random_next(&c->seed) & 1,
       batch = c->size != 3 && random_next(&c->seed) & 1;
  c->attr[AT_TA].i = ta;
  c->attr[AT_TB].i = tb;
  c->attr[AT_WIDE].i = (c->dt == DT_F16 || c->dt == DT_BF16) && random_next(&c->seed) & 1;
  int64_t a[3] = {page, ta ? k : m, ta ? m : k}, b[3] = {page, tb ? n : k, tb ? k : n};
  operand(c, c->dt, 2 + batch, a + !batch);
  operand(c, c->dt, 2 + batch, b + !batch);
  c->terms = k;
}

static void looked_up(Case *c) {
  int64_t d[4], n[2] = {1 + below(c, 5), 1 + below(c, 40)};
  int rank = shape(c, 1, d);
  if (rank > 2) rank = 2;
  if (d[0] == 0) d[0] = 3;
  if (c->size == 3) d[0] = 211, d[1] = 67, rank = 2, n[0] = 23, n[1] = 41;
  operand(c, c->dt, rank, d);
  indices(c, (int)below(c, 3), n, d[0]);
  if (c->size == 3) c->n--, indices(c, 2, n, d[0]);
}

/* Tables and ids with leading axes in common. */
static void looked_up_in_tables(Case *c) {
  int64_t d[4] = {1 + below(c, 4), 1 + below(c, 7), 1 + below(c, 13), 1 + below(c, 5)};
  int64_t n[4], batch = 1 + below(c, 2), rank = batch + 1 + below(c, 3 - batch + 1);
  if (c->size == 3) d[0] = 31, d[1] = 17, d[2] = 53, d[3] = 3;
  memcpy(n, d, sizeof n);
  n[batch] = c->size == 3 ? 67 : below(c, 12);
  operand(c, c->dt, (int)rank, d);
  indices(c, (int)(batch + below(c, 2)), n, d[batch]);
  c->attr[AT_BATCH].i = batch;
}

static void gathered(Case *c) { below(c, 2) ? looked_up_in_tables(c) : looked_up(c); }

static void summed_by_id(Case *c) {
  int64_t d[3] = {1 + below(c, 9), 1 + below(c, 9), 1 + below(c, 20)}, depth = 1 + below(c, 40);
  int rank = c->size == 0 ? 1 : 1 + (int)below(c, 3),
      idrank = c->size == 0 ? 0 : (int)below(c, rank + 1);
  if (c->size == 3) d[0] = 151, d[1] = 17, d[2] = 37, depth = 101, rank = 3, idrank = 2;
  operand(c, c->dt, rank, d);
  indices(c, idrank, d, depth);
  c->attr[AT_ROWS].i = depth;
  c->attr[AT_BATCH].i = below(c, idrank + 1);
  c->terms = c->x[1].type->numel;
}

static void one_hot(Case *c) {
  int64_t d[5], depth = 1 + below(c, 12);
  int rank = shape(c, 0, d);
  if (rank > 3) rank = 3;
  indices(c, rank, d, depth + 3);
  d[rank] = depth;
  c->given = type_of(c, c->dt, rank + 1, d);
  c->attr[AT_DEPTH].i = depth;
}

static void suppressed(Case *c) {
  int64_t images = 1 + below(c, 3), classes = 1 + below(c, 4),
          n = 1 + below(c, c->size == 3 ? 700 : 40);
  operand(c, DT_F32, 3, (int64_t[]){images, n, 4});
  operand(c, DT_F32, 3, (int64_t[]){images, classes, n});
  operand(c, DT_F32, 0, NULL);
  c->attr[AT_MOST].i = 1 + below(c, n + 5);
}

static int row_shape(Case *c, int64_t d[4]) {
  int rank = shape(c, 1, d);
  for (int i = 0; i < rank; i++)
    if (d[i] == 0) d[i] = 1;
  c->terms = d[rank - 1];
  return rank;
}

static void rows1(Case *c) {
  int64_t d[4];
  int rank = row_shape(c, d);
  operand(c, c->dt, rank, d);
}

static void rows2(Case *c) {
  rows1(c);
  operand(c, c->dt, c->x[0].type->rank, c->x[0].type->dim);
}

static void updated(Case *c) {
  int64_t d[4] = {1 + below(c, 3), 1 + below(c, 9), 1 + below(c, c->size == 3 ? 4000 : 5)}, p[4];
  int axis = (int)below(c, 3);
  operand(c, c->dt, 3, d);
  memcpy(p, d, sizeof p);
  p[axis] = 1 + below(c, d[axis]);
  operand(c, c->dt, 3, p);
  indices(c, 0, d, d[axis] - p[axis] + 1);
  c->attr[AT_AXIS].i = axis;
}

static void dropped(Case *c) {
  unary(c);
  c->attr[AT_KEEP].f = 0.75;
  c->attr[AT_KEY].str = intern(c->ctx, "drop");
  c->attr[AT_DRAW].i = below(c, 3);
  if (below(c, 2)) operand(c, DT_I32, c->x[0].type->rank, c->x[0].type->dim);
}

/* Few values, so that many are equal; NaN among the special ones. */
static void unsorted(Case *c) {
  rows1(c);
  c->attr[AT_DESCENDING].i = below(c, 2);
}

static void normed(Case *c) {
  rows1(c);
  c->attr[AT_EPS] = (Attr){.f = 0x1p-7};
}

static void normed_grad(Case *c) {
  rows2(c);
  operand(c, c->dt, c->x[0].type->rank - 1, c->x[0].type->dim);
}

/* Queries, keys and values, perhaps with heads that share keys, perhaps causal or masked. */
static void attended(Case *c) {
  static const int64_t lengths[][2] = {{1, 1}, {3, 5}, {7, 13}, {130, 67}, {1, 70}, {64, 64}};
  int pick = c->size == 3 ? 3 + (int)below(c, 3) : (int)below(c, 3);
  int64_t group = 1 + below(c, 2), lead = 1 + below(c, 2);
  int64_t t = lengths[pick][0], s = lengths[pick][1], d = 1 + below(c, 20), e = 1 + below(c, 20);
  bool causal = below(c, 2), heads = below(c, 4) > 0, masked = below(c, 3) == 0;
  if (causal) s = t;
  if (c->size == 3 && below(c, 2)) d = e = 64;
  if (c->size == 3 && t == 1 && below(c, 2)) d = 1030, e = 1100; /* tall */
  int rank = heads ? 4 : 2, skip = 4 - rank;
  c->attr[AT_SCALE].f = 0.125;
  c->attr[AT_CAUSAL].i = causal;
  operand(c, c->dt, rank, (int64_t[]){lead, 2 * group, t, d} + skip);
  operand(c, c->dt, rank, (int64_t[]){lead, 2, s, d} + skip);
  operand(c, c->dt, rank, (int64_t[]){lead, 2, s, e} + skip);
  c->terms = s + d;
  if (!masked) return;
  int64_t full[] = {lead, 2 * group, t, s};
  for (int i = 0; i < 4; i++)
    if (below(c, 3) == 0) full[i] = 1;
  operand(c, DT_BOOL, rank, full + skip);
}

static void attended_grad(Case *c) {
  attended(c);
  const Type *q = c->x[0].type, *v = c->x[2].type;
  bool masked = c->n == 4;
  int64_t dim[4];
  for (int i = 0; i < q->rank; i++) dim[i] = q->dim[i];
  dim[q->rank - 1] = v->dim[v->rank - 1];
  if (masked) c->x[6].type = c->x[3].type;
  for (int i = 2; i >= 0; i--) c->x[i + 1].type = c->x[i].type;
  c->n = 0;
  operand(c, c->dt, q->rank, dim);
  c->n = 4;
  operand(c, c->dt, q->rank - 1, dim);
  operand(c, c->dt, q->rank - 1, dim);
  c->n += masked;
}

static void labelled(Case *c) {
  rows1(c);
  const Type *t = c->x[0].type;
  indices(c, t->rank - 1, t->dim, t->dim[t->rank - 1]);
}

static void labelled_grad(Case *c) {
  int64_t d[4];
  int rank = row_shape(c, d);
  operand(c, c->dt, rank - 1, d);
  operand(c, c->dt, rank, d);
  indices(c, rank - 1, d, d[rank - 1]);
}

/* ---- windows ---- */

static void convolved(Case *c) {
  static const int64_t extents[] = {1, 2, 3, 5, 7, 8, 13, 17};
  bool large = c->size == 3;
  int64_t groups = 1 + below(c, 3), n = 1 + below(c, 3), gin = 1 + below(c, large ? 9 : 5),
          gout = 1 + below(c, large ? 9 : 5);
  if (c->size == 0) groups = n = gin = gout = 1;
  bool depthwise = c->size >= 2 && below(c, 2);
  if (depthwise) gin = gout = 1, groups = 1 + below(c, large ? 40 : 6);
  if (c->size == 1 && (!c->minus || below(c, 8) == 0)) n = 0;
  WindowAxis h =
      random_window(&c->seed, large ? 19 + below(c, 9) : extents[below(c, 8)], 1 + below(c, 5));
  WindowAxis w = random_window(&c->seed,
                               large && below(c, 3) == 0 ? 263
                               : large                   ? 23 + below(c, 9)
                                                         : extents[below(c, 8)],
                               1 + below(c, depthwise && large ? 15 : 5));
  window_attrs(c->ctx, c->attr, &h, &w);
  c->attr[AT_GROUPS].i = groups;
  int64_t x[4] = {n, gin * groups, h.in, w.in}, f[4] = {gout * groups, gin, h.taps, w.taps};
  int64_t y[4] = {n, gout * groups, h.out, w.out};
  bool half = c->dt == DT_F16 || c->dt == DT_BF16, filters = c->kind == OP_CONV_FILTER_GRAD;
  bool wide = half && c->seed >> 9 & 1, tf32 = c->dt == DT_F32 && c->seed >> 10 & 1;
  bool rounds = (wide || tf32) && !filters && c->seed >> 11 & 1;
  c->attr[AT_WIDE_RESULT].i = wide;
  c->attr[AT_TF32_OPERANDS].i = rounds && tf32;
  c->attr[AT_ROUND_FILTERS].i = rounds;
  operand(c, c->dt, 4, c->kind == OP_CONV ? x : y);
  operand(c, rounds ? DT_F32 : c->dt, 4, filters ? x : f);
  c->terms = gin * h.taps * w.taps;
  if (c->kind == OP_CONV_INPUT_GRAD) {
    c->given = type_of(c, wide ? DT_F32 : c->dt, 4, x);
    c->terms = gout * h.taps * w.taps;
  }
  if (c->kind == OP_CONV_FILTER_GRAD) {
    c->given = type_of(c, wide ? DT_F32 : c->dt, 4, f);
    c->terms = n * h.out * w.out;
  }
}

/* Every window holds a pixel. */
static WindowAxis pool_axis(Case *c, bool dilated, bool wide) {
  for (;;) {
    int64_t in = c->size == 0 ? 1 : wide ? 300 + below(c, 9) : 1 + below(c, 17);
    WindowAxis a = random_window(&c->seed, in, 1 + below(c, 4));
    if ((dilated || a.dilation == 1) && window_is_full(&a)) return a;
  }
}

static void pooled(Case *c) {
  bool mean = c->kind == OP_AVG_POOL || c->kind == OP_AVG_POOL_GRAD;
  bool back = c->kind == OP_AVG_POOL_GRAD || c->kind == OP_MAX_POOL_GRAD;
  bool many = c->size == 2 && c->kind == OP_MAX_POOL_INDEX; /* of more than 256 taps */
  WindowAxis h = pool_axis(c, !mean, false), w = pool_axis(c, !mean, c->size == 3);
  if (many) h = (WindowAxis){.in = 19, .out = 2, .taps = 18, .stride = 1, .dilation = 1}, w = h;
  window_attrs(c->ctx, c->attr, &h, &w);
  if (mean)
    c->attr[AT_COUNT].ints =
        ints(c, 4, (int64_t[]){below(c, 3), below(c, 3), below(c, 3), below(c, 3)});
  c->attr[AT_WINDOW].ints = ints(c, 2, (int64_t[]){h.taps, w.taps});
  int64_t n = 1 + below(c, 3), channels = 1 + below(c, 7);
  int64_t x[4] = {n, channels, h.in, w.in}, y[4] = {n, channels, h.out, w.out};
  operand(c, c->dt, 4, back ? y : x);
  if (back) c->given = type_of(c, c->dt, 4, x);
  c->terms = h.taps * w.taps;
  if (c->kind != OP_MAX_POOL_GRAD && c->kind != OP_MAX_POOL_TAKE) return;
  c->limit[1] = h.taps * w.taps + 1;
  c->x[c->n++].type = type_of(c, DT_U8, 4, y);
}

static void normed_images(Case *c) {
  int64_t d[4];
  int rank = shape(c, 2, d);
  operand(c, c->dt, rank, d);
  for (int i = 0; i < 3; i++) operand(c, c->dt, 1, d + 1);
}

static void spread_out(Case *c) {
  some_axes(c);
  for (int i = 0; i < c->x[0].type->rank; i++)
    if (c->x[0].type->dim[i] == 0) c->attr[AT_AXES].ints = NULL, c->terms = 1;
}

/* Integers and scales of a matrix or more; the axis has any number of elements. */
static void quantized(Case *c) {
  int64_t d[4];
  int rank = shape(c, 1, d), axis = (int)below(c, rank);
  const int64_t bits = 4 << below(c, 3);
  const bool pairs = bits == 4;
  c->attr[AT_AXIS].i = axis, c->attr[AT_BITS].i = bits;
  c->attr[AT_GROUP].i = c->size == 3 ? 32 : 1 + below(c, 9);
  int64_t n = d[axis], groups = (n + c->attr[AT_GROUP].i - 1) / c->attr[AT_GROUP].i;
  if (c->kind == OP_DEQUANTIZE) {
    c->given = type_of(c, c->dt, rank, d);
    d[axis] = pairs ? (n + 1) / 2 : bits / 8 * n;
    operand(c, pairs ? DT_U8 : DT_I8, rank, d);
  } else {
    operand(c, c->dt, rank, d);
  }
  d[axis] = groups;
  if (c->kind != OP_QUANTIZE_SCALE) operand(c, DT_BF16, rank, d);
}

/* Of scaled_matmul both sides are integers; the depth of a group may be any. */
static void quantized_product(Case *c) {
  bool scaled = c->kind == OP_SCALED_MATMUL;
  int64_t m = 1 + below(c, scaled && c->size == 3 ? 40 : 9);
  int64_t n = 1 + below(c, c->size == 3 ? 300 : 99);
  int64_t k = 1 + below(c, c->size == 3 ? 1500 : 99), axis = below(c, 2);
  bool pairs = below(c, 2);
  c->attr[AT_AXIS].i = axis, c->attr[AT_BITS].i = pairs ? 4 : 8;
  c->attr[AT_GROUP].i = below(c, 4) ? 32 : 1 + below(c, 40);
  int64_t groups = (k + c->attr[AT_GROUP].i - 1) / c->attr[AT_GROUP].i;
  int64_t stored = pairs ? (k + 1) / 2 : k;
  const int64_t bytes = scaled && below(c, 2) ? 2 : 1;
  if (!scaled) c->attr[AT_WIDE_PRODUCT].i = dtype_is_half(c->dt) && below(c, 2);
  if (scaled)
    c->given = type_of(c, c->dt, 2, (int64_t[]){m, n}), c->attr[AT_LEFT_BITS].i = 8 * bytes;
  operand(c, scaled ? DT_I8 : c->dt, 2, (int64_t[]){m, bytes * k});
  operand(c, pairs ? DT_U8 : DT_I8, 2, axis ? (int64_t[]){n, stored} : (int64_t[]){stored, n});
  if (scaled) operand(c, DT_BF16, 2, (int64_t[]){m, groups});
  operand(c, DT_BF16, 2, axis ? (int64_t[]){n, groups} : (int64_t[]){groups, n});
  c->terms = k;
}

/* ---- the table ---- */

const Row conformance_rows[OP_KINDS] = {
    [OP_NEG] = {unary, EXACT, 0},
    [OP_ABS] = {unary, EXACT, 0},
    [OP_SIGN] = {unary, EXACT, 0},
    [OP_EXP] = {unary, ROUNDED, 1.05},
    [OP_EXPM1] = {unary, ROUNDED, 1.6},
    [OP_LOG] = {unary, ROUNDED, 0.85},
    [OP_LOG1P] = {unary, ROUNDED, 2.6},
    [OP_LOG2] = {unary, ROUNDED, 1.3},
    [OP_SQRT] = {unary, EXACT, 0},
    [OP_RSQRT] = {unary, ROUNDED, 1.5},
    [OP_SIN] = {unary, ROUNDED, 0.6, .special_max = 1e15},
    [OP_COS] = {unary, ROUNDED, 0.6, .special_max = 1e15},
    [OP_TANH] = {unary, ROUNDED, 4.8},
    [OP_SIGMOID] = {unary, ROUNDED, 2.5},
    [OP_ERF] = {unary, ROUNDED, 6.4},
    [OP_RELU] = {unary, EXACT, 0},
    [OP_FLOOR] = {unary, EXACT, 0},
    [OP_CEIL] = {unary, EXACT, 0},
    [OP_ROUND] = {unary, EXACT, 0},
    [OP_TF32] = {unary, ROUNDED, 0.5},
    [OP_NOT] = {unary, EXACT, 0},
    [OP_CONVERT] = {conversion, EXACT, 0},
    [OP_ADD] = {binary, EXACT, 0},
    [OP_SUB] = {binary, EXACT, 0},
    [OP_MUL] = {binary, EXACT, 0},
    [OP_DIV] = {binary, EXACT, 0},
    [OP_MOD] = {binary, ROUNDED, 0.5},
    [OP_QUOTIENT] = {binary, EXACT, 0},
    [OP_POW] = {binary, ROUNDED, 0.6},
    [OP_MIN] = {binary, EXACT, 0},
    [OP_MAX] = {binary, EXACT, 0},
    [OP_EQ] = {binary, EXACT, 0},
    [OP_NE] = {binary, EXACT, 0},
    [OP_LT] = {binary, EXACT, 0},
    [OP_LE] = {binary, EXACT, 0},
    [OP_GT] = {binary, EXACT, 0},
    [OP_GE] = {binary, EXACT, 0},
    [OP_AND] = {binary, EXACT, 0},
    [OP_OR] = {binary, EXACT, 0},
    [OP_WHERE] = {choice, EXACT, 0},
    [OP_RELU_GRAD] = {binary, EXACT, 0},
    [OP_SIGMOID_GRAD] = {binary, ROWS, 4, 0, 1},
    [OP_TANH_GRAD] = {binary, ROWS, 4, 0, 1},
    [OP_DYNAMIC_UPDATE] = {updated, EXACT, 0},
    [OP_DROPOUT] = {dropped, ROUNDED, 1.5},
    [OP_CONST] = {leaf, EXACT, 0},
    [OP_IOTA] = {leaf, EXACT, 0},
    [OP_RANDOM_UNIFORM] = {leaf, EXACT, 0},
    [OP_RANDOM_NORMAL] = {leaf, ROWS, 16},
    [OP_LOAD] = {global, EXACT, 0},
    [OP_STORE] = {global, EXACT, 0},
    [OP_RESHAPE] = {reshaped, EXACT, 0},
    [OP_TRANSPOSE] = {permuted, EXACT, 0},
    [OP_BROADCAST] = {widened, EXACT, 0},
    [OP_SLICE] = {cut, EXACT, 0},
    [OP_REVERSE] = {some_axes, EXACT, 0},
    [OP_PAD] = {padded, EXACT, 0},
    [OP_CONCAT] = {joined, EXACT, 0},
    [OP_COPY] = {unary, EXACT, 0},
    [OP_SUM] = {some_axes, MAGNITUDES, 2, 0, 2},
    [OP_PROD] = {some_axes, MAGNITUDES, 2, 0.9, 1.1},
    [OP_REDUCE_MAX] = {some_axes, EXACT, 0},
    [OP_REDUCE_MIN] = {some_axes, EXACT, 0},
    [OP_ARGMAX] = {one_axis, EXACT, 0},
    [OP_ARGMIN] = {one_axis, EXACT, 0},
    [OP_MATMUL] = {product, MAGNITUDES, 2, 0, 2},
    [OP_ATTENTION] = {attended, ROWS, 8, 0, 1},
    [OP_ATTENTION_GRAD] = {attended_grad, ROWS, 128, 0, 1},
    [OP_GATHER] = {gathered, EXACT, 0},
    [OP_GATHER_GRAD] = {summed_by_id, MAGNITUDES, 2, 0, 2},
    [OP_ONE_HOT] = {one_hot, EXACT, 0},
    [OP_NMS] = {suppressed, EXACT, 0},
    [OP_CUMSUM] = {running, MAGNITUDES, 2, 0, 2},
    [OP_ARGSORT] = {unsorted, EXACT, 0},
    /* x - max is up to 18, and rounds by 2^-20: up to 16 units in the last place of its exp */
    [OP_SOFTMAX] = {rows1, ROUNDED, 18, 0, 9},
    [OP_LOG_SOFTMAX] = {rows1, ROWS, 8, 0, 9},
    [OP_SOFTMAX_GRAD] = {rows2, ROWS, 8, 0, 1},
    [OP_LOG_SOFTMAX_GRAD] = {rows2, ROWS, 8, 0, 1},
    [OP_XENT] = {labelled, ROWS, 8, 0, 9},
    [OP_XENT_GRAD] = {labelled_grad, ROWS, 8, 0, 9},
    [OP_LAYER_NORM] = {normed, ROWS, 24, 0, 2},
    [OP_RMS_NORM] = {normed, ROWS, 24, 0, 2},
    [OP_LAYER_NORM_GRAD] = {normed_grad, ROWS, 16, 0, 1},
    [OP_RMS_NORM_GRAD] = {normed_grad, ROWS, 16, 0, 1},
    [OP_CONV] = {convolved, MAGNITUDES, 2, 0, 2},
    [OP_CONV_INPUT_GRAD] = {convolved, MAGNITUDES, 2, 0, 2},
    [OP_CONV_FILTER_GRAD] = {convolved, MAGNITUDES, 2, 0, 2},
    [OP_MAX_POOL] = {pooled, EXACT, 0},
    [OP_MAX_POOL_INDEX] = {pooled, EXACT, 0},
    [OP_MAX_POOL_TAKE] = {pooled, EXACT, 0},
    [OP_MAX_POOL_GRAD] = {pooled, MAGNITUDES, 2, 0, 2},
    [OP_AVG_POOL] = {pooled, MAGNITUDES, 2, 0, 2},
    [OP_AVG_POOL_GRAD] = {pooled, MAGNITUDES, 2, 0, 2},
    [OP_VARIANCE] = {spread_out, ROWS, 4, 0, 2},
    [OP_BATCH_NORM] = {normed_images, ROWS, 8, 0, 2},
    [OP_QUANTIZE_SCALE] = {quantized, EXACT, 0},
    [OP_QUANTIZE] = {quantized, EXACT, 0},
    [OP_DEQUANTIZE] = {quantized, EXACT, 0},
    [OP_QUANTIZED_MATMUL] = {quantized_product, MAGNITUDES, 2, 0, 2},
    [OP_SCALED_MATMUL] = {quantized_product, MAGNITUDES, 2, 0, 2},
    [OP_TO_LOCAL] = {unary, EXACT, 0},
    [OP_FROM_LOCAL] = {unary, EXACT, 0},
    [OP_STOP_GRADIENT] = {unary, EXACT, 0},
};
