/* A program's GPU part, run on the PTX interpreter in the numeric harness. Contract: the module has
   been planned for the CUDA target; every launch is checked for bounds, rights, races and reads of
   what nobody wrote, and the first finding stops the run. */
#ifndef GC_TESTS_CUDA_DEVICE_H
#define GC_TESTS_CUDA_DEVICE_H
#include "tests/num/harness.h"

enum { DEVICES = 2 }; /* one with the PTX of sm_80, one with that of sm_100 */

/* Compiles the kernels for sm_80, sm_90a and sm_100, none of which may spill, and opens the
   devices. Returns how many things went wrong, after printing them; a device may then be NULL. */
int devices_open(Module *m, const Target *t, const CodegenOptions *o, Compiled **out);
void device_close(Compiled *c);
const char *device_arch(const Compiled *c); /* "sm_80" */
/* The order of warps and blocks in launches to come: 0 as they are, 1 reversed, n shuffled. */
void device_order(Compiled *c, unsigned order);
#endif
