/* Export of element-wise ops, moves and reductions. Contract: see export.h. Arithmetic on bytes,
   which ONNX Runtime lacks in part, is that of i32, converted back: it wraps around as bytes do. */
#include "lang/onnx/export.h"

#include <math.h>

/* ---- element by element ---- */

/* These shapes broadcast to t. */
static bool spans(const Type *t, const Type *const *from, int n) {
  for (int k = 1; k <= t->rank; k++) {
    bool there = false;
    for (int i = 0; i < n && !there; i++)
      there =
          k <= from[i]->rank && type_axis(from[i], from[i]->rank - k) == type_axis(t, t->rank - k);
    if (!there) return false;
  }
  return true;
}

enum { MOST_OPERANDS = 3 };

static bool is_widened(const Op *op, const Type *t) {
  return is_small(t->dtype) && op->kind != OP_WHERE;
}

/* Operands as ONNX broadcasts them. */
static void element_operands(Export *x, const Op *op, const char **in) {
  const Type *from[MOST_OPERANDS];
  ValueId v[MOST_OPERANDS];
  for (int i = 0; i < op->noperands; i++) {
    const Op *def;
    v[i] = op->operands[i];
    while ((def = value_def(x->e, v[i])) && def->kind == OP_BROADCAST && !x->wanted[v[i]])
      v[i] = def->operands[0];
    from[i] = value_type(x->e, v[i]);
    Attr number;
    if (value_const(x->e, v[i], &number)) from[i] = type_scalar(x->c, from[i]->dtype);
  }
  if (!spans(result_type(x, op, 0), from, op->noperands)) {
    v[0] = op->operands[0];
    from[0] = value_type(x->e, v[0]);
  }
  for (int i = 0; i < op->noperands; i++) {
    Attr number;
    bool light = !from[i]->rank && value_const(x->e, v[i], &number);
    bool wide = is_widened(op, from[i]);
    if (light) {
      in[i] = scalar(x, wide ? DT_I32 : from[i]->dtype, number);
    } else {
      in[i] = value_of(x, v[i]);
      if (wide) in[i] = cast(x, in[i], DT_I32);
    }
  }
}

static const char *narrowed(Export *x, const Op *op, const char *y) {
  const Type *t = result_type(x, op, 0);
  return is_widened(op, t) ? cast(x, y, t->dtype) : y;
}

const char *export_element(Export *x, const Op *op, const char *onnx) {
  const char *in[MOST_OPERANDS];
  element_operands(x, op, in);
  return narrowed(x, op, emit_node(x, onnx, op->noperands, in));
}

const char *export_rounding(Export *x, const Op *op, const char *onnx) {
  if (!dtype_is_float(result_type(x, op, 0)->dtype)) return operand_of(x, op, 0);
  return export_element(x, op, onnx);
}

const char *export_not_equal(Export *x, const Op *op, const char *onnx) {
  return EMIT(x, "Not", export_element(x, op, "Equal"));
}

static Dtype dtype_of(const Export *x, const Op *op) { return result_type(x, op, 0)->dtype; }

/* tanh(a / 2) (exp(a) + 1), which is exact near 0 */
const char *export_expm1(Export *x, const Op *op, const char *onnx) {
  const char *a = operand_of(x, op, 0);
  Dtype dt = dtype_of(x, op);
  const char *half = EMIT(x, "Tanh", EMIT(x, "Mul", a, scalar_of(x, dt, 0.5)));
  return EMIT(x, "Mul", half, EMIT(x, "Add", EMIT(x, "Exp", a), scalar_of(x, dt, 1)));
}

/* log(u) a / (u - 1) with u = 1 + a, and a where u is 1 (Kahan; Higham, 2002, section 1.14.1) */
const char *export_log1p(Export *x, const Op *op, const char *onnx) {
  const char *a = operand_of(x, op, 0);
  Dtype dt = dtype_of(x, op);
  const char *one = scalar_of(x, dt, 1), *u = EMIT(x, "Add", a, one);
  const char *rest = EMIT(x, "Sub", u, one), *log = EMIT(x, "Log", u);
  const char *exact = EMIT(x, "Or", EMIT(x, "Equal", rest, scalar_of(x, dt, 0)),
                           EMIT(x, "Equal", u, scalar_of(x, dt, INFINITY)));
  const char *near = EMIT(x, "Mul", log, EMIT(x, "Div", a, EMIT(x, "Where", exact, one, rest)));
  return EMIT(x, "Where", exact, a, near);
}

