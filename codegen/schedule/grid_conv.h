/* Schedules of convolutions and their gradients on a device, as implicit GEMM. Of convolutions and
   gradients with respect to the image: channels of the result by its pixels, in tiles of a block of
   threads. Of gradients with respect to filters: filters by their weights, summed over pixels. */
#ifndef GC_CODEGEN_SCHEDULE_GRID_CONV_H
#define GC_CODEGEN_SCHEDULE_GRID_CONV_H
#include "codegen/schedule/product.h"
#include "ir/op/window.h"

typedef struct GridConvShape {
  int64_t groups, m, pixels; /* of the result: channels of a group, pixels of all images */
  int64_t channels, taps;    /* that a sum goes over */
  int64_t area;              /* pixels of an image that is read */
  int64_t phases;            /* of pixels; the taps are divided among them */
  Dtype in, dt;              /* of the operands; that it is computed in */
  bool tensor;               /* on tensor cores, if that takes fewer clocks, */
  bool always;               /* ... or however many */
  bool ring;                 /* k-tiles may be copied ahead, without registers */
} GridConvShape;

/* By warpgroups: see wgmma_conv.h. */
typedef struct WgmmaConvSchedule {
  int rows;     /* of a tile: 64 channels of the result for one warpgroup and the other; 0: another
                   kernel does it */
  int columns;  /* pixels of a warpgroup */
  int depth;    /* channels of a k-tile */
  bool by_rows; /* rows of the filter have k-tiles of the image of their own (flat.h) */
  int along;    /* of patches (patches.h): elements of a copy; else 0 */
  int images, filters;   /* k-tiles in shared memory, of each */
  int64_t down, across;  /* tiles over the channels of a group, over the numbered pixels */
  int64_t tiles, blocks; /* all; blocks of threads, which go from tile to tile */
  int64_t k_tiles;       /* of a tap */
  int shared;            /* bytes */
  uint64_t scratch;      /* bytes of packed filters */
} WgmmaConvSchedule;

/* Of one channel a group: see grid_depthwise.c. */
typedef struct GridPlanesSchedule {
  int units;          /* planes of the result, whose rows a block does; 0: another kernel does it */
  int rows;           /* of a plane */
  int down, across;   /* of a thread: rows one above the other, columns side by side */
  int vector, copy;   /* elements of a load from shared memory, and from memory */
  int loads;          /* of vectors, of a thread from each line of the source under its rows */
  double clocks;      /* ... of a vector's load by a warp, in those of a wavefront */
  int pitch, image;   /* elements in shared memory of a source's row, and of a plane's rows, */
  int filter;         /* ... of a filter */
  int before, behind; /* ... in front of the first plane, behind the last one */
  int threads, shared;
  int64_t blocks;
} GridPlanesSchedule;

/* Of few channels a group: see grid_conv_box.c. A block computes a box of pixels of one image. */
typedef struct GridBoxSchedule {
  int width;            /* of the box; 0: no boxes */
  int rows, taps;       /* of the filter, that a k-tile has: rows, and columns of each */
  int depth;            /* ... by channels */
  int image_rows, used; /* that its copies fill in shared memory; columns of each */
  int shared;           /* bytes of the ring */
} GridBoxSchedule;

/* On tensor cores, of few channels a group: see grid_tensor_box.c. Blocks go over boxes of pixels,
   whose rows of the image lie in shared memory. */
typedef struct GridTensorBox {
  int high, wide;       /* rows and columns of a box; 0: no boxes */
  int area;             /* of a gradient with respect to filters: pixels of a box, of wide images */
  int warps, each;      /* of a block; tiles of eight columns of a warp */
  int channels;         /* of the image's rows */
  int lines, per_row;   /* rows of a channel, copies of each */
  int pitch;            /* elements in shared memory from one row to the next */
  int copy, copy_dy;    /* bytes of a copy of the image, of the result's gradient */
  int stages;           /* boxes in shared memory */
  int64_t boxes, parts; /* of a block; blocks over all boxes of a tile */
  int64_t all;          /* boxes */
  int shared;           /* bytes */
} GridTensorBox;

