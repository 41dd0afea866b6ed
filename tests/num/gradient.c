/* Gradients of every op that has one, against central differences in f64, over random shapes: the
   first derivative of sum(w y) by all float operands and w, and the derivative of that gradient
   again. Contract: the tables below have a row for every op with a gradient rule, or the test fails
   and names it. Kinks, ties and zeros are checked against values worked out by hand. */
#include "ir/op/window.h"
#include "passes/passes.h"
#include "tests/unit/rig.h"

/* ---- random operands ---- */

typedef struct Case {
  Rig *r;
  uint64_t seed; /* splitmix64 */
  int n;
  Tensor x[8];
  Attr attr[MAX_ATTRS];
  const Type *given;
  const struct Row *row;
} Case;

typedef struct Row {
  void (*make)(Case *c);
  double lo, hi; /* magnitudes of the elements */
} Row;
static const Row rows[OP_KINDS];

static uint64_t next(Case *c) {
  uint64_t z = c->seed += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int64_t below(Case *c, int64_t n) { return (int64_t)(next(c) % (uint64_t)n); }
static double between(Case *c, double lo, double hi) {
  return lo + (hi - lo) * (double)(next(c) >> 11) * 0x1p-53;
}
static double element(Case *c) {
  double v = between(c, c->row->lo, c->row->hi);
  return next(c) & 1 ? v : -v;
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

static Tensor *add(Case *c, Dtype dt, int rank, const int64_t *dim) {
  Tensor *t = &c->x[c->n++];
  t->type = type_get(c->r->c, dt, rank, dim);
  t->at = ARENA_ARRAY(c->r->m->arena, Scalar, t->type->numel);
  if (dtype_is_float(dt))
    for (int64_t i = 0; i < t->type->numel; i++) t->at[i].f = element(c);
  return t;
}

static Tensor *add_ids(Case *c, int rank, const int64_t *dim, int64_t limit) {
  Tensor *t = add(c, (Dtype[]){DT_U8, DT_I32, DT_I64}[below(c, 3)], rank, dim);
  for (int64_t i = 0; i < t->type->numel; i++) t->at[i].i = below(c, limit);
  return t;
}

static const Ints *ints(Case *c, int n, const int64_t *at) { return intern_ints(c->r->c, at, n); }

static void one(Case *c) {
  int64_t d[4];
  int rank = shape(c, 0, d);
  add(c, DT_F64, rank, d);
}

static void one_positive(Case *c) {
  one(c);
  for (int64_t i = 0; i < c->x[0].type->numel; i++) c->x[0].at[i].f = fabs(c->x[0].at[i].f);
}

static void two(Case *c) {
  int64_t d[4];
  int rank = shape(c, 0, d);
  add(c, DT_F64, rank, d);
  add(c, DT_F64, rank, d);
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
    c->x[1].at[i].f = c->x[0].at[i].f + (next(c) & 1 ? 1 : -1) * between(c, 0.1, 1);
}

/* A positive base and any exponent. */
static void pow_pair(Case *c) {
  two(c);
  for (int64_t i = 0; i < c->x[0].type->numel; i++) c->x[0].at[i].f = fabs(c->x[0].at[i].f);
}

static void choose(Case *c) {
  int64_t d[4];
  int rank = shape(c, 0, d);
  Tensor *t = add(c, DT_BOOL, rank, d);
  for (int64_t i = 0; i < t->type->numel; i++) t->at[i].i = below(c, 2);
  add(c, DT_F64, rank, d);
  add(c, DT_F64, rank, d);
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
  for (int i = lead; i < rank; i++) small[i - lead] = next(c) & 1 ? d[i] : 1;
  add(c, DT_F64, rank - lead, small);
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
    if (next(c) & 1) axes[n++] = i;
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
    add(c, DT_F64, rank, d);
  }
}

static void product(Case *c) {
  int64_t m = 1 + below(c, 4), n = 1 + below(c, 4), k = 1 + below(c, 4), page = 1 + below(c, 3);
  bool ta = next(c) & 1, tb = next(c) & 1, batch = next(c) & 1;
  c->attr[AT_TA].i = ta;
  c->attr[AT_TB].i = tb;
  int64_t a[3] = {page, ta ? k : m, ta ? m : k}, b[3] = {page, tb ? n : k, tb ? k : n};
  add(c, DT_F64, 2 + batch, a + !batch);
  add(c, DT_F64, 2 + batch, b + !batch);
}

static void looked_up(Case *c) {
  int64_t d[4] = {1 + below(c, 4), 1 + below(c, 3), 1 + below(c, 2)}, n[2] = {1 + below(c, 5), 2};
  int rank = 1 + (int)below(c, 3), batch = (int)below(c, rank > 2 ? 2 : rank);
  if (batch) n[1] = n[0], n[0] = d[0];
  add(c, DT_F64, rank, d);
  add_ids(c, batch + (int)below(c, 3 - batch), n, d[batch]);
  c->attr[AT_BATCH].i = batch;
}

static void running(Case *c) {
  int64_t d[4];
  int rank = shape(c, 1, d);
  add(c, DT_F64, rank, d);
  c->attr[AT_AXIS].i = below(c, rank);
  c->attr[AT_BACKWARD].i = below(c, 2);
}

static void summed_by_id(Case *c) {
  int64_t d[4] = {1 + below(c, 3), 1 + below(c, 3), 1 + below(c, 3)}, depth = 1 + below(c, 4);
  int rank = 1 + (int)below(c, 3);
  add(c, DT_F64, rank, d);
  int idrank = (int)below(c, rank + 1);
  add_ids(c, idrank, d, depth);
  c->attr[AT_DEPTH].i = depth;
  c->attr[AT_GRAD_BATCH].i = below(c, idrank + 1);
}

static void rows1(Case *c) {
  int64_t d[4];
  int rank = shape(c, 1, d);
  add(c, DT_F64, rank, d);
}

static void rows2(Case *c) {
  rows1(c);
  add(c, DT_F64, c->x[0].type->rank, c->x[0].type->dim);
}

static void updated(Case *c) {
  int64_t d[3] = {1 + below(c, 3), 1 + below(c, 4), 1 + below(c, 3)}, p[3];
  int axis = (int)below(c, 3);
  add(c, DT_F64, 3, d);
  memcpy(p, d, sizeof p);
  p[axis] = 1 + below(c, d[axis]);
  add(c, DT_F64, 3, p);
  add_ids(c, 0, d, d[axis] - p[axis] + 1);
  c->attr[AT_AXIS].i = axis;
}

static void dropped(Case *c) {
  one(c);
  c->attr[AT_KEEP].f = 0.5;
  c->attr[AT_DROP_KEY].str = intern(c->r->c, "drop");
  c->attr[AT_DROP_DRAW].i = below(c, 3);
  const Type *t = c->x[0].type;
  Tensor *place = add(c, DT_I32, t->rank, t->dim);
  for (int64_t i = 0; i < t->numel; i++) place->at[i].i = below(c, 5);
}

static void normed(Case *c) {
  rows1(c);
  c->attr[AT_EPS].f = between(c, 0.01, 1);
}

static void normed_grad(Case *c) {
  rows2(c);
  add(c, DT_F64, c->x[0].type->rank - 1, c->x[0].type->dim);
}

static void attended(Case *c) {
  static const int64_t lengths[] = {1, 2, 3};
  int64_t group = 1 + below(c, 2), t = lengths[below(c, 3)], s = lengths[below(c, 3)];
  int64_t d = 1 + below(c, 3), e = 1 + below(c, 3);
  bool causal = below(c, 2), heads = below(c, 2);
  if (causal) s = t;
  int rank = heads ? 3 : 2, skip = 3 - rank;
  c->attr[AT_SCALE].f = 0.75;
  c->attr[AT_CAUSAL].i = causal;
  add(c, DT_F64, rank, (int64_t[]){2 * group, t, d} + skip);
  add(c, DT_F64, rank, (int64_t[]){2, s, d} + skip);
  add(c, DT_F64, rank, (int64_t[]){2, s, e} + skip);
}

static void attended_grad(Case *c) {
  attended(c);
  const Tensor in[3] = {c->x[0], c->x[1], c->x[2]};
  const Type *q = in[0].type, *v = in[2].type;
  int64_t dim[4];
  for (int i = 0; i < q->rank; i++) dim[i] = q->dim[i];
  dim[q->rank - 1] = v->dim[v->rank - 1];
  c->n = 0;
  add(c, DT_F64, q->rank, dim);
  for (int i = 0; i < 3; i++) c->x[c->n++] = in[i];
  add(c, DT_F64, q->rank - 1, dim);
  add(c, DT_F64, q->rank - 1, dim);
}

static void labelled(Case *c) {
  rows1(c);
  const Type *t = c->x[0].type;
  add_ids(c, t->rank - 1, t->dim, t->dim[t->rank - 1]);
}

static void labelled_grad(Case *c) {
  int64_t d[4];
  int rank = shape(c, 1, d);
  add(c, DT_F64, rank - 1, d);
  add(c, DT_F64, rank, d);
  add_ids(c, rank - 1, d, d[rank - 1]);
}

/* ---- windows ---- */

/* Random geometry of one axis with at least one output; extents of 1 and primes among them. */
static WindowAxis window_axis(Case *c, int64_t in, int64_t taps) {
  WindowAxis a = {.in = in, .taps = taps, .stride = 1 + below(c, 3), .dilation = 1 + below(c, 2)};
  a.lo = below(c, 3);
  a.hi = below(c, 3);
  while (a.in + a.lo + a.hi <= (a.taps - 1) * a.dilation) a.taps--;
  a.out = (a.in + a.lo + a.hi - (a.taps - 1) * a.dilation - 1) / a.stride + 1;
  return a;
}

static void window_attrs(Case *c, const WindowAxis *h, const WindowAxis *w) {
  c->attr[AT_STRIDE].ints = ints(c, 2, (int64_t[]){h->stride, w->stride});
  c->attr[AT_PAD].ints = ints(c, 4, (int64_t[]){h->lo, h->hi, w->lo, w->hi});
  c->attr[AT_DILATION].ints = ints(c, 2, (int64_t[]){h->dilation, w->dilation});
}

/* Images, filters or their convolution's gradient: whatever two operands the op has. */
static void convolved(Case *c) {
  OpKind k = (OpKind)(c->row - rows);
  int64_t groups = 1 + below(c, 2), n = 1 + below(c, 2), gin = 1 + below(c, 2),
          gout = 1 + below(c, 2);
  WindowAxis h = window_axis(c, 1 + below(c, 4), 1 + below(c, 3));
  WindowAxis w = window_axis(c, 1 + below(c, 4), 1 + below(c, 3));
  window_attrs(c, &h, &w);
  c->attr[AT_GROUPS].i = groups;
  int64_t x[4] = {n, gin * groups, h.in, w.in}, f[4] = {gout * groups, gin, h.taps, w.taps};
  int64_t y[4] = {n, gout * groups, h.out, w.out};
  add(c, DT_F64, 4, k == OP_CONV ? x : y);
  add(c, DT_F64, 4, k == OP_CONV_FILTER_GRAD ? x : f);
  if (k == OP_CONV_INPUT_GRAD) c->given = type_get(c->r->c, DT_F64, 4, x);
  if (k == OP_CONV_FILTER_GRAD) c->given = type_get(c->r->c, DT_F64, 4, f);
}

/* Every window holds a pixel. */
static WindowAxis pool_axis(Case *c, bool dilated) {
  for (;;) {
    WindowAxis a = window_axis(c, 1 + below(c, 5), 1 + below(c, 3));
    bool full = dilated || a.dilation == 1;
    for (int64_t o = 0; full && o < a.out; o++) {
      int64_t from, to;
      window_taps(&a, o, &from, &to);
      full = from < to;
    }
    if (full) return a;
  }
}

static void pooled(Case *c) {
  OpKind k = (OpKind)(c->row - rows);
  bool mean = k == OP_AVG_POOL || k == OP_AVG_POOL_GRAD;
  bool back = k == OP_AVG_POOL_GRAD || k == OP_MAX_POOL_GRAD;
  WindowAxis h = pool_axis(c, !mean), w = pool_axis(c, !mean);
  window_attrs(c, &h, &w);
  if (mean) c->attr[AT_COUNT].ints = ints(c, 4, (int64_t[]){below(c, 2), below(c, 2), 0, 1});
  c->attr[AT_WINDOW].ints = ints(c, 2, (int64_t[]){h.taps, w.taps});
  int64_t n = 1 + below(c, 2), channels = 1 + below(c, 2);
  int64_t x[4] = {n, channels, h.in, w.in}, y[4] = {n, channels, h.out, w.out};
  Tensor *t = add(c, DT_F64, 4, back ? y : x);
  if (back) c->given = type_get(c->r->c, DT_F64, 4, x);
  for (int64_t i = 0; k == OP_MAX_POOL && i < t->type->numel; i++) { /* no ties */
    int64_t j = below(c, i + 1);
    t->at[i] = t->at[j];
    t->at[j].f = (double)i / 8 - 1;
  }
  if (k == OP_MAX_POOL_GRAD || k == OP_MAX_POOL_TAKE) {
    Tensor *index = add(c, DT_U8, 4, y);
    for (int64_t i = 0; i < index->type->numel; i++) index->at[i].i = below(c, h.taps * w.taps);
  }
}

/* x [N, C, ...], and mean, scale, shift. */
static void normed_images(Case *c) {
  int64_t d[4];
  int rank = shape(c, 2, d);
  add(c, DT_F64, rank, d);
  for (int i = 0; i < 3; i++) add(c, DT_F64, 1, d + 1);
}

static const Row rows[OP_KINDS] = {
    [OP_NEG] = {one, 0, 2},
    [OP_ABS] = {one, 0.1, 2},
    [OP_EXP] = {one, 0, 2},
    [OP_EXPM1] = {one, 0, 2},
    [OP_LOG] = {one_positive, 0.5, 3},
    [OP_LOG1P] = {one, 0, 0.6},
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
};

/* ---- the check ---- */

static ValueId total(Builder *b, ValueId x) {
  int64_t axes[8];
  int rank = value_type(b->e, x)->rank;
  for (int i = 0; i < rank; i++) axes[i] = i;
  return build_convert(b, build_reduce(b, OP_SUM, x, axes, rank), DT_F64);
}

/* loss, slope (of the second derivative's function), then both gradients by each variable. */
enum { LOSS, SLOPE, GRADIENTS };

typedef struct Program {
  Entry *e;
  int inputs, variables; /* the first inputs are the op's operands, then w, then directions v */
  int input_of[9];       /* of each variable */
  Tensor in[24];
} Program;

/* exponent: for pow, a constant in place of operand 1; else NULL. */
static Program program(Case *c, OpKind k, const double *exponent) {
  Rig *r = c->r;
  Entry *e = entry_new(r->m, op_info[k].name, (Loc){0});
  Builder *b = builder_new(e, e->body);
  b->fold = false;
  Program p = {.e = e};
  ValueId x[10], operand[8];
  for (int i = 0; i < c->n; i++) {
    x[i] = operand[i] = entry_add_input(e, intern_printf(r->c, "x%d", i), c->x[i].type);
    if (dtype_is_float(c->x[i].type->dtype)) p.input_of[p.variables++] = i;
    p.in[p.inputs++] = c->x[i];
  }
  int n = c->n;
  if (exponent) operand[n++] = build_const(b, c->x[0].type, *exponent);
  ValueId y = build(b, k, operand, n, c->attr, c->given);
  const Type *t = value_type(e, y);
  c->n = 0;
  Tensor *w = add(c, DT_F64, t->rank, t->dim);
  p.input_of[p.variables++] = p.inputs;
  w->type = t; /* in doubles, whatever the dtype says */
  x[p.inputs] = entry_add_input(e, "w", t);
  p.in[p.inputs++] = *w;

  ValueId out[2 + 18], wrt[1 + 9], s = NO_ID;
  const char *names[2 + 18];
  const Type *types[9];
  for (int i = 0; i < p.variables; i++) {
    wrt[1 + i] = x[p.input_of[i]];
    types[i] = value_type(e, wrt[1 + i]);
  }
  ValueId loss = total(b, build2(b, OP_MUL, y, x[p.input_of[p.variables - 1]]));
  const Op *made = value_def(e, y);
  for (int i = 1; i < made->nresults; i++) { /* the others by their squares */
    ValueId z = made->results[i];
    if (dtype_is_float(value_type(e, z)->dtype))
      loss = build2(b, OP_ADD, loss, total(b, build2(b, OP_MUL, z, z)));
  }
  wrt[0] = out[LOSS] = loss;
  const Op *g = build_op(b, OP_GRAD, wrt, 1 + p.variables, NULL, types, p.variables);
  for (int i = 0; i < p.variables; i++) {
    c->n = 0;
    Tensor *v = add(c, DT_F64, types[i]->rank, types[i]->dim);
    v->type = types[i];
    p.in[p.inputs++] = *v;
    ValueId along = entry_add_input(e, intern_printf(r->c, "v%d", i), types[i]);
    ValueId term = total(b, build2(b, OP_MUL, g->results[i], along));
    s = s == NO_ID ? term : build2(b, OP_ADD, s, term);
    out[GRADIENTS + i] = g->results[i];
  }
  wrt[0] = out[SLOPE] = s;
  const Op *h = build_op(b, OP_GRAD, wrt, 1 + p.variables, NULL, types, p.variables);
  for (int i = 0; i < p.variables; i++) out[GRADIENTS + p.variables + i] = h->results[i];
  int outputs = GRADIENTS + 2 * p.variables;
  for (int i = 0; i < outputs; i++) names[i] = intern_printf(r->c, "out%d", i);
  build_return(b, out, names, outputs);
  vec_push(r->m->arena, &r->m->entries, e);
  PassOptions o = {.verify_each = true, .out = stderr};
  if (!passes_run(r->m, "autodiff", &o)) fail_msg("%s: no gradient", op_info[k].name);
  return p;
}

static void compare(const Rig *r, const Program *p, OpKind k) {
  enum { MOST = GRADIENTS + 18 };
  const double h = 1e-5;
  Tensor at[MOST], up[MOST], down[MOST];
  if (!interp_run(r->it, p->e, p->in, at)) fail_msg("%s: %s", op_info[k].name, r->it->why);
  for (int i = 0; i < p->variables; i++) {
    const Tensor *x = &p->in[p->input_of[i]];
    for (int64_t j = 0; j < x->type->numel; j++) {
      double keep = x->at[j].f;
      x->at[j].f = keep + h;
      interp_run(r->it, p->e, p->in, up);
      x->at[j].f = keep - h;
      interp_run(r->it, p->e, p->in, down);
      x->at[j].f = keep;
      for (int order = 0; order < 2; order++) {
        double got = at[GRADIENTS + order * p->variables + i].at[j].f;
        double want = (up[LOSS + order].at[0].f - down[LOSS + order].at[0].f) / (2 * h);
        double scale = 1 + fabs(want) + 1e-3 * fabs(at[LOSS + order].at[0].f);
        if (!(fabs(got - want) <= 1e-6 * scale))
          fail_msg(
              "%s: derivative %d by input %d of type %s, element %d: %.9g, differences say %.9g",
              op_info[k].name, order + 1, p->input_of[i], type_str(r->c, x->type), (int)j, got,
              want);
      }
    }
  }
}

static void every_gradient_agrees_with_differences(void **state) {
  for (int k = 0; k < OP_KINDS; k++) {
    if (!op_info[k].grad || k == OP_SCAN) continue; /* loops: by random programs */
    if (!rows[k].make) fail_msg("%s has a gradient rule and no row here", op_info[k].name);
    for (uint64_t round = 0; round < 12; round++) {
      Rig r = rig_new(INTERP_F64, 0);
      Case c = {.r = &r, .seed = round * OP_KINDS + (uint64_t)k, .row = &rows[k]};
      rows[k].make(&c);
      Program p = program(&c, (OpKind)k, NULL);
      compare(&r, &p, (OpKind)k);
      rig_free(&r);
    }
  }
}

static void constant_exponents(void **state) {
  static const double exponents[] = {-1, 0, 0.5, 1, 2, 3, 4.5};
  for (size_t i = 0; i < sizeof exponents / sizeof exponents[0]; i++) {
    Rig r = rig_new(INTERP_F64, 0);
    Case c = {.r = &r, .seed = i, .row = &(Row){one_positive, 0.5, 2}};
    one_positive(&c);
    Program p = program(&c, OP_POW, &exponents[i]);
    compare(&r, &p, OP_POW);
    rig_free(&r);
  }
}

/* ---- kinks, ties and zeros ---- */

typedef struct Asked {
  ValueId to[8];
  bool wanted[8];
} Asked;

static bool asked(const GradCtx *g, const Op *op, int operand) {
  return ((Asked *)g->state)->wanted[operand];
}

/* Of the results behind the first nothing is wanted. */
static ValueId given_of(const GradCtx *g, const Op *op, int result) {
  (void)g, (void)op, (void)result;
  return NO_ID;
}

static void answered(GradCtx *g, const Op *op, int operand, ValueId d) {
  ((Asked *)g->state)->to[operand] = d;
}

static const struct {
  OpKind kind;
  const char *operands, *given, *attrs, *in;
  const char
      *want; /* gradient of the sum of the result by each operand, separated by ';'; "-": none */
} corners[] = {
    {OP_MAX, "f64[3] f64[3]", NULL, NULL, "1,1,2;1,2,1", "0.5,0,1;0.5,1,0"},
    {OP_MIN, "f64[3] f64[3]", NULL, NULL, "1,1,2;1,2,1", "0.5,1,0;0.5,0,1"},
    {OP_RELU, "f64[3]", NULL, NULL, "0,-0,1", "0,0,1"},
    {OP_ABS, "f64[1]", NULL, NULL, "0", "0"},
    {OP_POW, "f64[4] f64[4]", NULL, NULL, "0,0,0,3;0,1,2,0", "0,1,0,0;0,0,0,1.0986122886681098"},
    {OP_REDUCE_MAX, "f64[2,3]", NULL, "1", "2,2,1,3,3,3",
     "0.5,0.5,0,0.3333333333333333,0.3333333333333333,0.3333333333333333"},
    {OP_REDUCE_MIN, "f64[4]", NULL, "0", "2,1,5,1", "0,0.5,0,0.5"},
    {OP_REDUCE_MAX, "f64[]", NULL, NULL, "2", "1"},
    {OP_PROD, "f64[3]", NULL, "0", "0,2,3", "6,0,0"},
    {OP_PROD, "f64[3]", NULL, "0", "0,0,3", "0,0,0"},
    {OP_PROD, "f64[2,2]", NULL, "0", "2,0,3,5", "3,5,2,0"},
    {OP_PROD, "f64[0]", NULL, "0", "", ""},
    {OP_SUM, "f64[0,2]", NULL, "0", "", ""},
    {OP_WHERE, "bool[2] f64[2] f64[2]", NULL, NULL, "1,0;nan,1;1,nan", "-;1,0;0,1"},
    {OP_GATHER, "f64[3] i32[4]", NULL, NULL, "1,2,3;2,0,2,2", "1,0,3;-"},
    {OP_GATHER, "f64[2,3] i32[2,2]", NULL, "1", "1,2,3,4,5,6;2,2,0,1", "0,0,2,1,1,0;-"},
    {OP_CUMSUM, "f64[3]", NULL, "0", "1,2,3", "3,2,1"},
    {OP_CUMSUM, "f64[3]", NULL, "0;1", "1,2,3", "1,2,3"},
    {OP_CONVERT, "i32[2]", "f64[2]", NULL, "1,2", "-"},
    {OP_ADD, "i32[1] i32[1]", NULL, NULL, "1;2", "-;-"},
    {OP_SLICE, "f64[3]", "f64[0]", "2;1", "1,2,3", "0,0,0"},
};

static void corners_by_hand(void **state) {
  for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++) {
    Rig r = rig_new(INTERP_F64, 0);
    OpKind k = corners[i].kind;
    Tensor x[4];
    ValueId v[4];
    Entry *e = entry_new(r.m, "corner", (Loc){0});
    int n = 0;
    const char *types = corners[i].operands, *in = corners[i].in, *want = corners[i].want;
    for (const Type *t; (t = rig_next_type(&r, &types)); n++) {
      v[n] = entry_add_input(e, intern_printf(r.c, "x%d", n), t);
      x[n] = (Tensor){.type = t, .at = ARENA_ARRAY(r.m->arena, Scalar, t->numel)};
      for (int64_t j = 0; j < t->numel; j++) {
        char *end;
        double number = strtod(in, &end);
        x[n].at[j] =
            dtype_is_float(t->dtype) ? (Scalar){.f = number} : (Scalar){.i = (int64_t)number};
        in = end + (*end != 0);
      }
    }
    const Type *given = corners[i].given ? rig_type(&r, corners[i].given) : NULL;
    Attr attr[MAX_ATTRS];
    rig_attrs(&r, k, corners[i].attrs, DT_F64, attr);
    Builder *b = builder_new(e, e->body);
    b->fold = false;
    ValueId y = build(b, k, v, n, attr, given);
    Asked a = {.to = {NO_ID, NO_ID, NO_ID, NO_ID}, .wanted = {true, true, true, true}};
    GradCtx g = {.b = b, .e = e, .state = &a, .needs = asked, .of = given_of, .to = answered};
    op_info[k].grad(&g, value_def(e, y), build_const(b, value_type(e, y), 1));
    ValueId out[4];
    const char *const names[] = {"a", "b", "c", "d"};
    int outputs = 0;
    for (int j = 0; j < n; j++)
      if (a.to[j] != NO_ID) out[outputs++] = a.to[j];
    build_return(b, out, names, outputs);
    Tensor result[4];
    if (!interp_run(r.it, e, x, result)) fail_msg("%s: %s", op_info[k].name, r.it->why);
    for (int j = 0, o = 0; j < n; j++) {
      if (*want == '-') {
        if (a.to[j] != NO_ID) fail_msg("%s: operand %d has a gradient", op_info[k].name, j);
        want += 1 + (want[1] == ';');
        continue;
      }
      if (a.to[j] == NO_ID) fail_msg("%s: operand %d has no gradient", op_info[k].name, j);
      assert_ptr_equal(result[o].type, x[j].type);
      for (int64_t l = 0; l < x[j].type->numel; l++) {
        char *end;
        double expected = strtod(want, &end);
        want = end + (*end != 0);
        if (!rig_close(result[o].at[l].f, expected, 1e-14))
          fail_msg("row %d: %s: operand %d, element %d: %.17g, not %.17g", (int)i, op_info[k].name,
                   j, (int)l, result[o].at[l].f, expected);
      }
      o++;
    }
    rig_free(&r);
  }
}

