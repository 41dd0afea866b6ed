/* Products of quantized matrices. quantized_matmul multiplies floats by a quantized matrix, whose
   integers it reads as they lie. scaled_matmul multiplies two quantized matrices, the left one of
   8 or 16 bits: the integers of a group make one exact sum, and the scales of both sides multiply
   it. Contract: groups are along the depth K, and equal on both sides. An element of scaled_matmul
   is the sum over groups of (sum of x q) (x_scale q_scale). Each op has the value of the matmul of
   its dequantized operands, up to rounding; gradients flow to x and to scales. */
#include "ir/op/quantize.h"

static Ctx *ctx_of(const Builder *b) { return b->e->module->ctx; }

/* Elements of a row of the left operand: of scaled_matmul one may have two bytes. */
static int64_t depth_of(const Attr *attr, const Type *x) {
  return attr[AT_LEFT_BITS].i == 16 ? x->dim[1] / 2 : x->dim[1];
}

/* The left operand of scaled_matmul, dequantized. */
static const Type *left_of(Ctx *c, const Attr *attr, Dtype dt, const Type *x) {
  return type_with_extent(c, type_with_dtype(c, x, dt), 1, depth_of(attr, x));
}

/* The dequantized right operand: [K, N], or [N, K] with axis 1. */
static const Type *matrix_of(Ctx *c, const Attr *attr, Dtype dt, const Type *x, const Type *q) {
  int64_t axis = axis_of(attr), dim[2];
  dim[axis] = depth_of(attr, x), dim[!axis] = q->dim[!axis];
  return type_get(c, dt, 2, dim);
}

/* How the left operand of scaled_matmul is quantized. */
static void left_attrs(const Attr *attr, Attr out[MAX_ATTRS]) {
  memset(out, 0, MAX_ATTRS * sizeof *out);
  out[AT_AXIS].i = 1, out[AT_BITS].i = attr[AT_LEFT_BITS].i, out[AT_GROUP].i = group_of(attr);
}

/* ---- shapes ---- */

/* The right operand and its scales, which is `scale`, fit x. */
static bool has_matrix(const ShapeIn *in, Dtype dt, int scale) {
  const Type *x = in->type[0], *q = in->type[1], *s = in->type[scale];
  if (x->rank != 2 || q->rank != 2) {
    shape_wrong(in, "needs two matrices: %s against %s", shape_str(in, x), shape_str(in, q));
    return false;
  }
  if (!quantize_of_floats(in, s) || !quantize_has_groups(in, q)) return false;
  const Type *w = matrix_of(in->ctx, in->attr, dt, x, q);
  if (!w) {
    shape_wrong(in, "has a matrix with more bytes than can be addressed");
    return false;
  }
  int64_t k = depth_of(in->attr, x), axis = axis_of(in->attr);
  return quantize_has_dims(in, 1, "integers", w, axis, stored_dtype(in->attr),
                           stored(in->attr, k)) &&
         quantize_has_dims(in, scale, "scales", w, axis, s->dtype, groups(in->attr, k));
}

static const Type *product_of(const ShapeIn *in, Dtype dt) {
  const Type *x = in->type[0], *q = in->type[1];
  return shape_make(in, dt, 2, (int64_t[]){x->dim[0], q->dim[!axis_of(in->attr)]});
}

const Type *shape_quantized_matmul(const ShapeIn *in) {
  const Type *x = in->type[0];
  const bool wide = in->attr[AT_WIDE_PRODUCT].i;
  if (x->rank == 2 && in->type[1]->rank == 2 && !quantize_of_floats(in, x)) return NULL;
  if (wide && !dtype_is_half(x->dtype))
    return shape_wrong(in, "is wide for f16 and bf16, not %s", shape_str(in, x));
  return has_matrix(in, x->dtype, 2) ? product_of(in, wide ? DT_F32 : x->dtype) : NULL;
}

