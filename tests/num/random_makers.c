/* Makers of random ops that compute: element by element, sums, products, rows, addresses, in order.
   Contract: see random_gen.h. */
#include "random_gen.h"

/* ---- element-wise ---- */

static ValueId positive(Gen *g, ValueId x) { /* |x| + 1/2 */
  ValueId half = build_const(g->b, type_of(g, x), 0.5);
  return build2(g->b, OP_ADD, build1(g->b, OP_ABS, x), half);
}

/* It jumps: a rounding error may decide what comes out. */
static bool is_step(OpKind k) {
  return k == OP_SIGN || k == OP_FLOOR || k == OP_CEIL || k == OP_ROUND || k == OP_MOD ||
         op_info[k].flags & OPF_BOOL_RESULT;
}

/* Keeps a function's argument where the function is tame: always if smooth, mostly if not. */
static ValueId tame(Gen *g, OpKind k, int operand, ValueId x) {
  if (!dtype_is_float(type_of(g, x)->dtype) || (!g->o.smooth && chance(g, 20))) return x;
  bool first = operand == 0;
  if (g->o.smooth && first && is_step(k)) /* off the whole numbers that others come close to */
    return build2(g->b, OP_ADD, x, build_const(g->b, type_of(g, x), 0.3125));
  switch ((int)k) {
  case OP_LOG:
  case OP_LOG1P:
  case OP_LOG2:
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

bool maker_element(Gen *g) {
  OpKind k;
  do k = (OpKind)below(g, OP_KINDS);
  while (op_info[k].cls != CLASS_ELEMENT || k == OP_CONVERT);
  const OpInfo *info = &op_info[k];
  ValueId x[3];
  const Type *t[3];
  x[0] = k == OP_WHERE || k == OP_NOT || k == OP_AND || k == OP_OR ? gen_pick(g, BOOLS)
                                                                   : gen_pick(g, ANY);
  if (info->operands > 1) {
    const Type *u = type_of(g, x[0]);
    if (k == OP_WHERE) u = type_with_dtype(g->c, u, gen_float(g));
    for (int i = 1; i < info->operands; i++)
      x[i] = chance(g, 8) && i == 1 && k != OP_WHERE ? x[0] : gen_mate(g, u);
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

bool maker_convert(Gen *g) {
  ValueId x = gen_pick(g, ANY);
  Dtype dt = chance(g, 50) ? gen_float(g) : chance(g, 60) ? gen_int(g) : DT_BOOL;
  if (type_of(g, x)->dtype != dt) keep(g, build_convert(g->b, x, dt));
  return true;
}

/* ---- reductions, products, rows, addresses ---- */

bool maker_reduce(Gen *g) {
  static const OpKind kinds[] = {OP_SUM, OP_SUM, OP_PROD, OP_REDUCE_MAX, OP_REDUCE_MIN};
  OpKind k = kinds[below(g, 5)];
  ValueId x = gen_pick(g, NUMBERS);
  const Type *t = type_of(g, x);
  int64_t axes[MAX_RANK + 1];
  int n = gen_axes(g, t->rank, axes);
  if (n == 0) return false;
  if (k == OP_PROD && dtype_is_float(t->dtype)) x = build1(g->b, OP_SIN, x); /* no overflow */
  if (chance(g, 40))
    keep(g, build_reduce_keep(g->b, k, x, axes, n));
  else
    keep(g, build_reduce(g->b, k, x, axes, n));
  return true;
}

bool maker_arg(Gen *g) {
  ValueId x = gen_pick(g, NUMBERS);
  int rank = type_of(g, x)->rank;
  if (rank == 0) return false;
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = below(g, rank)}};
  keep(g, build(g->b, chance(g, 50) ? OP_ARGMAX : OP_ARGMIN, &x, 1, attr, NULL));
  return true;
}

bool maker_matmul(Gen *g) {
  ValueId x = gen_pick(g, chance(g, 85) ? FLOATS : INTS);
  const Type *t = type_of(g, x);
  if (t->rank < 2) return false;
  bool ta = chance(g, 30), tb = chance(g, 30);
  int64_t dim[MAX_RANK + 1], k = ta ? t->dim[t->rank - 2] : t->dim[t->rank - 1], n = gen_dim(g);
  memcpy(dim, t->dim, sizeof dim[0] * (size_t)t->rank);
  dim[t->rank - 2] = tb ? n : k;
  dim[t->rank - 1] = tb ? k : n;
  const Type *u = type_get(g->c, t->dtype, t->rank, dim);
  const Type *types[] = {t, u};
  Attr attr[MAX_ATTRS] = {[AT_TA] = {.i = ta}, [AT_TB] = {.i = tb}};
  char why[256];
  if (!fits(g, u) || !fits(g, op_shape(g->c, OP_MATMUL, types, 2, attr, NULL, why))) return false;
  ValueId y = gen_mate(g, u);
  if (dtype_is_float(t->dtype)) y = build1(g->b, OP_TANH, y);
  keep(g, build_matmul(g->b, x, y, ta, tb));
  return true;
}

bool maker_gather(Gen *g) {
  ValueId table = gen_pick(g, NUMBERS), ids = gen_pick(g, INTS);
  const Type *types[] = {type_of(g, table), type_of(g, ids)};
  char why[256];
  if (types[0]->rank == 0 || types[0]->rank + types[1]->rank > MAX_RANK + 1) return false;
  if (!fits(g, op_shape(g->c, OP_GATHER, types, 2, NULL, NULL, why))) return false;
  ids = gen_ids_below(g, ids, types[0]->dim[0]);
  keep(g, build2(g->b, OP_GATHER, table, ids));
  return true;
}

bool maker_scatter(Gen *g) {
  ValueId dy = gen_pick(g, NUMBERS);
  const Type *t = type_of(g, dy);
  int lead = (int)below(g, t->rank + 1);
  int64_t depth = gen_dim(g);
  ValueId ids = gen_mate(g, type_get(g->c, DT_I32, lead, t->dim));
  const Type *types[] = {t, type_of(g, ids)};
  Attr attr[MAX_ATTRS] = {[AT_ROWS] = {.i = depth}};
  char why[256];
  if (!fits(g, op_shape(g->c, OP_GATHER_GRAD, types, 2, attr, NULL, why))) return false;
  ids = gen_ids_below(g, ids, depth);
  keep(g, build(g->b, OP_GATHER_GRAD, (ValueId[]){dy, ids}, 2, attr, NULL));
  return true;
}

bool maker_one_hot(Gen *g) {
  ValueId ids = gen_pick(g, INTS);
  const Type *t = type_of(g, ids);
  int64_t dim[MAX_RANK + 2], depth = gen_dim(g);
  for (int i = 0; i < t->rank; i++) dim[i] = t->dim[i];
  dim[t->rank] = depth;
  const Type *to = type_get(g->c, gen_float(g), t->rank + 1, dim);
  if (t->rank >= MAX_RANK || !fits(g, to)) return false;
  if (chance(g, 50)) ids = gen_ids_below(g, ids, depth);
  keep(g, build(g->b, OP_ONE_HOT, &ids, 1, (Attr[MAX_ATTRS]){[AT_DEPTH] = {.i = depth}}, to));
  return true;
}

bool maker_rows(Gen *g) {
  static const OpKind kinds[] = {OP_SOFTMAX, OP_LOG_SOFTMAX, OP_SOFTMAX_GRAD, OP_LOG_SOFTMAX_GRAD,
                                 OP_XENT,    OP_XENT_GRAD,   OP_LAYER_NORM,   OP_RMS_NORM};
  OpKind k = kinds[below(g, sizeof kinds / sizeof kinds[0])];
  ValueId x = gen_pick(g, FLOATS);
  const Type *t = type_of(g, x);
  if (t->rank == 0) return false;
  const Type *outer_i = type_get(g->c, DT_I32, t->rank - 1, t->dim);
  if (k == OP_LAYER_NORM || k == OP_RMS_NORM) {
    ValueId y = build(g->b, k, &x, 1, (Attr[MAX_ATTRS]){[AT_EPS] = {.f = 0.125}}, NULL);
    ValueId scale = value_def(g->e, y)->results[1];
    keep(g, y);
    keep(g, scale);
    if (chance(g, 50))
      keep(g, build3(g->b, k == OP_LAYER_NORM ? OP_LAYER_NORM_GRAD : OP_RMS_NORM_GRAD,
                     gen_mate(g, t), y, scale));
  } else if (k == OP_SOFTMAX || k == OP_LOG_SOFTMAX)
    keep(g, build1(g->b, k, x));
  else if (k == OP_SOFTMAX_GRAD || k == OP_LOG_SOFTMAX_GRAD)
    keep(g,
         build2(g->b, k, x,
                build1(g->b, k == OP_SOFTMAX_GRAD ? OP_SOFTMAX : OP_LOG_SOFTMAX, gen_mate(g, t))));
  else {
    ValueId label = gen_ids_below(g, gen_mate(g, outer_i), t->dim[t->rank - 1]);
    if (k == OP_XENT)
      keep(g, build2(g->b, k, x, label));
    else
      keep(g, build3(g->b, k, gen_mate(g, type_with_dtype(g->c, outer_i, t->dtype)), x, label));
  }
  return true;
}

bool maker_drop(Gen *g) {
  ValueId x[2] = {gen_pick(g, FLOATS), chance(g, 70) ? gen_place(g) : NO_ID};
  Attr attr[MAX_ATTRS] = {[AT_KEEP] = {.f = 0.75}, [AT_KEY] = {.str = intern(g->c, "drop")}};
  attr[AT_DRAW].i = below(g, 3);
  bool place = x[1] != NO_ID;
  if (place) x[1] = build_broadcast(g->b, x[1], type_with_dtype(g->c, type_of(g, x[0]), DT_I32));
  keep(g, build(g->b, OP_DROPOUT, x, 1 + place, attr, NULL));
  return true;
}

/* Bools of this type, few of them alike: what they are made of is compared with a number. */
static ValueId some_keys(Gen *g, const Type *t, int64_t queries) {
  ValueId x = gen_mate(g, type_with_dtype(g->c, t, gen_float(g)));
  const Type *floats = type_of(g, x);
  ValueId mask = build2(g->b, OP_LT, x, build_const(g->b, floats, 0.34375));
  if (chance(g, 60) || t->dim[t->rank - 2] != queries) return mask;
  const Type *i = type_with_dtype(g->c, t, DT_I32); /* one query sees no key */
  ValueId query =
      build(g->b, OP_IOTA, NULL, 0, (Attr[MAX_ATTRS]){[AT_AXIS] = {.i = t->rank - 2}}, i);
  ValueId blind = build_const_int(g->b, i, below(g, queries));
  return build2(g->b, OP_AND, mask, build2(g->b, OP_NE, query, blind));
}

/* With fewer heads of keys, another number of keys, a mask. */
static bool attend_any(Gen *g) {
  const int64_t heads = 1 + below(g, 2), lead = 1 + below(g, 2), t = 1 + below(g, 4);
  const int64_t d = 1 + below(g, 3), e = 1 + below(g, 3), group = 1 + below(g, 2);
  bool causal = chance(g, 40);
  int64_t s = causal ? t : 1 + below(g, 5);
  int rank = 2 + (int)below(g, 3), skip = 4 - rank;
  int64_t q[] = {lead, heads * group, t, d}, k[] = {lead, heads, s, d}, v[] = {lead, heads, s, e};
  int64_t seen[] = {lead, heads * group, t, s};
  Dtype dt = gen_float(g);
  const Type *types[] = {type_get(g->c, dt, rank, q + skip), type_get(g->c, dt, rank, k + skip),
                         type_get(g->c, dt, rank, v + skip)};
  ValueId in[4];
  int n = 0;
  for (; n < 3; n++) in[n] = keep(g, chance(g, 50) ? gen_make(g, types[n]) : gen_mate(g, types[n]));
  for (int i = 0; i < 4; i++)
    if (chance(g, 25)) seen[i] = 1;
  if (chance(g, 40) && rank > 2) skip = 2; /* the same for all heads, by its rank */
  if (chance(g, 70)) in[n++] = some_keys(g, type_get(g->c, DT_BOOL, 4 - skip, seen + skip), t);
  Attr attr[MAX_ATTRS] = {[AT_SCALE] = {.f = 0.5}, [AT_CAUSAL] = {.i = causal}};
  keep(g, build(g->b, OP_ATTENTION, in, n, attr, NULL));
  return true;
}

/* Attention of a sequence with itself, or with another of its length; of every form where
   programs are to have that. */
bool maker_attend(Gen *g) {
  if (g->o.attends) return attend_any(g);
  ValueId q = gen_pick(g, FLOATS);
  const Type *t = type_of(g, q);
  if (t->rank < 2 || t->dim[t->rank - 1] == 0) return false;
  ValueId in[3] = {q, gen_mate(g, t), gen_mate(g, t)};
  Attr attr[MAX_ATTRS] = {[AT_SCALE] = {.f = 0.5}, [AT_CAUSAL] = {.i = chance(g, 50)}};
  ValueId y = build(g->b, OP_ATTENTION, in, 3, attr, NULL);
  keep(g, y);
  return true;
}

/* ---- in order ---- */

/* The k first of each row in some order: sort, topk. */
static void take_first(Gen *g, ValueId x, ValueId at) {
  const Type *t = type_of(g, at);
  if (chance(g, 50)) {
    int64_t start[MAX_RANK] = {0}, step[MAX_RANK], dim[MAX_RANK];
    for (int i = 0; i < t->rank; i++) step[i] = 1, dim[i] = t->dim[i];
    dim[t->rank - 1] = 1 + below(g, t->dim[t->rank - 1]);
    Attr attr[MAX_ATTRS] = {[AT_STARTS] = {.ints = ints(g, start, t->rank)},
                            [AT_STEPS] = {.ints = ints(g, step, t->rank)}};
    at = build(g->b, OP_SLICE, &at, 1, attr, type_get(g->c, DT_I32, t->rank, dim));
  }
  Attr attr[MAX_ATTRS] = {[AT_BATCH] = {.i = t->rank - 1}};
  keep(g, build(g->b, OP_GATHER, (ValueId[]){x, at}, 2, attr, NULL));
}

bool maker_order(Gen *g) {
  ValueId x = gen_pick(g, NUMBERS);
  const Type *t = type_of(g, x);
  if (t->rank == 0 || t->rank > MAX_RANK) return false;
  if (g->o.smooth || chance(g, 50)) {
    Attr attr[MAX_ATTRS] = {
        [AT_AXIS] = {.i = below(g, t->rank)}, [AT_BACKWARD] = {.i = chance(g, 30)}};
    keep(g, build(g->b, OP_CUMSUM, &x, 1, attr, NULL));
    return true;
  }
  Attr attr[MAX_ATTRS] = {[AT_DESCENDING] = {.i = chance(g, 50)}};
  ValueId at = build(g->b, OP_ARGSORT, &x, 1, attr, NULL);
  if (chance(g, 70)) take_first(g, x, at);
  keep(g, at);
  return true;
}

/* Part of a value written over, from a place on that is known at run time. */
bool maker_update(Gen *g) {
  ValueId x = gen_pick(g, ANY);
  const Type *t = type_of(g, x);
  if (t->rank == 0 || t->rank > MAX_RANK) return false;
  int64_t axis = below(g, t->rank), dim[MAX_RANK];
  memcpy(dim, t->dim, sizeof dim[0] * (size_t)t->rank);
  dim[axis] = 1 + below(g, t->dim[axis]);
  ValueId y = gen_mate(g, type_get(g->c, t->dtype, t->rank, dim));
  ValueId from = chance(g, 60) ? gen_place(g) : NO_ID;
  if (from == NO_ID) from = gen_mate(g, type_scalar(g->c, DT_I32));
  from = gen_ids_below(g, from, t->dim[axis] - dim[axis] + 1);
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = axis}};
  keep(g, build(g->b, OP_DYNAMIC_UPDATE, (ValueId[]){x, y, from}, 3, attr, NULL));
  return true;
}
