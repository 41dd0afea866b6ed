/* Windows along bounded axes for a target that has no kernels for them: the image is filled up to
   the bound with what changes no result, zeros for sums, the lowest number for a maximum; the op is
   that of the bound, and of its result what a run has is taken.
   Contract: bits are those of the op along the bounded axes, but where the order of a sum follows
   from the sizes: that of a filter's gradient then follows from the bounds. */
#include "ir/op/window.h"
#include "passes/autodiff/autodiff_impl.h"

#include <math.h>

enum { ROWS = 2, COLUMNS = 3, RANK = 4 };

static int64_t least_integer(Dtype dt) {
  if (dt == DT_U8 || dt == DT_BOOL) return 0;
  return dt == DT_I8 ? INT8_MIN : dt == DT_I32 ? INT32_MIN : INT64_MIN;
}

/* What stands behind the image. */
static Attr behind(OpKind k, Dtype dt) {
  if (k != OP_MAX_POOL && k != OP_MAX_POOL_INDEX) return (Attr){0};
  return dtype_is_float(dt) ? (Attr){.f = -INFINITY} : (Attr){.i = least_integer(dt)};
}

/* Its axes [from, to) at their bounds. */
static const Type *at_bounds(Ctx *c, const Type *t, int from, int to) {
  for (int i = from; t->rank == RANK && i < to; i++) t = type_with_extent(c, t, i, t->dim[i]);
  return t;
}

static ValueId expand(Builder *b, const Op *op, const Type *t, const ValueId *x, int from, int to) {
  ValueId in[RANK];
  const bool given = op->kind == OP_CONV_INPUT_GRAD || op->kind == OP_CONV_FILTER_GRAD ||
                     op->kind == OP_MAX_POOL_GRAD || op->kind == OP_AVG_POOL_GRAD;
  for (int k = 0; k < op->noperands; k++) {
    in[k] = x[k];
    const Dtype dt = value_type(b->e, x[k])->dtype;
    for (int i = from; i < to && value_type(b->e, x[k])->rank == RANK; i++)
      in[k] = build_filled(b, in[k], i, behind(op->kind, dt));
  }
  ValueId y = build(b, op->kind, in, op->noperands, op->attr,
                    given ? at_bounds(b->m->ctx, t, from, to) : NULL);
  for (int i = from; i < to && op->kind != OP_CONV_FILTER_GRAD; i++)
    if (type_extent(t, i)) y = build_slice(b, y, i, 0, type_axis(t, i));
  return y;
}

static ValueId rows_at_bound(Builder *b, const Op *op, const Type *t, const ValueId *x) {
  return expand(b, op, t, x, ROWS, COLUMNS);
}

static ValueId columns_at_bound(Builder *b, const Op *op, const Type *t, const ValueId *x) {
  return expand(b, op, t, x, COLUMNS, RANK);
}

static ValueId windows_at_bound(Builder *b, const Op *op, const Type *t, const ValueId *x) {
  return expand(b, op, t, x, ROWS, RANK);
}

ExpandFn *windows_expansion(const Target *t, const Entry *e, const Op *op) {
  bool fills[RANK] = {0};
  for (int axis = ROWS; t && axis < RANK; axis++) {
    bool bounded = false;
    for (int k = 0; k <= op->noperands; k++) {
      const Type *x = value_type(e, k < op->noperands ? op->operands[k] : op->results[0]);
      bounded |= x->rank == RANK && type_extent(x, axis);
    }
    fills[axis] = bounded && !(t->ends_windows && t->ends_windows(t, e, op, axis));
  }
  if (fills[ROWS]) return fills[COLUMNS] ? windows_at_bound : rows_at_bound;
  return fills[COLUMNS] ? columns_at_bound : NULL;
}
