/* Schedules of convolutions of bf16, and of their gradients by the images, in tile registers; see
   amx_conv.h. Algorithm: implicit GEMM. A block of source images is copied to a buffer in groups of
   32 channels, with zeros between rows and images, so that each tap reads a tile's 16 positions
   side by side, some places from where the first tap does. With a stride, rows and columns are
   copied to a plane for each remainder (space to depth). Contract: no bound of an extent and no
   cache decides what is summed, or in which order. */
#include "codegen/schedule/amx_conv.h"

/* ---- whether it pays ---- */

/* Cycles, of instructions as Intel documents them; not measured. */
enum {
  COPY = 4, /* to copy 32 channels of a pixel */
  SUMS = 2, /* to store 16 sums, and to read them again */
  GAIN = 2  /* times as fast as vectors, at least: what is not counted takes time, too */
};

bool amx_conv_pays(const VectorMachine *m, const ConvGeom *c, bool back) {
  const int64_t depth = back ? c->gout : c->gin, width = back ? c->gin : c->gout;
  const int64_t taps = c->h.taps * c->w.taps, over = c->h.stride * c->w.stride;
  const int64_t chunks = ceil_div(depth, AMX_DEPTH), vectors = ceil_div(width, LINE);
  const int64_t read = back ? 1 : over < taps ? over : taps; /* pixels for each of y */
  const int64_t tiles = taps * chunks * vectors; /* 16 positions by 16 columns take 16 cycles */
  const int64_t moves = read * chunks * COPY + (back ? over : 1) * vectors * SUMS;
  const int64_t steps = m->pairs ? ceil_div(depth, 2) : depth; /* of vectors */
  return m->amx && depth > 0 && (tiles + moves) * GAIN * 2 <= taps * steps * vectors;
}

/* ---- planes ---- */

static int64_t floor_div(int64_t n, int64_t by) { return n >= 0 ? n / by : -ceil_div(-n, by); }

static int64_t plane_of(AmxAxis *x, int64_t first) {
  for (int p = 0; p < x->nplanes; p++)
    if (x->plane[p] == first) return p;
  x->plane[x->nplanes] = first;
  return x->nplanes++;
}

AmxAxis amx_axis(Arena *a, const WindowAxis *w, bool back) {
  AmxAxis x = {.step = back ? w->stride : 1, .over = back ? 1 : w->stride};
  const Phase *phase = window_phases(a, w, back, &x.nphases);
  x.phase = ARENA_ARRAY(a, AmxPhase, x.nphases + 1);
  x.plane = ARENA_ARRAY(a, int64_t, w->taps + 1);
  for (int p = 0; p < x.nphases; p++) {
    const Phase *f = &phase[p];
    AmxPhase *to = &x.phase[p];
    *to = (AmxPhase){.first = f->first, .ntaps = f->ntaps};
    to->tap = ARENA_ARRAY(a, AmxTap, f->ntaps + 1);
    if (f->n > x.positions) x.positions = f->n;
    for (int t = 0; t < f->ntaps; t++) {
      const int64_t at = f->tap[t].at, shift = floor_div(at, x.over);
      to->tap[t] = (AmxTap){f->tap[t].index, plane_of(&x, at - shift * x.over), shift};
      if (-shift > x.before) x.before = -shift;
      if (shift > x.behind) x.behind = shift;
    }
  }
  if (!x.nplanes) x.nplanes = 1;
  x.places = ceil_div(back ? w->out : w->in, x.over);
  return x;
}

/* ---- blocks ---- */

enum {
  BLOCK = 256,        /* positions of a block, if there are so many … */
  LEAST_BLOCK = 128,  /* … or about these, where threads would have few blocks */
  ENOUGH_UNITS = 256, /* for many threads */
  WORD = 4            /* bytes of a pair of channels */
};

static int64_t plane_places(const AmxConvSchedule *s, int64_t images, int64_t lines) {
  const int64_t of_image = amx_axis_pitch(&s->h), all = s->h.before + lines + s->h.behind;
  return s->w.before + ((images - 1) * of_image + all) * amx_conv_pitch(s) + AMX_POSITIONS +
         s->w.behind;
}

