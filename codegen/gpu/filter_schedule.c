/* Schedules of gradients of convolutions with respect to filters. Contract: in which order an
   element's products are added up depends on channels, filters and dtypes alone but for the number
   of parts of its pixels and the width of their boxes, which each run decides: a bounded program
   has the bits of the one that is compiled for the sizes. Method: the schedule of usual images
   decides between exact sums, tensor cores by warps and by warpgroups, and their tiles;
   filter_parts.c divides the pixels. */
#include "codegen/gpu/conv.h"
#include "codegen/program/extent.h"
#include "codegen/schedule/wgmma_filter.h"

static GridFilterShape shape_of(const Group *gr, const ConvGeom *c, bool tensor) {
  const PixelChunks chunks = window_pixel_chunks(c);
  const Dtype sums = dtype_sum(value_type(gr->e, gr->root->results[0])->dtype);
  return (GridFilterShape){.groups = c->groups,
                           .m = c->gout,
                           .weights = c->gin * c->h.taps * c->w.taps,
                           .pixels = c->n * c->h.out * c->w.out,
                           .chunks = chunks.n,
                           .frame = chunks.frame,
                           .chunk = chunks.chunk,
                           .operands = c->n * cuda_filter_image(c) * dtype_size(sums),
                           .in = value_type(gr->e, gr->root->operands[0])->dtype,
                           .tensor = tensor,
                           .taps = c->h.taps * c->w.taps,
                           .dt = sums};
}

/* By warps: the one that takes fewest clocks. */
static GridFilterSchedule by_warps(const CudaTarget *t, const Group *gr, const ConvGeom *c,
                                   bool tensor) {
  GridFilterShape s = shape_of(gr, c, tensor);
  s.ring = !t->pre_sm80 && s.in == DT_F32 && c->gin >= FILTER_RING_CHANNELS;
  GridFilterSchedule f = grid_filter_schedule(&t->machine, &s);
  if (!t->pre_sm80 && s.in == DT_F32 && !tensor) grid_filter_choose_box(&t->machine, &f, c, &s);
  GridDepthwiseSchedule d;
  if (grid_depthwise_schedule(&t->machine, c, s.dt, &d))
    grid_filter_choose(&t->machine, &f, &d, &s);
  if (f.tensor && dtype_is_half(s.in)) grid_filter_choose_tensor_box(&t->machine, &f, c, &s);
  return f;
}

/* The code by warpgroups that takes fewest clocks of usual images, if those are fewer than f's. Of
   gathered operands, what a tile of three warpgroups takes is known to be less if most of it is not
   spent on gathering. */
static bool fastest(const CudaTarget *t, const ConvGeom *usual, const GridFilterSchedule *f,
                    const GridFilterShape *s, WgmmaFilterSchedule *w) {
  double clocks = grid_filter_gather_clocks(&t->machine, f, s);
  bool gathered = wgmma_filter_schedule(usual, w);
  if (gathered && !wgmma_filter_gathers(usual, w)) return true;
  if (gathered) {
    const PixelParts p = wgmma_filter_parts(&t->machine, usual, w);
    const double of_gathered = wgmma_filter_clocks(usual, &p);
    gathered = of_gathered < clocks;
    if (gathered) clocks = of_gathered;
  }
  return wgmma_copied_schedule(&t->machine, usual, grid_filter_most_parts(&t->machine, s), clocks,
                               w) ||
         gathered;
}

/* By warpgroups, if that takes fewer clocks of usual images than f. */
static bool by_warpgroups(const CudaTarget *t, const Group *gr, const ConvGeom *c,
                          const ConvGeom *usual, const GridFilterSchedule *f,
                          WgmmaFilterSchedule *w) {
  const GridFilterShape s = shape_of(gr, usual, true);
  if (!dtype_is_half(s.in) || !fastest(t, usual, f, &s, w)) return false;
  w->share = wgmma_filter_parts(&t->machine, usual, w);
  if (!w->columns) {
    wgmma_filter_take_sides(c, w);
    return true;
  }
  /* sums take no more than their room for one tile of a part either */
  if (!wgmma_copied_take_sides(c, w) || cuda_filter_room(t, c, s.dt, c->n) < 1) return false;
  w->few = dims_bounded(c->x, 2, 4) || (type_extent(c->x, 0) && !cuda_filter_room(t, c, s.dt, 1));
  return true;
}

