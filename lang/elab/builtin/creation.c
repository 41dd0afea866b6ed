/* Built-in functions that create tensors: constants, iota, one_hot, masks.
   Contract: in an initialiser shape and dtype default to the declared ones. */
#include "lang/elab/builtin/builtin.h"

#include <math.h>

const Type *type_of_shape(BuiltinCall *s, const char *shape, Dtype dt) {
  Elab *e = s->e;
  Val v = arg(s, shape);
  if (v.kind == VAL_NONE) {
    elab_error(e, s->loc, "%s needs its argument '%s'", s->name, shape);
    elab_hint(e, "only an initialiser knows its shape; elsewhere write shape = [n, …]");
    return elab_trace(e), NULL;
  }
  const Ints *dims = val_to_dims(e, v, "a dim", arg_loc(s, shape));
  const Type *t = dims ? type_get(e->c, dt, dims->n, dims->at) : NULL;
  if (dims && !t)
    elab_fail(e, arg_loc(s, shape), "a tensor of this shape has more bytes than can be addressed");
  return t;
}

/* The dtype argument, else that of an initialiser, else what the value is in itself. */
static Dtype wanted_dtype(BuiltinCall *s, Val dtype, Val value) {
  if (dtype.kind == VAL_DTYPE) return dtype.dtype;
  if (value.kind == VAL_TENSOR) return value.tensor.type->dtype;
  if (s->e->init_shape) return s->e->init_dtype;
  return value.kind == VAL_BOOL                     ? DT_BOOL
         : value.kind == VAL_INT && s->f->data == 2 ? DT_I32
                                                    : DT_F32;
}

static Val filled(BuiltinCall *s, Val value, Dtype dt, Loc loc) {
  Elab *e = s->e;
  const Type *t = type_of_shape(s, "shape", dt);
  if (!t) return error_value;
  if (value.kind == VAL_BOOL && dt != DT_BOOL) value = val_int(value.b, value.loc);
  if (value.kind != VAL_TENSOR && dt == DT_BOOL && value.kind == VAL_INT && s->f->data < 2)
    value = val_bool(value.i != 0, value.loc); /* zeros and ones of bool */
  if (value.kind != VAL_TENSOR) return val_to_const(e, value, t, loc);
  elab_at(e, s->loc);
  value = val_convert(e, value, dt);
  return build_checked(e, OP_BROADCAST, &value, 1, NULL, t, s->name, s->loc);
}

Val builtin_full(BuiltinCall *s) {
  bool whole = arg(s, "value").kind == VAL_INT && arg(s, "dtype").kind == VAL_NONE;
  Dtype dt = whole ? DT_I32 : wanted_dtype(s, arg(s, "dtype"), arg(s, "value"));
  return filled(s, arg(s, "value"), dt, arg_loc(s, "value"));
}

/* zeros, ones, and with data 2 const(value) */
Val builtin_constant(BuiltinCall *s) {
  bool given = s->f->data == 2;
  Val value = given ? arg(s, "value") : val_int(s->f->data, s->loc);
  return filled(s, value, wanted_dtype(s, arg(s, "dtype"), value), s->loc);
}

Val builtin_iota(BuiltinCall *s) {
  Elab *e = s->e;
  const Type *t = type_of_shape(s, "n", arg(s, "dtype").dtype);
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = 0}};
  if (!t) return error_value;
  if (!val_int_fits(t->numel - 1, t->dtype))
    return elab_fail(e, s->loc, "iota has elements that %s %s cannot hold",
                     t->dtype == DT_U8 ? "a" : "an", dtype_name(t->dtype));
  return build_checked(e, OP_IOTA, NULL, 0, attr, t, s->name, s->loc);
}

/* numpy's: element i is a + i step, and there are ceil((b - a) / step). */
Val builtin_arange(BuiltinCall *s) {
  Elab *e = s->e;
  bool one = arg(s, "b").kind == VAL_NONE;
  Val a = one ? val_int(0, s->loc) : arg(s, "a"), b = arg(s, one ? "a" : "b"), by = arg(s, "step");
  bool whole = a.kind == VAL_INT && b.kind == VAL_INT && by.kind == VAL_INT;
  if (val_number(by) == 0) return elab_fail(e, arg_loc(s, "step"), "the step must not be 0");
  if (a.kind == VAL_EXTENT || b.kind == VAL_EXTENT) {
    if (a.kind != VAL_INT || a.i != 0 || by.kind != VAL_INT || by.i != 1)
      return elab_fail(e, s->loc, "arange to an extent begins at 0 and has the step 1");
    const Type *to = type_get(e->c, DT_I32, 1, &b.extent.axis);
    return build_checked(e, OP_IOTA, NULL, 0, (Attr[MAX_ATTRS]){[AT_AXIS] = {.i = 0}}, to, s->name,
                         s->loc);
  }
  double n = ceil((val_number(b) - val_number(a)) / val_number(by));
  if (!(n >= 1) || n > INT32_MAX)
    return elab_fail(e, s->loc,
                     n > 0 ? "arange has more elements than an i32 counts"
                           : "arange is empty: step leads from a to nothing before b");
  const Type *t = type_get(e->c, DT_I32, 1, &(int64_t){(int64_t)n});
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = 0}};
  Val x = build_checked(e, OP_IOTA, NULL, 0, attr, t, s->name, s->loc);
  int64_t last;
  if (whole &&
      (__builtin_mul_overflow((int64_t)n - 1, by.i, &last) ||
       __builtin_add_overflow(last, a.i, &last) || last != (int32_t)last || a.i != (int32_t)a.i))
    return elab_fail(e, s->loc, "arange has elements that an i32 cannot hold");
  if (!whole) x = val_convert(e, x, DT_F32);
  if (val_number(by) != 1) x = tensor_binary(e, BIN_MUL, x, by, s->loc);
  return val_number(a) == 0 ? x : tensor_binary(e, BIN_ADD, x, a, s->loc);
}

Val builtin_causal(BuiltinCall *s) {
  Elab *e = s->e;
  Val n = arg(s, "n");
  int64_t axis = n.kind == VAL_EXTENT ? n.extent.axis : n.i, dim[2] = {axis, axis};
  const Type *t = type_get(e->c, DT_I32, 2, dim);
  if (!t)
    return elab_fail(e, arg_loc(s, "n"),
                     "a mask of this size has more bytes than can be addressed");
  Attr row[MAX_ATTRS] = {[AT_AXIS] = {.i = 0}}, column[MAX_ATTRS] = {[AT_AXIS] = {.i = 1}};
  Builder *b = elab_at(e, s->loc);
  ValueId r = build(b, OP_IOTA, NULL, 0, row, t), c = build(b, OP_IOTA, NULL, 0, column, t);
  return val_tensor(e, build2(b, OP_GE, r, c));
}

Val builtin_one_hot(BuiltinCall *s) {
  Elab *e = s->e;
  const Type *ids = arg(s, "ids").tensor.type;
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, ids->rank + 1);
  for (int i = 0; i < ids->rank; i++) dim[i] = type_axis(ids, i);
  dim[ids->rank] = arg(s, "n").i;
  const Type *t = type_get(e->c, arg(s, "dtype").dtype, ids->rank + 1, dim);
  if (!t)
    return elab_fail(e, arg_loc(s, "n"),
                     "a tensor of this shape has more bytes than can be addressed");
  Attr attr[MAX_ATTRS] = {[AT_DEPTH] = {.i = arg(s, "n").i}};
  Val x = arg(s, "ids");
  return build_checked(e, OP_ONE_HOT, &x, 1, attr, t, s->name, s->loc);
}
