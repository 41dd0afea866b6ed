/* What schedules of convolutions on a device and of gradients with respect to filters share: tiles
   of a block of threads, and what a step of the depth takes. Inside of codegen/schedule. */
#ifndef GC_CODEGEN_SCHEDULE_GRID_CONV_TILES_H
#define GC_CODEGEN_SCHEDULE_GRID_CONV_TILES_H
#include "codegen/schedule/grid_conv.h"

/* Instructions for each fma of a thread that computes one element by itself: two loads, and their
   addresses and tests. Chosen by count, not measured on a device. */
#define ALONE 8.0

enum { FMA = 128 }; /* a clock, of a multiprocessor */

typedef struct ConvTile { /* of a block; wm = 0: not on tensor cores */
  int bm, bn, wm, wn, tm, tn;
} ConvTile;

/* A block has 256 threads. Sums of a thread take 64 registers of 255 at most. */
static const ConvTile fma_tiles[] = {
    {128, 128, 0, 0, 8, 8}, {64, 128, 0, 0, 4, 8}, {64, 64, 0, 0, 4, 4}, {32, 128, 0, 0, 2, 8},
    {32, 64, 0, 0, 2, 4},   {16, 128, 0, 0, 1, 8}, {32, 32, 0, 0, 2, 2}, {16, 64, 0, 0, 1, 4}};
/* The last two are for filters alone, which have few results and a long depth. */
enum { FILTER_TILES = sizeof fma_tiles / sizeof *fma_tiles, CONV_TILES = FILTER_TILES - 2 };
static const ConvTile tensor_tiles[] = {{128, 128, 64, 32, 8, 8}, {64, 128, 32, 32, 4, 8},
                                        {64, 64, 32, 16, 4, 4},   {32, 128, 16, 32, 2, 8},
                                        {32, 64, 16, 16, 2, 4},   {16, 128, 16, 16, 2, 4}};
enum { TENSOR_TILES = sizeof tensor_tiles / sizeof *tensor_tiles };

/* A step of the depth in fma of a thread block that reads nothing. A fma of a tile reads 1 / tn of
   a value of one operand from shared memory and 1 / tm of the other's. Tensor cores do 10 of them
   at a time (1,270 a clock by mma.sync against 128); there an element of an operand takes 10
   instructions on its way to shared memory. A model by counts, not measured on a device. */
static inline double step_time(int bm, int bn, int wm, int tm, int tn) {
  enum { FASTER = 10, GATHER = 10 };
  if (wm) return (double)bm * bn / FASTER + GATHER * (bm + bn);
  return (double)bm * bn * (1 + 1.0 / tm + 1.0 / tn);
}

/* Bytes of two k-tiles in shared memory. */
static inline int k_tiles(int bm, int bn) { return 2 * STAGE_ROW * (bm + bn); }
#endif
