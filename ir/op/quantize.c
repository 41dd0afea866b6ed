/* Quantized tensors: integers of 16, 8 or 4 bits and a scale for each group of neighbours along one
   axis. x is about q s. The scale is that of the group's largest magnitude m: -m / 2^(bits - 1),
   with the sign that makes m the least integer, of which there is one more than of the largest.
   Scales are bf16: they have the range of f32, and a product of a scale and an integer is exact.
   Of 16 bits the scale is -m / 2^14, so that its own rounding clamps no integer.
   Contract: `axis`, `bits` and `group` mean the same in each of the ops; the last group may be
   shorter. Integers of 8 bits are i8. Of 4 bits a u8 holds two neighbours along the axis, the first
   in its low half, each plus 8. Of 16 bits there are two i8 along the axis, l and h: the integer is
   l + 256 h; of quantize -2^15 + 2^7 is the least one, and bytes that make less than -2^15 stand
   for this. Integers have no gradient: for quantization-aware training write x +
   stop_gradient(dequantize(…) - x). quantize_scale, quantize and dequantize are composites.
   Products of quantized matrices are in quantized_matmul.c. */
#include "ir/op/quantize.h"

#include <math.h>

/* ---- shapes ---- */

bool quantize_has_groups(const ShapeIn *in, const Type *t) {
  int64_t axis = axis_of(in->attr), bits = bits_of(in->attr);
  if (bits != 16 && bits != 8 && bits != 4)
    return shape_wrong(in, "has integers of 16, 8 or 4 bits, not %lld", (long long)bits), false;
  if (group_of(in->attr) < 1)
    return shape_wrong(in, "needs groups of 1 or more, not %lld", (long long)group_of(in->attr)),
           false;
  if (axis < 0 || axis >= t->rank)
    return shape_wrong(in, "has no axis %lld in %s", (long long)axis, shape_str(in, t)), false;
  return true;
}

bool quantize_of_floats(const ShapeIn *in, const Type *t) {
  if (dtype_is_float(t->dtype)) return true;
  shape_wrong(in, "needs floats, not %s: convert with f32(x)", shape_str(in, t));
  return false;
}

/* The operand has t's dims, but n along the axis. */
bool quantize_has_dims(const ShapeIn *in, int operand, const char *what, const Type *t,
                       int64_t axis, Dtype dt, int64_t n) {
  const Type *x = in->type[operand];
  const Type *want = type_with_extent(in->ctx, type_with_dtype(in->ctx, t, dt), (int)axis, n);
  if (x == want) return true;
  shape_wrong(in, "of %s needs %s of type %s, not %s", shape_str(in, t), what, shape_str(in, want),
              shape_str(in, x));
  return false;
}

const Type *shape_quantize_scale(const ShapeIn *in) {
  const Type *t = in->type[0];
  if (!quantize_of_floats(in, t) || !quantize_has_groups(in, t)) return NULL;
  int axis = (int)axis_of(in->attr);
  return type_with_extent(in->ctx, type_with_dtype(in->ctx, t, DT_BF16), axis,
                          groups(in->attr, t->dim[axis]));
}

const Type *shape_quantize(const ShapeIn *in) {
  const Type *t = in->type[0], *s = in->type[1];
  if (!quantize_of_floats(in, t) || !quantize_of_floats(in, s) || !quantize_has_groups(in, t))
    return NULL;
  int axis = (int)axis_of(in->attr);
  if (!quantize_has_dims(in, 1, "scales", t, axis, s->dtype, groups(in->attr, t->dim[axis])))
    return NULL;
  return type_with_extent(in->ctx, type_with_dtype(in->ctx, t, stored_dtype(in->attr)), axis,
                          stored(in->attr, t->dim[axis]));
}

const Type *shape_dequantize(const ShapeIn *in) {
  const Type *t = in->given, *s = in->type[1];
  if (!quantize_of_floats(in, t) || !quantize_of_floats(in, s) || !quantize_has_groups(in, t))
    return NULL;
  int64_t axis = axis_of(in->attr), n = t->dim[axis];
  return quantize_has_dims(in, 0, "integers", t, axis, stored_dtype(in->attr),
                           stored(in->attr, n)) &&
                 quantize_has_dims(in, 1, "scales", t, axis, s->dtype, groups(in->attr, n))
             ? t
             : NULL;
}

