/* Leaves: constants, index ramps and random numbers.
   Contract: the wanted type is part of the op; randoms are a function of (seed, step, key,
   position) as interp.h defines, never of order. */
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

const Type *shape_random(const ShapeIn *in) {
  const Type *t = in->given;
  if (!t) return shape_given(in);
  if (!dtype_is_float(t->dtype)) return shape_wrong(in, "gives floats, not %s", shape_str(in, t));
  if (!in->attr[AT_KEY].str) return shape_wrong(in, "needs a key");
  return t;
}
