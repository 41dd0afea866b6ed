/* Prints a tile of the gradient of a convolution's filters: a filter column for itself, or a whole
   filter row as one run; see filter.c. */
#include "codegen/cpu/filter.h"
#include "codegen/program/extent.h"

const char *filter_rows(const Filter *f) { return dims_text(f->g, f->gr->e, f->s.c.y, 2, 3); }
const char *filter_columns(const Filter *f) { return dims_text(f->g, f->gr->e, f->s.c.y, 3, 4); }

const char *filter_row_text(const Filter *f, const char *tile) {
  Arena *a = f->g->a;
  if (filter_varies(&f->s)) return arena_printf(a, "(long)(%s * step >> 32)", tile);
  return arena_printf(a, "%s * %lld + (%s > %lld ? %s - %lld : 0)", tile, (long long)f->s.rows,
                      tile, (long long)f->s.low, tile, (long long)f->s.low);
}

const char *filter_tiles_text(const Filter *f) {
  return filter_varies(&f->s) ? "count" : arena_printf(f->g->a, "%lld", (long long)f->s.tiles);
}

/* Declares m, the first row of tile k, and where its result lies. */
static void print_place(const Filter *f, Text *x) {
  long long v = f->s.runs, r = f->s.c.h.taps;
  text_line(x, "const long m = %s;", filter_row_text(f, "k"));
  const char *row = arena_printf(f->g->a, "(r * %lld + v) * %lld + m", v, (long long)f->s.row);
  if (f->layout->nr)
    text_line(x, "f32 *c = sum + (q * %lld + %s) * %d;", r * v * (long long)f->s.row, row, f->s.nr);
  else
    text_line(x, "f32 *c = sum + (%s) * %lld + k0;", row, (long long)f->s.ld);
}

void filter_unit(const Filter *f, Text *x) {
  long long v = f->s.runs, r = f->s.c.h.taps, q = f->s.np;
  const char *t = filter_tiles_text(f);
  if (f->s.block) {
    text_line(x, "const long block = u / %lld * %lld;", (long long)f->s.block * q,
              (long long)f->s.block);
    text_line(x, "const long few = %s - block < %lld ? %s - block : %lld;", t,
              (long long)f->s.block, t, (long long)f->s.block);
    text_line(x, "const long in = u - block * %lld, k = block + in %% few, q = in / few;", q);
    text_line(x, "const long v = 0, r = 0, g = 0, k0 = q * %d;", f->s.nr);
    text_line(x, "(void)g;");
    print_place(f, x);
    return;
  }
  if (f->s.amx) { /* copies of x, and then those of dy, serve several units in a row */
    text_line(x, "const long tap = u %% %lld, panel = u / %lld, q = panel %% %lld;", r * v, r * v,
              q);
    text_line(x, "const long v = tap %% %lld, r = tap / %lld, k = panel / %lld %% %s;", v, v, q, t);
    text_line(x, "const long g = panel / %lld / %s, k0 = g * %lld + q * %d;", q, t,
              (long long)f->s.c.gout, f->s.nr);
    print_place(f, x);
    return;
  }
  text_line(x, "const long k = u %% %s, run = u / %s, v = run %% %lld, r = run / %lld %% %lld;", t,
            t, v, v, r);
  text_line(x, "const long q = run / %lld %% %lld, g = run / %lld, k0 = g * %lld + q * %d;", v * r,
            q, v * r * q, (long long)f->s.c.gout, f->s.nr);
  print_place(f, x);
}

/* A run of the program has `less` columns than the bound. */
static bool is_bounded(const Filter *f) { return type_extent(f->s.c.y, 3) != NULL; }

/* The next tile's channels of a pixel are prefetched, a line of them ahead: pixels with many
   channels lie too far apart for the processor to foresee them. */
static Tile tile_new(const Filter *f, int rows, int64_t width) {
  int64_t distance = f->s.tiles > 1 && !f->s.block && f->s.c.cin > rows + LINE ? rows + LINE : 0;
  return (Tile){.rows = rows,
                .width = width,
                .li = 1,
                .lk = f->s.block ? f->s.la : f->s.c.w.stride * f->s.c.cin,
                .lb = f->s.lb,
                .distance = distance,
                .adds = true};
}

