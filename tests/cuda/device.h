/* A program's GPU part, run on the PTX interpreter in the numeric harness. Contract: the module has
   been planned for the CUDA target; every launch is checked for bounds, rights, races and reads of
   what nobody wrote, and the first finding stops the run. */
#ifndef GC_TESTS_CUDA_DEVICE_H
#define GC_TESTS_CUDA_DEVICE_H
#include "tests/num/harness.h"

/* NULL after printing why; *calls: because the PTX calls functions (CUDA's f64 sin, cos and pow),
   which the interpreter does not run. */
Compiled *device_open(Module *m, const Target *t, const CodegenOptions *o, bool *calls);
void device_close(Compiled *c);
/* The order of warps and blocks in launches to come: 0 as they are, 1 reversed, n shuffled. */
void device_order(Compiled *c, unsigned order);
/* Compiles the kernels for these architectures; returns how many of them spill or failed, after
   saying which. */
int device_spills(Module *m, const Target *t, const CodegenOptions *o, const char *const *arch,
                  int n);
#endif
