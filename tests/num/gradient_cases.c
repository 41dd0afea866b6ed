/* Random operands for every op that has a gradient: small, away from kinks and ties, since
   differences are taken. */
#include "tests/num/gradient.h"
#include "tests/num/random_program.h"
#include "tests/num/random_window.h"

static int64_t below(Case *c, int64_t n) { return random_below(&c->seed, n); }
static double between(Case *c, double lo, double hi) {
  return lo + (hi - lo) * (double)(random_next(&c->seed) >> 11) * 0x1p-53;
}
static double element(Case *c) {
  double v = between(c, c->row->lo, c->row->hi);
  return random_next(&c->seed) & 1 ? v : -v;
}

enum { LARGEST = 36 };

/* Extents of 1 and primes, rank from least to 4, few elements. */
static int shape(Case *c, int least, int64_t dim[4]) {
  static const int64_t extents[] = {1, 1, 2, 3, 5, 7};
  for (;;) {
    int rank = least + (int)below(c, 5 - least);
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dim[i] = extents[below(c, 6)];
    if (n <= LARGEST) return rank;
  }
}

Tensor *gradient_operand(Case *c, Dtype dt, int rank, const int64_t *dim) {
  Tensor *t = &c->x[c->n++];
  t->type = type_get(c->r->c, dt, rank, dim);
  t->at = ARENA_ARRAY(c->r->m->arena, Scalar, t->type->numel);
  if (dtype_is_float(dt))
    for (int64_t i = 0; i < t->type->numel; i++) t->at[i].f = element(c);
  return t;
}

static Tensor *add_ids(Case *c, int rank, const int64_t *dim, int64_t limit) {
  Tensor *t = gradient_operand(c, (Dtype[]){DT_U8, DT_I8, DT_I32, DT_I64}[below(c, 4)], rank, dim);
  for (int64_t i = 0; i < t->type->numel; i++) t->at[i].i = below(c, limit);
  return t;
}

static const Ints *ints(Case *c, int n, const int64_t *at) { return intern_ints(c->r->c, at, n); }

static void one(Case *c) {
  int64_t d[4];
  int rank = shape(c, 0, d);
  gradient_operand(c, DT_F64, rank, d);
}

static void one_positive(Case *c) {
  one(c);
  for (int64_t i = 0; i < c->x[0].type->numel; i++) c->x[0].at[i].f = fabs(c->x[0].at[i].f);
}

static void two(Case *c) {
  int64_t d[4];
  int rank = shape(c, 0, d);
  gradient_operand(c, DT_F64, rank, d);
  gradient_operand(c, DT_F64, rank, d);
}

/* b's magnitude, and a between two multiples of it. */
static void mod_pair(Case *c) {
  two(c);
  for (int64_t i = 0; i < c->x[0].type->numel; i++)
    c->x[0].at[i].f = c->x[1].at[i].f * ((double)below(c, 7) - 3 + between(c, 0.2, 0.8));
}

/* No two within 0.1 of each other. */
static void apart(Case *c) {
  two(c);
  for (int64_t i = 0; i < c->x[0].type->numel; i++)
    c->x[1].at[i].f = c->x[0].at[i].f + (random_next(&c->seed) & 1 ? 1 : -1) * between(c, 0.1, 1);
}

/* A positive base and any exponent. */
static void pow_pair(Case *c) {
  two(c);
  for (int64_t i = 0; i < c->x[0].type->numel; i++) c->x[0].at[i].f = fabs(c->x[0].at[i].f);
}

static void choose(Case *c) {
  int64_t d[4];
  int rank = shape(c, 0, d);
  Tensor *t = gradient_operand(c, DT_BOOL, rank, d);
  for (int64_t i = 0; i < t->type->numel; i++) t->at[i].i = below(c, 2);
  gradient_operand(c, DT_F64, rank, d);
  gradient_operand(c, DT_F64, rank, d);
}

static void narrower(Case *c) {
  one(c);
  c->given =
      type_with_dtype(c->r->c, c->x[0].type, (Dtype[]){DT_F16, DT_BF16, DT_F32}[below(c, 3)]);
}

static void flat(Case *c) {
  one(c);
  c->given = type_get(c->r->c, DT_F64, 1, (int64_t[]){c->x[0].type->numel});
}

