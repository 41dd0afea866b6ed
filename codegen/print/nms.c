/* The overlap of two boxes, in the order of operations that the reference has; see nms.h. */
#include "codegen/print/nms.h"

Nms nms_of(const Group *gr) {
  const Op *op = gr->root;
  const Type *scores = value_type(gr->e, op->operands[1]);
  return (Nms){.boxes = group_arg(gr, op->operands[0]),
               .scores = group_arg(gr, op->operands[1]),
               .limit = group_arg(gr, op->operands[2]),
               .rows = scores->dim[0] * scores->dim[1],
               .classes = scores->dim[1],
               .n = scores->dim[2],
               .most = op->attr[AT_MOST].i};
}

void nms_print_overlap(Text *x, const char *i, const char *j) {
  text_line(x, "const float *a = box + %s * 4, *b = box + %s * 4;", i, j);
  for (int side = 0; side < 2; side++)
    text_line(x,
              "const float %s = (a[%d] < b[%d] ? a[%d] : b[%d]) - (a[%d] > b[%d] ? a[%d] : b[%d]);",
              side ? "h" : "w", side + 2, side + 2, side + 2, side + 2, side, side, side, side);
  text_line(x, "const float both = (w > 0 ? w : 0) * (h > 0 ? h : 0);");
  text_line(x, "const float of_a = (a[2] - a[0]) * (a[3] - a[1]);");
  text_line(x, "const float of_b = (b[2] - b[0]) * (b[3] - b[1]);");
  text_line(x, "const bool over = divide(both, of_a + of_b - both) > limit;");
}