/* ---- decomposition ---- */

static Ctx *ctx_of(const Builder *b) { return b->e->module->ctx; }

/* x with n elements along an axis, zeros behind those that it has, or the first of them. */
static ValueId resized(Builder *b, ValueId x, int axis, int64_t n) {
  int64_t has = value_type(b->e, x)->dim[axis];
  return has < n ? build_pad(b, x, axis, 0, n - has) : has > n ? build_slice(b, x, axis, 0, n) : x;
}

/* An axis of n k elements as two, and two of them as one. */
static ValueId split_axis(Builder *b, ValueId x, int axis, int64_t k) {
  const Type *t = value_type(b->e, x);
  int64_t *dim = ARENA_ARRAY(b->m->arena, int64_t, t->rank + 1);
  for (int i = 0; i < t->rank; i++) dim[i + (i > axis)] = type_axis(t, i);
  dim[axis] = t->dim[axis] / k, dim[axis + 1] = k;
  return build_reshape(b, x, type_get(ctx_of(b), t->dtype, t->rank + 1, dim));
}

static ValueId merge_axes(Builder *b, ValueId x, int axis) {
  const Type *t = value_type(b->e, x);
  int64_t *dim = ARENA_ARRAY(b->m->arena, int64_t, t->rank);
  for (int i = 0; i < t->rank; i++) dim[i - (i > axis)] = type_axis(t, i);
  dim[axis] = t->dim[axis] * t->dim[axis + 1];
  return build_reshape(b, x, type_get(ctx_of(b), t->dtype, t->rank - 1, dim));
}

/* The elements along the axis as [groups, group], zeros at the end. */
static ValueId grouped(Builder *b, const Attr *attr, ValueId x) {
  int axis = (int)axis_of(attr);
  int64_t n = value_type(b->e, x)->dim[axis], group = group_of(attr);
  if (group > n && n > 0) group = n; /* one group, which is not filled up */
  return split_axis(b, resized(b, x, axis, ceil_of(n, group) * group), axis, group);
}

static ValueId ungrouped(Builder *b, const Attr *attr, ValueId x, int64_t n) {
  int axis = (int)axis_of(attr);
  return resized(b, merge_axes(b, x, axis), axis, n);
}

/* Scales, one for each of a group, in the shape and dtype of grouped elements. */
static ValueId scales_of(Builder *b, const Attr *attr, ValueId s, ValueId x) {
  const Type *t = value_type(b->e, x);
  ValueId one = split_axis(b, build_convert(b, s, t->dtype), (int)axis_of(attr), 1);
  return build_broadcast(b, one, t);
}

/* The magnitude that a group's largest element has over its scale, and the least integer's. */
static double scaled_most(const Attr *attr) {
  return ldexp(1, bits_of(attr) == 16 ? 14 : (int)bits_of(attr) - 1);
}
static double least_of(const Attr *attr) {
  return bits_of(attr) == 16 ? 127 * 256 + 128 : scaled_most(attr);
}

static ValueId number(Builder *b, ValueId like, double v) {
  return build_const(b, value_type(b->e, like), v);
}

ValueId expand_quantize_scale(Builder *b, const Op *op, const Type *to, const ValueId *x) {
  (void)to;
  Dtype dt = dtype_sum(value_type(b->e, x[0])->dtype);
  const int64_t axes[] = {axis_of(op->attr) + 1};
  ValueId v = grouped(b, op->attr, build_convert(b, x[0], dt));
  ValueId hi = build_reduce(b, OP_REDUCE_MAX, v, axes, 1);
  ValueId lo = build_reduce(b, OP_REDUCE_MIN, v, axes, 1);
  ValueId m = build3(b, OP_WHERE, build2(b, OP_GE, hi, build1(b, OP_NEG, lo)), hi, lo);
  m = build2(b, OP_MUL, m, number(b, m, 1 / scaled_most(op->attr)));
  m = build2(b, OP_SUB, number(b, m, 0), m); /* never -0 */
  return build_convert(b, m, DT_BF16);
}

