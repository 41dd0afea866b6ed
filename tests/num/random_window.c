/* Windows on one axis: drawn, looked at, and made attributes of; see random_window.h. */
#include "tests/num/random_window.h"

#include "tests/num/random_program.h"

WindowAxis random_window(uint64_t *seed, int64_t in, int64_t taps) {
  WindowAxis a = {.in = in,
                  .taps = taps,
                  .stride = 1 + random_below(seed, 3),
                  .dilation = 1 + random_below(seed, 2)};
  a.lo = random_below(seed, 3);
  a.hi = random_below(seed, 3);
  while (a.in + a.lo + a.hi <= (a.taps - 1) * a.dilation) a.taps--;
  a.out = (a.in + a.lo + a.hi - (a.taps - 1) * a.dilation - 1) / a.stride + 1;
  return a;
}

bool window_is_full(const WindowAxis *a) {
  for (int64_t o = 0; o < a->out; o++) {
    int64_t from, to;
    window_taps(a, o, &from, &to);
    if (from >= to) return false;
  }
  return true;
}

void window_attrs(Ctx *c, Attr *attr, const WindowAxis *h, const WindowAxis *w) {
  attr[AT_STRIDE].ints = intern_ints(c, (int64_t[]){h->stride, w->stride}, 2);
  attr[AT_PAD].ints = intern_ints(c, (int64_t[]){h->lo, h->hi, w->lo, w->hi}, 4);
  attr[AT_DILATION].ints = intern_ints(c, (int64_t[]){h->dilation, w->dilation}, 2);
}