typedef struct GridConvSchedule {
  int64_t groups, m, pixels, channels, taps; /* as of the shape */
  int bm, bn, tm, tn;   /* channels and pixels of a block, of a thread; bm = 0: no tiles, a thread
                           does one element, or `planes` says what a block does */
  int64_t down, across; /* blocks over the channels of a group, over pixels */
  int64_t blocks;       /* of threads */
  int stages; /* on ordinary units: k-tiles in shared memory, all but one of which are on their way;
                 0: one, which comes through registers */
  bool tensor; /* on tensor cores; a tile of a warp and the bytes of shared memory there: */
  int wm, wn, shared;
  int along; /* of patches, whose channels have their taps (patches.h): elements of a load; else 0
              */
  WgmmaConvSchedule wgmma;
  GridPlanesSchedule planes;
  GridBoxSchedule box;
  GridTensorBox tensor_box;
} GridConvSchedule;

GridConvSchedule grid_conv_schedule(const GridMachine *machine, const GridConvShape *s);

/* Of k-tiles that are copied ahead (grid_conv_ring.c): channels of one tap at most. */
enum { CONV_RING_DEPTH = 16, CONV_RING_TAPS = 16, CONV_RING_THREADS = 384 };
/* The one of `c` with the tile that takes the fewest clocks; false: there is none. */
bool grid_conv_ring(const GridMachine *machine, const GridConvShape *s, GridConvSchedule *c,
                    double *clocks);
/* Channels of a k-tile; what a block does for one of them. */
int grid_conv_ring_channels(const GridConvSchedule *c);
GridStep grid_conv_ring_step(const GridConvSchedule *c);
/* Of few channels, by boxes of pixels whose image rows lie in shared memory (grid_conv_box.c), if
   that takes fewer clocks than a thread for each element. False: it does not, or there are more
   channels or columns of the filter. */
bool grid_conv_box(const GridMachine *machine, const ConvGeom *g, GridConvSchedule *c);
GridStep grid_conv_box_step(const GridConvSchedule *c);
int64_t grid_conv_box_k_tiles(const GridConvSchedule *c, const ConvGeom *g);
/* On tensor cores, of f16 and bf16, by boxes of pixels whose image rows lie in shared memory
   (grid_tensor_box.c), if that takes fewer clocks than *clocks, which become those. */
bool grid_conv_tensor_box(const GridMachine *machine, const ConvGeom *g, bool back,
                          GridConvSchedule *c, double *clocks);
/* What a block does for a box, without what is fused behind. */
GridStep grid_conv_tensor_box_step(const GridConvSchedule *c);
/* Clocks of a thread for each element. */
double grid_conv_alone_clocks(const GridMachine *machine, const GridConvSchedule *c);
/* Threads of a block that computes tiles. */
static inline int grid_conv_threads(const GridConvSchedule *c, int block) {
  return c->stages ? c->bm / c->tm * (c->bn / c->tn) : block;
}
/* The same by planes, if that takes less time. */
void grid_conv_choose(const GridMachine *machine, GridConvSchedule *c, const ConvGeom *g, bool back,
                      Dtype dt);
/* Clocks of a multiprocessor until it is done, by count. */
double grid_conv_clocks(const GridMachine *machine, const GridConvShape *s,
                        const GridConvSchedule *c);
/* The same on tensor cores, and at least what its k-tiles wait for, of which one is gathered while
   another is multiplied. */
double grid_conv_gather_clocks(const GridMachine *machine, const GridConvShape *s,
                               const GridConvSchedule *c);
extern const ScheduleKind grid_conv_kind;

/* ---- gradients with respect to filters ---- */

typedef struct GridFilterShape {
  int64_t groups, m, weights;   /* of the result: filters of a group, weights of each */
  int64_t pixels;               /* of the convolution's result: what a sum goes over */
  int64_t chunks, frame, chunk; /* chunks of pixels, added in order (codegen/schedule/window.h) */
  int64_t operands;             /* bytes of images and of the gradient by the result, in dt */
  Dtype in, dt;                 /* of these; that it is computed in */
  bool tensor;                  /* on tensor cores: the order of sums is free, and so are chunks */
  int64_t taps;                 /* of the weights … */
  bool ring;                    /* ... each of which has channels enough for tiles whose k-tiles are
                                   copied ahead */
} GridFilterShape;

