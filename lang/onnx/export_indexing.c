/* Export of gathers, scatters and the choice of boxes. Contract: see export.h. */
#include "lang/onnx/export.h"

#include <math.h>

static const char *ids_of(Export *x, const Op *op, int i) {
  const char *ids = operand_of(x, op, i);
  return is_small(operand_type(x, op, i)->dtype) ? cast(x, ids, DT_I32) : ids;
}

const char *export_gather(Export *x, const Op *op, const char *onnx) {
  int64_t batch = op->attr[AT_BATCH].i;
  if (!batch) return EMIT(x, "Gather", operand_of(x, op, 0), ids_of(x, op, 1));
  const char *ids = unsqueezed(x, converted(x, op, 1, DT_I64), -1);
  const char *y = EMIT(x, "GatherND", operand_of(x, op, 0), ids);
  put_int(x, "batch_dims", batch);
  return y;
}

/* Tables of a batch become one, with ids that count on. */
const char *export_scatter_add(Export *x, const Op *op, const char *onnx) {
  const Type *t = result_type(x, op, 0), *dy = operand_type(x, op, 0);
  const Type *ids = operand_type(x, op, 1);
  int batch = (int)op->attr[AT_BATCH].i;
  int64_t tables = 1, *dim = ARENA_ARRAY(x->a, int64_t, ids->rank + t->rank + 1);
  if (batch && (t->extent || dy->extent || ids->extent))
    return without_counterpart(x, op, "several tables with a bounded dimension");
  const char *at = converted(x, op, 1, DT_I64), *rows = operand_of(x, op, 0);
  for (int i = 0; i < batch; i++) tables *= ids->dim[i];
  if (batch) {
    const Type *each = type_get(x->c, DT_I64, 1, &tables);
    for (int i = 0; i < ids->rank; i++) dim[i] = i < batch ? ids->dim[i] : 1;
    const char *first = EMIT(x, "Mul", range_of(x, each, 0), scalar(x, DT_I64, op->attr[AT_ROWS]));
    at = EMIT(x, "Add", at, reshape_to(x, first, type_get(x->c, DT_I64, ids->rank, dim)));
  }
  dim[0] = batch ? tables * t->dim[batch] : type_axis(t, 0);
  for (int i = batch + 1; i < t->rank; i++) dim[i - batch] = type_axis(t, i);
  const Type *flat = type_get(x->c, t->dtype, t->rank - batch, dim);
  const char *zeros = expand_to(x, scalar_of(x, t->dtype, 0), flat);
  const char *y = EMIT(x, "ScatterND", zeros, unsqueezed(x, at, -1), rows);
  put_string(x, "reduction", "add");
  return batch ? reshape_to(x, y, t) : y;
}

/* Zeros for ids out of range, which OneHot counts from the end. */
const char *export_one_hot(Export *x, const Op *op, const char *onnx) {
  const Type *t = result_type(x, op, 0);
  const char *ids = unsqueezed(x, converted(x, op, 0, DT_I64), -1);
  return cast(x, EMIT(x, "Equal", ids, range_of(x, t, t->rank - 1)), t->dtype);
}

/* ONNX lists the boxes that it chooses, as [image, class, box], those of one class side by side:
   the place of each behind the first of its class is its place in the row of the class. */
