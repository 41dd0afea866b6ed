/* Attention: softmax(scale q k') v. Contract: q [B…, H, T, D], k [B…, H', S, D], v [B…, H', S, E]
   give [B…, H, T, E] and the logarithm of each row's sum of exps [B…, H, T], in f32 for half
   precisions; H' divides H, and query head h reads head h / (H / H'). Without heads ranks are 2.
   The mask selects the keys that a query attends to; a query without keys gets zeros. Gradients
   read q, k, v, these logarithms and sum(dy y) of each row, and recompute the weights, so no T by S
   array is saved. Only the second-order gradient is built of primitive ops, and saves such arrays.
   (Rabe and Staats, 2021; Dao et al., 2022.) */
#include "ir/op/op.h"

#include <math.h>

/* ---- shapes ---- */

static int64_t dim_from_end(const Type *t, int i) { return i <= t->rank ? t->dim[t->rank - i] : 1; }

static bool lead_fits(const Type *q, const Type *k) {
  if (q->rank != k->rank || q->rank < 2) return false;
  for (int i = 0; i < q->rank - 3; i++)
    if (q->dim[i] != k->dim[i]) return false;
  int64_t heads = dim_from_end(q, 3), kv = dim_from_end(k, 3);
  return q->rank == 2 || (kv > 0 && heads % kv == 0);
}

static bool mask_fits(const ShapeIn *in, const Type *q, const Type *k, const Type *mask) {
  bool fits = mask->dtype == DT_BOOL && mask->rank <= q->rank;
  for (int i = 1; fits && i <= mask->rank; i++) {
    int64_t want = i == 1 ? dim_from_end(k, 2) : dim_from_end(q, i);
    fits = dim_from_end(mask, i) == 1 || dim_from_end(mask, i) == want;
  }
  if (fits) return true;
  if (mask->dtype != DT_BOOL)
    return shape_wrong(in, "needs a mask of bools, not %s: compare first, as in m > 0",
                       shape_str(in, mask));
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, q->rank);
  for (int i = 0; i < q->rank; i++) dim[i] = type_axis(q, i);
  dim[q->rank - 1] = type_axis(k, k->rank - 2);
  const Type *whole = shape_make(in, DT_BOOL, q->rank, dim);
  return whole && shape_wrong(in, "needs a mask that broadcasts to %s, not %s",
                              shape_str(in, whole), shape_str(in, mask));
}

/* The types of q, k, v and the mask, if there is one, fit each other. */
static bool parts_fit(const ShapeIn *in, const Type *q, const Type *k, const Type *v,
                      const Type *mask) {
  for (int i = 0; i < 3; i++) {
    const Type *t = (const Type *[]){q, k, v}[i];
    if (!dtype_is_float(t->dtype) || t->dtype != q->dtype)
      return shape_wrong(in, "needs queries, keys and values of one float dtype: %s, %s, %s",
                         shape_str(in, q), shape_str(in, k), shape_str(in, v));
  }
  if (!lead_fits(q, k) || !lead_fits(q, v) || dim_from_end(k, 3) != dim_from_end(v, 3) ||
      dim_from_end(k, 2) != dim_from_end(v, 2))
    return shape_wrong(in,
                       "needs queries [..., H, T, D], keys [..., H', S, D] and values "
                       "[..., H', S, E], H a multiple of H': %s, %s, %s",
                       shape_str(in, q), shape_str(in, k), shape_str(in, v));
  if (dim_from_end(q, 1) != dim_from_end(k, 1))
    return shape_wrong(in, "needs queries and keys of one length: %s against %s", shape_str(in, q),
                       shape_str(in, k));
  if (in->attr[AT_CAUSAL].i && dim_from_end(q, 2) != dim_from_end(k, 2))
    return shape_wrong(in,
                       "that is causal needs as many keys as queries: %s against %s; for others "
                       "say with mask = which keys each query sees",
                       shape_str(in, q), shape_str(in, k));
  return !mask || mask_fits(in, q, k, mask);
}