/* ---- what a gradient keeps alive ---- */

/* For each operand, behind '|', the values of y, z = f(a, b, c) that its gradient reads beside dy.
 */
static const char *const reads[OP_KINDS] = {
    [OP_NEG] = "",
    [OP_ABS] = "a",
    [OP_EXP] = "y",
    [OP_EXPM1] = "y",
    [OP_LOG] = "a",
    [OP_LOG1P] = "a",
    [OP_SQRT] = "y",
    [OP_RSQRT] = "y",
    [OP_SIN] = "a",
    [OP_COS] = "a",
    [OP_TANH] = "y",
    [OP_SIGMOID] = "y",
    [OP_ERF] = "a",
    [OP_RELU] = "y",
    [OP_CONVERT] = "",
    [OP_ADD] = "|",
    [OP_SUB] = "|",
    [OP_MUL] = "b|a",
    [OP_DIV] = "b|by",
    [OP_MOD] = "|ab",
    [OP_POW] = "ab|ay",
    [OP_MIN] = "ab|ab",
    [OP_MAX] = "ab|ab",
    [OP_WHERE] = "|a|a",
    [OP_RELU_GRAD] = "b|",
    [OP_SIGMOID_GRAD] = "b|ab",
    [OP_TANH_GRAD] = "b|ab",
    [OP_RESHAPE] = "",
    [OP_TRANSPOSE] = "",
    [OP_BROADCAST] = "",
    [OP_SLICE] = "",
    [OP_REVERSE] = "",
    [OP_PAD] = "",
    [OP_CONCAT] = "|||",
    [OP_COPY] = "",
    [OP_SUM] = "",
    [OP_PROD] = "a",
    [OP_REDUCE_MAX] = "ay",
    [OP_REDUCE_MIN] = "ay",
    [OP_MATMUL] = "b|a",
    [OP_GATHER] = "b|",
    [OP_GATHER_GRAD] = "b|",
    [OP_CUMSUM] = "",
    [OP_ATTENTION] = "abcyz|abcyz|abcyz",
    [OP_ATTENTION_GRAD] = "abcdef|abcdef|abcdef|abcdef|abcdef|abcdef",
    [OP_DYNAMIC_UPDATE] = "c|c|",
    [OP_DROPOUT] = "b|",
    [OP_SOFTMAX] = "y",
    [OP_LOG_SOFTMAX] = "y",
    [OP_SOFTMAX_GRAD] = "b|ab",
    [OP_LOG_SOFTMAX_GRAD] = "b|ab",
    [OP_XENT] = "ab|",
    [OP_XENT_GRAD] = "bc|ab|",
    [OP_LAYER_NORM] = "yz",
    [OP_RMS_NORM] = "yz",
    [OP_LAYER_NORM_GRAD] = "bc|abc|ab",
    [OP_RMS_NORM_GRAD] = "bc|abc|ab",
    [OP_CONV] = "b|a",
    [OP_CONV_INPUT_GRAD] = "b|a",
    [OP_CONV_FILTER_GRAD] = "b|a",
    [OP_MAX_POOL] = "a",
    [OP_MAX_POOL_TAKE] = "b|",
    [OP_MAX_POOL_GRAD] = "b|",
    [OP_AVG_POOL] = "",
    [OP_AVG_POOL_GRAD] = "",
    [OP_VARIANCE] = "a",
    [OP_BATCH_NORM] = "c|c|ab|",
};