static void permuted(Case *c) {
  one(c);
  int rank = c->x[0].type->rank;
  int64_t p[4] = {0, 1, 2, 3};
  for (int i = rank - 1; i > 0; i--) {
    int64_t j = below(c, i + 1), keep = p[i];
    p[i] = p[j];
    p[j] = keep;
  }
  c->attr[AT_PERM].ints = ints(c, rank, p);
}

/* A result of which the operand keeps some of the last axes, some with extent 1. */
static void widened(Case *c) {
  int64_t d[4], small[4];
  int rank = shape(c, 0, d), lead = rank ? (int)below(c, rank + 1) : 0;
  for (int i = lead; i < rank; i++) small[i - lead] = random_next(&c->seed) & 1 ? d[i] : 1;
  gradient_operand(c, DT_F64, rank - lead, small);
  c->given = type_get(c->r->c, DT_F64, rank, d);
}

static void cut(Case *c) {
  one(c);
  const Type *t = c->x[0].type;
  int64_t starts[4], steps[4], d[4];
  for (int i = 0; i < t->rank; i++) {
    starts[i] = below(c, t->dim[i]);
    steps[i] = 1 + below(c, 3);
    d[i] = 1 + below(c, (t->dim[i] - starts[i] + steps[i] - 1) / steps[i]);
  }
  c->attr[AT_STARTS].ints = ints(c, t->rank, starts);
  c->attr[AT_STEPS].ints = ints(c, t->rank, steps);
  c->given = type_get(c->r->c, DT_F64, t->rank, d);
}

/* Any set of axes, the empty one included. */
static void some_axes(Case *c) {
  one(c);
  int64_t axes[4];
  int n = 0;
  for (int i = 0; i < c->x[0].type->rank; i++)
    if (random_next(&c->seed) & 1) axes[n++] = i;
  c->attr[AT_AXES].ints = ints(c, n, axes);
}

/* Some factors are zero. */
static void factors(Case *c) {
  some_axes(c);
  for (int64_t i = 0; i < c->x[0].type->numel; i++)
    if (below(c, 5) == 0) c->x[0].at[i].f = 0;
}

/* No ties: a shuffled ladder. */
static void ladder(Case *c) {
  some_axes(c);
  Tensor *t = &c->x[0];
  for (int64_t i = 0; i < t->type->numel; i++) {
    int64_t j = below(c, i + 1);
    t->at[i] = t->at[j];
    t->at[j].f = (double)i / 8 - 1;
  }
}

static void padded(Case *c) {
  one(c);
  int rank = c->x[0].type->rank;
  int64_t lo[4], hi[4], inner[4];
  for (int i = 0; i < rank; i++) {
    lo[i] = below(c, 3);
    hi[i] = below(c, 3);
    inner[i] = below(c, 3);
  }
  c->attr[AT_VALUE].f = 7;
  c->attr[AT_LO].ints = ints(c, rank, lo);
  c->attr[AT_HI].ints = ints(c, rank, hi);
  c->attr[AT_INTERIOR].ints = ints(c, rank, inner);
}

static void joined(Case *c) {
  int64_t d[4];
  int rank = shape(c, 1, d);
  int64_t axis = below(c, rank);
  c->attr[AT_AXIS].i = axis;
  for (int k = 0, n = 1 + (int)below(c, 3); k < n; k++) {
    d[axis] = 1 + below(c, 3);
    gradient_operand(c, DT_F64, rank, d);
  }
}

static void product(Case *c) {
  int64_t m = 1 + below(c, 4), n = 1 + below(c, 4), k = 1 + below(c, 4), page = 1 + below(c, 3);
  bool ta = random_next(&c->seed) & 1, tb = random_next(&c->seed) & 1,
       batch = random_next(&c->seed) & 1;
  c->attr[AT_TA].i = ta;
  c->attr[AT_TB].i = tb;
  int64_t a[3] = {page, ta ? k : m, ta ? m : k}, b[3] = {page, tb ? n : k, tb ? k : n};
  gradient_operand(c, DT_F64, 2 + batch, a + !batch);
  gradient_operand(c, DT_F64, 2 + batch, b + !batch);
}

/* Integers are bytes of any bits. */
static Tensor *add_bytes(Case *c, bool pairs, int rank, const int64_t *dim) {
  Tensor *t = gradient_operand(c, pairs ? DT_U8 : DT_I8, rank, dim);
  for (int64_t i = 0; i < t->type->numel; i++)
    t->at[i].i = below(c, pairs ? 256 : 19) - (pairs ? 0 : 9);
  return t;
}

