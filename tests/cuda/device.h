/* A program's GPU part, run on the PTX interpreter in the numeric harness, or through the
   libcuda.so.1 that the loader finds. Contract: the module has been planned for the CUDA target;
   the interpreter checks every launch for bounds, rights, races and reads of what nobody wrote
   since the run began, in the arena as in shared memory, and the first finding stops the run. */
#ifndef GC_TESTS_CUDA_DEVICE_H
#define GC_TESTS_CUDA_DEVICE_H
#include "tests/cuda/uses.h"
#include "tests/num/harness.h"

enum { DEVICES = ARCHS }; /* at most */

typedef struct DeviceHead { /* what Compiled.device starts with */
  const char *arch;
  int variant;            /* of the launches */
  unsigned order;         /* of warps and blocks: 0 as they are, 1 reversed, n shuffled */
  const GcStep *left_out; /* does nothing; or NULL */
  unsigned some; /* blocks of a launch that run, the first and the last among them; 0: all, as of a
                    launch whose results another one reads */
  const bool *whole; /* by kernel: its blocks wait for each other, so all of them run; or NULL */
  bool ends;         /* ... of which one half are the first ones, the other the last ones */
  bool count; /* sectors, of the launch whose accesses are the most scattered, from MANY on: … */
  uint64_t sectors, sectors_needed; /* … as of PtxResult; 0: there was none */
  uint64_t turns, turns_needed;     /* likewise, of the launch with the most conflicts of banks */
  const double *issue; /* by kernel: warp instructions of a block by the model of time; or NULL … */
  double least, most; /* … of launches: those executed, in those of the model */
  void (*close)(Compiled *c);
} DeviceHead;

typedef enum DeviceKind {
  DEVICE_NVRTC, /* compiles without spills for one of cuda_archs, at the level full for all; an
                   interpreter for each text of PTX that is not that of an architecture before: to
                   run it again would show the same */
  DEVICE_PTX,   /* the same without cubins, and what ptxas says of spills */
  DEVICE_SM90A, /* one interpreter with PTX for sm_90a */
  DEVICE_CLANG, /* one interpreter with what clang makes of the source */
  DEVICE_DRIVER /* the one device of the driver that the loader finds */
} DeviceKind;

/* Returns how many things went wrong, after printing them; devices that are not needed are NULL. */
int devices_open(Module *m, const Target *t, const CodegenOptions *o, DeviceKind kind,
                 Compiled **out);
void devices_close(Compiled **c);
const char *device_arch(const Compiled *c); /* "sm_80" */
const char *device_text(const Compiled *c); /* the PTX that an interpreter runs */
void device_order(Compiled *c, unsigned order);

/* ---- for devices ---- */
/* The program's tables as executables hold them, with its memory; NULL after printing why. */
Compiled *device_tables(CudaProgram *p, const CudaImage *image, int n);
/* An interpreter with this PTX of the program; NULL after printing why. */
Compiled *device_ptx(CudaProgram *p, const CudaImage *image);
/* What it has of kernels runs in place of those of the device, for so many warp instructions a
   launch at most; NULL: nothing does any more. False where the text is not taken. */
bool device_kernel(Compiled *c, const char *ptx, uint64_t most);
void device_free(Compiled *c);
/* clang.c: the name of a clang that can be asked, or NULL; and the PTX that it makes */
const char *clang_find(Arena *a);
bool clang_compile(Arena *a, const char *source, CudaImage *out);
bool clang_errs(const CudaImage *image); /* an error of clang's that is known is in it */
/* same.c: do the two differ in no more than what says for which architecture they are? */
bool ptx_same(const char *a, const char *b);
/* gpu.c */
Compiled *gpu_open(Module *m, const Target *t, const CodegenOptions *o);
#endif
