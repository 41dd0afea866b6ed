/* Schedules of convolutions by warpgroups; see wgmma_conv.h. Method: of all tiles and k-tiles that
   shared memory holds, those that take least time by a count of clocks. */
#include "codegen/schedule/wgmma_conv.h"

#include <math.h>

enum {
  UNIT = 8,  /* channels of a unit of 16 bytes */
  DEEP = 64, /* channels of a k-tile at most, and least */
  FLAT = 16,
  WIDE = 256, /* pixels of a warpgroup, at most and least, in steps of what wgmma takes */
  NARROW = 64,
  STEP = 16,
  ROOM = 220 << 10,  /* bytes of shared memory; beside them the barriers */
  STAGED = 8 * 2560, /* of them: results on their way to memory */
  IMAGES = 4,
  FILTERS = 8,
  LEAST_FILTERS = 3, /* stages: most, and least */
  MOST_TAPS = 64     /* whose units the packing block has in shared memory */
};

WgmmaConvShape wgmma_conv_shape(const ConvGeom *c, bool back, int along) {
  return (WgmmaConvShape){.c = c,
                          .back = back,
                          .along = along,
                          .h = back ? flat_axis_back(&c->h) : flat_axis(&c->h),
                          .w = back ? flat_axis_back(&c->w) : flat_axis(&c->w),
                          .m = back ? c->gin : c->gout,
                          .channels = back ? c->gout : c->gin};
}

int64_t wgmma_conv_span(const WgmmaConvShape *s, bool by_rows) {
  enum { APART = 4 };
  return s->along ? APART : flat_reach(&s->h, &s->w, by_rows ? s->c->h.taps : 0);
}

int64_t wgmma_conv_gathered(const WgmmaConvShape *s, const WgmmaConvSchedule *w) {
  return flat_planes(&s->h, &s->w, w->by_rows ? s->c->h.taps : 0) *
         (wgmma_conv_pixels(w) + wgmma_conv_span(s, w->by_rows));
}

/* As many stages of the image as leave room for enough of filters. */
static bool choose_stages(const WgmmaConvShape *s, WgmmaConvSchedule *w) {
  const int64_t image = wgmma_conv_gathered(s, w) * w->depth * 2;
  const int64_t filter = (int64_t)w->rows * WGMMA_SIDE * w->depth * 2;
  const int64_t most = s->c->h.taps * s->c->w.taps > 1 ? 2 : IMAGES; /* one is used long */
  for (int64_t n = most; n >= 2; n--) {
    int64_t filters = (ROOM - STAGED - n * image) / filter;
    if (n * image >= ROOM - STAGED || filters < LEAST_FILTERS) continue;
    w->images = (int)n;
    w->filters = filters < FILTERS ? (int)filters : FILTERS;
    w->shared = STAGED + (int)(n * image + w->filters * filter);
    return true;
  }
  return false;
}

/* Clocks until all tiles are done: by tensor cores, shared memory, L2, or waits of the threads that
   gather, whichever takes longest. FMA, ORDINARY: of tensor cores and of the other units a clock;
   LINE: bytes of shared memory a clock; L2, OF_ONE: bytes a clock of all multiprocessors, and of
   one; WAIT: clocks of a load; BARRIER: of a k-tile of filters beside its products; ENDS: of a tile
   before its first product and behind its last one; STORED: results stored in a clock; the launch
   that packs comes before. By count, not measured on a device. */
