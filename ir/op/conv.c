/* Convolution over two axes, and its gradients by the image and by the filter. The three are closed
   under differentiation: with z = conv(x, f), dx = conv_input_grad(dz, f) and
   df = conv_filter_grad(dz, x), the sums of dz z, dx x and df f are the same number, and each op is
   linear in each operand, so the gradient of each is made of the other two.
   Contract: taps in the padding are skipped, not added as zero. Evaluation accumulates in double
   and rounds once. */
#include "ir/op/window_rule.h"

/* ---- shapes ---- */

/* The type of conv(x, f) in their dtype, or NULL after the reason. */
static const Type *conv_type(const ShapeIn *in, const Type *x, const Type *f) {
  if (!dtype_is_float(x->dtype))
    return shape_wrong(in, "needs floats, not %s: convert with f32(x)", shape_str(in, x));
  if (x->dtype != f->dtype)
    return shape_wrong(in, "needs equal dtypes: %s against %s", shape_str(in, x), shape_str(in, f));
  if (x->rank != 4 || f->rank != 4)
    return shape_wrong(in,
                       "needs images [N, C, H, W] and filters [O, C / groups, KH, KW]: %s "
                       "against %s",
                       shape_str(in, x), shape_str(in, f));
  if (!window_lists(in, AT_STRIDE, "stride", 2, 1) || !window_lists(in, AT_PAD, "pad", 4, 0) ||
      !window_lists(in, AT_DILATION, "dilation", 2, 1))
    return NULL;
  int64_t groups = in->attr[AT_GROUPS].i;
  if (groups < 1) return shape_wrong(in, "needs at least 1 group, not %lld", (long long)groups);
  if (x->dim[1] % groups)
    return shape_wrong(in, "cannot divide %lld channels of %s into %lld groups",
                       (long long)x->dim[1], shape_str(in, x), (long long)groups);
  if (f->dim[0] % groups)
    return shape_wrong(in, "cannot divide %lld filters of %s into %lld groups",
                       (long long)f->dim[0], shape_str(in, f), (long long)groups);
  if (f->dim[1] != x->dim[1] / groups)
    return shape_wrong(in,
                       "needs filters of %lld channels for %lld in %lld group%s, not %lld: %s "
                       "against %s",
                       (long long)(x->dim[1] / groups), (long long)x->dim[1], (long long)groups,
                       groups == 1 ? "" : "s", (long long)f->dim[1], shape_str(in, x),
                       shape_str(in, f));
  if (f->dim[2] < 1 || f->dim[3] < 1)
    return shape_wrong(in, "needs filters with taps, not %s", shape_str(in, f));
  const Ints *stride = in->attr[AT_STRIDE].ints, *pad = in->attr[AT_PAD].ints;
  const Ints *dilation = in->attr[AT_DILATION].ints;
  int64_t dim[4] = {type_axis(x, 0), f->dim[0]};
  for (int i = 0; i < 2; i++) {
    WindowAxis a = {.in = x->dim[2 + i],
                    .taps = f->dim[2 + i],
                    .stride = stride->at[i],
                    .dilation = dilation->at[i],
                    .lo = pad->at[2 * i],
                    .hi = pad->at[2 * i + 1]};
    dim[2 + i] = window_axis(in, i, x, &a);
    if (!dim[2 + i]) return NULL;
  }
  return shape_make(in, x->dtype, 4, dim);
}

/* Wide: the operands are halves and the result is f32. */
static bool is_wide(const ShapeIn *in) { return in->attr[AT_WIDE_RESULT].i != 0; }

static bool wide_is_half(const ShapeIn *in) {
  const Type *t = in->type[0];
  if (!is_wide(in) || dtype_is_half(t->dtype)) return true;
  shape_wrong(in, "has a wide result for f16 and bf16, not %s", shape_str(in, t));
  return false;
}

/* The filters' type as they count: rounded to the dtype of the other operand. */
static const Type *filters_narrow(const ShapeIn *in) {
  const Type *f = in->type[1];
  if (!in->attr[AT_ROUND_FILTERS].i) return f;
  if (!is_wide(in) && !in->attr[AT_TF32_OPERANDS].i)
    return shape_wrong(in, "rounds filters for a wide result or operands of tf32");
  if (f->dtype != DT_F32) return shape_wrong(in, "rounds filters of f32, not %s", shape_str(in, f));
  return type_with_dtype(in->ctx, f, in->type[0]->dtype);
}