const Type *shape_attention(const ShapeIn *in) {
  if (in->n < 3 || in->n > 4)
    return shape_wrong(in, "takes queries, keys, values and perhaps a mask, not %d operands",
                       in->n);
  const Type *q = in->type[0], *v = in->type[2];
  if (!parts_fit(in, q, in->type[1], v, in->n > 3 ? in->type[3] : NULL)) return NULL;
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, q->rank);
  for (int i = 0; i < q->rank; i++) dim[i] = q->dim[i];
  dim[q->rank - 1] = dim_from_end(v, 1);
  Dtype dt = in->result ? dtype_sum(q->dtype) : q->dtype;
  return shape_make(in, dt, q->rank - in->result, dim);
}

const Type *shape_attention_grad(const ShapeIn *in) {
  if (in->n < 6 || in->n > 7)
    return shape_wrong(
        in, "takes dy, q, k, v, two numbers a row and perhaps a mask, not %d operands", in->n);
  const Type *dy = in->type[0], *q = in->type[1], *v = in->type[3];
  if (!parts_fit(in, q, in->type[2], v, in->n > 6 ? in->type[6] : NULL)) return NULL;
  bool fits =
      dy->dtype == q->dtype && dy->rank == q->rank && dim_from_end(dy, 1) == dim_from_end(v, 1);
  for (int i = 0; fits && i < q->rank - 1; i++) fits = dy->dim[i] == q->dim[i];
  for (int k = 4; fits && k < 6; k++) {
    const Type *row = in->type[k];
    fits = row->dtype == dtype_sum(q->dtype) && row->rank == q->rank - 1;
    for (int i = 0; fits && i < row->rank; i++) fits = row->dim[i] == q->dim[i];
  }
  if (!fits)
    return shape_wrong(in, "needs dy and numbers a row of queries %s: %s, %s, %s", shape_str(in, q),
                       shape_str(in, dy), shape_str(in, in->type[4]), shape_str(in, in->type[5]));
  return in->type[1 + in->result];
}

/* ---- gradients ---- */

void grad_attention(GradCtx *g, const Op *op, ValueId dy) {
  ValueId y = op->results[0], lse = op->results[1], dlse = grad_of(g, op, 1);
  if (dy == NO_ID) dy = grad_const(g, y, 0);
  Dtype sums = dtype_sum(value_type(g->e, y)->dtype);
  ValueId wide_dy = build_convert(g->b, dy, sums), wide_y = build_convert(g->b, y, sums);
  ValueId delta = grad_sum_last(g, build2(g->b, OP_MUL, wide_dy, wide_y));
  if (dlse != NO_ID) delta = build2(g->b, OP_SUB, delta, dlse);
  ValueId in[7] = {dy, op->operands[0], op->operands[1], op->operands[2], lse, delta};
  int n = 6;
  if (op->noperands > 3) in[n++] = op->operands[3];
  const Op *d = build_several(g->b, OP_ATTENTION_GRAD, in, n, op->attr);
  for (int i = 0; i < 3; i++)
    if (grad_wants(g, op, i)) grad_to(g, op, i, d->results[i]);
}

/* Grouped heads as an axis of their own, [B…, H', G, T, D]; keys and values once for every G. */
typedef struct Grouped {
  GradCtx *g;
  int64_t groups; /* G; 0: no heads */
} Grouped;

static ValueId grouped(const Grouped *x, ValueId v, bool is_key) {
  const Type *t = value_type(x->g->e, v);
  Ctx *c = x->g->e->module->ctx;
  if (!x->groups) return v;
  int64_t *dim = ARENA_ARRAY(x->g->e->module->arena, int64_t, t->rank + 1);
  (void)type_axes(t, dim);
  if (!is_key) dim[t->rank - 3] /= x->groups;
  dim[t->rank - 2] = is_key ? 1 : x->groups;
  dim[t->rank - 1] = type_axis(t, t->rank - 2);
  dim[t->rank] = t->dim[t->rank - 1];
  v = build_reshape(x->g->b, v, type_get(c, t->dtype, t->rank + 1, dim));
  if (!is_key) return v;
  dim[t->rank - 2] = x->groups;
  return build_broadcast(x->g->b, v, type_get(c, t->dtype, t->rank + 1, dim));
}