static void dequantized(Case *c) {
  int64_t d[4];
  int rank = shape(c, 1, d), axis = (int)below(c, rank);
  bool pairs = below(c, 2);
  c->attr[AT_AXIS].i = axis, c->attr[AT_BITS].i = pairs ? 4 : 8;
  c->attr[AT_GROUP].i = 1 + below(c, 4);
  c->given = type_get(c->r->c, DT_F64, rank, d);
  int64_t n = d[axis];
  d[axis] = pairs ? (n + 1) / 2 : n;
  add_bytes(c, pairs, rank, d);
  d[axis] = (n + c->attr[AT_GROUP].i - 1) / c->attr[AT_GROUP].i;
  gradient_operand(c, DT_F64, rank, d);
}

static void quantized_product(Case *c) {
  int64_t m = 1 + below(c, 4), n = 1 + below(c, 4), k = 1 + below(c, 4), axis = below(c, 2);
  bool pairs = below(c, 2);
  c->attr[AT_AXIS].i = axis, c->attr[AT_BITS].i = pairs ? 4 : 8;
  c->attr[AT_GROUP].i = 1 + below(c, 4);
  int64_t q = pairs ? (k + 1) / 2 : k, s = (k + c->attr[AT_GROUP].i - 1) / c->attr[AT_GROUP].i;
  gradient_operand(c, DT_F64, 2, (int64_t[]){m, k});
  add_bytes(c, pairs, 2, axis ? (int64_t[]){n, q} : (int64_t[]){q, n});
  gradient_operand(c, DT_F64, 2, axis ? (int64_t[]){n, s} : (int64_t[]){s, n});
}

static void scaled_product(Case *c) {
  int64_t m = 1 + below(c, 4), n = 1 + below(c, 4), k = 1 + below(c, 4), axis = below(c, 2);
  bool pairs = below(c, 2);
  c->attr[AT_AXIS].i = axis, c->attr[AT_BITS].i = pairs ? 4 : 8;
  c->attr[AT_GROUP].i = 1 + below(c, 4);
  int64_t q = pairs ? (k + 1) / 2 : k, s = (k + c->attr[AT_GROUP].i - 1) / c->attr[AT_GROUP].i;
  c->given = type_get(c->r->c, DT_F64, 2, (int64_t[]){m, n});
  int64_t bytes = 1 + below(c, 2);
  c->attr[AT_LEFT_BITS].i = 8 * bytes;
  add_bytes(c, false, 2, (int64_t[]){m, bytes * k});
  add_bytes(c, pairs, 2, axis ? (int64_t[]){n, q} : (int64_t[]){q, n});
  gradient_operand(c, DT_F64, 2, (int64_t[]){m, s});
  gradient_operand(c, DT_F64, 2, axis ? (int64_t[]){n, s} : (int64_t[]){s, n});
}

static void looked_up(Case *c) {
  int64_t d[4] = {1 + below(c, 4), 1 + below(c, 3), 1 + below(c, 2)}, n[2] = {1 + below(c, 5), 2};
  int rank = 1 + (int)below(c, 3), batch = (int)below(c, rank > 2 ? 2 : rank);
  if (batch) n[1] = n[0], n[0] = d[0];
  gradient_operand(c, DT_F64, rank, d);
  add_ids(c, batch + (int)below(c, 3 - batch), n, d[batch]);
  c->attr[AT_BATCH].i = batch;
}

static void running(Case *c) {
  int64_t d[4];
  int rank = shape(c, 1, d);
  gradient_operand(c, DT_F64, rank, d);
  c->attr[AT_AXIS].i = below(c, rank);
  c->attr[AT_BACKWARD].i = below(c, 2);
}

static void summed_by_id(Case *c) {
  int64_t d[4] = {1 + below(c, 3), 1 + below(c, 3), 1 + below(c, 3)}, depth = 1 + below(c, 4);
  int rank = 1 + (int)below(c, 3);
  gradient_operand(c, DT_F64, rank, d);
  int idrank = (int)below(c, rank + 1);
  add_ids(c, idrank, d, depth);
  c->attr[AT_ROWS].i = depth;
  c->attr[AT_BATCH].i = below(c, idrank + 1);
}

static void rows1(Case *c) {
  int64_t d[4];
  int rank = shape(c, 1, d);
  gradient_operand(c, DT_F64, rank, d);
}

