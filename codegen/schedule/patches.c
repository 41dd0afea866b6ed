/* Convolutions of patches; see patches.h. */
#include "codegen/schedule/patches.h"

static bool is_apart(const WindowAxis *a) {
  return a->taps == a->stride && (a->dilation == 1 || a->taps == 1) && a->lo == 0 && a->out > 0 &&
         a->out <= a->in / a->taps;
}

static WindowAxis one_tap(const WindowAxis *a) {
  return (WindowAxis){
      .in = a->out * a->stride, .out = a->out, .taps = 1, .stride = a->stride, .dilation = 1};
}

int conv_patches(const ConvGeom *c, int size, ConvGeom *p) {
  if (c->h.taps <= 0 || c->w.taps <= 1 || !is_apart(&c->h) || !is_apart(&c->w)) return 0;
  const int64_t taps = c->h.taps * c->w.taps;
  if (c->cin > INT32_MAX / taps) return 0;
  int bytes = PATCH_WIDEST;
  while (c->w.taps * size % bytes || c->w.in * size % bytes) bytes /= 2;
  if (bytes < PATCH_NARROWEST || bytes <= size) return 0;
  *p = *c;
  p->cin *= taps, p->gin *= taps;
  p->h = one_tap(&c->h), p->w = one_tap(&c->w);
  return bytes / size;
}
