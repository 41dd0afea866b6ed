/* Schedules of the gradient of a convolution by its filters, for bf16 images in tile registers: for
   each tap, channels of x by channels of dy, summed over pixels; see amx_conv.h. Algorithm: x lies
   transposed, in planes as the convolution itself reads them, and dy in pairs of pixels, with zeros
   where a place belongs to no pixel. So a tap reads 32 pixels of each of 16 channels side by side,
   across rows and images. */
#include "codegen/schedule/amx_conv.h"

/* Half cycles for a pixel; of instructions as Intel documents them, not measured. */
enum {
  TURN = 10, /* to transpose 16 channels of x */
  PAIR = 6,  /* to pair 16 of dy with another pixel's */
  GAIN = 2   /* times as fast as FMA, at least */
};

bool amx_filter_pays(const VectorMachine *m, const ConvGeom *c) {
  const int64_t taps = c->h.taps * c->w.taps, over = c->h.stride * c->w.stride;
  const int64_t rows = ceil_div(c->gin, LINE), vectors = ceil_div(c->gout, LINE);
  const int64_t read = over < taps ? over : taps; /* pixels of x for each of y */
  const int64_t all = taps * rows * vectors + read * rows * TURN + vectors * PAIR;
  return m->amx && all * GAIN <= taps * c->gin * vectors;
}

/* Places of a chunk of images with so many rows and columns of windows. */
static int64_t places_of(const ConvGeom *c, const AmxAxis *h, const AmxAxis *w, int64_t rows,
                         int64_t columns) {
  ConvGeom g = *c;
  g.h = window_narrow(&c->h, rows);
  g.w = window_narrow(&c->w, columns);
  const PixelChunks chunks = window_pixel_chunks(&g);
  AmxAxis down = *h, across = *w;
  down.positions = rows, down.places = ceil_div(g.h.in, h->over);
  across.positions = columns, across.places = ceil_div(g.w.in, w->over);
  const int64_t lines = (chunks.images - 1) * amx_axis_pitch(&down) + chunks.rows;
  return w->before + (h->before + lines + h->behind) * amx_axis_pitch(&across) + w->behind;
}

/* The last number of rows, up to `most`, whose chunks have as many images as those of `rows`: of
   all between, it has most places. Chunks of one image have as many rows, however many there are.
 */
static int64_t last_alike(int64_t rows, int64_t columns, int64_t most) {
  const int64_t pixels = rows * columns, images = pixels ? SUM_PIXELS / pixels : 1;
  const int64_t last = images > 1 ? SUM_PIXELS / (images * columns) : most;
  return last < most ? last : most;
}

int64_t amx_filter_places(const ConvGeom *c) {
  Arena *a = arena_new();
  const AmxAxis h = amx_axis(a, &c->h, false), w = amx_axis(a, &c->w, false);
  const int64_t first_row = type_extent(c->y, 2) ? 1 : c->h.out;
  const int64_t first_column = type_extent(c->y, 3) ? 1 : c->w.out;
  int64_t most = 0;
  for (int64_t columns = first_column; columns <= c->w.out; columns++) {
    if (columns > SUM_PIXELS / 2)
      columns = c->w.out; /* chunks of one row: the longest is largest */
    for (int64_t rows = first_row; rows <= c->h.out; rows++) {
      rows = last_alike(rows, columns, c->h.out);
      const int64_t places = places_of(c, &h, &w, rows, columns);
      if (places > most) most = places;
    }
  }
  arena_free(a);
  /* an odd number of cache lines from channel to channel: these begin in all sets */
  return ceil_div(most + AMX_DEPTH, 2 * AMX_DEPTH) * 2 * AMX_DEPTH + AMX_DEPTH;
}
