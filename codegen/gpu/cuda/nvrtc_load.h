/* The functions of NVRTC that gc calls, found when gc runs. */
#ifndef GC_CODEGEN_CUDA_NVRTC_LOAD_H
#define GC_CODEGEN_CUDA_NVRTC_LOAD_H
#include <stdbool.h>
#include <stddef.h>

typedef struct Nvrtc {
  int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
  int (*compile)(void *, int, const char *const *);
  int (*log_size)(void *, size_t *);
  int (*log)(void *, char *);
  int (*ptx_size)(void *, size_t *);
  int (*ptx)(void *, char *);
  int (*cubin_size)(void *, size_t *);
  int (*cubin)(void *, char *);
  int (*version)(int *, int *);
  int (*archs_count)(int *);
  int (*archs)(int *);
} Nvrtc;

/* GC_NVRTC names the library or its directory and then nothing else is tried; otherwise the
   toolkits under /usr/local, the loader's own path, and the wheels that pip installs, newest first.
   False where there is none: dlerror() may say why. The library stays loaded: a process that may be
   hurt by it is its place. */
bool nvrtc_load(Nvrtc *n);
#endif
