/* Strides of views; see strided_view.h. A reshape keeps strides where each run of axes that it
   makes others of lies in one piece. */
#include "passes/fuse/strided_view.h"

static int64_t *row_major(Arena *a, const Type *t) {
  int64_t *s = ARENA_ARRAY(a, int64_t, t->rank + 1), n = 1;
  for (int i = t->rank; i-- > 0; n *= t->dim[i]) s[i] = t->dim[i] == 1 ? 0 : n;
  return s;
}

/* The value itself, row-major. */
static StridedView strided_whole(Arena *a, const Entry *e, ValueId v) {
  return (StridedView){.of = v, .stride = row_major(a, value_type(e, v))};
}

/* Strides of the same elements as `to`; NULL: axes that do not lie one behind the other are one
   there. */
static const int64_t *reshaped(Arena *a, const Type *from, const int64_t *stride, const Type *to) {
  int64_t *out = ARENA_ARRAY(a, int64_t, to->rank + 1);
  int i = from->rank, j = to->rank;
  if (!from->numel || reshape_moves(from, to)) return NULL;
  while (i > 0 || j > 0) { /* the shortest runs at the end that have the same number of elements */
    while (i > 0 && from->dim[i - 1] == 1) i--;
    while (j > 0 && to->dim[j - 1] == 1) out[--j] = 0;
    if (!i || !j) continue;
    int64_t step = stride[i - 1], have = from->dim[--i], made = to->dim[--j];
    out[j] = step;
    while (have != made)
      if (have < made) {
        if (i == 0) return NULL;
        i--;
        if (from->dim[i] > 1 && stride[i] != step * have) return NULL;
        have *= from->dim[i];
      } else {
        if (j == 0) return NULL;
        j--;
        out[j] = to->dim[j] == 1 ? 0 : step * made;
        made *= to->dim[j];
      }
  }
  return out;
}

/* The view that the op makes of its operand; false: it does not lie in strides. */
static bool view_of(Arena *a, const Entry *e, const Op *op, StridedView *x) {
  const Type *from = value_type(e, op->operands[0]), *to = value_type(e, op->results[0]);
  int64_t *out = ARENA_ARRAY(a, int64_t, to->rank + 1);
  switch ((int)op->kind) {
  case OP_RESHAPE: return (x->stride = reshaped(a, from, x->stride, to)) != NULL;
  case OP_TRANSPOSE:
    for (int i = 0; i < to->rank; i++) out[i] = x->stride[op->attr[AT_PERM].ints->at[i]];
    break;
  case OP_SLICE:
    for (int i = 0; i < to->rank; i++) {
      x->offset += op->attr[AT_STARTS].ints->at[i] * x->stride[i];
      out[i] = to->dim[i] == 1 ? 0 : x->stride[i] * op->attr[AT_STEPS].ints->at[i];
    }
    break;
  default: return false;
  }
  x->stride = out;
  return true;
}

StridedView strided_source(Arena *a, const Entry *e, MayView *may, const void *data, ValueId v) {
  const Op *op = value_def(e, v);
  bool view = op && value_type(e, v)->numel &&
              (op->kind == OP_RESHAPE || op->kind == OP_TRANSPOSE || op->kind == OP_SLICE);
  if (!view || !may(data, op)) return strided_whole(a, e, v);
  StridedView x = strided_source(a, e, may, data, op->operands[0]);
  return view_of(a, e, op, &x) ? x : strided_whole(a, e, v);
}

/* Where the operand k of the op is stored, if its result is stored in `x`. */
static bool stored_by(Arena *a, const Entry *e, const Op *op, int k, StridedView *x) {
  const Type *from = value_type(e, op->operands[k]), *to = value_type(e, op->results[0]);
  int64_t *out = ARENA_ARRAY(a, int64_t, from->rank + 1);
  switch ((int)op->kind) {
  case OP_RESHAPE: return (x->stride = reshaped(a, to, x->stride, from)) != NULL;
  case OP_TRANSPOSE:
    for (int i = 0; i < to->rank; i++) out[op->attr[AT_PERM].ints->at[i]] = x->stride[i];
    break;
  case OP_CONCAT:
    for (int i = 0; i < to->rank; i++) out[i] = from->dim[i] == 1 ? 0 : x->stride[i];
    for (int i = 0, axis = (int)op->attr[AT_AXIS].i; i < k; i++)
      x->offset += value_type(e, op->operands[i])->dim[axis] * x->stride[axis];
    break;
  default: return false;
  }
  x->stride = out;
  return true;
}

bool strided_target(Arena *a, const Entry *e, ValueId v, const Op *const *readers, int n,
                    StridedView *out) {
  *out = strided_whole(a, e, n ? readers[n - 1]->results[0] : v);
  for (int i = n; i-- > 0;) {
    ValueId x = i ? readers[i - 1]->results[0] : v;
    int k = 0;
    while (readers[i]->operands[k] != x) k++;
    if (!stored_by(a, e, readers[i], k, out)) return false;
  }
  return true;
}

bool strided_in_rows(const Entry *e, ValueId v, const StridedView *view) {
  enum { WIDEST = 8 }; /* elements of two bytes of the widest copy */
  const Type *t = value_type(e, v);
  int64_t row = t->rank ? t->dim[t->rank - 1] : 1, unit = WIDEST;
  if (row > 1 && view->stride[t->rank - 1] != 1) return false;
  while (row % unit) unit /= 2;
  for (int i = 0; i < t->rank - 1; i++)
    if (view->stride[i] % unit || view->stride[i] < 0) return false;
  if (t->rank > 1 && view->stride[t->rank - 2] > INT32_MAX) return false;
  return view->offset % unit == 0;
}

int strided_readers(Arena *a, const Entry *e, ValueId v, OnlyReader *only, const void *data,
                    const Op **readers) {
  const Op *turn = only(data, v);
  StridedView x;
  if (!turn || turn->kind != OP_TRANSPOSE) return 0;
  readers[0] = turn;
  if (!strided_target(a, e, v, readers, 1, &x) || !strided_in_rows(e, v, &x)) return 0;
  int n = 1;
  const Op *next = only(data, turn->results[0]);
  if (next && next->kind == OP_RESHAPE) {
    readers[n++] = next;
    next = only(data, next->results[0]);
  }
  if (!next || next->kind != OP_CONCAT) return 1;
  readers[n++] = next;
  return strided_target(a, e, v, readers, n, &x) && strided_in_rows(e, v, &x) ? n : 1;
}
