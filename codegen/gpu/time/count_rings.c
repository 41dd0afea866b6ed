/* Counts of f32 convolutions and their gradients whose k-tiles are copied ahead: those that are on
   their way cover the wait for memory; see counting.h. */
#include "codegen/gpu/time/counting.h"

#include <math.h>

enum { F32 = 4 /* bytes */ };

void count_conv_ring(Counting *n, const GridConvSchedule *s) {
  enum { OF_TAP = 12, TAP_CLOCKS = 60, RING_REGISTERS = 60, TAPS_AHEAD = 2 };
  GpuCounts *c = &n->c;
  const ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  const bool back = n->gr->root->kind == OP_CONV_INPUT_GRAD;
  const double phases = back ? (double)(g.h.stride * g.w.stride) : 1, taps = (double)s->taps;
  const double depth = grid_conv_ring_channels(s),
               k_tiles = ceil((double)s->channels / depth) * taps / phases;
  const double steps = (double)s->channels * taps / phases, warps = c->threads / (double)WARP;
  const GridStep step = grid_conv_ring_step(s);
  if (phases > 1) { /* a block leaves out those that its pixels do not have */
    const double most = (double)(ceil_div(g.h.taps, g.h.stride) * ceil_div(g.w.taps, g.w.stride));
    c->longest = c->last = most * phases / taps;
  }
  c->fma = steps * step.fma;
  c->issue = steps * step.issue + warps * (START + s->tn * (double)(g.h.taps + g.w.taps) * OF_TAP);
  c->accesses = steps * (step.loads + step.copies);
  c->wavefronts = steps * step.wavefronts;
  /* filters: their taps lie side by side, channels apart */
  const double filters = back ? (double)s->taps * WARP * F32 / LINE
                              : ceil(WARP / 2.0 * (double)s->taps * F32 / LINE) * 2;
  c->lines = steps / WARP * (s->bm * (filters < WARP ? filters : WARP) + s->bn * TAPS_AHEAD);
  c->waits = 1;
  c->covered = k_tiles / (s->stages - 1);
  c->chain = k_tiles * TAP_CLOCKS;
  c->shared += s->stages * (int)depth * (s->bm + s->bn + 8) * F32;
  c->registers = s->tm * s->tn + s->tm + s->tn + RING_REGISTERS;
  c->issue += count_epilogue(n, (double)s->bm * s->bn, 1);
  c->l2_bytes = c->blocks * (s->bm + s->bn) * steps * F32 + c->least_bytes;
  c->bytes = c->least_bytes;
}

/* Of few channels a group: what taps read of the image is copied once a row of the filter. */
void count_conv_box(Counting *n, const GridConvSchedule *s) {
  enum { OF_COLUMN = 6, TAP_CLOCKS = 60, BOX_REGISTERS = 64, COPY_LINES = 2 };
  GpuCounts *c = &n->c;
  const ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  const GridBoxSchedule *b = &s->box;
  const double k_tiles = (double)grid_conv_box_k_tiles(s, &g), warps = c->threads / (double)WARP;
  const double steps = (double)(s->channels * s->taps), copied = k_tiles * b->depth;
  const GridStep step = grid_conv_box_step(s);
  c->fma = steps * step.fma;
  c->issue = copied * step.issue + warps * (START + s->tn * (double)g.w.taps * OF_COLUMN);
  c->accesses = copied * (step.loads + step.copies);
  c->wavefronts = copied * step.wavefronts;
  c->lines = copied * step.copies * COPY_LINES;
  c->waits = 1;
  c->covered = k_tiles / (s->stages - 1);
  c->chain = k_tiles * TAP_CLOCKS;
  c->shared += b->shared;
  c->registers = s->tm * s->tn + s->tm + s->tn + BOX_REGISTERS;
  c->issue +=
      count_epilogue(n, (double)s->bm * s->bn, b->width < WARP ? (double)WARP / b->width : 1);
  c->l2_bytes = c->blocks * copied * step.copies * WARP * F32 + c->least_bytes;
  c->bytes = c->least_bytes;
}

/* The mean share of an axis' positions whose tap lies on the image. */
static double on_image(const WindowAxis *a) {
  int64_t n = 0;
  for (int64_t r = 0; r < a->taps; r++)
    for (int64_t i = 0; i < a->out; i++) {
      const int64_t at = i * a->stride - a->lo + r * a->dilation;
      n += at >= 0 && at < a->in;
    }
  return (double)n / (double)(a->taps * a->out);
}

