/* Schedules of gradients with respect to filters by warpgroups (wgmma): for each tap, filters by
   channels, summed over the pixels of all images, which are numbered with gaps (flat.h). */
#ifndef GC_CODEGEN_SCHEDULE_WGMMA_FILTER_H
#define GC_CODEGEN_SCHEDULE_WGMMA_FILTER_H
#include "codegen/schedule/flat.h"
#include "codegen/schedule/grid_conv.h"

/* A tile is WGMMA_SIDE filters by as many channels. Three warpgroups multiply, a fourth gathers. */
enum { WGMMA_FILTER_GROUPS = 3, WGMMA_FILTER_THREADS = 512 };
/* Thread blocks of a cluster at most: as many as find room in all parts of a device. */
enum { WGMMA_FILTER_CLUSTER = 4 };
/* False: it is not one for warpgroups. How blocks share pixels is left out. */
bool wgmma_filter_schedule(const ConvGeom *c, WgmmaFilterSchedule *out);
/* Makes such a schedule, of either kind, that of images of other sides. False: rows of the image
   are too odd for copies of patches, as they are for any extent if they are for one. */
void wgmma_filter_take_sides(const ConvGeom *c, WgmmaFilterSchedule *s);
bool wgmma_copied_take_sides(const ConvGeom *c, WgmmaFilterSchedule *s);
/* How blocks share pixels, in units of WGMMA_FILTER_UNIT, for either kind: of the schedule that the
   images of `c` have. */
enum { WGMMA_FILTER_UNIT = 128 };
PixelParts wgmma_filter_parts(const GridMachine *machine, const ConvGeom *c,
                              const WgmmaFilterSchedule *s);
PixelParts wgmma_copied_parts(const GridMachine *machine, const ConvGeom *c,
                              const WgmmaFilterSchedule *s);
/* Of a schedule of gathered operands: clocks for the images of `c`, whose sums have all room;
   whether most of a k-tile's are those of gathering, as few taps read what was gathered. */
double wgmma_filter_clocks(const ConvGeom *c, const PixelParts *p);
bool wgmma_filter_gathers(const ConvGeom *c, const WgmmaFilterSchedule *s);
/* The same of patches (patches.h) and of one tap with a stride of 1, whose operands are copied as
   they lie (text/wgmma_filter_copied.h); two warpgroups multiply, a third copies. False: it is
   neither, or takes longer than so many clocks, as of grid_filter_gather_clocks. */
enum { WGMMA_COPIED_GROUPS = 2, WGMMA_COPIED_THREADS = 384 };
bool wgmma_copied_schedule(const GridMachine *machine, const ConvGeom *c, int64_t most,
                           double clocks, WgmmaFilterSchedule *out);
/* Weights of a block; copies of a k-tile. */
static inline int64_t wgmma_copied_weights(const WgmmaFilterSchedule *s) {
  return (int64_t)s->columns * WGMMA_COPIED_GROUPS / s->rows;
}
double wgmma_copied_copies(const WgmmaFilterSchedule *s);
/* Tiles of a warpgroup. */
static inline int wgmma_filter_tiles(const WgmmaFilterSchedule *s) {
  return (s->rows * s->taps + WGMMA_FILTER_GROUPS - 1) / WGMMA_FILTER_GROUPS;
}
/* Operands that a warpgroup reads in shared memory in a step of 16 pixels: one tile of filters lies
   in registers for all taps; of several, each product reads its own. */
static inline int wgmma_filter_reads(const WgmmaFilterSchedule *s) {
  return s->rows == 1 ? 1 + wgmma_filter_tiles(s) : 2 * wgmma_filter_tiles(s);
}
/* Bytes of a block's sums, that those of a cluster read in its shared memory. */
static inline int64_t wgmma_filter_exchanged(const WgmmaFilterSchedule *s) {
  return (int64_t)WGMMA_FILTER_GROUPS * wgmma_filter_tiles(s) * WGMMA_SIDE * WGMMA_SIDE * 4;
}
/* Elements of both operands in a k-tile. */
int64_t wgmma_filter_gathered(const ConvGeom *c, const WgmmaFilterSchedule *s);
#endif
