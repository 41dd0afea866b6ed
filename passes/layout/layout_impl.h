/* Shared by the files of the pass layout. */
#ifndef GC_PASSES_LAYOUT_IMPL_H
#define GC_PASSES_LAYOUT_IMPL_H
#include "passes/manager/pass_list.h"

/* The target has a kernel for this convolution on images [N, H, W, C] and filters in panels. */
bool layout_is_fast(const Target *t, const Entry *e, const Op *op);
/* Filters as the convolution reads or makes them: panels of outputs, or with `back` of input
   channels, for its gradient by the images. */
const Layout *layout_filter(Ctx *c, const Target *t, const Entry *e, const Op *op, bool back);
/* Both operands of a convolution hold integers, so that its sums are exact if it is direct. */
bool layout_multiplies_integers(const Entry *e, const Op *conv);
/* The panels of a matrix as a product's right operand, which reads axis `columns` as its columns:
   1, or 0 where it is transposed. NULL: a matrix much narrower than a panel would be padding. */
const Layout *layout_weight(Ctx *c, const Target *target, const Type *t, int columns);
/* Copies weights that loops read transposed into panels before them; see transposed_weights.c. */
void layout_transposed_weights(PassRun *r, Entry *e);
/* Pads the rows of products' operands; see padded_rows.c. */
void layout_padded_rows(PassRun *r, Entry *e);
/* Gives images their order and copies what lies otherwise; see images.c. */
void layout_images(PassRun *r, Entry *e);
#endif
