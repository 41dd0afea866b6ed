/* Makes random programs: a pool of values, and makers that take some and put one more in.
   Contract: see random_program.h. A maker that finds no fitting operands leaves the pool as it is.
   Shapes are small, with size 1, primes and rank 0 among them; operands that a maker lacks are
   made: constants, inputs, params, broadcasts. Small constants, repeated ops and inverse pairs of
   views are frequent, since folding and merging live on them. */
#include "random_program.h"

#include <math.h>

uint64_t random_next(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

int64_t random_below(uint64_t *state, int64_t n) {
  return n > 0 ? (int64_t)(random_next(state) % (uint64_t)n) : 0;
}

enum { MAX_RANK = 4, MAX_OUTPUTS = 64 };

typedef struct Gen {
  Ctx *c;
  Module *m;
  Entry *e;
  Builder *b;
  RandomOptions o;
  uint64_t rng;
  VEC(ValueId) pool;
  ValueId loaded[64]; /* by global; NO_ID: not loaded in this entry */
  ValueId out[MAX_OUTPUTS];
  const char *name[MAX_OUTPUTS];
  int nout, nloss;
  int loops; /* whose bodies are being made */
} Gen;

static int64_t below(Gen *g, int64_t n) { return random_below(&g->rng, n); }
static bool chance(Gen *g, int percent) { return below(g, 100) < percent; }
static const Type *type_of(Gen *g, ValueId v) { return value_type(g->e, v); }
static ValueId keep(Gen *g, ValueId v) {
  vec_push(g->m->arena, &g->pool, v);
  return v;
}

/* ---- types ---- */

static Dtype random_float(Gen *g) {
  if (g->o.doubles) return DT_F64;
  if (g->o.narrow && chance(g, 30)) return chance(g, 50) ? DT_F16 : DT_BF16;
  return g->o.narrow && chance(g, 10) ? DT_F64 : DT_F32;
}

static Dtype random_int(Gen *g) {
  if (g->o.narrow && chance(g, 40)) return chance(g, 50) ? DT_I64 : DT_U8;
  return DT_I32;
}

static int64_t random_dim(Gen *g) {
  static const int64_t dims[] = {1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 11, 13, 16, 17};
  return dims[below(g, sizeof dims / sizeof dims[0])];
}

static const Type *random_type(Gen *g, Dtype dt) {
  int64_t dim[MAX_RANK], numel = 1;
  int rank = (int)below(g, MAX_RANK + 1);
  for (int i = 0; i < rank; i++) {
    dim[i] = random_dim(g);
    if (numel * dim[i] > g->o.numel) dim[i] = 1;
    numel *= dim[i];
  }
  return type_get(g->c, dt, rank, dim);
}

static bool fits(Gen *g, const Type *t) { return t && t->numel <= g->o.numel; }

/* ---- making and finding values ---- */

static ValueId constant(Gen *g, const Type *t) {
  static const double values[] = {0, 1, -1, 2, 0.5, 3, -0.25, 1.5};
  double v = values[below(g, sizeof values / sizeof values[0])];
  if (t->dtype == DT_U8 || t->dtype == DT_BOOL) v = fabs(v);
  return build_const(g->b, t, v);
}

static ValueId load(Gen *g, int global) {
  Block *here = g->b->b; /* a load stands before all loops */
  builder_at(g->b, g->e->body);
  if (g->loaded[global] == NO_ID) g->loaded[global] = build_load(g->b, global);
  builder_at(g->b, here);
  return g->loaded[global];
}

static ValueId param(Gen *g, const Type *t) {
  for (uint32_t i = 0; i < g->m->globals.n; i++)
    if (g->m->globals.at[i].type == t && g->m->globals.at[i].kind != GLOBAL_HYPER && chance(g, 60))
      return load(g, (int)i);
  if (g->m->globals.n == sizeof g->loaded / sizeof g->loaded[0]) return constant(g, t);
  bool trained = dtype_is_float(t->dtype) && chance(g, 70);
  Global p = {.kind = trained ? GLOBAL_PARAM : GLOBAL_STATE, .type = t};
  p.path = intern_printf(g->c, "net.%s%u", trained ? "w" : "s", g->m->globals.n);
  return load(g, module_add_global(g->m, p));
}

/* A new value of this type, of whatever origin. */
static ValueId make(Gen *g, const Type *t) {
  int64_t how = below(g, 10);
  if (how < 3)
    return keep(g, entry_add_input(g->e, intern_printf(g->c, "x%u", g->e->body->args.n), t));
  if (how < 6 && t->dtype != DT_BOOL) return keep(g, param(g, t));
  if (how == 6 && t->rank > 0 && t->dtype != DT_BOOL)
    return build(g->b, OP_IOTA, NULL, 0, (Attr[MAX_ATTRS]){[AT_AXIS] = {.i = below(g, t->rank)}},
                 t);
  if (how == 7 && dtype_is_float(t->dtype) && !g->o.smooth) {
    const char *key = intern_printf(g->c, "key%d", (int)below(g, 4));
    OpKind k = chance(g, 50) ? OP_RANDOM_UNIFORM : OP_RANDOM_NORMAL;
    return build(g->b, k, NULL, 0, (Attr[MAX_ATTRS]){[AT_KEY] = {.str = key}}, t);
  }
  return constant(g, t);
}

typedef enum Want { ANY, FLOATS, INTS, BOOLS, NUMBERS } Want;

static bool is_wanted(Dtype dt, Want w) {
  switch (w) {
  case FLOATS: return dtype_is_float(dt);
  case INTS: return dtype_is_int(dt);
  case BOOLS: return dt == DT_BOOL;
  case NUMBERS: return dt != DT_BOOL;
  case ANY: break;
  }
  return true;
}

/* A value of the pool, newer ones more often; where none fits, a new one. */
static ValueId pick(Gen *g, Want w) {
  if (w == ANY && g->o.smooth && chance(g, 80)) w = FLOATS;
  for (int tries = 0; tries < 12 && g->pool.n; tries++) {
    int64_t n = g->pool.n, i = chance(g, 60) ? n - 1 - below(g, n < 6 ? n : 6) : below(g, n);
    if (is_wanted(value_type(g->e, g->pool.at[i])->dtype, w)) return g->pool.at[i];
  }
  Dtype dt = w == INTS ? random_int(g) : w == BOOLS ? DT_BOOL : random_float(g);
  return make(g, random_type(g, dt));
}

/* Another value of exactly this type: from the pool, a broadcast of one of it, or a new one. */
static ValueId mate(Gen *g, const Type *t) {
  if (chance(g, 25)) return constant(g, t);
  uint32_t n = g->pool.n, from = (uint32_t)below(g, n);
  for (uint32_t i = 0; i < n; i++) {
    ValueId v = g->pool.at[(from + i) % n];
    const Type *u = type_of(g, v);
    if (u == t) return v;
    if (u->dtype == t->dtype && u->rank <= t->rank && type_broadcast(g->c, u, t) == t &&
        chance(g, 60))
      return build(g->b, OP_BROADCAST, &v, 1, NULL, t);
  }
  return make(g, t);
}

/* ---- element-wise ---- */

static ValueId positive(Gen *g, ValueId x) { /* |x| + 1/2 */
  ValueId half = build_const(g->b, type_of(g, x), 0.5);
  return build2(g->b, OP_ADD, build1(g->b, OP_ABS, x), half);
}

/* Keeps a function's argument where the function is tame: always if smooth, mostly if not. */
static ValueId tame(Gen *g, OpKind k, int operand, ValueId x) {
  if (!dtype_is_float(type_of(g, x)->dtype) || (!g->o.smooth && chance(g, 20))) return x;
  bool first = operand == 0;
  switch ((int)k) {
  case OP_LOG:
  case OP_LOG1P:
  case OP_SQRT:
  case OP_RSQRT: return positive(g, x);
  case OP_EXP:
  case OP_EXPM1: return build1(g->b, OP_TANH, x);
  case OP_POW: return first ? positive(g, x) : build1(g->b, OP_SIN, x);
  case OP_DIV:
  case OP_MOD: return first ? x : positive(g, x);
  case OP_MUL: return first ? x : build1(g->b, OP_TANH, x);
  default: return x;
  }
}

static bool element(Gen *g) {
  OpKind k;
  do k = (OpKind)below(g, OP_KINDS);
  while (op_info[k].cls != CLASS_ELEMENT || k == OP_CONVERT);
  const OpInfo *info = &op_info[k];
  ValueId x[3];
  const Type *t[3];
  x[0] = k == OP_WHERE || k == OP_NOT || k == OP_AND || k == OP_OR ? pick(g, BOOLS) : pick(g, ANY);
  if (info->operands > 1) {
    const Type *u = type_of(g, x[0]);
    if (k == OP_WHERE) u = type_with_dtype(g->c, u, random_float(g));
    for (int i = 1; i < info->operands; i++)
      x[i] = chance(g, 8) && i == 1 && k != OP_WHERE ? x[0] : mate(g, u);
  }
  if (info->flags & OPF_COMMUTATIVE && chance(g, 50)) {
    ValueId s = x[0];
    x[0] = x[1];
    x[1] = s;
  }
  for (int i = 0; i < info->operands; i++) t[i] = type_of(g, x[i]);
  char why[256];
  if (!op_shape(g->c, k, t, info->operands, NULL, NULL, why)) return false;
  for (int i = 0; i < info->operands; i++) x[i] = tame(g, k, i, x[i]);
  keep(g, build(g->b, k, x, info->operands, NULL, NULL));
  return true;
}

static bool convert(Gen *g) {
  ValueId x = pick(g, ANY);
  Dtype dt = chance(g, 50) ? random_float(g) : chance(g, 60) ? random_int(g) : DT_BOOL;
  if (type_of(g, x)->dtype != dt) keep(g, build_convert(g->b, x, dt));
  return true;
}

/* ---- views ---- */

static const Ints *ints(Gen *g, const int64_t *at, int n) { return intern_ints(g->c, at, n); }

static bool reshape(Gen *g) {
  ValueId x = pick(g, ANY);
  int64_t dim[MAX_RANK + 1], left = type_of(g, x)->numel;
  int rank = 0;
  for (int64_t p = 2; p <= left && rank < MAX_RANK; p++)
    if (left % p == 0 && chance(g, 60)) {
      dim[rank++] = p;
      left /= p;
    }
  if (left > 1 || chance(g, 30)) dim[rank++] = left;
  keep(g, build(g->b, OP_RESHAPE, &x, 1, NULL, type_get(g->c, type_of(g, x)->dtype, rank, dim)));
  return true;
}

static bool transpose(Gen *g) {
  ValueId x = pick(g, ANY);
  int rank = type_of(g, x)->rank;
  int64_t perm[MAX_RANK + 2];
  for (int i = 0; i < rank; i++) perm[i] = i;
  for (int i = rank - 1; i > 0; i--) {
    int64_t j = below(g, i + 1), t = perm[i];
    perm[i] = perm[j];
    perm[j] = t;
  }
  ValueId y = keep(g, build_transpose(g->b, x, perm));
  if (chance(g, 25)) keep(g, build_transpose(g->b, y, perm));
  return true;
}

static bool broadcast(Gen *g) {
  ValueId x = pick(g, ANY);
  const Type *t = type_of(g, x);
  int lead = (int)below(g, 3);
  if (t->rank + lead > MAX_RANK) lead = 0;
  int64_t dim[2 * MAX_RANK];
  for (int i = 0; i < lead; i++) dim[i] = random_dim(g);
  for (int i = 0; i < t->rank; i++)
    dim[lead + i] = t->dim[i] == 1 && chance(g, 60) ? random_dim(g) : t->dim[i];
  const Type *to = type_get(g->c, t->dtype, t->rank + lead, dim);
  if (!fits(g, to)) return false;
  keep(g, build(g->b, OP_BROADCAST, &x, 1, NULL, to));
  return true;
}

static bool slice(Gen *g) {
  ValueId x = pick(g, ANY);
  const Type *t = type_of(g, x);
  int64_t start[MAX_RANK + 1] = {0}, step[MAX_RANK + 1] = {0}, dim[MAX_RANK + 1];
  for (int i = 0; i < t->rank; i++) {
    start[i] = chance(g, 50) ? 0 : below(g, t->dim[i]);
    step[i] = chance(g, 70) ? 1 : 1 + below(g, 3);
    int64_t most = (t->dim[i] - start[i] + step[i] - 1) / step[i];
    dim[i] = chance(g, 50) ? most : 1 + below(g, most);
  }
  Attr attr[MAX_ATTRS] = {[AT_STARTS] = {.ints = ints(g, start, t->rank)},
                          [AT_STEPS] = {.ints = ints(g, step, t->rank)}};
  keep(g, build(g->b, OP_SLICE, &x, 1, attr, type_get(g->c, t->dtype, t->rank, dim)));
  return true;
}

static int random_axes(Gen *g, int rank, int64_t *axes) {
  int n = 0;
  for (int i = 0; i < rank; i++)
    if (chance(g, 50)) axes[n++] = i;
  if (n == 0 && rank > 0) axes[n++] = below(g, rank);
  return n;
}

static bool reverse(Gen *g) {
  ValueId x = pick(g, ANY);
  int64_t axes[MAX_RANK + 1];
  int n = random_axes(g, type_of(g, x)->rank, axes);
  if (n == 0) return false;
  Attr attr[MAX_ATTRS] = {[AT_AXES] = {.ints = ints(g, axes, n)}};
  ValueId y = keep(g, build(g->b, OP_REVERSE, &x, 1, attr, NULL));
  if (chance(g, 20)) keep(g, build(g->b, OP_REVERSE, &y, 1, attr, NULL));
  return true;
}

static bool pad(Gen *g) {
  ValueId x = pick(g, ANY);
  const Type *t = type_of(g, x);
  int64_t lo[MAX_RANK + 1], hi[MAX_RANK + 1], inner[MAX_RANK + 1];
  for (int i = 0; i < t->rank; i++) {
    lo[i] = below(g, 3);
    hi[i] = below(g, 3);
    inner[i] = chance(g, 75) ? 0 : below(g, 3);
  }
  Attr attr[MAX_ATTRS] = {[AT_LO] = {.ints = ints(g, lo, t->rank)},
                          [AT_HI] = {.ints = ints(g, hi, t->rank)},
                          [AT_INTERIOR] = {.ints = ints(g, inner, t->rank)}};
  if (chance(g, 30)) {
    if (dtype_is_float(t->dtype))
      attr[AT_VALUE].f = chance(g, 50) || g->o.smooth ? 1 : -INFINITY;
    else
      attr[AT_VALUE].i = 1;
  }
  char why[256];
  if (!fits(g, op_shape(g->c, OP_PAD, &t, 1, attr, NULL, why))) return false;
  keep(g, build(g->b, OP_PAD, &x, 1, attr, NULL));
  return true;
}

static bool concat(Gen *g) {
  ValueId x[3] = {pick(g, ANY)};
  const Type *t = type_of(g, x[0]);
  if (t->rank == 0) return false;
  int n = 1 + (int)below(g, 3);
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = below(g, t->rank)}};
  const Type *types[3] = {t};
  for (int i = 1; i < n; i++) types[i] = type_of(g, x[i] = chance(g, 20) ? x[0] : mate(g, t));
  char why[256];
  if (!fits(g, op_shape(g->c, OP_CONCAT, types, n, attr, NULL, why))) return false;
  keep(g, build(g->b, OP_CONCAT, x, n, attr, NULL));
  return true;
}

