/* Built-in functions with run-time indices: gather, dynamic_slice, dynamic_update, scatter_add.
   Contract: shapes are checked here; an index out of range stops the program when it runs. */
#include "lang/elab/builtin/builtin.h"

/* That the start is a single integer; false after an error. */
static bool one_start(BuiltinCall *s) {
  Val start = arg(s, "start");
  if (start.tensor.type->rank == 0) return true;
  elab_error(s->e, arg_loc(s, "start"), "%s needs one integer as its start, found %s", s->name,
             val_str(s->e, start));
  elab_note_tensor(s->e, "start", start);
  elab_trace(s->e);
  return false;
}

Val builtin_dynamic_slice(BuiltinCall *s) {
  Elab *e = s->e;
  Val x = arg(s, "x");
  int64_t n = arg(s, "n").i, axis;
  if (x.kind != VAL_TENSOR)
    return elab_fail(e, arg_loc(s, "x"), "%s needs a tensor, found %s", s->name, val_str(e, x));
  const Type *t = x.tensor.type;
  if (!arg_axis(s, "axis", x, &axis) || !one_start(s)) return error_value;
  if (n > t->dim[axis])
    return elab_fail(e, arg_loc(s, "n"), "%s cannot take %lld elements along axis %lld of %s",
                     s->name, (long long)n, (long long)axis, val_str(e, x));
  Builder *b = elab_at(e, s->loc);
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, axis + 1); /* ids for each index of the batch axes */
  for (int i = 0; i < axis; i++) dim[i] = type_axis(t, i);
  dim[axis] = n;
  ValueId ids = build_convert(b, arg(s, "start").tensor.id, DT_I64);
  ids = build_broadcast(b, ids, type_get(e->c, DT_I64, 1, &n));
  ids = build2(b, OP_ADD, ids, build(b, OP_IOTA, NULL, 0, NULL, type_get(e->c, DT_I64, 1, &n)));
  ids = build_broadcast(b, ids, type_get(e->c, DT_I64, (int)axis + 1, dim));
  Attr attr[MAX_ATTRS] = {[AT_BATCH] = {.i = axis}};
  return val_tensor(e, build(b, OP_GATHER, (ValueId[]){x.tensor.id, ids}, 2, attr, NULL));
}

Val builtin_dynamic_update(BuiltinCall *s) {
  Elab *e = s->e;
  Val in[3] = {arg(s, "x"), arg(s, "y"), arg(s, "start")};
  int64_t axis;
  if (in[0].kind != VAL_TENSOR)
    return elab_fail(e, arg_loc(s, "x"), "%s needs a tensor, found %s", s->name, val_str(e, in[0]));
  const Type *t = in[0].tensor.type;
  if (in[1].kind != VAL_TENSOR)
    in[1] = val_to_const(e, in[1], type_scalar(e->c, t->dtype), arg_loc(s, "y"));
  if (!axis_of(e, arg(s, "axis").i, t->rank, in[0], s->name, arg_loc(s, "axis"), &axis))
    return error_value;
  if (in[1].kind == VAL_ERROR || !one_start(s)) return error_value;
  const Type *part = in[1].tensor.type;
  if (part->rank == t->rank - 1) { /* one element: its axis may be left out */
    int64_t *dim = ARENA_ARRAY(e->a, int64_t, t->rank);
    for (int i = 0; i < t->rank; i++) dim[i] = i == axis ? 1 : type_axis(part, i - (i > axis));
    const Type *row = type_get(e->c, part->dtype, t->rank, dim);
    in[1] = val_tensor(e, build_reshape(elab_at(e, s->loc), in[1].tensor.id, row));
  }
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = axis}};
  return build_checked(e, OP_DYNAMIC_UPDATE, in, 3, attr, NULL, s->name, s->loc);
}

Val builtin_scatter_add(BuiltinCall *s) {
  Elab *e = s->e;
  Val x = arg(s, "x"), ids = arg(s, "ids");
  Val y = arg_tensor(s, "y");
  if (x.kind != VAL_TENSOR || x.tensor.type->rank == 0)
    return elab_fail(e, arg_loc(s, "x"), "%s needs a table with rows, found %s", s->name,
                     val_str(e, x));
  if (y.kind == VAL_ERROR) return y;
  Attr attr[MAX_ATTRS] = {[AT_ROWS] = {.i = x.tensor.type->dim[0]}};
  Val in[2] = {y, ids};
  const Type *table = type_with_dtype(e->c, x.tensor.type, y.tensor.type->dtype);
  Val sum =
      build_checked(e, OP_GATHER_GRAD, in, 2, attr, table->extent ? table : NULL, s->name, s->loc);
  if (sum.kind == VAL_ERROR) return sum;
  if (sum.tensor.type != x.tensor.type) {
    elab_error(e, s->loc, "%s gives rows of %s to a table of %s", s->name,
               type_text(e->c, sum.tensor.type), val_str(e, x));
    elab_note_tensor(e, "the table", x);
    elab_note_tensor(e, "what is added", y);
    return elab_trace(e);
  }
  return tensor_binary(e, BIN_ADD, x, sum, s->loc);
}

Val builtin_nms(BuiltinCall *s) {
  Val in[3] = {arg(s, "boxes"), arg(s, "scores"), arg_tensor(s, "limit")};
  if (in[2].kind == VAL_ERROR) return in[2];
  Attr attr[MAX_ATTRS] = {[AT_MOST].i = arg(s, "most").i};
  return build_checked(s->e, OP_NMS, in, 3, attr, NULL, s->name, s->loc);
}

Val builtin_gather(BuiltinCall *s) {
  Val in[2] = {val_to_tensor(s->e, arg(s, "table"), s->name, arg_loc(s, "table")), arg(s, "ids")};
  Attr attr[MAX_ATTRS] = {[AT_BATCH] = {.i = arg(s, "batch").i}};
  return build_checked(s->e, OP_GATHER, in, 2, attr, NULL, s->name, s->loc);
}