static bool fits(const VectorMachine *m, const AmxConvSchedule *s, int64_t images, int64_t lines) {
  const int64_t planes = s->h.nplanes * s->w.nplanes;
  const int64_t bytes = planes * plane_places(s, images, lines) * s->chunks * AMX_DEPTH / 2 * WORD;
  return bytes <= m->cache.l2 / 4;
}

/* Rows of more than two blocks, as of sound, are cut: whole ones would lie in memory once more for
   each thread, and few threads would have a block. */
static void cut_rows(const VectorMachine *m, AmxConvSchedule *s, int64_t block) {
  s->across = s->w.positions;
  if (amx_conv_pitch(s) <= 2 * block) return;
  for (s->across = block; s->across > AMX_POSITIONS && !fits(m, s, 1, 1);)
    s->across -= AMX_POSITIONS;
}

/* Some lines of an image, or if it is small, some images. */
static void choose_block(const VectorMachine *m, AmxConvSchedule *s) {
  const int64_t of_image = amx_axis_pitch(&s->h);
  const int64_t all = s->n * s->h.positions * amx_axis_pitch(&s->w);
  const int64_t block = all < ENOUGH_UNITS * BLOCK ? LEAST_BLOCK : BLOCK;
  cut_rows(m, s, block);
  const int64_t pitch = amx_conv_pitch(s);
  int64_t lines = block / pitch, images = block / (pitch * of_image);
  if (lines > s->h.positions) lines = s->h.positions;
  while (lines > 1 && !fits(m, s, 1, lines)) lines--;
  if (lines < 1) lines = 1;
  const int64_t blocks = ceil_div(s->h.positions, lines);
  s->lines = ceil_div(s->h.positions, blocks);
  if (s->lines < s->h.positions || images > s->n) images = s->lines < s->h.positions ? 1 : s->n;
  while (images > 1 && !fits(m, s, images, s->lines)) images--;
  s->images = images > 1 ? images : 1;
  s->plane = plane_places(s, s->images, s->lines);
  s->blocks = ceil_div(s->n, s->images) * ceil_div(s->h.positions, s->lines) *
              ceil_div(s->w.positions, s->across);
}

static void choose_group(const VectorMachine *m, AmxConvSchedule *s) {
  const ConvGeom *c = &s->conv.c;
  const int64_t panel = c->h.taps * c->w.taps * s->chunks * (AMX_DEPTH / 2) * s->nr * WORD;
  int64_t group = m->cache.l2 / 4 / panel;
  if (group > s->np) group = s->np;
  while (group > 1 && s->blocks * c->groups * ceil_div(s->np, group) < ENOUGH_UNITS) group--;
  if (group < 1) group = 1;
  s->group = ceil_div(s->np, ceil_div(s->np, group));
  s->parts = c->groups * ceil_div(s->np, s->group);
  s->units = s->flops < SERIAL_WORK ? 1 : s->blocks * s->parts;
}

AmxConvSchedule amx_conv_schedule(Arena *a, const VectorMachine *m, const ConvShape *shape) {
  const ConvGeom *c = &shape->c;
  AmxConvSchedule s = {.conv = conv_schedule(a, m, shape),
                       .h = amx_axis(a, &c->h, shape->back),
                       .w = amx_axis(a, &c->w, shape->back)};
  s.n = s.conv.n;
  s.rows = s.conv.rows;
  s.columns = s.conv.columns;
  s.depth = s.conv.depth;
  s.width = s.conv.width;
  s.back = s.conv.back;
  s.nr = s.conv.nr;
  s.np = s.conv.np;
  s.flops = s.conv.flops;
  s.chunks = ceil_div(s.depth, AMX_DEPTH);
  choose_block(m, &s);
  choose_group(m, &s);
  return s;
}

#define FIELD(f) SCHEDULE_FIELD(AmxConvSchedule, f)
const ScheduleKind amx_conv_kind = {"amx_conv", (const ScheduleField[]){FIELD(n),
                                                                        FIELD(rows),
                                                                        FIELD(columns),
                                                                        FIELD(depth),
                                                                        FIELD(width),
                                                                        FIELD(back),
                                                                        FIELD(nr),
                                                                        FIELD(np),
                                                                        FIELD(chunks),
                                                                        FIELD(group),
                                                                        FIELD(parts),
                                                                        FIELD(images),
                                                                        FIELD(lines),
                                                                        FIELD(across),
                                                                        FIELD(plane),
                                                                        FIELD(blocks),
                                                                        {0}}};
