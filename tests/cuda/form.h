/* When is a kernel that was run as good as another one that was not: when both are of one form. */
#ifndef GC_TESTS_CUDA_FORM_H
#define GC_TESTS_CUDA_FORM_H
#include "codegen/gpu/emit.h"

/* Two kernels are of one form where their texts differ in nothing but numbers that choose no path:
   operations, their order and dtypes, operands, tiles, vectors, threads of a block, edges and the
   loops' ways are the same. */
const char *kernel_form(Arena *a, const CudaFunction *f);
#endif