void count_filter_ring(Counting *n, const GridFilterSchedule *s, double pixels) {
  enum { OF_PIXEL = 30, TILE_CLOCKS = 60, ALONE = 12, COPY_LINES = 2 };
  GpuCounts *c = &n->c;
  const ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  const GridProductSchedule p = grid_filter_product(s);
  const GridStep step = grid_product_step(&p);
  const double warps = c->threads / (double)WARP;
  const double chunks = s->parts ? 1 : (double)s->chunks,
               of = pixels * on_image(&g.h) * on_image(&g.w);
  const double k_tiles = ceil(of / chunks / RING_DEPTH) * chunks;
  c->fma = of * step.fma;
  c->issue = of * step.issue +
             warps * (chunks * 4 * QUOTIENT + START + k_tiles * (K_TILE / 2.0 + OF_PIXEL));
  c->accesses = of * (step.loads + step.copies);
  c->wavefronts = of * step.wavefronts;
  c->lines = of * step.copies * COPY_LINES;
  c->waits = chunks;
  c->covered = k_tiles / (s->stages - 1);
  c->chain = k_tiles * TILE_CLOCKS + chunks * fmod(ceil(of / chunks), RING_DEPTH) * ALONE;
  c->shared += s->stages * grid_ring_bytes(&p);
  c->registers = 2 * s->tm * s->tn + 4 * (s->tm + s->tn) + OTHER_REGISTERS;
}

/* Of few channels a group: all weights of some filters, from rows of the image. */
void count_filter_box(Counting *n, const GridFilterSchedule *s, double pixels) {
  enum { TILE_CLOCKS = 60, COPY_LINES = 2, BOX_REGISTERS = 60 };
  GpuCounts *c = &n->c;
  const GridFilterBoxSchedule *b = &s->box;
  const GridStep step = grid_filter_box_step(s);
  const double warps = c->threads / (double)WARP, chunks = s->parts ? 1 : (double)s->chunks,
               k_tiles = pixels / b->steps;
  c->fma = pixels * step.fma;
  c->issue = pixels * step.issue + warps * (START + s->tn * 4 * QUOTIENT + chunks * s->tm * s->tn);
  c->accesses = pixels * (step.loads + step.copies);
  c->wavefronts = pixels * step.wavefronts;
  c->lines = pixels * step.copies * COPY_LINES;
  c->waits = chunks;
  c->covered = k_tiles / (b->stages - 1);
  c->chain = k_tiles * TILE_CLOCKS;
  c->shared += b->shared;
  c->registers = (s->parts ? 1 : 2) * s->tm * s->tn + s->tm + 5 * s->tn + BOX_REGISTERS;
}

/* On tensor cores: boxes go by, of which the next ones are on their way. */
static void count_boxes(Counting *n, const GridTensorBox *b, const GridStep *step, int ahead) {
  enum { BOX_CLOCKS = 120, COPY_LINES = 2, M = 16, N = 8, K = 16 };
  GpuCounts *c = &n->c;
  const double boxes = (double)b->all / (double)b->parts;
  c->mma = boxes * step->fma * M * N * K;
  c->issue = boxes * step->issue + c->threads / (double)WARP * START;
  c->accesses = boxes * (step->loads + step->copies);
  c->wavefronts = boxes * step->wavefronts;
  c->lines = boxes * step->copies * COPY_LINES;
  c->waits = 2;
  c->covered = boxes / ahead;
  c->chain = boxes * BOX_CLOCKS;
}

void count_conv_tensor_box(Counting *n, const GridConvSchedule *s) {
  enum { REGISTERS = 70, PAIR = 30, UNROLLED = 8 };
  GpuCounts *c = &n->c;
  const GridTensorBox *b = &s->tensor_box;
  const GridStep step = grid_conv_tensor_box_step(s);
  const double boxes = (double)b->all / (double)b->parts;
  const double pairs = s->bm * (double)(s->channels * s->taps) / 2 / WARP,
               results = boxes * s->bm * s->bn;
  count_boxes(n, b, &step, 1);
  c->issue += pairs * PAIR;
  c->accesses += pairs * 3;
  c->wavefronts += pairs * 3;
  c->lines += pairs * 3;
  c->waits += ceil(pairs / b->warps / UNROLLED);
  c->registers = s->tm * s->tn + s->bm / 4 + REGISTERS;
  c->issue += count_epilogue(n, results, b->wide < WARP ? (double)WARP / b->wide : 2);
  c->l2_bytes =
      c->blocks * (boxes * step.copies * WARP * b->copy + pairs * WARP * 2 * F32) + c->least_bytes;
  c->bytes = c->least_bytes;
}

void count_filter_tensor_box(Counting *n, const GridFilterSchedule *s) {
  enum { REGISTERS = 60 };
  GpuCounts *c = &n->c;
  const GridStep step = grid_filter_tensor_box_step(s);
  count_boxes(n, &s->tensor_box, &step, s->tensor_box.stages - 1);
  c->registers = s->tm * s->tn + s->bm / 4 + s->tm * s->tn / 8 + REGISTERS;
}

double count_tensor_box_elements(const GridFilterSchedule *s) {
  const GridTensorBox *b = &s->tensor_box;
  const double pixels = b->high * b->wide;
  return s->bm + (double)b->channels * b->lines * b->per_row * b->copy / 2 / pixels;
}
