/* Prints the tiles of a row of a convolution's result; see conv.c.
   Contract: of bounded columns a run lacks `less` positions of each phase, all between those near
   the sides, whose tiles are those of the bound. Rows so narrow that a position is near both sides
   have texts of their own. A position is one chain of fma whatever tile it is in, so the bits are
   those of the program compiled for the columns. */
#include "codegen/cpu/conv.h"

#include <stdlib.h>

#include "codegen/cpu/epilogue.h"
#include "codegen/cpu/pixel.h"
#include "codegen/program/extent.h"

typedef struct Pixels {
  const Conv *v;
  const Phase *f;
} Pixels;

static void print_pixel(const void *of, Text *x) {
  const Pixels *p = of;
  const Conv *v = p->v;
  if (p->f)
    text_line(x, "const long ox = %lld + (i0 + i) * %lld;", (long long)p->f->first,
              (long long)p->f->step);
  else
    text_line(x, "const long ox = i;");
  text_line(x, "const long flat = ((n * %lld + oy) * %lld + ox) * %lld + k0;", (long long)v->s.rows,
            (long long)v->s.columns, (long long)v->s.to_channels);
  text_line(x, "const f32 *acc = from + i * %lld;", (long long)(v->s.together * v->s.nr));
  text_line(x, "(void)flat;");
}

/* Element-wise work on `count` pixels, which are in the tile's buffer: those of the phase from i0
   on, or with `f` NULL the whole row. */
static void print_epilogue(const Conv *v, Text *x, const Phase *f, const char *count,
                           int64_t width) {
  const Pixels pixels = {v, f};
  const bool together = v->s.together > 1;
  EpilogueRows rows = {.row = "i",
                       .rows = count,
                       .width = together ? v->s.together * v->s.nr : width,
                       .columns = together ? "wide" : NULL,
                       .joined = (!f || f->step == 1) && width == v->s.to_channels,
                       .place = print_pixel,
                       .of = &pixels};
  EpilogueSite s = {.shape = v->gr->domain,
                    .coord = (const char *[]){"n", "(k0 + j)", "oy", "ox"},
                    .flat = "(flat + j)",
                    .layout = pixel_layout(v->g->ctx),
                    .have = v->op->results[0],
                    .have_text = "acc[j]"};
  epilogue_rows(v->g, x, v->gr, &rows, &s);
}

/* Where position i of a phase lies in a row of the result, `pixel` elements from one to the next.
 */
static const char *place_of(const Conv *v, const Phase *f, const char *i, int64_t pixel) {
  Arena *a = v->g->a;
  const char *first = arena_printf(a, "%lld", (long long)f->first);
  return text_times(a, text_sum(a, first, text_times(a, i, f->step)), pixel);
}

/* The epilogue is done tile by tile. */
static bool at_once(const Conv *v) { return v->s.epilogue && !v->s.whole; }

/* A tile from position `i0` of the phase on; panel: the text of its panel, of those from q on. */
static void print_tile(const Conv *v, Text *x, const Phase *f, const char *i0, const Tile *t,
                       const char *panel, const char *const step[2]) {
  Arena *a = v->g->a;
  int64_t ld = v->s.epilogue ? v->s.together * v->s.nr : v->s.to_channels;
  const char *from = text_times(a, i0, t->li), *to = place_of(v, f, i0, ld);
  if (text_is_number(i0)) {
    const int64_t i = strtoll(i0, NULL, 10);
    from = arena_printf(a, "%lld", (long long)(i * t->li));
    to = arena_printf(a, "%lld", (long long)((f->first + i * f->step) * ld));
  }
  const char *source = text_plus(a, "a", from), *filter = "b";
  const char *result = at_once(v) ? "tile" : text_plus(a, "out", to);
  if (panel) {
    if (v->s.own) source = text_plus(a, source, text_times(a, panel, v->s.nr));
    filter = text_plus(a, filter, text_times(a, panel, v->s.panel));
    result = text_plus(a, result, text_times(a, panel, v->s.nr));
  }
  text_line(x, "%s(%s, %s, 0, %s, %s, 0, %s, %lldL, taps, 1%s);", tile_function(v->g, t), source,
            step[0], filter, step[1], result, (long long)(at_once(v) ? ld : f->step * ld),
            tile_arguments(v->g, t));
}

