/* Schedules of products C[M, N] = op(A) op(B): on a processor with vector registers in tiles of
   rows by panels of columns, on a device in tiles of a block of threads. */
#ifndef GC_CODEGEN_SCHEDULE_PRODUCT_H
#define GC_CODEGEN_SCHEDULE_PRODUCT_H
#include "codegen/schedule/schedule.h"

enum {
  DEPTH = SUM_CHAIN, /* of one chain */
  A_STRIDE = 8,      /* of packed rows of A: the tallest tile */
  AMX_ROWS = 16,     /* of a tile register, each of AMX_BYTES */
  AMX_BYTES = 64,
  AMX_GROUP = 32, /* integers of the depth that one of its products of bytes sums up */
  WORD_BYTES = 4  /* of a column of a quantized B whose rows are interleaved */
};

typedef struct ProductShape {
  int64_t batch, m, n, k;
  bool ta, tb; /* the operand is stored transposed; tb: B's panels, if any, are not of that order */
  Dtype in;    /* of the operands as they are stored */
  int bits;    /* of B's integers, which are scaled; 0: it is not quantized */
  int integers;  /* A is of integers that are scaled, too: so many of the depth share scales; else 0
                  */
  int left_bits; /* ... of so many bits, 8 or 16 */
  bool b_panels; /* B is stored in panels, of b_panel columns */
  int b_panel;
  int panel;     /* columns of the panels that operands or results lie in; 0: none do */
  bool bounded;  /* the run decides how many rows of A there are, up to m */
  bool addend;   /* C begins with another tensor, as it lies, and nothing else is done */
  bool epilogue; /* more than the product is computed, or it is not stored as it is computed */
} ProductShape;

/* f32 of half precisions, i32 of bytes. */
Dtype product_dtype(Dtype in);

/* Threads share tiles in their order: product after product of a batch, and in each of them tiles
   of rows within a panel, or panels within a tile of rows. */
typedef enum ProductSplit { BY_PANEL, BY_ROWS, SERIAL } ProductSplit;

typedef struct ProductSchedule {
  int64_t batch, m, n, k;
  bool ta, tb, b_panels, epilogue; /* as of the shape */
  Dtype in, dt;                    /* dt: that the tile computes in */
  int bits;                        /* as of the shape: a tile dequantizes B as it reads it, or B is
                                      packed so */
  int integers; /* as of the shape: A is packed in words of bytes, with its scales,
                   and so is B, or a tile reads words of it */
  int left_bits;
  bool converted; /* operands are stored in another dtype: A is converted when it
                     is packed, B there or as a tile reads it */
  bool pairs;     /* ... but bf16, which are multiplied in pairs of the depth */
  bool amx;       /* ... in tile registers: packed rows are a whole number of these deep, and so are
                     the rows that a tile has room for */
  bool amx_bytes; /* words of bytes are multiplied so, of a packed B */
  int nr;         /* columns of a panel of the loop, and of B's or C's layout */
  int64_t np;     /* panels */
  int64_t tiles;  /* of rows: `low` of `rows`, then of rows + 1 */
  int64_t rows, low;
  int64_t least; /* rows of a tile at least, where many threads cut more tiles */
  int64_t chain; /* depth of a chain: the last one may be shorter */
  bool chains;   /* each chain goes through all of B before the next: C itself keeps the sums, and
                    what the chain reads of A stays in the cache */
  bool partial;  /* epilogue, and the depth needs several chains */
  bool pack;     /* a panel of B is packed before use */
  int64_t unpacked; /* ... but for runs of so many rows and fewer, whose tiles read B as it lies */
  bool pack_first;  /* ... by the first tile that meets it, as it reads B */
  bool pack_a; /* A^T is packed tile by tile: as it lies, a tile would take a cache line for each of
                  its short rows, and these in few sets */
  bool convert_tile; /* A's rows are converted tile by tile, as each of them meets all panels at
                        once; else a block of them */
  int64_t block;     /* tiles of a block of A */
  int64_t group;     /* panels that a tile of A meets, one after the other */
  int64_t prefetch;  /* rows of the next panel that a tile prefetches, 0: none */
  int64_t ahead;   /* a tile that is alone in its block prefetches the row of B so many rows ahead,
                      each time that it reads one; 0: it does not */
  int64_t streams; /* a single row of A meets so many panels at a time, which memory sends faster
                      side by side; 0: one after the other */
  bool deep_row;   /* a run of one row takes all chains of a panel of a quantized B before the next
                      panel, so that it reads B in one stream; A's integers are packed once */
  ProductSplit split;
  int64_t units; /* tiles of rows times panels times batch; 1 where one thread does all */
  uint64_t flops;
} ProductSchedule;

ProductSchedule product_schedule(const VectorMachine *machine, const ProductShape *s);
extern const ScheduleKind product_kind;

