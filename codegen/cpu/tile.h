/* The tile of convolutions: R rows and W columns of the result stay in registers while a number of
   runs of depth go by, one filter column or one row of pixels each. */
#ifndef GC_CODEGEN_CPU_TILE_H
#define GC_CODEGEN_CPU_TILE_H
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/target.h"

enum { LINE = 16 }; /* numbers of a line of the cache */

typedef struct Run {
  int64_t a, b;   /* where it begins, in elements from the row's start in both operands */
  int64_t depth;  /* of the run */
  int64_t lo, hi; /* rows of the tile that it reaches */
} Run;

typedef struct Tile {
  int rows;
  int64_t width;
  int64_t li, lk, lb; /* elements of a from row to row and from k to k, of b from k to k */
  int64_t
      ahead; /* elements from a's first to those that are prefetched, for another tile; 0: none */
  int64_t next; /* the same where k lie side by side: from a's rows to the next tile's */
  int prefetch; /* rows of c that are prefetched with each of `rows` */
  Run *run;
  int nruns;
} Tile;

/* Registers that sums may stay in: 28 of 32, factors come from memory; 12 of 16. */
int tile_sums(const CpuTarget *t);
/* The most rows of a tile so wide. */
int tile_rows(const CpuTarget *t, int64_t width);
/* Two tiles of one convolution and width: the same rows and runs. */
bool tile_same(const Tile *a, const Tile *b);
/* The name of a function
     (const f32 *a, long ar, long an, const f32 *b, long br, long bn, f32 *c, long ldc,
      long rows, long images, int first)
   which adds up the runs for `images` images an and bn apart, of `rows` rows ar and br apart, in
   order, and writes them to c, or adds the sum to it. */
const char *tile_function(Gen *g, const Tile *t);
/* The name of a function with this text, printed once a program: it follows from the text. */
const char *tile_helper(Gen *g, const char *kind, const char *parameters, const char *body);
#endif
