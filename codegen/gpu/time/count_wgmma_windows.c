/* Counts of convolutions and their gradients by wgmma; see counting.h. */
#include "codegen/gpu/time/counting.h"

#include "codegen/schedule/patches.h"
#include "codegen/schedule/product.h"
#include "codegen/schedule/wgmma_conv.h"
#include "codegen/schedule/wgmma_filter.h"

#include <math.h>

enum {
  GATHERED =
      3, /* instructions of an element whose place a pixel gives for all channels of a k-tile */
  WGMMA_CONV_REGISTERS = 168,  /* of a thread, on the mean of the warpgroups, as of products */
  WGMMA_FILTER_REGISTERS = 128 /* ... where 512 threads have them */
};

/* Makes the geometry that of one tap, if the schedule is one of patches: elements of a copy. */
static int patches_of(ConvGeom *g, const WgmmaConvSchedule *w) {
  ConvGeom p;
  if (!w->along) return 0;
  conv_patches(g, dtype_size(g->x->dtype), &p);
  *g = p;
  return w->along;
}

/* Filters to scratch: an element is loaded, rounded and stored in shared memory, and stored as one
   of eight. */
void count_pack(Counting *n, const WgmmaConvSchedule *w) {
  enum { EACH = 12, OCTET = 8, UNROLLED = 16 };
  GpuCounts *c = &n->c;
  ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  patches_of(&g, w);
  const double taps = (double)(g.h.taps * g.w.taps);
  double loads = WGMMA_PACK_ROWS * OCTET * taps / WARP;
  c->blocks = (double)(w->scratch / (uint64_t)(WGMMA_PACK_ROWS * OCTET * 2)) / taps;
  c->threads = WGMMA_PACK_THREADS;
  c->least_flops = 0;
  c->bytes = c->least_bytes + (double)w->scratch;
  c->l2_bytes = c->bytes;
  c->issue = c->threads / (double)WARP * START + loads * EACH;
  c->accesses = loads * (2 + 1.0 / OCTET);
  c->wavefronts = loads * 3;
  c->lines = loads * 3;
  c->waits = ceil(loads * WARP / c->threads / UNROLLED);
}

/* Two warpgroups multiply what most warps of a third gather, and its first one copies; see
   text/wgmma_conv_image.h. */
void count_wgmma_conv(Counting *n, const GridConvSchedule *s) {
  enum { STEP = 16, ISSUED = 8, OF_TAP = 40, SUMS = 3, WARPS = 8, LINES = 2, COPIED = 5 };
  const WgmmaConvSchedule *w = &s->wgmma;
  ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  const int along = patches_of(&g, w);
  const WgmmaConvShape shape = wgmma_conv_shape(&g, n->gr->root->kind == OP_CONV_INPUT_GRAD, along);
  GpuCounts *c = &n->c;
  c->blocks = (double)w->blocks;
  c->threads = WGMMA_CONV_THREADS;
  c->shared = w->shared;
  c->registers = WGMMA_CONV_REGISTERS;
  c->parts = 2;
  const double tiles = (double)w->tiles, each = ceil(tiles / c->blocks); /* of a block */
  const double rows = (double)(w->rows * WGMMA_SIDE), pixels = wgmma_conv_pixels(w);
  const double images = (double)w->k_tiles,
               taps = (double)(g.h.taps * g.w.taps) / (double)(shape.h.phases * shape.w.phases);
  const double steps = images * taps; /* k-tiles of filters */
  const double elements = (double)wgmma_conv_gathered(&shape, w) * w->depth,
               loads = elements / WARP;
  const double waves =
      ceil(elements / (WGMMA_CONV_GATHERERS * WGMMA_SIDE)); /* of loads, one after another */
  const double products = steps * w->depth / STEP * WGMMA_CONV_GROUPS;
  const double sums = rows * pixels / WARP; /* of a warp */
  c->wgmma = each * steps * rows * pixels * w->depth;
  c->wavefronts = each * (products * (WGMMA_SIDE + w->columns) * STEP * 2.0 / LINE +
                          images * (loads + elements * 2 / LINE) +
                          steps * rows * w->depth * 2 / LINE + sums * 2);
  c->accesses = each * (images * (loads + loads / 8) + sums * 2.5);
  c->issue = each * (images * (loads * GATHERED + loads / WGMMA_SIDE * 3 * QUOTIENT) +
                     products * 4 * ISSUED + steps * WARPS * OF_TAP + sums * SUMS);
  c->issue += each * count_epilogue(n, rows * pixels, LINES);
  c->lines = each * (c->lines + images * loads * 1.5);
  c->covered = each * images * waves;
  c->waits = waves - 1; /* before the first product; one is in WGMMA_ENDS */
  if (along) {          /* copies, ahead by half of the stages */
    const double copies = loads / along;
    c->wavefronts -= each * images * loads;
    c->accesses += each * images * (copies - loads - loads / 8);
    c->issue += each * images * (copies * COPIED - loads * GATHERED);
    c->lines += each * images * (copies * fmax(along / 2, 2) - loads * 1.5);
    c->covered = each * images * 2 / (double)w->images;
  }
  c->chain = each * (steps * WGMMA_CLOCKS + WGMMA_ENDS);
  c->l2_bytes = tiles * (steps * rows * w->depth + images * elements) * 2 + c->least_bytes;
  c->bytes = c->least_bytes + (double)w->scratch;
}