/* Elements of a packed row of B of `depth`; of integers, which are words, at most. */
static inline int64_t product_steps(const ProductSchedule *p, int64_t depth) {
  if (p->integers) return ceil_div(depth, p->integers) * ceil_div(p->integers, 2);
  if (p->amx) return ceil_div(depth * 2, AMX_BYTES) * (AMX_BYTES / 4);
  return p->pairs ? ceil_div(depth, 2) : depth;
}
/* ... of A: of integers, each group begins with two words more. Of 16 bits, words of two integers
   are as many as those of four lower and of four higher bytes. */
static inline int64_t product_a_steps(const ProductSchedule *p, int64_t depth) {
  if (!p->integers) return product_steps(p, depth);
  const int64_t words =
      p->left_bits == 16 ? 2 * ceil_div(p->integers, 4) : ceil_div(p->integers, 2);
  return ceil_div(depth, p->integers) * (words + 2);
}
/* Tiles of rows for so many threads: those of the schedule, or as many as the busiest thread has
   time for, so that they are less tall. */
int64_t product_tiles(const ProductSchedule *p, int threads);
/* The most of them: as many as have `least` rows, or one tile register instead of two. */
int64_t product_shortest_tiles(const ProductSchedule *p);
/* The number of tiles depends on that of threads. */
static inline bool product_varies(const ProductSchedule *p) {
  return p->split != SERIAL && product_shortest_tiles(p) > p->tiles;
}
/* product_share says who has which tiles, as the last panel is narrower. */
static inline bool product_is_uneven(const ProductSchedule *p) {
  return p->split == BY_PANEL && p->np > 1 && p->n % p->nr != 0;
}
/* Of a thread's part, for any number of threads. */
int64_t product_most_tiles(const ProductSchedule *p);
double product_balance(const void *schedule, int threads); /* as Kernel's */

static inline int64_t product_packed_depth(const ProductSchedule *p) {
  return p->chains ? p->chain : p->k;
}
static inline int64_t product_tallest(const ProductSchedule *p) {
  return p->rows + (p->low < p->tiles);
}
/* Rows that a tile of C, and of a packed A, has room for. */
static inline int64_t product_tile_room(const ProductSchedule *p) {
  const int64_t tallest = product_tallest(p);
  return !p->amx ? tallest : tallest > AMX_ROWS ? 2 * AMX_ROWS : AMX_ROWS;
}
static inline int64_t product_packed_rows(const ProductSchedule *p) {
  if (p->amx_bytes) return AMX_ROWS; /* a register reads all its rows */
  return p->amx ? product_tile_room(p) : A_STRIDE;
}

/* ---- devices ---- */

enum {
  /* Of operands in shared memory, for tensor cores: three are on their way while one is multiplied.
     Chosen by count, not measured on a device. */
  PIPELINE_STAGES = 4,
  STAGE_ROW = 64, /* bytes of a row or column of an operand in a stage */
  /* On ordinary units: depth of a k-tile that is copied so, and bytes behind each row
     (text/gemm_ring.h) */
  RING_DEPTH = 32,
  LARGE_TILE_BLOCKS = 2, /* that a multiprocessor has registers for, of large tiles that come so */
  GEMM_DEPTH = 16,       /* ... of one that comes through registers (text/gemm.h) */
  RING_PAD = 16
};

typedef struct GridProductShape {
  int64_t batch, m, n, k;
  bool ta, tb;
  int64_t a_row, b_row; /* elements from one row to the next of an operand as it is stored */
  Dtype in;
  bool tensor; /* on tensor cores */
  bool whole;  /* off tensor cores the depth is not divided: the run decides what it is, or scratch
                  has no room */
  bool varies; /* the run decides about the batch, the rows or the depth: of the first two there
                  are so many at least */
  int64_t least_batch, least_m;
  bool async; /* the device copies to shared memory without registers */
  int bits;   /* of B's integers, which have a scale for each `group` of the depth; 0: it is not
                 quantized. tb: they are stored [N, K] */
  int64_t group;
} GridProductShape;

