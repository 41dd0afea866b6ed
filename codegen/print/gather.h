/* What the printers of gather, its gradient, one_hot and dynamic_update share: the operands, and
   how the ids of a batch fall on its tables. Contract: the op stands alone. */
#ifndef GC_CODEGEN_PRINT_GATHER_H
#define GC_CODEGEN_PRINT_GATHER_H
#include "codegen/program/gen.h"

typedef struct Gather {
  const Type *table, *ids, *out; /* of gather_grad `table` is the gradient that is added up */
  int table_arg, ids_arg;        /* arguments of the kernel: one value may be both operands */
  int start_arg;                 /* ... that sums of gather_grad start from; -1: zeros */
  int64_t tables;    /* that follow each other: one for each element of the batch axes */
  int64_t ids_each;  /* ids of a table */
  int64_t rows, row; /* rows of a table; elements of a row */
  const Type *inner; /* the axes of a row */
} Gather;

Gather gather_of(const Group *gr);

/* What a run has of a row: `n` pieces of `each` elements side by side, piece `r` from `at` on. */
typedef struct RowPieces {
  const char *n, *each, *at; /* factors; n is "1" where it is one piece */
} RowPieces;

RowPieces row_pieces(Gen *g, const Group *gr, const Gather *s);

/* y is written into x at `start` along an axis. */
typedef struct Update {
  const Type *x, *y, *start;
  int x_arg, y_arg, start_arg; /* arguments of the kernel; y_arg -1: the group computes y */
  int axis;
} Update;

Update update_of(const Group *gr);
/* The first place of y that is too far. */
const char *starts_text(Gen *g, const Group *gr, const Update *u);
#endif
