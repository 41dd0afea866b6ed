/* Layer norm and RMS norm along the last axis, and their gradients.
   Contract: the results are the normalised rows and 1 / sqrt(variance + eps) of each row. The
   gradients read the results only, so x is not saved. The variance is the biased one. */
#include "ir/op/op.h"

#include <math.h>

static bool is_layer(OpKind k) { return k == OP_LAYER_NORM || k == OP_LAYER_NORM_GRAD; }

/* ---- shapes ---- */

const Type *shape_norm(const ShapeIn *in) {
  const Type *x = in->type[0];
  if (!shape_has_rows(in, x)) return NULL;
  return in->result == 0 ? x : shape_make(in, x->dtype, x->rank - 1, x->dim);
}

const Type *shape_norm_grad(const ShapeIn *in) {
  const Type *y = in->type[1], *scale = in->type[2];
  if (!shape_has_rows(in, y) || !shape_equal(in, 0, 1)) return NULL;
  bool fits = scale->dtype == y->dtype && scale->rank == y->rank - 1;
  for (int i = 0; fits && i < scale->rank; i++) fits = scale->dim[i] == y->dim[i];
  return fits ? y
              : shape_wrong(in, "needs one scale for every row: rows %s against scales %s",
                            shape_str(in, y), shape_str(in, scale));
}

/* ---- gradients ---- */

/* v * k / n, for the n elements of a row of t: where these are known at run time, the same quotient
   of doubles, rounded once. */
static ValueId over_width(GradCtx *g, ValueId v, double k, const Type *t) {
  const int64_t last = t->rank - 1;
  if (!type_extent(t, (int)last))
    return build2(g->b, OP_MUL, v, grad_const(g, v, k / (double)t->dim[last]));
  const Type *exact = type_scalar(g->b->m->ctx, DT_F64), *of = value_type(g->e, v);
  ValueId n = build_convert(g->b, build_count(g->b, t, &last, 1), DT_F64);
  ValueId share = build2(g->b, OP_DIV, build_const(g->b, exact, k), n);
  share = build_broadcast(g->b, build_convert(g->b, share, of->dtype), of);
  return build2(g->b, OP_MUL, v, share);
}

/* mean(a b) of each row, over the rows */
static ValueId mean_product(GradCtx *g, ValueId a, ValueId b) {
  const Type *t = value_type(g->e, a);
  ValueId sum = grad_over_last(g, grad_sum_last(g, build2(g->b, OP_MUL, a, b)), t);
  return over_width(g, sum, 1, t);
}

/* The gradient of x through the scale s: ds/dx = -s^2 y / n, for both norms. */
static ValueId through_scale(GradCtx *g, ValueId y, ValueId s, ValueId ds) {
  const Type *t = value_type(g->e, y);
  ValueId k = build2(g->b, OP_MUL, ds, build2(g->b, OP_MUL, s, s));
  k = over_width(g, k, -1, t);
  return build2(g->b, OP_MUL, grad_over_last(g, k, t), y);
}

static void grad_norm(GradCtx *g, const Op *op, ValueId dy) {
  ValueId y = op->results[0], s = op->results[1], ds = grad_of(g, op, 1);
  OpKind k = is_layer(op->kind) ? OP_LAYER_NORM_GRAD : OP_RMS_NORM_GRAD;
  if (dy != NO_ID) grad_to(g, op, 0, build3(g->b, k, dy, y, s));
  if (ds != NO_ID) grad_to(g, op, 0, through_scale(g, y, s, ds));
}

void grad_layer_norm(GradCtx *g, const Op *op, ValueId dy) { grad_norm(g, op, dy); }
void grad_rms_norm(GradCtx *g, const Op *op, ValueId dy) { grad_norm(g, op, dy); }

/* z = s (u - mean(u) - y mean(u y)): the same map again for u, since it is symmetric. */
static void grad_norm_grad(GradCtx *g, const Op *op, ValueId dz) {
  ValueId u = op->operands[0], y = op->operands[1], s = op->operands[2];
  const Type *t = value_type(g->e, y);
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, build3(g->b, op->kind, dz, y, s));
  if (grad_wants(g, op, 1)) {
    ValueId w = build2(g->b, OP_MUL, dz, grad_over_last(g, s, t));
    ValueId one = build2(g->b, OP_MUL, w, mean_product(g, u, y));
    ValueId two = build2(g->b, OP_MUL, u, mean_product(g, w, y));
    grad_to(g, op, 1, build1(g->b, OP_NEG, build2(g->b, OP_ADD, one, two)));
  }
  if (grad_wants(g, op, 2)) {
    ValueId plain = build3(g->b, op->kind, u, y, grad_const(g, s, 1));
    grad_to(g, op, 2, grad_sum_last(g, build2(g->b, OP_MUL, dz, plain)));
  }
}

void grad_layer_norm_grad(GradCtx *g, const Op *op, ValueId dz) { grad_norm_grad(g, op, dz); }
void grad_rms_norm_grad(GradCtx *g, const Op *op, ValueId dz) { grad_norm_grad(g, op, dz); }

/* ---- evaluation ---- */

void eval_norm(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op), *s = eval_out_of(c, op, 1);
  int64_t n = x->type->dim[x->type->rank - 1];
  for (int64_t row = 0; row < s->type->numel; row++) {
    const Scalar *from = x->at + row * n;
    double mean = -0.0, square = 0;
    for (int64_t j = 0; j < n && is_layer(op->kind); j++) mean += from[j].f / (double)n;
    for (int64_t j = 0; j < n; j++) square += (from[j].f - mean) * (from[j].f - mean);
    double scale = 1 / sqrt(square / (double)n + op->attr[AT_EPS].f);
    eval_set(c, s, row, scale);
    for (int64_t j = 0; j < n; j++) eval_set(c, y, row * n + j, (from[j].f - mean) * scale);
  }
}

void eval_norm_grad(EvalCtx *c, const Op *op) {
  const Tensor *dy = eval_in(c, op, 0), *y = eval_in(c, op, 1), *s = eval_in(c, op, 2);
  Tensor *dx = eval_out(c, op);
  int64_t n = y->type->dim[y->type->rank - 1];
  for (int64_t row = 0; row < s->type->numel; row++) {
    double mean = -0.0, dot = -0.0;
    for (int64_t j = row * n; j < row * n + n; j++) {
      if (is_layer(op->kind)) mean += dy->at[j].f / (double)n;
      dot += dy->at[j].f * y->at[j].f / (double)n;
    }
    for (int64_t j = row * n; j < row * n + n; j++)
      eval_set(c, dx, j, s->at[row].f * (dy->at[j].f - mean - y->at[j].f * dot));
  }
}
