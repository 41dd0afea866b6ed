/* Schedules of windows over f32 images that lie [N, H, W, C]: convolutions, their gradients, and
   what works on each channel alone; and the taps of a window that each position of its result
   has. */
#ifndef GC_CODEGEN_SCHEDULE_WINDOW_H
#define GC_CODEGEN_SCHEDULE_WINDOW_H
#include "codegen/schedule/schedule.h"
#include "ir/op/window.h"

/* ---- taps.c ---- */

/* A tap of the window, for the positions of one phase. */
typedef struct Tap {
  int64_t index; /* of the window's */
  int64_t at;    /* place of the source under it at the phase's first position */
} Tap;

/* Rows or columns of the result that have their taps alike. */
typedef struct Phase {
  int64_t first, step, n; /* positions of the result */
  int64_t over;           /* places of the source from one position to the next */
  Tap *tap;               /* in the order of taps */
  int ntaps;
  int side; /* of a span: -1: a tap lies before the source; 1: behind it; 0: none does */
} Phase;

/* Of one axis: one from the image to the result; back, from the result to the image, as many as the
   stride. A tap of a phase may lie beyond the source's sides. */
Phase *window_phases(Arena *a, const WindowAxis *w, bool back, int *n);
/* The same, cut where one more or one less of the taps lies on the source: those named all do. */
Phase *window_spans(Arena *a, const WindowAxis *w, bool back, int *n);

/* Of bounded columns a run lacks as many positions of each phase as windows, all of them between
   those near either side, whose taps are those of the bound: positions of a phase near the sides;
   and the least windows with which no position is near both. 0: at the bound one is. */
void window_sides(const Phase *f, int64_t places, int64_t *left, int64_t *right);
int64_t window_least_whole(const WindowAxis *w, bool back);
/* The axis with so many windows. */
WindowAxis window_narrow(const WindowAxis *w, int64_t windows);
/* More windows than these near both sides have too many texts of their own. */
enum { MOST_NARROW = 16 };

/* Pixels of a chunk of sums of the gradient by the filters, at most. */
int64_t window_chunk_pixels(const ConvGeom *g);
/* These chunks, in order: whole images if several are in one, else rows of one image. Chunks lie in
   frames, one after the other, and a frame's last one may be shorter. */
typedef struct PixelChunks {
  int64_t images, rows; /* of a chunk */
  int64_t n;            /* chunks */
  int64_t frame, chunk; /* pixels: all, or those of an image; of a chunk */
} PixelChunks;
PixelChunks window_pixel_chunks(const ConvGeom *g);

/* ---- tile.c: R rows and W columns of the result stay in registers while a number of runs of depth
   go by, one filter column or one row of pixels each ---- */

enum { LINE = 16 }; /* numbers of a line of the cache */

typedef struct TapRun {
  int64_t a, b;   /* where it begins, in elements from the row's start in both operands */
  int64_t depth;  /* of the run */
  int64_t lo, hi; /* rows of the tile that it reaches */
  int64_t more;   /* so many equal ones follow … */
  int64_t da, db; /* … each so far behind the one before */
} TapRun;

typedef struct Tile {
  int rows;
  int64_t width;
  int64_t li, lk, lb; /* elements of a from row to row and from k to k, of b from k to k */
  int64_t distance;   /* elements from a's first to those that are prefetched, for another tile; 0:
                         none */
  int64_t next;       /* the same where k lie side by side: from a's rows to the next tile's */
  int prefetch;       /* rows of c that are prefetched with each of `rows` */
  bool adds;          /* to what lies in c, but for the first sum */
  bool pairs;         /* of bf16, which are multiplied two of the depth at once; lk is 1 */
  bool own;           /* each column has a number of a's row of its own, at its place in it */
  TapRun *run;        /* room for all */
  int nruns;
  int middle; /* 1 + the run that lacks `less` of its depth, where the program's run decides it:
                 what comes behind begins so much earlier; 0: none does */
} Tile;

