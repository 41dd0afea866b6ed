/* NVRTC, NVIDIA's compiler as a library, found when gc runs. Contract: it runs in a child process
   with limits on memory and time, so nothing that it does can hurt gc; the same source gives the
   same bytes. */
#ifndef GC_CODEGEN_CUDA_NVRTC_H
#define GC_CODEGEN_CUDA_NVRTC_H
#include "codegen/build/cache.h"
#include "ir/support/ctx.h"

typedef struct CudaImage {
  const char *arch; /* "sm_90a": a cubin; "compute_90": PTX */
  bool ptx;
  unsigned char *bytes; /* PTX ends with a zero, which counts */
  size_t size;
  unsigned char *text; /* the PTX that a cubin was made of, and its size; for PTX NULL */
  size_t text_size;
  const char *log; /* of NVRTC, with what ptxas says of every kernel */
  bool cached;     /* compiled before: it comes from the cache */
} CudaImage;

/* What a kernel takes of a GPU, as ptxas says it. */
typedef struct CudaUse {
  const char *kernel;
  int registers, shared, stack, spill; /* bytes but for the registers; spill: stored and loaded */
} CudaUse;
typedef struct CudaUses {
  VEC(CudaUse) at;
} CudaUses;

/* "NVRTC 13.0", or NULL where there is none; *knows: it compiles for the architecture, if given. */
const char *nvrtc_version(Ctx *c, const char *arch, bool *knows);
/* What to do where there is none. */
extern const char nvrtc_remedy[];
/* The architecture is a virtual one, "compute_80", for which NVRTC makes PTX and no cubin. */
bool nvrtc_makes_ptx(const char *arch);
/* The architecture of this machine's GPU, "sm_90"; NULL where there is none. */
const char *cuda_native(Ctx *c);

/* Compiles the source for each arch, at once, or takes it from the cache, where what is compiled is
   kept by the library's version, file and options, and the source; images in the arena. False after
   a diagnostic that says what to install, with the exit code in *code (3: no NVRTC, or it does not
   know the arch). */
bool nvrtc_compile(Ctx *c, Arena *a, const Cache *cache, const char *source,
                   const char *const *arch, int n, CudaImage *out, int *code);
/* From the log of a cubin. */
void nvrtc_uses(const CudaImage *image, Arena *a, CudaUses *out);
#endif
