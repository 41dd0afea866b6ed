/* Shared by the printers of products: what is printed, and the tile that a block multiplies by. */
#ifndef GC_CODEGEN_GPU_MATMUL_H
#define GC_CODEGEN_GPU_MATMUL_H
#include "codegen/gpu/gpu.h"
#include "codegen/program/extent.h"
#include "codegen/schedule/product.h"

typedef struct GridProduct {
  GridProductSchedule s;
  bool rounded;              /* the product itself is rounded to its dtype */
  bool round_a, round_b;     /* the operand is f32, and counts as rounded to tf32 */
  int a, b, scale;           /* inputs of the group; scale: of a quantized B, else -1 */
  const char *batch, *m, *k; /* how many of each at run time; columns are static */
} GridProduct;

static inline bool rows_bounded(const GridProduct *p) { return !text_is_number(p->m); }
static inline bool depth_bounded(const GridProduct *p) { return !text_is_number(p->k); }

/* Where the run decides how many parts of the depth there are, declares that, and the elements of
   one: `parts` and `length`. */
void cuda_product_parts(Gen *g, Text *x, const GridProduct *p);
/* Stores the sums c of a tile that begins at product bt, row m0, column n0, of part `part`. */
void cuda_product_store(Gen *g, const Group *gr, Text *x, const GridProduct *p);
/* The second launch: a thread adds the parts of some elements of C in order, and does the work
   fused behind. */
void cuda_product_combine(Gen *g, const Group *gr, const GridProduct *p);
/* Declares the type Tile, and its shared memory. */
void cuda_product_tile(Gen *g, Text *x, const GridProduct *p);
#endif
