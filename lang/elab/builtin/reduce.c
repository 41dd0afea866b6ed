/* Built-in functions that reduce axes; max and min also of two values.
   Contract: a sum of bools or bytes is an i32, a mean of integers an f32. */
#include "lang/elab/builtin/builtin.h"

/* A sum of floats begins with -0, so that one of -0 alone is -0; that of no elements is 0, where a
   run may have none, as of x[1:]. */
static Val sum_of_any(BuiltinCall *s, Val sum, const Type *of, const Ints *axes) {
  Elab *e = s->e;
  for (int i = 0; i < axes->n; i++) {
    int64_t axis = type_axis(of, (int)axes->at[i]);
    if (!axis_may_lack(e->c, axis, 1)) continue;
    Val some = expr_binary(e, BIN_GT, val_dim(axis, s->loc), val_int(0, s->loc), s->loc);
    sum =
        tensor_elementwise(e, OP_WHERE, (Val[]){some, sum, val_num(0, s->loc)}, 3, s->name, s->loc);
  }
  return sum;
}

static Val reduced(BuiltinCall *s, OpKind k, Val x, const Ints *axes, bool keep) {
  Elab *e = s->e;
  if (axes->n == 0) return x;
  Builder *b = elab_at(e, s->loc);
  ValueId id = keep ? build_reduce_keep(b, k, x.tensor.id, axes->at, axes->n)
                    : build_reduce(b, k, x.tensor.id, axes->at, axes->n);
  const bool floats = k == OP_SUM && dtype_is_float(x.tensor.type->dtype);
  return floats ? sum_of_any(s, val_tensor(e, id), x.tensor.type, axes) : val_tensor(e, id);
}

/* A root whose slope at 0 is 0, where that of sqrt is infinite and would make NaN of a row of
   zeros. The root of 1 is taken there, in place of the one of 0. */
static Val flat_root(BuiltinCall *s, Val x) {
  Elab *e = s->e;
  if (x.kind == VAL_ERROR) return x;
  const Val zero = val_num(0, s->loc), none = tensor_binary(e, BIN_EQ, x, zero, s->loc);
  Val safe =
      tensor_elementwise(e, OP_WHERE, (Val[]){none, val_num(1, s->loc), x}, 3, s->name, s->loc);
  Val root = build_checked(e, OP_SQRT, &safe, 1, NULL, NULL, s->name, s->loc);
  return tensor_elementwise(e, OP_WHERE, (Val[]){none, zero, root}, 3, s->name, s->loc);
}

/* The product of a list of dims is one. */
static Val product_of_list(BuiltinCall *s) {
  Val p = val_int(1, s->loc);
  const ValList *x = arg(s, "x").list;
  for (int i = 0; i < x->n && p.kind != VAL_ERROR; i++)
    p = expr_binary(s->e, BIN_MUL, p, x->at[i], s->loc);
  return p;
}

static bool has_no_axes(BuiltinCall *s) {
  if (arg(s, "axis").kind == VAL_NONE && !arg(s, "keep").b) return true;
  elab_fail(s->e, s->loc, "%s of a tree takes all elements of all leaves, without axis and keep",
            s->name);
  return false;
}

static Val sum_of_all(Elab *e, Val x, Loc loc) {
  int rank = x.tensor.type->rank;
  int64_t *axes = ARENA_ARRAY(e->a, int64_t, rank + 1);
  for (int k = 0; k < rank; k++) axes[k] = k;
  return rank ? val_tensor(e, build_reduce(elab_at(e, loc), OP_SUM, x.tensor.id, axes, rank)) : x;
}

Val sum_of_squares(Elab *e, const Val *x, int n, Loc loc) {
  Val total = val_num(0, loc);
  for (int i = 0; i < n; i++) {
    Val g = val_convert(e, x[i], x[i].tensor.type->dtype == DT_F64 ? DT_F64 : DT_F32);
    Val sum = sum_of_all(e, tensor_binary(e, BIN_MUL, g, g, loc), loc);
    total = i ? tensor_binary(e, BIN_ADD, total, sum, loc) : sum;
  }
  return total;
}

/* The elements of all leaves, summed leaf by leaf in the order of the paths. */
static Val sum_of_tree(BuiltinCall *s, Val tree) {
  Elab *e = s->e;
  Val total = error_value;
  for (int i = 0; i < tree.list->n; i++) {
    Val x = val_to_tensor(e, tree.list->at[i], s->name, s->loc);
    if (x.kind == VAL_ERROR) return x;
    Dtype dt = x.tensor.type->dtype;
    elab_at(e, s->loc);
    x = sum_of_all(e, dtype_is_byte(dt) ? val_convert(e, x, DT_I32) : x, s->loc);
    total = i ? tensor_binary(e, BIN_ADD, total, x, s->loc) : x;
    if (total.kind == VAL_ERROR) return total;
  }
  return total;
}

