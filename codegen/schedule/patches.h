/* Convolutions of patches: the filter is as large as its stride, nothing is padded or dilated, and
   so no two pixels of the result read the same pixel. They are products, whose depth is the
   channels of a group and their taps as filters have them: convolutions of one tap, and of as many
   channels, of which some follow each other in a row of the image. */
#ifndef GC_CODEGEN_SCHEDULE_PATCHES_H
#define GC_CODEGEN_SCHEDULE_PATCHES_H
#include "ir/op/window.h"

/* Bytes of a copy, at most and least: what cp.async takes. */
enum { PATCH_WIDEST = 16, PATCH_NARROWEST = 4 };

/* Elements of `size` bytes that one copy finds side by side, and `p`, the convolution of one tap,
   whose h.in and w.in are the pixels that patches cover. 0: `c` has no patches, or a copy would be
   too narrow. */
int conv_patches(const ConvGeom *c, int size, ConvGeom *p);
#endif
