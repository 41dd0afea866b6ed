/* Constants and iota. Contract: the result type is part of the op. */
#include "ir/op/op.h"

const Type *shape_given(const ShapeIn *in) {
  return in->given ? in->given : shape_wrong(in, "needs its type to be given");
}

const Type *shape_iota(const ShapeIn *in) {
  const Type *t = in->given;
  int64_t axis = in->attr[AT_AXIS].i;
  if (!t) return shape_given(in);
  if (t->dtype == DT_BOOL) return shape_wrong(in, "needs numbers, not %s", shape_str(in, t));
  if (axis < 0 || axis >= t->rank)
    return shape_wrong(in, "has no axis %lld in %s", (long long)axis, shape_str(in, t));
  return t;
}

/* ---- evaluation ---- */

void eval_const(EvalCtx *c, const Op *op) {
  Tensor *y = eval_out(c, op);
  Attr v = op->attr[AT_VALUE];
  Scalar s = scalar_round((Scalar){.i = v.i}, y->type->dtype, c->it->mode);
  for (int64_t i = 0; i < y->type->numel; i++) y->at[i] = s;
}

void eval_iota(EvalCtx *c, const Op *op) {
  Tensor *y = eval_out(c, op);
  int64_t *stride = ARENA_ARRAY(c->scratch, int64_t, y->type->rank + 1);
  stride[op->attr[AT_AXIS].i] = 1;
  bool is_float = dtype_is_float(y->type->dtype);
  for (StridedIter w = strided_new(c->scratch, y->type, 0, stride); strided_more(&w);
       strided_next(&w)) {
    Scalar s = is_float ? (Scalar){.f = (double)w.to} : (Scalar){.i = w.to};
    y->at[w.from] = scalar_round(s, y->type->dtype, c->it->mode);
  }
}
