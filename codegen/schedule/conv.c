/* Schedules of convolutions of f32 images that lie [N, H, W, C] and of their gradients by the
   images: a tile of the result is some pixels of one image row by a panel of channels, or where
   image rows are short, one pixel of several images; see window.h. Units are rows of the result, in
   blocks that a panel of filters goes over while they stay in the cache. Where each channel has a
   filter of its own, a panel is as wide as leaves registers for the filters of a tap. */
#include "codegen/schedule/window.h"

enum {
  FEW_ROWS = 16,     /* of the result: then panels are divided among threads, too */
  ENOUGH_ROWS = 512, /* for many threads; of less they share panels of a row, too */
  FEW_COLUMNS = 64   /* of the result, at most, where a tile may be of several images */
};

/* ---- tiles ---- */

/* Prefetches as many rows of c with each filter row as make all of them at its end, but for those
   of a buffer. */
static Tile tile_new(const ConvSchedule *v, int rows, int64_t width) {
  int taps = (int)v->c.h.taps;
  return (Tile){.rows = rows,
                .width = width,
                .lb = v->lb,
                .lk = 1,
                .pairs = v->pairs,
                .own = v->own,
                .prefetch = v->epilogue ? 0 : (rows + taps - 1) / taps};
}

/* Pixels [i0, i0 + rows) of a phase. */
Tile conv_tile_along(Arena *a, const ConvSchedule *v, const Phase *f, int64_t i0, int rows,
                     int64_t width) {
  Tile t = tile_new(v, rows, width);
  t.li = f->over * v->from_channels;
  if (v->once && v->together == 1) t.next = rows * t.li;
  t.run = ARENA_ARRAY(a, TapRun, f->ntaps + 1);
  for (int k = 0; k < f->ntaps; k++) {
    const Tap *c = &f->tap[k];
    int lo = 0, hi = rows;
    while (lo < rows && c->at + (i0 + lo) * f->over < 0) lo++;
    while (hi > lo && c->at + (i0 + hi - 1) * f->over >= v->places) hi--;
    if (lo < hi) tile_add_run(&t, c->at * v->from_channels, c->index * v->tap, v->depth, lo, hi);
  }
  return t;
}

/* A pixel of a span in so many images. */
Tile conv_tile_across(Arena *a, const ConvSchedule *v, const Phase *span, int images,
                      int64_t width) {
  Tile t = tile_new(v, images, width);
  t.li = v->in_rows * v->in_columns * v->from_channels;
  if (v->once) t.next = span->over * v->from_channels;
  t.run = ARENA_ARRAY(a, TapRun, span->ntaps + 1);
  for (int k = 0; k < span->ntaps; k++) {
    const Tap *c = &span->tap[k];
    tile_add_run(&t, c->at * v->from_channels, c->index * v->tap, v->depth, 0, images);
  }
  return t;
}

int conv_tile_size(int64_t k, int64_t tiles, int64_t of) {
  return (int)(of / tiles + (k >= tiles - of % tiles));
}

/* Half cycles that a tile takes, by the rows that each run reaches: in a cycle it can load two
   registers and do two fma; and a chain goes on after four, and a bit. */
static int64_t tile_cost(const VectorMachine *m, const Tile *t) {
  enum { CHAIN = 10 };
  int64_t vectors = ceil_div(t->width, machine_lanes(m, 4)), cost = 0;
  for (int i = 0; i < t->nruns; i++) {
    int64_t rows = t->run[i].hi - t->run[i].lo, most = rows * vectors;
    int64_t loads = (t->own ? rows * vectors : rows) + vectors;
    if (most < loads) most = loads;
    cost += (t->run[i].more + 1) * t->run[i].depth * (most > CHAIN ? most : CHAIN);
  }
  return cost;
}

int conv_tile_rows(const VectorMachine *m, const ConvSchedule *v, int64_t width) {
  return v->pairs ? tile_pair_rows(m, width) : tile_rows(m, width);
}

/* Whether tiles go across images: where they are cheaper so, with what they read still cached. */
static void choose_tiles(Arena *a, const VectorMachine *m, ConvSchedule *v) {
  int64_t width = v->np == 1 ? v->width : v->nr, most = conv_tile_rows(m, v, width);
  int64_t blocks = (v->n + most - 1) / most, along = 0, across = 0;
  if (v->n == 0 || v->n * v->rows < FEW_ROWS || v->columns > FEW_COLUMNS) return;
  for (int p = 0; p < v->nphases; p++) {
    const Phase *f = &v->phase[p];
    int64_t tiles = (f->n + most - 1) / most, i0 = 0;
    for (int64_t k = 0; k < tiles; k++) {
      Tile t = conv_tile_along(a, v, f, i0, conv_tile_size(k, tiles, f->n), width);
      along += tile_cost(m, &t);
      i0 += t.rows;
    }
  }
  for (int p = 0; p < v->nspans; p++)
    for (int64_t k = 0; k < blocks; k++) {
      Tile t = conv_tile_across(a, v, &v->span[p], conv_tile_size(k, blocks, v->n), width);
      across += v->span[p].n * tile_cost(m, &t);
    }
  int64_t images = conv_tile_size(blocks - 1, blocks, v->n);
  int64_t bytes = images * v->c.h.taps * v->in_columns * v->from_channels * 4;
  bool fits = bytes <= m->cache.l2 / 4 && images * v->columns * v->nr * 4 <= m->cache.l2 / 8;
  if (!fits || across * 20 > along * v->n * 19) return;
  v->blocks = blocks;
  v->images = images;
  if (type_extent(v->c.x, 0))
    v->blocks = ceil_div(v->n, images); /* all but the last of a run are whole */
  else
    v->low = v->n % blocks ? blocks - v->n % blocks : 0;
}

