/* Schedules of f32 convolutions of few channels a group on ordinary units of a device, whose
   blocks compute boxes of pixels from rows of the image in shared memory; see grid_conv.h.
   Algorithm: of the tiles, boxes and k-tiles of a block, what an estimate of the clocks takes
   least. */
#include "codegen/schedule/grid_conv.h"

#include <math.h>

enum {
  EACH = 4,   /* filters of a load from shared memory */
  PAD = 4,    /* elements between rows of filters there */
  BANKS = 32, /* of shared memory */
  FLOAT = 4,  /* bytes */
  WARP = 32,
  /* Instructions of a copy, with its place and its condition; of a tap and of a row of the filter
     beside loads and multiply-adds, for a pixel of a thread; of a k-tile, of a warp. */
  COPY = 14,
  OF_PIXEL = 4,
  K_TILE = 70
};

/* Sums of a thread take 64 registers of 168. */
static const struct ConvBoxTile {
  int bm, bn, tm, tn;
} tiles[] = {{96, 64, 12, 4},  {48, 128, 12, 4}, {24, 128, 12, 4}, {8, 128, 4, 4},
             {64, 128, 16, 4}, {128, 64, 16, 4}, {64, 64, 8, 4},   {32, 128, 8, 4},
             {16, 128, 8, 4},  {32, 64, 8, 4},   {16, 128, 4, 4},  {32, 32, 4, 4},
             {16, 64, 4, 4}};

GridStep grid_conv_box_step(const GridConvSchedule *c) {
  const GridBoxSchedule *b = &c->box;
  const double warps = grid_conv_threads(c, 0) / (double)WARP, sums = c->tm * c->tn;
  const double loads = c->tm / EACH + c->tn, depth = b->depth;
  const double copies = (c->bm * depth + b->image_rows * b->used) / WARP / depth;
  const double of_tap = c->tn * OF_PIXEL * (1 + 1.0 / b->taps) / (double)c->channels;
  return (GridStep){.fma = warps * sums,
                    .loads = warps * loads,
                    .copies = copies,
                    .issue = warps * (sums + loads + of_tap + K_TILE / depth) + copies * COPY,
                    .wavefronts = warps * loads + copies};
}

int64_t grid_conv_box_k_tiles(const GridConvSchedule *c, const ConvGeom *g) {
  return ceil_div(g->h.taps, c->box.rows) * ceil_div(g->w.taps, c->box.taps);
}

/* By count, not measured on a device: blocks of a multiprocessor take turns on its units, and each
   waits for itself. */
static double clocks_of(const GridMachine *machine, const GridConvSchedule *c, const ConvGeom *g) {
  enum { SCHEDULERS = 4, BARRIER = 60, MEMORY = 700, OF_SUM = 6, OF_COLUMN = 5 };
  const GridStep step = grid_conv_box_step(c);
  const int threads = grid_conv_threads(c, 0);
  const double warps = threads / (double)WARP,
               unit = fmax(step.issue / SCHEDULERS, step.wavefronts);
  const double k_tiles = (double)grid_conv_box_k_tiles(c, g), depth = c->box.depth;
  const double own = fmax(step.issue / warps, unit) * depth + BARRIER;
  /* before the first k-tile and behind the last */
  const double ends =
      warps * (c->tm * c->tn * OF_SUM + c->tn * (double)g->w.taps * OF_COLUMN) / SCHEDULERS;
  const double blocks = (double)ceil_div(c->blocks, machine->multiprocessors),
               turns = ceil(blocks * threads / CONV_RING_THREADS);
  return fmax(blocks * (k_tiles * unit * depth + ends),
              turns * (k_tiles * fmax(own, MEMORY / (c->stages - 1.0)) + ends));
}

/* K-tiles of at most so many of the depth, in equal parts of the filter's rows and columns, if the
   ring fits. */
static bool take_k_tiles(GridConvSchedule *c, const ConvGeom *g, int64_t most) {
  enum { SHARED = 144 << 10, OF_BLOCK = 48 << 10, STAGES = 4 }; /* of all blocks, of one */
  GridBoxSchedule *b = &c->box;
  const int64_t row = g->w.taps * g->gin;
  b->taps = (int)ceil_div(g->w.taps, ceil_div(row, most));
  const int64_t rows = b->taps == g->w.taps && most > row ? most / row : 1;
  b->rows = (int)ceil_div(g->h.taps, ceil_div(g->h.taps, rows));
  const int64_t wide = (b->taps - 1) * g->w.dilation + 1;
  const int64_t phases = g->w.stride < wide ? g->w.stride : wide;
  const int64_t used = (b->width - 1) * phases + wide;
  const int64_t image_row = phases * (b->width + (wide - 1) / g->w.stride);
  const int64_t apart = b->width < BANKS ? (b->width - image_row) & (BANKS - 1) : 0;
  const int64_t depth = b->rows * b->taps * g->gin;
  const int64_t image_rows = b->rows * g->gin * (c->bn / b->width);
  const int64_t bytes = (depth * (c->bm + PAD) + image_rows * (image_row + apart)) * FLOAT;
  const int64_t all = (int64_t)SHARED * grid_conv_threads(c, 0) / CONV_RING_THREADS;
  b->depth = (int)depth, b->image_rows = (int)image_rows, b->used = (int)used;
  c->stages = (int)((all < OF_BLOCK ? all : OF_BLOCK) / bytes);
  if (c->stages > STAGES) c->stages = STAGES;
  const int64_t k_tiles = grid_conv_box_k_tiles(c, g);
  if (c->stages > k_tiles) c->stages = k_tiles > 2 ? (int)k_tiles : 2;
  b->shared = (int)(c->stages * bytes);
  return c->stages >= 2 && b->shared <= OF_BLOCK;
}

bool grid_conv_box(const GridMachine *machine, const ConvGeom *g, GridConvSchedule *c) {
  enum {
    CHANNELS = 8,
    DEEP = 64,
    LEAST = 8,
    MOST_TAPS = 32,
    NARROW = 4,
    WIDE = 64,
    SIDE = 1 << 20
  };
  GridConvSchedule best = {0};
  double least = INFINITY;
  if (!g->gin || g->gin >= CHANNELS || !g->h.taps || !g->w.taps || g->w.taps > MOST_TAPS ||
      !c->pixels || c->pixels > INT32_MAX / 2)
    return false;
  /* places of pixels and of taps are ints */
  if (g->h.taps > SIDE || g->h.stride > SIDE || g->w.dilation > SIDE / MOST_TAPS ||
      g->w.stride > SIDE)
    return false;
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
    for (int width = NARROW; width <= WIDE && width <= tiles[i].bn; width *= 2)
      for (int depth = DEEP; depth >= LEAST; depth /= 2) {
        GridConvSchedule t = {.groups = c->groups,
                              .m = c->m,
                              .pixels = c->pixels,
                              .channels = c->channels,
                              .taps = c->taps};
        t.bm = tiles[i].bm, t.bn = tiles[i].bn, t.tm = tiles[i].tm, t.tn = tiles[i].tn;
        t.box.width = width;
        t.stages = 1; /* threads are those of a ring */
        if (!take_k_tiles(&t, g, depth)) continue;
        t.down = ceil_div(t.m, t.bm);
        t.across = g->n * ceil_div(g->h.out, t.bn / width) * ceil_div(g->w.out, width);
        t.blocks = t.groups * t.down * t.across;
        const double time = clocks_of(machine, &t, g);
        if (time < least) best = t, least = time;
      }
  if (least == INFINITY) return false;
  if (!c->bm && least >= grid_conv_alone_clocks(machine, c)) return false;
  *c = best;
  return true;
}
