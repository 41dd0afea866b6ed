/* Schedules of gradients with respect to filters by warpgroups; see wgmma_filter.h. */
#include "codegen/schedule/wgmma_filter.h"
#include "codegen/schedule/product.h"

#include <math.h>

/* Bytes of a row of eight channels of one pixel. */
enum { OCTET = 16, OCTETS = WGMMA_SIDE / 8 };

/* Elements of one operand's tile, of so many pixels. */
static int64_t tile(int64_t pixels) { return WGMMA_SIDE * pixels; }

int64_t wgmma_filter_gathered(const ConvGeom *c, const WgmmaFilterSchedule *s) {
  const FlatAxis h = flat_axis(&c->h), w = flat_axis(&c->w);
  const int64_t rows = s->by_rows ? c->h.taps : 0;
  return s->rows * tile(s->depth) +
         flat_planes(&h, &w, rows) * tile(s->depth + flat_reach(&h, &w, rows));
}

/* The longest k-tiles of which shared memory holds three, or two. */
static bool choose_depth(const ConvGeom *c, WgmmaFilterSchedule *s) {
  enum { SHORT = 32, STAGES = 4 };
  for (int least = 3; least >= 2; least--)
    for (s->depth = WGMMA_FILTER_UNIT; s->depth >= SHORT; s->depth /= 2) {
      int64_t stage = wgmma_filter_gathered(c, s) * OCTET / 8, n = WGMMA_RING / stage;
      if (n < least) continue;
      s->stages = n < STAGES ? (int)n : STAGES;
      s->shared = s->stages * (int)stage;
      return true;
    }
  return false;
}

/* Clocks of a multiprocessor for a k-tile. A step of 16 pixels takes 32 clocks of the tensor cores
   for a tile of each warpgroup, and 16 of shared memory for each operand that it reads there, which
   has to store what was gathered, too, 128 bytes a clock, behind loads of 32 elements a clock. By
   count, not measured on a device. */
static double k_tile_clocks(const ConvGeom *c, const WgmmaFilterSchedule *s, double *gather) {
  enum { STEP = 16, STEP_CLOCKS = 32, OPERAND = 16, STORED = 64, LOADED = 32 };
  double gathered = (double)wgmma_filter_gathered(c, s);
  double steps = (double)WGMMA_FILTER_GROUPS * s->depth / STEP;
  double tensor = steps * wgmma_filter_tiles(s) * STEP_CLOCKS;
  *gather = gathered / STORED + gathered / LOADED;
  double shared = steps * wgmma_filter_reads(s) * OPERAND + *gather;
  return shared > tensor ? shared : tensor;
}

/* Clocks until all blocks have ended and their sums, of at most `most` parts, are added up. */
static double parts_clocks(const PixelParts *p, int64_t units, int64_t most) {
  const int64_t each = pixel_parts_units(p, units, most), parts = ceil_div(units, each);
  const double turns = (double)ceil_div(p->tiles * parts, p->blocks);
  return turns * ((double)p->unit * (double)each + p->ends) + (double)parts * p->sums;
}

static int64_t units_of(const ConvGeom *c) {
  const FlatAxis h = flat_axis(&c->h), w = flat_axis(&c->w);
  return ceil_div(c->n * h.pitch * w.pitch, WGMMA_FILTER_UNIT);
}

/* ENDS: clocks of a block before its first k-tile and behind its last one; READ: bytes of partial
   sums that come from memory in a clock; SHARED: those that thread blocks of a cluster exchange.
   Clusters are as large as lets blocks end first: large ones have fewer sums in memory, and leave
   more multiprocessors without a block. Images with room for one cluster's sums count as much as
   those with all room. */