/* A tile of `rows` positions from i0 on, which lie as those from `first` on, for each panel. */
static void print_tiles(const Conv *v, Text *x, const Phase *f, int64_t first, const char *i0,
                        int rows, int64_t width, const char *const step[2]) {
  const Tile t = conv_tile_along(v->g->a, &v->s, f, first, rows, width);
  if (v->s.together == 1) {
    print_tile(v, x, f, i0, &t, NULL, step);
    return;
  }
  const int64_t tail = v->s.width - (v->s.np - 1) * v->s.nr;
  text_open(x, "for (long s = 0; s < full; s++) {");
  print_tile(v, x, f, i0, &t, "s", step);
  text_close(x, "}");
  if (tail == v->s.nr) return;
  const Tile narrow = conv_tile_along(v->g->a, &v->s, f, first, rows, tail);
  text_open(x, "if (full < many) {");
  print_tile(v, x, f, i0, &narrow, "full", step);
  text_close(x, "}");
}

/* The tiles of positions [i0, last) of a row of the result for one panel; those that are alike in
   one loop. less: in a run they lie so many positions before. */
static void print_positions(const Conv *v, Text *x, const Phase *f, int64_t i0, int64_t last,
                            const char *less, int64_t width, const char *const step[2]) {
  int most = conv_tile_rows(v->machine, &v->s, width);
  int64_t n = last - i0, tiles = (n + most - 1) / most;
  for (int64_t k = 0; k < tiles;) {
    int rows = conv_tile_size(k, tiles, n);
    Tile t = conv_tile_along(v->g->a, &v->s, f, i0, rows, width);
    int64_t end = i0 + rows;
    for (k++; k < tiles; k++, end += rows) {
      if (conv_tile_size(k, tiles, n) != rows) break;
      Tile next = conv_tile_along(v->g->a, &v->s, f, end, rows, width);
      if (!tile_same(&t, &next)) break;
    }
    Arena *a = v->g->a;
    const bool loop = at_once(v) || end - i0 > rows || less;
    const char *of_run = less ? arena_printf(a, " - %s", less) : "";
    if (loop)
      text_open(x, "for (long i0 = %lld%s; i0 < %lld%s; i0 += %d) {", (long long)i0, of_run,
                (long long)end, of_run, rows);
    print_tiles(v, x, f, i0, loop ? "i0" : arena_printf(a, "%lld", (long long)i0), rows, width,
                step);
    if (at_once(v)) print_epilogue(v, x, f, arena_printf(a, "%d", rows), width);
    if (loop) text_close(x, "}");
    i0 = end;
  }
}

/* The positions that every tap reaches, from `first` on: as many as a run has, in tiles of each
   size. */
static void print_inside(const Conv *v, Text *x, const Phase *f, int64_t first, int64_t last,
                         int64_t width, const char *const step[2]) {
  const int most = conv_tile_rows(v->machine, &v->s, width);
  text_line(x, "const long inside = %lld - less, tiles = (inside + %d) / %d;",
            (long long)(last - first), most - 1, most);
  text_open(x, "for (long k = 0, i0 = %lld, rows; k < tiles; k++, i0 += rows) {", (long long)first);
  text_line(x, "rows = inside / tiles + (k >= tiles - inside %% tiles);");
  text_open(x, "switch (rows) {");
  for (int rows = 1; rows <= most && rows <= last - first; rows++) {
    text_open(x, "case %d: {", rows);
    print_tiles(v, x, f, first, "i0", rows, width, step);
    text_line(x, "break;");
    text_close(x, "}");
  }
  text_close(x, "}");
  if (at_once(v)) print_epilogue(v, x, f, "rows", width);
  text_close(x, "}");
}

/* A run's positions: `left` and `right` at the sides, and those between them. */
static void print_between(const Conv *v, Text *x, const Phase *f, int64_t left, int64_t right,
                          int64_t width, const char *const step[2]) {
  print_positions(v, x, f, 0, left, NULL, width, step);
  print_inside(v, x, f, left, f->n - right, width, step);
  print_positions(v, x, f, f->n - right, f->n, "less", width, step);
}

/* Of bounded columns the tiles at the sides are full: beside the positions that some taps do not
   reach they have others, in a run that has as many. */
