/* What a generated program and its runtime know of each other. The compiler writes one C file that
   includes this header and defines `gc_program`; libgcrt.a holds main() and all that runs it.
   Contract: every address is region base + offset fixed at compile time; the runtime allocates the
   regions once, before the first step, and nothing after; offsets are multiples of 64 bytes. */
#ifndef GCRT_H
#define GCRT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GCRT_ABI 27

typedef enum GcDtype {
  GC_BOOL,
  GC_U8,
  GC_I8,
  GC_I32,
  GC_I64,
  GC_F16,
  GC_BF16,
  GC_F32,
  GC_F64
} GcDtype;

/* The memory of a program. Sizes are known at compile time; `info` prints them. */
typedef enum GcRegion {
  GC_GLOBALS, /* parameters and states, shared by all entries */
  GC_INPUTS,  /* the inputs of the entry that runs, filled by the runtime before each step */
  GC_ARENA,   /* everything else of the entry: temporaries, outputs, scratch */
  GC_HYPERS,  /* run-time scalars, 4 bytes each, in the order of GcProgram.hypers */
  GC_COUNTS, /* the numbers 0, 1, 2 … as int32_t: iteration k of a loop, and a kernel that sees part
                k of a bounded axis, read number k */
  GC_PREPARED, /* what the preparation of a batch makes, and its temporaries: of two batches, that
               of the step that runs and that of the next one */
  GC_REGIONS
} GcRegion;

/* So many elements, one after the other, are each in [0, limit); 0: they may hold any number. */
typedef struct GcLimit {
  int64_t count, limit;
} GcLimit;

/* How an output of batches makes that of all their rows. */
typedef enum GcAggregate {
  GC_EACH, /* it does not, or it has an element of each row */
  GC_MEAN,
  GC_SUM,
  GC_MAX,
  GC_MIN,
  GC_EXP_MEAN, /* the exponential of a mean */
  GC_RMS,      /* the root of a mean */
  GC_AGGREGATES
} GcAggregate;

/* An axis has the elements from `first` on, at most `rows`, of one that has `whole` at the bounds
   of its extents; it may have none. Other extents multiply it. rows 0: the axis is no part. */
typedef struct GcPart {
  int64_t first, rows, whole;
  uint32_t extents; /* as GcTensor's, of the whole */
} GcPart;

typedef struct GcTensor {
  const char *name; /* input or output name, or a global's path */
  GcDtype dtype;
  int rank;
  const int64_t *dims; /* logical shape */
  uint64_t bytes;      /* of the storage, which a layout may pad */
  GcRegion region;
  uint64_t offset; /* bytes in the region */
  int panel; /* NR > 0: the last axis of storage is cut into runs of NR that stand outermost: a
                matrix [K, N] is stored as [ceil(N/NR)][K][NR], tail zero */
  int interleaved;  /* R > 0: of a matrix in panels, so many rows: [ceil(N/NR)][ceil(K/R)][NR][R] */
  const int *order; /* the axes of storage, outermost first; NULL: as they are numbered */
  const GcLimit *limits; /* of an input that indexes: of the elements of each row; NULL: none */
  int nlimits;
  /* by axis: 1 + the number of the entry's extent that the axis is a multiple of, of each that it
     is one of in four bits, 0: it is static; NULL: all are. An input has one of them an axis.
     `dims` are those at the bounds, as the storage has them */
  const uint32_t *extents;
  const GcPart *parts;   /* by axis; NULL: there are none */
  GcAggregate aggregate; /* of an output */
  bool compact;          /* of an input: in a run elements lie side by side, without gaps where the
                            run has fewer than the storage; kernels read it and nothing else does */
  const int64_t *run_dims; /* the runtime's: of a run, of which the storage has room for more */
  const struct GcTensor *planned; /* at run time: of what the tables have it is a copy; or NULL */
} GcTensor;

/* An extent that a run decides, from 1 to the bound, or from the least of which each window has all
   its taps, and then who has that window: "conv at net.g:4:7". */
enum { GC_EXTENTS = 8 }; /* of an entry, at most */
typedef struct GcExtent {
  const char *name;
  int64_t bound, least; /* 0: 1 */
  const char *window;   /* NULL: none asks for more than 1 */
} GcExtent;
static inline int64_t extent_least(const GcExtent *x) { return x->least > 1 ? x->least : 1; }

typedef enum GcGlobalKind {
  GC_PARAM,    /* trained */
  GC_STATE,    /* persistent, the program's: running means, caches, the step counter */
  GC_OPTIMIZER /* persistent, an optimizer's own: moments */
} GcGlobalKind;

