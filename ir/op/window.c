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

bool window_extent(const ShapeIn *in, const char *rows, WindowAxis *a) {
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
