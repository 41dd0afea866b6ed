/* Schedules of gradients of f32 with respect to filters of few channels a group, whose blocks
   compute all weights of some filters from rows of the image in shared memory; see grid_conv.h. */
#include "codegen/schedule/grid_conv.h"

#include <math.h>

enum {
  EACH = 4,   /* filters of a load from shared memory */
  PAD = 4,    /* elements between pixels there */
  BANKS = 32, /* of shared memory */
  FLOAT = 4,  /* bytes */
  WARP = 32,
  /* Instructions of a copy of the result's gradient, of one of the image; of a k-tile, of a warp,
     and of each of a thread's weights there; of its test of a pixel. */
  COPY = 9,
  COPY_IMAGE = 14,
  K_TILE = 70,
  OF_WEIGHT = 8,
  TEST = 2
};

/* Sums of a thread take 64 registers of 168. */
static const struct FilterBoxTile {
  int bm, tm, tn;
} tiles[] = {{64, 16, 4}, {32, 16, 4}, {48, 12, 4}, {24, 12, 4}, {8, 4, 4},  {64, 8, 4},
             {32, 8, 4},  {16, 8, 4},  {32, 4, 4},  {16, 4, 4},  {16, 4, 2}, {16, 4, 1}};
static const int runs[] = {64, 48, 32, 24, 16, 8}; /* pixels of a k-tile, at most */
enum { TILES = sizeof tiles / sizeof *tiles, RUNS = sizeof runs / sizeof *runs };

GridStep grid_filter_box_step(const GridFilterSchedule *f) {
  const GridFilterBoxSchedule *b = &f->box;
  const double warps = b->threads / (double)WARP, sums = f->tm * f->tn;
  const double loads = f->tm / EACH + f->tn, tests = b->edges ? TEST * f->tn : 0;
  const double a = (double)f->bm * b->pixels / WARP / b->steps,
               image = (double)b->rows * b->used / WARP / b->steps;
  return (GridStep){.fma = warps * sums,
                    .loads = warps * loads,
                    .copies = a + image,
                    .issue =
                        warps * (sums + loads + tests + (K_TILE + OF_WEIGHT * f->tn) / b->steps) +
                        a * COPY + image * COPY_IMAGE,
                    /* a warp has two rows of threads, and rows of the image */
                    .wavefronts = warps * (2.0 * f->tm / EACH + 1.5 * f->tn) + a + image};
}

double grid_filter_box_clocks(const GridFilterSchedule *f, double waves) {
  enum { SCHEDULERS = 4, BARRIER = 60 };
  const GridStep s = grid_filter_box_step(f);
  const double warps = f->box.threads / (double)WARP,
               unit = fmax(s.issue / SCHEDULERS, s.wavefronts);
  const double own = fmax(s.issue / warps, unit) + BARRIER / f->box.steps;
  return fmax(waves * unit, ceil(waves * f->box.threads / CONV_RING_THREADS) * own);
}

bool grid_filter_box(const ConvGeom *g, int which, GridFilterSchedule *f) {
  enum { SHARED = 144 << 10, OF_BLOCK = 48 << 10, STAGES = 4, THREADS = 256, SIDE = 1 << 20 };
  if (which >= TILES * RUNS) return false;
  const struct FilterBoxTile *tile = &tiles[which / RUNS];
  const int64_t most = runs[which % RUNS], lanes = ceil_div(f->weights, tile->tn);
  GridFilterBoxSchedule *b = &f->box;
  *b = (GridFilterBoxSchedule){0};
  if (lanes * (tile->bm / tile->tm) > THREADS || g->w.dilation > SIDE || g->h.dilation > SIDE ||
      g->w.stride > SIDE || !g->w.out)
    return true;
  f->bm = tile->bm, f->tm = tile->tm, f->tn = tile->tn;
  f->bn = (int)lanes * tile->tn;
  f->down = ceil_div(f->m, f->bm), f->across = 1;
  f->blocks = f->groups * f->down;
  const int64_t parts = ceil_div(g->w.out, most);
  const int64_t pixels = ceil_div(g->w.out, parts);
  const int64_t used = (pixels - 1) * g->w.stride + (g->w.taps - 1) * g->w.dilation + 1;
  const int64_t row = used + ((g->w.taps - used) & (BANKS - 1)), rows = g->gin * g->h.taps;
  const int64_t bytes = (pixels * (f->bm + PAD) + rows * row) * FLOAT;
  b->threads = (int)ceil_div(lanes * (f->bm / f->tm), WARP) * WARP;
  const int64_t all = (int64_t)SHARED * b->threads / CONV_RING_THREADS;
  b->stages = (int)((all < OF_BLOCK ? all : OF_BLOCK) / bytes);
  if (b->stages > STAGES) b->stages = STAGES;
  if (b->stages < 2) return true;
  b->edges = g->h.lo > 0 || g->w.lo > 0 ||
             (g->h.out - 1) * g->h.stride + (g->h.taps - 1) * g->h.dilation >= g->h.in ||
             (g->w.out - 1) * g->w.stride + (g->w.taps - 1) * g->w.dilation >= g->w.in;
  b->shared = (int)(b->stages * bytes);
  b->rows = (int)rows, b->used = (int)used;
  b->steps = (double)g->w.out / (double)parts;
  b->pixels = (int)pixels;
  return true;
}
