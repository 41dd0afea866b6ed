/* Schedules of convolutions on a device; see grid_conv.h. */
#include "codegen/schedule/grid_conv.h"

/* Instructions for each fma of a thread that computes one element by itself: two loads, and their
   addresses and tests. Chosen by count, not measured on a device. */
#define ALONE 8.0

/* How long all multiprocessors take, in fma of a thread block that reads nothing: tiles behind the
   edges count, and so does a last wave of few blocks. A fma of a tile reads 1 / tn of a value of
   one operand from shared memory and 1 / tm of the other's. A model, not measured on a device. */
static double time_of(const GridMachine *machine, const GridConvSchedule *c) {
  double waves = (double)ceil_div(c->blocks, machine->blocks);
  if (!c->bm) return waves * machine->block * ALONE;
  return waves * c->bm * c->bn * (1 + 1.0 / c->tm + 1.0 / c->tn);
}

static GridConvSchedule with_tile(const GridConvSchedule *c, int bm, int bn, int tm, int tn) {
  GridConvSchedule t = *c;
  t.bm = bm, t.bn = bn, t.tm = tm, t.tn = tn;
  t.down = ceil_div(c->m, bm);
  t.across = ceil_div(c->pixels, bn);
  t.blocks = c->groups * t.down * t.across;
  return t;
}

GridConvSchedule grid_conv_schedule(const GridMachine *machine, const GridConvShape *s) {
  /* of 256 threads; sums of a thread take 64 registers of 255 at most */
  static const struct {
    int bm, bn, tm, tn;
  } tiles[] = {{128, 128, 8, 8}, {64, 128, 4, 8}, {64, 64, 4, 4},
               {32, 128, 2, 8},  {32, 64, 2, 4},  {16, 128, 1, 8}};
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
  double least = time_of(machine, &best);
  for (size_t i = dtype_size(s->dt) == 8; i < sizeof tiles / sizeof *tiles; i++) {
    GridConvSchedule c = with_tile(&best, tiles[i].bm, tiles[i].bn, tiles[i].tm, tiles[i].tn);
    double time = time_of(machine, &c);
    if (time < least) best = c, least = time;
  }
  return best;
}

/* ---- gradients with respect to filters ---- */

/* Bytes of partial sums that are written or read in the time of one fma of a thread block. */
#define PARTIAL_BYTES 14.0

/* The same unit: a block goes over all pixels, or over those of a chunk. */
static double filter_time(const GridMachine *machine, const GridFilterSchedule *f,
                          const GridFilterShape *s) {
  double waves = (double)ceil_div(f->blocks, machine->blocks);
  double step = f->bm ? f->bm * f->bn * (1 + 1.0 / f->tm + 1.0 / f->tn) : machine->block * ALONE;
  if (!f->parts) return waves * step * (double)s->pixels;
  double moved = 2 * (double)f->rounds * (double)f->scratch / PARTIAL_BYTES;
  return (double)f->rounds * (waves * step * (double)s->chunk + machine->launch) + moved;
}

static GridFilterSchedule filter_tile(const GridFilterSchedule *f, int bm, int bn, int tm, int tn) {
  GridFilterSchedule t = *f;
  t.bm = bm, t.bn = bn, t.tm = tm, t.tn = tn;
  t.down = ceil_div(t.m, bm);
  t.across = ceil_div(t.weights, bn);
  t.blocks = t.groups * t.down * t.across;
  return t;
}

/* With a block for each chunk, in as few rounds as there is room for. */
static bool split_filter(const GridMachine *machine, GridFilterSchedule *f,
                         const GridFilterShape *s) {
  int64_t each = f->groups * f->m * f->weights * dtype_size(s->dt);
  int64_t room = s->operands / machine->scratch / each;
  if (s->chunks < 2 || room < 2) return false;
  f->rounds = ceil_div(s->chunks, room);
  f->parts = ceil_div(s->chunks, f->rounds);
  f->rounds = ceil_div(s->chunks, f->parts);
  f->blocks *= f->parts;
  f->total = (uint64_t)(f->parts * each);
  f->next = f->total + (uint64_t)each;
  f->scratch = f->rounds > 1 ? f->next + sizeof(int32_t) : f->total;
  return true;
}

GridFilterSchedule grid_filter_schedule(const GridMachine *machine, const GridFilterShape *s) {
  static const struct {
    int bm, bn, tm, tn;
  } tiles[] = {{128, 128, 8, 8}, {64, 128, 4, 8}, {64, 64, 4, 4}, {32, 128, 2, 8},
               {32, 64, 2, 4},   {16, 128, 1, 8}, {32, 32, 2, 2}, {16, 64, 1, 4}};
  int64_t numel = s->groups * s->m * s->weights;
  GridFilterSchedule best = {.groups = s->groups,
                             .m = s->m,
                             .weights = s->weights,
                             .chunks = s->chunks,
                             .down = s->m,
                             .across = s->weights,
                             .blocks = ceil_div(numel, machine->block)};
  /* positions of pixels are ints; f64 has no room for a thread's 64 sums, twice */
  if (s->pixels > INT32_MAX / 2 || !s->pixels || !numel) return best;
  double least = filter_time(machine, &best, s);
  for (size_t i = dtype_size(s->dt) == 8; i < sizeof tiles / sizeof *tiles; i++)
    for (int split = 0; split < 2; split++) {
      GridFilterSchedule f = filter_tile(&best, tiles[i].bm, tiles[i].bn, tiles[i].tm, tiles[i].tn);
      f.parts = f.rounds = 0;
      f.scratch = 0;
      if (split && !split_filter(machine, &f, s)) continue;
      double time = filter_time(machine, &f, s);
      if (time < least) best = f, least = time;
    }
  return best;
}

#define FIELD(f) SCHEDULE_FIELD(GridFilterSchedule, f)
const ScheduleKind grid_filter_kind = {"filter", (const ScheduleField[]){FIELD(groups),
                                                                         FIELD(m),
                                                                         FIELD(weights),
                                                                         FIELD(chunks),
                                                                         FIELD(parts),
                                                                         FIELD(rounds),
                                                                         FIELD(bm),
                                                                         FIELD(bn),
                                                                         FIELD(tm),
                                                                         FIELD(tn),
                                                                         {0}}};
#undef FIELD

#define FIELD(f) SCHEDULE_FIELD(GridConvSchedule, f)
const ScheduleKind grid_conv_kind = {"conv", (const ScheduleField[]){FIELD(groups),
                                                                     FIELD(m),
                                                                     FIELD(pixels),
                                                                     FIELD(channels),
                                                                     FIELD(taps),
                                                                     FIELD(bm),
                                                                     FIELD(bn),
                                                                     FIELD(tm),
                                                                     FIELD(tn),
                                                                     {0}}};
