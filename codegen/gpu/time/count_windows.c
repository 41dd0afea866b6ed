/* Counts of convolutions and their gradients, on tensor cores and on ordinary units, and without
   tiles, and of pools; see counting.h, and count_wgmma_windows.c for those by wgmma. */
#include "codegen/gpu/time/counting.h"

#include "codegen/schedule/product.h"

#include <math.h>

enum {
  F32 = 4,     /* bytes */
  ONE_TAP = 5, /* instructions of an element gathered by a convolution whose k-tile has one tap */
  TABLE = 10,  /* ... of one whose place a table says, tap by tap */
  TEST = 4     /* ... of a pixel of a thread: does it have the tap? */
};
/* Whether some tap of some pixel lies in the padding. */
static bool is_padded(const ConvGeom *g) { return g->h.lo + g->h.hi > 0 || g->w.lo + g->w.hi > 0; }

static void count_conv_tile(Counting *n, const GridConvSchedule *s) {
  GpuCounts *c = &n->c;
  double parts = (double)ceil_div(s->channels, FMA_DEPTH), kc = ceil((double)s->channels / parts);
  double taps_a_tile =
      floor(FMA_DEPTH / kc) < (double)s->taps ? floor(FMA_DEPTH / kc) : (double)s->taps;
  if (taps_a_tile < 1) taps_a_tile = 1;
  ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  bool back = n->gr->root->kind == OP_CONV_INPUT_GRAD;
  double taps = (double)s->taps, phases = back ? (double)(g.h.stride * g.w.stride) : 1;
  double steps = parts * ceil(taps / taps_a_tile) * taps_a_tile * kc;
  if (taps_a_tile == 1 && phases > 1) { /* a block leaves out those that its pixels do not have */
    const double most = (double)(ceil_div(g.h.taps, g.h.stride) * ceil_div(g.w.taps, g.w.stride));
    steps = parts * kc * taps / phases;
    c->longest = c->last = most * phases / taps;
  }
  count_fma_tile(n, steps, s->bm, s->bn, s->tm, s->tn, counting_is_f64(n));
  /* a pixel's test of a tap is a predicate of its multiply-adds */
  c->issue += c->threads / (double)WARP * steps / kc * s->tn * TEST;
  double loads = steps * (s->bm + s->bn) / WARP;
  c->issue += loads * 2 * QUOTIENT;
  /* the filters' taps lie side by side, channels apart */
  c->lines += steps * s->bm / WARP * ceil(2 * FMA_DEPTH * (double)s->taps * F32 / LINE);
  c->issue += count_epilogue(n, (double)s->bm * s->bn, 1);
  c->l2_bytes = c->blocks * (s->bm + s->bn) * steps * 4 + c->least_bytes;
  c->bytes = c->least_bytes;
}

/* A block multiplies k-tiles of 64 bytes on tensor cores, each element gathered by `gathered`
   accesses of a warp, which take so many instructions, and of which `single` are stored one by one.
 */
static void count_gathered_tile(Counting *n, double k_tiles, double size, int bm, int bn, int wm,
                                int wn, double gathered, double instructions, double single) {
  GpuCounts *c = &n->c;
  double warps = c->threads / (double)WARP, steps = k_tiles * 2;
  double mma = warps * steps * (wm / 16.0) * (wn / 8.0);
  double matrices = warps * steps * (wm / 16.0 + wn / 16.0);
  double stored = single > 0 ? single : (bm + bn) * STAGE_ROW / 16.0 / WARP;
  c->mma = (double)bm * bn * k_tiles * STAGE_ROW / size * (size == 4 ? 2 : 1);
  c->issue =
      mma + matrices + k_tiles * (instructions + stored * 2) + warps * (START + k_tiles * K_TILE);
  c->accesses = matrices + k_tiles * (2 * gathered + stored);
  c->wavefronts = matrices * MATRIX + k_tiles * (gathered + (bm + bn) * STAGE_ROW / LINE + single);
  c->lines = k_tiles * gathered * 1.5;
  c->waits = 2;
  c->covered = k_tiles;
  c->chain = k_tiles * MMA_CLOCKS;
  c->registers = wm * wn / WARP + (bm + bn) * STAGE_ROW / 4 / c->threads + GATHER_REGISTERS;
}

