/* Pixels numbered with gaps, for convolutions by warpgroups (wgmma): the pixel that a tap reads is
   a fixed number of places away from the pixel of the result. Rows have `pitch` places, of which
   the last ones are padding for the end of this row and for the start of the next one; images
   likewise have padding rows. What is strided is divided into planes, one for each phase of the
   stride: the image of a convolution, and the result of its gradient with respect to the image. */
#ifndef GC_CODEGEN_SCHEDULE_FLAT_H
#define GC_CODEGEN_SCHEDULE_FLAT_H
#include "codegen/schedule/schedule.h"
#include "ir/op/window.h"

/* Channels of the result that a warpgroup multiplies by pixels, or by channels. */
enum { WGMMA_SIDE = 64 };

/* An axis of the numbered pixels. */
typedef struct FlatAxis {
  int64_t pitch;       /* places */
  int64_t first, last; /* places from a result to its first and last tap */
  int64_t step;        /* pixels of the source from one place to the next */
  int64_t planes;      /* phases of the source, or 1 where all taps have one; then it is: */
  int64_t phase;
  int64_t phases; /* of the result */
} FlatAxis;
/* Of a convolution, and of its gradient with respect to the image, whose source is the gradient
   with respect to the result. */
FlatAxis flat_axis(const WindowAxis *a);
FlatAxis flat_axis_back(const WindowAxis *a);
static inline int64_t flat_pixels(const ConvGeom *c, const FlatAxis *h, const FlatAxis *w) {
  return c->n * h->pitch * w->pitch;
}
/* From the first to the last tap. */
static inline int64_t flat_span(const FlatAxis *h, const FlatAxis *w) {
  return (h->last - h->first) * w->pitch + w->last - w->first;
}
/* A tile's source in shared memory: planes, and places of each behind as many as pixels. `rows`: of
   the filter, each of which has planes of its own, however far the next one is; 0: a plane has the
   places of all taps. */
static inline int64_t flat_planes(const FlatAxis *h, const FlatAxis *w, int64_t rows) {
  return (rows ? rows : h->planes) * w->planes;
}
static inline int64_t flat_reach(const FlatAxis *h, const FlatAxis *w, int64_t rows) {
  return rows ? w->last - w->first : flat_span(h, w);
}
#endif
