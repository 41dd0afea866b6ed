/* A libcuda.so.1 for machines without a GPU: PTX runs in ptxi, calls can be made to fail.
 * A driver is state of the process, so this one has a single Driver; calls take its lock.
 * Environment, read once at cuInit or at the first call:
 * - FAKECUDA_FAIL: function:n:error[,...], its n-th call returns error (a name of errors.def in any
 *   case, or a number); 700, 702 and 719 stay, as on a device
 * - FAKECUDA_MEMORY: bytes of the device, with K, M or G (4G)
 * - FAKECUDA_DRIVER: version (13000)
 * - FAKECUDA_DEVICES: how many there are (1); a process uses one of them
 * - FAKECUDA_CC: compute capability (99.0: newer than any cubin, so that programs take their PTX)
 * - FAKECUDA_CHECK: none, race, init or all (all)
 * - FAKECUDA_ORDER: 0, 1 or a seed: of warps, CTAs, and graph nodes that nothing orders (0)
 * - FAKECUDA_DEAF: which wait of a captured stream for an event is dropped
 * - FAKECUDA_STEPS: warp instructions that a launch may take
 * - FAKECUDA_WORK: a file that gets a line for each launch: its kernel, and warp instructions
 * - FAKECUDA_LOG: a file that gets a line for each call */
#ifndef FAKE_H
#define FAKE_H
#include "ptxi.h"
#include <pthread.h>
#include <stdio.h>

typedef enum CUresult {
#define RESULT(code, name) CUDA_##name = code,
#include "errors.def"
#undef RESULT
} CUresult;
typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef struct Context *CUcontext;
typedef struct Module *CUmodule;
typedef struct Function *CUfunction;
typedef struct Stream *CUstream;
typedef struct Event *CUevent;
typedef struct Graph *CUgraph;
typedef struct Graph *CUgraphExec;

typedef struct Block { /* of device or pinned memory */
  char *base;
  size_t size;
  uint8_t *init; /* NULL for pinned memory */
  struct Block *next;
} Block;

typedef struct Fault {
  char function[64];
  unsigned long at;
  CUresult error;
} Fault;

typedef struct Driver {
  pthread_mutex_t lock;
  bool configured, initialised;
  CUresult sticky;
  Fault *faults;
  size_t nfaults;
  struct Count {
    char function[64];
    unsigned long calls;
  } * counts;
  size_t ncounts;
  size_t memory, used;
  int version, devices, major, minor, multiprocessors;
  unsigned checks, order;
  uint64_t max_steps;
  unsigned long deaf, waits; /* of captured streams, and how many were asked for */
  FILE *work;
  FILE *log;
  Block *device_blocks, *pinned_blocks;
  struct Stream *streams; /* all but the default one */
} Driver;

/* Counts the call; an error that it must return, or success. Takes the lock, which leave() gives
 * back. */
CUresult enter(const char *function, bool needs_init);
CUresult leave(CUresult result);
Driver *driver(void);

#define API __attribute__((visibility("default")))
/* An entry point: counted, locked, then its body. */
#define CALL(name, params, args)                                                                   \
  static CUresult body_##name params;                                                              \
  API CUresult name params;                                                                        \
  API CUresult name params {                                                                       \
    CUresult result = enter(#name, true);                                                          \
    return leave(result ? result : body_##name args);                                              \
  }                                                                                                \
  static CUresult body_##name params

/* ---- memory.c ---- */
bool memory_inside(CUdeviceptr p, size_t size);
void memory_written(CUdeviceptr p, size_t size);
size_t memory_buffers(PtxBuf **bufs); /* to free */
/* The part of device memory from p on as a buffer; false: some of it is not allocated. */
bool memory_part(CUdeviceptr p, size_t size, PtxBuf *out);
CUresult memory_copy(CUdeviceptr to, const void *from, CUdeviceptr device_from, void *host_to,
                     size_t size);
CUresult memory_set(CUdeviceptr to, uint32_t value, size_t width, size_t count);

/* ---- work.c ---- */
typedef enum WorkKind {
  WORK_KERNEL,
  WORK_COPY,
  WORK_SET,
  WORK_HOST,
  WORK_EVENT,
  WORK_NOTHING
} WorkKind;
typedef struct Work { /* one thing that a stream or a graph does */
  WorkKind kind;
  struct Function *function;
  unsigned grid[3], block[3];
  size_t shared;
  bool programmatic; /* it may begin before the kernel in front of it has ended */
  char *params;      /* owned */
  CUdeviceptr to, device_from;
  const void *from;
  void *host_to;
  size_t size;
  uint32_t value;
  size_t width;
  void (*host)(void *); /* a function of the program's, and what it is called with */
  void *host_arg;
  CUevent event; /* that is recorded */
  int *after;    /* nodes that must come before, owned */
  int nafter;
} Work;
CUresult work_run(const Work *w);
/* Runs it now, or makes it a node of the graph that the stream is captured into. Takes the work
 * over. */
CUresult work_submit(struct Stream *s, Work w);
void work_free(Work *w);

struct Function {
  const PtxKernel *kernel;
  size_t max_dynamic;
  PtxBuf *buffers; /* by parameter: size, rights and name of what it points to; NULL: anything */
  struct Function *next;
};
/* ---- declared.c ---- */
/* What a module's PTX says of its kernels' buffers: a copy to free, NULL where it says nothing. */
char *declared_text(const char *ptx);
/* Of one kernel, by parameter; to free. False: nothing is said of it, or something else. */
bool declared_buffers(const char *text, const PtxKernel *k, PtxBuf **out);
void declared_free(PtxBuf *buffers, size_t n);
/* The buffers of a launch; to free. False after a message: a parameter is no such buffer. */
bool declared_launch(const struct Function *f, char *params, PtxBuf **out, size_t *n);
struct Graph {
  Work *nodes;
  int count;
};
struct Stream {
  struct Graph *capture; /* NULL: not capturing */
  bool origin;           /* the capture began here */
  int *last;             /* nodes that the next one comes after */
  int nlast;
  struct Stream *next;
};
#endif