const char *export_log2(Export *x, const Op *op, const char *onnx) {
  const char *log = EMIT(x, "Log", operand_of(x, op, 0));
  return EMIT(x, "Div", log, scalar_of(x, dtype_of(x, op), M_LN2));
}

const char *export_rsqrt(Export *x, const Op *op, const char *onnx) {
  return EMIT(x, "Reciprocal", EMIT(x, "Sqrt", operand_of(x, op, 0)));
}

/* The remainder of integers has the sign of b in both; gc's is 0 where b is. */
const char *export_modulo(Export *x, const Op *op, const char *onnx) {
  const char *in[MOST_OPERANDS];
  Attr number;
  element_operands(x, op, in);
  Dtype dt = is_widened(op, result_type(x, op, 0)) ? DT_I32 : dtype_of(x, op);
  const char *zero = scalar_of(x, dt, 0);
  if (dtype_is_float(dt)) { /* that of C has the sign of a */
    const char *r = EMIT(x, "Mod", in[0], in[1]);
    put_int(x, "fmod", 1);
    const char *signs = EMIT(x, "Mul", EMIT(x, "Sign", r), EMIT(x, "Sign", in[1]));
    const char *other = EMIT(x, "Less", signs, zero);
    return EMIT(x, "Where", other, EMIT(x, "Add", r, in[1]), r);
  }
  if (value_const(x->e, op->operands[1], &number) && number.i)
    return narrowed(x, op, EMIT(x, "Mod", in[0], in[1]));
  const char *none = EMIT(x, "Equal", in[1], zero);
  const char *r = EMIT(x, "Mod", in[0], EMIT(x, "Where", none, scalar_of(x, dt, 1), in[1]));
  return narrowed(x, op, EMIT(x, "Where", none, zero, r));
}

/* (a - a mod b) / b, without a remainder */
const char *export_quotient(Export *x, const Op *op, const char *onnx) {
  const char *in[MOST_OPERANDS];
  Attr number;
  element_operands(x, op, in);
  Dtype dt = is_widened(op, result_type(x, op, 0)) ? DT_I32 : dtype_of(x, op);
  bool safe = value_const(x->e, op->operands[1], &number) && number.i;
  const char *b = in[1], *zero = scalar_of(x, dt, 0), *none = NULL;
  if (!safe) {
    none = EMIT(x, "Equal", b, zero);
    b = EMIT(x, "Where", none, scalar_of(x, dt, 1), b);
  }
  const char *q = EMIT(x, "Div", EMIT(x, "Sub", in[0], EMIT(x, "Mod", in[0], b)), b);
  return narrowed(x, op, safe ? q : EMIT(x, "Where", none, zero, q));
}

const char *export_convert(Export *x, const Op *op, const char *onnx) {
  return cast(x, operand_of(x, op, 0), dtype_of(x, op));
}

/* ---- leaves ---- */

const char *export_iota(Export *x, const Op *op, const char *onnx) {
  const Type *t = result_type(x, op, 0);
  int axis = (int)op->attr[AT_AXIS].i;
  const char *y = range_of(x, t, axis);
  if (t->dtype != DT_I64) y = cast(x, y, t->dtype);
  if (t->rank == 1) return y;
  int64_t *one = ARENA_ARRAY(x->a, int64_t, t->rank);
  for (int i = 0; i < t->rank; i++) one[i] = i == axis ? type_axis(t, axis) : 1;
  return expand_to(x, reshape_to(x, y, type_get(x->c, t->dtype, t->rank, one)), t);
}

const char *export_extent(Export *x, const Op *op, const char *onnx) {
  const Extent *n = extent_get(x->c, op->attr[AT_NAME].str, op->attr[AT_BOUND].i);
  const char *y = squeezed(x, x->extent[entry_extent(x->e, n)], 0);
  return dtype_of(x, op) == DT_I64 ? y : cast(x, y, dtype_of(x, op));
}

const char *export_load(Export *x, const Op *op, const char *onnx) {
  return x->of_global[op->attr[AT_GLOBAL].i];
}

/* ---- moves ---- */

const char *export_same(Export *x, const Op *op, const char *onnx) { return operand_of(x, op, 0); }

const char *export_reshape(Export *x, const Op *op, const char *onnx) {
  return reshape_to(x, operand_of(x, op, 0), result_type(x, op, 0));
}

const char *export_transpose(Export *x, const Op *op, const char *onnx) {
  const Ints *perm = op->attr[AT_PERM].ints;
  return transposed(x, operand_of(x, op, 0), perm->at, perm->n);
}

