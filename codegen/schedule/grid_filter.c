/* Schedules of gradients of convolutions with respect to filters on a device; see grid_conv.h. */
#include "codegen/schedule/grid_conv_tiles.h"

#include <math.h>

/* Bytes of a weight's place in shared memory, on tensor cores. */
enum { WEIGHT_PLACE = 16 };

/* Bytes of partial sums that are written or read in the time of one fma of a thread block: 3,350
   GB/s against 128 fma a clock at 1.83 GHz, as an H100 has. */
#define PARTIAL_BYTES 14.0

/* Of k-tiles that are copied ahead. Sums of a thread take 32 registers, and what it reads at
 * once 48. */
static const ConvTile ring_tiles[] = {
    {64, 64, 0, 0, 8, 4}, {64, 48, 0, 0, 8, 3}, {48, 64, 0, 0, 6, 4}, {48, 48, 0, 0, 6, 3},
    {64, 32, 0, 0, 4, 4}, {32, 64, 0, 0, 4, 4}, {32, 48, 0, 0, 4, 3}, {48, 32, 0, 0, 6, 2},
    {32, 32, 0, 0, 4, 2}, {32, 16, 0, 0, 2, 2}, {16, 32, 0, 0, 2, 2}, {16, 16, 0, 0, 2, 1}};
enum { RING_TILES = sizeof ring_tiles / sizeof *ring_tiles };

GridProductSchedule grid_filter_product(const GridFilterSchedule *f) {
  const int64_t pixels = f->chunk < f->frame ? f->chunk : f->frame;
  return (GridProductSchedule){.batch = 1,
                               .m = f->m,
                               .n = f->weights / f->taps,
                               .k = pixels,
                               .part = pixels,
                               .parts = 1,
                               .tb = true,
                               .in = DT_F32,
                               .dt = DT_F32,
                               .bm = f->bm,
                               .bn = f->bn,
                               .tm = f->tm,
                               .tn = f->tn,
                               .copy_a = sizeof(float),
                               .copy_b = sizeof(float),
                               .threads = f->bm / f->tm * (f->bn / f->tn),
                               .stages = f->stages};
}

/* A step of the depth of such a block, in fma of 256 threads. */
static double ring_time(const GridFilterSchedule *f) {
  enum { SCHEDULERS = 4, K_TILE = 60 }; /* clocks of its end: the barrier, the next pixels */
  const GridProductSchedule p = grid_filter_product(f);
  const GridStep s = grid_product_step(&p);
  return FMA * (fmax(s.issue / SCHEDULERS, s.wavefronts) + (double)K_TILE / RING_DEPTH);
}

/* The same unit: a block goes over all pixels, or over those of a chunk. */
static double filter_time(const GridMachine *machine, const GridFilterSchedule *f,
                          const GridFilterShape *s) {
  double waves = (double)ceil_div(f->blocks, machine->blocks);
  double step = f->box.pixels        ? FMA * grid_filter_box_clocks(f, waves) / waves
                : f->tensor_box.wide ? FMA * grid_filter_tensor_box_clocks(f, waves) / waves
                : f->stages          ? ring_time(f)
                : f->bm              ? step_time(f->bm, f->bn, f->wm, f->tm, f->tn)
                : f->depthwise.units ? f->depthwise.step
                                     : machine->block * ALONE;
  if (!f->parts) return waves * step * (double)s->pixels;
  double moved = 2 * (double)f->rounds * (double)f->scratch / PARTIAL_BYTES;
  int64_t chunk = f->chunk < f->frame ? f->chunk : f->frame;
  return (double)f->rounds * (waves * step * (double)chunk + machine->launch) + moved;
}

double grid_filter_clocks(const GridMachine *machine, const GridFilterSchedule *f,
                          const GridFilterShape *s) {
  return filter_time(machine, f, s) / FMA;
}

double grid_filter_gather_clocks(const GridMachine *machine, const GridFilterSchedule *f,
                                 const GridFilterShape *s) {
  enum { MEMORY = 700, RESIDENT = 2 }; /* clocks of a load; blocks of a multiprocessor */
  const double clocks = grid_filter_clocks(machine, f, s);
  if (!f->tensor || f->tensor_box.wide) return clocks;
  const int64_t chunk = f->chunk < f->frame ? f->chunk : f->frame;
  const int64_t k_tiles = ceil_div(f->parts ? chunk : s->pixels, STAGE_ROW / dtype_size(s->in));
  const int64_t turns = ceil_div(ceil_div(f->blocks, machine->multiprocessors), RESIDENT);
  return fmax(clocks, (double)(turns * k_tiles) * MEMORY);
}