/* A param that the compiler has made integers and scales of groups along an axis. */
typedef struct GcQuantized {
  GcTensor t; /* the floats, as files have them */
  int axis, bits, group;
  bool scales; /* the global is the scales */
} GcQuantized;

typedef struct GcGlobal {
  GcTensor t;
  GcGlobalKind kind;
  const char *origin;       /* its name in published weights; NULL: the path alone */
  const char *other_origin; /* ... in others; or NULL */
  bool transposed;          /* ... which have the matrix transposed */
  bool transient;           /* a state of a run, not of the model: checkpoints alone have it */
  const void *table; /* a constant's elements in row-major order, halves as f32; nothing stores it,
                        and files do not have it; or NULL */
  const GcQuantized *quantized;  /* or NULL */
  const struct GcGlobal *master; /* it is a copy of that param in another dtype, or of all ranks'
                                    runs: files have the param alone; or NULL */
  bool random;                   /* its initial value depends on the seed */
  bool by_rows; /* entries read rows of it that data choose, alone, and write nothing to it */
  int ranks; /* each of so many has a run of its elements in the storage: equal ones, the last may
                be short; 0: all of them */
} GcGlobal;

typedef struct GcHyper {
  const char *name;
  GcDtype dtype; /* f32, i32 or bool */
  double value;  /* default, which the type holds */
} GcHyper;

/* What a kernel sees beside its pointers. */
typedef struct GcEnv {
  uint64_t seed; /* of the random numbers: --seed */
  uint64_t step; /* training: the program's step counter; otherwise the run's own count from 0 */
  char *work; /* CPU: GcProgram.work_bytes of the calling thread's own, 64-byte aligned; what lies
                 there is not kept from one launch to the next */
  int32_t extents[GC_EXTENTS]; /* of the entry, in its order */
  int32_t first_row;           /* of the batch that this rank of a data-parallel program has */
  int32_t rank;                /* GPU: of this process */
  const struct GcComm *comm;   /* CPU: through which collectives go; NULL: it is alone */
} GcEnv;

/* p[i]: address of argument i. Thread `t` of `nt` does its part of the work; a kernel never waits.
   A label or index out of range is reported by gcrt_fault and the run stops after the step. */
typedef void GcKernel(void *const *p, const GcEnv *env, int t, int nt);

typedef struct GcArg {
  GcRegion region;
  uint64_t offset, bytes; /* all that the kernel may touch */
  /* by depth of the loops around: what the address moves by with the iteration; NULL: it stays */
  const int64_t *stride;
} GcArg;

/* A tensor map that a kernel takes behind its other parameters: of elements of an argument in up to
   four axes, the contiguous one first, and of a box of them that is copied at once. Boxes with rows
   of GC_MAP_SWIZZLE bytes are swizzled. */
enum { GC_MAP_AXES = 4, GC_MAP_SWIZZLE = 128 };
typedef struct GcTensorMap {
  int arg;
  GcDtype dtype;              /* of 2 bytes, or f32, which copies round to tf32 */
  uint64_t offset;            /* bytes from the argument's first to that of the first element */
  uint64_t size[GC_MAP_AXES]; /* elements */
  uint64_t stride[GC_MAP_AXES - 1]; /* bytes, of all axes but the first; ascending */
  uint32_t box[GC_MAP_AXES];        /* elements */
} GcTensorMap;

/* A launch on a GPU. The kernel's parameters are device addresses: one for each argument, in order,
 * then a GcEnv *, then a GcDeviceFault *; then constants, in 8 bytes each, by which its launches
 * differ; then tensor maps. */
typedef struct GcLaunch {
  int kernel;      /* index in GcDeviceCode.kernels */
  uint32_t grid;   /* blocks, one-dimensional; 0: there is no launch on this architecture */
  uint32_t block;  /* threads of a block */
  uint32_t shared; /* dynamic shared memory, bytes */
  const GcTensorMap *maps;
  int nmaps;
  uint32_t cluster; /* blocks go from tile to tile, in clusters of so many: no more of them need be
                       launched than the device runs at once; 0: each has work of its own */
  const uint64_t *constants; /* that its kernel takes, nconstants of them */
  int nconstants;
} GcLaunch;

/* In what all ranks take part: a step of a GPU that has no launch. Argument i is the operand of
   part i; behind those of all parts are the results, in the same order, and then scratch of equal
   runs, if ranks have shorter ones of the operand or of the result. */
