/* The parts of batch normalisation: the variance over axes, and the affine map of a channel. Both
   are made of ordinary ops, and autodiff makes them so once there are gradients; until then they
   stand for rules that read less: the rules below name x and one number a channel, where
   those of the ordinary ops would keep what lies between, which has x's size.
   Contract: channels are axis 1 of x, and mean, scale and shift have one number each for them. */
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

/* ---- what they are made of ---- */

static Ctx *ctx_of(const Builder *b) { return b->e->module->ctx; }

/* v, which has lost these axes, on t again. */
static ValueId spread(Builder *b, ValueId v, const Type *t, const Ints *axes) {
  int64_t *dim = ARENA_ARRAY(b->m->arena, int64_t, t->rank + 1);
  for (int i = 0, k = 0; i < t->rank; i++) {
    bool dropped = k < ints_n(axes) && axes->at[k] == i;
    k += dropped;
    dim[i] = dropped ? 1 : t->dim[i];
  }
  v = build_reshape(b, v, type_get(ctx_of(b), t->dtype, t->rank, dim));
  return build_broadcast(b, v, t);
}

static const Ints *all_but_channels(Ctx *c, const Type *t) {
  int64_t small[SMALL_RANK], n = 0;
  int64_t *axes = t->rank <= SMALL_RANK ? small : ARENA_ARRAY(ctx_arena(c), int64_t, t->rank);
  for (int i = 0; i < t->rank; i++)
    if (i != 1) axes[n++] = i;
  return intern_ints(c, axes, (int)n);
}

/* One number a channel on x's shape. */
static ValueId per_channel(Builder *b, ValueId v, const Type *t) {
  return spread(b, v, t, all_but_channels(ctx_of(b), t));
}

/* Elements that axes hold. */
static double extent(const Type *t, const Ints *axes) {
  double n = 1;
  for (int i = 0; i < ints_n(axes); i++) n *= (double)t->dim[axes->at[i]];
  return n;
}

/* x - mean(x), where the mean is the sum over n, as the language's mean is. In the dtype of sums.
 */
static ValueId centred(Builder *b, ValueId x, const Ints *axes) {
  x = build_convert(b, x, dtype_sum(value_type(b->e, x)->dtype));
  const Type *t = value_type(b->e, x);
  ValueId sum = build_reduce(b, OP_SUM, x, axes ? axes->at : NULL, ints_n(axes));
  const Type *kept = value_type(b->e, sum);
  double n = extent(t, axes);
  ValueId mean = n == 1 ? sum : build2(b, OP_DIV, sum, build_const(b, kept, n));
  return build2(b, OP_SUB, x, spread(b, mean, t, axes));
}

ValueId expand_variance(Builder *b, const Op *op, const ValueId *x) {
  const Type *t = value_type(b->e, x[0]);
  const Ints *axes = op->attr[AT_AXES].ints;
  ValueId away = centred(b, x[0], axes);
  ValueId sum =
      build_reduce(b, OP_SUM, build2(b, OP_MUL, away, away), axes ? axes->at : NULL, ints_n(axes));
  double n = extent(t, axes);
  if (n > 1) sum = build2(b, OP_DIV, sum, build_const(b, value_type(b->e, sum), n));
  return build_convert(b, sum, t->dtype);
}

ValueId expand_batch_norm(Builder *b, const Op *op, const ValueId *x) {
  (void)op;
  const Type *t = value_type(b->e, x[0]);
  ValueId y = build2(b, OP_SUB, x[0], per_channel(b, x[1], t));
  y = build2(b, OP_MUL, y, per_channel(b, x[2], t));
  return build2(b, OP_ADD, y, per_channel(b, x[3], t));
}

/* ---- gradients ---- */

/* 2 / n dv (x - mean(x)): what the mean's own gradient would add is zero. */
void grad_variance(GradCtx *g, const Op *op, ValueId dv) {
  ValueId x = op->operands[0];
  const Ints *axes = op->attr[AT_AXES].ints;
  const Type *t = value_type(g->e, x);
  ValueId away = centred(g->b, x, axes);
  const Type *wide = value_type(g->e, away);
  dv = build_convert(g->b, dv, wide->dtype);
  ValueId each = build2(g->b, OP_MUL, dv, grad_const(g, dv, 2 / extent(t, axes)));
  ValueId dx = build2(g->b, OP_MUL, spread(g->b, each, wide, axes), away);
  grad_to(g, op, 0, build_convert(g->b, dx, t->dtype));
}

void grad_batch_norm(GradCtx *g, const Op *op, ValueId dy) {
  ValueId x = op->operands[0], mean = op->operands[1], scale = op->operands[2];
  const Type *t = value_type(g->e, x);
  const Ints *axes = all_but_channels(ctx_of(g->b), t);
  if (grad_wants(g, op, 0))
    grad_to(g, op, 0, build2(g->b, OP_MUL, dy, per_channel(g->b, scale, t)));
  if (grad_wants(g, op, 2)) {
    ValueId away = build2(g->b, OP_SUB, x, per_channel(g->b, mean, t));
    ValueId d = build2(g->b, OP_MUL, dy, away);
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
  int64_t *stride = ARENA_ARRAY(c->scratch, int64_t, x->type->rank + 1);
  double *mean = ARENA_ARRAY(c->scratch, double, y->type->numel + 1), n = extent(x->type, axes);
  const int64_t *kept = walk_strides(c->scratch, y->type);
  for (int i = 0, k = 0, at = 0; i < x->type->rank; i++) {
    bool drop = k < ints_n(axes) && axes->at[k] == i;
    k += drop;
    stride[i] = drop ? 0 : kept[at++];
  }
  for (Walk w = walk_new(c->scratch, x->type, 0, stride); walk_more(&w); walk_next(&w))
    mean[w.to] += x->at[w.from].f / n;
  for (Walk w = walk_new(c->scratch, x->type, 0, stride); walk_more(&w); walk_next(&w)) {
    double away = x->at[w.from].f - mean[w.to];
    y->at[w.to].f += away * away;
  }
  for (int64_t i = 0; i < y->type->numel; i++)
    y->at[i] = scalar_round((Scalar){.f = y->at[i].f / n}, y->type->dtype, c->it->mode);
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
    double v = (x->at[i].f - mean->at[k].f) * scale->at[k].f + shift->at[k].f;
    y->at[i] = scalar_round((Scalar){.f = v}, t->dtype, c->it->mode);
  }
}