static void gradients_read_only_what_they_need(void **state) {
  for (int k = 0; k < OP_KINDS; k++) {
    if (!op_info[k].grad || k == OP_SCAN) continue;
    if (!reads[k]) fail_msg("what the gradient of %s reads is not stated", op_info[k].name);
    const char *want = reads[k];
    for (int wanted = 0; want; wanted++) {
      Rig r = rig_new(INTERP_F64, 0);
      Case c = {.r = &r, .seed = 3 + (uint64_t)k, .row = &rows[k]};
      do { /* an operand of several elements, since a product of one factor reads nothing */
        c.n = 0;
        rows[k].make(&c);
      } while (c.x[0].type->numel < 4 ||
               (k == OP_PROD && c.attr[AT_AXES].ints->n != c.x[0].type->rank));
      if (wanted >= c.n) {
        rig_free(&r);
        break;
      }
      Entry *e = entry_new(r.m, "reads", (Loc){0});
      Builder *b = builder_new(e, e->body);
      ValueId v[8];
      for (int i = 0; i < c.n; i++) v[i] = entry_add_input(e, "x", c.x[i].type);
      b->fold = false;
      ValueId y = build(b, (OpKind)k, v, c.n, c.attr, c.given);
      const Op *op = value_def(e, y);
      ValueId dy = entry_add_input(e, "dy", value_type(e, y));
      Asked a = {0};
      for (int i = 0; i < c.n; i++) a.to[i] = NO_ID;
      a.wanted[wanted] = true;
      GradCtx g = {.b = b, .e = e, .state = &a, .needs = asked, .of = given_of, .to = answered};
      if (dtype_is_float(c.x[wanted].type->dtype)) op_info[k].grad(&g, op, dy);
      char got[16] = {0};
      int n = 0;
      for (int i = 0; i < c.n + op->nresults; i++) {
        ValueId value = i < c.n ? v[i] : op->results[i - c.n];
        bool read = a.to[wanted] == value;
        for (uint32_t o = op->id + 1; o < e->ops.n; o++)
          for (int j = 0; j < op_at(e, o)->noperands; j++)
            read |= op_at(e, o)->operands[j] == value;
        if (read) got[n++] = i < c.n ? "abcdefgh"[i] : "yzw"[i - c.n];
      }
      const char *end = strchr(want, '|');
      if (strlen(got) != (end ? (size_t)(end - want) : strlen(want)) ||
          memcmp(got, want, strlen(got)) != 0)
        fail_msg("the gradient of %s by operand %d reads \"%s\", not \"%s\"", op_info[k].name,
                 wanted, got, want);
      want = end ? end + 1 : NULL;
      rig_free(&r);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_gradient_agrees_with_differences),
      cmocka_unit_test(constant_exponents),
      cmocka_unit_test(corners_by_hand),
      cmocka_unit_test(gradients_read_only_what_they_need),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