static const char *slice(Export *x, const char *v, const int64_t *const list[4], int n) {
  return EMIT(x, "Slice", v, int_list(x, list[0], n), int_list(x, list[1], n),
              int_list(x, list[2], n), int_list(x, list[3], n));
}

/* Of a bounded dimension the run says where its part ends. */
const char *export_slice(Export *x, const Op *op, const char *onnx) {
  const Type *from = operand_type(x, op, 0), *to = result_type(x, op, 0);
  const char *y = operand_of(x, op, 0);
  int64_t *list[4];
  for (int i = 0; i < 4; i++) list[i] = ARENA_ARRAY(x->a, int64_t, to->rank + 1);
  int n = 0;
  for (int i = 0; i < to->rank; i++) {
    int64_t start = op->attr[AT_STARTS].ints->at[i], step = op->attr[AT_STEPS].ints->at[i];
    if (!start && step == 1 && type_axis(from, i) == type_axis(to, i)) continue;
    if (type_extent(to, i)) {
      const char *end = dim_as_list(x, to, i);
      if (start) end = EMIT(x, "Add", end, one_int(x, start));
      y = EMIT(x, "Slice", y, one_int(x, start), end, one_int(x, i));
      continue;
    }
    list[0][n] = start;
    list[1][n] = to->dim[i] ? start + (to->dim[i] - 1) * step + 1 : start;
    list[2][n] = i;
    list[3][n++] = step;
  }
  return n ? slice(x, y, (const int64_t *const *)list, n) : y;
}

const char *export_reverse(Export *x, const Op *op, const char *onnx) {
  const Ints *axes = op->attr[AT_AXES].ints;
  int64_t *list[3];
  for (int i = 0; i < 3; i++) list[i] = ARENA_ARRAY(x->a, int64_t, axes->n);
  for (int i = 0; i < axes->n; i++) list[0][i] = -1, list[1][i] = INT64_MIN, list[2][i] = -1;
  return slice(x, operand_of(x, op, 0),
               (const int64_t *const[]){list[0], list[1], axes->at, list[2]}, axes->n);
}

static int64_t at_or_0(const Ints *list, int i) { return list ? list->at[i] : 0; }

static const char *padded(Export *x, const char *v, Dtype dt, Attr value, const int64_t *pads,
                          int n) {
  return EMIT(x, "Pad", v, int_list(x, pads, n), scalar(x, dt, value));
}

static bool is_bounded(const Type *a, const Type *b, int axis) {
  return (type_extent(a, axis) || type_extent(b, axis)) && type_axis(a, axis) != type_axis(b, axis);
}

/* As many elements as the run lacks, between a bounded dimension, a part of it and a number. */
static const char *padded_to(Export *x, const char *v, const Type *t, Attr value,
                             const int64_t *pads, const Type *to) {
  for (int i = 0; i < t->rank; i++) {
    if (!is_bounded(t, to, i)) continue;
    const char *axis = one_int(x, i), *fill = scalar(x, t->dtype, value);
    if (!type_extent(to, i)) { /* more than it lacks, of which the first stay */
      const int64_t most[] = {pads[i], to->dim[i]};
      v = EMIT(x, "Pad", v, int_list(x, most, 2), fill, axis);
      v = EMIT(x, "Slice", v, one_int(x, 0), one_int(x, to->dim[i]), axis);
      continue;
    }
    const char *lo = one_int(x, pads[i]), *more = EMIT(x, "Sub", dim_as_list(x, to, i), lo);
    const char *hi = EMIT(x, "Sub", more, dim_as_list(x, t, i));
    const char *both = EMIT(x, "Concat", lo, hi);
    put_int(x, "axis", 0);
    v = EMIT(x, "Pad", v, both, fill, axis);
  }
  return v;
}