static void count_tensor_conv(Counting *n, const GridConvSchedule *s) {
  double size = dtype_size(value_type(n->gr->e, n->gr->root->operands[0])->dtype);
  double depth = STAGE_ROW / size, k = (double)s->channels * (double)s->taps;
  double k_tiles = ceil(k / depth);
  bool back = n->gr->root->kind == OP_CONV_INPUT_GRAD;
  bool whole = !back && fmod(k, 16 / size) == 0;
  /* a k-tile has one tap, and a block leaves out those that its pixels do not have */
  bool by_tap = fmod((double)s->channels, depth) == 0 && (back || s->taps == 1);
  if (by_tap && back) {
    ConvGeom g = conv_geom(n->gr->e, n->gr->root);
    double most = (double)(ceil_div(g.h.taps, g.h.stride) * ceil_div(g.w.taps, g.w.stride));
    k_tiles /= (double)(g.h.stride * g.w.stride);
    n->c.longest = n->c.last = most * (double)s->channels / depth / k_tiles;
  }
  double filters = whole ? s->bm * STAGE_ROW / 16.0 / WARP : s->bm * depth / WARP;
  double rounded = n->gr->root->attr[AT_ROUND_FILTERS].i ? s->bm * STAGE_ROW / 4 / WARP : 0;
  double wider = rounded > 0 ? 4 / size : 1; /* filters in memory */
  double images = s->bn * depth / WARP;
  if (s->along) images /= s->along < 16 / size ? s->along : 16 / size;
  double instructions = by_tap || s->along ? (filters + images) * ONE_TAP
                                           : filters * (whole ? 1 : 4) * ADDRESS + images * TABLE;
  count_gathered_tile(n, k_tiles, size, s->bm, s->bn, s->wm, s->wn, filters + images, instructions,
                      0);
  n->c.issue += count_epilogue(n, (double)s->bm * s->bn, 1) * 2 + rounded * k_tiles;
  n->c.l2_bytes = n->c.blocks * (s->bm * wider + s->bn) * k_tiles * STAGE_ROW + n->c.least_bytes;
  n->c.bytes = n->c.least_bytes;
}

/* A block loads the rows under its planes' rows, then sums, some rows and columns at a time. */
static void count_planes(Counting *n, const GridConvSchedule *s) {
  enum {
    OF_COPY = 11,
    OF_TASK = 60,
    OF_LINE = 5,
    OF_TAP = 20,
    UNROLLED = 4,
    PLACES = 16 /* registers */
  };
  const GridPlanesSchedule *p = &s->planes;
  GpuCounts *c = &n->c;
  const ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  const bool back = n->gr->root->kind == OP_CONV_INPUT_GRAD;
  const int64_t cols = back ? g.w.in : g.w.out, strips = ceil_div(cols, p->across);
  const double size = counting_is_f64(n) ? 8 : 4, taps = (double)s->taps;
  const double tasks =
      (double)ceil_div(p->units * (p->rows / p->down) * strips, WARP); /* of warps */
  const double sums = p->down * p->across, results = tasks * sums;
  const double lines =
      (p->down - 1) * (double)(back ? 1 : g.h.stride) + (double)((g.h.taps - 1) * g.h.dilation) + 1;
  const double filter = p->filter * size / 16, loads = lines * p->loads, /* of a task */
      copies = p->units * p->image / (double)p->copy / WARP;
  /* of tasks with columns of the padding: tests of each line's columns */
  const double ends = ceil((double)((g.w.taps - 1) * g.w.dilation) / 2 / p->across) * 2;
  const double edge = fmin(1, (ends * tasks / (double)strips + 1) / tasks);
  const double tested = lines * (double)((p->across - 1) + g.w.taps);
  c->shared = p->shared;
  c->registers = p->filter + (int)sums + p->loads * p->vector + PLACES;
  c->fma = results * taps;
  c->issue = c->threads / (double)WARP * START + copies * OF_COPY +
             p->units * p->filter / (double)WARP * OF_TAP + results * taps +
             tasks * (OF_TASK + filter + loads + lines * OF_LINE + edge * tested) +
             count_epilogue(n, results * WARP, cols % p->across ? p->across : 1);
  c->accesses = 2 * copies + tasks * (filter + loads) + results;
  c->wavefronts = copies * p->copy * size / 4 + tasks * (filter + loads * p->clocks);
  c->lines += copies * p->copy * dtype_size(g.x->dtype) / 4;
  c->waits = ceil(copies * WARP / c->threads / UNROLLED);
  c->chain = ceil(tasks * WARP / c->threads) * taps * fmax(4, sums); /* of a warp by itself */
  c->l2_bytes = c->blocks * copies * p->copy * WARP * dtype_size(g.x->dtype) + c->least_bytes;
  c->bytes = c->least_bytes;
}