const Type *shape_conv(const ShapeIn *in) {
  const Type *f = wide_is_half(in) ? filters_narrow(in) : NULL;
  const Type *t = f ? conv_type(in, in->type[0], f) : NULL;
  if (!t) return NULL;
  return is_wide(in) ? type_with_dtype(in->ctx, t, DT_F32) : t;
}

/* The given type in the dtype of the operands, from which a wide one differs. */
static const Type *given_narrow(const ShapeIn *in) {
  if (!wide_is_half(in)) return NULL;
  if (is_wide(in) && in->given->dtype != DT_F32)
    return shape_wrong(in, "has a wide result, which is f32, not %s", shape_str(in, in->given));
  return is_wide(in) ? type_with_dtype(in->ctx, in->given, in->type[0]->dtype) : in->given;
}

/* The result is given: is it what the operands are the convolution's other parts of? */
static const Type *conv_fits(const ShapeIn *in, const Type *x, const Type *f, const Type *y) {
  const Type *t = conv_type(in, x, f);
  if (!t || t == y) return t ? in->given : NULL;
  return shape_wrong(in, "to %s needs the result of a convolution, %s, not %s",
                     shape_str(in, in->given), shape_str(in, t), shape_str(in, y));
}

const Type *shape_conv_input_grad(const ShapeIn *in) {
  const Type *dy = in->type[0], *x = given_narrow(in), *f = x ? filters_narrow(in) : NULL;
  if (!f) return NULL;
  if (x->dtype == dy->dtype && f->dtype != dy->dtype) /* of operands, not of the result */
    return shape_wrong(in, "needs equal dtypes: %s against %s", shape_str(in, dy),
                       shape_str(in, f));
  return conv_fits(in, x, f, dy);
}

const Type *shape_conv_filter_grad(const ShapeIn *in) {
  if (in->n < 2 || in->n > 3) return shape_wrong(in, "takes 2 or 3 operands, not %d", in->n);
  if (in->attr[AT_ROUND_FILTERS].i) return shape_wrong(in, "has no filters to round");
  const Type *f = given_narrow(in);
  const Type *t = f ? conv_fits(in, in->type[1], f, in->type[0]) : NULL;
  return in->n > 2 ? shape_accumulator(in, t) : t;
}

/* ---- gradients ---- */

/* Of x, f and y the one that two others give; of a wide one, in the dtype of its operands. */
static ValueId build_third(GradCtx *g, OpKind k, const Op *like, ValueId a, ValueId b,
                           const Type *t) {
  Attr attr[MAX_ATTRS];
  memcpy(attr, like->attr, sizeof attr);
  attr[AT_WIDE_RESULT].i = attr[AT_ROUND_FILTERS].i = 0;
  return build(g->b, k, (ValueId[]){a, b}, 2, attr, t);
}

static ValueId build_input_grad(GradCtx *g, const Op *like, ValueId dy, ValueId f, const Type *x) {
  return build_third(g, OP_CONV_INPUT_GRAD, like, dy, f, x);
}

static ValueId build_filter_grad(GradCtx *g, const Op *like, ValueId dy, ValueId x, const Type *f) {
  return build_third(g, OP_CONV_FILTER_GRAD, like, dy, x, f);
}

static ValueId build_conv(GradCtx *g, const Op *like, ValueId x, ValueId f) {
  return build_third(g, OP_CONV, like, x, f, NULL);
}

/* The gradient of a result in the dtype of the operands. */
static ValueId narrow_like(GradCtx *g, const Op *op, ValueId dy) {
  return build_convert(g->b, dy, value_type(g->e, op->operands[0])->dtype);
}

/* The filters as they count. */
static ValueId rounded_filters(GradCtx *g, const Op *op) {
  ValueId f = op->operands[1];
  if (!op->attr[AT_ROUND_FILTERS].i) return f;
  return op->attr[AT_TF32_OPERANDS].i ? build1(g->b, OP_TF32, f) : narrow_like(g, op, f);
}

/* To the filters, of which `like` has the type as they count. */
static void filters_grad_to(GradCtx *g, const Op *op, ValueId dy, ValueId x, ValueId like) {
  ValueId df = build_filter_grad(g, op, dy, x, value_type(g->e, like));
  grad_to(g, op, 1, build_convert(g->b, df, value_type(g->e, op->operands[1])->dtype));
}

