/* Built-in functions that compute: element-wise, reductions, rows, gather.
   Contract: of numbers an element-wise function is a number; a sum of bools or bytes counts in i32;
   a mean of integers is an f32. */
#include "lang/elab/builtin/builtin.h"

static Val needs_float(BuiltinCall *s, Val v) {
  const char *name = value_at(s->e->run->entry, v.tensor.id)->name;
  elab_error(s->e, s->at[0], "%s needs floats, found %s", s->name, val_str(s->e, v));
  elab_note_tensor(s->e, "it", v);
  elab_hint(s->e, "convert: %s(f32(%s))", s->name, name ? name : "x");
  return elab_trace(s->e);
}

Val builtin_elementwise(BuiltinCall *s) {
  OpKind k = (OpKind)s->f->data;
  Val v = s->v[0];
  if (val_is_number(v)) return number_function(s->e, k, v, s->loc);
  if (v.kind == VAL_BOOL)
    return fail(s->e, s->at[0], "%s needs a number, found %s", s->name, val_str(s->e, v));
  if (!op_info[k].iexpr && !dtype_is_float(v.tensor.type->dtype)) return needs_float(s, v);
  return build_checked(s->e, k, &v, 1, NULL, NULL, s->name, s->loc);
}

Val builtin_unary_op(BuiltinCall *s) {
  return build_checked(s->e, (OpKind)s->f->data, s->v, 1, NULL, NULL, s->name, s->loc);
}

Val builtin_pair_op(BuiltinCall *s) {
  Val v[2] = {val_to_tensor(s->e, s->v[0], s->name, s->at[0]), s->v[1]};
  return build_checked(s->e, (OpKind)s->f->data, v, 2, NULL, NULL, s->name, s->loc);
}

Val builtin_where(BuiltinCall *s) {
  Elab *e = s->e;
  if (s->v[0].kind == VAL_BOOL) return s->v[0].b ? s->v[1] : s->v[2];
  if (s->v[0].kind != VAL_TENSOR || s->v[0].tensor.type->dtype != DT_BOOL) {
    elab_error(e, s->at[0], "where needs bools for 'c', found %s", val_str(e, s->v[0]));
    if (s->v[0].kind == VAL_TENSOR) elab_hint(e, "compare first, as in where(x != 0, a, b)");
    return elab_trace(e);
  }
  return tensor_elementwise(e, OP_WHERE, s->v, 3, "where", s->loc);
}

/* max or min of two values, numbers or tensors. */
static Val pick(Elab *e, OpKind k, Val a, Val b, const char *what, Loc loc) {
  if (a.kind != VAL_TENSOR && b.kind != VAL_TENSOR) {
    Val less = number_binary(e, BIN_LT, a, b, loc);
    if (less.kind == VAL_ERROR) return less;
    return less.b == (k == OP_MIN) ? a : b;
  }
  Val v[2] = {a, b};
  return tensor_elementwise(e, k, v, 2, what, loc);
}

Val builtin_clamp(BuiltinCall *s) {
  Val v = s->v[0];
  if (s->v[1].kind != VAL_NONE) v = pick(s->e, OP_MAX, v, s->v[1], s->name, s->loc);
  if (s->v[2].kind != VAL_NONE && v.kind != VAL_ERROR)
    v = pick(s->e, OP_MIN, v, s->v[2], s->name, s->loc);
  return v;
}

/* ---- reductions ---- */

/* The axes of x, ascending; all for none. False after an error. */
static bool axes_of(BuiltinCall *s, Val x, int arg, const Ints **out) {
  Elab *e = s->e;
  int rank = x.tensor.type->rank, n = 0;
  int64_t *axes = ARENA_ARRAY(e->a, int64_t, rank + 1);
  bool *taken = ARENA_ARRAY(e->a, bool, rank + 1);
  Val v = s->v[arg];
  if (v.kind == VAL_NONE)
    for (int i = 0; i < rank; i++) taken[i] = true;
  for (int i = 0; v.kind == VAL_LIST && i < v.list->n; i++) {
    int64_t axis;
    if (!axis_of(e, v.list->at[i].i, rank, x, s->name, s->at[arg], &axis)) return false;
    if (taken[axis])
      return fail(e, s->at[arg], "%s names axis %lld twice", s->name, (long long)axis), false;
    taken[axis] = true;
  }
  for (int i = 0; i < rank; i++)
    if (taken[i]) axes[n++] = i;
  *out = intern_ints(e->c, axes, n);
  return true;
}

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
  for (int i = 0; i < s->v[0].list->n && p.kind != VAL_ERROR; i++)
    p = expr_binary(s->e, BIN_MUL, p, s->v[0].list->at[i], s->loc);
  return p;
}

