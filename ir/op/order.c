/* Along one axis, one element after the other: running sums.
   Contract: element i is the sum of elements 0 to i, or with `reverse` of all from i on. Sums of
   halves are kept in f32, those of f32 in f32; the reference keeps them in double and rounds each
   once. The gradient of either is the other. */
#include "ir/op/op.h"

/* ---- shapes ---- */

const Type *shape_cumsum(const ShapeIn *in) {
  const Type *t = in->type[0];
  int64_t axis = in->attr[AT_AXIS].i;
  if (axis < 0 || axis >= t->rank)
    return shape_wrong(in, "has no axis %lld in %s", (long long)axis, shape_str(in, t));
  if (t->dtype == DT_BOOL)
    return shape_wrong(in, "needs numbers, not %s: convert with f32(x) or i32(x)",
                       shape_str(in, t));
  return t;
}

/* ---- gradients ---- */

void grad_cumsum(GradCtx *g, const Op *op, ValueId dy) {
  Attr attr[MAX_ATTRS] = {op->attr[AT_AXIS], [AT_BACKWARD].i = !op->attr[AT_BACKWARD].i};
  grad_to(g, op, 0, build(g->b, OP_CUMSUM, &dy, 1, attr, NULL));
}

/* ---- evaluation ---- */

void eval_cumsum(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op);
  const Type *t = x->type;
  int64_t n = t->dim[op->attr[AT_AXIS].i], step = walk_strides(c->scratch, t)[op->attr[AT_AXIS].i];
  bool real = dtype_is_float(t->dtype), back = op->attr[AT_BACKWARD].i;
  for (int64_t line = 0; n && line < t->numel / n; line++) {
    int64_t first = line / step * step * n + line % step;
    Scalar sum = {0};
    for (int64_t i = 0; i < n; i++) {
      int64_t at = first + (back ? n - 1 - i : i) * step;
      if (real)
        sum.f += x->at[at].f;
      else
        sum.i = (int64_t)((uint64_t)sum.i + (uint64_t)x->at[at].i);
      y->at[at] = scalar_round(sum, t->dtype, c->it->mode);
    }
  }
}
