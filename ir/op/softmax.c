/* Ops along the last axis, row by row: softmax, log_softmax, cross entropy, and their gradients.
   Contract: the maximum of a row is subtracted before exp, so no finite row overflows. The
   gradients read the outputs, that of xent the logits; nothing else is saved. */
#include "ir/op/op.h"

#include <math.h>

/* ---- shapes ---- */

bool shape_has_rows(const ShapeIn *in, const Type *t) {
  if (!dtype_is_float(t->dtype))
    return shape_wrong(in, "needs floats, not %s: convert with f32(x)", shape_str(in, t));
  if (t->rank == 0 || t->dim[t->rank - 1] == 0)
    return shape_wrong(in, "needs elements along the last axis of %s", shape_str(in, t));
  return true;
}

const Type *shape_row(const ShapeIn *in) {
  if (!shape_has_rows(in, in->type[0])) return NULL;
  return in->n == 1 || shape_equal(in, 0, 1) ? in->type[0] : NULL;
}

static bool labels_fit(const ShapeIn *in, const Type *logits, const Type *labels) {
  if (!shape_has_rows(in, logits)) return false;
  if (!dtype_is_int(labels->dtype))
    return shape_wrong(in, "needs integer labels, not %s", shape_str(in, labels));
  bool fits = labels->rank == logits->rank - 1;
  for (int i = 0; fits && i < labels->rank; i++) fits = labels->dim[i] == logits->dim[i];
  return fits || shape_wrong(in, "needs one label for every row: logits %s against labels %s",
                             shape_str(in, logits), shape_str(in, labels));
}

const Type *shape_xent(const ShapeIn *in) {
  const Type *t = in->type[0];
  return labels_fit(in, t, in->type[1]) ? shape_make(in, t->dtype, t->rank - 1, t->dim) : NULL;
}

const Type *shape_xent_grad(const ShapeIn *in) {
  const Type *dy = in->type[0], *t = in->type[1], *labels = in->type[2];
  if (!labels_fit(in, t, labels)) return NULL;
  if (dy->dtype != t->dtype || !type_same_dims(dy, labels))
    return shape_wrong(in, "needs one gradient for every row: %s against logits %s",
                       shape_str(in, dy), shape_str(in, t));
  return t;
}

/* ---- gradients ---- */

/* The sum of x y along the last axis, repeated along it. */
static ValueId row_dot(GradCtx *g, ValueId x, ValueId y) {
  return grad_over_last(g, grad_sum_last(g, build2(g->b, OP_MUL, x, y)), value_type(g->e, x));
}

void grad_softmax(GradCtx *g, const Op *op, ValueId dy) {
  grad_to(g, op, 0, build2(g->b, OP_SOFTMAX_GRAD, dy, op->results[0]));
}

void grad_log_softmax(GradCtx *g, const Op *op, ValueId dy) {
  grad_to(g, op, 0, build2(g->b, OP_LOG_SOFTMAX_GRAD, dy, op->results[0]));
}

/* z = y (u - sum(u y)): the same map again for u, since it is symmetric. */
void grad_softmax_grad(GradCtx *g, const Op *op, ValueId dz) {
  ValueId u = op->operands[0], y = op->operands[1];
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, build2(g->b, OP_SOFTMAX_GRAD, dz, y));
  if (!grad_wants(g, op, 1)) return;
  ValueId one = build2(g->b, OP_MUL, dz, build2(g->b, OP_SUB, u, row_dot(g, u, y)));
  ValueId two = build2(g->b, OP_MUL, u, row_dot(g, dz, y));
  grad_to(g, op, 1, build2(g->b, OP_SUB, one, two));
}

/* z = u - exp(y) sum(u) */
void grad_log_softmax_grad(GradCtx *g, const Op *op, ValueId dz) {
  ValueId u = op->operands[0], p = build1(g->b, OP_EXP, op->operands[1]);
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, build2(g->b, OP_SUB, dz, row_dot(g, dz, p)));
  if (!grad_wants(g, op, 1)) return;
  ValueId sum = grad_over_last(g, grad_sum_last(g, u), value_type(g->e, u));
  ValueId d = build2(g->b, OP_MUL, build2(g->b, OP_MUL, dz, p), sum);
  grad_to(g, op, 1, build1(g->b, OP_NEG, d));
}

void grad_xent(GradCtx *g, const Op *op, ValueId dy) {
  grad_to(g, op, 0, build3(g->b, OP_XENT_GRAD, dy, op->operands[0], op->operands[1]));
}