static ValueId ungrouped(const Grouped *x, ValueId v, const Type *t, bool is_key) {
  if (x->groups && is_key) v = build_reduce(x->g->b, OP_SUM, v, &(int64_t){t->rank - 2}, 1);
  return build_reshape(x->g->b, v, t);
}

/* A value of each query, broadcast over the keys of the matrix `like`. */
static ValueId rows_over(const Grouped *x, ValueId v, ValueId like) {
  const Type *t = value_type(x->g->e, like);
  v = build_convert(x->g->b, v, t->dtype);
  int64_t *lead = ARENA_ARRAY(x->g->e->module->arena, int64_t, t->rank);
  const Type *row = type_get(x->g->e->module->ctx, t->dtype, t->rank - 1, type_axes(t, lead));
  return grad_over_last(x->g, build_reshape(x->g->b, v, row), t);
}

static ValueId add_to(GradCtx *g, ValueId sum, ValueId v) {
  return sum == NO_ID ? v : build2(g->b, OP_ADD, sum, v);
}

/* The mask of all scores: true for the keys that a query attends to; NO_ID: all. */
static ValueId visible_keys(const Grouped *x, const Op *op, ValueId scores) {
  GradCtx *g = x->g;
  Ctx *c = g->e->module->ctx;
  const Type *t = value_type(g->e, scores), *bools = type_with_dtype(c, t, DT_BOOL);
  ValueId all = NO_ID;
  if (op->attr[AT_CAUSAL].i) {
    const Type *i = type_with_dtype(c, t, DT_I32);
    ValueId row = build(g->b, OP_IOTA, NULL, 0, (Attr[MAX_ATTRS]){{.i = t->rank - 2}}, i);
    ValueId column = build(g->b, OP_IOTA, NULL, 0, (Attr[MAX_ATTRS]){{.i = t->rank - 1}}, i);
    all = build2(g->b, OP_GE, row, column);
  }
  if (op->noperands == 7) {
    ValueId mask = op->operands[6];
    const Type *q = value_type(g->e, op->operands[1]);
    int64_t *dim = ARENA_ARRAY(g->e->module->arena, int64_t, q->rank + 1);
    (void)type_axes(q, dim);
    dim[q->rank - 1] = type_axis(t, t->rank - 1);
    mask = build_broadcast(g->b, mask, type_get(c, DT_BOOL, q->rank, dim));
    mask = build_reshape(g->b, mask, bools);
    all = all == NO_ID ? mask : build2(g->b, OP_AND, all, mask);
  }
  return all;
}

/* With S = scale q k', P = exp(S - lse), U = dy v', W = P (U - delta) the results are
   dq = scale W k, dk = scale W' q, dv = P' dy. The rules of these products, in reverse. */