PixelParts wgmma_filter_parts(const GridMachine *machine, const ConvGeom *c,
                              const WgmmaFilterSchedule *s) {
  enum { ENDS = 4000, READ = 1750, SHARED = 64, LEAST = 2 };
  if (s->columns) return wgmma_copied_parts(machine, c, s);
  double gather, least = INFINITY;
  const int clocks = (int)ceil(k_tile_clocks(c, s, &gather) * WGMMA_FILTER_UNIT / s->depth);
  const double sums = (double)(c->cout * c->gin * c->h.taps * c->w.taps) * 4;
  PixelParts p = {.pixels = WGMMA_FILTER_UNIT,
                  .tiles = (int)(s->down * s->across * s->tap_groups * c->groups),
                  .blocks = machine->multiprocessors,
                  .least = LEAST,
                  .unit = clocks,
                  .wait = clocks,
                  .resident = 1,
                  .ends = ENDS + (int)(wgmma_filter_exchanged(s) / SHARED)};
  PixelParts best = p;
  for (p.cluster = WGMMA_FILTER_CLUSTER; p.cluster > 1; p.cluster /= 2) {
    p.sums = (int)ceil(sums / READ / p.cluster);
    const int64_t units = units_of(c);
    const double sum = parts_clocks(&p, units, p.cluster) + parts_clocks(&p, units, units);
    if (sum < least) least = sum, best = p;
  }
  return best;
}

double wgmma_filter_clocks(const ConvGeom *c, const PixelParts *p) {
  return parts_clocks(p, units_of(c), units_of(c));
}

bool wgmma_filter_gathers(const ConvGeom *c, const WgmmaFilterSchedule *s) {
  double gather;
  const double clocks = k_tile_clocks(c, s, &gather);
  return 2 * gather >= clocks;
}

/* The layout whose k-tiles take fewest clocks of a pixel. False: none fits, or images may have
   sides of which none does. */
static bool choose_layout(const ConvGeom *c, WgmmaFilterSchedule *s) {
  WgmmaFilterSchedule by_rows = *s;
  double gather;
  s->by_rows = false, by_rows.by_rows = true;
  if (!choose_depth(c, &by_rows)) return false;
  if (c->h.taps > 1 && choose_depth(c, s) &&
      k_tile_clocks(c, s, &gather) / s->depth <=
          k_tile_clocks(c, &by_rows, &gather) / by_rows.depth)
    return true;
  *s = by_rows;
  return true;
}

void wgmma_filter_take_sides(const ConvGeom *c, WgmmaFilterSchedule *s) {
  choose_layout(c, s);
  if (s->shared < wgmma_filter_exchanged(s)) s->shared = (int)wgmma_filter_exchanged(s);
}

bool wgmma_filter_schedule(const ConvGeom *c, WgmmaFilterSchedule *out) {
  enum { TILES = 9 }; /* of a block, whose sums fit into the registers of three warpgroups */
  const int64_t taps = c->h.taps * c->w.taps;
  if (!taps || !c->n || !c->gin || !c->gout) return false;
  const FlatAxis h = flat_axis(&c->h), w = flat_axis(&c->w);
  if (flat_pixels(c, &h, &w) + 2 * flat_span(&h, &w) > INT32_MAX / 2) return false;
  WgmmaFilterSchedule s = {.tap_groups = ceil_div(taps, TILES)};
  s.taps = (int)ceil_div(taps, s.tap_groups);
  s.rows = TILES / s.taps;
  const int64_t down = ceil_div(c->gout, WGMMA_SIDE);
  if (s.rows > down) s.rows = (int)down;
  s.down = ceil_div(down, s.rows);
  s.across = ceil_div(c->gin, WGMMA_SIDE);
  s.blocks = s.down * s.across * s.tap_groups * c->groups;
  /* most of the tiles' sums are of some weight */
  const int64_t sums =
      s.blocks * WGMMA_FILTER_GROUPS * wgmma_filter_tiles(&s) * WGMMA_SIDE * WGMMA_SIDE;
  if (2 * c->cout * c->gin * taps < sums || s.blocks > INT32_MAX / 256) return false;
  if (!choose_layout(c, &s)) return false;
  wgmma_filter_take_sides(c, &s);
  *out = s;
  return true;
}