/* Pairs along the axis in one byte. */
static ValueId pack_pairs(Builder *b, ValueId q, int axis) {
  int64_t n = value_type(b->e, q)->dim[axis];
  ValueId pair = split_axis(b, resized(b, q, axis, n + n % 2), axis, 2);
  ValueId lo = merge_axes(b, build_slice(b, pair, axis + 1, 0, 1), axis);
  ValueId hi = merge_axes(b, build_slice(b, pair, axis + 1, 1, 1), axis);
  ValueId y = build2(b, OP_ADD, lo, build2(b, OP_MUL, hi, number(b, hi, 16)));
  return build_convert(b, build2(b, OP_ADD, y, number(b, y, 8 * 16 + 8)), DT_U8);
}

static ValueId unpack_pairs(Builder *b, ValueId q, int axis) {
  ValueId by = build_const_int(b, value_type(b->e, q), 16);
  ValueId half[] = {build2(b, OP_MOD, q, by), build2(b, OP_QUOTIENT, q, by)};
  for (int i = 0; i < 2; i++) half[i] = split_axis(b, half[i], axis, 1);
  return merge_axes(
      b, build(b, OP_CONCAT, half, 2, (Attr[MAX_ATTRS]){[AT_AXIS].i = axis + 1}, NULL), axis);
}

/* Integers of 16 bits as two bytes along the axis, and back as numbers of a dtype. */
static ValueId split_bytes(Builder *b, ValueId q, int axis) {
  ValueId x = build2(b, OP_ADD, q, number(b, q, 128 * 256 + 128)), by = number(b, q, 256);
  ValueId low = build2(b, OP_SUB, build2(b, OP_MOD, x, by), number(b, q, 128));
  ValueId byte[] = {low, build2(b, OP_QUOTIENT, build2(b, OP_SUB, q, low), by)};
  for (int i = 0; i < 2; i++) byte[i] = split_axis(b, build_convert(b, byte[i], DT_I8), axis, 1);
  return merge_axes(
      b, build(b, OP_CONCAT, byte, 2, (Attr[MAX_ATTRS]){[AT_AXIS].i = axis + 1}, NULL), axis);
}

static ValueId join_bytes(Builder *b, ValueId q, int axis, Dtype dt) {
  ValueId byte[2], pair = split_axis(b, q, axis, 2);
  for (int i = 0; i < 2; i++)
    byte[i] = merge_axes(b, build_slice(b, pair, axis + 1, i, 1), axis),
    byte[i] = build_convert(b, byte[i], dt);
  ValueId x = build2(b, OP_ADD, byte[0], build2(b, OP_MUL, byte[1], number(b, byte[1], 256)));
  return build2(b, OP_MAX, x, number(b, x, LEAST_WIDE));
}

ValueId expand_quantize(Builder *b, const Op *op, const Type *to, const ValueId *x) {
  (void)to;
  const Type *t = value_type(b->e, x[0]);
  int axis = (int)axis_of(op->attr);
  double end = least_of(op->attr);
  ValueId v = grouped(b, op->attr, build_convert(b, x[0], dtype_sum(t->dtype)));
  ValueId s = scales_of(b, op->attr, x[1], v), zero = number(b, v, 0);
  ValueId q = build1(b, OP_ROUND, build2(b, OP_DIV, v, s));
  q = build2(b, OP_MIN, build2(b, OP_MAX, q, number(b, q, -end)), number(b, q, end - 1));
  q = build3(b, OP_WHERE, build2(b, OP_EQ, s, zero), zero, q);
  q = build_convert(b, q, DT_I32);
  if (bits_of(op->attr) == 8) q = build_convert(b, q, DT_I8); /* as they lie in groups */
  q = ungrouped(b, op->attr, q, t->dim[axis]);
  return bits_of(op->attr) == 16  ? split_bytes(b, q, axis)
         : bits_of(op->attr) == 8 ? q
                                  : pack_pairs(b, q, axis);
}

/* The integers as numbers of a dtype, n along the axis. */
static ValueId numbers_of(Builder *b, const Attr *attr, ValueId q, Dtype dt, int64_t n) {
  int axis = (int)axis_of(attr);
  if (bits_of(attr) == 16) return join_bytes(b, q, axis, dt);
  if (bits_of(attr) == 8) return build_convert(b, q, dt);
  ValueId v = build_convert(b, resized(b, unpack_pairs(b, q, axis), axis, n), dt);
  return build2(b, OP_SUB, v, number(b, v, 8));
}

