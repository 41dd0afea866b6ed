/* Pools over windows of images: the largest, the mean, and their gradients.
   Contract: padding is never the maximum, and every window has a pixel. Of equal pixels the first
   in row-major order is the maximum; NaN is larger than all. The backward pass of max_pool saves
   the index of the maximum within its window, a byte if the window has up to 256 taps. An index
   outside of the image selects no pixel. */
#include "ir/op/window_rule.h"

#include <math.h>

enum { BYTE_TAPS = 256 };

/* ---- shapes ---- */

static bool is_average(const ShapeIn *in) {
  return in->kind == OP_AVG_POOL || in->kind == OP_AVG_POOL_GRAD;
}

/* Every window holds a pixel. Taps that are no farther apart than the image is wide cannot step
   over it, so that only the first and the last window may lie beside it. */
static bool holds_pixels(const ShapeIn *in, const WindowAxis *a) {
  int64_t step = a->dilation <= a->in && a->out > 1 ? a->out - 1 : 1;
  for (int64_t o = 0; o < a->out; o += step) {
    int64_t from, to;
    window_taps(a, o, &from, &to);
    if (from == to)
      return shape_wrong(in,
                         "has windows of nothing but padding: %lld pixels, window %lld, "
                         "padding %lld and %lld",
                         (long long)a->in, (long long)a->taps, (long long)a->lo, (long long)a->hi);
  }
  return true;
}

/* The pooled image's type with this dtype, or NULL after the reason. */
static const Type *pool_type(const ShapeIn *in, const Type *x, Dtype dt) {
  if (x->dtype == DT_BOOL || (is_average(in) && !dtype_is_float(x->dtype)))
    return shape_wrong(in, "needs %s, not %s: convert with f32(x)",
                       is_average(in) ? "floats" : "numbers", shape_str(in, x));
  if (x->rank != 4) return shape_wrong(in, "needs images [N, C, H, W], not %s", shape_str(in, x));
  if (!window_lists(in, AT_WINDOW, "window", 2, 1) ||
      !window_lists(in, AT_STRIDE, "stride", 2, 1) || !window_lists(in, AT_PAD, "pad", 4, 0))
    return NULL;
  if (is_average(in) ? !window_lists(in, AT_COUNT, "counted pad", 4, 0)
                     : !window_lists(in, AT_DILATION, "dilation", 2, 1))
    return NULL;
  int64_t dim[4] = {type_axis(x, 0), x->dim[1]};
  for (int i = 0; i < 2; i++) {
    WindowAxis a = {.in = x->dim[2 + i],
                    .taps = in->attr[AT_WINDOW].ints->at[i],
                    .stride = in->attr[AT_STRIDE].ints->at[i],
                    .dilation = is_average(in) ? 1 : in->attr[AT_DILATION].ints->at[i],
                    .lo = in->attr[AT_PAD].ints->at[2 * i],
                    .hi = in->attr[AT_PAD].ints->at[2 * i + 1]};
    dim[2 + i] = window_axis(in, i, x, &a);
    if (!dim[2 + i] || !holds_pixels(in, &a)) return NULL;
    if (is_average(in) && type_extent(x, 2 + i) && in->attr[AT_COUNT].ints->at[2 * i + 1] != a.hi)
      return shape_wrong(in,
                         "divides by numbers of pixels along axis %d of %s that are known only "
                         "at run time",
                         2 + i, shape_str(in, x));
  }
  return shape_make(in, dt, 4, dim);
}

static Dtype index_dtype(const ShapeIn *in) {
  const Ints *w = in->attr[AT_WINDOW].ints;
  return ints_n(w) == 2 && w->at[0] <= BYTE_TAPS && w->at[0] * w->at[1] <= BYTE_TAPS ? DT_U8
                                                                                     : DT_I32;
}

const Type *shape_pool(const ShapeIn *in) { return pool_type(in, in->type[0], in->type[0]->dtype); }

const Type *shape_max_pool_index(const ShapeIn *in) {
  return pool_type(in, in->type[0], index_dtype(in));
}