Val builtin_reduce(BuiltinCall *s) {
  Elab *e = s->e;
  const Ints *axes;
  if (s->f->data == OP_PROD && s->v[0].kind == VAL_LIST) return product_of_list(s);
  Val x = val_to_tensor(e, s->v[0], s->name, s->at[0]);
  if (x.kind == VAL_ERROR || !axes_of(s, x, 1, &axes)) return error_value;
  Dtype dt = x.tensor.type->dtype;
  at(e, s->loc);
  if (dt == DT_BOOL || dt == DT_U8) x = val_convert(e, x, DT_I32); /* a byte overflows at once */
  return reduced(s, (OpKind)s->f->data, x, axes, s->v[2].b);
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
  Val x = val_to_tensor(e, s->v[0], s->name, s->at[0]);
  if (x.kind == VAL_ERROR || !axes_of(s, x, 1, &axes)) return error_value;
  at(e, s->loc);
  if (!dtype_is_float(x.tensor.type->dtype)) x = val_convert(e, x, DT_F32);
  if (s->f->data == 0) return mean_over(s, x, axes, s->v[2].b);
  return reduced(s, OP_VARIANCE, x, axes, s->v[2].b);
}

Val builtin_extreme(BuiltinCall *s) {
  Elab *e = s->e;
  OpKind k = (OpKind)s->f->data;
  const Ints *axes;
  if (s->v[1].kind != VAL_NONE) {
    if (!s->given[2] && !s->given[3]) return pick(e, k, s->v[0], s->v[1], s->name, s->loc);
    return fail(e, s->at[1], "%s of two values has no axis; a reduction has one value", s->name);
  }
  Val x = s->v[0];
  if (x.kind == VAL_LIST && x.list->n > 0 && x.list->at[0].kind != VAL_TENSOR) {
    Val best = x.list->at[0];
    for (int i = 1; i < x.list->n && best.kind != VAL_ERROR; i++)
      best = pick(e, k, best, x.list->at[i], s->name, s->loc);
    return best;
  }
  x = val_to_tensor(e, x, s->name, s->at[0]);
  if (x.kind == VAL_ERROR || !axes_of(s, x, 2, &axes)) return error_value;
  return reduced(s, k == OP_MAX ? OP_REDUCE_MAX : OP_REDUCE_MIN, x, axes, s->v[3].b);
}

Val builtin_arg_extreme(BuiltinCall *s) {
  Elab *e = s->e;
  int64_t axis;
  Val x = val_to_tensor(e, s->v[0], s->name, s->at[0]);
  if (x.kind == VAL_ERROR) return x;
  if (!axis_of(e, s->v[1].i, x.tensor.type->rank, x, s->name, s->at[1], &axis)) return error_value;
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = axis}};
  return build_checked(e, (OpKind)s->f->data, &x, 1, attr, NULL, s->name, s->loc);
}

/* softmax and log_softmax work on the last axis; another one is moved there and back. */
Val builtin_rows(BuiltinCall *s) {
  Elab *e = s->e;
  OpKind k = (OpKind)s->f->data;
  Val x = s->v[0];
  int rank = x.tensor.type->rank;
  int64_t axis;
  if (!axis_of(e, s->v[1].i, rank, x, s->name, s->at[1], &axis)) return error_value;
  if (axis == rank - 1) return build_checked(e, k, &x, 1, NULL, NULL, s->name, s->loc);
  ValueId y = build1(at(e, s->loc), k, swap_last(e, x.tensor.id, axis));
  return val_tensor(e, swap_last(e, y, axis));
}