/* ---- reductions, products, rows, addresses ---- */

static bool reduce(Gen *g) {
  static const OpKind kinds[] = {OP_SUM, OP_SUM, OP_PROD, OP_REDUCE_MAX, OP_REDUCE_MIN};
  OpKind k = kinds[below(g, 5)];
  ValueId x = pick(g, NUMBERS);
  const Type *t = type_of(g, x);
  int64_t axes[MAX_RANK + 1];
  int n = random_axes(g, t->rank, axes);
  if (n == 0) return false;
  if (k == OP_PROD && dtype_is_float(t->dtype)) x = build1(g->b, OP_SIN, x); /* no overflow */
  if (chance(g, 40))
    keep(g, build_reduce_keep(g->b, k, x, axes, n));
  else
    keep(g, build_reduce(g->b, k, x, axes, n));
  return true;
}

static bool arg(Gen *g) {
  ValueId x = pick(g, NUMBERS);
  int rank = type_of(g, x)->rank;
  if (rank == 0) return false;
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = below(g, rank)}};
  keep(g, build(g->b, chance(g, 50) ? OP_ARGMAX : OP_ARGMIN, &x, 1, attr, NULL));
  return true;
}

static bool matmul(Gen *g) {
  ValueId x = pick(g, chance(g, 85) ? FLOATS : INTS);
  const Type *t = type_of(g, x);
  if (t->rank < 2) return false;
  bool ta = chance(g, 30), tb = chance(g, 30);
  int64_t dim[MAX_RANK + 1], k = ta ? t->dim[t->rank - 2] : t->dim[t->rank - 1], n = random_dim(g);
  memcpy(dim, t->dim, sizeof dim[0] * (size_t)t->rank);
  dim[t->rank - 2] = tb ? n : k;
  dim[t->rank - 1] = tb ? k : n;
  const Type *u = type_get(g->c, t->dtype, t->rank, dim);
  const Type *types[] = {t, u};
  Attr attr[MAX_ATTRS] = {[AT_TA] = {.i = ta}, [AT_TB] = {.i = tb}};
  char why[256];
  if (!fits(g, u) || !fits(g, op_shape(g->c, OP_MATMUL, types, 2, attr, NULL, why))) return false;
  ValueId y = mate(g, u);
  if (dtype_is_float(t->dtype)) y = build1(g->b, OP_TANH, y);
  keep(g, build_matmul(g->b, x, y, ta, tb));
  return true;
}

