/* ptxi: runs PTX, as NVRTC produced it, on the CPU and watches every access.
 * Contract: a module owns its kernels; a launch reads and writes only the buffers it is given;
 * findings name kernel, PTX line and thread. No state outside PtxModule and PtxResult: calls on
 * different modules may run at the same time. */
#ifndef PTXI_H
#define PTXI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct PtxModule PtxModule;
typedef struct PtxKernel PtxKernel;

typedef struct PtxParam {
  size_t offset; /* bytes from the start of the parameter block */
  size_t size;   /* bytes */
  size_t align;  /* bytes */
} PtxParam;

enum { PTX_READ = 1, PTX_WRITE = 2, PTX_RW = 3 };

typedef struct PtxBuf {
  void *base;       /* the device address is the host address */
  size_t size;      /* bytes that the kernel may touch */
  unsigned rights;  /* PTX_READ | PTX_WRITE */
  const char *name; /* for findings; may be NULL */
  uint8_t *init;  /* one bit a byte: has it been written? NULL: all of it has. Kernels set bits. */
  size_t init_at; /* the bit of the first byte */
  unsigned tag;   /* 1 to PTX_TAGS: only addresses made by ptx_tagged() with it lie in the buffer */
} PtxBuf;

/* A pointer with the number of its argument in bits that no address has. Arithmetic keeps it, so
 * that what runs from one argument into the next one's bytes is found. */
enum { PTX_TAGS = 255, PTX_TAG_SHIFT = 48 };
static inline uint64_t ptx_tagged(const void *at, unsigned tag) {
  return (uint64_t)(uintptr_t)at | (uint64_t)tag << PTX_TAG_SHIFT;
}

/* What a launch watches beside bounds, rights and alignment, which are always on. */
enum {
  PTX_CHECK_RACE = 1, /* shared and global, within and between CTAs */
  PTX_CHECK_INIT = 2, /* registers, shared memory, buffers with an init map */
  PTX_CHECK_ALL = 3,
  PTX_COUNT = 4, /* no check: PtxResult.sectors and turns */
};

typedef struct PtxLaunch {
  unsigned grid[3], block[3];
  size_t dynamic_shared; /* bytes */
  const void *params;    /* the parameter block, laid out as ptx_kernel_param says */
  size_t params_size;    /* bytes; must be that of the kernel */
  const PtxBuf *bufs;
  size_t nbufs;
  unsigned checks;
  unsigned order;       /* 0: warps and CTAs in order; 1: reversed; n: shuffled by seed n */
  uint64_t max_steps;   /* warp instructions before the launch is given up; 0: 2^40 */
  unsigned some;        /* CTAs that run: the first, the last, and others between; 0: all */
  bool ends;            /* ... of which one half are the first ones, the other the last ones */
  unsigned max_reports; /* findings after which the launch stops; 0: 64 */
} PtxLaunch;

typedef enum PtxKind {
#define FINDING(id, text) PTX_##id,
#include "findings.def"
#undef FINDING
  PTX_KIND_COUNT
} PtxKind;

typedef struct PtxFinding {
  PtxKind kind;
  int line;                   /* of the PTX text */
  unsigned cta[3], thread[3]; /* the first one that did it */
  uint64_t address;
  uint64_t count; /* how often it happened on this line */
  char text[200]; /* one sentence */
} PtxFinding;

typedef struct PtxResult {
  uint64_t steps;      /* warp instructions */
  uint64_t lane_steps; /* instructions times active lanes */
  /* where they are counted: sectors of 32 bytes of global memory that the warps' accesses touch,
     and so many as their bytes would fill; turns of the banks of shared memory, and so many as
     would serve their words if none of a turn were in the same bank */
  uint64_t sectors, sectors_needed, turns, turns_needed;
  PtxFinding *findings;
  size_t count;
  char error[256]; /* why the launch was refused or given up; empty otherwise */
} PtxResult;

typedef enum PtxStatus { PTX_OK, PTX_FOUND, PTX_REFUSED } PtxStatus;

/* NULL and a message with the line in err where the text is not PTX or uses what ptxi does not
 * know. */
PtxModule *ptx_module_load(const char *text, size_t size, char *err, size_t err_size);
void ptx_module_free(PtxModule *m);
size_t ptx_module_kernels(const PtxModule *m);
const PtxKernel *ptx_module_kernel(const PtxModule *m, size_t i);
const PtxKernel *ptx_module_find(const PtxModule *m, const char *name);
/* Address and size of a .global or .const variable, or NULL. */
void *ptx_module_global(PtxModule *m, const char *name, size_t *size);
/* A .global variable of the kernel's module that began as zeros and is not so now, or NULL; all of
 * them are zeros then. */
const char *ptx_kernel_leaves(const PtxKernel *k);

const char *ptx_kernel_name(const PtxKernel *k);
size_t ptx_kernel_params(const PtxKernel *k);
PtxParam ptx_kernel_param(const PtxKernel *k, size_t i);
size_t ptx_kernel_params_size(const PtxKernel *k);
size_t ptx_kernel_static_shared(const PtxKernel *k);
size_t ptx_kernel_local(const PtxKernel *k);
/* The line of the first instruction whose result PTX leaves open to the last bits (.approx, .full:
 * run here as if rounded correctly), or 0. A program that promises bits may have none. */
int ptx_kernel_approximate(const PtxKernel *k);
/* It has griddepcontrol: its warps must wait before they touch global memory, and before they end.
 */
bool ptx_kernel_waits(const PtxKernel *k);
unsigned ptx_kernel_max_threads(const PtxKernel *k); /* from .maxntid or .reqntid; 1024 without */

/* A tensor map, as cuTensorMapEncodeTiled makes it: enumerations have the driver's numbers. */
enum { PTX_TENSOR_RANK = 5, PTX_TENSOR_BYTES = 128 };
typedef struct PtxTensor {
  unsigned type, rank;
  uint64_t address;
  uint64_t size[PTX_TENSOR_RANK];       /* elements */
  uint64_t stride[PTX_TENSOR_RANK - 1]; /* bytes; of all but the first dimension */
  uint32_t box[PTX_TENSOR_RANK], step[PTX_TENSOR_RANK];
  unsigned interleave, swizzle, fill;
} PtxTensor;
/* Writes 128 bytes at a multiple of 64; else says what is wrong. */
const char *ptx_tensor_map(void *map, const PtxTensor *t);

PtxStatus ptx_launch(const PtxKernel *k, const PtxLaunch *l, PtxResult *r);
void ptx_result_free(PtxResult *r);
const char *ptx_kind_name(PtxKind kind);
#endif
