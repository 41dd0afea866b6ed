/* Built-in functions: element-wise, reductions, softmax, gather.
   Contract: an element-wise function of a number is a number. A sum of bools or bytes is an i32, a
   mean of integers an f32. */
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
  if (val_is_number(v)) return number_function(s->e, k, v, s->loc);
  if (v.kind == VAL_BOOL)
    return fail(s->e, arg_loc(s, "x"), "%s needs a number, found %s", s->name, val_str(s->e, v));
  if (!op_info[k].iexpr && !dtype_is_float(v.tensor.type->dtype)) return needs_float(s, v);
  return build_checked(s->e, k, &v, 1, NULL, NULL, s->name, s->loc);
}

Val builtin_unary_op(BuiltinCall *s) {
  Val x = arg(s, "x");
  return build_checked(s->e, (OpKind)s->f->data, &x, 1, NULL, NULL, s->name, s->loc);
}

/* The op's operands are the arguments, in their order. */
Val builtin_pair_op(BuiltinCall *s) {
  const Bound *b = s->bound;
  Val v[2] = {val_to_tensor(s->e, b[0].v, s->name, b[0].loc), b[1].v};
  return build_checked(s->e, (OpKind)s->f->data, v, 2, NULL, NULL, s->name, s->loc);
}

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

/* max or min of two values, numbers or tensors. */
static Val min_or_max(Elab *e, OpKind k, Val a, Val b, const char *what, Loc loc) {
  if (a.kind != VAL_TENSOR && b.kind != VAL_TENSOR) {
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

/* ---- reductions ---- */

static Val reduced(BuiltinCall *s, OpKind k, Val x, const Ints *axes, bool keep) {
  Elab *e = s->e;
  if (axes->n == 0) return x;
  Builder *b = at(e, s->loc);
  ValueId id = keep ? build_reduce_keep(b, k, x.tensor.id, axes->at, axes->n)
                    : build_reduce(b, k, x.tensor.id, axes->at, axes->n);
  return val_tensor(e, id);
}

/* The product of a list of dims is one. */
static Val product_of_list(BuiltinCall *s) {
  Val p = val_int(1, s->loc);
  const ValList *x = arg(s, "x").list;
  for (int i = 0; i < x->n && p.kind != VAL_ERROR; i++)
    p = expr_binary(s->e, BIN_MUL, p, x->at[i], s->loc);
  return p;
}

Val builtin_reduce(BuiltinCall *s) {
  Elab *e = s->e;
  const Ints *axes;
  if (s->f->data == OP_PROD && arg(s, "x").kind == VAL_LIST) return product_of_list(s);
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR || !arg_axes(s, "axis", x, &axes)) return error_value;
  Dtype dt = x.tensor.type->dtype;
  at(e, s->loc);
  if (dt == DT_BOOL || dt == DT_U8) x = val_convert(e, x, DT_I32); /* a byte overflows at once */
  return reduced(s, (OpKind)s->f->data, x, axes, arg(s, "keep").b);
}

static Val mean_over(BuiltinCall *s, Val x, const Ints *axes, bool keep) {
  int64_t n = 1;
  for (int i = 0; i < axes->n; i++) n *= x.tensor.type->dim[axes->at[i]];
  Dtype dt = x.tensor.type->dtype;
  if (n == 1) return reduced(s, OP_SUM, x, axes, keep);
  Val sum = reduced(s, OP_SUM, val_convert(s->e, x, dtype_sum(dt)), axes, keep);
  return val_convert(s->e, tensor_binary(s->e, BIN_DIV, sum, val_int(n, s->loc), s->loc), dt);
}

/* mean, and with data 1 the variance */
Val builtin_mean(BuiltinCall *s) {
  Elab *e = s->e;
  const Ints *axes;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR || !arg_axes(s, "axis", x, &axes)) return error_value;
  at(e, s->loc);
  if (!dtype_is_float(x.tensor.type->dtype)) x = val_convert(e, x, DT_F32);
  if (s->f->data == 0) return mean_over(s, x, axes, arg(s, "keep").b);
  return reduced(s, OP_VARIANCE, x, axes, arg(s, "keep").b);
}

Val builtin_extreme(BuiltinCall *s) {
  Elab *e = s->e;
  OpKind k = (OpKind)s->f->data;
  const Ints *axes;
  if (arg(s, "y").kind != VAL_NONE) {
    if (!arg_is_given(s, "axis") && !arg_is_given(s, "keep"))
      return min_or_max(e, k, arg(s, "x"), arg(s, "y"), s->name, s->loc);
    return fail(e, arg_loc(s, "y"), "%s of two values has no axis; a reduction has one value",
                s->name);
  }
  Val x = arg(s, "x");
  if (x.kind == VAL_LIST && x.list->n > 0 && x.list->at[0].kind != VAL_TENSOR) {
    Val best = x.list->at[0];
    for (int i = 1; i < x.list->n && best.kind != VAL_ERROR; i++)
      best = min_or_max(e, k, best, x.list->at[i], s->name, s->loc);
    return best;
  }
  x = val_to_tensor(e, x, s->name, arg_loc(s, "x"));
  if (x.kind == VAL_ERROR || !arg_axes(s, "axis", x, &axes)) return error_value;
  return reduced(s, k == OP_MAX ? OP_REDUCE_MAX : OP_REDUCE_MIN, x, axes, arg(s, "keep").b);
}

Val builtin_arg_extreme(BuiltinCall *s) {
  Elab *e = s->e;
  int64_t axis;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR) return x;
  if (!arg_axis(s, "axis", x, &axis)) return error_value;
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = axis}};
  return build_checked(e, (OpKind)s->f->data, &x, 1, attr, NULL, s->name, s->loc);
}

/* softmax and log_softmax work on the last axis; another one is moved there and back. */
Val builtin_rows(BuiltinCall *s) {
  Elab *e = s->e;
  OpKind k = (OpKind)s->f->data;
  Val x = arg(s, "x");
  int rank = x.tensor.type->rank;
  int64_t axis;
  if (!arg_axis(s, "axis", x, &axis)) return error_value;
  if (axis == rank - 1) return build_checked(e, k, &x, 1, NULL, NULL, s->name, s->loc);
  ValueId y = build1(at(e, s->loc), k, swap_last(e, x.tensor.id, axis));
  return val_tensor(e, swap_last(e, y, axis));
}