/* Ids below n, of this shape. */
static ValueId ids_below(Gen *g, ValueId like, int64_t n) {
  return build2(g->b, OP_MOD, like, build_const_int(g->b, type_of(g, like), n));
}

static bool gather(Gen *g) {
  ValueId table = pick(g, NUMBERS), ids = pick(g, INTS);
  const Type *types[] = {type_of(g, table), type_of(g, ids)};
  char why[256];
  if (types[0]->rank == 0 || types[0]->rank + types[1]->rank > MAX_RANK + 1) return false;
  if (!fits(g, op_shape(g->c, OP_GATHER, types, 2, NULL, NULL, why))) return false;
  ids = ids_below(g, ids, types[0]->dim[0]);
  keep(g, build2(g->b, OP_GATHER, table, ids));
  return true;
}

static bool scatter(Gen *g) {
  ValueId dy = pick(g, NUMBERS);
  const Type *t = type_of(g, dy);
  int lead = (int)below(g, t->rank + 1);
  int64_t depth = random_dim(g);
  ValueId ids = mate(g, type_get(g->c, DT_I32, lead, t->dim));
  const Type *types[] = {t, type_of(g, ids)};
  Attr attr[MAX_ATTRS] = {[AT_DEPTH] = {.i = depth}};
  char why[256];
  if (!fits(g, op_shape(g->c, OP_GATHER_GRAD, types, 2, attr, NULL, why))) return false;
  ids = ids_below(g, ids, depth);
  keep(g, build(g->b, OP_GATHER_GRAD, (ValueId[]){dy, ids}, 2, attr, NULL));
  return true;
}