/* How thread blocks share the pixels that a sum goes over, in units: what pixel_units of shares.h
   takes, by which each run computes its parts. */
typedef struct PixelParts {
  int pixels; /* of a unit; 0: it is a box of them */
  int tiles, blocks, least, cluster;
  int unit, wait, resident, ends, sums; /* clocks but for `resident` */
} PixelParts;

/* By warpgroups: see wgmma_filter.h. */
typedef struct WgmmaFilterSchedule {
  int rows, taps;     /* of a block: tiles of filters, taps; 0: another kernel does it */
  int depth, stages;  /* pixels of a k-tile; k-tiles in shared memory */
  bool by_rows;       /* as of WgmmaConvSchedule */
  int64_t tap_groups; /* blocks over the taps, over filters of a group, over its channels */
  int64_t down, across;
  int64_t chunk, parts; /* pixels of a block; blocks over all pixels, of which the last ones may
                           have none */
  int columns; /* weights of a warpgroup, whose operands are copied as they lie; 0: other code */
  int along, beside; /* of a copy then: weights of a patch, 0: there are none; pixels */
  int cluster;       /* parts whose sums thread blocks add before they are stored */
  PixelParts share;  /* how parts follow from the pixels */
  bool few; /* a run may have so few images that the sums of one part exceed their room in scratch:
               the code by warps does it then */
  int64_t blocks; /* of threads */
  int shared;     /* bytes */
} WgmmaFilterSchedule;

/* Of one channel a group: see grid_depthwise.c. */
typedef struct GridDepthwiseSchedule {
  int units; /* of a block: channels of the result, each with a chunk of pixels; 0: another kernel
                does it */
  int taps;  /* of a filter's row, that a thread sums */
  int rows;  /* of the result in shared memory at a time */
  int vector, copy, copy_dy; /* elements of a load of the image from shared memory; of a copy */
  int pitch, pitch_dy; /* elements there of a row of the image, and of the result's gradient, */
  int image, dy;       /* ... of a unit's rows of them */
  int before, behind;  /* ... in front of the first unit's image, behind the last one's */
  double clocks;       /* of a vector's load by a warp, in those of a wavefront */
  int threads, shared;
  double step; /* of a pixel of a block, in fma of a multiprocessor */
} GridDepthwiseSchedule;

/* Of few channels a group: see grid_filter_box.c. A block computes all weights of its filters. */
typedef struct GridFilterBoxSchedule {
  int pixels;     /* of a row of the result, that a k-tile has; 0: other code */
  int stages;     /* k-tiles in shared memory */
  int rows, used; /* of the image in a k-tile; columns of each that are copied */
  int threads, shared;
  bool edges;   /* taps may lie in the padding */
  double steps; /* pixels of a k-tile on the mean */
} GridFilterBoxSchedule;

typedef struct GridFilterSchedule {
  int64_t groups, m, weights;   /* as of the shape */
  int64_t chunks, frame, chunk; /* of pixels (codegen/schedule/window.h) */
  int bm, bn, tm, tn; /* filters and weights of a block, of a thread; bm = 0: no tiles, a thread
                         does one element, or `depthwise` says what a block does */
  int64_t parts;  /* chunks that lie side by side in scratch: a block does one, and a second launch
                     adds them in order; 0: a block goes over all chunks */
  int64_t rounds; /* of such launches, one pair after the other */
  int64_t down, across; /* blocks over the filters of a group, over weights */
  int64_t blocks;       /* of threads */
  int stages;           /* as of GridConvSchedule; a block has channels of one tap then: */
  int64_t taps;
  uint64_t total, next; /* in scratch, behind the partial sums, where there are rounds: their totals
                           so far; the next round's first chunk */
  uint64_t scratch;     /* bytes */
  bool tensor;          /* as of GridConvSchedule */
  bool shares;          /* … there: each run divides its pixels into `parts` at most */
  int wm, wn, shared;
  WgmmaFilterSchedule wgmma;
  GridDepthwiseSchedule depthwise;
  GridFilterBoxSchedule box;
  GridTensorBox tensor_box;
} GridFilterSchedule;

