/* Schedules of gradients with respect to filters by warpgroups whose operands are copied as they
   lie; see wgmma_filter.h. Method: of all tiles, depths and parts, those that take least time by a
   count of clocks. By count, not measured on a device. */
#include "codegen/schedule/patches.h"
#include "codegen/schedule/product.h"
#include "codegen/schedule/wgmma_filter.h"

#include <math.h>

enum { HALF = 2, WIDE = 256, NARROW = 64, STEP = 16 };
/* Of parts: clocks of a block beside its k-tiles; k-tiles at least; of their sums: operations of a
   clock, loads at once, clocks of a load. */
enum { ENDS = 4000, LEAST = 4, FMA = 128, COMBINE = 32, MEMORY = 700 };

/* Pixels of one copy: a piece lies in one image, and in one row if a run may have fewer of them, or
   shorter ones; alone if it would be too narrow for cp.async. */
static int beside_of(const ConvGeom *c) {
  if (type_extent(c->y, 3)) return 1;
  const int64_t run = type_extent(c->y, 2) ? c->w.out : c->h.out * c->w.out;
  int bytes = PATCH_WIDEST;
  while (bytes > HALF && run * HALF % bytes) bytes /= 2;
  return bytes < PATCH_NARROWEST ? 1 : bytes / HALF;
}

static bool is_flat(const WindowAxis *a) {
  return a->taps == 1 && a->stride == 1 && a->lo == 0 && a->out == a->in;
}

/* Bytes of a k-tile; see text/wgmma_filter_copied.h. */
static int64_t stage_bytes(const WgmmaFilterSchedule *s) {
  enum { UNIT = 16, EIGHT = 8, APART = 4 };
  const int64_t octets = s->depth / EIGHT, weights = wgmma_copied_weights(s);
  const int64_t right = s->along ? weights / EIGHT * (s->depth + APART) : octets * (weights + 1);
  return UNIT * (octets * (s->rows * WGMMA_SIDE + 1) + right);
}

static bool choose_stages(WgmmaFilterSchedule *s) {
  enum { FEWEST = 3, MOST = 6 };
  const int64_t stage = stage_bytes(s), n = WGMMA_RING / stage;
  if (n < FEWEST) return false;
  s->stages = n < MOST ? (int)n : MOST;
  s->shared = s->stages * (int)stage;
  return true;
}

double wgmma_copied_copies(const WgmmaFilterSchedule *s) {
  const double right = (double)wgmma_copied_weights(s) / (s->along ? s->along : s->beside);
  return s->depth * ((double)s->rows * WGMMA_SIDE / s->beside + right);
}

/* Clocks of a k-tile of a multiprocessor: of tensor cores, shared memory, L2, or instructions of
   copies, whichever takes longest. */
static double k_tile_clocks(const WgmmaFilterSchedule *s) {
  enum { TENSOR = 2048, LINE = 128, OF_ONE = 64, COPY = 6, THREADS = 128, BARRIER = 50, L2 = 5500 };
  const double filters = (double)s->rows * WGMMA_SIDE, weights = (double)wgmma_copied_weights(s);
  const double bytes = (filters + weights) * s->depth * HALF, rate = (double)L2 / (double)s->blocks;
  const double reads =
      WGMMA_COPIED_GROUPS * (double)s->depth * (WGMMA_SIDE + s->columns) * HALF / LINE;
  double time = filters * weights * s->depth / TENSOR;
  time = fmax(time, reads + bytes / LINE);
  time = fmax(time, bytes / fmin(rate, OF_ONE));
  return fmax(time, COPY * wgmma_copied_copies(s) / THREADS) + BARRIER;
}

PixelParts wgmma_copied_parts(const GridMachine *machine, const ConvGeom *c,
                              const WgmmaFilterSchedule *s) {
  WgmmaFilterSchedule all = *s; /* of a device that is busy */
  all.blocks = machine->multiprocessors;
  const int clocks = (int)ceil(k_tile_clocks(&all) * WGMMA_FILTER_UNIT / s->depth);
  const double sums = (double)(c->cout * c->gin * c->h.taps * c->w.taps) * sizeof(float);
  return (PixelParts){.pixels = WGMMA_FILTER_UNIT,
                      .tiles = (int)(s->down * s->across * c->groups),
                      .blocks = machine->multiprocessors,
                      .least = LEAST,
                      .cluster = 1,
                      .unit = clocks,
                      .wait = clocks,
                      .resident = 1,
                      .ends = ENDS,
                      .sums = (int)ceil(2 * sums * machine->byte / FMA + (double)MEMORY / COMBINE)};
}

/* As many parts as let all multiprocessors end first. */
static double choose_parts(const GridMachine *machine, const ConvGeom *c, WgmmaFilterSchedule *s,
                           int64_t most) {
  const int64_t k_tiles = ceil_div(c->n * c->h.out * c->w.out, s->depth), tiles = s->blocks;
  const double sums = (double)(c->cout * c->gin) * sizeof(float);
  WgmmaFilterSchedule t = *s;
  double best = INFINITY;
  for (int64_t n = 1; n == 1 || (n * LEAST <= k_tiles && n <= machine->multiprocessors); n++) {
    const int64_t each = ceil_div(k_tiles, n);
    t.parts = ceil_div(k_tiles, each);
    if (t.parts > most) break;
    t.chunk = each * t.depth, t.blocks = tiles * t.parts;
    const double time = (double)ceil_div(t.blocks, machine->multiprocessors) *
                            ((double)each * k_tile_clocks(&t) + ENDS) +
                        (machine->launch + 2 * (double)t.parts * sums * machine->byte) / FMA +
                        MEMORY * (double)t.parts / COMBINE;
    if (time < best) best = time, *s = t;
  }
  return best;
}

bool wgmma_copied_take_sides(const ConvGeom *c, WgmmaFilterSchedule *s) {
  ConvGeom p;
  s->beside = beside_of(c);
  if (!s->along) return true;
  s->along = conv_patches(c, HALF, &p);
  return s->along > 0;
}

bool wgmma_copied_schedule(const GridMachine *machine, const ConvGeom *c, int64_t most,
                           double clocks, WgmmaFilterSchedule *out) {
  enum { DEEP = 128, FLAT = 32 };
  ConvGeom p = *c;
  const int along = conv_patches(c, HALF, &p), beside = PATCH_WIDEST / HALF;
  if ((!along && !(is_flat(&c->h) && is_flat(&c->w))) || !c->n || !c->gin || !c->gout) return false;
  if (c->h.out * c->w.out > INT32_MAX / 2 / c->n) return false;
  bool found = false;
  for (int rows = WGMMA_COPIED_GROUPS; rows > 0; rows--)
    for (int columns = NARROW; columns <= WIDE; columns += STEP)
      for (int depth = DEEP; depth >= FLAT; depth /= 2) {
        WgmmaFilterSchedule s = {.rows = rows,
                                 .taps = 1,
                                 .tap_groups = 1,
                                 .columns = columns,
                                 .depth = depth,
                                 .along = along,
                                 .beside = beside,
                                 .cluster = 1};
        if (!choose_stages(&s)) continue;
        s.down = ceil_div(p.gout, rows * WGMMA_SIDE);
        s.across = ceil_div(p.gin, wgmma_copied_weights(&s));
        s.blocks = s.down * s.across * p.groups;
        if (s.blocks > INT32_MAX / 256) continue;
        const double time = choose_parts(machine, &p, &s, most);
        if (time > clocks || (time == clocks && (!found || s.blocks >= out->blocks))) continue;
        clocks = time, *out = s, found = true;
      }
  return found;
}