/* The numbers of pairs in bytes q, [.., groups, group / 2, 2, ..]: each byte is read for both. */
static ValueId numbers_of_pairs(Builder *b, const Attr *attr, ValueId q, Dtype dt, int64_t n) {
  const int axis = (int)axis_of(attr);
  const int64_t group = group_of(attr) > n && n > 0 ? n + n % 2 : group_of(attr); /* as grouped */
  q = split_axis(b, resized(b, q, axis, groups(attr, n) * group / 2), axis, group / 2);
  q = split_axis(b, q, axis + 1, 1);
  const Type *t = type_with_extent(ctx_of(b), value_type(b->e, q), axis + 2, 2);
  q = build_broadcast(b, q, t);
  const ValueId by = build_const_int(b, t, 16);
  const ValueId at = build(b, OP_IOTA, NULL, 0, (Attr[MAX_ATTRS]){[AT_AXIS].i = axis + 2}, t);
  const ValueId first = build2(b, OP_EQ, at, build_const_int(b, t, 0));
  q = build3(b, OP_WHERE, first, build2(b, OP_MOD, q, by), build2(b, OP_QUOTIENT, q, by));
  q = build_convert(b, q, dt);
  return build2(b, OP_SUB, q, number(b, q, 8));
}

/* Integers are grouped as they lie, so that one kernel converts and scales them. */
ValueId quantize_floats(Builder *b, const Attr *attr, ValueId q, ValueId s, const Type *t) {
  const int axis = (int)axis_of(attr);
  const int64_t n = t->dim[axis];
  if (bits_of(attr) == 4 && group_of(attr) % 2 == 0) {
    const ValueId v = numbers_of_pairs(b, attr, q, t->dtype, n);
    ValueId scale = split_axis(b, split_axis(b, build_convert(b, s, t->dtype), axis, 1), axis, 1);
    scale = build2(b, OP_MUL, v, build_broadcast(b, scale, value_type(b->e, v)));
    return ungrouped(b, attr, merge_axes(b, scale, axis + 1), n);
  }
  const bool bytes = bits_of(attr) == 8;
  ValueId v = grouped(b, attr, bytes ? q : numbers_of(b, attr, q, t->dtype, n));
  if (bytes) v = build_convert(b, v, t->dtype);
  return ungrouped(b, attr, build2(b, OP_MUL, v, scales_of(b, attr, s, v)), n);
}

ValueId expand_dequantize(Builder *b, const Op *op, const Type *to, const ValueId *x) {
  return quantize_floats(b, op->attr, x[0], x[1], to);
}

/* ---- gradients ---- */

/* Of a group's scale: the sum of dy q over the group. */
void quantize_grad_scales(GradCtx *g, const Op *op, const Attr *attr, int operand, ValueId q,
                          ValueId dy) {
  const Type *t = value_type(g->e, dy), *s = value_type(g->e, op->operands[operand]);
  ValueId v = numbers_of(g->b, attr, q, t->dtype, t->dim[axis_of(attr)]);
  v = grouped(g->b, attr, build2(g->b, OP_MUL, dy, v));
  v = build_convert(g->b, v, dtype_sum(t->dtype));
  const int64_t axes[] = {axis_of(attr) + 1};
  v = build_reduce(g->b, OP_SUM, v, axes, 1);
  grad_to(g, op, operand, build_convert(g->b, v, s->dtype));
}

void grad_dequantize(GradCtx *g, const Op *op, ValueId dy) {
  if (grad_wants(g, op, 1)) quantize_grad_scales(g, op, op->attr, 1, op->operands[0], dy);
}

/* ---- evaluation ---- */

/* Numbers by their place. */
typedef double NumberAt(const void *x, int64_t i);
static double number_of_tensor(const void *x, int64_t i) { return ((const Tensor *)x)->at[i].f; }
static double number_of_floats(const void *x, int64_t i) { return ((const float *)x)[i]; }