/* Three warpgroups multiply what a fourth gathers, 64 channels of a pixel at a time: for each of
   them a warp waits for memory once. */
void count_wgmma_filter(Counting *n, const ConvGeom *g, const GridFilterSchedule *f) {
  enum {
    STEP = 16,
    ISSUED = 8,
    ROWS_OF_STORE = 8,
    OTHERS = 64
  }; /* OTHERS: bytes a clock of a cluster */
  const WgmmaFilterSchedule *s = &f->wgmma;
  GpuCounts *c = &n->c;
  double numel = (double)(f->groups * f->m * f->weights), parts = (double)s->parts;
  double k_tiles = (double)s->chunk / s->depth;
  double tiles = (double)WGMMA_FILTER_GROUPS * wgmma_filter_tiles(s);
  double elements = (double)wgmma_filter_gathered(g, s), loads = elements / WARP;
  double pixels = elements / WGMMA_SIDE, warps = ceil(pixels / WARP); /* of gathering threads */
  double steps = tiles * s->depth / STEP, line = WGMMA_SIDE * STEP * 2.0 / LINE;
  double sums = tiles * WGMMA_SIDE * WGMMA_SIDE;
  c->blocks = (double)s->blocks;
  c->threads = WGMMA_FILTER_THREADS;
  c->shared = s->shared;
  c->registers = WGMMA_FILTER_REGISTERS;
  c->parts = 2;
  c->wgmma = k_tiles * steps * WGMMA_SIDE * WGMMA_SIDE * STEP;
  const double groups = (double)WGMMA_FILTER_GROUPS * s->depth / STEP; /* steps of warpgroups */
  c->wavefronts = k_tiles * (groups * wgmma_filter_reads(s) * line + loads + elements * 2 / LINE);
  c->accesses = k_tiles * (loads + loads / 8) + sums / 2 / WARP;
  c->issue = k_tiles * (loads * GATHERED + warps * (START + 3 * QUOTIENT) + steps * 4 * ISSUED) +
             sums / WARP * 3;
  c->lines = k_tiles * loads * 1.5 + sums / 2 / WARP * ROWS_OF_STORE;
  c->covered = k_tiles * ceil(warps / 4);
  c->waits = ceil(warps / 4);
  /* blocks of a cluster write their sums to shared memory, and read a part of all of them */
  const double exchanged = s->cluster > 1 ? (double)wgmma_filter_exchanged(s) : 0;
  c->wavefronts += 2 * exchanged / LINE;
  c->accesses += 2 * exchanged / 8 / WARP;
  c->issue += 2 * exchanged / 8 / WARP * 3;
  c->chain = k_tiles * WGMMA_CLOCKS + WGMMA_ENDS + exchanged / OTHERS;
  c->l2_bytes = c->blocks * k_tiles * elements * 2 + parts / s->cluster * numel * 4;
  c->bytes = c->least_bytes + parts / s->cluster * numel * 4;
}

/* Two warpgroups multiply what a third copies, ahead by half of the stages. */
void count_wgmma_copied(Counting *n, const GridFilterSchedule *f) {
  enum { STEP = 16, ISSUED = 8, COPIED = 6, ROWS_OF_STORE = 8 };
  const WgmmaFilterSchedule *s = &f->wgmma;
  GpuCounts *c = &n->c;
  const double k_tiles = (double)s->chunk / s->depth, copies = wgmma_copied_copies(s) / WARP;
  const double filters = (double)s->rows * WGMMA_SIDE, weights = (double)wgmma_copied_weights(s);
  const double bytes = (filters + weights) * s->depth * 2, sums = filters * weights;
  const double products = WGMMA_COPIED_GROUPS * (double)s->depth / STEP;
  c->blocks = (double)s->blocks;
  c->threads = WGMMA_COPIED_THREADS;
  c->shared = s->shared;
  c->registers = WGMMA_CONV_REGISTERS;
  c->parts = 2;
  c->wgmma = k_tiles * sums * s->depth;
  c->wavefronts =
      k_tiles * (products * (WGMMA_SIDE + s->columns) * STEP * 2.0 / LINE + bytes / LINE);
  c->accesses = k_tiles * copies + sums / 2 / WARP;
  c->issue =
      k_tiles * (copies * COPIED + products * 4 * ISSUED + 4.0 * 3 * QUOTIENT) + sums / WARP * 3;
  c->lines = k_tiles * bytes / LINE * 1.5 + sums / 2 / WARP * ROWS_OF_STORE;
  c->covered = k_tiles * 2 / s->stages;
  c->chain = k_tiles * WGMMA_CLOCKS + WGMMA_ENDS;
  c->l2_bytes = c->blocks * (k_tiles * bytes + sums * 4);
  c->bytes = c->least_bytes + (double)s->parts * (double)(f->groups * f->m * f->weights) * 4;
}
