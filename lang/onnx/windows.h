/* Windows that slide over images; see windows.c. */
#ifndef GC_LANG_ONNX_WINDOWS_H
#define GC_LANG_ONNX_WINDOWS_H
#include "lang/onnx/graph.h"

typedef struct Window {
  int rank;
  int64_t kernel[MOST_RANK], stride[MOST_RANK], dilation[MOST_RANK];
  int64_t before[MOST_RANK], after[MOST_RANK]; /* padding */
  Axis in[MOST_RANK], out[MOST_RANK];          /* extents of the image */
  bool ceil;
} Window;

/* An attribute with so many numbers from 0 on, or what holds where it is not there; false after
   refusing. */
bool window_list(Node *n, const char *name, int count, int64_t otherwise, int64_t *at);
/* "stride = …, pad = […]" and the dilation. */
const char *window_options(Node *n, const Window *w, bool dilation);

/* ---- unpool.c ---- */
/* Output 1 of a pool: where in the tensor the largest of each window stands. */
bool give_places_of_largest(Node *n, const Window *w, const Shape *s);
#endif
