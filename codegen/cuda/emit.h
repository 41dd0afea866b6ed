/* A program for the GPU, printed: its CUDA C source, and its tables, which wait for the images that
   NVRTC makes of the source. */
#ifndef GC_CODEGEN_CUDA_EMIT_H
#define GC_CODEGEN_CUDA_EMIT_H
#include "codegen/cuda/cuda.h"
#include "codegen/tables.h"

typedef struct CudaFunction {
  const char *body, *name; /* "k12" */
  int nargs, block, shared;
  uint8_t *rights; /* of each argument: 1 read, 2 write */
} CudaFunction;

typedef struct CudaProgram {
  Gen g;
  VEC(CudaFunction) functions;
  Text kernels;
  Tables tables;
  int launches;
  const char *source;
} CudaProgram;

/* In the arena given. */
CudaProgram *cuda_program(Module *m, const Target *t, const CodegenOptions *o, Arena *a);
#endif
