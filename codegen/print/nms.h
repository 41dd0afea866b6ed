/* What the printers of non-maximum suppression share. */
#ifndef GC_CODEGEN_PRINT_NMS_H
#define GC_CODEGEN_PRINT_NMS_H
#include "codegen/program/gen.h"

typedef struct Nms {
  int boxes, scores, limit; /* arguments of the kernel: one value may be several operands */
  int64_t rows;             /* of scores: images and their classes */
  int64_t classes, n, most; /* n boxes of an image */
} Nms;

Nms nms_of(const Group *gr);
/* Whether box i and box j of the image overlap by more than the limit, as `over`; the floats `box`
   and `limit` are declared. */
void nms_print_overlap(Text *x, const char *i, const char *j);
/* The scores are of some box. */
#define NMS_IS_SCORE ">= -3.402823466e38f"
#endif