/* Of k-tiles that are copied ahead: channels that a group has at least; the product that a block
   computes, of one tap. */
enum { FILTER_RING_CHANNELS = 16 };
/* Units of a part. */
static inline int64_t pixel_parts_units(const PixelParts *p, int64_t units, int64_t most) {
  return pixel_units((int)units, most, p->tiles, p->blocks, p->least, p->cluster, p->unit, p->wait,
                     p->resident, p->ends, p->sums);
}
/* Of a schedule on tensor cores by warps; of one by boxes, so many columns wide. What the latter
   takes depends on the filters of `g` alone. */
PixelParts grid_filter_parts(const GridMachine *machine, const GridFilterSchedule *f, Dtype in);
PixelParts grid_filter_box_parts(const GridMachine *machine, const GridFilterSchedule *f,
                                 const ConvGeom *g, int wide);
GridProductSchedule grid_filter_product(const GridFilterSchedule *f);
GridFilterSchedule grid_filter_schedule(const GridMachine *machine, const GridFilterShape *s);
/* The schedule by warpgroups, whose partial sums lie in scratch too: the other code has at least
   one part then, so that both have the same launches. */
void grid_filter_take(GridFilterSchedule *f, const WgmmaFilterSchedule *w,
                      const GridFilterShape *s);
/* The same by channels, if that takes less time. */
void grid_filter_choose(const GridMachine *machine, GridFilterSchedule *f,
                        const GridDepthwiseSchedule *d, const GridFilterShape *s);
/* The same of few channels a group, by blocks of all weights, if one of their tiles takes less
   time. */
void grid_filter_choose_box(const GridMachine *machine, GridFilterSchedule *f, const ConvGeom *g,
                            const GridFilterShape *s);
/* Tile `which` of them; pixels = 0: it does not fit. False: there are no more. */
bool grid_filter_box(const ConvGeom *g, int which, GridFilterSchedule *f);
GridStep grid_filter_box_step(const GridFilterSchedule *f);
/* Clocks of a pixel, of a multiprocessor that has so many blocks. */
double grid_filter_box_clocks(const GridFilterSchedule *f, double waves);
/* Clocks of all multiprocessors, by count; the same on tensor cores, and at least what its k-tiles
   wait for; parts that scratch has room for. */
double grid_filter_clocks(const GridMachine *machine, const GridFilterSchedule *f,
                          const GridFilterShape *s);
double grid_filter_gather_clocks(const GridMachine *machine, const GridFilterSchedule *f,
                                 const GridFilterShape *s);
int64_t grid_filter_most_parts(const GridMachine *machine, const GridFilterShape *s);
/* The same on tensor cores, of f16 and bf16. */
void grid_filter_choose_tensor_box(const GridMachine *machine, GridFilterSchedule *f,
                                   const ConvGeom *g, const GridFilterShape *s);
/* Boxes of gradients with respect to filters, of `area` pixels at most, are 8, 16 or 32 columns
   wide, and so many rows high; those of images whose result has so many columns. */
enum { GRID_BOX_NARROWEST = 8, GRID_BOX_WIDEST = 32, GRID_BOX_HIGHEST = 8 };
int grid_box_rows(int area, int wide);
int grid_box_wide(int64_t columns);
/* Makes the boxes of such a schedule those of the images of `g`, `wide` columns wide. False: there
   are too many. */
bool grid_filter_take_boxes(GridFilterSchedule *f, const ConvGeom *g, int wide);
/* What a block does for a box; clocks of a pixel, as above. */
GridStep grid_filter_tensor_box_step(const GridFilterSchedule *f);
double grid_filter_tensor_box_clocks(const GridFilterSchedule *f, double waves);
/* False: groups have several channels, or there are too many taps; back, also strides or several
   filters a channel. `time`: of a multiprocessor, in fma. */
bool grid_planes_schedule(const GridMachine *machine, const ConvGeom *c, bool back, Dtype dt,
                          GridPlanesSchedule *out, double *time);
/* False: groups have several channels, or there are too many taps. */
bool grid_depthwise_schedule(const GridMachine *machine, const ConvGeom *c, Dtype dt,
                             GridDepthwiseSchedule *out);
extern const ScheduleKind grid_filter_kind;
#endif
