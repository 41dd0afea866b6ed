/* Matrix product over the last two axes, with equal leading axes and operands perhaps transposed.
   Contract: equal ranks of 2 or more; the elaboration handles vectors and broadcasting.
   Evaluation accumulates in double (integers in 64 bits) and rounds once. */
#include "ir/op/op.h"

/* ---- shape ---- */

const Type *shape_matmul(const ShapeIn *in) {
  const Type *a = in->type[0], *b = in->type[1];
  bool ta = in->attr[AT_TA].i, tb = in->attr[AT_TB].i;
  int r = a->rank;
  bool half = dtype_is_half(a->dtype), wide = in->attr[AT_WIDE].i;
  if (a->dtype == DT_BOOL || b->dtype == DT_BOOL)
    return shape_wrong(in, "needs numbers, not %s: convert with f32(x)",
                       shape_str(in, a->dtype == DT_BOOL ? a : b));
  if (a->dtype != b->dtype)
    return shape_wrong(in, "needs equal dtypes: %s against %s", shape_str(in, a), shape_str(in, b));
  if (wide && !half) return shape_wrong(in, "is wide for f16 and bf16, not %s", shape_str(in, a));
  if (in->attr[AT_TF32].i && a->dtype != DT_F32)
    return shape_wrong(in, "has tf32 for f32, not %s", shape_str(in, a));
  if (r < 2 || b->rank < 2)
    return shape_wrong(in, "needs at least two axes: %s against %s", shape_str(in, a),
                       shape_str(in, b));
  bool lead = r == b->rank;
  for (int i = 0; lead && i < r - 2; i++) lead = a->dim[i] == b->dim[i];
  if (!lead)
    return shape_wrong(in, "needs the leading dims to agree: %s against %s", shape_str(in, a),
                       shape_str(in, b));
  int64_t ka = a->dim[ta ? r - 2 : r - 1], kb = b->dim[tb ? r - 1 : r - 2];
  if (ka != kb)
    return shape_wrong(in, "needs the inner dims to agree: %lld against %lld, in %s%s and %s%s",
                       (long long)ka, (long long)kb, shape_str(in, a), ta ? " transposed" : "",
                       shape_str(in, b), tb ? " transposed" : "");
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, r);
  for (int i = 0; i < r - 2; i++) dim[i] = a->dim[i];
  dim[r - 2] = a->dim[ta ? r - 1 : r - 2];
  dim[r - 1] = b->dim[tb ? r - 2 : r - 1];
  return shape_make(in, wide ? DT_F32 : a->dtype, r, dim);
}

/* ---- gradient ---- */

/* Flags in place of transposes. The gradient of a wide product is first converted to its operands'
   dtype. */
void grad_matmul(GradCtx *g, const Op *op, ValueId dy) {
  ValueId a = op->operands[0], b = op->operands[1];
  dy = build_convert(g->b, dy, value_type(g->e, a)->dtype);
  bool ta = op->attr[AT_TA].i, tb = op->attr[AT_TB].i;
  if (grad_wants(g, op, 0))
    grad_to(g, op, 0,
            ta ? build_matmul(g->b, b, dy, tb, true) : build_matmul(g->b, dy, b, false, !tb));
  if (grad_wants(g, op, 1))
    grad_to(g, op, 1,
            tb ? build_matmul(g->b, dy, a, true, ta) : build_matmul(g->b, a, dy, !ta, false));
}

/* ---- evaluation ---- */

void eval_matmul(EvalCtx *c, const Op *op) {
  const Tensor *a = eval_in(c, op, 0), *b = eval_in(c, op, 1);
  Tensor *y = eval_out(c, op);
  int r = y->type->rank;
  bool ta = op->attr[AT_TA].i, tb = op->attr[AT_TB].i, is_float = dtype_is_float(y->type->dtype);
  int64_t m = y->type->dim[r - 2], n = y->type->dim[r - 1], k = a->type->dim[ta ? r - 2 : r - 1];
  for (int64_t o = 0; o < y->type->numel; o++) {
    int64_t page = o / (m * n), i = o / n % m, j = o % n;
    const Scalar *x = a->at + page * m * k + (ta ? i : i * k);
    const Scalar *w = b->at + page * k * n + (tb ? j * k : j);
    int64_t dx = ta ? m : 1, dw = tb ? 1 : n;
    Scalar acc = {0};
    for (int64_t l = 0; l < k; l++) {
      if (is_float)
        acc.f += x[l * dx].f * w[l * dw].f;
      else
        acc.i = (int64_t)((uint64_t)acc.i + (uint64_t)x[l * dx].i * (uint64_t)w[l * dw].i);
    }
    y->at[o] = scalar_round(acc, y->type->dtype, c->it->mode);
  }
}
