/* Built-in functions that join tensors along an axis and take them apart: concat, stack, split.
   Contract: numpy's rules. Along a bounded axis the sum of the parts is a dim; ir/op/move_rows.c
   moves them. */
#include "lang/elab/builtin/builtin.h"

/* The tensors of a list with one dtype, as arithmetic would give them. */
static Val *same_dtype(BuiltinCall *s) {
  Elab *e = s->e;
  const ValList *xs = arg(s, "xs").list;
  int n = xs->n;
  Val *v = ARENA_ARRAY(e->a, Val, n);
  memcpy(v, xs->at, sizeof *v * (size_t)n);
  for (int i = 1; i < n; i++) {
    Dtype a = v[0].tensor.type->dtype, b = v[i].tensor.type->dtype;
    if (a == b) continue;
    elab_error(e, s->loc, "%s mixes %s and %s", s->name, val_str(e, v[0]), val_str(e, v[i]));
    elab_note_tensor(e, "the first", v[0]);
    elab_note_tensor(e, intern_printf(e->c, "element %d", i), v[i]);
    hint_mixed(e, v[0], v[i]);
    elab_trace(e);
    return NULL;
  }
  return v;
}

/* Along the axis some are bounded, and their sum is a dim; along the others they are equal. */
static bool joins_extents(Elab *e, const Val *v, int n, int axis) {
  const Type *t = v[0].tensor.type;
  int64_t all = 0, *parts = ARENA_ARRAY(e->a, int64_t, n);
  bool bounded = false;
  for (int k = 0; k < n; k++) {
    const Type *one = v[k].tensor.type;
    if (one->rank != t->rank) return false;
    for (int i = 0; i < t->rank; i++)
      if (i != axis && type_axis(one, i) != type_axis(t, i)) return false;
    bounded |= type_extent(one, axis) != NULL;
    parts[k] = type_axis(one, axis);
    if (__builtin_add_overflow(all, one->dim[axis], &all) || all > INT32_MAX || !one->numel)
      return false;
  }
  return bounded && axis_joined(e->c, parts, n) && t->numel / t->dim[axis] <= INT32_MAX / all;
}

static Val join(BuiltinCall *s, Val *v, int n, int64_t axis) {
  if (n == 1) return v[0];
  if (joins_extents(s->e, v, n, (int)axis)) {
    ValueId *x = ARENA_ARRAY(s->e->a, ValueId, n);
    for (int i = 0; i < n; i++) x[i] = v[i].tensor.id;
    return val_tensor(s->e, build_joined(elab_at(s->e, s->loc), x, n, (int)axis));
  }
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = axis}};
  return build_checked(s->e, OP_CONCAT, v, n, attr, NULL, s->name, s->loc);
}

Val builtin_concat(BuiltinCall *s) {
  Val *v = same_dtype(s);
  int64_t axis;
  if (!v || !axis_of(s->e, arg(s, "axis").i, v[0].tensor.type->rank, v[0], s->name,
                     arg_loc(s, "axis"), &axis))
    return error_value;
  return join(s, v, arg(s, "xs").list->n, axis);
}

Val builtin_stack(BuiltinCall *s) {
  Elab *e = s->e;
  Val *v = same_dtype(s);
  if (!v) return error_value;
  const Type *t = v[0].tensor.type;
  int64_t axis = arg(s, "axis").i < 0 ? arg(s, "axis").i + t->rank + 1 : arg(s, "axis").i;
  if (axis < 0 || axis > t->rank)
    return elab_fail(e, arg_loc(s, "axis"), "stack cannot put a new axis %lld into %s",
                     (long long)arg(s, "axis").i, val_str(e, v[0]));
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, t->rank + 1);
  for (int i = 0; i <= t->rank; i++) dim[i] = i == axis ? 1 : type_axis(t, i > axis ? i - 1 : i);
  const Type *one = type_get(e->c, t->dtype, t->rank + 1, dim);
  for (int i = 0; i < arg(s, "xs").list->n; i++) {
    if (v[i].tensor.type != t) {
      elab_error(e, s->loc, "stack needs equal shapes: %s and %s", type_text(e->c, t),
                 val_str(e, v[i]));
      elab_note_tensor(e, "the first", v[0]);
      elab_note_tensor(e, intern_printf(e->c, "element %d", i), v[i]);
      return elab_trace(e);
    }
  }
  for (int i = 0; i < arg(s, "xs").list->n; i++)
    v[i] = val_tensor(e, build_reshape(elab_at(e, s->loc), v[i].tensor.id, one));
  return join(s, v, arg(s, "xs").list->n, axis);
}

