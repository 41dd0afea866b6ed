/* What the launches of a function do, counted from its schedule and its group: the input of the
   model of time. */
#ifndef GC_CODEGEN_GPU_COUNTS_H
#define GC_CODEGEN_GPU_COUNTS_H
#include "codegen/gpu/emit.h"
#include "codegen/gpu/time/time.h"

/* Of a kernel by itself: not of several in one launch. */
GpuCounts gpu_counts(Gen *g, const CudaFunction *f, const GpuDevice *d);
/* Adds what the launches of each step of the entry's plan take to `seconds`, by the plan's steps.
 */
void gpu_plan_seconds(CudaProgram *p, const GpuDevice *d, const Entry *e, double *seconds);
/* A kernel in an entry. */
typedef struct GpuRow {
  const CudaFunction *f;
  GpuTime time;   /* of a launch */
  int64_t times;  /* launches of a step */
  double seconds; /* of all of them */
  const Op *op;   /* of the first step of the plan that launches it */
  int steps;      /* that do */
} GpuRow;
/* Those of the entry, the longest first, in the program's arena; how many. */
int gpu_entry_rows(CudaProgram *p, const GpuDevice *d, const Entry *e, GpuRow **rows);
/* Of all launches of the entry, one after the other. */
double gpu_entry_seconds(CudaProgram *p, const GpuDevice *d, const Entry *e);
#endif
