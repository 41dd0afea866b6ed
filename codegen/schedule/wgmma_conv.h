/* Schedules of convolutions, and of their gradients with respect to the image, by warpgroups
   (wgmma): channels of the result by its pixels, which are numbered with gaps (flat.h), summed over
   the taps and their channels. A k-tile of the image, of some channels, serves all taps; those of
   the filters, of one tap each, are copied from scratch, where a launch of its own has put them in
   the order of k-tiles. */
#ifndef GC_CODEGEN_SCHEDULE_WGMMA_CONV_H
#define GC_CODEGEN_SCHEDULE_WGMMA_CONV_H
#include "codegen/schedule/flat.h"
#include "codegen/schedule/grid_conv.h"

typedef struct WgmmaConvShape {
  const ConvGeom *c;
  bool back; /* the gradient with respect to the image */
  int along; /* of patches (patches.h), of which `c` is the convolution of one tap: elements of a
                copy; else 0 */
  FlatAxis h, w;
  int64_t m, channels; /* of a group: of the result; that a sum goes over */
} WgmmaConvShape;
WgmmaConvShape wgmma_conv_shape(const ConvGeom *c, bool back, int along);

/* Two warpgroups multiply. A third one gathers the image by all warps but its first, which copies
   filters. */
enum { WGMMA_CONV_GROUPS = 2, WGMMA_CONV_THREADS = 384, WGMMA_CONV_GATHERERS = 96 };
/* Threads of a block that packs a unit of eight channels of so many channels of the result. */
enum { WGMMA_PACK_THREADS = 256, WGMMA_PACK_ROWS = 32 };

/* False: it is not one for warpgroups, or takes longer than *clocks, as of grid_conv_clocks, which
   become what it takes. `of_depth`: of a k-tile, which gives the order of sums; 0: any of which
   images of any sides have a schedule. */
bool wgmma_conv_schedule(const GridMachine *machine, const WgmmaConvShape *s, int of_depth,
                         double *clocks, WgmmaConvSchedule *out);
/* Pixels of the result in a tile, and those of the image in its k-tile. */
static inline int wgmma_conv_pixels(const WgmmaConvSchedule *w) {
  return w->columns * WGMMA_CONV_GROUPS / w->rows;
}
/* From a result's first to its last tap, in pixels; of patches those that let neighbouring units
   lie in other banks. */
int64_t wgmma_conv_span(const WgmmaConvShape *s, bool by_rows);
int64_t wgmma_conv_gathered(const WgmmaConvShape *s, const WgmmaConvSchedule *w);
#endif