void count_conv(Counting *n, const void *schedule) {
  const GridConvSchedule *s = schedule;
  if (s->planes.units) {
    count_planes(n, s);
    return;
  }
  if (counting_is_part(n, "pack")) {
    if (n->d->wgmma) count_pack(n, &s->wgmma);
  } else if (n->f->sm90a && n->d->wgmma)
    count_wgmma_conv(n, s);
  else if (s->tensor_box.wide)
    count_conv_tensor_box(n, s);
  else if (s->tensor)
    count_tensor_conv(n, s);
  else if (s->box.width)
    count_conv_box(n, s);
  else if (s->stages)
    count_conv_ring(n, s);
  else
    count_conv_tile(n, s);
}

/* A block goes over the pixels of its chunks, some rows at a time, which it waits for. */
static void count_depthwise(Counting *n, const ConvGeom *g, const GridFilterSchedule *s) {
  /* pixels of a thread at a time; instructions of them beside their taps, and of those whose taps
     may lie in the padding, of a copy, and of a unit's place for a slab; clocks of a pixel's fma
     behind the one before */
  enum { PIXELS = 8, OF_GROUP = 6, OF_EDGE = 10, OF_UNIT = 50, CLOCKS = 4 };
  enum { OF_COPY = 16, DENSE = 12 }; /* of rows that lie in shared memory as in memory: fewer */
  const GridDepthwiseSchedule *d = &s->depthwise;
  GpuCounts *c = &n->c;
  const double size = counting_is_f64(n) ? 8 : 4; /* warps: that have a unit; others copy alone */
  const double warps = ceil((double)(d->units * g->h.taps * ceil_div(g->w.taps, d->taps)) / WARP);
  const double pixels = (double)(s->chunk < s->frame ? s->chunk : s->frame);
  const double rows = pixels / (double)g->w.out, slabs = ceil(rows / d->rows);
  const double under = (double)((d->rows - 1) * g->h.stride + (g->h.taps - 1) * g->h.dilation + 1);
  const double of_row = (double)ceil_div(g->w.out, PIXELS), groups = rows * of_row;
  const double span =
      (PIXELS - 1.0) * (double)g->w.stride + (d->taps - 1.0) * (double)g->w.dilation + 1;
  const double loads = fmin(span, PIXELS * (double)g->w.stride) / d->vector,
               fours = PIXELS * size / 16;
  const double edges = fmin(of_row, 2) / of_row * ((double)span + OF_EDGE);
  const double lines = under * (double)g->w.in, results = d->rows * (double)g->w.out,
               of_image = slabs * d->units * ceil(lines / d->copy / WARP),
               of_dy = slabs * d->units * ceil(results / d->copy_dy / WARP),
               copies = of_image + of_dy, bytes = slabs * d->units * (lines + results) * size;
  c->registers = 2 * d->taps + (int)span + PIXELS + OTHER_REGISTERS / 2;
  c->shared = d->shared;
  c->fma = warps * groups * PIXELS * d->taps;
  c->issue = warps * (START + groups * (PIXELS * d->taps + loads + fours + OF_GROUP + edges)) +
             of_image * (d->pitch == g->w.in ? DENSE : OF_COPY) +
             of_dy * (d->pitch_dy == g->w.out ? DENSE : OF_COPY) + slabs * d->units * OF_UNIT +
             d->shared / 16.0 / WARP * 4;
  c->accesses = warps * groups * (loads + fours) + copies;
  c->wavefronts = warps * groups * (loads * d->clocks + fours * 4) + bytes / LINE;
  c->lines = copies + bytes / LINE;
  c->waits = slabs;
  c->chain = pixels * CLOCKS;
  c->l2_bytes = c->blocks * bytes / size * dtype_size(g->x->dtype);
  c->bytes = c->least_bytes + (double)s->parts * (double)g->f->numel * size;
}

/* A thread adds the sums of so many parts of its element. */
static void count_combine(Counting *n, double numel, double parts) {
  GpuCounts *c = &n->c;
  enum { UNROLLED = 32 }; /* loads at once */
  double warps = c->threads / (double)WARP;
  c->least_flops = 0;
  c->least_bytes = c->bytes = c->l2_bytes = numel * (parts + 1) * 4;
  c->issue = warps * (START + parts * 3 + counting_price(n, n->gr->domain));
  c->accesses = c->lines = warps * (parts + 1);
  c->parts = warps;
  c->waits = 1 + ceil(parts / UNROLLED);
}