static GridFilterSchedule filter_tile(const GridFilterSchedule *f, const ConvTile *tile) {
  GridFilterSchedule t = *f;
  t.bm = tile->bm, t.bn = tile->bn, t.tm = tile->tm, t.tn = tile->tn;
  t.wm = tile->wm, t.wn = tile->wn, t.tensor = tile->wm > 0;
  t.shared = t.tensor ? k_tiles(t.bm, t.bn) + t.bn * WEIGHT_PLACE : 0;
  t.down = ceil_div(t.m, t.bm);
  t.across = t.stages ? t.taps * ceil_div(t.weights / t.taps, t.bn) : ceil_div(t.weights, t.bn);
  t.blocks = t.groups * t.down * t.across;
  return t;
}

/* With k-tiles that are copied ahead. */
static GridFilterSchedule ring_tile(const GridFilterSchedule *f, const ConvTile *tile) {
  enum { RING = 40 << 10, MOST = 4 }; /* bytes of shared memory; stages */
  GridFilterSchedule t = *f;
  t.stages = MOST;
  t = filter_tile(&t, tile);
  const GridProductSchedule p = grid_filter_product(&t);
  if (t.stages > RING / grid_ring_bytes(&p)) t.stages = RING / grid_ring_bytes(&p);
  return t;
}

/* The most chunks whose sums scratch may hold. */
int64_t grid_filter_most_parts(const GridMachine *machine, const GridFilterShape *s) {
  return s->operands / machine->scratch / (s->groups * s->m * s->weights * dtype_size(s->dt));
}

/* With a block for each chunk, in as few rounds as the size of scratch allows. */
static bool split_filter(const GridMachine *machine, GridFilterSchedule *f,
                         const GridFilterShape *s) {
  int64_t each = f->groups * f->m * f->weights * dtype_size(s->dt),
          most = grid_filter_most_parts(machine, s);
  if (f->chunks < 2 || most < 2) return false;
  f->rounds = ceil_div(f->chunks, most);
  f->parts = ceil_div(f->chunks, f->rounds);
  f->rounds = ceil_div(f->chunks, f->parts);
  f->blocks *= f->parts;
  f->total = (uint64_t)(f->parts * each);
  f->next = f->total + (uint64_t)each;
  f->scratch = f->rounds > 1 ? f->next + sizeof(int32_t) : f->total;
  return true;
}

/* As many chunks, of whole k-tiles, as keep all multiprocessors busy, and have room in scratch. */
static void choose_chunks(const GridMachine *machine, GridFilterSchedule *f,
                          const GridFilterShape *s) {
  enum { WAVES = 2, K_TILES = 8 }; /* of blocks; least of a chunk */
  int64_t depth = STAGE_ROW / dtype_size(s->in), most = grid_filter_most_parts(machine, s);
  int64_t n = ceil_div(WAVES * machine->blocks, f->blocks);
  if (n > most) n = most;
  if (n > s->pixels / (depth * K_TILES)) n = s->pixels / (depth * K_TILES);
  if (n < 1) n = 1;
  f->frame = s->pixels;
  f->chunk = ceil_div(ceil_div(s->pixels, n), depth) * depth;
  f->chunks = ceil_div(s->pixels, f->chunk);
}

PixelParts grid_filter_parts(const GridMachine *machine, const GridFilterSchedule *f, Dtype in) {
  enum { K_TILES = 8, MEMORY = 700, RESIDENT = 2, ENDS = 2000 }; /* least of a part; as above */
  const int depth = STAGE_ROW / dtype_size(in);
  const double each = (double)(f->groups * f->m * f->weights) * sizeof(float);
  return (PixelParts){.pixels = depth,
                      .tiles = (int)(f->groups * f->down * f->across),
                      .blocks = machine->multiprocessors,
                      .least = K_TILES,
                      .cluster = 1,
                      .unit = (int)ceil(step_time(f->bm, f->bn, f->wm, f->tm, f->tn) * depth / FMA),
                      .wait = MEMORY,
                      .resident = RESIDENT,
                      .ends = ENDS,
                      .sums = (int)ceil(2 * each / PARTIAL_BYTES / FMA)};
}

GridFilterSchedule grid_filter_schedule(const GridMachine *machine, const GridFilterShape *s) {
  int64_t numel = s->groups * s->m * s->weights;
  GridFilterSchedule best = {.groups = s->groups,
                             .m = s->m,
                             .weights = s->weights,
                             .chunks = s->chunks,
                             .frame = s->frame,
                             .chunk = s->chunk,
                             .down = s->m,
                             .across = s->weights,
                             .taps = s->taps,
                             .blocks = ceil_div(numel, machine->block)};
  /* positions of pixels are ints; a thread's 64 sums of f64, twice, exceed its registers */
  if (s->pixels > INT32_MAX / 2 || !s->pixels || !numel) return best;
  const GridFilterSchedule alone = best;
  double least = filter_time(machine, &best, s);
  const bool ring = s->ring && !s->tensor;
  int n = s->tensor ? TENSOR_TILES : ring ? RING_TILES : FILTER_TILES;
  for (int i = dtype_size(s->dt) == 8; i < n; i++)
    for (int split = 0; split < 2; split++) {
      GridFilterSchedule f =
          ring ? ring_tile(&alone, &ring_tiles[i])
               : filter_tile(&alone, s->tensor ? &tensor_tiles[i] : &fma_tiles[i]);
      if (f.tensor && split) choose_chunks(machine, &f, s);
      if (f.tensor && !split) f.chunks = 1, f.frame = f.chunk = s->pixels;
      if (split && !split_filter(machine, &f, s)) continue;
      double time = filter_time(machine, &f, s);
      if (time < least) best = f, least = time;
    }
  return best;
}