static bool all_floats(BuiltinCall *s, const Val *x, int n) {
  for (int i = 0; i < n; i++) {
    if (x[i].kind == VAL_TENSOR && dtype_is_float(x[i].tensor.type->dtype)) continue;
    elab_error(s->e, arg_loc(s, "x"), "%s needs floats, found %s", s->name, val_str(s->e, x[i]));
    if (x[i].kind == VAL_TENSOR) elab_hint(s->e, "convert: %s(f32(x))", s->name);
    return elab_trace(s->e), false;
  }
  return true;
}

Val builtin_norm(BuiltinCall *s) {
  Elab *e = s->e;
  Val x = arg(s, "x"), square;
  const Ints *axes;
  elab_at(e, s->loc);
  if (x.kind == VAL_TREE) {
    if (!has_no_axes(s) || !all_floats(s, x.list->at, x.list->n)) return error_value;
    square = sum_of_squares(e, x.list->at, x.list->n, s->loc);
  } else {
    x = arg_tensor(s, "x");
    if (!all_floats(s, &x, 1) || !arg_axes(s, "axis", x, &axes)) return error_value;
    x = val_convert(e, x, dtype_sum(x.tensor.type->dtype));
    square = reduced(s, OP_SUM, tensor_binary(e, BIN_MUL, x, x, s->loc), axes, arg(s, "keep").b);
  }
  return flat_root(s, square);
}

Val builtin_reduce(BuiltinCall *s) {
  Elab *e = s->e;
  const Ints *axes;
  if (arg(s, "x").kind == VAL_TREE)
    return has_no_axes(s) ? sum_of_tree(s, arg(s, "x")) : error_value;
  if (s->f->data == OP_PROD && arg(s, "x").kind == VAL_LIST) return product_of_list(s);
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR || !arg_axes(s, "axis", x, &axes)) return error_value;
  Dtype dt = x.tensor.type->dtype;
  elab_at(e, s->loc);
  if (dtype_is_byte(dt)) x = val_convert(e, x, DT_I32); /* a byte overflows at once */
  return reduced(s, (OpKind)s->f->data, x, axes, arg(s, "keep").b);
}

static Val mean_over(BuiltinCall *s, Val x, const Ints *axes, bool keep) {
  const Type *t = x.tensor.type;
  int64_t n = 1;
  Val count = val_int(1, s->loc); /* of run-time extents, too */
  for (int i = 0; i < axes->n; i++) {
    n *= t->dim[axes->at[i]];
    count =
        expr_binary(s->e, BIN_MUL, count, val_dim(type_axis(t, (int)axes->at[i]), s->loc), s->loc);
  }
  Dtype dt = x.tensor.type->dtype;
  if (n == 1) return reduced(s, OP_SUM, x, axes, keep);
  Val sum = reduced(s, OP_SUM, val_convert(s->e, x, dtype_sum(dt)), axes, keep);
  return val_convert(s->e, tensor_binary(s->e, BIN_DIV, sum, count, s->loc), dt);
}

/* mean, with data 1 the variance, with 2 its root */
Val builtin_mean(BuiltinCall *s) {
  Elab *e = s->e;
  const Ints *axes;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR || !arg_axes(s, "axis", x, &axes)) return error_value;
  elab_at(e, s->loc);
  if (!dtype_is_float(x.tensor.type->dtype)) x = val_convert(e, x, DT_F32);
  if (s->f->data == 0) return mean_over(s, x, axes, arg(s, "keep").b);
  Val v = reduced(s, OP_VARIANCE, x, axes, arg(s, "keep").b);
  return s->f->data == 1 ? v : flat_root(s, v);
}

Val builtin_extreme(BuiltinCall *s) {
  Elab *e = s->e;
  OpKind k = (OpKind)s->f->data;
  const Ints *axes;
  if (arg(s, "y").kind != VAL_NONE) {
    if (!arg_is_given(s, "axis") && !arg_is_given(s, "keep"))
      return min_or_max(e, k, arg(s, "x"), arg(s, "y"), s->name, s->loc);
    return elab_fail(e, arg_loc(s, "y"), "%s of two values has no axis; a reduction has one value",
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
