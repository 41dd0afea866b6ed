/* Kernels far above their roofline by the model of time: roofline.c. */
#ifndef GC_TESTS_CUDA_ROOFLINE_H
#define GC_TESTS_CUDA_ROOFLINE_H
#include "codegen/gpu/emit.h"

#include <stdio.h>

/* Every kernel of more than a hundredth of an entry's step reaches half of its roofline, or
   slow.def says why not; returns how many do not. Prints a row of docs/results/roofline.csv to
   `csv` for each form of kernel that does not. */
int roofline_check(CudaProgram *p, const Module *m, const char *program, const char *precision,
                   FILE *csv);
/* No launch takes less time than its roofline; returns how many do. */
int roofline_exceeded(CudaProgram *p, const Module *m, const char *program, const char *precision);
/* A row of slow.def that excuses no kernel so far is an error. */
int roofline_uses(void);
#endif