const Type *shape_max_pool_take(const ShapeIn *in) {
  const Type *x = in->type[0], *t = pool_type(in, x, index_dtype(in));
  if (!t || t == in->type[1]) return t ? type_with_dtype(in->ctx, t, x->dtype) : NULL;
  return shape_wrong(in, "of %s needs indices %s, not %s", shape_str(in, x), shape_str(in, t),
                     shape_str(in, in->type[1]));
}

const Type *shape_max_pool_grad(const ShapeIn *in) {
  const Type *dy = in->type[0], *t = pool_type(in, in->given, index_dtype(in));
  if (!t) return NULL;
  const Type *want = type_with_dtype(in->ctx, t, in->given->dtype);
  if (want == dy && t == in->type[1]) return in->given;
  return shape_wrong(in, "to %s needs %s and indices %s, not %s and %s", shape_str(in, in->given),
                     shape_str(in, want), shape_str(in, t), shape_str(in, dy),
                     shape_str(in, in->type[1]));
}

const Type *shape_avg_pool_grad(const ShapeIn *in) {
  const Type *t = pool_type(in, in->given, in->given->dtype);
  if (!t || t == in->type[0]) return t ? in->given : NULL;
  return shape_wrong(in, "to %s needs %s, not %s", shape_str(in, in->given), shape_str(in, t),
                     shape_str(in, in->type[0]));
}

/* ---- gradients ---- */

/* Backward reads the indices, which the forward kernel finds along with the largest. */
void grad_max_pool(GradCtx *g, const Op *op, ValueId dy) {
  ValueId x = op->operands[0], index = build(g->b, OP_MAX_POOL_INDEX, &x, 1, op->attr, NULL);
  grad_to(g, op, 0,
          build(g->b, OP_MAX_POOL_GRAD, (ValueId[]){dy, index}, 2, op->attr, value_type(g->e, x)));
}

void grad_max_pool_take(GradCtx *g, const Op *op, ValueId dy) {
  if (!grad_wants(g, op, 0)) return;
  grad_to(g, op, 0,
          build(g->b, OP_MAX_POOL_GRAD, (ValueId[]){dy, op->operands[1]}, 2, op->attr,
                value_type(g->e, op->operands[0])));
}

void grad_max_pool_grad(GradCtx *g, const Op *op, ValueId dz) {
  if (!grad_wants(g, op, 0)) return;
  grad_to(g, op, 0,
          build(g->b, OP_MAX_POOL_TAKE, (ValueId[]){dz, op->operands[1]}, 2, op->attr, NULL));
}

void grad_avg_pool(GradCtx *g, const Op *op, ValueId dy) {
  const Type *t = value_type(g->e, op->operands[0]);
  grad_to(g, op, 0, build(g->b, OP_AVG_POOL_GRAD, &dy, 1, op->attr, t));
}

void grad_avg_pool_grad(GradCtx *g, const Op *op, ValueId dz) {
  grad_to(g, op, 0, build(g->b, OP_AVG_POOL, &dz, 1, op->attr, NULL));
}

/* ---- evaluation ---- */

/* One window: its place in the pooled image, and the offset of its tap (0, 0) in the image. */
typedef struct Window {
  int64_t at, base;
  int64_t r0, r1, s0, s1; /* taps inside */
  double count;           /* that an average divides by */
} Window;

static int64_t pixel(const PoolGeom *g, const Window *w, int64_t r, int64_t s) {
  return w->base + r * g->h.dilation * g->w.in + s * g->w.dilation;
}

typedef struct Pool {
  EvalCtx *c;
  const PoolGeom *g;
  const Op *op;
  Dtype dt;
  const Tensor *a, *b;
  Tensor *z;
} Pool;

typedef void WindowFn(const Pool *p, const Window *w);

