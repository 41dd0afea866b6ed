/* Reductions over axes, argmax and argmin.
   Contract: axes are ascending and dropped. Sums and products accumulate in double (integers in 64
   bits) and are rounded once, so a target's result agrees within a tolerance, not in every bit.
   A sum begins at -0, so that of -0 alone is -0. Over an empty axis a sum is 0 and a product 1;
   there is no largest or smallest. */
#include "ir/op/op.h"

#include <math.h>

/* ---- shapes ---- */

static const Type *reduced(const ShapeIn *in) {
  const Type *t = in->type[0];
  const Ints *axes = in->attr[AT_AXES].ints;
  bool adds = in->kind == OP_SUM || in->kind == OP_PROD;
  if (adds && t->dtype == DT_BOOL)
    return shape_wrong(in, "needs numbers, not %s: convert with f32(x) or i32(x)",
                       shape_str(in, t));
  if (!shape_axes(in, axes, t->rank)) return NULL;
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, t->rank);
  int n = 0;
  for (int i = 0, k = 0; i < t->rank; i++) {
    if (k == ints_n(axes) || axes->at[k] != i) {
      dim[n++] = t->dim[i];
      continue;
    }
    k++;
    if (!adds && t->dim[i] == 0)
      return shape_wrong(in, "needs elements along axis %d of %s", i, shape_str(in, t));
  }
  return shape_make(in, t->dtype, n, dim);
}

/* A sum may continue from an accumulator. */
const Type *shape_reduce(const ShapeIn *in) {
  if (in->kind == OP_SUM && (in->n < 1 || in->n > 2))
    return shape_wrong(in, "takes 1 or 2 operands, not %d", in->n);
  const Type *t = reduced(in);
  return in->n > 1 ? shape_accumulator(in, t) : t;
}

const Type *shape_arg(const ShapeIn *in) {
  const Type *t = in->type[0];
  int64_t axis = in->attr[AT_AXIS].i;
  if (axis < 0 || axis >= t->rank)
    return shape_wrong(in, "has no axis %lld in %s", (long long)axis, shape_str(in, t));
  if (t->dim[axis] == 0 || t->dim[axis] > INT32_MAX)
    return shape_wrong(in, "needs 1 to 2147483647 elements along axis %lld of %s", (long long)axis,
                       shape_str(in, t));
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, t->rank);
  for (int i = 0, n = 0; i < t->rank; i++)
    if (i != axis) dim[n++] = t->dim[i];
  return shape_make(in, DT_I32, t->rank - 1, dim);
}

/* ---- gradients ---- */

void grad_sum(GradCtx *g, const Op *op, ValueId dy) {
  const Type *t = value_type(g->e, op->operands[0]);
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, grad_unreduce(g, dy, t, op->attr[AT_AXES].ints));
  if (op_accumulator(op) >= 0) grad_to(g, op, op_accumulator(op), dy);
}

/* Ties share evenly. */
static void grad_extreme(GradCtx *g, const Op *op, ValueId dy) {
  ValueId x = op->operands[0];
  const Type *t = value_type(g->e, x);
  const Ints *axes = op->attr[AT_AXES].ints;
  ValueId best = build2(g->b, OP_EQ, x, grad_unreduce(g, op->results[0], t, axes));
  ValueId count = build_reduce(g->b, OP_SUM, build_convert(g->b, best, t->dtype),
                               axes ? axes->at : NULL, ints_n(axes));
  ValueId share = grad_unreduce(g, build2(g->b, OP_DIV, dy, count), t, axes);
  grad_to(g, op, 0, build3(g->b, OP_WHERE, best, share, grad_const(g, x, 0)));
}

void grad_reduce_max(GradCtx *g, const Op *op, ValueId dy) { grad_extreme(g, op, dy); }
void grad_reduce_min(GradCtx *g, const Op *op, ValueId dy) { grad_extreme(g, op, dy); }

/* x moved by s along an axis, forth or back, with ones where nothing comes from. */
static ValueId shift(GradCtx *g, ValueId x, int axis, int64_t s, bool forth) {
  Ctx *c = g->e->module->ctx;
  const Type *t = value_type(g->e, x);
  int64_t *by = ARENA_ARRAY(g->e->module->arena, int64_t, t->rank);
  for (int i = 0; i < t->rank; i++) by[i] = 0;
  const Ints *zeros = intern_ints(c, by, t->rank);
  by[axis] = s;
  const Ints *moved = intern_ints(c, by, t->rank);
  Attr pad[MAX_ATTRS] = {[AT_VALUE].f = 1,
                         [AT_LO].ints = forth ? moved : zeros,
                         [AT_HI].ints = forth ? zeros : moved,
                         [AT_INTERIOR].ints = zeros};
  ValueId rest = build_slice(g->b, x, axis, forth ? 0 : s, t->dim[axis] - s);
  return build(g->b, OP_PAD, &rest, 1, pad, NULL);
}

