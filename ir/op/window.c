/* The geometry of windows, from an op's types and attributes, and the shape rule that convolutions
   and pools share.
   Contract: an op that passed its shape rule has a geometry without overflow. */
#include "ir/op/window_rule.h"

bool window_lists(const ShapeIn *in, int slot, const char *what, int n, int64_t min) {
  const Ints *l = in->attr[slot].ints;
  if (ints_n(l) != n) return shape_wrong(in, "needs %d numbers for %s, not %d", n, what, ints_n(l));
  for (int i = 0; i < n; i++)
    if (l->at[i] < min || l->at[i] > INT32_MAX)
      return shape_wrong(in, "needs a %s of %lld to 2147483647, not %lld", what, (long long)min,
                         (long long)l->at[i]);
  return true;
}

/* Sets a->out; false where the window does not fit into the padded image. rows: "rows", "columns".
 */
static bool window_extent(const ShapeIn *in, const char *rows, WindowAxis *a) {
  int64_t reach; /* from the first tap to the last */
  if (__builtin_mul_overflow(a->taps - 1, a->dilation, &reach) || reach >= INT64_MAX / 4 ||
      a->in + a->lo + a->hi <= reach)
    return shape_wrong(in,
                       "has no room for a window of %lld %s, %lld apart, on %lld with padding "
                       "%lld and %lld",
                       (long long)a->taps, rows, (long long)a->dilation, (long long)a->in,
                       (long long)a->lo, (long long)a->hi);
  a->out = (a->in + a->lo + a->hi - reach - 1) / a->stride + 1;
  return true;
}

/* ---- bounded axes ---- */

WindowLine window_line(Ctx *c, int64_t axis) {
  WindowLine l = {.n = axis_extent(c, axis), .times = axis_multiple(axis)};
  int64_t of;
  if (axis_is_more(c, axis, &of, &l.more)) l.n = axis_extent(c, of), l.times = axis_multiple(of);
  if (l.n && l.n->whole) l.n = NULL;
  return l;
}

static int64_t quotient_down(int64_t n, int64_t by) { return n / by - (n % by < 0); }

/* Elements in front of the first window's end are as many less. */
static int64_t room(const WindowLine *l, const WindowAxis *w) {
  return l->more + w->lo + w->hi - (w->taps - 1) * w->dilation - 1;
}

int64_t window_axis_out(Ctx *c, const WindowLine *l, const WindowAxis *w) {
  if (!l->n || l->times % w->stride) return 0;
  return axis_and_more(c, axis_of_extent(l->n, l->times / w->stride),
                       quotient_down(room(l, w), w->stride) + 1);
}

int64_t window_axis_in(Ctx *c, const WindowLine *l, const WindowAxis *w, int64_t more) {
  const int64_t reach = (w->taps - 1) * w->dilation;
  const int64_t all = axis_product(c, axis_of_extent(l->n, l->times), w->stride);
  return !all ? 0
              : axis_and_more(c, all, (l->more - 1) * w->stride - w->lo - w->hi + reach + more + 1);
}

int64_t window_least(const WindowLine *l, const WindowAxis *w) {
  return -quotient_down(room(l, w), l->times);
}

int64_t window_axis(const ShapeIn *in, int i, const Type *x, WindowAxis *a) {
  if (!window_extent(in, i ? "columns" : "rows", a)) return 0;
  if (!type_extent(x, 2 + i)) return a->out;
  const WindowLine l = window_line(in->ctx, type_axis(x, 2 + i));
  const int64_t axis = window_axis_out(in->ctx, &l, a);
  if (axis) return axis;
  shape_wrong(in, "has windows along axis %d of %s whose number no extent gives", 2 + i,
              shape_str(in, x));
  return 0;
}

/* ---- */

static WindowAxis axis_of(const Op *op, int axis, int64_t in, int64_t taps, int64_t out) {
  const Ints *dilation =
      op->kind == OP_AVG_POOL || op->kind == OP_AVG_POOL_GRAD ? NULL : op->attr[AT_DILATION].ints;
  return (WindowAxis){.in = in,
                      .out = out,
                      .taps = taps,
                      .stride = op->attr[AT_STRIDE].ints->at[axis],
                      .dilation = dilation ? dilation->at[axis] : 1,
                      .lo = op->attr[AT_PAD].ints->at[2 * axis],
                      .hi = op->attr[AT_PAD].ints->at[2 * axis + 1]};
}

ConvGeom conv_geom(const Entry *e, const Op *op) {
  const Type *a = value_type(e, op->operands[0]), *b = value_type(e, op->operands[1]);
  const Type *r = value_type(e, op->results[0]);
  ConvGeom g = {.groups = op->attr[AT_GROUPS].i};
  switch ((int)op->kind) {
  case OP_CONV: g.x = a, g.f = b, g.y = r; break;
  case OP_CONV_INPUT_GRAD: g.x = r, g.f = b, g.y = a; break;
  default: g.x = b, g.f = r, g.y = a; break; /* OP_CONV_FILTER_GRAD */
  }
  g.n = g.x->dim[0];
  g.cin = g.x->dim[1];
  g.cout = g.y->dim[1];
  g.gin = g.f->dim[1];
  g.gout = g.cout / g.groups;
  g.h = axis_of(op, 0, g.x->dim[2], g.f->dim[2], g.y->dim[2]);
  g.w = axis_of(op, 1, g.x->dim[3], g.f->dim[3], g.y->dim[3]);
  return g;
}

PoolGeom pool_geom(const Entry *e, const Op *op) {
  const Type *a = value_type(e, op->operands[0]), *r = value_type(e, op->results[0]);
  bool back = op->kind == OP_MAX_POOL_GRAD || op->kind == OP_AVG_POOL_GRAD;
  PoolGeom g = {.x = back ? r : a, .y = back ? a : r};
  g.n = g.x->dim[0];
  g.c = g.x->dim[1];
  const Ints *window = op->attr[AT_WINDOW].ints;
  g.h = axis_of(op, 0, g.x->dim[2], window->at[0], g.y->dim[2]);
  g.w = axis_of(op, 1, g.x->dim[3], window->at[1], g.y->dim[3]);
  if (op->kind == OP_AVG_POOL || op->kind == OP_AVG_POOL_GRAD)
    for (int i = 0; i < 4; i++) g.count[i] = op->attr[AT_COUNT].ints->at[i];
  return g;
}
