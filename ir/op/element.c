/* Element-wise ops: shape rules, gradients, and the evaluation made of the texts in ops.def.
   Contract: operands of one op have equal shapes (the elaborator broadcasts before); a gradient
   rule names only the values it reads, results where they suffice, so that operands can die early.
 */
#include "ir/op/op.h"

/* ---- shapes ---- */

static bool all_equal(const ShapeIn *in) {
  for (int i = 1; i < in->n; i++)
    if (!shape_equal(in, 0, i)) return false;
  return true;
}

const Type *shape_arith(const ShapeIn *in) {
  bool logic = in->kind == OP_MIN || in->kind == OP_MAX; /* and, or under their other names */
  for (int i = 0; i < in->n && !logic; i++)
    if (in->type[i]->dtype == DT_BOOL)
      return shape_wrong(in, "needs numbers, not %s: convert with f32(x) or i32(x)",
                         shape_str(in, in->type[i]));
  return all_equal(in) ? in->type[0] : NULL;
}

const Type *shape_float(const ShapeIn *in) {
  for (int i = 0; i < in->n; i++)
    if (!dtype_is_float(in->type[i]->dtype))
      return shape_wrong(in, "needs floats, not %s: convert with f32(x)",
                         shape_str(in, in->type[i]));
  return all_equal(in) ? in->type[0] : NULL;
}

const Type *shape_logic(const ShapeIn *in) {
  for (int i = 0; i < in->n; i++)
    if (in->type[i]->dtype != DT_BOOL)
      return shape_wrong(in, "needs bool, not %s: compare first, as in x != 0",
                         shape_str(in, in->type[i]));
  return all_equal(in) ? in->type[0] : NULL;
}

const Type *shape_convert(const ShapeIn *in) {
  if (!in->given) return shape_given(in);
  if (!shape_same_dims(in->given, in->type[0]))
    return shape_wrong(in, "keeps the shape: %s cannot become %s", shape_str(in, in->type[0]),
                       shape_str(in, in->given));
  return in->given;
}

const Type *shape_compare(const ShapeIn *in) {
  return all_equal(in) ? type_with_dtype(in->ctx, in->type[0], DT_BOOL) : NULL;
}

const Type *shape_where(const ShapeIn *in) {
  if (in->type[0]->dtype != DT_BOOL)
    return shape_wrong(in, "needs a bool condition, not %s", shape_str(in, in->type[0]));
  if (!shape_equal(in, 1, 2)) return NULL;
  if (!shape_same_dims(in->type[0], in->type[1]))
    return shape_wrong(in, "needs equal shapes: condition %s against %s",
                       shape_str(in, in->type[0]), shape_str(in, in->type[1]));
  return in->type[1];
}