static void print_phase(const Conv *v, Text *x, const Phase *f, int64_t width,
                        const char *const step[2]) {
  if (!v->windows) {
    print_positions(v, x, f, 0, f->n, NULL, width, step);
    return;
  }
  int64_t left, right, most = conv_tile_rows(v->machine, &v->s, width);
  window_sides(f, v->s.places, &left, &right);
  const int64_t full_left = (left + most - 1) / most * most;
  const int64_t full_right = (right + most - 1) / most * most;
  const bool fill = full_left + full_right > left + right && full_left + full_right <= f->n;
  text_open(x, "{");
  if (fill) {
    text_open(x, "if (less <= %lld) {", (long long)(f->n - full_left - full_right));
    print_between(v, x, f, full_left, full_right, width, step);
    x->indent--;
    text_open(x, "} else {");
  }
  print_between(v, x, f, left, right, width, step);
  if (fill) text_close(x, "}");
  text_close(x, "}");
}

/* The rows oy of `images` images from n0 on: each pixel's tile. */
static void print_across(const Conv *v, Text *x, int images, int64_t width,
                         const char *const step[2]) {
  Arena *a = v->g->a;
  int64_t pixel = v->s.epilogue ? v->s.nr : v->s.to_channels;
  int64_t image =
      v->s.epilogue ? v->s.columns * v->s.nr : v->s.rows * v->s.columns * v->s.to_channels;
  for (int p = 0; p < v->s.nspans; p++) {
    const Phase *f = &v->s.span[p];
    Tile t = conv_tile_across(a, &v->s, f, images, width);
    const bool loop = f->n > 1 || v->windows;
    const char *i = loop ? "i" : "0";
    if (!v->windows || f->side < 0) {
      if (loop) text_open(x, "for (long i = 0; i < %lld; i++) {", (long long)f->n);
    } else if (f->side > 0) {
      text_open(x, "for (long i = -less; i < %lld - less; i++) {", (long long)f->n);
    } else {
      text_open(x, "for (long i = 0; i < %lld - less; i++) {", (long long)f->n);
    }
    text_line(x, "%s(%s, %s, 0, b, %s, 0, %s, %lldL, taps, 1%s);", tile_function(v->g, &t),
              text_plus(a, "a", text_times(a, i, f->over * v->s.from_channels)), step[0], step[1],
              text_plus(a, "out", place_of(v, f, i, pixel)), (long long)image,
              tile_arguments(v->g, &t));
    if (loop) text_close(x, "}");
  }
  if (!v->s.epilogue) return;
  text_open(x, "for (long m = 0; m < %d; m++) {", images);
  text_line(x, "const long n = n0 + m;");
  text_line(x, "const f32 *from = tile + m * %lld;", (long long)image);
  print_epilogue(v, x, NULL, v->columns, width);
  text_close(x, "}");
}

/* Row oy of one image, or of so many from n0 on. */
static void print_pixels(const Conv *v, Text *x, int images, int64_t width,
                         const char *const step[2]) {
  if (images) {
    print_across(v, x, images, width, step);
    return;
  }
  if (v->s.epilogue) text_line(x, "const f32 *from = tile;");
  for (int p = 0; p < v->s.nphases; p++) print_phase(v, x, &v->s.phase[p], width, step);
  if (v->s.whole) print_epilogue(v, x, NULL, v->columns, width);
}

/* The same with so many windows along bounded columns: positions are near both sides. */
static void print_narrow(const Conv *v, Text *x, int64_t windows, int images, int64_t width,
                         const char *const step[2]) {
  Conv n = *v;
  const WindowAxis w = window_narrow(&v->s.c.w, windows);
  if (w.in < 1) return;
  n.windows = NULL;
  n.s.places = v->s.back ? w.out : w.in;
  n.s.phase = window_phases(v->g->a, &w, v->s.back, &n.s.nphases);
  n.s.span = window_spans(v->g->a, &w, v->s.back, &n.s.nspans);
  text_open(x, "case %lld: {", (long long)windows);
  print_pixels(&n, x, images, width, step);
  text_line(x, "break;");
  text_close(x, "}");
}

void conv_row(const Conv *v, Text *x, int images, int64_t width, const char *const step[2]) {
  const int64_t whole = v->windows ? window_least_whole(&v->s.c.w, v->s.back) : 1;
  if (whole == 1) {
    print_pixels(v, x, images, width, step);
    return;
  }
  text_open(x, "switch (%s) {", v->windows);
  for (int64_t windows = 1; windows < whole; windows++)
    print_narrow(v, x, windows, images, width, step);
  text_open(x, "default: {");
  print_pixels(v, x, images, width, step);
  text_close(x, "}");
  text_close(x, "}");
}