/* Of a schedule by warps of usual images. */
static void take_pixels(const CudaTarget *t, const Group *gr, const GridFilterShape *s,
                        const ConvGeom *c, GridFilterSchedule *f) {
  GridTensorBox *b = &f->tensor_box;
  const PixelParts p = cuda_filter_parts(t, gr, c, f);
  const PixelCount n = cuda_filter_pixels(c, &p, b, false);
  const int64_t tiles = f->groups * f->down * f->across,
                all = ceil_div(c->n * n.of_image, n.of_unit);
  int64_t parts = 1, each = f->parts ? cuda_filter_divide(t, c, &p, &n, s->dt, &parts) : all;
  if (b->wide) b->all = all, b->boxes = each, b->parts = parts;
  const int64_t box = b->high * b->wide;
  f->shares = parts > 1;
  f->frame = b->wide ? all * box : s->pixels;
  f->chunk = b->wide ? each * box : f->shares ? each * p.pixels : s->pixels;
  f->chunks = parts;
  f->parts = f->shares ? parts : 0, f->rounds = f->shares;
  const int64_t sums = s->groups * s->m * s->weights * dtype_size(s->dt);
  f->scratch = f->total = (uint64_t)(f->parts * sums);
  f->blocks = tiles * parts;
}

static void take_wgmma_pixels(const CudaTarget *t, const GridFilterShape *s, const ConvGeom *c,
                              WgmmaFilterSchedule *w) {
  const PixelParts *p = &w->share;
  const PixelCount n = cuda_filter_pixels(c, p, NULL, !w->columns);
  w->chunk = cuda_filter_divide(t, c, p, &n, s->dt, &w->parts) * p->pixels;
  w->cluster = w->parts > 1 ? p->cluster : 1;
  w->parts = ceil_div(w->parts, w->cluster) * w->cluster;
  w->blocks = p->tiles * w->parts;
}

/* Boxes of a schedule of usual sides, which fit images of any, become those of `c`. A run of fewer
   columns than at the bound has narrower ones, in as much shared memory as takes most. */
static void take_boxes(const ConvGeom *c, GridFilterSchedule *f) {
  int shared = 0;
  for (int wide = dims_bounded(c->y, 3, 4) ? GRID_BOX_NARROWEST : grid_box_wide(c->w.out);
       wide <= grid_box_wide(c->w.out); wide *= 2) {
    grid_filter_take_boxes(f, c, wide);
    if (f->shared > shared) shared = f->shared;
  }
  f->shared = f->tensor_box.shared = shared;
}

GridFilterSchedule cuda_filter_schedule(const CudaTarget *t, const Group *gr, bool tensor) {
  const ConvGeom c = conv_geom(gr->e, gr->root), usual = cuda_conv_usual(&c, CUDA_CONV_SIDE);
  const GridFilterShape s = shape_of(gr, &c, tensor);
  GridFilterSchedule f = {0};
  if (tensor && s.pixels && cuda_conv_is_small(&c)) f = by_warps(t, gr, &usual, true);
  if (!f.tensor) return by_warps(t, gr, &c, false);
  WgmmaFilterSchedule w;
  const bool groups = by_warpgroups(t, gr, &c, &usual, &f, &w);
  if (f.tensor_box.wide) take_boxes(&c, &f);
  take_pixels(t, gr, &s, &c, &f);
  if (!groups) return f;
  take_wgmma_pixels(t, &s, &c, &w);
  grid_filter_take(&f, &w, &s);
  return f;
}