const char *export_nms(Export *x, const Op *op, const char *onnx) {
  const Type *t = result_type(x, op, 0);
  const int64_t rows = t->dim[0] * t->dim[1], most = t->dim[2];
  const Attr number = {.i = most}, none = {.f = -INFINITY};
  const Type *row = type_get(x->c, DT_I64, 1, &rows);
  const char *all = EMIT(x, "NonMaxSuppression", operand_of(x, op, 0), operand_of(x, op, 1),
                         scalar(x, DT_I64, number), operand_of(x, op, 2), scalar(x, DT_F32, none));
  const char *column[3];
  for (int i = 0; i < 3; i++) {
    column[i] = EMIT(x, "Gather", all, scalar(x, DT_I64, (Attr){.i = i}));
    put_int(x, "axis", 1);
  }
  const char *at = EMIT(x, "Mul", column[0], scalar(x, DT_I64, (Attr){.i = t->dim[1]}));
  at = EMIT(x, "Add", at, column[1]);
  const char *one = scalar(x, DT_I64, (Attr){.i = 1});
  const char *ones = EMIT(x, "Expand", one, EMIT(x, "Shape", at));
  const char *zeros = expand_to(x, scalar(x, DT_I64, (Attr){.i = 0}), row);
  const char *sizes = EMIT(x, "ScatterElements", zeros, at, ones);
  put_string(x, "reduction", "add");
  const char *first = EMIT(x, "CumSum", sizes, scalar(x, DT_I64, (Attr){.i = 0}));
  put_int(x, "exclusive", 1);
  const char *place = EMIT(x, "CumSum", ones, scalar(x, DT_I64, (Attr){.i = 0}));
  put_int(x, "exclusive", 1);
  place = EMIT(x, "Sub", place, EMIT(x, "Gather", first, at));
  place = EMIT(x, "Add", place, EMIT(x, "Mul", at, scalar(x, DT_I64, number)));
  /* -1, and the box and one more */
  const int64_t size = rows * most;
  const char *empty =
      expand_to(x, scalar(x, DT_I64, (Attr){.i = -1}), type_get(x->c, DT_I64, 1, &size));
  const char *y = EMIT(x, "ScatterElements", empty, place, EMIT(x, "Add", column[2], one));
  put_string(x, "reduction", "add");
  return cast(x, reshape_to(x, y, t), t->dtype);
}

/* Rows of a bounded dimension, each of which is of the part or of what there was: import reads
   back where each row comes from, but no writing by index. */
static const char *update_bounded(Export *x, const Op *op, int axis) {
  const Type *t = result_type(x, op, 0), *y = operand_type(x, op, 1);
  const Attr zero = {.i = 0};
  const char *size = dim_as_list(x, y, axis);
  const char *place = EMIT(x, "Sub", range_of(x, t, axis), converted(x, op, 2, DT_I64));
  const char *inside = EMIT(x, "And", EMIT(x, "GreaterOrEqual", place, scalar(x, DT_I64, zero)),
                            EMIT(x, "Less", place, size));
  const char *last = EMIT(x, "Sub", size, one_int(x, 1));
  place = EMIT(x, "Min", EMIT(x, "Max", place, scalar(x, DT_I64, zero)), last);
  const char *rows = EMIT(x, "Gather", operand_of(x, op, 1), place);
  put_int(x, "axis", axis);
  int64_t *dim = ARENA_ARRAY(x->a, int64_t, t->rank);
  for (int i = axis; i < t->rank; i++) dim[i - axis] = i == axis ? type_axis(t, i) : 1;
  inside = reshape_to(x, inside, type_get(x->c, DT_BOOL, t->rank - axis, dim));
  return EMIT(x, "Where", inside, rows, operand_of(x, op, 0));
}

const char *export_dynamic_update(Export *x, const Op *op, const char *onnx) {
  const Type *y = operand_type(x, op, 1);
  int axis = (int)op->attr[AT_AXIS].i;
  if (type_extent(result_type(x, op, 0), axis)) return update_bounded(x, op, axis);
  const char *at = EMIT(x, "Add", converted(x, op, 2, DT_I64), range_of(x, y, axis));
  int64_t *dim = ARENA_ARRAY(x->a, int64_t, y->rank);
  for (int i = 0; i < y->rank; i++) dim[i] = i == axis ? type_axis(y, i) : 1;
  at = expand_to(x, reshape_to(x, at, type_get(x->c, DT_I64, y->rank, dim)), y);
  at = EMIT(x, "ScatterElements", operand_of(x, op, 0), at, operand_of(x, op, 1));
  put_int(x, "axis", axis);
  return at;
}
