/* A product and the ops on its rows, as one loop over chunks of rows, or chunk after chunk where
   the rows are bounded: the region that is in the loop, and how it is built. See row_tiles.c. */
#ifndef GC_PASSES_CHUNKS_IMPL_H
#define GC_PASSES_CHUNKS_IMPL_H
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

/* What goes with a product whose rows no whole tensor has to hold. Bodies of loops are not looked
   into: all is in the entry's own block. */
typedef struct Region {
  const Entry *e;
  Arena *a;       /* its own */
  const Op *root; /* the product [rows, wide] */
  int64_t rows, wide;
  int64_t axis;  /* the rows, as type_get takes them */
  int64_t chunk; /* rows of an iteration */
  bool *in;      /* by op: computed in the loop */
  bool *waits;   /* by op: outside of it, and needs what the loop gives */
  bool *by_row;  /* by value: made in the loop, row by row */
  bool *summed;  /* by value: made in the loop, a sum over all rows */
  bool *late;    /* by value: made of what the loop gives */
  bool *given;   /* by value: made in the loop, read outside of it */
  int nsums;
  OpId last;      /* op of the region */
  bool backward;  /* one of its ops is in the backward pass */
  const Op *what; /* reads the whole, where there is no region */
} Region;

/* The region of this product, as far as it can be had; false: the tensor has to be whole. In either
   case it is to be freed. */
bool region_find(Region *g, const Entry *e, const Op *root, int64_t chunk);
void region_free(Region *g);
/* Leading axes of a type that number the rows, as few as do; 0: it has none. No axis is bounded but
   the outermost. */
int region_lead(const Region *g, const Type *t);
/* Elements that a row of this type has. */
static inline int64_t region_width(const Region *g, const Type *t) { return t->numel / g->rows; }
/* The op is done row by row on operands all of which are rows, apart from the right side of a
   product. */
bool region_is_row_op(const Region *g, const Op *op);
/* Rebuilds the entry with the region as a loop, or unrolled if the rows are bounded: a chunk is
   then a part of them, and which part it is, is known to each. */
void region_to_loop(Region *g, Entry *e);
#endif
