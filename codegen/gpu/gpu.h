/* Shared by the printers of the GPU. A kernel is one __global__ function; its parameters are the
   arguments' addresses p0, p1, …, `env` and `fault`. In scope after cuda_args: in0…, out0…,
   scratch, as on the CPU. Contract: a result is a function of the shapes alone: sums have the CPU's
   order, lanes and chunks, and no atomic operation is part of a value. */
#ifndef GC_CODEGEN_CUDA_CUDA_H
#define GC_CODEGEN_CUDA_CUDA_H
#include "codegen/print/printer.h"
#include "codegen/schedule/schedule.h"

enum { BLOCK = 256, WARP = 32 }; /* threads */

typedef struct CudaTarget {
  Target t; /* first: a Target * of name "cuda" is a CudaTarget * */
  GridMachine machine;
  bool sm90a;           /* some code is for sm_90a */
  const char *pre_sm80; /* "sm_75": the first architecture without tensor cores for gc; or NULL */
} CudaTarget;

static inline const CudaTarget *cuda_target(const Target *t) {
  return (const CudaTarget *)(const void *)t;
}

/* Which of a step's launches are for code of the architecture: 1, those of sm_90a, or 0. */
int cuda_variant(const char *arch);
/* 80 of "sm_80" and "compute_80". */
int cuda_arch_number(const char *arch);
/* For these architectures; for any from sm_80 on where narch is 0. In the context's arena. */
const Target *target_cuda(Ctx *c, const char *const *arch, int narch);

/* Gen.own: facts about the program, for messages. */
typedef struct CudaNotes {
  bool tensor_cores_off; /* where they would serve, since an architecture from before sm_80 is meant
                          */
} CudaNotes;

/* A tensor map: of elements of an argument in axes, the contiguous one first, and of a box of them
   that is copied at once. Lengths are in elements. */
enum { MAP_AXES = 4, MOST_MAPS = 6 };
typedef struct KernelMap {
  const char *name; /* of the kernel's parameter */
  int arg;
  Dtype dtype;
  int64_t offset;                                          /* of the first element */
  int64_t size[MAP_AXES], stride[MAP_AXES], box[MAP_AXES]; /* strides ascend */
} KernelMap;
/* Code of its own for sm_90a, whose launches take tensor maps. */
struct KernelVariant {
  Text text;
  int64_t grid;
  int block, shared, min_blocks; /* min_blocks: as of a kernel */
  int cluster;                   /* blocks of a cluster, by which the grid is divisible; 0: 1 */
  bool persistent;               /* blocks go from tile to tile: any number of clusters will do */
  KernelMap map[MOST_MAPS];
  int maps;
};

/* kernel_new, with the arguments declared; the type of positions is chosen for the group. */
Kernel *cuda_kernel(Gen *g, const Group *gr);
/* Another launch of the same group behind it. */
Kernel *cuda_kernel_next(Gen *g, const Group *gr, const char *suffix);
/* Launches of the entry may run beside those of its own kernels: on several streams, or of the
   preparation of the next batch beside those of this one. */
bool cuda_runs_beside(const Gen *g, const Entry *e);
/* Of so many blocks that count themselves together, the last one goes on; it knows what the others
   had stored. `which` of all counts, which lie in memory of the kernel. */
void cuda_leave_but_last(Kernel *k, int64_t counts, const char *which, const char *blocks);
/* One thread for each of n items in blocks of BLOCK; declares `var`, the thread's, and leaves the
 * rest. */
void cuda_threads(Gen *g, Kernel *k, int64_t n, const char *var);
/* The same of n items at the bounds of extents, and of `count`, a text, at run time. */
void cuda_threads_of(Gen *g, Kernel *k, int64_t n, const char *count, const char *var);

/* Whether products run on tensor cores; narrow: their operands are halves, or f32 with few bits. If
   only an old architecture prevents it, a note says so. */
bool cuda_on_tensor_cores(Gen *g, bool narrow);
/* "MmaBf16": the text that multiplies operands stored as dt on tensor cores. */
const char *cuda_mma(Dtype dt);

/* Refuses an op of which a kernel would count more than 2^31 - 1 of `what`. */
void cuda_counts(Gen *g, const Op *op, int64_t n, const char *what);

/* How often a loop over elements is unrolled, at most: less for long bodies, whose registers would
 * spill. */