/* Elements from row to row and from image to image, of so many elements a pixel; of copies, which
   have the pixels of the run alone. */
typedef struct Pitch {
  const char *row, *image;
} Pitch;

static Pitch pitch_of(const Filter *f, int64_t rows, int64_t row) {
  Arena *a = f->g->a;
  return (Pitch){arena_printf(a, "%lldL", (long long)row),
                 arena_printf(a, "%lldL", (long long)(rows * row))};
}

static Pitch pitch_of_copy(const Filter *f, int64_t pixel) {
  const WindowAxis *h = &f->s.c.h, *w = &f->s.c.w;
  const char *rows = filter_rows(f), *columns = filter_columns(f);
  Arena *a = f->g->a;
  Pitch p = pitch_of(f, h->out, w->out * pixel);
  if (!text_is_number(columns))
    p.row = text_product(a, columns, arena_printf(a, "%lldL", (long long)pixel));
  if (!text_is_number(columns) || !text_is_number(rows)) p.image = text_product(a, rows, p.row);
  return p;
}

static void print_tile(const Filter *f, Text *x, const Tile *t) {
  const ConvGeom *c = &f->s.c;
  const int64_t row_of_x = c->w.in * c->cin;
  const Pitch of_y =
      f->s.pack ? pitch_of_copy(f, f->s.lb) : pitch_of(f, c->h.out, c->w.out * f->s.lb);
  Pitch of_x = {arena_printf(f->g->a, "%lldL", (long long)(c->h.stride * row_of_x)),
                arena_printf(f->g->a, "%lldL", (long long)(c->h.in * row_of_x))};
  if (f->s.block) of_x = pitch_of_copy(f, f->s.la);
  text_line(x, "%s(a, %s, %s, b, %s, %s, c, %lldL, rows, images%s, %s);", tile_function(f->g, t),
            of_x.row, of_x.image, of_y.row, of_y.image, (long long)f->s.ld, tile_arguments(f->g, t),
            arena_printf(f->g->a, "%s%s", f->s.chunks ? "apart || " : "",
                         op_accumulator(f->op) < 0 ? "h == 0" : "0"));
}

/* ---- a filter column for itself ---- */

/* `depth` pixels reach the column. */
static void print_call(const Filter *f, Text *x, int rows, int64_t width, int64_t depth) {
  TapRun run = {.depth = depth, .hi = rows};
  Tile t = tile_new(f, rows, width);
  t.run = &run;
  t.nruns = depth > 0;
  t.middle = depth > 0 && is_bounded(f);
  print_tile(f, x, &t);
}

static void print_rows(const Filter *f, Text *x, int64_t width, int64_t depth) {
  if (filter_varies(&f->s)) {
    text_open(x, "switch (%s - m) {", filter_row_text(f, "(k + 1)"));
    for (int64_t e = f->s.least; e <= f->s.rows + (f->s.low < f->s.tiles); e++) {
      text_open(x, "case %lld: {", (long long)e);
      print_call(f, x, (int)e, width, depth);
      text_line(x, "break;");
      text_close(x, "}");
    }
    text_close(x, "}");
    return;
  }
  if (f->s.low == f->s.tiles) {
    print_call(f, x, (int)f->s.rows, width, depth);
    return;
  }
  text_open(x, "if (k < %lld) {", (long long)f->s.low);
  print_call(f, x, (int)f->s.rows, width, depth);
  x->indent--;
  text_open(x, "} else {");
  print_call(f, x, (int)f->s.rows + 1, width, depth);
  text_close(x, "}");
}

/* Filter columns that reach as many pixels share their calls. */
static void print_columns(const Filter *f, Text *x, int64_t width) {
  const WindowAxis *w = &f->s.c.w;
  bool *done = ARENA_ARRAY(f->g->a, bool, f->s.runs);
  const char *word = "if";
  for (int64_t s = 0; s < f->s.runs; s++) {
    int64_t a, z;
    if (done[s]) continue;
    window_outputs(w, s, &a, &z);
    const char *which = "";
    bool rest = true; /* no other is left */
    for (int64_t k = s; k < f->s.runs; k++) {
      int64_t ka, kz;
      window_outputs(w, k, &ka, &kz);
      if (!done[k] && kz - ka == z - a) {
        which = arena_printf(f->g->a, "%s%sv == %lld", which, *which ? " || " : "", (long long)k);
        done[k] = true;
      }
      rest = rest && done[k];
    }
    if (rest && word[0] == 'i') {
      print_rows(f, x, width, z - a);
      return;
    }
    if (rest)
      text_open(x, "} else {");
    else
      text_open(x, "%s (%s) {", word, which);
    print_rows(f, x, width, z - a);
    x->indent--;
    word = "} else if";
  }
  x->indent++;
  text_close(x, "}");
}