static void rows2(Case *c) {
  rows1(c);
  gradient_operand(c, DT_F64, c->x[0].type->rank, c->x[0].type->dim);
}

static void updated(Case *c) {
  int64_t d[3] = {1 + below(c, 3), 1 + below(c, 4), 1 + below(c, 3)}, p[3];
  int axis = (int)below(c, 3);
  gradient_operand(c, DT_F64, 3, d);
  memcpy(p, d, sizeof p);
  p[axis] = 1 + below(c, d[axis]);
  gradient_operand(c, DT_F64, 3, p);
  add_ids(c, 0, d, d[axis] - p[axis] + 1);
  c->attr[AT_AXIS].i = axis;
}

static void dropped(Case *c) {
  one(c);
  c->attr[AT_KEEP].f = 0.5;
  c->attr[AT_KEY].str = intern(c->r->c, "drop");
  c->attr[AT_DRAW].i = below(c, 3);
  const Type *t = c->x[0].type;
  Tensor *place = gradient_operand(c, DT_I32, t->rank, t->dim);
  for (int64_t i = 0; i < t->numel; i++) place->at[i].i = below(c, 5);
}

static void normed(Case *c) {
  rows1(c);
  c->attr[AT_EPS].f = between(c, 0.01, 1);
}

static void normed_grad(Case *c) {
  rows2(c);
  gradient_operand(c, DT_F64, c->x[0].type->rank - 1, c->x[0].type->dim);
}

/* Which keys a query sees: axes of extent 1 are the same for all, and query `blind` sees none. */
static void masked(Case *c, int rank, const int64_t *scores, int64_t blind) {
  int64_t dim[4];
  for (int i = 0; i < rank; i++)
    dim[i] = below(c, 4) || (i == rank - 2 && blind >= 0) ? scores[i] : 1;
  int skip = below(c, 3) ? 0 : rank - 2; /* the same for all heads, by its rank */
  Tensor *m = gradient_operand(c, DT_BOOL, rank - skip, dim + skip);
  for (int64_t i = 0; i < m->type->numel; i++)
    m->at[i].i = i / dim[rank - 1] % dim[rank - 2] != blind && below(c, 3) > 0;
}

/* All forms, by the bits of the round: grouped heads, causal, a mask, a query that sees no key. */
static void attended(Case *c) {
  static const int64_t lengths[] = {1, 2, 3};
  bool causal = c->round & 2, blind = c->round & 8;
  int64_t group = 1 + (c->round & 1), t = lengths[below(c, 3)], s = 1 + below(c, 4);
  int64_t d = 1 + below(c, 3), e = 1 + below(c, 3), lead = 1 + below(c, 2);
  if (causal) s = t;
  int rank = group > 1 ? 3 + (int)below(c, 2) : 2 + (int)below(c, 3), skip = 4 - rank;
  c->attr[AT_SCALE].f = 0.75;
  c->attr[AT_CAUSAL].i = causal;
  gradient_operand(c, DT_F64, rank, (int64_t[]){lead, 2 * group, t, d} + skip);
  gradient_operand(c, DT_F64, rank, (int64_t[]){lead, 2, s, d} + skip);
  gradient_operand(c, DT_F64, rank, (int64_t[]){lead, 2, s, e} + skip);
  if (c->round & 4)
    masked(c, rank, (int64_t[]){lead, 2 * group, t, s} + skip, blind ? below(c, t) : -1);
}

static void attended_grad(Case *c) {
  attended(c);
  const Tensor in[3] = {c->x[0], c->x[1], c->x[2]}, mask = c->x[3];
  const Type *q = in[0].type, *v = in[2].type;
  bool has_mask = c->n > 3;
  int64_t dim[4];
  for (int i = 0; i < q->rank; i++) dim[i] = q->dim[i];
  dim[q->rank - 1] = v->dim[v->rank - 1];
  c->n = 0;
  gradient_operand(c, DT_F64, q->rank, dim);
  for (int i = 0; i < 3; i++) c->x[c->n++] = in[i];
  gradient_operand(c, DT_F64, q->rank - 1, dim);
  gradient_operand(c, DT_F64, q->rank - 1, dim);
  if (has_mask) c->x[c->n++] = mask;
}

static void labelled(Case *c) {
  rows1(c);
  const Type *t = c->x[0].type;
  add_ids(c, t->rank - 1, t->dim, t->dim[t->rank - 1]);
}

