/* Schedules of f32 convolutions on ordinary units of a device whose k-tiles are copied ahead; see
   grid_conv.h. Algorithm: of the tiles of a block, what an estimate of the clocks takes least. */
#include "codegen/schedule/grid_conv.h"

#include <math.h>

enum {
  EACH = 4,    /* elements of a load from shared memory */
  LINE = 128,  /* bytes of a wavefront */
  COPY = 3,    /* instructions of a copy */
  PAD = 4,     /* elements between rows of a k-tile */
  K_TILE = 70, /* instructions of a warp in a k-tile beside: the barrier, the next tap's pixels */
  FLOAT = 4    /* bytes */
};

/* Sums of a thread take 64 registers of 128. Those of four pixels have four predicates, which stay
   in registers while the k-tile goes by. */
static const struct ConvRingTile {
  int bm, bn, tm, tn;
} tiles[] = {{64, 128, 16, 4}, {128, 64, 16, 4}, {64, 64, 8, 4}, {32, 128, 8, 4},
             {32, 64, 8, 4},   {32, 32, 4, 4},   {16, 64, 4, 4}};

int grid_conv_ring_channels(const GridConvSchedule *c) {
  return (int)ceil_div(c->channels, ceil_div(c->channels, CONV_RING_DEPTH));
}

GridStep grid_conv_ring_step(const GridConvSchedule *c) {
  const double warp = 32, lanes = c->bn / c->tn, warps = c->bm / c->tm * lanes / warp;
  const double sums = c->tm * c->tn, loads = c->tm / EACH + c->tn / EACH;
  /* threads of a row of them read the same channels, and pixels side by side */
  const double side = (lanes < warp ? lanes : warp) * c->tn * FLOAT / LINE;
  const double copies = (c->bm + c->bn) / warp;
  return (GridStep){.fma = warps * sums,
                    .loads = warps * loads,
                    .copies = copies,
                    .issue = warps * (sums + loads) + copies * COPY +
                             warps * K_TILE / grid_conv_ring_channels(c),
                    .wavefronts = warps * (c->tm / EACH + side) + copies};
}

/* By count, not measured on a device: blocks of a multiprocessor take turns on its units, and each
   waits for itself. */
static double clocks_of(const GridMachine *machine, const GridConvShape *s,
                        const GridConvSchedule *c) {
  enum {
    SCHEDULERS = 4,
    DEPENDENT = 4, /* clocks of an fma that waits for the one before */
    BARRIER = 60,  /* ... of a k-tile's end: the barrier, and the first loads behind it */
    MEMORY = 700,  /* ... that a load takes */
    ENDS = 2000    /* ... before the first k-tile and behind the last */
  };
  const GridStep step = grid_conv_ring_step(c);
  const int threads = grid_conv_threads(c, machine->block), depth = grid_conv_ring_channels(c);
  const double warps = threads / 32.0, unit = fmax(step.issue / SCHEDULERS, step.wavefronts);
  const double k_tiles = (double)(ceil_div(c->channels, depth) * ceil_div(c->taps, s->phases));
  const double own = fmax(fmax(step.issue / warps, DEPENDENT), unit) * depth + BARRIER;
  const double blocks = (double)ceil_div(c->blocks, machine->multiprocessors),
               turns = ceil(blocks * threads / CONV_RING_THREADS);
  return k_tiles * fmax(blocks * unit * depth, turns * fmax(own, MEMORY / (c->stages - 1.0))) +
         ENDS;
}

bool grid_conv_ring(const GridMachine *machine, const GridConvShape *s, GridConvSchedule *c,
                    double *clocks) {
  /* of fewer channels a k-tile has little to multiply */
  enum { CHANNELS = 8, RING = 48 << 10, STAGES = 4 };
  GridConvSchedule best = *c;
  *clocks = INFINITY;
  if (s->channels < CHANNELS || s->dt != DT_F32) return false;
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
    GridConvSchedule t = *c;
    t.bm = tiles[i].bm, t.bn = tiles[i].bn, t.tm = tiles[i].tm, t.tn = tiles[i].tn;
    t.down = ceil_div(t.m, t.bm);
    t.across = ceil_div(t.pixels, t.bn);
    t.blocks = t.groups * t.down * t.across;
    t.stages = RING / (grid_conv_ring_channels(&t) * (t.bm + t.bn + 2 * PAD) * FLOAT);
    if (t.stages > STAGES) t.stages = STAGES;
    const double time = clocks_of(machine, s, &t);
    if (time < *clocks) best = t, *clocks = time;
  }
  *c = best;
  return true;
}