/* ---- a whole filter row ---- */

/* Tile k: a run for each part of its rows that pixels reach, in the order of pixels. The first
   pixel that all taps reach is of the middle. */
static Tile row_tile(const Filter *f, const WindowAxis *w, bool shrinks, int64_t k, int64_t width) {
  int64_t m = k * f->s.rows + (k > f->s.low ? k - f->s.low : 0);
  Tile t = tile_new(f, (int)(f->s.rows + (k >= f->s.low)), width);
  t.run = ARENA_ARRAY(f->g->a, TapRun, w->out + 1);
  for (int64_t j = 0; j < w->out; j++) {
    int64_t from, to;
    window_taps(w, j, &from, &to);
    int64_t lo = from * f->s.c.gin - m, hi = to * f->s.c.gin - m;
    if (lo < 0) lo = 0;
    if (hi > t.rows) hi = t.rows;
    if (lo < hi) tile_add_run(&t, j * t.lk - w->lo * f->s.c.cin, j * f->s.lb, 1, lo, hi);
    if (shrinks && !t.middle && from == 0 && to == w->taps) t.middle = t.nruns;
  }
  return t;
}

static void print_tiles_of(const Filter *f, Text *x, const WindowAxis *w, bool shrinks,
                           int64_t width) {
  for (int64_t k = 0, end; k < f->s.tiles; k = end) {
    Tile t = row_tile(f, w, shrinks, k, width);
    for (end = k + 1; end < f->s.tiles; end++) {
      Tile next = row_tile(f, w, shrinks, end, width);
      if (!tile_same(&t, &next)) break;
    }
    bool first = k == 0, rest = end == f->s.tiles;
    if (!first) x->indent--;
    if (!rest)
      text_open(x, "%sif (k < %lld) {", first ? "" : "} else ", (long long)end);
    else
      text_open(x, first ? "{" : "} else {");
    print_tile(f, x, &t);
  }
  text_close(x, "}");
}

/* Of bounded columns so few that a pixel is near both sides there are texts of their own. */
static void print_row_tiles(const Filter *f, Text *x, int64_t width) {
  const WindowAxis *w = &f->s.c.w;
  if (filter_varies(&f->s)) { /* every pixel reaches all rows */
    print_rows(f, x, width, w->out);
    return;
  }
  const int64_t whole = is_bounded(f) ? window_least_whole(w, false) : 1;
  if (whole == 1) {
    print_tiles_of(f, x, w, is_bounded(f), width);
    return;
  }
  text_open(x, "switch (%s) {", filter_columns(f));
  for (int64_t windows = 1; windows < whole; windows++) {
    const WindowAxis narrow = window_narrow(w, windows);
    if (narrow.in < 1) continue;
    text_open(x, "case %lld: {", (long long)windows);
    print_tiles_of(f, x, &narrow, false, width);
    text_line(x, "break;");
    text_close(x, "}");
  }
  text_open(x, "default: {");
  print_tiles_of(f, x, w, true, width);
  text_close(x, "}");
  text_close(x, "}");
}

/* ---- both ---- */

static void print_panel(const Filter *f, Text *x, int64_t width) {
  if (f->s.merged)
    print_row_tiles(f, x, width);
  else
    print_columns(f, x, width);
}

void filter_panels(const Filter *f, Text *x) {
  int64_t tail = f->s.c.gout - (f->s.np - 1) * f->s.nr;
  if (f->s.np == 1 || tail == f->s.nr) {
    print_panel(f, x, tail);
    return;
  }
  text_open(x, "if (q < %lld) {", (long long)f->s.np - 1);
  print_panel(f, x, f->s.nr);
  x->indent--;
  text_open(x, "} else {");
  print_panel(f, x, tail);
  text_close(x, "}");
}