void grad_conv(GradCtx *g, const Op *op, ValueId dy) {
  ValueId x = op->operands[0], f = rounded_filters(g, op);
  dy = narrow_like(g, op, dy);
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, build_input_grad(g, op, dy, f, value_type(g->e, x)));
  if (grad_wants(g, op, 1)) filters_grad_to(g, op, dy, x, f);
}

void grad_conv_input_grad(GradCtx *g, const Op *op, ValueId dz) {
  ValueId dy = op->operands[0], f = rounded_filters(g, op);
  dz = narrow_like(g, op, dz);
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, build_conv(g, op, dz, f));
  if (grad_wants(g, op, 1)) filters_grad_to(g, op, dy, dz, f);
}

void grad_conv_filter_grad(GradCtx *g, const Op *op, ValueId dz) {
  ValueId dy = op->operands[0], x = op->operands[1], low = narrow_like(g, op, dz);
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, build_conv(g, op, x, low));
  if (grad_wants(g, op, 1))
    grad_to(g, op, 1, build_input_grad(g, op, dy, low, value_type(g->e, x)));
  if (op_accumulator(op) >= 0) grad_to(g, op, op_accumulator(op), dz);
}

/* ---- evaluation ---- */

/* Calls `term` with the offsets into x, f and y of every product of the convolution. */
typedef void TermFn(Scalar *x, Scalar *f, Scalar *y);

static void each_term(const ConvGeom *g, Scalar *x, Scalar *f, Scalar *y, TermFn *term) {
  const WindowAxis *h = &g->h, *w = &g->w;
  for (int64_t n = 0; n < g->n; n++)
    for (int64_t o = 0; o < g->cout; o++)
      for (int64_t i = 0; i < h->out; i++)
        for (int64_t j = 0; j < w->out; j++) {
          Scalar *to = y + ((n * g->cout + o) * h->out + i) * w->out + j;
          int64_t r0, r1, s0, s1;
          window_taps(h, i, &r0, &r1);
          window_taps(w, j, &s0, &s1);
          for (int64_t r = r0; r < r1; r++)
            for (int64_t s = s0; s < s1; s++)
              for (int64_t c = 0; c < g->gin; c++) {
                int64_t channel = o / g->gout * g->gin + c;
                int64_t row = i * h->stride - h->lo + r * h->dilation;
                int64_t col = j * w->stride - w->lo + s * w->dilation;
                term(x + ((n * g->cin + channel) * h->in + row) * w->in + col,
                     f + ((o * g->gin + c) * h->taps + r) * w->taps + s, to);
              }
        }
}

static void to_y(Scalar *x, Scalar *f, Scalar *y) { y->f += x->f * f->f; }
static void to_x(Scalar *x, Scalar *f, Scalar *y) { x->f += y->f * f->f; }
static void to_f(Scalar *x, Scalar *f, Scalar *y) { f->f += x->f * y->f; }

static Scalar *round_filters(EvalCtx *c, const Op *op, const Tensor *f) {
  Dtype dt = value_type(c->e, op->operands[0])->dtype;
  Scalar *r = ARENA_ARRAY(c->scratch, Scalar, f->type->numel + 1);
  for (int64_t i = 0; i < f->type->numel; i++) {
    Scalar s = {.f = op->attr[AT_TF32_OPERANDS].i ? element_of_number(OP_TF32, f->at[i].f)
                                                  : f->at[i].f};
    r[i] = scalar_round(s, dt, c->it->mode);
  }
  return r;
}

void eval_conv(EvalCtx *c, const Op *op) {
  Scalar *a = eval_in(c, op, 0)->at, *b = eval_in(c, op, 1)->at;
  if (op->attr[AT_ROUND_FILTERS].i) b = round_filters(c, op, eval_in(c, op, 1));
  Tensor *z = eval_out(c, op);
  ConvGeom g = conv_geom(c->e, op);
  const Tensor *before = op_accumulator(op) >= 0 ? eval_in(c, op, op_accumulator(op)) : NULL;
  for (int64_t i = 0; before && i < z->type->numel; i++) z->at[i] = before->at[i];
  switch ((int)op->kind) {
  case OP_CONV: each_term(&g, a, b, z->at, to_y); break;
  case OP_CONV_INPUT_GRAD: each_term(&g, z->at, b, a, to_x); break;
  default: each_term(&g, b, z->at, a, to_f); break;
  }
  eval_round(c, z);
}