/* Registers that sums may stay in: 28 of 32, factors come from memory; 12 of 16. */
int tile_sums(const VectorMachine *m);
/* The most rows of a tile so wide. */
int tile_rows(const VectorMachine *m, int64_t width);
/* The same of pairs, whose factors are made in registers. */
int tile_pair_rows(const VectorMachine *m, int64_t width);
/* Appends a run: one that goes on where the last one ends, or comes again as far behind it, is a
   part of that. */
void tile_add_run(Tile *t, int64_t a, int64_t b, int64_t depth, int64_t lo, int64_t hi);
/* One run at most, of rows side by side: its depth and strides are given with each call, so that
   tiles of many shapes are one function. */
bool tile_is_general(const Tile *t);
/* Two tiles of one convolution and width: the same rows and runs. */
bool tile_same(const Tile *a, const Tile *b);

/* ---- conv.c: a convolution or its gradient by the images ---- */

typedef struct ConvShape {
  ConvGeom c;
  bool back;     /* the gradient by the images */
  int panel;     /* columns of the panels that the filters lie in, or 0 */
  bool epilogue; /* element-wise work comes behind */
  bool pairs;    /* operands are bf16, and pairs of channels are multiplied at once */
} ConvShape;

typedef struct ConvSchedule {
  ConvGeom c;
  bool back, pairs;
  bool own;                           /* each channel has a filter of its own: one group, whose
                                         panels are channels of both images */
  int64_t n, rows, columns;           /* of the result */
  int64_t in_rows, in_columns;        /* of the source */
  int64_t places;                     /* its columns that a row has: not all, if they are bounded */
  int64_t from_channels, to_channels; /* all groups */
  int64_t depth, width;               /* channels of a group: source, result */
  int nr;                             /* columns of a panel */
  int64_t np;                         /* panels of a group */
  int64_t together;                   /* panels that each pixel's tile goes over before the next
                                         pixels; 1: all pixels go by for a panel first */
  int64_t lb, tap, panel; /* elements from one row of a panel to the next, from one filter column to
                             the next, from panel to panel */
  bool epilogue;
  bool whole; /* ... on a row at a time */
  bool once;  /* a panel's tiles have no pixel of the source in common: it prefetches the next's */
  Phase *phase;
  int nphases;
  int64_t blocks;      /* of images, of which a tile has a pixel each; 0: a tile is one image's */
  int64_t images, low; /* of a block: `low` blocks have one less */
  Phase *span;
  int nspans;
  int64_t tile_rows; /* pixels of a tile, at most */
  uint64_t flops;
  bool by_rows;      /* units follow each other along the panels of a row; else down a panel */
  bool by_panels;    /* units are rows of a panel; else rows of the result */
  int64_t row_count; /* of all images, or of blocks of them */
  int64_t row_block; /* by_rows: so many go by for each panel */
  int64_t units;
  int64_t buffer; /* pixels that wait for their epilogue */
} ConvSchedule;

ConvSchedule conv_schedule(Arena *a, const VectorMachine *m, const ConvShape *shape);
extern const ScheduleKind conv_kind;
/* Pixels [i0, i0 + rows) of a phase, or a pixel of a span in so many images. */
Tile conv_tile_along(Arena *a, const ConvSchedule *v, const Phase *f, int64_t i0, int rows,
                     int64_t width);
Tile conv_tile_across(Arena *a, const ConvSchedule *v, const Phase *span, int images,
                      int64_t width);
/* The most pixels of a tile so wide. */
int conv_tile_rows(const VectorMachine *m, const ConvSchedule *v, int64_t width);
/* Tile k of so many that share `of` rows: they differ by one at most, so that none is short. */
int conv_tile_size(int64_t k, int64_t tiles, int64_t of);

/* ---- filter.c: the gradient of a convolution by its filters ---- */

