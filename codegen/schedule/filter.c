/* Schedules of the gradient of a convolution by its filters, for f32 images that lie [N, H, W, C]:
   for one filter row and column, rows of channels of x times columns of channels of dy, summed over
   pixels; see window.h. A unit is a tile of the result, whose thread goes over all pixels. */
#include "codegen/schedule/amx_conv.h"

enum {
  PACK_USES = 32,     /* tiles of a panel of dy that pay for packing it */
  ENOUGH_UNITS = 512, /* for many threads; with fewer, many threads have less tall tiles */
  FEW_TILES = 64,     /* that leave threads of a large machine without work, */
  /* Tiles of two registers of channels that leave none of 64 threads much more work than others.
     One register loads three tiles of the first cache for two multiplications, two load four for
     four: by count a multiplication takes as long as two loads. Not measured. */
  MANY_AMX_TILES = 512,
  TILE = 6 * 64, /* of the most elements that registers hold */
  ROOM = 4       /* sums of chunks take at most 1 / ROOM of the operands' bytes, in f32 */
};

/* Each pixel of y has one of x, which a tile for itself reads. */
static void choose_block(const VectorMachine *m, FilterSchedule *f) {
  const WindowAxis *h = &f->c.h, *w = &f->c.w;
  int64_t from, to, rows = f->rows + (f->low < f->tiles);
  if (!f->pack || f->c.groups > 1 || h->taps * w->taps > 1) return;
  window_outputs(h, 0, &from, &to);
  if (!f->merged || h->lo != 0 || w->lo != 0 || from > 0 || to < h->out) return;
  window_outputs(w, 0, &from, &to); /* neither is a column in the padding on the right */
  if (from > 0 || to < w->out) return;
  f->la = ceil_div(rows, 4) * 4;
  int64_t most = m->cache.l2 / 2 / (f->chunk * f->la * 4);
  int64_t blocks = ceil_div(f->tiles, most > 1 ? most : 1);
  f->block = ceil_div(f->tiles, blocks);
}

int64_t filter_chunks(const ConvGeom *c, uint64_t bytes) {
  int64_t chunks = window_pixel_chunks(c).n;
  uint64_t flops = 2 * (uint64_t)(c->y->numel * c->gin * c->h.taps * c->w.taps);
  bool few = c->f->numel < FEW_TILES * TILE && chunks > 1 && flops / 2 >= SERIAL_WORK * 4;
  const uint64_t operands = (uint64_t)(c->x->numel + c->y->numel) * 4; /* in f32 */
  return few && bytes <= operands / ROOM / (uint64_t)chunks ? chunks : 0;
}

/* Tiles of as many channels as two registers have rows for, or one if tiles are few, and copies of
   them and of panels that stay in the second cache. */
static void choose_amx(const VectorMachine *m, FilterSchedule *f) {
  const ConvGeom *c = &f->c;
  const int64_t read = c->h.stride * c->w.stride, taps = c->h.taps * c->w.taps;
  f->merged = false;
  f->runs = c->w.taps;
  f->row = c->gin;
  const int64_t others = c->groups * f->np * c->h.taps * f->runs;
  f->tiles = ceil_div(f->row, AMX_DEPTH);
  if (!f->chunks && others * f->tiles < MANY_AMX_TILES) f->tiles = ceil_div(f->row, LINE);
  f->rows = f->row / f->tiles;
  f->low = f->tiles - f->row % f->tiles;
  f->least = f->rows;
  f->places = amx_filter_places(c);
  const int64_t tile = f->places * AMX_DEPTH * 2 * (read < taps ? read : taps);
  f->x_slots = m->cache.l2 / 4 / tile;
  if (f->x_slots > f->tiles) f->x_slots = f->tiles;
  if (f->x_slots < 1) f->x_slots = 1;
  f->dy_slots = m->cache.l2 / 4 / (f->places * f->nr * 2);
  if (f->dy_slots > f->np) f->dy_slots = f->np;
  if (f->dy_slots < 1) f->dy_slots = 1;
  f->all_units = others * f->tiles;
}