int cuda_unroll(const Group *gr, int most);
/* One kernel for n launches of one, and of several: batch.c. */
Kernel *cuda_batch(Gen *g, const Kernel *const *each, int n);
Kernel *cuda_mix(Gen *g, const Kernel *const *each, int n);
/* Bytes of shared memory that the kernel's text declares; -1: it needs more of a multiprocessor
   than others would leave it. */
int64_t cuda_mix_shared(const Kernel *k);
/* One kernel for a launch and the one behind it: stack.c. */
Kernel *cuda_stack(Gen *g, const Kernel *const *each, const int *const *arg, const StackRows *rows);
int64_t cuda_stack_threads(const Kernel *k);
bool cuda_stack_alike(const Kernel *a, const Kernel *b);
bool cuda_is_thin(const Kernel *k);
int64_t cuda_thin_shared(const Kernel *k);
/* What the launch is in all, with the arguments of all; its text is still to come. */
void cuda_take_all(Gen *g, Kernel *k, const Kernel *const *each, int n);
/* The widest vector for groups whose inner loop has n elements: all that moves in it in accesses of
   16 bytes at most. */
int cuda_width(const Group *gr, int64_t n);
/* Prints yields of the domain's shape at one place of a loop over `coord`, v elements from `base`
   on, into the text of `level`; uses level + 1. All loads come before all stores. Where `only` is
   not NULL, yields i with only[i]. v elements from base on are in the loop. */
void cuda_vector(Printer *p, int coord, const char *base, int v, int level, const bool *only);
/* The same of several places, v > 1: results stay in y0, y1 … with `each` behind the name, as
   cuda_vector_results declares them for n places. Returns what stores them, for the same `base`. */
Text cuda_vector_apart(Printer *p, int coord, const char *base, int v, int level, const bool *only,
                       const char *each);
void cuda_vector_results(Printer *p, Text *out, int v, int n, const bool *only);

/* By coordinate, the elements between neighbours of v as it is read at the map; returns where the
   first one lies. */
int64_t cuda_strides(const Printer *p, ValueId v, const Axis *map, int64_t *stride);

/* "FromF16": the text that converts elements stored as dt to what sums are computed in. */
const char *cuda_converter(Gen *g, Dtype dt);
/* As Target's: of gradients of weights in tf32. */
int cuda_transposed_operand(const Target *t, const Entry *e, const Op *op, const bool *padded);
/* As Target's. */
bool cuda_rounds_operand(const Target *t, const Entry *e, const Op *op, int i);
bool cuda_multiplies_quantized(const Target *t, const Entry *e, const Op *op);
/* Bytes that the launches of a group need beside its values. */
uint64_t cuda_product_scratch(const CudaTarget *t, const Group *gr);
uint64_t cuda_rows_scratch(const CudaTarget *t, const Group *gr);
uint64_t cuda_reduce_scratch(const CudaTarget *t, const Group *gr);
uint64_t cuda_order_scratch(const CudaTarget *t, const Group *gr);
uint64_t cuda_index_scratch(const CudaTarget *t, const Group *gr);
uint64_t cuda_conv_scratch(const CudaTarget *t, const Group *gr);
uint64_t cuda_filter_scratch(const CudaTarget *t, const Group *gr);
uint64_t cuda_attention_scratch(const CudaTarget *t, const Group *gr);

void cuda_map(Gen *g, const Group *gr);
void cuda_rows(Gen *g, const Group *gr);
void cuda_reduce(Gen *g, const Group *gr); /* COLS and REDUCE */
void cuda_move(Gen *g, const Group *gr);
void cuda_matmul(Gen *g, const Group *gr);
void cuda_window(Gen *g, const Group *gr);
/* Convolutions and their gradients with respect to the image, in tiles; false where tiles do not
 * pay. */
bool cuda_conv(Gen *g, const Group *gr);
/* The same of gradients with respect to filters. */
bool cuda_filter(Gen *g, const Group *gr);
void cuda_attention(Gen *g, const Group *gr); /* and its gradients */
void cuda_index(Gen *g, const Group *gr);
void cuda_update(Gen *g, const Group *gr); /* of what it computes */
void cuda_nms(Gen *g, const Group *gr);    /* non-maximum suppression */
uint64_t cuda_nms_scratch(const Group *gr);
void cuda_order(Gen *g, const Group *gr); /* cumsum, argsort */
void cuda_cumsum(Gen *g, const Group *gr);
uint64_t cuda_cumsum_scratch(const CudaTarget *t, const Group *gr);
void cuda_random(Gen *g, const Group *gr);
void cuda_collective(Gen *g, const Group *gr); /* and rank, first_row */
uint64_t cuda_collective_scratch(const Group *gr);
#endif
