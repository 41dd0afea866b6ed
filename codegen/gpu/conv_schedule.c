/* Schedules of convolutions and their gradients with respect to the image. Contract: in which order
   an element's products are added up depends on channels, filters and dtypes alone: a bounded
   program has the bits of the one that is compiled for the sizes. Method: the schedule of usual
   sizes decides between exact sums, tensor cores by warps and by warpgroups; then the size at hand
   has the best schedule of that order. */
#include "codegen/gpu/conv.h"
#include "codegen/program/extent.h"
#include "codegen/schedule/patches.h"
#include "codegen/schedule/wgmma_conv.h"

#include <math.h>

/* In which order sums are added up. Tiles, boxes of pixels and patches by warps all have the order
   of the depth. */
typedef struct ConvOrder {
  bool tensor;  /* that of tensor cores */
  int depth;    /* of a k-tile of warpgroups; 0: by warps */
  bool patches; /* ... of patches */
} ConvOrder;

enum { USUAL_IMAGES = 64 };

bool cuda_conv_is_small(const ConvGeom *c) {
  enum { OF_IMAGE = INT32_MAX / 16 }; /* places in a table, with channels behind */
  const FlatAxis axes[][2] = {{flat_axis(&c->h), flat_axis(&c->w)},
                              {flat_axis_back(&c->h), flat_axis_back(&c->w)}};
  for (int i = 0; i < 2; i++) {
    const FlatAxis *h = &axes[i][0], *w = &axes[i][1];
    const int64_t phases = h->phases * w->phases; /* of a gradient, as many pixels of each */
    if (phases * flat_pixels(c, h, w) + 2 * flat_span(h, w) > CUDA_CONV_PIXELS) return false;
  }
  const int64_t rows = ceil_div(c->h.out, GRID_BOX_HIGHEST) * GRID_BOX_HIGHEST,
                columns = ceil_div(c->w.out, GRID_BOX_WIDEST) * GRID_BOX_WIDEST;
  return c->n * rows * columns <= CUDA_CONV_PIXELS && c->h.in * c->w.in <= OF_IMAGE &&
         c->h.out * c->w.out <= OF_IMAGE;
}

static WindowAxis usual_axis(const WindowAxis *a, int side) {
  WindowAxis u = *a;
  u.out = side;
  u.in = (u.out - 1) * u.stride + (u.taps - 1) * u.dilation + 1 - u.lo - u.hi;
  if (u.in < 1) u.in = 1;
  return u;
}

ConvGeom cuda_conv_usual(const ConvGeom *c, int side) {
  ConvGeom u = *c;
  u.n = USUAL_IMAGES;
  u.h = usual_axis(&c->h, side), u.w = usual_axis(&c->w, side);
  return u;
}

/* Operands lie as they are multiplied, and a mask has room for the filter's rows and columns. */
static bool may_copy_ahead(const CudaTarget *t, const Group *gr, const ConvGeom *c) {
  return !t->pre_sm80 && value_type(gr->e, gr->root->operands[0])->dtype == DT_F32 &&
         !gr->root->attr[AT_ROUND_FILTERS].i && c->h.taps <= CONV_RING_TAPS &&
         c->w.taps <= CONV_RING_TAPS;
}

static GridConvShape shape_of(const CudaTarget *t, const Group *gr, const ConvGeom *c) {
  const bool back = gr->root->kind == OP_CONV_INPUT_GRAD;
  GridConvShape s = {.groups = c->groups,
                     .m = back ? c->gin : c->gout,
                     .pixels = c->n * c->h.out * c->w.out,
                     .channels = back ? c->gout : c->gin,
                     .taps = c->h.taps * c->w.taps,
                     .phases = back ? c->h.stride * c->w.stride : 1,
                     .area = back ? c->h.out * c->w.out : c->h.in * c->w.in,
                     .in = value_type(gr->e, gr->root->operands[0])->dtype,
                     .dt = dtype_sum(value_type(gr->e, gr->root->results[0])->dtype),
                     .ring = may_copy_ahead(t, gr, c)};
  /* a gradient's come phase by phase (text/conv.h), as many of each */
  if (back)
    s.pixels = c->n * c->h.stride * ceil_div(c->h.in, c->h.stride) * c->w.stride *
               ceil_div(c->w.in, c->w.stride);
  return s;
}

