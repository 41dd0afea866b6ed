/* Shared by the files of the pass layout. */
#ifndef GC_PASSES_LAYOUT_IMPL_H
#define GC_PASSES_LAYOUT_IMPL_H
#include "passes/pass_list.h"

/* The target has a kernel for this convolution on images [N, H, W, C] and filters in panels, and it
   stands in no loop. */
bool layout_is_fast(const Target *t, const Entry *e, const Op *op);
/* Filters as the convolution reads or makes them: panels of outputs, or with `back` of input
   channels, for its gradient by the images. */
const Layout *layout_filter(Ctx *c, const Target *t, const Entry *e, const Op *op, bool back);
/* Gives images their order and copies what lies otherwise; see layout_images.c. */
void layout_images(PassRun *r, Entry *e);
#endif
