/* What the files of fusion share: the groups in the making, and the order in which they stand. */
#ifndef GC_PASSES_FUSE_IMPL_H
#define GC_PASSES_FUSE_IMPL_H
#include "passes/kernel_form.h"
#include "passes/pass_list.h"
#include "passes/plan_impl.h"

typedef struct Unit { /* a group in the making */
  Form form;
  const Type *domain;
  int outer;      /* ROWS: axes before the row */
  const Op *root; /* reduction or matmul */
  VEC(const Op *) members;
  uint32_t rank, seen; /* as of an op that is in no group */
  bool dear;           /* computes functions: not to be recomputed in every pass of a row op */
  bool row_ops;        /* softmax and its like: several passes */
} Unit;

typedef struct Fuse {
  PassRun *r;
  const Entry *e;
  Arena *a;
  const Block *block; /* that is being grouped */
  Unit **unit;        /* by op; NULL: not in a group */
  uint32_t *pos;      /* by op: position in its block */
  uint32_t *place;    /* by op: position in the text */
  uint32_t places;
  bool *inlined;   /* by op: it is copied into the groups that read it */
  uint32_t *heavy; /* by op: products, windows and loops on the longest way to it */
  uint32_t *rank;  /* by op in no group: place in an order in which readers stand behind */
  uint32_t *seen;  /* by op in no group: stamp of the last search that visited it */
  uint32_t stamp;
  VEC(const Op *) * users; /* by value: ops that read it */
  /* while rebuilding */
  bool *emitted; /* by op */
} Fuse;

/* ---- fuse_circle.c ---- */
/* A way leads from one to the other through a third, or so many stand between them that it is not
   looked for. */
bool fuse_circle(Fuse *f, const Unit *a, const Unit *b);
/* Before they become one: puts what is ahead before both, what is behind after both. */
void fuse_reorder(Fuse *f, Unit *a, Unit *b);
#endif