const Type *shape_scaled_matmul(const ShapeIn *in) {
  const Type *x = in->type[0], *s = in->type[2], *to = in->given;
  Attr left[MAX_ATTRS];
  left_attrs(in->attr, left);
  if (bits_of(left) != 8 && bits_of(left) != 16)
    return shape_wrong(in, "has integers of 8 or 16 bits on the left, not %lld",
                       (long long)bits_of(left));
  if (x->dtype != DT_I8) return shape_wrong(in, "needs i8 on the left, not %s", shape_str(in, x));
  if (x->rank == 2 && x->dim[1] % stored(left, 1))
    return shape_wrong(in, "needs two bytes for each integer on the left, not %s",
                       shape_str(in, x));
  if (!quantize_of_floats(in, to) || !has_matrix(in, to->dtype, 3)) return NULL;
  const Type *a = left_of(in->ctx, in->attr, x->dtype, x);
  if (!quantize_of_floats(in, s) ||
      !quantize_has_dims(in, 2, "scales", a, 1, s->dtype, groups(in->attr, a->dim[1])))
    return NULL;
  return product_of(in, to->dtype);
}

/* ---- decomposition ---- */

ValueId expand_quantized_matmul(Builder *b, const Op *op, const Type *to, const ValueId *x) {
  (void)to; /* of f32 where the product is wide */
  const Type *t = value_type(b->e, x[0]);
  const Type *w = matrix_of(ctx_of(b), op->attr, t->dtype, t, value_type(b->e, x[1]));
  ValueId right = quantize_floats(b, op->attr, x[1], x[2], w);
  const bool tb = axis_of(op->attr) == 1;
  return op->attr[AT_WIDE_PRODUCT].i ? build_matmul_narrow(b, x[0], right, false, tb)
                                     : build_matmul(b, x[0], right, false, tb);
}

ValueId expand_scaled_matmul(Builder *b, const Op *op, const Type *to, const ValueId *x) {
  const Type *t = value_type(b->e, x[0]);
  const Dtype dt = dtype_sum(to->dtype);
  const Type *w = matrix_of(ctx_of(b), op->attr, dt, t, value_type(b->e, x[1]));
  Attr left[MAX_ATTRS];
  left_attrs(op->attr, left);
  ValueId a = quantize_floats(b, left, x[0], x[2], left_of(ctx_of(b), op->attr, dt, t));
  ValueId c = quantize_floats(b, op->attr, x[1], x[3], w);
  return build_convert(b, build_matmul(b, a, c, false, axis_of(op->attr) == 1), to->dtype);
}

ValueId build_with_left_dequantized(Builder *b, const Op *op, const Type *to, const ValueId *x) {
  const Dtype dt = dtype_sum(to->dtype);
  Attr attr[MAX_ATTRS], left[MAX_ATTRS];
  left_attrs(op->attr, left);
  const Type *t = left_of(ctx_of(b), op->attr, dt, value_type(b->e, x[0]));
  const ValueId v[] = {quantize_floats(b, left, x[0], x[2], t), x[1], x[3]};
  memcpy(attr, op->attr, sizeof attr);
  attr[AT_WIDE_PRODUCT].i = 0; /* left_bits has the same place */
  return build(b, OP_QUANTIZED_MATMUL, v, 3, attr, NULL);
}

/* ---- gradients ---- */

/* Of the left operand's floats, and of the right one's, in whose place the scales are operand
   `scale`. */
static ValueId grad_left(GradCtx *g, const Op *op, int scale, ValueId dy) {
  const Type *x = value_type(g->e, op->operands[0]), *q = value_type(g->e, op->operands[1]);
  const Type *w = matrix_of(ctx_of(g->b), op->attr, value_type(g->e, dy)->dtype, x, q);
  const ValueId of[] = {op->operands[1], op->operands[scale]};
  Attr attr[MAX_ATTRS];
  memcpy(attr, op->attr, sizeof attr);
  attr[AT_LEFT_BITS].i = 0; /* nor is dequantize wide, which has the same place */
  ValueId right = build(g->b, OP_DEQUANTIZE, of, 2, attr, w);
  return build_matmul(g->b, dy, right, false, axis_of(op->attr) == 0);
}