typedef enum GcCollectiveKind {
  GC_ALL_REDUCE,
  GC_REDUCE_SCATTER,
  GC_ALL_GATHER,
  GC_BROADCAST
} GcCollectiveKind;
typedef struct GcCollective {
  GcCollectiveKind kind;
  GcDtype dtype;
  int parts;        /* of all_reduce; 1 of the others */
  const int64_t *n; /* by part, elements of the result; all_gather: of a block of the operand */
  int64_t blocks;   /* of all_gather's operand, as GcComm.gather has them; 1 of the others */
  int root;         /* of broadcast */
  int64_t all; /* elements of reduce_scatter's operand, and of a block of all_gather's result */
} GcCollective;

/* Where kernels report an index out of range: the first thread that changes `site` from -1 (by an
   atomic compare-and-swap) fills in the rest, as gcrt_fault is told it. */
typedef struct GcDeviceFault {
  int32_t site; /* -1: none */
  int32_t unused;
  int64_t at, value, limit;
} GcDeviceFault;

/* An op whose labels or ids are checked while the program runs, and the input that they are made
   of. */
typedef struct GcCheckSite {
  const char *loc;   /* "mnist.g:4:7" */
  const char *what;  /* "a label"; "": elements are taken by number, and a run has fewer */
  const char *input; /* of the entry that runs; NULL: the program computes it from more than one */
  bool exact;        /* its numbers are those of the input */
  /* element k of it is made of row first + k / run % count * step of the input; run 0: not known */
  int64_t first, step, run, count;
} GcCheckSite;

typedef struct GcImage {
  const char *arch; /* "sm_90a": a cubin for that architecture; "compute_90": PTX, a string */
  const unsigned char *data;
  uint64_t size; /* bytes, the PTX's terminator included */
  int variant;   /* which of each step's launches are for its code */
} GcImage;

typedef struct GcDeviceCode {
  const GcImage *images; /* all of the same source */
  int nimages;
  const char *const *kernels; /* names of the functions in every image */
  int nkernels;
  const uint8_t *const *rights; /* by kernel, of each argument: 1 it is read, 2 written, 3 both */
} GcDeviceCode;

typedef struct GcRange { /* bytes of the arena */
  uint64_t offset, bytes;
} GcRange;

/* A value of floats that is complete behind a step; for --check-finite and --watch. */
typedef struct GcResult {
  int arg;    /* of the step: where it lies, which loops move */
  GcTensor t; /* its name is the value's in the plan, "" for one without; no address */
} GcResult;

/* One launch. The steps of an entry run in order on all threads, or, where it has several streams,
   those of each stream in order on threads of its own; `barrier` tells what these must wait for
   before: 0 nothing (each thread reads only what it wrote itself, or nobody wrote); 1 all of them;
   n > 1 the barrier is needed only if n % nt != 0 (n units split evenly else). */
typedef struct GcStep {
  GcKernel *kernel;
  const char *name;  /* of the kernel, for the profile: "matmul+relu" */
  const char *scope; /* parameter path of the call: "net.fc1" */
  const char *loc;   /* "mnist.g:4:7" */
  const GcArg *args;
  int nargs;
  int barrier;
  const GcRange
      *dead; /* arena bytes that no later step reads before writing: --poison fills them */
  int ndead;
  uint64_t flops, bytes;  /* in a run: arithmetic, and bytes read and written, in all iterations */
  const GcLaunch *launch; /* of a GPU, by variant of the images: instead of `kernel` */
  int stream;
  const int *after; /* earlier steps of other streams that must be over; one within a loop: when the
                       outermost loop is */
  int nafter;
  const GcResult *results;
  int nresults;
  bool backward;       /* it computes gradients */
  unsigned char makes; /* of init: the kinds of globals that are made of it, 1 << GcGlobalKind; 0:
                          not known */
  const GcCollective *collective; /* of a GPU: instead of a launch; or NULL */
  bool one_share; /* of a thread: another step counts on it, or each share repeats some work */
} GcStep;

/* Steps [first, end) run `trips` times, in iterations 0, 1, … or the other way; with an extent, 1 +
   its number, these are the trips at its bound. Loops stand in the order in which they begin, those
   around before those in them. */
typedef struct GcLoop {
  int first, end;
  int depth; /* loops around it */
  int trips;
  bool reverse;
  const GcRange *dead; /* after the last iteration, as of a step */
  int ndead;
  uint32_t extent; /* 0: the trips are static */
} GcLoop;

