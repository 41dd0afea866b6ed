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
  if ((in->attr[AT_ROUND_A].i || in->attr[AT_ROUND_B].i) && !in->attr[AT_TF32].i)
    return shape_wrong(in, "rounds operands of tf32 alone");
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

/* An operand as it counts. */
static ValueId rounded(GradCtx *g, const Op *op, int i) {
  const bool rounds = op->attr[i ? AT_ROUND_B : AT_ROUND_A].i;
  return rounds ? build1(g->b, OP_TF32, op->operands[i]) : op->operands[i];
}

/* Flags in place of transposes. The gradient of a wide product is first converted to its operands'
   dtype. */
void grad_matmul(GradCtx *g, const Op *op, ValueId dy) {
  ValueId a = rounded(g, op, 0), b = rounded(g, op, 1);
  dy = build_convert(g->b, dy, value_type(g->e, a)->dtype);
  bool ta = op->attr[AT_TA].i, tb = op->attr[AT_TB].i;
  if (grad_wants(g, op, 0))
    grad_to(g, op, 0,
            ta ? build_matmul(g->b, b, dy, tb, true) : build_matmul(g->b, dy, b, false, !tb));
  if (grad_wants(g, op, 1))
    grad_to(g, op, 1,
            tb ? build_matmul(g->b, dy, a, true, ta) : build_matmul(g->b, a, dy, !ta, false));
}

/* ---- for a target whose products do not round ---- */

ValueId expand_matmul(Builder *b, const Op *op, const Type *to, const ValueId *x) {
  (void)to;
  const ValueId left = op->attr[AT_ROUND_A].i ? build1(b, OP_TF32, x[0]) : x[0],
                right = op->attr[AT_ROUND_B].i ? build1(b, OP_TF32, x[1]) : x[1];
  return build_matmul_narrow(b, left, right, op->attr[AT_TA].i, op->attr[AT_TB].i);
}

/* ---- evaluation ---- */

static const Scalar *as_it_counts(EvalCtx *c, const Tensor *x, bool rounds) {
  if (!rounds) return x->at;
  Scalar *r = ARENA_ARRAY(c->scratch, Scalar, x->type->numel + 1);
  for (int64_t i = 0; i < x->type->numel; i++) r[i].f = element_of_number(OP_TF32, x->at[i].f);
  return r;
}

void eval_matmul(EvalCtx *c, const Op *op) {
  const Tensor *a = eval_in(c, op, 0), *b = eval_in(c, op, 1);
  Tensor *y = eval_out(c, op);
  int r = y->type->rank;
  bool ta = op->attr[AT_TA].i, tb = op->attr[AT_TB].i, is_float = dtype_is_float(y->type->dtype);
  int64_t m = y->type->dim[r - 2], n = y->type->dim[r - 1], k = a->type->dim[ta ? r - 2 : r - 1];
  const Scalar *left = as_it_counts(c, a, op->attr[AT_ROUND_A].i),
               *right = as_it_counts(c, b, op->attr[AT_ROUND_B].i);
  for (int64_t o = 0; o < y->type->numel; o++) {
    int64_t page = o / (m * n), i = o / n % m, j = o % n;
    const Scalar *x = left + page * m * k + (ta ? i : i * k);
    const Scalar *w = right + page * k * n + (tb ? j * k : j);
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
