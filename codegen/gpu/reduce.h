/* Shared by the printers of reductions over axes that are not the last (columns). */
#ifndef GC_CODEGEN_GPU_REDUCE_H
#define GC_CODEGEN_GPU_REDUCE_H
#include "codegen/gpu/gpu.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

typedef struct GridReduce {
  ColsPrinter c;
  const Op *root;
  Dtype dt;
  const char *T;         /* what is combined */
  const char *start;     /* the identity of the combination */
  const ValueId *so_far; /* what has been added up before; or NULL */
  Loop *kept, *reduced;
  int nkept, nreduced;
  GridColumnsSchedule s;
  const char *rows, *columns; /* how many there are at run time, as positions */
} GridReduce;

static inline bool rows_bounded(const GridReduce *r) { return !text_is_number(r->rows); }
static inline bool columns_bounded(const GridReduce *r) { return !text_is_number(r->columns); }
static inline bool is_arg(const Op *root) {
  return root->kind == OP_ARGMAX || root->kind == OP_ARGMIN;
}

static inline bool may_be_empty(const GridReduce *r) {
  return type_may_be_empty(value_type(r->c.gr->e, r->root->operands[0]));
}

/* n as a position. */
const char *cuda_reduce_position(const GridReduce *r, int64_t n);

/* ---- a column ---- */

/* Its combination, acc, so far the identity. */
void cuda_reduce_declare(GridReduce *r, Text *x);
/* Combines acc with the value of row r. */
void cuda_reduce_step(GridReduce *r, Text *x, const char *value);
/* The value of an element, in the text of level 2. */
const char *cuda_reduce_element(GridReduce *r);
/* What has been added up before; NULL: nothing has. */
const char *cuda_reduce_before(GridReduce *r);
/* The column's total, with that. */
const char *cuda_reduce_alone(GridReduce *r, const char *so_far);
/* The epilogue, where the reduction's value is a name. */
void cuda_reduce_results(GridReduce *r, const char *result);
void cuda_reduce_finish(GridReduce *r, Kernel *k);

/* ---- tiles of columns: kernels ---- */

/* A block does all of its columns. */
void cuda_reduce_whole(GridReduce *r, Kernel *k);
/* The same, a warp a chunk. */
void cuda_reduce_by_warps(GridReduce *r, Kernel *k);
/* A block does one chunk of its columns. */
void cuda_reduce_chunks(GridReduce *r, Kernel *k);
/* The last block of some columns goes on; others leave. */
void cuda_reduce_ends(GridReduce *r, Kernel *k);
/* The total of a column from the partial results of its chunks, in order. */
void cuda_reduce_combine(GridReduce *r, Kernel *k);
#endif
