/* Convolutions of 3x3 filters with stride 1, and their gradients by the images, by Winograd's
   method F(2x2, 3x3): 16 products for a tile of 2 x 2 results, which take 36 directly. */
#ifndef GC_CODEGEN_SCHEDULE_WINOGRAD_H
#define GC_CODEGEN_SCHEDULE_WINOGRAD_H
#include "codegen/schedule/window.h"
#include "codegen/schedule/winograd_wins.h"

enum {
  WINOGRAD_TILE = 2,   /* rows and columns of results */
  WINOGRAD_PLANES = 16 /* of transformed numbers: one for each of 4 x 4 */
};

/* What decides whether it computes a convolution from so many channels to so many, with padding
   before and after rows and columns, or with `back` a gradient by the images. */
GcWinogradCost winograd_cost(int64_t from, int64_t to, const int64_t padding[4], bool back);
/* It does; of bounded images: at some of their sizes. */
bool winograd_wins_somewhere(const ConvGeom *c, bool back);

typedef struct WinogradSchedule {
  bool back, epilogue;
  int64_t n, rows, columns;            /* of the result */
  int64_t in_rows, in_columns;         /* of the source */
  int64_t row_padding, column_padding; /* before the source */
  int64_t depth, width;                /* channels: source, result */
  int64_t pixel;                       /* numbers from tile to tile of the transformed source */
  int nr;                              /* columns of a panel of filters */
  int64_t np;                          /* panels */
  int64_t down, across;                /* tiles of an image */
  int tile_rows;                       /* tiles of an image in a register tile of the products */
  int64_t block;                       /* tiles that are transformed at once, for all panels */
  int64_t blocks;                      /* of all images */
  int64_t source_plane, result_plane;  /* numbers from one of the planes to the next */
  uint64_t flops;                      /* of the convolution, as if directly */
  int64_t units;                       /* blocks times panels */
} WinogradSchedule;

/* nr: columns of the panels that the filters lie in, whole vectors. */
WinogradSchedule winograd_schedule(const VectorMachine *m, const ConvGeom *c, bool back, int nr,
                                   bool epilogue);
/* A register tile: rows of the transformed source by `width` columns of a panel. */
Tile winograd_tile(Arena *a, const WinogradSchedule *v, int64_t width);
extern const ScheduleKind winograd_kind;
#endif