/* Gradients with respect to filters: a block goes over the pixels of a chunk, or over all. */
void count_filter(Counting *n, const void *schedule) {
  const GridFilterSchedule *s = schedule;
  GpuCounts *c = &n->c;
  ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  bool sm90a = n->f->sm90a && n->d->wgmma;
  double numel = (double)(s->groups * s->m * s->weights);
  double parts = (double)(sm90a ? s->wgmma.parts / s->wgmma.cluster : s->parts);
  double pixels = (double)(g.n * g.h.out * g.w.out), size = dtype_size(g.x->dtype);
  if (s->rounds > 1) {
    c->least_flops = (double)op_flops(n->gr->e, n->gr->op) / (double)s->rounds;
    c->least_bytes /= (double)s->rounds;
  }
  if (counting_is_part(n, "combine")) {
    count_combine(n, numel, parts);
    return;
  }
  if (counting_is_part(n, "few")) { /* ends at once, but for few images */
    c->least_flops = c->least_bytes = c->bytes = 0;
    c->issue = c->threads / (double)WARP * START;
    return;
  }
  if (sm90a && s->wgmma.columns) {
    count_wgmma_copied(n, s);
    return;
  }
  if (sm90a) {
    count_wgmma_filter(n, &g, s);
    return;
  }
  if (s->depthwise.units) {
    count_depthwise(n, &g, s);
    return;
  }
  if (parts > 0) pixels = (double)(s->chunk < s->frame ? s->chunk : s->frame);
  if (s->tensor_box.wide) {
    count_filter_tensor_box(n, s);
  } else if (s->tensor) {
    /* weights are channels, and none lies in the padding (text/conv.h) */
    bool all_inside = g.h.taps == 1 && g.w.taps == 1 && g.h.lo == 0 && g.w.lo == 0 &&
                      (g.h.out - 1) * g.h.stride < g.h.in && (g.w.out - 1) * g.w.stride < g.w.in;
    double depth = STAGE_ROW / size, each = (s->bm + s->bn) * depth / WARP;
    count_gathered_tile(n, ceil(pixels / depth), size, s->bm, s->bn, s->wm, s->wn, each,
                        each * (all_inside ? ONE_TAP : 3 * ADDRESS), each);
  } else if (s->box.pixels) {
    count_filter_box(n, s, pixels);
  } else if (s->stages) {
    count_filter_ring(n, s, pixels);
  } else {
    count_fma_tile(n, pixels, s->bm, s->bn, s->tm, s->tn, counting_is_f64(n));
    c->issue += pixels * (s->bm + s->bn) / WARP * QUOTIENT;
    /* k-tiles with a pixel at the end of a row: a test for each weight of a thread */
    double ends = is_padded(&g) ? (FMA_DEPTH + 1) / (double)g.w.out : 0;
    c->issue += c->threads / (double)WARP * pixels * s->tn * (ends < 1 ? ends : 1);
  }
  double of_pixel = s->bm + s->bn;
  if (s->box.pixels) of_pixel = grid_filter_box_step(s).copies * WARP;
  if (s->tensor_box.wide) of_pixel = count_tensor_box_elements(s);
  c->l2_bytes = c->blocks * of_pixel * pixels * size + numel * 4;
  c->bytes = c->least_bytes + (parts > 0 ? parts * numel * 4 : 0);
}

void count_window(Counting *n) {
  GpuCounts *c = &n->c;
  const Op *root = n->gr->root;
  double results = (double)value_type(n->gr->e, root->results[0])->numel;
  double steps = c->least_flops / (results > 0 ? results : 1), warps = c->threads / (double)WARP;
  enum {
    ALONE = 8,        /* instructions of a step: two loads, their addresses and conditions */
    SIDE_BY_SIDE = 4, /* steps that the compiler unrolls */
    STEP_CLOCKS = 40  /* of a load from the first cache and what waits for it */
  };
  bool conv = root->kind == OP_CONV || root->kind == OP_CONV_INPUT_GRAD;
  double touched = 3;
  if (root->kind == OP_CONV_FILTER_GRAD) {
    ConvGeom g = conv_geom(n->gr->e, root);
    double rows = ceil(WARP / (double)g.w.taps);
    touched = 1 + (rows > 1 ? rows : 1);
  }
  if (conv || root->kind == OP_CONV_FILTER_GRAD) steps /= 2;
  c->fma = warps * steps;
  c->issue = warps * (START + steps * ALONE);
  c->accesses = warps * steps * 2;
  c->lines = warps * steps * touched;
  c->parts = warps;
  c->waits = 1 + steps / WARP;
  c->chain = steps / SIDE_BY_SIDE * STEP_CLOCKS;
  c->l2_bytes = c->blocks * warps * steps / WARP * touched * LINE; /* a line serves 32 steps */
  c->bytes = c->least_bytes;
  c->registers = PLAIN_REGISTERS;
}
