/* Schedules of convolutions on a device; see grid_conv.h. */
#include "codegen/schedule/grid_conv_tiles.h"

#include <math.h>

/* On tensor cores a block also has a table of where each tap of each of its pixels reads, and
   behind the last tap as many as one chunk of 16 bytes may need. */
enum { TAP_PLACE = sizeof(int32_t), CHUNK = 16 };

static int64_t places(int64_t taps, Dtype in) { return taps + CHUNK / dtype_size(in) - 1; }

static bool fits(const GridMachine *machine, const ConvTile *tile, int64_t places) {
  return places <= (machine->shared - k_tiles(tile->bm, tile->bn)) / (tile->bn * TAP_PLACE);
}

/* How long all multiprocessors take: tiles behind the edges count, and so does a last wave of few
   blocks. */
static double time_of(const GridMachine *machine, const GridConvSchedule *c, Dtype in) {
  double waves = (double)ceil_div(c->blocks, machine->multiprocessors);
  int64_t depth = c->channels * c->taps;
  if (!c->bm) return waves * machine->block * ALONE * (double)depth;
  if (c->tensor) depth = ceil_div(depth, STAGE_ROW / dtype_size(in)) * STAGE_ROW / dtype_size(in);
  return waves * step_time(c->bm, c->bn, c->wm, c->tm, c->tn) * (double)depth;
}

double grid_conv_alone_clocks(const GridMachine *machine, const GridConvSchedule *c) {
  return time_of(machine, c, DT_F32) / FMA;
}

double grid_conv_clocks(const GridMachine *machine, const GridConvShape *s,
                        const GridConvSchedule *c) {
  enum { ENDS = 2000 }; /* clocks before the first k-tile and behind the last */
  double time = time_of(machine, c, s->in);
  /* a block leaves out k-tiles of one tap that no pixel of its phase has */
  if (c->tensor && c->channels % (STAGE_ROW / dtype_size(s->in)) == 0) time /= (double)s->phases;
  return time / FMA + ENDS;
}

double grid_conv_gather_clocks(const GridMachine *machine, const GridConvShape *s,
                               const GridConvSchedule *c) {
  enum { MEMORY = 700, RESIDENT = 2 }; /* clocks of a load; blocks of a multiprocessor */
  const int64_t depth = ceil_div(c->channels * c->taps, STAGE_ROW / dtype_size(s->in));
  const int64_t turns = ceil_div(ceil_div(c->blocks, machine->multiprocessors), RESIDENT);
  return fmax(grid_conv_clocks(machine, s, c), (double)(turns * depth / s->phases) * MEMORY);
}

static GridConvSchedule with_tile(const GridConvSchedule *c, const ConvTile *tile, Dtype in) {
  GridConvSchedule t = *c;
  t.bm = tile->bm, t.bn = tile->bn, t.tm = tile->tm, t.tn = tile->tn;
  t.wm = tile->wm, t.wn = tile->wn, t.tensor = tile->wm > 0;
  t.shared = t.tensor ? k_tiles(t.bm, t.bn) + (int)places(c->taps, in) * t.bn * TAP_PLACE : 0;
  t.down = ceil_div(c->m, t.bm);
  t.across = ceil_div(c->pixels, t.bn);
  t.blocks = c->groups * t.down * t.across;
  return t;
}

GridConvSchedule grid_conv_schedule(const GridMachine *machine, const GridConvShape *s) {
  GridConvSchedule best = {.groups = s->groups,
                           .m = s->m,
                           .pixels = s->pixels,
                           .channels = s->channels,
                           .taps = s->taps,
                           .down = s->m,
                           .across = s->pixels,
                           .blocks = ceil_div(s->groups * s->m * s->pixels, machine->block)};
  /* positions of pixels are ints; sums of nothing, and f64 in a thread's 64 sums, have no tile */
  if (s->pixels > INT32_MAX / 2 || !s->channels || !s->taps) return best;
  bool tensor = false, near = s->area <= INT32_MAX / CHUNK; /* places in the table are 32 bits */
  for (int i = 0; i < TENSOR_TILES; i++)
    tensor |= s->tensor && near && fits(machine, &tensor_tiles[i], places(s->taps, s->in));
  double least = time_of(machine, &best, s->in), clocks;
  GridConvSchedule ring = best;
  if (!tensor && s->ring && grid_conv_ring(machine, s, &ring, &clocks))
    return clocks < least / FMA ? ring : best;
  if (tensor && s->always) least = INFINITY;
  int n = tensor ? TENSOR_TILES : CONV_TILES;
  for (int i = dtype_size(s->dt) == 8; i < n; i++) {
    const ConvTile *tile = tensor ? &tensor_tiles[i] : &fma_tiles[i];
    if (tensor && !fits(machine, tile, places(s->taps, s->in))) continue;
    GridConvSchedule c = with_tile(&best, tile, s->in);
    double time = time_of(machine, &c, s->in);
    if (time < least) best = c, least = time;
  }
  return best;
}

void grid_conv_choose(const GridMachine *machine, GridConvSchedule *c, const ConvGeom *g, bool back,
                      Dtype dt) {
  GridPlanesSchedule p;
  double time;
  if (!c->pixels || c->pixels > INT32_MAX / 2 || !c->taps) return;
  if (!grid_planes_schedule(machine, g, back, dt, &p, &time) ||
      time >= time_of(machine, c, g->x->dtype))
    return;
  c->bm = c->bn = c->tm = c->tn = c->wm = c->wn = c->shared = c->stages = 0;
  c->box = (GridBoxSchedule){0};
  c->tensor = false;
  c->planes = p;
  c->blocks = p.blocks;
}

#define FIELD(f) SCHEDULE_FIELD(GridConvSchedule, f)
const ScheduleKind grid_conv_kind = {"conv", (const ScheduleField[]){FIELD(groups),
                                                                     FIELD(m),
                                                                     FIELD(pixels),
                                                                     FIELD(channels),
                                                                     FIELD(taps),
                                                                     FIELD(tensor),
                                                                     FIELD(bm),
                                                                     FIELD(bn),
                                                                     FIELD(tm),
                                                                     FIELD(tn),
                                                                     FIELD(stages),
                                                                     FIELD(along),
                                                                     FIELD(wgmma.rows),
                                                                     FIELD(wgmma.columns),
                                                                     FIELD(wgmma.depth),
                                                                     FIELD(wgmma.by_rows),
                                                                     FIELD(wgmma.along),
                                                                     FIELD(wgmma.images),
                                                                     FIELD(wgmma.filters),
                                                                     FIELD(planes.units),
                                                                     FIELD(planes.rows),
                                                                     FIELD(planes.down),
                                                                     FIELD(planes.across),
                                                                     FIELD(box.width),
                                                                     FIELD(box.rows),
                                                                     FIELD(box.taps),
                                                                     FIELD(tensor_box.high),
                                                                     FIELD(tensor_box.wide),
                                                                     FIELD(tensor_box.warps),
                                                                     FIELD(tensor_box.parts),
                                                                     {0}}};
