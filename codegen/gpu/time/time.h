/* A model of the time that a launch takes on a GPU, from counts of its work, without the GPU: a
   roofline of more than two roofs. docs/time-model.md has the formula and its calibration.
   Contract: pure functions. */
#ifndef GC_CODEGEN_GPU_TIME_H
#define GC_CODEGEN_GPU_TIME_H
#include <stdbool.h>
#include <stdint.h>

typedef struct GpuDevice {
  const char *name, *title;
  int sms;             /* multiprocessors */
  int mhz, tensor_mhz; /* clock, and where tensor cores are busy */
  int tensor, mma;     /* multiply-adds of bf16 a clock and multiprocessor; percent of them that
                          mma.sync reaches */
  bool wgmma;          /* it runs the code for sm_90a */
  int fma, fma64;      /* of the ordinary units */
  int ldst;            /* lanes of loads and stores */
  int threads, blocks, shared; /* that a multiprocessor holds; bytes */
  int l2, l2_rate;             /* bytes, and bytes a clock */
  int bandwidth;               /* of memory, GB/s */
  int l2_latency, latency;     /* clocks of a load from L2, from memory */
  int launch; /* nanoseconds between dependent launches of a graph, with start and end */
} GpuDevice;

enum {
#define GPU(name, ...) GPU_##name,
#include "codegen/gpu/time/devices.def"
#undef GPU
  GPU_DEVICES
};
extern const GpuDevice gpu_devices[GPU_DEVICES];
/* Up to a NULL. */
extern const char *const gpu_device_names[GPU_DEVICES + 1];
/* NULL: there is none. */
const GpuDevice *gpu_device(const char *name);

/* The work of a launch, in warp instructions where nothing else is said. */
typedef struct GpuCounts {
  double blocks;          /* of threads */
  int threads, registers; /* of a block, of a thread */
  int shared;             /* bytes of a block */
  double parts;           /* of a block that do not wait for each other: its warps; 0: 1 */
  /* work of the block that has most, and of those that begin last, in that of the mean; 0: 1 */
  double longest, last;
  /* of a block */
  double mma, wgmma;      /* bf16 multiply-adds on tensor cores, by mma.sync and by wgmma; those of
                             tf32 count twice */
  double fma, fma64;      /* on the ordinary units */
  double special;         /* on the special function units */
  double issue;           /* all instructions */
  double accesses;        /* loads, stores, copies and shuffles */
  double wavefronts;      /* of 128 bytes, that shared memory and the first cache move */
  double lines;           /* of 128 bytes of global memory, that the accesses of warps touch */
  double l2_waits, waits; /* times that a block waits for L2, for memory, with nothing else to do */
  double covered;         /* times that it waits for memory while it works */
  double chain;           /* clocks of dependent instructions, likewise */
  double tail;            /* clocks of the block that ends last, behind the end of all others */
  /* of the launch */
  double l2_bytes, bytes; /* through L2; from and to memory */
  double received;        /* by the multiprocessors, of which a cluster's share some; 0: l2_bytes */
  /* what no launch could avoid */
  double least_flops; /* multiply-adds and other operations, a multiply-add counting two */
  double least_bytes; /* operands and results, once */
  enum { PEAK_FMA, PEAK_FMA64, PEAK_TENSOR, PEAK_TF32 } peak; /* of least_flops */
} GpuCounts;

typedef enum GpuBound {
#define BOUND(id, name) BOUND_##id,
#include "codegen/gpu/time/bounds.def"
#undef BOUND
  GPU_BOUNDS
} GpuBound;
extern const char *const gpu_bounds[GPU_BOUNDS]; /* names */

typedef struct GpuTime {
  double seconds;
  GpuBound bound;
  int resident;    /* blocks that a multiprocessor holds at the same time */
  double roofline; /* seconds */
  double launch;   /* those of `seconds` that the start and the end take */
  double units;    /* seconds of the busiest unit, with blocks spread evenly over the device */
  double memory;   /* seconds of the memory's bandwidth */
  double busy;     /* seconds of all else, with waits for memory */
  double filled;   /* share of the device's places for blocks that the launch takes; may exceed 1 */
} GpuTime;

GpuTime gpu_time(const GpuDevice *d, const GpuCounts *c);
/* Of n kernels, 1 at least, whose blocks are one launch. If all of them are resident at once they
   wait at the same time, and share units and bandwidth; else they count one after the other. */
GpuTime gpu_time_of_joined(const GpuTime *t, int n);
/* Of n kernels, 1 at least, whose blocks do the work of one after that of the other. ahead: they
   ask memory for what the last one reads before they begin, so memory works meanwhile. */
GpuTime gpu_time_of_stacked(const GpuTime *t, int n, bool ahead);
/* Blocks that a multiprocessor holds by its threads, registers and shared memory; 0: none fits. */
int gpu_resident(const GpuDevice *d, const GpuCounts *c);
#endif