void grad_attention_grad(GradCtx *g, const Op *op, ValueId da) {
  Builder *b = g->b;
  ValueId db = grad_of(g, op, 1), dc = grad_of(g, op, 2);
  const Type *tq = value_type(g->e, op->operands[1]), *tk = value_type(g->e, op->operands[2]);
  Grouped x = {g, tq->rank > 2 ? dim_from_end(tq, 3) / dim_from_end(tk, 3) : 0};
  ValueId dy = grouped(&x, op->operands[0], false), q = grouped(&x, op->operands[1], false);
  ValueId k = grouped(&x, op->operands[2], true), v = grouped(&x, op->operands[3], true);
  if (da != NO_ID) da = grouped(&x, da, false);
  if (db != NO_ID) db = grouped(&x, db, true);
  if (dc != NO_ID) dc = grouped(&x, dc, true);
  ValueId s = build_matmul(b, q, k, false, true);
  ValueId scale = grad_const(g, s, op->attr[AT_SCALE].f), zero = grad_const(g, s, 0);
  ValueId p = build1(
      b, OP_EXP, build2(b, OP_SUB, build2(b, OP_MUL, s, scale), rows_over(&x, op->operands[4], s)));
  ValueId visible = visible_keys(&x, op, s);
  if (visible != NO_ID) p = build3(b, OP_WHERE, visible, p, zero);
  ValueId u = build_matmul(b, dy, v, false, true);
  ValueId centred = build2(b, OP_SUB, u, rows_over(&x, op->operands[5], s));
  ValueId w = build2(b, OP_MUL, p, centred), ws = build2(b, OP_MUL, w, scale);
  ValueId to_w = NO_ID, to_p = NO_ID, to_dy = NO_ID, to_q = NO_ID, to_k = NO_ID, to_v = NO_ID;
  if (da != NO_ID) {
    to_w = add_to(g, to_w, build_matmul(b, da, k, false, true));
    to_k = add_to(g, to_k, build_matmul(b, ws, da, true, false));
  }
  if (db != NO_ID) {
    to_w = add_to(g, to_w, build_matmul(b, q, db, false, true));
    to_q = add_to(g, to_q, build_matmul(b, ws, db, false, false));
  }
  if (dc != NO_ID) {
    to_p = build_matmul(b, dy, dc, false, true);
    to_dy = build_matmul(b, p, dc, false, false);
  }
  ValueId to_delta = NO_ID;
  if (to_w != NO_ID) {
    to_w = build2(b, OP_MUL, to_w, scale);
    to_p = add_to(g, to_p, build2(b, OP_MUL, to_w, centred));
    ValueId to_u = build2(b, OP_MUL, to_w, p);
    to_delta = build1(b, OP_NEG, grad_sum_last(g, to_u));
    to_dy = add_to(g, to_dy, build_matmul(b, to_u, v, false, false));
    to_v = build_matmul(b, to_u, dy, true, false);
  }
  ValueId to_s = build2(b, OP_MUL, to_p, p), to_lse = build1(b, OP_NEG, grad_sum_last(g, to_s));
  to_s = build2(b, OP_MUL, to_s, scale);
  to_q = add_to(g, to_q, build_matmul(b, to_s, k, false, false));
  to_k = add_to(g, to_k, build_matmul(b, to_s, q, true, false));
  const ValueId to[6] = {to_dy, to_q, to_k, to_v, to_lse, to_delta};
  for (int i = 0; i < 6; i++)
    if (to[i] != NO_ID && grad_wants(g, op, i)) {
      const Type *t = value_type(g->e, op->operands[i]);
      ValueId own = build_convert(b, to[i], t->dtype);
      grad_to(g, op, i, ungrouped(&x, own, t, i == 2 || i == 3));
    }
}

/* ---- evaluation ---- */

typedef struct Heads {
  int64_t n, group, t, s, d, e; /* heads of queries, of which `group` share keys; extents */
  double scale;
  bool causal;
  const Tensor *mask; /* or NULL */
  const int64_t *stride;
  StridedIter at; /* over the mask, by the rows and keys of all heads */
} Heads;

static Heads heads_of(EvalCtx *c, const Op *op, const Tensor *q, const Tensor *k, const Tensor *v,
                      const Tensor *mask) {
  Heads h = {.t = dim_from_end(q->type, 2),
             .s = dim_from_end(k->type, 2),
             .d = dim_from_end(q->type, 1),
             .e = dim_from_end(v->type, 1),
             .n = 1,
             .scale = op->attr[AT_SCALE].f,
             .causal = op->attr[AT_CAUSAL].i,
             .mask = mask};
  for (int i = 0; i < q->type->rank - 2; i++) h.n *= q->type->dim[i];
  h.group = q->type->rank > 2 ? dim_from_end(q->type, 3) / dim_from_end(k->type, 3) : 1;
  if (!mask) return h;
  int rank = q->type->rank;
  int64_t *dim = ARENA_ARRAY(c->scratch, int64_t, rank),
          *stride = ARENA_ARRAY(c->scratch, int64_t, rank);
  const int64_t *own = row_major_strides(c->scratch, mask->type);
  for (int i = 0; i < rank; i++) {
    int at = i - (rank - mask->type->rank);
    dim[i] = i == rank - 1 ? h.s : q->type->dim[i];
    stride[i] = at < 0 || mask->type->dim[at] == 1 ? 0 : own[at];
  }
  h.at = strided_new(c->scratch, type_get(c->it->m->ctx, DT_BOOL, rank, dim), 0, stride);
  return h;
}