static bool one_hot(Gen *g) {
  ValueId ids = pick(g, INTS);
  const Type *t = type_of(g, ids);
  int64_t dim[MAX_RANK + 2], depth = random_dim(g);
  for (int i = 0; i < t->rank; i++) dim[i] = t->dim[i];
  dim[t->rank] = depth;
  const Type *to = type_get(g->c, random_float(g), t->rank + 1, dim);
  if (t->rank >= MAX_RANK || !fits(g, to)) return false;
  if (chance(g, 50)) ids = ids_below(g, ids, depth);
  keep(g, build(g->b, OP_ONE_HOT, &ids, 1, (Attr[MAX_ATTRS]){[AT_DEPTH] = {.i = depth}}, to));
  return true;
}

static bool rows(Gen *g) {
  static const OpKind kinds[] = {OP_SOFTMAX, OP_LOG_SOFTMAX, OP_SOFTMAX_GRAD, OP_LOG_SOFTMAX_GRAD,
                                 OP_XENT,    OP_XENT_GRAD,   OP_LAYER_NORM,   OP_RMS_NORM};
  OpKind k = kinds[below(g, sizeof kinds / sizeof kinds[0])];
  ValueId x = pick(g, FLOATS);
  const Type *t = type_of(g, x);
  if (t->rank == 0) return false;
  const Type *outer_i = type_get(g->c, DT_I32, t->rank - 1, t->dim);
  if (k == OP_LAYER_NORM || k == OP_RMS_NORM) {
    ValueId y = build(g->b, k, &x, 1, (Attr[MAX_ATTRS]){[AT_EPS] = {.f = 0.125}}, NULL);
    ValueId scale = value_def(g->e, y)->results[1];
    keep(g, y);
    keep(g, scale);
    if (chance(g, 50))
      keep(g, build3(g->b, k == OP_LAYER_NORM ? OP_LAYER_NORM_GRAD : OP_RMS_NORM_GRAD, mate(g, t),
                     y, scale));
  } else if (k == OP_SOFTMAX || k == OP_LOG_SOFTMAX)
    keep(g, build1(g->b, k, x));
  else if (k == OP_SOFTMAX_GRAD || k == OP_LOG_SOFTMAX_GRAD)
    keep(g, build2(g->b, k, x,
                   build1(g->b, k == OP_SOFTMAX_GRAD ? OP_SOFTMAX : OP_LOG_SOFTMAX, mate(g, t))));
  else {
    ValueId label = ids_below(g, mate(g, outer_i), t->dim[t->rank - 1]);
    if (k == OP_XENT)
      keep(g, build2(g->b, k, x, label));
    else
      keep(g, build3(g->b, k, mate(g, type_with_dtype(g->c, outer_i, t->dtype)), x, label));
  }
  return true;
}

