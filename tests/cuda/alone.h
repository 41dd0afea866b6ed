/* Kernels of a program run by themselves, at the sizes that they have there. */
#ifndef GC_TESTS_CUDA_ALONE_H
#define GC_TESTS_CUDA_ALONE_H
#include "tests/cuda/form.h"

typedef VEC(const CudaFunction *) CudaFunctions;

/* Runs each of the functions of a program on the PTX interpreter, on random numbers, a few blocks
   of each launch, and compares what those write with what the CPU computes from the same numbers;
   returns how many went wrong, after printing them. A kernel that by itself is none of the same
   form counts as wrong. */
int run_alone(Ctx *c, const CudaFunctions *f, CodegenOptions *o);
/* Of all that ran: 1 after printing that the model of time miscounts the instructions of more than
   a tenth of the kernels. */
int alone_miscounted(void);
/* Elements of what the function's op reads and writes. */
int64_t elements_alone(const CudaFunction *f);
#endif