FilterSchedule filter_schedule(const VectorMachine *m, const FilterShape *shape) {
  const ConvGeom *c = &shape->c;
  const WindowAxis *w = &c->w;
  FilterSchedule f = {.c = *c,
                      .nr = shape->panel,
                      .ld = shape->panel,
                      .epilogue = shape->epilogue,
                      .chunk = window_chunk_pixels(c),
                      .chunks = filter_chunks(c, shape->bytes)};
  if (!f.nr) {
    f.nr = panel_columns(m, c->gout);
    f.ld = c->cout;
  }
  f.np = ceil_div(c->gout, f.nr);
  int64_t width = f.np == 1 ? c->gout : f.nr, vectors = ceil_div(width, machine_lanes(m, 4));
  int64_t most = vectors ? tile_sums(m) / vectors : 1;
  if (most < 1) most = 1; /* rows of a pixel lie side by side: as many as there are registers */
  bool all = true;        /* every column of the filter reaches every pixel */
  for (int64_t s = 0; s < w->taps; s++) {
    int64_t from, to;
    window_outputs(w, s, &from, &to);
    all = all && from == 0 && to == w->out;
  }
  bool few = c->gin < tile_rows(m, width);
  if (few && type_extent(c->y, 3)) { /* columns near the sides have texts of their own */
    const int64_t whole = window_least_whole(w, false);
    few = whole > 0 && whole <= MOST_NARROW;
  }
  f.merged = c->groups == 1 && w->dilation == 1 && (all || few);
  f.runs = f.merged ? 1 : w->taps;
  f.row = f.merged ? w->taps * c->gin : c->gin;
  f.tiles = ceil_div(f.row, most);
  f.rows = f.row / f.tiles;
  f.low = f.tiles - f.row % f.tiles;
  f.pack = f.np * c->groups > 1 && c->h.taps * f.runs * f.tiles >= PACK_USES &&
           f.chunk * f.nr * 4 <= m->cache.l2 / 4;
  f.lb = f.pack ? f.nr : c->cout;
  choose_block(m, &f);
  f.flops = 2 * (uint64_t)(c->y->numel * c->gin * c->h.taps * c->w.taps);
  if (shape->amx) {
    f.amx = true;
    f.pack = false;
    f.block = 0;
    choose_amx(m, &f);
    f.units = f.flops < SERIAL_WORK ? 1 : f.all_units;
    return f;
  }
  f.all_units = c->groups * f.np * c->h.taps * f.runs * f.tiles;
  f.units = f.flops < SERIAL_WORK ? 1 : f.all_units;
  f.least = f.rows > 0 ? f.rows : 1;
  if (!f.merged || all) /* tiles have the same runs of pixels */
    while (f.least > most - most / 3 - 1 &&
           f.all_units / f.tiles * (f.row / f.least) < ENOUGH_UNITS)
      f.least--;
  return f;
}

int64_t filter_tiles(const FilterSchedule *f, int threads) {
  return filter_varies(f) ? tiles_for(threads, f->all_units / f->tiles, f->tiles, f->row / f->least)
                          : f->tiles;
}

/* Rows of the first n units. */
static int64_t rows_of(const FilterSchedule *f, int64_t tiles, int64_t n) {
  if (tiles != f->tiles || filter_varies(f)) return n / tiles * f->row + n % tiles * f->row / tiles;
  int64_t k = n % tiles;
  return n / tiles * f->row + k * f->rows + (k > f->low ? k - f->low : 0);
}

double filter_balance(const void *schedule, int threads) {
  const FilterSchedule *f = schedule;
  int64_t tiles = filter_tiles(f, threads), others = f->all_units / f->tiles, most = 0;
  if (f->chunks && filter_apart(threads, others * tiles))
    return units_balance(others * tiles * f->chunks, threads);
  for (int t = 0; t < threads; t++) {
    int64_t rows = rows_of(f, tiles, others * tiles * (t + 1) / threads) -
                   rows_of(f, tiles, others * tiles * t / threads);
    if (rows > most) most = rows;
  }
  return most ? (double)(others * f->row) / (double)most / threads : 1;
}

#define FIELD(f) SCHEDULE_FIELD(FilterSchedule, f)
const ScheduleKind filter_kind = {"filter", (const ScheduleField[]){FIELD(nr),
                                                                    FIELD(np),
                                                                    FIELD(merged),
                                                                    FIELD(runs),
                                                                    FIELD(row),
                                                                    FIELD(rows),
                                                                    FIELD(tiles),
                                                                    FIELD(low),
                                                                    FIELD(least),
                                                                    FIELD(pack),
                                                                    FIELD(block),
                                                                    FIELD(la),
                                                                    FIELD(amx),
                                                                    FIELD(places),
                                                                    FIELD(x_slots),
                                                                    FIELD(dy_slots),
                                                                    FIELD(chunk),
                                                                    FIELD(chunks),
                                                                    {0}}};
