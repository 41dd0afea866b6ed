/* The geometry of convolutions and pools: windows that slide over images.
   Images are [N, C, H, W], filters [O, C / groups, KH, KW], in logical order whatever the layout.
   Tap k of output o reads the image at o stride - lo + k dilation, where that is inside. */
#ifndef GC_IR_OP_WINDOW_H
#define GC_IR_OP_WINDOW_H
#include "ir/ir.h"

typedef struct WindowAxis { /* H or W */
  int64_t in, out;          /* extents of the image and of the result */
  int64_t taps;             /* of the filter */
  int64_t stride, dilation;
  int64_t lo, hi; /* padding before and after */
} WindowAxis;

typedef struct ConvGeom {
  int64_t n;             /* images */
  int64_t groups;        /* channels c of a group feed the outputs of the same group alone */
  int64_t cin, cout;     /* channels of x and y, all groups */
  int64_t gin, gout;     /* of one group */
  WindowAxis h, w;       /* in: of x; out: of y */
  const Type *x, *f, *y; /* image, filter, result of the convolution that the op belongs to */
} ConvGeom;

typedef struct PoolGeom {
  int64_t n, c;
  WindowAxis h, w;
  int64_t count[4];  /* avg_pool: padding that the mean counts: top, bottom, left, right */
  const Type *x, *y; /* image and pooled image */
} PoolGeom;

/* Every channel meets every pixel: one group, neither stride nor dilation. */
static inline bool conv_is_dense(const ConvGeom *c) {
  return c->groups == 1 && c->h.stride == 1 && c->w.stride == 1 && c->h.dilation == 1 &&
         c->w.dilation == 1;
}
/* Of conv, conv_input_grad and conv_filter_grad. */
ConvGeom conv_geom(const Entry *e, const Op *op);
/* Of max_pool, avg_pool and their gradients. */
PoolGeom pool_geom(const Entry *e, const Op *op);

/* The taps [*from, *to) of output o that lie inside the image. */
static inline void window_taps(const WindowAxis *a, int64_t o, int64_t *from, int64_t *to) {
  int64_t at = o * a->stride - a->lo; /* of tap 0 */
  *from = at < 0 ? (-at + a->dilation - 1) / a->dilation : 0;
  *to = at >= a->in ? 0 : (a->in - 1 - at) / a->dilation + 1;
  if (*to > a->taps) *to = a->taps;
  if (*to < *from) *to = *from;
}

/* A bounded axis as its runs have it: of `times` n + `more` elements, n an extent of inputs. */
typedef struct WindowLine {
  const Extent *n; /* NULL: it is none */
  int64_t times, more;
} WindowLine;
WindowLine window_line(Ctx *c, int64_t axis);
/* The axis of the windows that slide along one, for each n: as type_get takes it; 0: it is no dim,
   as where the stride does not divide `times`. */
int64_t window_axis_out(Ctx *c, const WindowLine *l, const WindowAxis *w);
/* The axis of the image that has these windows, and `more` elements that no window needs; or 0. */
int64_t window_axis_in(Ctx *c, const WindowLine *l, const WindowAxis *w, int64_t more);
/* The least n that leaves room for a window. */
int64_t window_least(const WindowLine *l, const WindowAxis *w);

/* The outputs [*from, *to) whose tap k lies inside the image. */
static inline void window_outputs(const WindowAxis *a, int64_t k, int64_t *from, int64_t *to) {
  int64_t at = k * a->dilation - a->lo; /* of output 0 */
  *from = at < 0 ? (-at + a->stride - 1) / a->stride : 0;
  *to = at >= a->in ? 0 : (a->in - 1 - at) / a->stride + 1;
  if (*to > a->out) *to = a->out;
  if (*to < *from) *to = *from;
}

/* How many positions of window o an average divides by: those inside the image and the padding
   that counts, `lo` before and `hi` after. */
static inline int64_t window_count(const WindowAxis *a, int64_t o, int64_t lo, int64_t hi) {
  int64_t first = o * a->stride - a->lo, n = 0;
  for (int64_t k = 0; k < a->taps; k++) {
    int64_t i = first + k * a->dilation;
    n += i >= -lo && i < a->in + hi;
  }
  return n;
}
#endif