/* [6 n] in 3 parts of [2 n]. */
static Val split_extent(BuiltinCall *s, Val x, int axis, const Ints *parts, bool even) {
  Elab *e = s->e;
  const Extent *along = type_extent(x.tensor.type, axis);
  int64_t all = x.tensor.type->dim[axis] / along->bound, n = parts->at[0];
  if (!even || all % n)
    return elab_fail(e, s->loc,
                     "split of %s along axis %d takes a number of parts that divides %lld",
                     val_str(e, x), axis, (long long)all);
  Val *out = ARENA_ARRAY(e->a, Val, n);
  for (int64_t i = 0; i < n; i++)
    out[i] = n == 1 ? x
                    : val_tensor(e, build_part_of(elab_at(e, s->loc), x.tensor.id, axis,
                                                  i * (all / n), axis_of_extent(along, all / n)));
  return val_list(e, VAL_LIST, out, (int)n, s->loc);
}

Val builtin_split(BuiltinCall *s) {
  Elab *e = s->e;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR) return x;
  const Type *t = x.tensor.type;
  int64_t axis, from = 0, total = 0;
  if (!arg_axis(s, "axis", x, &axis)) return error_value;
  const Ints *parts = val_to_ints(e, arg(s, "n"), 1, "'n' of split", arg_loc(s, "n"));
  if (!parts) return error_value;
  const ValKind kind = arg(s, "n").kind;
  bool even = kind != VAL_LIST && kind != VAL_TUPLE; /* a list of one extent is one part */
  int n = parts->n;
  int64_t extent = t->dim[axis];
  if (type_extent(t, (int)axis)) return split_extent(s, x, (int)axis, parts, even);
  if (even && (parts->at[0] > extent || extent % parts->at[0] != 0)) {
    elab_error(e, arg_loc(s, "n"), "axis %lld of %s cannot be split into %lld equal parts",
               (long long)axis, val_str(e, x), (long long)parts->at[0]);
    elab_note_tensor(e, "it", x);
    return elab_trace(e);
  }
  if (even && parts->at[0] > MAX_UNROLL)
    return elab_fail(e, arg_loc(s, "n"), "split into %lld parts would make more than %d tensors",
                     (long long)parts->at[0], MAX_UNROLL);
  if (even) n = (int)parts->at[0];
  for (int i = 0; !even && i < n; i++)
    if (__builtin_add_overflow(total, parts->at[i], &total)) total = -1;
  if (!even && total != extent)
    return elab_fail(e, arg_loc(s, "n"), "the parts of axis %lld of %s must add up to %lld",
                     (long long)axis, val_str(e, x), (long long)extent);
  Val *out = ARENA_ARRAY(e->a, Val, n);
  int64_t *start = ARENA_ARRAY(e->a, int64_t, t->rank), *step = ARENA_ARRAY(e->a, int64_t, t->rank);
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, t->rank);
  for (int i = 0; i < t->rank; i++) step[i] = 1, dim[i] = type_axis(t, i);
  for (int i = 0; i < n; i++) {
    start[axis] = from;
    dim[axis] = even ? extent / n : parts->at[i];
    from += dim[axis];
    Attr attr[MAX_ATTRS] = {[AT_STARTS] = {.ints = intern_ints(e->c, start, t->rank)},
                            [AT_STEPS] = {.ints = intern_ints(e->c, step, t->rank)}};
    const Type *part = type_get(e->c, t->dtype, t->rank, dim);
    out[i] = part == t ? x : build_checked(e, OP_SLICE, &x, 1, attr, part, s->name, s->loc);
  }
  return val_list(e, VAL_LIST, out, n, s->loc);
}