/* Panels that a tile of pixels goes over before the next pixels: then channels that lie side by
   side are read and written at once, where a panel alone takes a line of each pixel. All panels, if
   their filters stay in the second cache; if each channel has a filter of its own, as many as
   leave half of the first one. */
static void choose_together(const VectorMachine *m, ConvSchedule *v) {
  const int64_t taps = v->c.h.taps * v->c.w.taps, row = taps * v->nr * 4;
  int64_t most = v->np;
  if (v->own)
    most = m->cache.l1 / 2 / row;
  else if (v->np * row * v->depth > m->cache.l2 / 8)
    most = 1;
  const bool several = !v->blocks && v->np > 1 && most > 1;
  v->together = several ? ceil_div(v->np, ceil_div(v->np, most)) : 1;
}

/* How threads share the rows of the result, and what waits for its epilogue. */
static void choose_units(const VectorMachine *m, ConvSchedule *v) {
  int64_t panels = v->np * v->c.groups;
  v->flops = 2 * (uint64_t)(v->c.y->numel * v->c.gin * v->c.h.taps * v->c.w.taps);
  v->row_count = (v->blocks ? v->blocks : v->n) * v->rows;
  v->by_rows = v->blocks || v->row_count >= FEW_ROWS || panels == 1 || v->together > 1;
  v->by_panels = !v->by_rows || (v->row_count < ENOUGH_ROWS && v->np > 1 && v->c.groups == 1);
  v->units = v->flops < SERIAL_WORK ? 1 : v->by_panels ? v->row_count * panels : v->row_count;
  int64_t bytes = v->in_columns * v->from_channels * 4 * (v->blocks ? v->images : 1);
  v->row_block = m->cache.l2 / 4 / (bytes ? bytes : 1);
  if (!v->row_block) v->row_block = 1;
  int64_t tail = v->width - (v->np - 1) * v->nr; /* the narrowest panel has the tallest tiles */
  v->tile_rows = conv_tile_rows(m, v, tail);
  if (v->together > 1) v->whole = false;
  v->buffer = v->whole ? v->columns : v->tile_rows * v->together;
  if (v->blocks && v->images * v->columns > v->buffer) v->buffer = v->images * v->columns;
}

ConvSchedule conv_schedule(Arena *a, const VectorMachine *m, const ConvShape *shape) {
  const ConvGeom *c = &shape->c;
  bool back = shape->back;
  const Type *from = back ? c->y : c->x, *to = back ? c->x : c->y;
  ConvSchedule v = {.c = *c,
                    .back = back,
                    .pairs = shape->pairs,
                    .n = c->n,
                    .rows = to->dim[2],
                    .columns = to->dim[3],
                    .in_rows = from->dim[2],
                    .in_columns = from->dim[3],
                    .places = from->dim[3],
                    .from_channels = from->dim[1],
                    .to_channels = to->dim[1],
                    .depth = back ? c->gout : c->gin,
                    .width = back ? c->gin : c->gout,
                    .nr = shape->panel,
                    .epilogue = shape->epilogue};
  if (c->groups > 1 && c->gin == 1 && c->gout == 1) {
    int pair = 2 * machine_lanes(m, 4); /* of wider panels fewer pixels would share a filter */
    v.own = true;
    v.c.groups = 1;
    v.width = v.lb = v.tap = v.to_channels;
    v.nr = panel_columns(m, v.width);
    if (v.nr > pair) v.nr = pair;
    v.panel = v.nr;
  } else if (v.nr) {
    v.lb = v.nr;
    v.panel = c->h.taps * c->w.taps * v.depth * v.nr;
  } else {
    v.nr = panel_columns(m, v.width);
    v.lb = back ? v.width : v.to_channels; /* [KH][KW][O][C / groups] */
    v.panel = v.nr;
  }
  v.np = ceil_div(v.width, v.nr);
  if (!v.own) /* [KH][KW][O][C / groups] has all outputs */
    v.tap = (back ? v.from_channels : v.depth) * v.lb;
  v.whole = v.epilogue && v.columns * v.nr * 4 <= m->cache.l2 / 8;
  v.once = c->h.taps * c->w.taps == 1;
  v.phase = window_phases(a, &c->w, back, &v.nphases);
  v.span = window_spans(a, &c->w, back, &v.nspans);
  choose_tiles(a, m, &v);
  choose_together(m, &v);
  choose_units(m, &v);
  return v;
}

#define FIELD(f) SCHEDULE_FIELD(ConvSchedule, f)
const ScheduleKind conv_kind = {
    "conv", (const ScheduleField[]){FIELD(n),         FIELD(rows),      FIELD(columns),
                                    FIELD(depth),     FIELD(width),     FIELD(back),
                                    FIELD(pairs),     FIELD(nr),        FIELD(np),
                                    FIELD(together),  FIELD(tile_rows), FIELD(nphases),
                                    FIELD(blocks),    FIELD(images),    FIELD(low),
                                    FIELD(once),      FIELD(whole),     FIELD(by_rows),
                                    FIELD(by_panels), FIELD(row_block), {0}}};