static void labelled_grad(Case *c) {
  int64_t d[4];
  int rank = shape(c, 1, d);
  gradient_operand(c, DT_F64, rank - 1, d);
  gradient_operand(c, DT_F64, rank, d);
  add_ids(c, rank - 1, d, d[rank - 1]);
}

/* ---- windows ---- */

/* Images, filters or their convolution's gradient: whatever two operands the op has. */
static void convolved(Case *c) {
  OpKind k = (OpKind)(c->row - gradient_rows);
  int64_t groups = 1 + below(c, 2), n = 1 + below(c, 2), gin = 1 + below(c, 2),
          gout = 1 + below(c, 2);
  WindowAxis h = random_window(&c->seed, 1 + below(c, 4), 1 + below(c, 3));
  WindowAxis w = random_window(&c->seed, 1 + below(c, 4), 1 + below(c, 3));
  window_attrs(c->r->c, c->attr, &h, &w);
  c->attr[AT_GROUPS].i = groups;
  int64_t x[4] = {n, gin * groups, h.in, w.in}, f[4] = {gout * groups, gin, h.taps, w.taps};
  int64_t y[4] = {n, gout * groups, h.out, w.out};
  gradient_operand(c, DT_F64, 4, k == OP_CONV ? x : y);
  gradient_operand(c, DT_F64, 4, k == OP_CONV_FILTER_GRAD ? x : f);
  if (k == OP_CONV_INPUT_GRAD) c->given = type_get(c->r->c, DT_F64, 4, x);
  if (k == OP_CONV_FILTER_GRAD) c->given = type_get(c->r->c, DT_F64, 4, f);
}

/* Every window holds a pixel. */
static WindowAxis pool_axis(Case *c, bool dilated) {
  for (;;) {
    int64_t in = 1 + below(c, 5);
    WindowAxis a = random_window(&c->seed, in, 1 + below(c, 3));
    if ((dilated || a.dilation == 1) && window_is_full(&a)) return a;
  }
}

static void pooled(Case *c) {
  OpKind k = (OpKind)(c->row - gradient_rows);
  bool mean = k == OP_AVG_POOL || k == OP_AVG_POOL_GRAD;
  bool back = k == OP_AVG_POOL_GRAD || k == OP_MAX_POOL_GRAD;
  WindowAxis h = pool_axis(c, !mean), w = pool_axis(c, !mean);
  window_attrs(c->r->c, c->attr, &h, &w);
  if (mean) c->attr[AT_COUNT].ints = ints(c, 4, (int64_t[]){below(c, 2), below(c, 2), 0, 1});
  c->attr[AT_WINDOW].ints = ints(c, 2, (int64_t[]){h.taps, w.taps});
  int64_t n = 1 + below(c, 2), channels = 1 + below(c, 2);
  int64_t x[4] = {n, channels, h.in, w.in}, y[4] = {n, channels, h.out, w.out};
  Tensor *t = gradient_operand(c, DT_F64, 4, back ? y : x);
  if (back) c->given = type_get(c->r->c, DT_F64, 4, x);
  for (int64_t i = 0; k == OP_MAX_POOL && i < t->type->numel; i++) { /* no ties */
    int64_t j = below(c, i + 1);
    t->at[i] = t->at[j];
    t->at[j].f = (double)i / 8 - 1;
  }
  if (k == OP_MAX_POOL_GRAD || k == OP_MAX_POOL_TAKE) {
    Tensor *index = gradient_operand(c, DT_U8, 4, y);
    for (int64_t i = 0; i < index->type->numel; i++) index->at[i].i = below(c, h.taps * w.taps);
  }
}

/* x [N, C, ...], and mean, scale, shift. */
static void normed_images(Case *c) {
  int64_t d[4];
  int rank = shape(c, 2, d);
  gradient_operand(c, DT_F64, rank, d);
  for (int i = 0; i < 3; i++) gradient_operand(c, DT_F64, 1, d + 1);
}

