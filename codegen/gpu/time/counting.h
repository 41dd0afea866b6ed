/* How launches are counted: the state of a count, what its parts share, and one function for each
   kind of schedule. Contract: inside of codegen/gpu/time; who asks for counts includes counts.h.
   Instructions are those of the loops that a kernel is printed with, with a price for each element
   function, and estimates of the addresses around them: cuda/sizes compares the instructions with
   those of the PTX interpreter, cuda/model the times with published ones. */
#ifndef GC_CODEGEN_GPU_COUNTING_H
#define GC_CODEGEN_GPU_COUNTING_H
#include "codegen/gpu/time/counts.h"
#include "codegen/schedule/grid_conv.h"

#include <string.h>

enum {
  LINE = 128,           /* bytes that an access touches at once, and bytes of a wavefront */
  SECTOR = 32,          /* bytes of a line that L2 moves at once */
  ADDRESS = 4,          /* instructions of an access' address and condition: multiply-add, compare,
                           select, and the 64-bit addition */
  START = 20,           /* ... of a kernel's start: arguments, indices of block and thread */
  QUOTIENT = 10,        /* ... of a division or a root: an estimate by the special function units,
                           and its refinement */
  FUNCTION = 20,        /* ... of exp and its kin: reduction of the argument, a polynomial */
  NORM = 4,             /* ... of a norm's element: difference, factor, scale, shift */
  MATRIX = 4,           /* wavefronts of an ldmatrix of four matrices */
  K_TILE = 60,          /* instructions of a warp in a k-tile beside copies, loads and mma: the
                           barrier, the loop, and the addresses of the next copies */
  FMA_DEPTH = 16,       /* of a k-tile on ordinary units, as printed (text/gemm.h) */
  FMA_PADDING = 8,      /* elements of a row of its tiles that keep banks apart, both operands */
  FMA_CLOCKS = 60,      /* of such a k-tile that nothing covers: two barriers, a shared load */
  WGMMA_CLOCKS = 100,   /* of a k-tile on wgmma: calibrated, docs/time-model.md */
  WGMMA_ENDS = 4000,    /* of a tile on wgmma: its first k-tile's way from memory, and the results
                           that it stores while no product runs */
  OTHER_REGISTERS = 48, /* of a thread, beside accumulators and operands: addresses, counters */
  MMA_CLOCKS = 35, /* from an mma, or a barrier and the loads behind it, to what waits for it */
  SCHEDULERS = 4,  /* of a multiprocessor: each issues an instruction a clock */
  PLAIN_REGISTERS = 40, /* of a thread that keeps no tile */
  GATHER_REGISTERS = 72 /* of a thread, beside tiles: places and conditions of what it gathers */
};

typedef struct Counting {
  Gen *g;
  const CudaFunction *f;
  const GpuDevice *d;
  Group *gr;
  GpuCounts c;
} Counting;

/* An argument that each element of the domain reads, or a result. */
typedef struct Stream {
  double size;    /* bytes of an element */
  double numel;   /* its own elements */
  int64_t stride; /* in elements, from one thread to the next; 0: all read the same */
} Stream;
typedef VEC(Stream) Streams;

bool counting_is_part(const Counting *n, const char *suffix);
bool counting_is_f64(const Counting *n);
/* A part is written into a tensor that stays where it is. */
bool counting_moves_part(const Counting *n);
/* Instructions of the element-wise members, for one element of the domain: members of a lower shape
   are evaluated once a row. */
double counting_price(const Counting *n, const Type *shape);
/* The arguments as they lie: `full` and more elements are streams, fewer are the same for many
   threads. */
Streams counting_arguments(const Counting *n, int64_t full);
/* Lines that a warp's access of `width` elements a thread touches. */
double stream_lines(const Stream *s, int width);
/* Bytes of L2 that so many elements of it take, each read once. */
double stream_l2_bytes(const Stream *s, double elements);

/* Instructions behind the sums of a block's tile, stored in `store` lines a warp. */
double count_epilogue(Counting *n, double of_block, double store);
/* A block multiplies a tile on ordinary units, so many steps of the depth. */
void count_fma_tile(Counting *n, double steps, int bm, int bn, int tm, int tn, bool f64);

/* Of f32 on ordinary units, by a ring of k-tiles; `pixels`: of a block. */
void count_conv_ring(Counting *n, const GridConvSchedule *s);
void count_conv_box(Counting *n, const GridConvSchedule *s);
void count_filter_ring(Counting *n, const GridFilterSchedule *s, double pixels);
void count_filter_box(Counting *n, const GridFilterSchedule *s, double pixels);
/* Of halves on tensor cores, by boxes of pixels. */
void count_conv_tensor_box(Counting *n, const GridConvSchedule *s);
void count_filter_tensor_box(Counting *n, const GridFilterSchedule *s);
double count_tensor_box_elements(const GridFilterSchedule *s); /* that are copied, of a pixel */
/* Of halves by wgmma; of a convolution, also the launch that packs filters. */
void count_pack(Counting *n, const WgmmaConvSchedule *w);
void count_wgmma_conv(Counting *n, const GridConvSchedule *s);
void count_wgmma_filter(Counting *n, const ConvGeom *g, const GridFilterSchedule *f);
void count_wgmma_copied(Counting *n, const GridFilterSchedule *f);

/* Without a schedule: a thread does an element, or a vector of them, of a copy in some order; or an
   element of the result of a window, with two loads for each multiplication. */
void count_move(Counting *n);
void count_window(Counting *n);

/* By the kind of the schedule, which is the argument. */
typedef void CountFn(Counting *n, const void *schedule);
CountFn count_map, count_rows, count_columns, count_sort, count_scatter, count_cumsum;
CountFn count_product, count_conv, count_filter, count_attention, count_split_attention;
#endif
