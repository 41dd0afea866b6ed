/* Batch normalisation: the variance over axes, and the affine map of a channel.
   Both are composites: autodiff decomposes them into primitive ops once gradients are built. Until
   then their own gradient rules read x and one value a channel. The rules of the primitive ops
   would save intermediate tensors of x's size.
   Contract: channels are axis 1 of x; mean, scale and shift have one value each for a channel. */
#include "ir/op/op.h"

/* ---- shapes ---- */

const Type *shape_variance(const ShapeIn *in) {
  const Type *t = in->type[0];
  if (!dtype_is_float(t->dtype))
    return shape_wrong(in, "needs floats, not %s: convert with f32(x)", shape_str(in, t));
  return shape_reduce(in);
}

const Type *shape_batch_norm(const ShapeIn *in) {
  static const char *const what[] = {"x", "mean", "scale", "shift"};
  const Type *t = in->type[0];
  if (!dtype_is_float(t->dtype))
    return shape_wrong(in, "needs floats, not %s: convert with f32(x)", shape_str(in, t));
  if (t->rank < 2) return shape_wrong(in, "needs x [N, C, ...], not %s", shape_str(in, t));
  const Type *channel = type_get(in->ctx, t->dtype, 1, t->dim + 1);
  for (int i = 1; i < 4; i++)
    if (in->type[i] != channel)
      return shape_wrong(in, "of %s needs a %s of type %s, not %s", shape_str(in, t), what[i],
                         shape_str(in, channel), shape_str(in, in->type[i]));
  return t;
}

/* ---- decomposition ---- */

static Ctx *ctx_of(const Builder *b) { return b->e->module->ctx; }

static const Ints *all_but_channels(Ctx *c, const Type *t) {
  int64_t small[SMALL_RANK], n = 0;
  int64_t *axes = t->rank <= SMALL_RANK ? small : ARENA_ARRAY(ctx_arena(c), int64_t, t->rank);
  for (int i = 0; i < t->rank; i++)
    if (i != 1) axes[n++] = i;
  return intern_ints(c, axes, (int)n);
}

/* One value a channel, broadcast to t. */
static ValueId per_channel(Builder *b, ValueId v, const Type *t) {
  return build_unreduce(b, v, t, all_but_channels(ctx_of(b), t));
}

/* The number of elements along the axes, at the bounds. */
static double extent(const Type *t, const Ints *axes) {
  double n = 1;
  for (int i = 0; i < ints_n(axes); i++) n *= (double)t->dim[axes->at[i]];
  return n;
}

/* The number of elements along the axes as a value of type t; of bounded axes at run time, from a
   double, as the language's mean has it, so that the two are one. */
static ValueId extent_value(Builder *b, const Type *of, const Ints *axes, const Type *t) {
  if (!of->extent) return build_const(b, t, extent(of, axes));
  ValueId n = build_count(b, of, axes ? axes->at : NULL, ints_n(axes));
  n = build_convert(b, n, DT_F64);
  return build_broadcast(b, build_convert(b, n, t->dtype), t);
}

/* x - mean(x), in the dtype of sums; the mean is the sum over n, as the language's mean is. */
static ValueId subtract_mean(Builder *b, ValueId x, const Ints *axes) {
  x = build_convert(b, x, dtype_sum(value_type(b->e, x)->dtype));
  const Type *t = value_type(b->e, x);
  ValueId sum = build_reduce(b, OP_SUM, x, axes ? axes->at : NULL, ints_n(axes));
  const Type *kept = value_type(b->e, sum);
  double n = extent(t, axes);
  ValueId mean = n == 1 ? sum : build2(b, OP_DIV, sum, extent_value(b, t, axes, kept));
  return build2(b, OP_SUB, x, build_unreduce(b, mean, t, axes));
}

ValueId expand_variance(Builder *b, const Op *op, const Type *to, const ValueId *x) {
  (void)to;
  const Type *t = value_type(b->e, x[0]);
  const Ints *axes = op->attr[AT_AXES].ints;
  ValueId centred = subtract_mean(b, x[0], axes);
  ValueId sum = build_reduce(b, OP_SUM, build2(b, OP_MUL, centred, centred), axes ? axes->at : NULL,
                             ints_n(axes));
  double n = extent(t, axes);
  if (n > 1) sum = build2(b, OP_DIV, sum, extent_value(b, t, axes, value_type(b->e, sum)));
  return build_convert(b, sum, t->dtype);
}