/* ---- windows ---- */

/* A value as images [N, C, H, W]: of rank 4 as it is, any other reshaped. */
static ValueId as_images(Gen *g, ValueId x) {
  const Type *t = type_of(g, x);
  if (t->rank == 4) return x;
  int64_t dim[4] = {1, 1, 1, 1};
  for (int i = 0; i < t->rank; i++) dim[t->rank - i > 4 ? 0 : 4 - t->rank + i] *= t->dim[i];
  return build_reshape(g->b, x, type_get(g->c, t->dtype, 4, dim));
}

/* Some geometry over these images; what does not fit is left to the shape rule. */
static void window_attrs(Gen *g, Attr attr[MAX_ATTRS]) {
  int64_t stride[2], pad[4], dilation[2];
  for (int i = 0; i < 2; i++) stride[i] = 1 + below(g, 3), dilation[i] = 1 + (below(g, 4) == 0);
  for (int i = 0; i < 4; i++) pad[i] = chance(g, 50) ? 0 : below(g, 3);
  attr[AT_STRIDE].ints = ints(g, stride, 2);
  attr[AT_PAD].ints = ints(g, pad, 4);
  attr[AT_DILATION].ints = ints(g, dilation, 2);
}

static bool conv(Gen *g) {
  ValueId x = as_images(g, pick(g, FLOATS));
  const Type *t = type_of(g, x);
  Attr attr[MAX_ATTRS] = {{0}};
  window_attrs(g, attr);
  int64_t groups = chance(g, 60) || t->dim[1] > 8 ? 1 : t->dim[1];
  int64_t f[4] = {groups * (1 + below(g, 3)), t->dim[1] / groups, 1 + below(g, 3), 1 + below(g, 3)};
  attr[AT_GROUPS].i = groups;
  const Type *u = type_get(g->c, t->dtype, 4, f), *types[] = {t, u};
  char why[256];
  const Type *y = op_shape(g->c, OP_CONV, types, 2, attr, NULL, why);
  if (!fits(g, u) || !fits(g, y)) return false;
  ValueId w = build1(g->b, OP_TANH, mate(g, u));
  if (chance(g, 60)) {
    keep(g, build(g->b, OP_CONV, (ValueId[]){x, w}, 2, attr, NULL));
    return true;
  }
  ValueId dy = mate(g, y);
  if (chance(g, 50))
    keep(g, build(g->b, OP_CONV_INPUT_GRAD, (ValueId[]){dy, w}, 2, attr, t));
  else
    keep(g,
         build(g->b, OP_CONV_FILTER_GRAD, (ValueId[]){build1(g->b, OP_TANH, dy), x}, 2, attr, u));
  return true;
}

