/* Built-in functions: element-wise ones, where, clamp, stop_gradient.
   Contract: an element-wise function of a number is a number. */
#include "lang/elab/builtin/builtin.h"

static Val needs_float(BuiltinCall *s, Val v) {
  const char *name = value_at(s->e->run->entry, v.tensor.id)->name;
  elab_error(s->e, arg_loc(s, "x"), "%s needs floats, found %s", s->name, val_str(s->e, v));
  elab_note_tensor(s->e, "it", v);
  elab_hint(s->e, "convert: %s(f32(%s))", s->name, name ? name : "x");
  return elab_trace(s->e);
}

Val builtin_elementwise(BuiltinCall *s) {
  OpKind k = (OpKind)s->f->data;
  Val v = arg(s, "x");
  if (val_is_number(v) || v.kind == VAL_EXTENT) return number_function(s->e, k, v, s->loc);
  if (v.kind == VAL_BOOL)
    return elab_fail(s->e, arg_loc(s, "x"), "%s needs a number, found %s", s->name,
                     val_str(s->e, v));
  if (!op_info[k].iexpr && !dtype_is_float(v.tensor.type->dtype)) return needs_float(s, v);
  return build_checked(s->e, k, &v, 1, NULL, NULL, s->name, s->loc);
}

Val builtin_unary_op(BuiltinCall *s) {
  Val x = arg(s, "x");
  return build_checked(s->e, (OpKind)s->f->data, &x, 1, NULL, NULL, s->name, s->loc);
}

/* A number becomes a scalar of the dtype. */
Val builtin_type_as(BuiltinCall *s) {
  Val like = arg_tensor(s, "like"), x = arg(s, "x");
  if (like.kind == VAL_ERROR) return like;
  Dtype dt = like.tensor.type->dtype;
  if (x.kind != VAL_TENSOR) return val_to_const(s->e, x, type_scalar(s->e->c, dt), arg_loc(s, "x"));
  return val_convert(s->e, x, dt);
}

/* In the prelude it is the user's call that is wrong. */
Val builtin_error(BuiltinCall *s) { return elab_fail(s->e, s->loc, "%s", arg(s, "message").str); }

Val builtin_where(BuiltinCall *s) {
  Elab *e = s->e;
  if (arg(s, "c").kind == VAL_BOOL) return arg(s, "c").b ? arg(s, "a") : arg(s, "b");
  if (arg(s, "c").kind != VAL_TENSOR || arg(s, "c").tensor.type->dtype != DT_BOOL) {
    elab_error(e, arg_loc(s, "c"), "where needs bools for 'c', found %s", val_str(e, arg(s, "c")));
    if (arg(s, "c").kind == VAL_TENSOR) elab_hint(e, "compare first, as in where(x != 0, a, b)");
    return elab_trace(e);
  }
  return tensor_elementwise(e, OP_WHERE, (Val[]){arg(s, "c"), arg(s, "a"), arg(s, "b")}, 3, "where",
                            s->loc);
}

Val min_or_max(Elab *e, OpKind k, Val a, Val b, const char *what, Loc loc) {
  if (a.kind != VAL_TENSOR && b.kind != VAL_TENSOR) {
    bool numbers =
        (a.kind == VAL_EXTENT || val_is_number(a)) && (b.kind == VAL_EXTENT || val_is_number(b));
    if (numbers && (a.kind == VAL_EXTENT || b.kind == VAL_EXTENT))
      return extent_best(e, k, a, b, loc);
    Val less = number_binary(e, BIN_LT, a, b, loc);
    if (less.kind == VAL_ERROR) return less;
    return less.b == (k == OP_MIN) ? a : b;
  }
  Val v[2] = {a, b};
  return tensor_elementwise(e, k, v, 2, what, loc);
}

Val builtin_clamp(BuiltinCall *s) {
  Val v = arg(s, "x");
  if (arg(s, "lo").kind != VAL_NONE) v = min_or_max(s->e, OP_MAX, v, arg(s, "lo"), s->name, s->loc);
  if (arg(s, "hi").kind != VAL_NONE && v.kind != VAL_ERROR)
    v = min_or_max(s->e, OP_MIN, v, arg(s, "hi"), s->name, s->loc);
  return v;
}
