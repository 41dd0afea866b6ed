/* What prints convolutions of images in NHWC and their gradients by the images, and the tiles of a
   row of the result; see conv.c. */
#ifndef GC_CODEGEN_CPU_CONV_H
#define GC_CODEGEN_CPU_CONV_H
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/tile.h"

typedef struct Conv {
  Gen *g;
  const Group *gr;
  const Op *op;
  const VectorMachine *machine;
  ConvSchedule s;
  const char *group, *panel; /* "g" and "q", or "0" where there is one */
  const char *images;        /* of a run: a number, or an extent */
  bool bounded;              /* it is an extent */
  const char *rows, *source; /* of the result and of the source: numbers, or extents */
  const char *columns;       /* of the result */
  const char *windows;       /* along bounded columns, in this run; else NULL */
} Conv;

/* The tiles of row oy of one image, or with `images` of so many from n0 on, `width` channels of the
   result. In scope are a, b and out, where the first of each lies, and with bounded columns `less`:
   windows that a run has less than the bound. step: elements from filter row to filter row of the
   source and of the filters, as texts. */
void conv_row(const Conv *v, Text *x, int images, int64_t width, const char *const step[2]);
#endif
