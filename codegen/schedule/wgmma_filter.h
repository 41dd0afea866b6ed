/* Schedules of gradients with respect to filters by warpgroups (wgmma): for each tap, filters by
   channels, summed over the pixels of all images.
   Pixels of the result are numbered with gaps, so that the pixel of the image under a tap is a
   fixed number of places away from the pixel of the result: rows have `pitch` places, of which the
   last ones are padding for the end of this row and for the start of the next one; images likewise
   have padding rows. Images of strided convolutions are divided into planes, one for each phase of
   the stride. */
#ifndef GC_CODEGEN_SCHEDULE_WGMMA_FILTER_H
#define GC_CODEGEN_SCHEDULE_WGMMA_FILTER_H
#include "codegen/schedule/grid_conv.h"
#include "ir/op/window.h"

/* An axis of the numbered pixels. */
typedef struct FlatAxis {
  int64_t pitch;       /* places */
  int64_t first, last; /* places from a result to its first and last tap */
  int64_t planes;      /* phases of the stride, or 1 where all taps have one; then it is: */
  int64_t phase;
} FlatAxis;
FlatAxis flat_axis(const WindowAxis *a);
static inline int64_t flat_pixels(const ConvGeom *c, const FlatAxis *h, const FlatAxis *w) {
  return c->n * h->pitch * w->pitch;
}
/* From the first to the last tap. */
static inline int64_t flat_span(const FlatAxis *h, const FlatAxis *w) {
  return (h->last - h->first) * w->pitch + w->last - w->first;
}

/* A tile is WGMMA_SIDE filters by as many channels. Three warpgroups multiply, a fourth gathers. */
enum { WGMMA_SIDE = 64, WGMMA_FILTER_GROUPS = 3, WGMMA_FILTER_THREADS = 512 };
/* False: it is not one for warpgroups. `most`: parts that scratch has room for. */
bool wgmma_filter_schedule(const ConvGeom *c, int64_t most, WgmmaFilterSchedule *out);
/* Tiles of a warpgroup. */
static inline int wgmma_filter_tiles(const WgmmaFilterSchedule *s) {
  return (s->rows * s->taps + WGMMA_FILTER_GROUPS - 1) / WGMMA_FILTER_GROUPS;
}
/* Elements of both operands in a k-tile. */
int64_t wgmma_filter_gathered(const ConvGeom *c, const WgmmaFilterSchedule *s);
#endif
