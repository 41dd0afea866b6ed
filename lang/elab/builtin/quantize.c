/* Built-in functions of quantized tensors: quantize and dequantize. Contract: integers of 8 bits
   are i8, pairs of 4 bits are u8, so that the dtype tells the bits; but integers of 16 bits are two
   i8, which the call says. */
#include "lang/elab/builtin/builtin.h"

Val builtin_quantize(BuiltinCall *s) {
  Elab *e = s->e;
  Val x = arg_tensor(s, "x");
  int64_t axis;
  if (x.kind == VAL_ERROR || !arg_axis(s, "axis", x, &axis)) return error_value;
  Attr attr[MAX_ATTRS] = {
      [AT_AXIS].i = axis, [AT_BITS].i = arg(s, "bits").i, [AT_GROUP].i = arg(s, "group").i};
  Val scale = build_checked(e, OP_QUANTIZE_SCALE, &x, 1, attr, NULL, s->name, s->loc);
  if (scale.kind == VAL_ERROR) return scale;
  Val in[2] = {x, scale};
  Val v[2] = {build_checked(e, OP_QUANTIZE, in, 2, attr, NULL, s->name, s->loc), scale};
  return v[0].kind == VAL_ERROR ? v[0] : val_list(e, VAL_TUPLE, v, 2, s->loc);
}

Val builtin_dequantize(BuiltinCall *s) {
  Elab *e = s->e;
  Val q = arg_tensor(s, "q"), scale = arg_tensor(s, "scale"), n = arg(s, "extent");
  int64_t axis;
  if (q.kind == VAL_ERROR || scale.kind == VAL_ERROR || !arg_axis(s, "axis", q, &axis))
    return error_value;
  const Type *t = q.tensor.type;
  if (t->dtype != DT_I8 && t->dtype != DT_U8)
    return elab_fail(e, arg_loc(s, "q"),
                     "%s needs integers of 8 bits in i8, or pairs of 4 bits in u8, found %s",
                     s->name, val_str(e, q));
  const Val told = arg(s, "bits");
  const int64_t bits = told.kind != VAL_NONE ? told.i : t->dtype == DT_U8 ? 4 : 8;
  const int64_t all = t->dim[axis];
  const int64_t extent = n.kind != VAL_NONE ? n.i
                         : bits == 4        ? all * 2
                         : bits == 16       ? all / 2
                                            : all;
  const Type *wide = type_with_dtype(e->c, t, arg(s, "dtype").dtype);
  wide = wide ? type_with_extent(e->c, wide, (int)axis, extent) : NULL;
  if (!wide)
    return elab_fail(e, s->loc, "a tensor of this shape has more bytes than can be addressed");
  Attr attr[MAX_ATTRS] = {[AT_AXIS].i = axis, [AT_BITS].i = bits, [AT_GROUP].i = arg(s, "group").i};
  Val in[2] = {q, scale};
  return build_checked(e, OP_DEQUANTIZE, in, 2, attr, wide, s->name, s->loc);
}