const Row gradient_rows[OP_KINDS] = {
    [OP_NEG] = {one, 0, 2},
    [OP_ABS] = {one, 0.1, 2},
    [OP_EXP] = {one, 0, 2},
    [OP_EXPM1] = {one, 0, 2},
    [OP_LOG] = {one_positive, 0.5, 3},
    [OP_LOG1P] = {one, 0, 0.6},
    [OP_LOG2] = {one_positive, 0.5, 3},
    [OP_SQRT] = {one_positive, 0.5, 3},
    [OP_RSQRT] = {one_positive, 0.5, 3},
    [OP_SIN] = {one, 0, 3},
    [OP_COS] = {one, 0, 3},
    [OP_TANH] = {one, 0, 2},
    [OP_SIGMOID] = {one, 0, 3},
    [OP_ERF] = {one, 0, 2},
    [OP_RELU] = {one, 0.1, 2},
    [OP_CONVERT] = {narrower, 0, 2},
    [OP_ADD] = {two, 0, 2},
    [OP_SUB] = {two, 0, 2},
    [OP_MUL] = {two, 0, 2},
    [OP_DIV] = {two, 0.5, 2},
    [OP_MOD] = {mod_pair, 0.5, 2},
    [OP_POW] = {pow_pair, 0.5, 2},
    [OP_MIN] = {apart, 0, 2},
    [OP_MAX] = {apart, 0, 2},
    [OP_WHERE] = {choose, 0, 2},
    [OP_RELU_GRAD] = {two, 0.1, 2},
    [OP_SIGMOID_GRAD] = {two, 0, 1},
    [OP_TANH_GRAD] = {two, 0, 1},
    [OP_RESHAPE] = {flat, 0, 2},
    [OP_TRANSPOSE] = {permuted, 0, 2},
    [OP_BROADCAST] = {widened, 0, 2},
    [OP_SLICE] = {cut, 0, 2},
    [OP_REVERSE] = {some_axes, 0, 2},
    [OP_PAD] = {padded, 0, 2},
    [OP_CONCAT] = {joined, 0, 2},
    [OP_COPY] = {one, 0, 2},
    [OP_SUM] = {some_axes, 0, 2},
    [OP_PROD] = {factors, 0.5, 1.5},
    [OP_REDUCE_MAX] = {ladder, 0, 1},
    [OP_REDUCE_MIN] = {ladder, 0, 1},
    [OP_MATMUL] = {product, 0, 2},
    [OP_DEQUANTIZE] = {dequantized, 0, 2},
    [OP_QUANTIZED_MATMUL] = {quantized_product, 0, 2},
    [OP_SCALED_MATMUL] = {scaled_product, 0, 2},
    [OP_GATHER] = {looked_up, 0, 2},
    [OP_GATHER_GRAD] = {summed_by_id, 0, 2},
    [OP_CUMSUM] = {running, 0, 2},
    [OP_ATTENTION] = {attended, 0, 1},
    [OP_ATTENTION_GRAD] = {attended_grad, 0, 1},
    [OP_DYNAMIC_UPDATE] = {updated, 0, 2},
    [OP_DROPOUT] = {dropped, 0, 2},
    [OP_SOFTMAX] = {rows1, 0, 2},
    [OP_LOG_SOFTMAX] = {rows1, 0, 2},
    [OP_SOFTMAX_GRAD] = {rows2, 0, 1},
    [OP_LOG_SOFTMAX_GRAD] = {rows2, 0, 1},
    [OP_XENT] = {labelled, 0, 2},
    [OP_XENT_GRAD] = {labelled_grad, 0, 2},
    [OP_LAYER_NORM] = {normed, 0, 2},
    [OP_RMS_NORM] = {normed, 0, 2},
    [OP_LAYER_NORM_GRAD] = {normed_grad, 0, 2},
    [OP_RMS_NORM_GRAD] = {normed_grad, 0, 2},
    [OP_CONV] = {convolved, 0, 2},
    [OP_CONV_INPUT_GRAD] = {convolved, 0, 2},
    [OP_CONV_FILTER_GRAD] = {convolved, 0, 2},
    [OP_MAX_POOL] = {pooled, 0, 2},
    [OP_MAX_POOL_TAKE] = {pooled, 0, 2},
    [OP_MAX_POOL_GRAD] = {pooled, 0, 2},
    [OP_AVG_POOL] = {pooled, 0, 2},
    [OP_AVG_POOL_GRAD] = {pooled, 0, 2},
    [OP_VARIANCE] = {some_axes, 0, 2},
    [OP_BATCH_NORM] = {normed_images, 0, 2},
    [OP_TO_LOCAL] = {one, 0, 2},
    [OP_FROM_LOCAL] = {one, 0, 2},
};