static bool pool(Gen *g) {
  ValueId x = as_images(g, pick(g, FLOATS));
  const Type *t = type_of(g, x);
  bool mean = g->o.smooth || chance(g, 50); /* the largest has kinks */
  Attr attr[MAX_ATTRS] = {{0}};
  window_attrs(g, attr);
  if (mean) attr[AT_COUNT].ints = chance(g, 50) ? attr[AT_PAD].ints : ints(g, (int64_t[4]){0}, 4);
  attr[AT_WINDOW].ints = ints(g, (int64_t[]){1 + below(g, 3), 1 + below(g, 3)}, 2);
  char why[256];
  OpKind k = mean ? OP_AVG_POOL : OP_MAX_POOL;
  const Type *y = op_shape(g->c, k, &t, 1, attr, NULL, why);
  if (!fits(g, y)) return false;
  if (mean && chance(g, 30))
    keep(g, build(g->b, OP_AVG_POOL_GRAD, (ValueId[]){mate(g, y)}, 1, attr, t));
  else
    keep(g, build(g->b, k, &x, 1, attr, NULL));
  if (mean || chance(g, 40)) return true;
  ValueId index = build(g->b, OP_MAX_POOL_INDEX, &x, 1, attr, NULL);
  if (chance(g, 50))
    keep(g, build(g->b, OP_MAX_POOL_GRAD, (ValueId[]){mate(g, y), index}, 2, attr, t));
  else
    keep(g, build(g->b, OP_MAX_POOL_TAKE, (ValueId[]){mate(g, t), index}, 2, attr, NULL));
  return true;
}

static bool norm(Gen *g) {
  ValueId x = pick(g, FLOATS);
  const Type *t = type_of(g, x);
  int64_t axes[MAX_RANK + 1];
  int n = random_axes(g, t->rank, axes);
  if (n == 0) return false;
  if (t->rank < 2 || chance(g, 40)) {
    Attr attr[MAX_ATTRS] = {[AT_AXES] = {.ints = ints(g, axes, n)}};
    keep(g, build(g->b, OP_VARIANCE, &x, 1, attr, NULL));
    return true;
  }
  const Type *channel = type_get(g->c, t->dtype, 1, t->dim + 1);
  ValueId v[4] = {x, mate(g, channel), build1(g->b, OP_TANH, mate(g, channel)), mate(g, channel)};
  keep(g, build(g->b, OP_BATCH_NORM, v, 4, NULL, NULL));
  return true;
}

/* ---- structure ---- */

/* Defined in the block at hand or around it. */
static bool in_sight(Gen *g, ValueId v) {
  const Block *of = value_block(g->e, v), *b = g->b->b;
  while (b != of && b->op) b = b->op->parent;
  return b == of;
}

/* The same op once more, for those who merge. */
static bool repeat(Gen *g) {
  if (g->e->ops.n == 0) return false;
  const Op *op = op_at(g->e, (OpId)below(g, g->e->ops.n));
  if (op->nresults != 1 || op->nblocks || op->kind == OP_LOAD || op->kind == OP_GRAD) return false;
  for (int i = 0; i < op->noperands; i++)
    if (!in_sight(g, op->operands[i])) return false;
  keep(g, build(g->b, op->kind, op->operands, op->noperands, op->attr,
                value_type(g->e, op->results[0])));
  return true;
}

static bool drop(Gen *g) {
  ValueId x = pick(g, FLOATS);
  Attr attr[MAX_ATTRS] = {[AT_KEEP] = {.f = 0.75}, [AT_DROP_KEY] = {.str = intern(g->c, "drop")}};
  keep(g, build(g->b, OP_DROPOUT, &x, 1, attr, NULL));
  return true;
}

/* Attention of a sequence with itself, or with another of its length. */
static bool attend(Gen *g) {
  ValueId q = pick(g, FLOATS);
  const Type *t = type_of(g, q);
  if (t->rank < 2 || t->dim[t->rank - 1] == 0) return false;
  ValueId in[3] = {q, mate(g, t), mate(g, t)};
  Attr attr[MAX_ATTRS] = {[AT_SCALE] = {.f = 0.5}, [AT_CAUSAL] = {.i = chance(g, 50)}};
  ValueId y = build(g->b, OP_ATTENTION, in, 3, attr, NULL);
  keep(g, y);
  return true;
}

static bool stop(Gen *g) {
  if (g->o.smooth) return false;
  keep(g, build1(g->b, OP_STOP_GRADIENT, pick(g, ANY)));
  return true;
}

static bool leaf(Gen *g) {
  if (g->m->globals.n && g->m->globals.at[0].kind == GLOBAL_HYPER && chance(g, 20)) {
    keep(g, load(g, 0));
    return true;
  }
  Dtype dt = chance(g, g->o.smooth ? 85 : 60) ? random_float(g)
             : chance(g, 70)                  ? random_int(g)
                                              : DT_BOOL;
  ValueId v = make(g, random_type(g, dt));
  keep(g, v);
  return true;
}

static void output(Gen *g, ValueId v, const char *name) {
  if (g->nout == MAX_OUTPUTS) return;
  g->out[g->nout] = v;
  g->name[g->nout++] = name;
}

static bool is_source(Gen *g, ValueId v) {
  const Op *def = value_def(g->e, v);
  return !def || def->kind == OP_LOAD;
}

