/* Schedules of gradients with respect to filters by warpgroups; see wgmma_filter.h. */
#include "codegen/schedule/wgmma_filter.h"
#include "codegen/schedule/product.h"

/* Bytes of a row of eight channels of one pixel. */
enum { OCTET = 16, OCTETS = WGMMA_SIDE / 8 };

/* Elements of one operand's tile, of so many pixels. */
static int64_t tile(int64_t pixels) { return WGMMA_SIDE * pixels; }

int64_t wgmma_filter_gathered(const ConvGeom *c, const WgmmaFilterSchedule *s) {
  const FlatAxis h = flat_axis(&c->h), w = flat_axis(&c->w);
  return s->rows * tile(s->depth) + h.planes * w.planes * tile(s->depth + flat_span(&h, &w));
}

/* The longest k-tiles of which shared memory holds three, or two. */
static bool choose_depth(const ConvGeom *c, WgmmaFilterSchedule *s) {
  enum { LONG = 128, SHORT = 32, STAGES = 4 };
  for (int least = 3; least >= 2; least--)
    for (s->depth = LONG; s->depth >= SHORT; s->depth /= 2) {
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

/* Parts of the pixels: as many as let all multiprocessors end first. ENDS: clocks of a block before
   its first k-tile and behind its last one; READ: bytes of partial sums that come from memory in a
   clock; SHARED: those that thread blocks of a cluster exchange; WAVE: multiprocessors of an H100,
   as of products. */
static void choose_parts(const ConvGeom *c, WgmmaFilterSchedule *s, int64_t most) {
  enum { CLUSTER = 4 }; /* thread blocks: as many as find room in all parts of a device */
  enum { WAVE = 132, ENDS = 4000, READ = 1750, SHARED = 64, LEAST = 4 };
  const FlatAxis h = flat_axis(&c->h), w = flat_axis(&c->w);
  int64_t k_tiles = ceil_div(flat_pixels(c, &h, &w), s->depth);
  double gather, clocks = k_tile_clocks(c, s, &gather), best = 0;
  double sums = (double)(c->cout * c->gin * c->h.taps * c->w.taps) * 4;
  const int64_t tiles = s->blocks;
  for (int64_t n = 1; n == 1 || (n * LEAST <= k_tiles && n <= WAVE); n++) {
    int64_t each = ceil_div(k_tiles, n), parts = ceil_div(k_tiles, each);
    const int cluster = parts >= CLUSTER ? CLUSTER : 1;
    parts = ceil_div(parts, cluster) * cluster;
    const double exchanged = cluster > 1 ? (double)wgmma_filter_exchanged(s) / SHARED : 0;
    double time =
        (double)ceil_div(tiles * parts, WAVE) * ((double)each * clocks + ENDS + exchanged) +
        (double)(parts / cluster) * sums / READ;
    if (n > 1 && (time >= best || parts / cluster > most)) continue;
    best = time;
    s->parts = parts, s->chunk = each * s->depth, s->cluster = cluster;
  }
  if (s->cluster > 1 && s->shared < wgmma_filter_exchanged(s))
    s->shared = (int)wgmma_filter_exchanged(s);
  s->blocks = tiles * s->parts;
}

bool wgmma_filter_schedule(const ConvGeom *c, int64_t most, WgmmaFilterSchedule *out) {
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
  if (!choose_depth(c, &s)) return false;
  double gather, clocks = k_tile_clocks(c, &s, &gather);
  if (2 * gather >= clocks) return false; /* few taps: what is gathered is multiplied too seldom */
  choose_parts(c, &s, most);
  *out = s;
  return true;
}
