/* Rows of few_blocks.def, narrow_copies.def, scattered.def and slow.def: which kernels they name.
 */
#ifndef GC_TESTS_CUDA_LISTED_H
#define GC_TESTS_CUDA_LISTED_H
#include "codegen/gpu/emit.h"

/* "argmax rows rows=64 elements=10 group=thread …": the op that gives the kernel its form, and its
   schedule, as --print-schedules shows them. */
const char *kernel_kind(Arena *a, const CudaFunction *f);
/* The words of the row are words of the kind, in this order. */
bool words_are(const char *kind, const char *row);
bool kernel_is(Arena *a, const CudaFunction *f, const char *row);
#endif