void grid_filter_choose(const GridMachine *machine, GridFilterSchedule *f,
                        const GridDepthwiseSchedule *d, const GridFilterShape *s) {
  const int64_t channels = s->groups * s->m, each = channels * s->weights * dtype_size(s->dt);
  GridFilterSchedule c = {.groups = s->groups,
                          .m = s->m,
                          .weights = s->weights,
                          .chunks = s->chunks,
                          .frame = s->frame,
                          .chunk = s->chunk,
                          .down = 1,
                          .across = 1,
                          .blocks = 1,
                          .depthwise = *d};
  if (s->pixels > INT32_MAX / 2 || !s->pixels || !each || grid_filter_most_parts(machine, s) < 1)
    return;
  if (c.chunks == 1)
    c.parts = c.rounds = 1, c.scratch = c.total = (uint64_t)each;
  else if (!split_filter(machine, &c, s))
    return;
  c.blocks = ceil_div(c.parts * channels, d->units);
  if (filter_time(machine, &c, s) < filter_time(machine, f, s)) *f = c;
}

void grid_filter_choose_box(const GridMachine *machine, GridFilterSchedule *f, const ConvGeom *g,
                            const GridFilterShape *s) {
  if (s->pixels > INT32_MAX / 2 || !s->pixels || !s->groups || !s->m || !s->weights) return;
  const GridFilterSchedule alone = {.groups = s->groups,
                                    .m = s->m,
                                    .weights = s->weights,
                                    .chunks = s->chunks,
                                    .frame = s->frame,
                                    .chunk = s->chunk,
                                    .taps = s->taps};
  GridFilterSchedule tile = alone;
  double least = filter_time(machine, f, s);
  /* instructions of a gathered element, with its test and place, beside those of step_time */
  enum { GATHER = 16 };
  if (f->bm && !f->stages)
    least *= 1 + GATHER * (f->bm + f->bn) / step_time(f->bm, f->bn, 0, f->tm, f->tn);
  for (int i = 0; grid_filter_box(g, i, &tile); i++, tile = alone)
    for (int split = 0; split < 2 && tile.box.pixels; split++) {
      GridFilterSchedule c = tile;
      if (split && !split_filter(machine, &c, s)) continue;
      const double time = filter_time(machine, &c, s);
      if (time < least) *f = c, least = time;
    }
}

void grid_filter_take(GridFilterSchedule *f, const WgmmaFilterSchedule *w,
                      const GridFilterShape *s) {
  uint64_t each = (uint64_t)(s->groups * s->m * s->weights * dtype_size(s->dt));
  if (!f->parts) f->parts = f->rounds = 1;
  const int64_t stored = w->parts / w->cluster;
  uint64_t bytes = each * (uint64_t)(stored > f->parts ? stored : f->parts);
  if (bytes > f->scratch) f->scratch = bytes;
  f->wgmma = *w;
}

#define FIELD(f) SCHEDULE_FIELD(GridFilterSchedule, f)
const ScheduleKind grid_filter_kind = {"filter", (const ScheduleField[]){FIELD(groups),
                                                                         FIELD(m),
                                                                         FIELD(weights),
                                                                         FIELD(chunks),
                                                                         FIELD(parts),
                                                                         FIELD(rounds),
                                                                         FIELD(tensor),
                                                                         FIELD(bm),
                                                                         FIELD(bn),
                                                                         FIELD(tm),
                                                                         FIELD(tn),
                                                                         FIELD(stages),
                                                                         FIELD(wgmma.rows),
                                                                         FIELD(wgmma.taps),
                                                                         FIELD(wgmma.columns),
                                                                         FIELD(wgmma.along),
                                                                         FIELD(wgmma.depth),
                                                                         FIELD(wgmma.by_rows),
                                                                         FIELD(wgmma.stages),
                                                                         FIELD(wgmma.parts),
                                                                         FIELD(wgmma.cluster),
                                                                         FIELD(depthwise.units),
                                                                         FIELD(depthwise.taps),
                                                                         FIELD(depthwise.rows),
                                                                         FIELD(box.pixels),
                                                                         FIELD(box.stages),
                                                                         FIELD(tensor_box.high),
                                                                         FIELD(tensor_box.wide),
                                                                         FIELD(tensor_box.warps),
                                                                         FIELD(tensor_box.channels),
                                                                         FIELD(tensor_box.parts),
                                                                         {0}}};
#undef FIELD