typedef struct FilterShape {
  ConvGeom c;
  int panel;      /* columns of the panels that the filters are wanted in, or 0 */
  uint64_t bytes; /* of a gradient as it is added up */
  bool epilogue;
  bool amx; /* of bf16, in tile registers */
} FilterShape;

typedef struct FilterSchedule {
  ConvGeom c;
  int nr;
  int64_t np, ld;
  bool merged;  /* a filter row is one run of channels, of which an edge pixel reaches a part */
  int64_t runs; /* of channels in a filter row: 1 or one a column */
  int64_t row;  /* channels in such a run */
  int64_t tiles, rows, low;  /* of a run: `low` of `rows`, then of rows + 1 */
  int64_t least;             /* rows of a tile at least, where many threads cut more tiles */
  bool pack;                 /* a panel of dy lies in a buffer while its tiles go over it */
  int64_t lb;                /* elements from pixel to pixel of dy, or of that buffer */
  int64_t block;             /* tiles of x that lie in a buffer while panels go over them, or 0 */
  int64_t la;                /* ... with so many elements from pixel to pixel */
  bool amx;                  /* of bf16, in tile registers (amx_conv.h) */
  int64_t places;            /* there: of a plane of a chunk */
  int64_t x_slots, dy_slots; /* ... tiles of x and panels of dy that lie in buffers */
  bool epilogue;
  int64_t chunk;  /* pixels of a chunk of sums, at most */
  int64_t chunks; /* that many threads may share, each with a sum in scratch; 0: they never do */
  uint64_t flops;
  int64_t all_units, units; /* tiles of the result; 1 where one thread does all of them */
} FilterSchedule;

/* Chunks of a gradient that scratch has room for the sums of, `bytes` each, or 0. Follows from the
   shape alone. */
int64_t filter_chunks(const ConvGeom *c, uint64_t bytes);

/* Tiles of a run for so many threads, and whether their number depends on that of threads. */
int64_t filter_tiles(const FilterSchedule *f, int threads);
static inline bool filter_varies(const FilterSchedule *f) {
  return f->units > 1 && f->row / f->least > f->tiles;
}
double filter_balance(const void *schedule, int threads); /* as a Kernel's */
FilterSchedule filter_schedule(const VectorMachine *m, const FilterShape *shape);
extern const ScheduleKind filter_kind;

/* ---- depthwise.c: the same where each channel has a filter of its own ---- */

enum { DEPTHWISE_BLOCK = 16 }; /* channels of a unit: those behind the last are read, and dropped */

typedef struct DepthwiseSchedule {
  int64_t channels, blocks;
  int64_t rows, columns;             /* of the filter, of a group */
  int64_t row_groups, column_groups; /* the last of either may be smaller */
  int64_t all_units, units;
} DepthwiseSchedule;

DepthwiseSchedule depthwise_schedule(const VectorMachine *m, const ConvGeom *c, uint64_t flops);
extern const ScheduleKind depthwise_kind;

/* ---- pool.c ---- */

enum { POOL_CELL = 8 }; /* channels come in so many: those behind the last are read, and dropped */

typedef enum PoolTaps {                 /* which loops over taps are written out */
                        TAPS_UNROLLED,  /* rows and columns that the same taps reach have a text of
                                           their own */
                        TAPS_BY_COLUMN, /* columns alone do, with a loop over the window's rows */
                        TAPS_IN_LOOPS   /* each tap is tested */
} PoolTaps;

typedef struct PoolSchedule {
  int64_t channels;
  int block; /* channels that are computed side by side */
  PoolTaps taps;
  Phase *row, *column; /* spans */
  int nrows, ncolumns;
  int64_t all_units, units; /* image rows of the result */
} PoolSchedule;

/* rows: of the result, in all images; bounded: the run decides how many an image has. */
PoolSchedule pool_schedule(Arena *a, const WindowAxis *h, const WindowAxis *w, bool back,
                           int64_t channels, int64_t rows, bool bounded, uint64_t flops);
extern const ScheduleKind pool_kind;
#endif