/* Products of all elements before (or behind) each one along an axis, by doubling windows. */
static ValueId products_beside(GradCtx *g, ValueId x, int axis, bool forth) {
  const int64_t n = value_type(g->e, x)->dim[axis];
  ValueId p = shift(g, x, axis, 1, forth);
  for (int64_t s = 1; s < n - 1; s *= 2) p = build2(g->b, OP_MUL, p, shift(g, p, axis, s, forth));
  return p;
}

/* Products of the others along an axis. Of a bounded one ones stand behind what a run has, as they
   do behind the last element of any: the products are the same. */
static ValueId products_of_others(GradCtx *g, ValueId x, int axis) {
  const Type *t = value_type(g->e, x);
  ValueId all = build_filled(g->b, x, axis, (Attr){.f = 1});
  ValueId y = build2(g->b, OP_MUL, products_beside(g, all, axis, true),
                     products_beside(g, all, axis, false));
  return type_extent(t, axis) ? build_slice(g->b, y, axis, 0, type_axis(t, axis)) : y;
}

/* dy times the product of the others, axis by axis: of those in the same row, and of the other
   rows. No division by x, so any number of zeros is right, also in the gradient of this gradient.
 */
void grad_prod(GradCtx *g, const Op *op, ValueId dy) {
  ValueId x = op->operands[0], rest = x;
  const Type *t = value_type(g->e, x);
  const Ints *axes = op->attr[AT_AXES].ints;
  ValueId d = grad_unreduce(g, dy, t, axes);
  for (int k = ints_n(axes); k-- > 0 && t->numel > 0;) {
    if (t->dim[axes->at[k]] == 1) continue;
    ValueId others = products_of_others(g, rest, (int)axes->at[k]);
    d = build2(g->b, OP_MUL, d, build_broadcast(g->b, others, t));
    if (k > 0) rest = build_reduce_keep(g->b, OP_PROD, rest, &axes->at[k], 1);
  }
  grad_to(g, op, 0, d);
}

/* ---- evaluation ---- */

static double fold_float(OpKind k, double acc, double v) {
  if (k == OP_SUM) return acc + v;
  if (k == OP_PROD) return acc * v;
  if (acc != acc || v != v) return acc != acc ? acc : v;
  return k == OP_REDUCE_MAX ? (v > acc ? v : acc) : (v < acc ? v : acc);
}

/* Unsigned, since sums and products of integers wrap. */
static int64_t fold_int(OpKind k, int64_t acc, int64_t v) {
  if (k == OP_SUM) return (int64_t)((uint64_t)acc + (uint64_t)v);
  if (k == OP_PROD) return (int64_t)((uint64_t)acc * (uint64_t)v);
  return k == OP_REDUCE_MAX ? (v > acc ? v : acc) : (v < acc ? v : acc);
}

void eval_reduce(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op);
  bool is_float = dtype_is_float(x->type->dtype);
  const Ints *axes = op->attr[AT_AXES].ints;
  const int64_t *stride = reduced_strides(c->scratch, x->type, y->type, axes);
  Scalar start = {0};
  switch ((int)op->kind) {
  case OP_SUM: /* -0 + x is x: the sum of one element is that element */
    if (is_float && x->type->numel > 0) start = (Scalar){.f = -0.0};
    break;
  case OP_PROD: start = is_float ? (Scalar){.f = 1} : (Scalar){.i = 1}; break;
  case OP_REDUCE_MAX: start = is_float ? (Scalar){.f = -INFINITY} : (Scalar){.i = INT64_MIN}; break;
  case OP_REDUCE_MIN: start = is_float ? (Scalar){.f = INFINITY} : (Scalar){.i = INT64_MAX}; break;
  default: break;
  }
  const Tensor *before = op_accumulator(op) >= 0 ? eval_in(c, op, op_accumulator(op)) : NULL;
  for (int64_t i = 0; i < y->type->numel; i++) y->at[i] = before ? before->at[i] : start;
  for (StridedIter w = strided_new(c->scratch, x->type, 0, stride); strided_more(&w);
       strided_next(&w)) {
    Scalar *acc = &y->at[w.to], v = x->at[w.from];
    if (is_float)
      acc->f = fold_float(op->kind, acc->f, v.f);
    else
      acc->i = fold_int(op->kind, acc->i, v.i);
  }
  eval_round(c, y);
}

void eval_arg(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op);
  int64_t axis = op->attr[AT_AXIS].i, n = x->type->dim[axis];
  int64_t inner = row_major_strides(c->scratch, x->type)[axis];
  bool is_float = dtype_is_float(x->type->dtype), max = op->kind == OP_ARGMAX;
  for (int64_t i = 0; i < y->type->numel; i++) {
    const Scalar *row = x->at + i / inner * inner * n + i % inner;
    int64_t best = 0;
    for (int64_t k = 1; k < n; k++) {
      Scalar v = row[k * inner], b = row[best * inner];
      bool is_greater = is_float ? b.f == b.f && (v.f != v.f || (max ? v.f > b.f : v.f < b.f))
                                 : (max ? v.i > b.i : v.i < b.i);
      if (is_greater) best = k;
    }
    y->at[i].i = best;
  }
}