typedef struct GridProductSchedule {
  int64_t batch, m, n, k;
  bool ta, tb;
  int64_t a_row, b_row; /* as of the shape */
  Dtype in, dt;         /* stored, computed */
  bool tensor;          /* as of the shape */
  int bm, bn, tm, tn;   /* rows and columns of a block, of a thread */
  int wm, wn;           /* on tensor cores: of a warp */
  int copy_a, copy_b;   /* there: bytes of a copy to shared memory */
  int side;             /* elements of C that a thread has side by side */
  int parts;            /* of the depth, which blocks do side by side: a second launch adds their
                           sums, which lie in scratch. 1: a block does all of it */
  int64_t part;         /* elements of one, the last one's fewer */
  int most;             /* parts at most, if the run decides how many there are (depth_part); 0: it
                           does not, else `parts` are those at the bound */
  uint64_t sums;        /* on tensor cores: bytes of the sums of all parts */
  int64_t across;       /* blocks along a row of C */
  int64_t blocks;       /* of threads */
  int threads;          /* of a block */
  int shared;           /* bytes of the operands in shared memory, for tensor cores and large
                           tiles; 0: the kernel's text declares them */
  int stages;           /* on ordinary units: k-tiles in shared memory, all but one of which are on
                           their way; 0: one, which comes through registers */
  bool busy;            /* blocks enough for every multiprocessor */
  bool thin; /* few rows: a warp of a block does a chain of the depth, on tensor cores a part of it;
                of a quantized B it makes numbers in registers, else they are made on their way to
                shared memory */
  int bits;  /* as of the shape */
  int64_t group;
  int cluster; /* by warpgroups: blocks that share B's k-tiles, with tiles of C above one
                  another; 0 else */
  bool turned; /* there: rows of a tile are columns of C, and A and B change places */
  bool phased; /* there: rows of A, which is stored along the depth and whose rows begin anywhere,
                  come in phases */
  bool varies; /* as of the shape */
} GridProductSchedule;

/* There is a schedule for this product of a quantized matrix: groups divide chains, and loads of
   words do not span two of them. On tensor cores one that takes less time than to dequantize the
   matrix in memory, and to multiply then. */
bool grid_product_is_quantized(const GridMachine *machine, const GridProductShape *s);
/* The warps of a block do the parts, and add their sums up. */
static inline bool grid_product_within(const GridProductSchedule *p) {
  return p->tensor && p->thin;
}
/* Parts for which there are blocks. */
static inline int grid_product_parts(const GridProductSchedule *p) {
  return grid_product_within(p) ? 1 : p->most ? p->most : p->parts;
}
/* Elements of the depth that a warp of a thin product loads at once, on ordinary units and of no
   quantized B. */
int grid_thin_step(const GridProductSchedule *p);
/* Steps of 16 of the depth whose loads a warp of a thin product on tensor cores has under way. */
int grid_thin_tensor_steps(const GridProductSchedule *p);
/* Bytes of the sums of all parts. */
uint64_t grid_product_scratch(const GridProductSchedule *p);
GridProductSchedule grid_product_schedule(const GridMachine *machine, const GridProductShape *s);
/* Bytes of a k-tile of `stages` in shared memory. */
int grid_ring_bytes(const GridProductSchedule *p);

/* What a block does for one step of the depth on ordinary units, in instructions of warps. */
typedef struct GridStep {
  double fma, loads, copies; /* loads from shared memory, copies of operands to it */
  double issue;              /* all, with addresses */
  double wavefronts;         /* of shared memory */
} GridStep;
GridStep grid_product_step(const GridProductSchedule *p);
/* Depth of a k-tile there. */
static inline int grid_product_depth(const GridProductSchedule *p) {
  return p->stages ? RING_DEPTH : GEMM_DEPTH;
}

/* The same product by warpgroups, in tiles 128 high: blocks go from tile to tile. WGMMA_ROW: bytes
   of the depth of a k-tile. */
enum { WGMMA_ROWS = 128, WGMMA_ROW = 128, WGMMA_THREADS = 384, WGMMA_RING = 192 << 10 };
/* Rows of 2-byte elements, of which each first one begins at a multiple of 16 bytes. */
enum { WGMMA_PHASES = 8 };
/* False: it is not one for tensor maps, or too small. */
bool wgmma_schedule(const GridProductSchedule *plain, GridProductSchedule *out);
/* Tiles of C, some of which may lie behind its last row. */
int64_t wgmma_tiles(const GridProductSchedule *p);
/* The operand of which a transposed copy pays, since the product of it uses wgmma, which this one,
   of tf32 with both operands stored across the depth, does not: 0, 1, or -1. row: elements of a row
   of the copy. */
int product_transposed_operand(const GridMachine *machine, const GridProductShape *s, int64_t row);
/* On tensor cores: a product of a quantized matrix that makes its numbers takes less time than a
   copy of the matrix, dequantized, and the product of that. */
bool product_dequantizes(const GridMachine *machine, const GridProductShape *s);
/* Elements of the depth of a k-tile. */
static inline int wgmma_depth(const GridProductSchedule *p) {
  return WGMMA_ROW / dtype_size(p->in);
}
/* The width of a tile. */
static inline int wgmma_columns(const GridProductSchedule *p) { return p->turned ? p->bm : p->bn; }
static inline int wgmma_stages(const GridProductSchedule *p) {
  return WGMMA_RING / (WGMMA_ROW * (p->bm + p->bn));
}
extern const ScheduleKind grid_product_kind;
#endif