/* z = u (p - one_hot(label)) with p = softmax(x) */
void grad_xent_grad(GradCtx *g, const Op *op, ValueId dz) {
  ValueId u = op->operands[0], x = op->operands[1], labels = op->operands[2];
  if (grad_wants(g, op, 0)) {
    ValueId d = build3(g->b, OP_XENT_GRAD, grad_const(g, u, 1), x, labels);
    grad_to(g, op, 0, grad_sum_last(g, build2(g->b, OP_MUL, dz, d)));
  }
  if (grad_wants(g, op, 1)) {
    ValueId p = build1(g->b, OP_SOFTMAX, x);
    ValueId rows = grad_over_last(g, u, value_type(g->e, x));
    grad_to(g, op, 1, build2(g->b, OP_MUL, rows, build2(g->b, OP_SOFTMAX_GRAD, dz, p)));
  }
}

/* ---- evaluation ---- */

/* A row x is exp(x[j] - shift) / total, its logarithm x[j] - shift - log(total). */
typedef struct Row {
  double shift, total;
} Row;

static Row row_sum(const Scalar *x, int64_t n) {
  Row r = {.shift = x[0].f};
  for (int64_t j = 1; j < n; j++)
    if (x[j].f > r.shift) r.shift = x[j].f;
  for (int64_t j = 0; j < n; j++) r.total += exp(x[j].f - r.shift);
  return r;
}

static int64_t width_of(const Type *t) { return t->dim[t->rank - 1]; }

void eval_softmax(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op);
  for (int64_t i = 0, n = width_of(x->type); i < x->type->numel; i += n) {
    Row r = row_sum(x->at + i, n);
    for (int64_t j = i; j < i + n; j++) eval_set(c, y, j, exp(x->at[j].f - r.shift) / r.total);
  }
}

void eval_log_softmax(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op);
  for (int64_t i = 0, n = width_of(x->type); i < x->type->numel; i += n) {
    Row r = row_sum(x->at + i, n);
    for (int64_t j = i; j < i + n; j++) eval_set(c, y, j, x->at[j].f - r.shift - log(r.total));
  }
}

void eval_softmax_grad(EvalCtx *c, const Op *op) {
  const Tensor *dy = eval_in(c, op, 0), *y = eval_in(c, op, 1);
  Tensor *dx = eval_out(c, op);
  for (int64_t i = 0, n = width_of(y->type); i < y->type->numel; i += n) {
    double dot = -0.0;
    for (int64_t j = i; j < i + n; j++) dot += dy->at[j].f * y->at[j].f;
    for (int64_t j = i; j < i + n; j++) eval_set(c, dx, j, y->at[j].f * (dy->at[j].f - dot));
  }
}

void eval_log_softmax_grad(EvalCtx *c, const Op *op) {
  const Tensor *dy = eval_in(c, op, 0), *y = eval_in(c, op, 1);
  Tensor *dx = eval_out(c, op);
  for (int64_t i = 0, n = width_of(y->type); i < y->type->numel; i += n) {
    double sum = -0.0;
    for (int64_t j = i; j < i + n; j++) sum += dy->at[j].f;
    for (int64_t j = i; j < i + n; j++) eval_set(c, dx, j, dy->at[j].f - exp(y->at[j].f) * sum);
  }
}

/* False after a fault. */
static bool label_in(EvalCtx *c, const Tensor *labels, int64_t row, int64_t n) {
  int64_t l = labels->at[row].i;
  if (l >= 0 && l < n) return true;
  if (l < 0)
    eval_fault(c, "label %lld at row %lld is below 0", (long long)l, (long long)row);
  else
    eval_fault(c, "label %lld at row %lld is not below %lld", (long long)l, (long long)row,
               (long long)n);
  return false;
}

void eval_xent(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0), *labels = eval_in(c, op, 1);
  Tensor *y = eval_out(c, op);
  int64_t n = width_of(x->type);
  for (int64_t i = 0; i < y->type->numel; i++) {
    if (!label_in(c, labels, i, n)) return;
    Row r = row_sum(x->at + i * n, n);
    eval_set(c, y, i, log(r.total) + r.shift - x->at[i * n + labels->at[i].i].f);
  }
}

void eval_xent_grad(EvalCtx *c, const Op *op) {
  const Tensor *dy = eval_in(c, op, 0), *x = eval_in(c, op, 1), *labels = eval_in(c, op, 2);
  Tensor *dx = eval_out(c, op);
  int64_t n = width_of(x->type);
  for (int64_t i = 0; i < dy->type->numel; i++) {
    if (!label_in(c, labels, i, n)) return;
    Row r = row_sum(x->at + i * n, n);
    for (int64_t j = 0; j < n; j++) {
      double p = exp(x->at[i * n + j].f - r.shift) / r.total;
      eval_set(c, dx, i * n + j, dy->at[i].f * (p - (j == labels->at[i].i)));
    }
  }
}
