/* Which taps of a window reach which rows or columns of its result; see window.h. */
#include "codegen/schedule/window.h"

int64_t window_chunk_pixels(const ConvGeom *g) {
  return g->w.out > SUM_PIXELS ? g->w.out : SUM_PIXELS;
}

PixelChunks window_pixel_chunks(const ConvGeom *g) {
  int64_t pixels = g->h.out * g->w.out, images = pixels ? SUM_PIXELS / pixels : 1;
  if (images > 1)
    return (PixelChunks){.images = images,
                         .rows = g->h.out,
                         .n = ceil_div(g->n, images),
                         .frame = g->n * pixels,
                         .chunk = images * pixels};
  int64_t rows = g->w.out && SUM_PIXELS / g->w.out > 1 ? SUM_PIXELS / g->w.out : 1;
  return (PixelChunks){.images = 1,
                       .rows = rows,
                       .n = g->n * ceil_div(g->h.out, rows),
                       .frame = pixels,
                       .chunk = rows * g->w.out};
}

Phase *window_phases(Arena *a, const WindowAxis *w, bool back, int *n) {
  int64_t positions = back ? w->in : w->out;
  *n = (int)(!back ? 1 : w->stride < positions ? w->stride : positions);
  Phase *phase = ARENA_ARRAY(a, Phase, *n + 1);
  for (int p = 0; p < *n; p++) {
    Phase *f = &phase[p];
    *f = (Phase){.first = p, .step = back ? w->stride : 1, .over = back ? 1 : w->stride};
    f->n = (positions - p + f->step - 1) / f->step;
    f->tap = ARENA_ARRAY(a, Tap, w->taps + 1);
    for (int64_t s = 0; s < w->taps; s++) {
      int64_t at = back ? p + w->lo - s * w->dilation : s * w->dilation - w->lo;
      if (back && at % w->stride) continue;
      f->tap[f->ntaps++] = (Tap){s, back ? at / w->stride : at};
    }
  }
  return phase;
}

static bool on_source(const Phase *f, const Tap *r, int64_t i, int64_t places) {
  int64_t at = r->at + i * f->over;
  return at >= 0 && at < places;
}

/* The first position behind i at which a tap comes onto the source or leaves it; the end if none
 * does. */
static int64_t next_change(const Phase *f, int64_t i, int64_t places) {
  int64_t end = f->n;
  for (int t = 0; t < f->ntaps; t++)
    for (int side = 0; side < 2; side++) {
      int64_t left = (side ? places : 0) - f->tap[t].at; /* to this side, from position 0 */
      int64_t k = left > 0 ? (left - 1) / f->over + 1 : 0;
      if (k > i && k < end) end = k;
    }
  return end;
}

Phase *window_spans(Arena *a, const WindowAxis *w, bool back, int *n) {
  int phases;
  int64_t places = back ? w->out : w->in;
  const Phase *phase = window_phases(a, w, back, &phases);
  VEC(Phase) spans = {0};
  for (const Phase *f = phase; f < phase + phases; f++)
    for (int64_t i = 0, end; i < f->n; i = end) {
      end = next_change(f, i, places);
      Phase s = {.first = f->first + i * f->step, .step = f->step, .n = end - i, .over = f->over};
      s.tap = ARENA_ARRAY(a, Tap, f->ntaps + 1);
      for (int t = 0; t < f->ntaps; t++)
        if (on_source(f, &f->tap[t], i, places))
          s.tap[s.ntaps++] = (Tap){f->tap[t].index, f->tap[t].at + i * f->over};
        else
          s.side = f->tap[t].at + i * f->over < 0 ? -1 : 1;
      vec_push(a, &spans, s);
    }
  *n = (int)spans.n;
  return spans.at;
}

/* ---- bounded columns ---- */

void window_sides(const Phase *f, int64_t places, int64_t *left, int64_t *right) {
  *left = 0;
  *right = 0;
  for (int t = 0; t < f->ntaps; t++) {
    const int64_t at = f->tap[t].at, inside = places - at; /* from position 0 to the end */
    const int64_t before = at < 0 ? ceil_div(-at, f->over) : 0;
    const int64_t behind = f->n - (inside > 0 ? ceil_div(inside, f->over) : 0);
    if (before > *left) *left = before;
    if (behind > *right) *right = behind;
  }
}

int64_t window_least_whole(const WindowAxis *w, bool back) {
  Arena *a = arena_new();
  int n;
  int64_t least = 1;
  const Phase *f = window_phases(a, w, back, &n);
  for (int p = 0; p < n && least; p++) {
    int64_t left, right;
    window_sides(&f[p], back ? w->out : w->in, &left, &right);
    const int64_t of_phase = w->out - f[p].n + left + right;
    if (of_phase > least) least = of_phase;
    if (left + right >= f[p].n) least = 0;
  }
  arena_free(a);
  return least;
}

WindowAxis window_narrow(const WindowAxis *w, int64_t windows) {
  WindowAxis narrow = *w;
  narrow.out = windows;
  narrow.in = w->in - (w->out - windows) * w->stride;
  return narrow;
}