ValueId expand_batch_norm(Builder *b, const Op *op, const Type *to, const ValueId *x) {
  (void)op, (void)to;
  const Type *t = value_type(b->e, x[0]);
  ValueId y = build2(b, OP_SUB, x[0], per_channel(b, x[1], t));
  y = build2(b, OP_MUL, y, per_channel(b, x[2], t));
  return build2(b, OP_ADD, y, per_channel(b, x[3], t));
}

/* ---- gradients ---- */

/* 2 / n dv (x - mean(x)): the gradient through the mean is zero. */
void grad_variance(GradCtx *g, const Op *op, ValueId dv) {
  ValueId x = op->operands[0];
  const Ints *axes = op->attr[AT_AXES].ints;
  const Type *t = value_type(g->e, x);
  ValueId centred = subtract_mean(g->b, x, axes);
  const Type *wide = value_type(g->e, centred);
  dv = build_convert(g->b, dv, wide->dtype);
  ValueId scale = NO_ID;
  if (!t->extent) {
    scale = grad_const(g, dv, 2 / extent(t, axes));
  } else { /* the same quotient: of doubles, rounded once */
    const Type *exact = type_scalar(g->b->m->ctx, DT_F64);
    ValueId n = extent_value(g->b, t, axes, exact);
    scale = build2(g->b, OP_DIV, build_const(g->b, exact, 2), n);
    scale = build_convert(g->b, scale, wide->dtype);
    scale = build_broadcast(g->b, scale, value_type(g->e, dv));
  }
  ValueId each = build2(g->b, OP_MUL, dv, scale);
  ValueId dx = build2(g->b, OP_MUL, build_unreduce(g->b, each, wide, axes), centred);
  grad_to(g, op, 0, build_convert(g->b, dx, t->dtype));
}

void grad_batch_norm(GradCtx *g, const Op *op, ValueId dy) {
  ValueId x = op->operands[0], mean = op->operands[1], scale = op->operands[2];
  const Type *t = value_type(g->e, x);
  const Ints *axes = all_but_channels(ctx_of(g->b), t);
  if (grad_wants(g, op, 0))
    grad_to(g, op, 0, build2(g->b, OP_MUL, dy, per_channel(g->b, scale, t)));
  if (grad_wants(g, op, 2)) {
    ValueId centred = build2(g->b, OP_SUB, x, per_channel(g->b, mean, t));
    ValueId d = build2(g->b, OP_MUL, dy, centred);
    grad_to(g, op, 2, build_reduce(g->b, OP_SUM, d, axes->at, axes->n));
  }
  if (!grad_wants(g, op, 1) && !grad_wants(g, op, 3)) return;
  ValueId sum = build_reduce(g->b, OP_SUM, dy, axes->at, axes->n);
  if (grad_wants(g, op, 1))
    grad_to(g, op, 1, build1(g->b, OP_NEG, build2(g->b, OP_MUL, sum, scale)));
  if (grad_wants(g, op, 3)) grad_to(g, op, 3, sum);
}

/* ---- evaluation ---- */

void eval_variance(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op);
  const Ints *axes = op->attr[AT_AXES].ints;
  const int64_t *stride = reduced_strides(c->scratch, x->type, y->type, axes);
  double *mean = ARENA_ARRAY(c->scratch, double, y->type->numel + 1), n = extent(x->type, axes);
  for (StridedIter w = strided_new(c->scratch, x->type, 0, stride); strided_more(&w);
       strided_next(&w))
    mean[w.to] += x->at[w.from].f / n;
  for (StridedIter w = strided_new(c->scratch, x->type, 0, stride); strided_more(&w);
       strided_next(&w)) {
    double centred = x->at[w.from].f - mean[w.to];
    y->at[w.to].f += centred * centred;
  }
  for (int64_t i = 0; i < y->type->numel; i++) eval_set(c, y, i, y->at[i].f / n);
}

void eval_batch_norm(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0), *mean = eval_in(c, op, 1), *scale = eval_in(c, op, 2);
  const Tensor *shift = eval_in(c, op, 3);
  Tensor *y = eval_out(c, op);
  const Type *t = x->type;
  int64_t inner = 1;
  for (int i = 2; i < t->rank; i++) inner *= t->dim[i];
  for (int64_t i = 0; i < t->numel; i++) {
    int64_t k = i / inner % t->dim[1];
    eval_set(c, y, i, (x->at[i].f - mean->at[k].f) * scale->at[k].f + shift->at[k].f);
  }
}