/* Query i attends to key j, the next one of the mask's iterator. */
static bool is_visible(Heads *h, int64_t i, int64_t j) {
  bool yes = !h->causal || j <= i;
  if (!h->mask) return yes;
  yes &= h->mask->at[h->at.to].i != 0;
  strided_next(&h->at);
  return yes;
}

static double dot(const Scalar *a, const Scalar *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += a[i].f * b[i].f;
  return sum;
}

void eval_attention(EvalCtx *c, const Op *op) {
  const Tensor *q = eval_in(c, op, 0), *k = eval_in(c, op, 1), *v = eval_in(c, op, 2);
  Tensor *y = eval_out(c, op), *lse = eval_out_of(c, op, 1);
  Heads h = heads_of(c, op, q, k, v, op->noperands > 3 ? eval_in(c, op, 3) : NULL);
  double *p = ARENA_ARRAY(c->scratch, double, h.s + 1);
  for (int64_t row = 0; row < h.n * h.t; row++) {
    int64_t kv = row / h.t / h.group * h.s;
    double max = -INFINITY, total = 0;
    for (int64_t j = 0; j < h.s; j++) {
      p[j] = dot(q->at + row * h.d, k->at + (kv + j) * h.d, h.d) * h.scale;
      if (!is_visible(&h, row % h.t, j)) p[j] = -INFINITY;
      if (p[j] > max) max = p[j];
    }
    double shift = max == -INFINITY ? 0 : max;
    for (int64_t j = 0; j < h.s; j++) total += p[j] = exp(p[j] - shift);
    lse->at[row].f = log(total) + shift;
    for (int64_t j = 0; j < h.s && total != 0; j++) /* 0: no key is visible; NaN goes through */
      for (int64_t e = 0; e < h.e; e++)
        y->at[row * h.e + e].f += p[j] / total * v->at[(kv + j) * h.e + e].f;
  }
  eval_round(c, y);
  eval_round(c, lse);
}

void eval_attention_grad(EvalCtx *c, const Op *op) {
  const Tensor *dy = eval_in(c, op, 0), *q = eval_in(c, op, 1), *k = eval_in(c, op, 2);
  const Tensor *v = eval_in(c, op, 3), *lse = eval_in(c, op, 4), *delta = eval_in(c, op, 5);
  Tensor *dq = eval_out(c, op), *dk = eval_out_of(c, op, 1), *dv = eval_out_of(c, op, 2);
  Heads h = heads_of(c, op, q, k, v, op->noperands > 6 ? eval_in(c, op, 6) : NULL);
  for (int64_t row = 0; row < h.n * h.t; row++) {
    int64_t kv = row / h.t / h.group * h.s;
    const Scalar *qi = q->at + row * h.d, *dyi = dy->at + row * h.e;
    for (int64_t j = 0; j < h.s; j++) {
      if (!is_visible(&h, row % h.t, j)) continue;
      const Scalar *kj = k->at + (kv + j) * h.d, *vj = v->at + (kv + j) * h.e;
      double p = exp(dot(qi, kj, h.d) * h.scale - lse->at[row].f);
      double w = p * (dot(dyi, vj, h.e) - delta->at[row].f) * h.scale;
      for (int64_t d = 0; d < h.d; d++) {
        dq->at[row * h.d + d].f += w * kj[d].f;
        dk->at[(kv + j) * h.d + d].f += w * qi[d].f;
      }
      for (int64_t e = 0; e < h.e; e++) dv->at[(kv + j) * h.e + e].f += p * dyi[e].f;
    }
  }
  eval_round(c, dq);
  eval_round(c, dk);
  eval_round(c, dv);
}
