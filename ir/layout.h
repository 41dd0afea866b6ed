/* Layouts: where the elements of a value lie in memory. A type is logical; users and files see its
   order alone. Interned in the context: equality is ==. */
#ifndef GC_IR_LAYOUT_H
#define GC_IR_LAYOUT_H
#include "ir/type.h"

/* The memory layout of a value's elements; NULL is row-major. Interned. The axes are stored in
   `order`. With panels, the last of them is split into runs of nr, which are the outermost axis: a
   matrix [K, N] is stored as [ceil(N/nr)][K][nr], the tail filled with zeros, in the order in which
   a product reads its right operand. If rows of such a matrix are interleaved, so many neighbours
   of each column lie side by side: [ceil(N/nr)][ceil(K/4)][nr][4]. Images [N, C, H, W] in order
   0,2,3,1 are NHWC. Filters [O, I, 3, 3] may lie transformed for Winograd's convolution F(2x2,
   3x3): 4 x 4 numbers for each 3 x 3, so that only a copy writes and only a convolution reads them.
   Of images with bounded rows or columns each run decides whether they do; else they lie in the
   same order as they are, at the begin of the same bytes. */
typedef struct Layout {
  const Ints *order; /* axes, the outermost first; NULL: as they are numbered */
  int nr;            /* columns of a panel; 0: no panels */
  int interleaved;   /* rows that are, of a matrix in panels; 0: none are */
  bool winograd;     /* G f G^T in place of each filter f */
  /* of a bounded convolution: its image's rows and columns, and its padding: rows before and after,
     columns before and after; else NULL */
  const Type *image;
  const Ints *padding;
} Layout;
/* NULL where that is row-major. order: n axes or NULL. */
const Layout *layout_get(Ctx *c, const int64_t *order, int n, int nr);
/* Panels of nr columns in this order of four axes, of transformed filters. image: NULL, or [rows,
   columns] of which one is bounded, and four paddings: each run decides. */
const Layout *layout_winograd(Ctx *c, const int64_t *order, int nr, const Type *image,
                              const int64_t *padding);
const Layout *layout_panels(Ctx *c, int nr);
/* These panels of a matrix, with so many rows interleaved. */
const Layout *layout_interleaved(Ctx *c, const Layout *panels, int rows);
/* The layout has the axes of this type; panels need at least a matrix. */
bool layout_fits(const Type *t, const Layout *l);
int layout_axis(const Layout *l, int i); /* the i-th axis of storage */
/* Every element of the type has the same offset in both layouts. */
bool layout_same(const Type *t, const Layout *a, const Layout *b);
/* The strides of all axes in elements; in panels, within one. Returns the elements of a panel, or
   0. Where rows are interleaved, the strides are from one group of these to the next, and within
   it from one column to the next. */
int64_t layout_strides(const Type *t, const Layout *l, int64_t *stride);
/* Elements from one row to the next, where rows lie one after the other, each followed by padding
   or not: a panel that is as wide as a row, or wider. 0: rows lie otherwise, or there are none. */
int64_t layout_row(const Type *t, const Layout *l);
/* A reshape from one to the other moves no row: both have rows of one length at one distance. */
bool layout_same_rows(const Type *a, const Layout *x, const Type *b, const Layout *y);
/* Bytes of a value's storage, padding included; false on overflow. */
bool layout_bytes(const Type *t, const Layout *l, uint64_t *out);

#endif
