/* What kernels in tile registers say of the planes that images are copied to. */
#ifndef GC_CODEGEN_CPU_AMX_CONV_H
#define GC_CODEGEN_CPU_AMX_CONV_H
#include "codegen/cpu/filter.h"
#include "codegen/schedule/amx_conv.h"

/* Declares a pitch of the run: places of a plane that belong to one row, or rows to one image.
   result and source: how many of either the run has. */
void amx_print_pitch(Gen *g, Text *x, const char *name, const AmxAxis *axis, const char *result,
                     const char *source);
/* Declares the first row or column of each plane. */
void amx_print_firsts(Text *x, const char *name, const AmxAxis *axis);

/* The gradient by the filters: what a kernel declares, and the products of a unit in a chunk. */
void amx_filter_begin(const Filter *f, Kernel *k);
void amx_filter_unit(const Filter *f, Text *x);
#endif