static void each_window(const Pool *p, WindowFn *f) {
  const PoolGeom *g = p->g;
  for (int64_t at = 0; at < g->y->numel; at++) {
    int64_t j = at % g->w.out, i = at / g->w.out % g->h.out, plane = at / g->w.out / g->h.out;
    Window w = {.at = at};
    w.base = (plane * g->h.in + i * g->h.stride - g->h.lo) * g->w.in + j * g->w.stride - g->w.lo;
    window_taps(&g->h, i, &w.r0, &w.r1);
    window_taps(&g->w, j, &w.s0, &w.s1);
    w.count = (double)(window_count(&g->h, i, g->count[0], g->count[1]) *
                       window_count(&g->w, j, g->count[2], g->count[3]));
    f(p, &w);
  }
}

static bool is_greater(Dtype dt, Scalar v, Scalar best) {
  if (!dtype_is_float(dt)) return v.i > best.i;
  return best.f == best.f && (v.f != v.f || v.f > best.f);
}

/* The tap of the largest pixel. */
static int64_t largest(const Pool *p, const Window *w) {
  int64_t best = w->r0 * p->g->w.taps + w->s0;
  Scalar max = p->a->at[pixel(p->g, w, w->r0, w->s0)];
  for (int64_t r = w->r0; r < w->r1; r++)
    for (int64_t s = w->s0; s < w->s1; s++) {
      Scalar v = p->a->at[pixel(p->g, w, r, s)];
      if (!is_greater(p->dt, v, max)) continue;
      max = v;
      best = r * p->g->w.taps + s;
    }
  return best;
}

/* The offset of the pixel that an index names, or -1. */
static int64_t named(const Pool *p, const Window *w) {
  int64_t tap = p->b->at[w->at].i, r = tap / p->g->w.taps, s = tap % p->g->w.taps;
  if (tap < 0 || r < w->r0 || r >= w->r1 || s < w->s0 || s >= w->s1) return -1;
  return pixel(p->g, w, r, s);
}

static void do_max(const Pool *p, const Window *w) {
  int64_t tap = largest(p, w), taps = p->g->w.taps;
  p->z->at[w->at] = p->a->at[pixel(p->g, w, tap / taps, tap % taps)];
}

static void do_index(const Pool *p, const Window *w) { p->z->at[w->at].i = largest(p, w); }

static void do_take(const Pool *p, const Window *w) {
  int64_t at = named(p, w);
  if (at >= 0) p->z->at[w->at] = p->a->at[at];
}

static void do_max_grad(const Pool *p, const Window *w) {
  int64_t at = named(p, w);
  if (at < 0) return;
  if (dtype_is_float(p->dt))
    p->z->at[at].f += p->a->at[w->at].f;
  else
    p->z->at[at].i = (int64_t)((uint64_t)p->z->at[at].i + (uint64_t)p->a->at[w->at].i);
}

static void do_mean(const Pool *p, const Window *w) {
  for (int64_t r = w->r0; r < w->r1; r++)
    for (int64_t s = w->s0; s < w->s1; s++) p->z->at[w->at].f += p->a->at[pixel(p->g, w, r, s)].f;
  p->z->at[w->at].f /= w->count;
}

static void do_mean_grad(const Pool *p, const Window *w) {
  for (int64_t r = w->r0; r < w->r1; r++)
    for (int64_t s = w->s0; s < w->s1; s++)
      p->z->at[pixel(p->g, w, r, s)].f += p->a->at[w->at].f / w->count;
}

void eval_pool(EvalCtx *c, const Op *op) {
  PoolGeom g = pool_geom(c->e, op);
  Pool p = {.c = c, .g = &g, .op = op, .a = eval_in(c, op, 0), .dt = g.x->dtype};
  if (op->noperands > 1) p.b = eval_in(c, op, 1);
  p.z = eval_out(c, op);
  WindowFn *f = NULL;
  switch ((int)op->kind) {
  case OP_MAX_POOL: f = do_max; break;
  case OP_MAX_POOL_INDEX: f = do_index; break;
  case OP_MAX_POOL_TAKE: f = do_take; break;
  case OP_MAX_POOL_GRAD: f = do_max_grad; break;
  case OP_AVG_POOL: f = do_mean; break;
  default: f = do_mean_grad; break;
  }
  each_window(&p, f);
  eval_round(c, p.z);
}