/* The scale of group k of a line, not yet rounded. */
static double scale_of(const Attr *attr, const Lines *l, NumberAt *at, const void *x, int64_t line,
                       int64_t k) {
  double hi = 0, lo = 0;
  bool nan = false;
  int64_t from = k * group_of(attr);
  for (int64_t i = from; i < l->n && i - from < group_of(attr); i++) {
    double v = at(x, line_place(l, line, l->n, i));
    nan |= v != v;
    hi = v > hi ? v : hi, lo = v < lo ? v : lo;
  }
  double m = nan ? NAN : hi >= -lo ? hi : lo;
  return 0 - m / scaled_most(attr);
}

void eval_quantize_scale(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0);
  Lines l = lines_of(x->type, axis_of(op->attr));
  int64_t of = groups(op->attr, l.n);
  Tensor *y = eval_out(c, op);
  for (int64_t line = 0; line < l.count; line++)
    for (int64_t k = 0; k < of; k++)
      eval_set(c, y, line_place(&l, line, of, k),
               scale_of(op->attr, &l, number_of_tensor, x, line, k));
}

/* The integer nearest to x / s, halves to even. */
static int64_t quantized(InterpMode mode, const Attr *attr, double x, double s, Dtype dt) {
  double end = least_of(attr);
  double q = rint(scalar_round((Scalar){.f = x / s}, dt, mode).f);
  if (s == 0 || q != q) return 0;
  return (int64_t)(q < -end ? -end : q > end - 1 ? end - 1 : q);
}

double quantized_error(const QuantizedGlobal *q, const float *x) {
  const Attr attr[MAX_ATTRS] = {
      [AT_AXIS].i = q->axis, [AT_BITS].i = q->bits, [AT_GROUP].i = q->group};
  Lines l = lines_of(q->type, q->axis);
  double error = 0, all = 0, scale = 0;
  for (int64_t line = 0; line < l.count; line++)
    for (int64_t i = 0; i < l.n; i++) {
      if (i % q->group == 0)
        scale = scale_of(attr, &l, number_of_floats, x, line, i / q->group),
        scale = scalar_round((Scalar){.f = scale}, DT_BF16, INTERP_DTYPE).f;
      double v = x[line_place(&l, line, l.n, i)];
      double d = v - (double)quantized(INTERP_DTYPE, attr, v, scale, DT_F32) * scale;
      error += d * d, all += v * v;
    }
  return all > 0 ? sqrt(error / all) : 0;
}

void eval_quantize(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0), *s = eval_in(c, op, 1);
  Tensor *y = eval_out(c, op);
  Lines l = lines_of(x->type, axis_of(op->attr));
  Dtype dt = dtype_sum(x->type->dtype);
  bool pairs = bits_of(op->attr) == 4;
  for (int64_t line = 0; line < l.count; line++)
    for (int64_t i = 0; i < l.n + (pairs && l.n % 2); i++) {
      int64_t q = 0;
      if (i < l.n)
        q = quantized(
            c->it->mode, op->attr, x->at[line_place(&l, line, l.n, i)].f,
            scalar_round((Scalar){.f = scale_at(op->attr, &l, s, line, i)}, dt, c->it->mode).f, dt);
      if (bits_of(op->attr) == 16) {
        const int64_t low = (q + (1 << 15) + 128) % 256 - 128;
        y->at[line_place(&l, line, 2 * l.n, 2 * i)].i = low;
        y->at[line_place(&l, line, 2 * l.n, 2 * i + 1)].i = (q - low) / 256;
        continue;
      }
      Scalar *to = &y->at[line_place(&l, line, stored(op->attr, l.n), pairs ? i / 2 : i)];
      to->i = !pairs ? q : i % 2 ? to->i + 16 * (q + 8) : q + 8;
    }
}

void eval_dequantize(EvalCtx *c, const Op *op) {
  const Tensor *q = eval_in(c, op, 0), *s = eval_in(c, op, 1);
  Tensor *y = eval_out(c, op);
  Lines l = lines_of(y->type, axis_of(op->attr));
  for (int64_t line = 0; line < l.count; line++)
    for (int64_t i = 0; i < l.n; i++) {
      Scalar scale = {.f = scale_at(op->attr, &l, s, line, i)};
      scale = scalar_round(scale, y->type->dtype, c->it->mode);
      eval_set(c, y, line_place(&l, line, l.n, i),
               (double)integer_at(op->attr, &l, q, line, i) * scale.f);
    }
}