/* A scalar that stays small. */
static ValueId part_of_loss(Gen *g, ValueId v) {
  const int64_t axes[MAX_RANK + 2] = {0, 1, 2, 3, 4, 5};
  if (type_of(g, v)->numel > 1 || !g->o.smooth) v = build1(g->b, OP_TANH, v);
  int rank = type_of(g, v)->rank;
  return rank ? build_reduce(g->b, OP_SUM, v, axes, rank) : v;
}

/* A loss and its gradients by inputs, params, and values on the way. */
static bool gradient(Gen *g) {
  enum { MOST = 5 };
  if (!g->o.grads || g->nloss == 3 || g->loops) return false;
  ValueId v = part_of_loss(g, pick(g, FLOATS)), x[MOST + 1];
  for (int i = 0; i < 2; i++) { /* several branches of the program in one loss */
    ValueId u = part_of_loss(g, pick(g, FLOATS));
    if (type_of(g, u) == type_of(g, v)) v = build2(g->b, OP_ADD, v, u);
  }
  x[0] = v;
  const Type *types[MOST];
  int n = 0;
  for (uint32_t tries = 0; tries < 40 && n < MOST; tries++) {
    ValueId p = g->pool.at[below(g, g->pool.n)];
    if (!dtype_is_float(type_of(g, p)->dtype) || (!is_source(g, p) && chance(g, 80))) continue;
    types[n++] = type_of(g, p);
    x[n] = p;
  }
  if (n == 0) return false;
  const Op *op = build_op(g->b, OP_GRAD, x, n + 1, NULL, types, n);
  int k = g->nloss++;
  output(g, x[0], intern_printf(g->c, "loss%d", k));
  for (int i = 0; i < n; i++) {
    ValueId d = op->results[i];
    const Op *def = value_def(g->e, x[i + 1]);
    if (!def)
      output(g, d, intern_printf(g->c, "d%d_in%u", k, value_at(g->e, x[i + 1])->index));
    else if (def->kind == OP_LOAD)
      output(g, d, intern_printf(g->c, "d%d_g%d", k, (int)def->attr[AT_GLOBAL].i));
    else
      output(g, d, intern_printf(g->c, "d%d_v%d", k, i));
    keep(g, d);
  }
  keep(g, v);
  return true;
}

static void one_op(Gen *g);

static const Type *stack_type(Gen *g, const Type *row, int64_t trips) {
  int64_t dim[MAX_RANK + 3] = {trips};
  for (int i = 0; i < row->rank; i++) dim[i + 1] = row->dim[i];
  return type_get(g->c, row->dtype, row->rank + 1, dim);
}

/* A loop: its body takes from the pool what is outside, its carries, and slices. */
static bool loop(Gen *g) {
  enum { MOST = 3, DEEPEST = 2 };
  if (g->loops == DEEPEST) return false;
  int64_t trips = 1 + below(g, 4);
  int carries = (int)below(g, MOST + 1), n = carries, results = 0;
  ValueId x[2 * MOST], y[2 * MOST];
  const Type *types[2 * MOST];
  for (int i = 0; i < carries; i++) types[i] = type_of(g, x[i] = pick(g, ANY));
  for (int i = (int)below(g, MOST); i > 0; i--) {
    const Type *t = stack_type(g, type_of(g, pick(g, ANY)), trips);
    if (fits(g, t) && t->rank <= MAX_RANK + 1) x[n++] = mate(g, t);
  }
  Block *body = ARENA_NEW(g->m->arena, Block), *outer = g->b->b;
  Op holder = {.parent = outer, .blocks = &body, .nblocks = 1}; /* until the results are known */
  body->op = &holder;
  uint32_t pool = g->pool.n;
  ValueId i32 = block_add_arg(g->e, body, (Value){.type = type_scalar(g->c, DT_I32)});
  for (int i = 0; i < n; i++) {
    const Type *t = type_of(g, x[i]);
    if (i >= carries) t = type_get(g->c, t->dtype, t->rank - 1, t->dim + 1);
    keep(g, block_add_arg(g->e, body, (Value){.type = t}));
  }
  if (chance(g, 40)) keep(g, i32);
  builder_at(g->b, body);
  g->loops++;
  for (int64_t k = 1 + below(g, 7); k > 0; k--) one_op(g);
  for (; results < carries; results++) {
    y[results] = mate(g, types[results]);
    if (g->o.smooth && dtype_is_float(types[results]->dtype))
      y[results] = build1(g->b, OP_TANH, y[results]);
  }
  for (int i = (int)below(g, MOST) + (carries == 0); i > 0; i--) {
    const Type *t = stack_type(g, type_of(g, y[results] = pick(g, ANY)), trips);
    if (fits(g, t) && t->rank <= MAX_RANK) types[results++] = t;
  }
  build_op(g->b, OP_YIELD, y, results, NULL, NULL, 0);
  g->loops--;
  builder_at(g->b, outer);
  g->pool.n = pool;
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = {.i = trips},
                          [AT_CARRIES] = {.i = carries},
                          [AT_REVERSE] = {.i = chance(g, 30)}};
  Op *scan = build_op(g->b, OP_SCAN, x, n, attr, types, results);
  scan->blocks[0] = body;
  body->op = scan;
  for (int i = 0; i < results; i++) keep(g, scan->results[i]);
  return true;
}