static double clocks_of(const GridMachine *machine, const WgmmaConvShape *s,
                        const WgmmaConvSchedule *w) {
  enum {
    FMA = 2048,
    ORDINARY = 128,
    LINE = 128,
    L2 = 5500,
    OF_ONE = 64,
    WAIT = 700,
    BARRIER = 50,
    ENDS = 2000,
    STORED = 16
  };
  enum { AT_ONCE = DEEP, WARP = 32, COPY = 8 };
  const double taps = (double)(s->c->h.taps * s->c->w.taps) / (double)(s->h.phases * s->w.phases);
  const double k_tiles = (double)ceil_div(s->channels, w->depth), depth = k_tiles * w->depth;
  const double results = (double)w->rows * WGMMA_SIDE * wgmma_conv_pixels(w);
  const double gathered = (double)wgmma_conv_gathered(s, w);
  const double filters = (double)w->rows * WGMMA_SIDE * taps * depth;
  double tensor = results * taps * depth / FMA;
  double reads = WGMMA_CONV_GROUPS * taps * depth * (WGMMA_SIDE + w->columns) * 2 / LINE;
  double shared = reads + gathered * depth * (2.0 / LINE + 1.0 / WARP) + filters * 2 / LINE;
  const double rate = (double)L2 / (double)w->blocks;
  double l2 = (filters + gathered * depth + results * 2) * 2 / (rate < OF_ONE ? rate : OF_ONE);
  int64_t each = WGMMA_CONV_GATHERERS * (AT_ONCE / w->depth);
  double first = (double)ceil_div((int64_t)gathered, each) * WAIT; /* k-tile */
  if (s->along) /* copies, which nobody waits for: instructions of each, on a scheduler of its own
                 */
    first = COPY * ceil(gathered * w->depth / s->along / WGMMA_CONV_GATHERERS);
  double time = tensor;
  if (shared > time) time = shared;
  if (l2 > time) time = l2;
  if (k_tiles * first > time) time = k_tiles * first;
  return (double)ceil_div(w->tiles, machine->multiprocessors) *
             (time + k_tiles * taps * BARRIER + ENDS + results / STORED) +
         first + machine->launch / ORDINARY;
}

static void count_tiles(const GridMachine *machine, const WgmmaConvShape *s, WgmmaConvSchedule *w) {
  w->down = ceil_div(s->m, WGMMA_SIDE * w->rows);
  w->across = ceil_div(flat_pixels(s->c, &s->h, &s->w), wgmma_conv_pixels(w));
  w->tiles = s->c->groups * s->h.phases * s->w.phases * w->down * w->across;
  w->blocks = w->tiles < machine->multiprocessors ? w->tiles : machine->multiprocessors;
  w->k_tiles = ceil_div(s->channels, w->depth);
  w->scratch = (uint64_t)(s->c->groups * s->c->h.taps * s->c->w.taps * w->k_tiles * w->depth *
                          w->down * w->rows * WGMMA_SIDE * 2);
}

/* Takes a tile, if it takes less than *clocks. */
static bool take_tile(const GridMachine *machine, const WgmmaConvShape *s, WgmmaConvSchedule w,
                      double *clocks, WgmmaConvSchedule *out) {
  count_tiles(machine, s, &w);
  if (w.tiles > INT32_MAX / 2 || w.scratch > INT32_MAX || !choose_stages(s, &w)) return false;
  const double time = clocks_of(machine, s, &w);
  if (time >= *clocks) return false;
  *clocks = time, *out = w;
  return true;
}

/* A tile of so deep k-tiles that needs no more shared memory the larger images are. */
static bool always_fits(const WgmmaConvShape *s, int depth) {
  WgmmaConvSchedule w = {.rows = 1,
                         .columns = NARROW,
                         .depth = depth,
                         .along = s->along,
                         .by_rows = !s->along && s->c->h.taps > 1};
  if (choose_stages(s, &w)) return true;
  w.rows = WGMMA_CONV_GROUPS;
  return choose_stages(s, &w);
}

bool wgmma_conv_schedule(const GridMachine *machine, const WgmmaConvShape *s, int of_depth,
                         double *clocks, WgmmaConvSchedule *out) {
  const ConvGeom *c = s->c;
  const int64_t taps = c->h.taps * c->w.taps;
  if (!taps || taps > MOST_TAPS || !c->n || s->channels < FLAT || s->m < UNIT) return false;
  if (flat_pixels(c, &s->h, &s->w) + 2 * flat_span(&s->h, &s->w) > INT32_MAX / 2) return false;
  bool found = false;
  const int layouts = !s->along && c->h.taps > 1 ? 2 : 1;
  for (int rows = 1; rows <= WGMMA_CONV_GROUPS; rows++)
    for (int depth = DEEP; depth >= FLAT; depth /= 2) {
      if (of_depth ? depth != of_depth : !always_fits(s, depth)) continue;
      for (int columns = WIDE; columns >= NARROW; columns -= STEP)
        for (int by_rows = 0; by_rows < layouts; by_rows++)
          found |= take_tile(machine, s,
                             (WgmmaConvSchedule){.rows = rows,
                                                 .columns = columns,
                                                 .depth = depth,
                                                 .by_rows = by_rows,
                                                 .along = s->along},
                             clocks, out);
    }
  return found;
}
