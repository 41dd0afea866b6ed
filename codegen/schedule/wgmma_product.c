/* Schedules of products on tensor cores by instructions of warpgroups (wgmma); see product.h. */
#include "codegen/schedule/product.h"

enum {
  STORE = 32, /* columns of a tile whose multiplication takes as long as its end */
  FMA = 128   /* a clock, of a multiprocessor */
};

int64_t wgmma_tiles(const GridProductSchedule *p) {
  const int64_t down = ceil_div(p->m, p->bm), across = ceil_div(p->n, p->bn);
  return p->parts * p->batch * ceil_div(p->turned ? across : down, p->cluster) * p->cluster *
         (p->turned ? down : across);
}

/* Tensor maps want rows that begin at multiples of UNIT bytes. Others of an A along the depth come
   in phases (text/wgmma.h), if there are whole ones, however many rows a run has. False: there are
   no maps of the operands. */
static bool choose_phases(GridProductSchedule *p) {
  enum { UNIT = 16, HALF = 2 };
  const int size = dtype_size(p->in);
  p->phased = p->a_row * size % UNIT;
  if (p->b_row * size % UNIT) return false;
  return !p->phased ||
         (size == HALF && !p->ta && !p->varies && p->m % WGMMA_PHASES == 0 && p->parts == 1 &&
          p->a_row <= INT32_MAX / WGMMA_PHASES); /* a map's coordinates are ints */
}

/* The width of a tile: that with which the multiprocessors end first, if each has a tile at a time
   and its time is that of its columns and of STORE more. Two blocks share B's k-tiles, which halves
   what comes of B from L2, if the rows that fill the last pair cost no time. By count, not measured
   on a device. WAVE: multiprocessors of an H100 and H200 with SXM, so that a schedule does not
   depend on the device; the program launches fewer blocks where there are fewer. Tensor maps want
   rows that begin at multiples of 16 bytes. */
bool wgmma_schedule(const GridProductSchedule *plain, GridProductSchedule *out) {
  enum { WAVE = 132, NARROW = 64, WIDE = 256, PAIR = 2 };
  int64_t best = INT64_MAX;
  const int size = dtype_size(plain->in);
  if (!plain->tensor || plain->bits || !plain->batch || plain->m < NARROW || plain->n < NARROW ||
      plain->k < wgmma_depth(plain) ||
      (size == 4 && plain->ta && !plain->tb)) /* tf32: one operand at least lies along the depth */
    return false;
  GridProductSchedule p = *plain;
  if (!choose_phases(&p)) return false;
  p.turned = size == 4 && !plain->ta && !plain->tb;
  p.side = 2;
  p.threads = WGMMA_THREADS, p.shared = WGMMA_RING;
  const int most = (p.turned ? p.n : p.m) <= WGMMA_ROWS ? 1 : PAIR;
  for (p.cluster = most; p.cluster >= 1; p.cluster--)
    for (int width = WIDE; width >= NARROW; width -= NARROW) {
      p.bm = p.turned ? width : WGMMA_ROWS, p.bn = p.turned ? WGMMA_ROWS : width;
      const int64_t tiles = wgmma_tiles(&p), cost = ceil_div(tiles, WAVE) * (width + STORE);
      if (tiles > INT32_MAX - WAVE) return false;
      if (cost >= best) continue;
      best = cost;
      p.tm = p.turned ? width / 4 : 2, p.tn = p.turned ? 2 : width / 4;
      p.across = ceil_div(p.n, p.bn);
      p.blocks = tiles < WAVE ? tiles : WAVE;
      *out = p;
    }
  return true;
}

/* ---- operands that a product reads faster transposed ---- */

/* Times are in fma of a multiprocessor. A tile of warps has its multiprocessor for itself. */
static double mma_time(const GridMachine *machine, const GridProductSchedule *p) {
  return (double)ceil_div(p->blocks, machine->multiprocessors) * p->bm * p->bn * (double)p->part /
         machine->mma;
}

static double wgmma_time(const GridMachine *machine, const GridProductSchedule *p) {
  const double width = wgmma_columns(p) + STORE;
  return (double)ceil_div(wgmma_tiles(p), machine->multiprocessors) * WGMMA_ROWS * width *
         (double)p->part / machine->wgmma;
}

/* Times of tensor cores are in fma of tf32, of which they do half as many as of 2 bytes. */
bool product_dequantizes(const GridMachine *machine, const GridProductShape *s) {
  enum { HALF = 2, NUMBER = 3, ISSUE = 4 }; /* instructions of a warp for 32 numbers; a clock */
  if (s->bits == 4 && s->k % 2) return false;
  const GridProductSchedule p = grid_product_schedule(machine, s);
  if (p.thin) return true; /* it takes the time of its bytes */
  const double turns = (double)ceil_div(p.blocks, machine->multiprocessors);
  const double made = turns * p.bn * (double)p.part * NUMBER / machine->warp / ISSUE * FMA;
  GridProductShape other = *s;
  other.bits = 0, other.b_row = s->tb ? s->k : s->n;
  const GridProductSchedule plain = grid_product_schedule(machine, &other);
  GridProductSchedule wide;
  const double of_plain =
      wgmma_schedule(&plain, &wide) ? wgmma_time(machine, &wide) : mma_time(machine, &plain);
  const double bytes = (double)s->n * (double)s->k * (2 * HALF + s->bits / 8.0);
  return mma_time(machine, &p) / HALF + made <=
         of_plain / HALF + machine->launch + bytes * machine->byte;
}

int product_transposed_operand(const GridMachine *machine, const GridProductShape *s, int64_t row) {
  if (!s->tensor || dtype_size(s->in) != 4 || !s->ta || s->tb) return -1;
  const GridProductSchedule plain = grid_product_schedule(machine, s);
  const double now = mma_time(machine, &plain);
  double best = now;
  int operand = -1;
  for (int i = 0; i < 2; i++) {
    GridProductShape other = *s;
    if (i == 0)
      other.ta = false, other.a_row = row;
    else
      other.tb = true, other.b_row = row;
    const GridProductSchedule turned = grid_product_schedule(machine, &other);
    GridProductSchedule p;
    if (!wgmma_schedule(&turned, &p)) continue;
    const double elements = (double)(s->batch * s->k * (i == 0 ? s->m : s->n));
    const double copy = machine->launch + 2 * elements * dtype_size(s->in) * machine->byte;
    const double time = copy + wgmma_time(machine, &p);
    if (time < best) best = time, operand = i;
  }
  return operand;
}