/* The same by patches, if that takes no more clocks. */
static void take_patches(const CudaTarget *t, const GridConvShape *s, const ConvGeom *p, int along,
                         GridConvSchedule *f, double *clocks) {
  GridConvShape one = *s;
  one.channels = p->gin, one.taps = 1;
  GridConvSchedule c = grid_conv_schedule(&t->machine, &one);
  const double time = c.tensor ? grid_conv_gather_clocks(&t->machine, &one, &c) : *clocks;
  if (time > *clocks) return;
  *f = c, *clocks = time;
  f->along = along;
}

/* Elements of a copy of patches, if a convolution has them; for images of all extents, or of none:
   a stride, which their filters have as sides, divides what an extent multiplies. */
static int patches_of(const Group *gr, const ConvGeom *c, ConvGeom *p) {
  if (gr->root->kind == OP_CONV_INPUT_GRAD) return 0;
  return conv_patches(c, dtype_size(value_type(gr->e, gr->root->operands[0])->dtype), p);
}

/* By warps, of the order, or, if that is NULL, of the one that takes fewer clocks. */
static GridConvSchedule by_warps(const CudaTarget *t, const Group *gr, const ConvGeom *c,
                                 const ConvOrder *order, double *clocks) {
  const bool back = gr->root->kind == OP_CONV_INPUT_GRAD;
  GridConvShape s = shape_of(t, gr, c);
  s.tensor = !order || order->tensor, s.always = order && order->tensor;
  GridConvSchedule f = grid_conv_schedule(&t->machine, &s);
  if (!back && s.ring && !f.tensor && !f.stages) grid_conv_box(&t->machine, c, &f);
  if (!s.always || !f.tensor) grid_conv_choose(&t->machine, &f, c, back, s.dt);
  if (!f.tensor) return f;
  *clocks = grid_conv_gather_clocks(&t->machine, &s, &f);
  if (dtype_is_half(s.in)) grid_conv_tensor_box(&t->machine, c, back, &f, clocks);
  ConvGeom p;
  const int along = patches_of(gr, c, &p);
  if (along) take_patches(t, &s, &p, along, &f, clocks);
  return f;
}

/* The same by warpgroups, tap by tap or, with `patches`, by patches, if that takes fewer clocks. */
static void by_warpgroups(const CudaTarget *t, const Group *gr, const ConvGeom *c, bool patches,
                          int depth, double *clocks, WgmmaConvSchedule *out) {
  ConvGeom p;
  const int along = patches ? patches_of(gr, c, &p) : 0;
  if (!t->sm90a || !dtype_is_half(value_type(gr->e, gr->root->operands[0])->dtype)) return;
  const WgmmaConvShape w =
      wgmma_conv_shape(along ? &p : c, gr->root->kind == OP_CONV_INPUT_GRAD, along);
  wgmma_conv_schedule(&t->machine, &w, depth, clocks, out);
}

static ConvOrder order_of(const CudaTarget *t, const Group *gr, const ConvGeom *c) {
  ConvGeom usual = cuda_conv_usual(c, CUDA_CONV_SIDE), p;
  double clocks = INFINITY;
  ConvOrder order = {.tensor = by_warps(t, gr, &usual, NULL, &clocks).tensor};
  if (!order.tensor) return order;
  usual = cuda_conv_usual(c, CUDA_CONV_SMALL_SIDE), clocks = INFINITY;
  by_warps(t, gr, &usual, &order, &clocks);
  WgmmaConvSchedule w = {0};
  by_warpgroups(t, gr, &usual, false, 0, &clocks, &w);
  if (patches_of(gr, c, &p)) by_warpgroups(t, gr, &usual, true, 0, &clocks, &w);
  order.depth = w.rows ? w.depth : 0;
  order.patches = w.along;
  return order;
}

GridConvSchedule cuda_conv_schedule(const CudaTarget *t, const Group *gr, bool tensor) {
  const ConvGeom c = conv_geom(gr->e, gr->root);
  ConvOrder order = {0};
  if (tensor) order = order_of(t, gr, &c);
  double clocks = INFINITY;
  GridConvSchedule f = by_warps(t, gr, &c, &order, &clocks);
  clocks = INFINITY;
  if (f.tensor && order.depth)
    by_warpgroups(t, gr, &c, order.patches, order.depth, &clocks, &f.wgmma);
  return f;
}