/* Padding between elements: each becomes a row of its own, padded behind, and the end is cut. */
const char *export_pad(Export *x, const Op *op, const char *onnx) {
  const Type *t = operand_type(x, op, 0), *to = result_type(x, op, 0);
  Attr value = op->attr[AT_VALUE];
  const char *y = operand_of(x, op, 0);
  int64_t *pads = ARENA_ARRAY(x->a, int64_t, 2 * t->rank + 2);
  for (int i = 0; i < t->rank; i++) {
    int64_t between = at_or_0(op->attr[AT_INTERIOR].ints, i);
    if (between && type_extent(t, i))
      return without_counterpart(x, op, "padding between elements of a bounded dimension");
    if (!between || t->dim[i] < 2) continue;
    int64_t *dim = ARENA_ARRAY(x->a, int64_t, t->rank + 1),
            *zero = ARENA_ARRAY(x->a, int64_t, 2 * t->rank + 2);
    for (int k = 0; k < t->rank; k++) dim[k + (k > i)] = type_axis(t, k);
    dim[i + 1] = 1;
    y = reshape_to(x, y, type_get(x->c, t->dtype, t->rank + 1, dim));
    zero[t->rank + 1 + i + 1] = between;
    y = padded(x, y, t->dtype, value, zero, 2 * t->rank + 2);
    for (int k = 0; k < t->rank; k++) dim[k] = type_axis(t, k);
    dim[i] *= between + 1;
    y = reshape_to(x, y, type_get(x->c, t->dtype, t->rank, dim));
    dim[i] -= between;
    t = type_get(x->c, t->dtype, t->rank, dim);
    y = EMIT(x, "Slice", y, one_int(x, 0), one_int(x, dim[i]), one_int(x, i));
  }
  bool any = false;
  for (int i = 0; i < t->rank; i++) pads[i] = at_or_0(op->attr[AT_LO].ints, i);
  y = padded_to(x, y, t, value, pads, to);
  for (int i = 0; i < t->rank; i++) {
    if (is_bounded(t, to, i)) {
      pads[i] = 0;
      continue;
    }
    pads[t->rank + i] = at_or_0(op->attr[AT_HI].ints, i);
    any |= pads[i] || pads[t->rank + i];
  }
  return any ? padded(x, y, t->dtype, value, pads, 2 * t->rank) : y;
}

const char *export_concat(Export *x, const Op *op, const char *onnx) {
  const char **in = ARENA_ARRAY(x->a, const char *, op->noperands);
  for (int i = 0; i < op->noperands; i++) in[i] = operand_of(x, op, i);
  const char *y = emit_node(x, "Concat", op->noperands, in);
  put_int(x, "axis", op->attr[AT_AXIS].i);
  return y;
}

/* ---- reductions ---- */

const char *export_reduce(Export *x, const Op *op, const char *onnx) {
  const Ints *axes = op->attr[AT_AXES].ints;
  const Type *t = result_type(x, op, 0);
  const char *y = operand_of(x, op, 0);
  bool small = dtype_is_byte(t->dtype);
  if (axes && axes->n) {
    if (small) y = cast(x, y, DT_I32);
    y = EMIT(x, onnx, y, int_list(x, axes->at, axes->n));
    put_int(x, "keepdims", 0);
    if (small) y = cast(x, y, t->dtype);
  }
  return op->noperands > 1 ? EMIT(x, "Add", operand_of(x, op, 1), y) : y;
}

const char *export_arg_extreme(Export *x, const Op *op, const char *onnx) {
  const char *y = EMIT(x, onnx, operand_of(x, op, 0));
  put_int(x, "axis", op->attr[AT_AXIS].i);
  put_int(x, "keepdims", 0);
  return cast(x, y, dtype_of(x, op));
}

const char *export_variance(Export *x, const Op *op, const char *onnx) {
  const Ints *axes = op->attr[AT_AXES].ints;
  const char *y = operand_of(x, op, 0), *list = int_list(x, axes->at, axes->n);
  y = EMIT(x, "Sub", y, EMIT(x, "ReduceMean", y, list));
  y = EMIT(x, "ReduceMean", EMIT(x, "Mul", y, y), list);
  put_int(x, "keepdims", 0);
  return y;
}

/* Half precisions accumulate in f32. */
const char *export_cumsum(Export *x, const Op *op, const char *onnx) {
  Dtype dt = dtype_of(x, op), sum = is_small(dt) ? DT_I32 : dtype_sum(dt);
  const char *y = operand_of(x, op, 0);
  if (sum != dt) y = cast(x, y, sum);
  y = EMIT(x, "CumSum", y, scalar(x, DT_I64, op->attr[AT_AXIS]));
  if (op->attr[AT_BACKWARD].i) put_int(x, "reverse", 1);
  return sum != dt ? cast(x, y, dt) : y;
}

const char *export_argsort(Export *x, const Op *op, const char *onnx) {
  const Type *t = operand_type(x, op, 0);
  EMIT(x, "TopK", operand_of(x, op, 0), dim_as_list(x, t, t->rank - 1));
  put_int(x, "largest", op->attr[AT_DESCENDING].i);
  return cast(x, emit_output(x), DT_I32);
}