static const struct {
  bool (*make)(Gen *g);
  int weight;
} makers[] = {{element, 40}, {convert, 5}, {reshape, 5},  {transpose, 5}, {broadcast, 6},
              {slice, 5},    {reverse, 3}, {pad, 4},      {concat, 4},    {reduce, 10},
              {arg, 2},      {matmul, 8},  {gather, 4},   {scatter, 2},   {one_hot, 2},
              {conv, 5},     {pool, 4},    {norm, 4},     {rows, 7},      {repeat, 5},
              {stop, 2},     {leaf, 3},    {gradient, 5}, {loop, 4},      {drop, 2},
              {attend, 4}};

static void one_op(Gen *g) {
  int total = 0;
  for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) total += makers[i].weight;
  int64_t at = below(g, total);
  size_t i = 0;
  while (at >= makers[i].weight) at -= makers[i++].weight;
  if (chance(g, 30)) g->b->scope = intern_printf(g->c, "net.fc%d", (int)below(g, 3));
  uint32_t before = g->pool.n;
  makers[i].make(g);
  if (g->pool.n == before || !chance(g, 30)) return;
  Value *v = value_at(g->e, g->pool.at[g->pool.n - 1]);
  if (!v->name) v->name = intern_printf(g->c, "v%d", (int)below(g, 30));
}

static void random_entry(Gen *g, int index) {
  g->e = entry_new(g->m, intern_printf(g->c, "e%d", index), (Loc){0});
  vec_push(g->m->arena, &g->m->entries, g->e);
  g->b = builder_new(g->e, g->e->body);
  g->b->fold = false;
  g->pool.n = 0;
  g->nout = g->nloss = 0;
  memset(g->loaded, 0xff, sizeof g->loaded);
  int n = g->o.ops ? g->o.ops : 5 + (int)below(g, 36);
  for (int i = 0; i < 3; i++) leaf(g);
  for (int i = 0; i < n; i++) one_op(g);
  if (g->o.grads && g->nloss == 0) gradient(g);
  int returned = 1 + (int)below(g, 4);
  for (int i = 0; i < returned; i++) output(g, pick(g, ANY), intern_printf(g->c, "o%d", i));
  for (uint32_t i = 0; g->o.stores && i < g->m->globals.n; i++) {
    if (g->loaded[i] == NO_ID || g->m->globals.at[i].kind == GLOBAL_HYPER || chance(g, 40))
      continue;
    build_store(g->b, (int)i, mate(g, g->m->globals.at[i].type));
    g->e->training = true;
  }
  build_return(g->b, g->out, g->name, g->nout);
}

/* Every global gets its first value. */
static void random_init(Gen *g) {
  if (g->m->globals.n == 0) return;
  g->e = g->m->init = entry_new(g->m, "init", (Loc){0});
  g->b = builder_new(g->e, g->e->body);
  g->b->fold = false;
  for (uint32_t i = 0; i < g->m->globals.n; i++) {
    const Global *p = &g->m->globals.at[i];
    if (p->kind == GLOBAL_HYPER) continue;
    ValueId v;
    if (dtype_is_float(p->type->dtype))
      v = build(g->b, OP_RANDOM_NORMAL, NULL, 0, (Attr[MAX_ATTRS]){[AT_KEY] = {.str = p->path}},
                p->type);
    else
      v = constant(g, p->type);
    build_store(g->b, (int)i, v);
  }
  build_return(g->b, NULL, NULL, 0);
}

Module *random_program(Ctx *c, uint64_t seed, RandomOptions o) {
  if (!o.numel) o.numel = 120;
  if (!o.entries) o.entries = 1;
  Gen g = {.c = c, .o = o, .rng = seed * 2 + 1, .m = module_new(c, "random.g")};
  if (chance(&g, 50) && !o.doubles) {
    Global lr = {.kind = GLOBAL_HYPER, .path = intern(c, "lr"), .type = type_scalar(c, DT_F32)};
    lr.value = 0.5;
    module_add_global(g.m, lr);
  }
  for (int i = 0; i < o.entries; i++) random_entry(&g, i);
  random_init(&g);
  return g.m;
}

Tensor *random_inputs(Arena *a, const Entry *e, uint64_t seed) {
  uint64_t rng = seed ^ UINT64_C(0x5bd1e995);
  Tensor *in = ARENA_ARRAY(a, Tensor, e->body->args.n + 1);
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    in[i] = (Tensor){.type = t, .at = ARENA_ARRAY(a, Scalar, t->numel)};
    for (int64_t k = 0; k < t->numel; k++) {
      Scalar s;
      if (dtype_is_float(t->dtype))
        s.f = (double)(random_below(&rng, 4001) - 2000) / 1000.0;
      else
        s.i = random_below(&rng, 100) - (t->dtype == DT_U8 || t->dtype == DT_BOOL ? 0 : 50);
      in[i].at[k] = scalar_round(s, t->dtype, INTERP_DTYPE);
    }
  }
  return in;
}
