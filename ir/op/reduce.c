/* Reductions over axes, and the indices of the largest and the smallest.
   Contract: axes are ascending and dropped. Sums and products accumulate in double (integers in 64
   bits) and are rounded once, so a target's result agrees within a tolerance, not in every bit.
   Over an empty axis a sum is 0 and a product 1; there is no largest or smallest. */
#include "ir/op/op.h"

/* ---- shapes ---- */

const Type *shape_reduce(const ShapeIn *in) {
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
