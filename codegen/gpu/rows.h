/* Shared by the printers of kernels over rows on the GPU. */
#ifndef GC_CODEGEN_GPU_ROWS_H
#define GC_CODEGEN_GPU_ROWS_H
#include "codegen/gpu/gpu.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

typedef struct WarpRows {
  RowsPrinter r;
  ThreadGroup group;
  GridRowsSchedule s;
  const char *rows, *c; /* how many there are at run time; elements of each */
  bool ends;            /* of chunks: the last block of a row combines them */
} WarpRows;

static inline bool rows_bounded(const WarpRows *t) { return !text_is_number(t->rows); }
/* Rows that may have few elements, or no second chunk. */
static inline bool elements_bounded(const WarpRows *t) { return !text_is_number(t->c); }

/* Starts the printer anew: of the group's first launch, and of each one behind it. */
RowLoops cuda_rows_start(RowsPrinter *r);
/* Blocks of rows, or of chunks that begin at `first`, that this run has not leave. */
void cuda_rows_leave(const WarpRows *t, Text *x, const char *first);
/* The sum over the lanes of a warp, two a thread. Of a row whose length the run decides: of one
   with fewer elements than lanes each is a lane of its own, and they follow each other as in a
   thread. */
const char *cuda_rows_lanes(WarpRows *t, OpKind k, Dtype dt, const char *lanes);
/* The function that replaces (a, i) by (b, j) where that is better, or as good and further left;
   INT32_MAX: none. With _warp behind its name, the same over a warp. */
const char *cuda_rows_best(Gen *g, OpKind k, Dtype dt);
/* Which yields have the domain's shape. */
bool *cuda_rows_full(const RowsPrinter *r);
/* Prints what follows the last pass: yields of the domain's shape, but for rows in chunks, and one
   store of each other one. */
void cuda_rows_results(WarpRows *t, const Loop *inner, int ninner);
/* The launches of rows that several blocks share. */
void cuda_rows_in_chunks(WarpRows *t, Kernel *k, const RowLoops *first);
#endif
