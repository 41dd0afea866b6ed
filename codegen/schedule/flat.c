/* Pixels numbered with gaps; see flat.h. */
#include "codegen/schedule/flat.h"

static int64_t floor_div(int64_t n, int64_t of) { return n >= 0 ? n / of : -((-n + of - 1) / of); }

/* Taps before the first pixel of a row read the end of the row before, and those behind its last
   result the start of the next one: there are places for both. */
static int64_t pitch_of(const FlatAxis *f, int64_t results, int64_t sources) {
  int64_t before = f->first < 0 ? -f->first : 0, behind = f->last > 0 ? f->last : 0;
  int64_t reads = results + behind;
  return sources + before > reads ? sources + before : reads;
}

FlatAxis flat_axis(const WindowAxis *a) {
  FlatAxis f = {.first = floor_div(-a->lo, a->stride),
                .last = floor_div((a->taps - 1) * a->dilation - a->lo, a->stride),
                .step = a->stride,
                .planes = a->taps == 1 || a->dilation % a->stride == 0 ? 1 : a->stride,
                .phases = 1};
  f.phase = -a->lo - f.first * a->stride;
  f.pitch = pitch_of(&f, a->out, ceil_div(a->in, a->stride));
  return f;
}

FlatAxis flat_axis_back(const WindowAxis *a) {
  /* a tap serves the one phase whose pixels it reaches: -floor(-n / s) is n / s, rounded up */
  FlatAxis f = {.first = -floor_div((a->taps - 1) * a->dilation - a->lo, a->stride),
                .last = -floor_div(-a->lo, a->stride),
                .step = 1,
                .planes = 1,
                .phases = a->stride};
  f.pitch = pitch_of(&f, ceil_div(a->in, a->stride), a->out);
  return f;
}