typedef struct GcEntry {
  const char *name;
  bool training; /* the entry has a `minimize`; its step counter is the global "step" */
  int loss;      /* index of the output that must stay finite while training, or -1 */
  const GcTensor *inputs;
  int ninputs;
  const GcTensor *outputs;
  int noutputs;
  const GcStep *steps;
  int nsteps;
  uint64_t arena_bytes, inputs_bytes, outputs_bytes;
  uint64_t naive_bytes, inplace_bytes, pool_bytes, lower_bound_bytes; /* of the plan, for `info` */
  uint64_t flops;
  const GcLoop *loops;
  int nloops, depth;     /* of the deepest loop */
  uint64_t counts_bytes; /* of GC_COUNTS; 0: no step reads a count */
  int streams;           /* 0 is one */
  const char *assigns;   /* does not train, and assigns this global; NULL: it assigns none */
  const GcExtent *extents;
  int nextents, batch; /* 1 + the number of the extent that is the batch; 0: none is */
  int ranks; /* that share its batch: the inputs have the rows of one; 0: each rank runs it whole */
  bool gathers;             /* it reads what the program's `gather` makes */
  uint64_t under_way_bytes; /* of its collectives, at most at once: of the arena and globals */
  float waits; /* the share of a run that it waits for them, by a model; below 0: unknown */
  uint64_t unwritten_bytes; /* of the params and states: of those that it leaves as they are */
  /* Of the steps so many, the first ones, are the preparation of the batch: they read inputs, write
     to GC_PREPARED and to nothing else, have no loops, and may run before the step before is over.
     `dead` of theirs are bytes there. 0: there is none. */
  int ahead;
  uint64_t ahead_bytes; /* of GC_PREPARED, of one batch */
  const bool *unread;   /* by hyper: neither the entry nor `init` reads it; NULL: each is read */
} GcEntry;

/* What one rank takes if so many share the batch, by a plan that was made for them and not kept. */
typedef struct GcEntryBytes {
  uint64_t inputs, arena, messages, total; /* messages: also of globals; total: with these */
} GcEntryBytes;
typedef struct GcRankBytes {
  int ranks;
  uint64_t params, states, optimizer;
  const GcEntryBytes *entries; /* in the program's order */
} GcRankBytes;

typedef struct GcProgram {
  int abi;             /* GCRT_ABI */
  const char *version; /* of the compiler */
  const char *name;    /* of the program: the source without .g */
  const char *target;  /* "cpu" */
  const char *level;   /* of instructions, as -march names it: "x86-64-v3"; "": there are none */
  const char *march;   /* instructions the code needs: "avx512f", "avx2", "" */
  uint64_t hash;       /* of the program's globals and entries: ties a checkpoint to it */
  const GcGlobal *globals;
  int nglobals;
  uint64_t globals_bytes;
  const GcHyper *hypers;
  int nhypers;
  const GcEntry *entries; /* what the user sees as sub-commands */
  int nentries;
  const GcEntry *init; /* fills every global with its initial value; NULL if there is none */
  uint64_t initial;    /* hash of what `init` computes: ties an image of weights to it */
  const GcCheckSite *sites;
  int nsites;
  uint64_t work_bytes; /* target "cpu": that a thread needs beside the stack: packed operands */
  const GcDeviceCode *code;     /* that a GPU loads; NULL: kernels are the host's */
  const struct GcProgram *next; /* the same program for another target or level, planned for it;
                                   NULL: the last */
  int ranks;    /* processes that it was compiled for, by --data-parallel; 0: it has no ranks */
  int messages; /* of the host's collectives that are under way at once, at most */
  const GcEntry *gather; /* makes the copies of what each rank has a run of; NULL: there are none */
  const GcRankBytes *rank_bytes; /* for `info -n N` */
  int nrank_bytes;
} GcProgram;

/* The first of the program's targets. Names, shapes and order of globals, hypers, entries and
   inputs are the same in all of them; offsets, panels, steps and totals are not. Of one target's
   levels the last that a machine has the instructions of is the one that runs. */
extern const GcProgram gc_program;

/* The file of safetensors that `gc --weights` put into the program; begin is NULL: none. */
typedef struct GcWeights {
  const uint8_t *begin, *end;
} GcWeights;
extern const GcWeights gc_weights __attribute__((visibility("hidden")));

/* From a kernel, any thread: element `at` of the index at a site is `value`, not in [0, limit). The
   first report wins; the runtime says it and stops after the step. */
void gcrt_fault(int site, int64_t at, int64_t value, int64_t limit);

#include "gcrt_ranks.h"
#endif