static void grad_right(GradCtx *g, const Op *op, int scale, ValueId x, ValueId dy) {
  ValueId dw = axis_of(op->attr) == 1 ? build_matmul(g->b, dy, x, true, false)
                                      : build_matmul(g->b, x, dy, true, false);
  quantize_grad_scales(g, op, op->attr, scale, op->operands[1], dw);
}

/* The gradient of a wide product is first converted to the left operand's dtype. */
void grad_quantized_matmul(GradCtx *g, const Op *op, ValueId dy) {
  dy = build_convert(g->b, dy, value_type(g->e, op->operands[0])->dtype);
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, grad_left(g, op, 2, dy));
  if (grad_wants(g, op, 2)) grad_right(g, op, 2, op->operands[0], dy);
}

void grad_scaled_matmul(GradCtx *g, const Op *op, ValueId dy) {
  Attr left[MAX_ATTRS];
  left_attrs(op->attr, left);
  if (grad_wants(g, op, 2))
    quantize_grad_scales(g, op, left, 2, op->operands[0], grad_left(g, op, 3, dy));
  if (!grad_wants(g, op, 3)) return;
  const Type *t = value_type(g->e, op->operands[0]);
  const ValueId of[] = {op->operands[0], op->operands[2]};
  t = left_of(ctx_of(g->b), op->attr, value_type(g->e, dy)->dtype, t);
  grad_right(g, op, 3, build(g->b, OP_DEQUANTIZE, of, 2, left, t), dy);
}

/* ---- evaluation ---- */

void eval_quantized_matmul(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0), *q = eval_in(c, op, 1), *s = eval_in(c, op, 2);
  Tensor *y = eval_out(c, op);
  const Type *t = x->type;
  const Type *w = matrix_of(c->it->m->ctx, op->attr, t->dtype, t, q->type);
  Lines l = lines_of(w, axis_of(op->attr));
  for (int64_t o = 0; o < y->type->numel; o++) {
    int64_t row = o / y->type->dim[1], column = o % y->type->dim[1];
    double sum = 0;
    for (int64_t k = 0; k < t->dim[1]; k++) {
      Scalar scale = {.f = scale_at(op->attr, &l, s, column, k)};
      scale = scalar_round(scale, t->dtype, c->it->mode);
      Scalar of = {.f = (double)integer_at(op->attr, &l, q, column, k) * scale.f};
      sum += x->at[row * t->dim[1] + k].f * scalar_round(of, t->dtype, c->it->mode).f;
    }
    eval_set(c, y, o, sum);
  }
}

void eval_scaled_matmul(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0), *q = eval_in(c, op, 1);
  const Tensor *xs = eval_in(c, op, 2), *qs = eval_in(c, op, 3);
  Tensor *y = eval_out(c, op);
  Attr left[MAX_ATTRS];
  left_attrs(op->attr, left);
  const Type *w = matrix_of(c->it->m->ctx, op->attr, y->type->dtype, x->type, q->type);
  const Lines a = lines_of(left_of(c->it->m->ctx, op->attr, y->type->dtype, x->type), 1);
  const Lines l = lines_of(w, axis_of(op->attr));
  const int64_t group = group_of(op->attr);
  for (int64_t o = 0; o < y->type->numel; o++) {
    int64_t row = o / y->type->dim[1], column = o % y->type->dim[1];
    double sum = 0;
    for (int64_t from = 0; from < l.n; from += group) {
      int64_t exact = 0;
      for (int64_t k = from; k < l.n && k - from < group; k++)
        exact += integer_at(left, &a, x, row, k) * integer_at(op->attr, &l, q, column, k);
      Scalar scale = {.f = scale_at(left, &a, xs, row, from) *
                           scale_at(op->attr, &l, qs, column, from)};
      sum += (double)exact * scalar_round(scale, dtype_sum(y->type->dtype), c->it->mode).f;
    }
    eval_set(c, y, o, sum);
  }
}
