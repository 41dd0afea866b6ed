/* Convolutions and pools, as far as their text is the same for every target: what is summed for a
   block of columns of one row of the result.
   Contract: in scope are i0, i1, i2, the row's place in the result; j0, the first column of the
   block; w, its columns; `pos`, the type of positions. window_new declares acc[columns], unless
   there are none; behind the text of window_sums acc[0 … w) are the results' sums, and `sum` is the
   result of column l. */
#ifndef GC_CODEGEN_WINDOW_H
#define GC_CODEGEN_WINDOW_H
#include "codegen/print/printer.h"
#include "codegen/schedule/window.h"
#include "ir/op/window.h"

typedef struct Window {
  Gen *g;
  const Group *gr;
  const Op *op;
  Text *x;
  int columns;     /* of a block, at most */
  Dtype dt;        /* of the images */
  const char *T;   /* that sums are made in */
  int in[3];       /* inputs of the group, by operand */
  const char *sum; /* text of the result, rounded to its dtype */
} Window;

Window window_new(Gen *g, const Group *gr, Text *x, int columns);
void window_sums(const Window *w);

/* The order of the gradient by the filters. The first opens the loop over chunks h: images
   [n0, n0 + images), rows [y0, y1) of y; the second says which of them tap row r has on the image:
   `rows` from y on. */
/* Texts of their number, and a loop over them, h from `from` to `to`. */
const char *window_chunk_count(Gen *gen, const Entry *e, const ConvGeom *g);
/* Texts of the pixels of a frame and of a chunk (schedule/window.h) where the run decides them;
   else left as they are. */
void window_chunk_sizes(Gen *gen, const Entry *e, const ConvGeom *g, const char **frame,
                        const char **chunk);
void window_chunks(Gen *gen, const Entry *e, Text *x, const ConvGeom *g, const char *from,
                   const char *to);
void window_chunk_rows(Gen *gen, const Entry *e, Text *x, const ConvGeom *g);
/* What the window of an avg_pool at (row, col) of the pooled image divides by. */
const char *window_count_text(const Window *w, const PoolGeom *g, const char *row, const char *col);
#endif
