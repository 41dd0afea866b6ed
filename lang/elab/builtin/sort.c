/* Built-in functions along one axis: cumsum, take_along, sort, argsort, topk.
   Contract: shapes are checked here; an index out of range stops the program when it runs. For an
   op along the last axis, the axis is exchanged with the last, and back in the result. */
#include "lang/elab/builtin/builtin.h"

ValueId swap_last(Elab *e, ValueId x, int64_t axis) {
  int rank = value_type(e->run->entry, x)->rank;
  if (axis == rank - 1) return x;
  int64_t *perm = ARENA_ARRAY(e->a, int64_t, rank);
  for (int i = 0; i < rank; i++) perm[i] = i;
  perm[axis] = rank - 1;
  perm[rank - 1] = axis;
  return build_transpose(e->run->b, x, perm);
}

/* Bytes and bools are counted in i32, as by sum. */
Val builtin_cumsum(BuiltinCall *s) {
  Elab *e = s->e;
  int64_t axis;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR) return x;
  if (!arg_axis(s, "axis", x, &axis)) return error_value;
  Dtype dt = x.tensor.type->dtype;
  elab_at(e, s->loc);
  if (dtype_is_byte(dt)) x = val_convert(e, x, DT_I32);
  Attr attr[MAX_ATTRS] = {[AT_AXIS].i = axis};
  return build_checked(e, OP_CUMSUM, &x, 1, attr, NULL, s->name, s->loc);
}

/* Elements of x [..., n] at ids [..., k]: each row is a table of its own. */
static ValueId take_last(Elab *e, ValueId x, ValueId ids) {
  Attr attr[MAX_ATTRS] = {[AT_BATCH].i = value_type(e->run->entry, x)->rank - 1};
  return build(e->run->b, OP_GATHER, (ValueId[]){x, ids}, 2, attr, NULL);
}

Val builtin_take_along(BuiltinCall *s) {
  Elab *e = s->e;
  Val x = arg_tensor(s, "x"), ids = arg(s, "ids");
  int64_t axis;
  if (x.kind == VAL_ERROR) return x;
  const Type *t = x.tensor.type, *it = ids.tensor.type;
  if (!arg_axis(s, "axis", x, &axis)) return error_value;
  bool fits = t->rank == it->rank;
  for (int i = 0; fits && i < t->rank; i++) fits = i == axis || t->dim[i] == it->dim[i];
  if (!fits) {
    elab_error(e, arg_loc(s, "ids"),
               "%s along axis %lld needs ids of the other extents of %s, found %s", s->name,
               (long long)axis, val_str(e, x), val_str(e, ids));
    elab_note_tensor(e, "the tensor", x);
    elab_note_tensor(e, "ids", ids);
    return elab_trace(e);
  }
  elab_at(e, s->loc);
  ValueId y = take_last(e, swap_last(e, x.tensor.id, axis), swap_last(e, ids.tensor.id, axis));
  return val_tensor(e, swap_last(e, y, axis));
}

static ValueId argsort(Elab *e, ValueId x, bool descending) {
  Attr attr[MAX_ATTRS] = {[AT_DESCENDING].i = descending};
  return build(e->run->b, OP_ARGSORT, &x, 1, attr, NULL);
}

/* The extent of an axis that is to be sorted is one of i32; false after an error. */
static bool can_sort(BuiltinCall *s, Val x, int64_t axis) {
  if (x.tensor.type->dim[axis] <= INT32_MAX) return true;
  elab_fail(s->e, arg_loc(s, "x"), "%s needs at most 2147483647 elements along axis %lld of %s",
            s->name, (long long)axis, val_str(s->e, x));
  return false;
}

/* The tensor that is to be sorted, turned so that the axis is the last; NO_ID after an error. */
static ValueId with_axis_last(BuiltinCall *s, int64_t *axis) {
  Elab *e = s->e;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR) return NO_ID;
  if (!arg_axis(s, "axis", x, axis)) return NO_ID;
  if (!can_sort(s, x, *axis)) return NO_ID;
  elab_at(e, s->loc);
  return swap_last(e, x.tensor.id, *axis);
}

Val builtin_sort(BuiltinCall *s) {
  Elab *e = s->e;
  int64_t axis;
  ValueId last = with_axis_last(s, &axis);
  if (last == NO_ID) return error_value;
  ValueId y = take_last(e, last, argsort(e, last, false));
  return val_tensor(e, swap_last(e, y, axis));
}

Val builtin_argsort(BuiltinCall *s) {
  int64_t axis;
  ValueId last = with_axis_last(s, &axis);
  if (last == NO_ID) return error_value;
  return val_tensor(s->e, swap_last(s->e, argsort(s->e, last, arg(s, "descending").b), axis));
}

/* The first k ids of each row. Where a run may have fewer, they are taken by number, so that one
   which is not there stops the program. */
static ValueId first_of(Elab *e, ValueId ids, int64_t k) {
  const Type *t = value_type(e->run->entry, ids);
  const int last = t->rank - 1;
  if (!axis_may_lack(e->c, type_axis(t, last), k)) return build_slice(e->run->b, ids, last, 0, k);
  Attr attr[MAX_ATTRS] = {[AT_AXIS].i = last};
  const Type *of = type_with_extent(e->c, t, last, k);
  return take_last(e, ids, build(e->run->b, OP_IOTA, NULL, 0, attr, of));
}

/* Only the k places are gathered. */
Val builtin_topk(BuiltinCall *s) {
  Elab *e = s->e;
  int64_t axis, k = arg(s, "k").i;
  ValueId x = with_axis_last(s, &axis);
  if (x == NO_ID) return error_value;
  const Type *t = value_type(e->run->entry, x);
  if (k > t->dim[t->rank - 1])
    return elab_fail(e, arg_loc(s, "k"), "%s cannot take %lld elements along axis %lld of %s",
                     s->name, (long long)k, (long long)axis, val_str(e, arg_tensor(s, "x")));
  ValueId ids = first_of(e, argsort(e, x, true), k);
  ValueId largest = take_last(e, x, ids);
  Val v[2] = {val_tensor(e, swap_last(e, largest, axis)), val_tensor(e, swap_last(e, ids, axis))};
  return val_list(e, VAL_TUPLE, v, 2, s->loc);
}
