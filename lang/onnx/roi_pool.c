/* MaxRoiPool: the largest element of each part of a box. Contract: sides of boxes are rounded to
   whole pixels; a part that holds none gives 0. */
#include "lang/onnx/graph.h"

/* Of each box and part along an axis of so many pixels whether a pixel is in it: bools
   [boxes, parts, pixels]. */
static const char *pixels_in(Node *n, const char *boxes, int side, int64_t parts, int64_t pixels,
                             Axis count) {
  const double scale = attr_real(n, "spatial_scale", 1);
  const Shape one = {.rank = 3, .at = {count, {.n = 1}, {.n = 1}}};
  const char *end[2];
  for (int i = 0; i < 2; i++) { /* half a pixel goes away from 0 */
    const char *x = let(n, text(n, "%s[:, %d] * %s", boxes, 1 + side + 2 * i, real(n, scale)));
    end[i] = let(n, reshaped(n, text(n, "sign(%s) * floor(abs(%s) + 0.5)", x, x), &one));
  }
  const char *size =
                 let(n, text(n, "max(%s - %s + 1, 1) / %lld", end[1], end[0], (long long)parts)),
             *part = text(n, "f32(%s)", along(n, parts, 1, 3)),
             *pixel = text(n, "f32(%s)", along(n, pixels, 2, 3));
  return let(n, text(n, "%s >= floor(%s * %s) + %s and %s < ceil((%s + 1) * %s) + %s", pixel, part,
                     size, end[0], pixel, part, size, end[0]));
}

bool onnx_max_roi_pool(Node *n) {
  Tensor *v = input(n, 0), *boxes = input(n, 1);
  int64_t size[2 * MOST_RANK], d[MOST_RANK];
  int count = 0;
  enum { MOST = 1 << 12 };
  if (v->shape.rank != 4 || v->type != ELEM_F32 || boxes->type != ELEM_F32 ||
      boxes->shape.rank != 2 || !dim_same(boxes->shape.at[1], (Axis){.n = 5}))
    return refuse(n, "shapes that do not fit");
  if (!attr_ints(n, "pooled_shape", size, &count) || count != 2 || size[0] < 1 || size[1] < 1 ||
      size[0] > MOST || size[1] > MOST)
    return refuse(n, "a size of 0, or one that is too large");
  if (!shape_numbers(n, v, d)) return false;
  const Axis many = boxes->shape.at[0];
  const char *t = let(n, tensor_text(n, boxes)), *of = let(n, text(n, "i32(%s[:, 0])", t)),
             *rows = pixels_in(n, t, 1, size[0], d[2], many),
             *columns = pixels_in(n, t, 0, size[1], d[3], many);
  /* along each row of pixels first */
  const char *x =
      let(n, text(n, "max(where(%s[:, none, none], gather(%s, %s)[:, :, :, none], -inf), axis = 4)",
                  columns, tensor_text(n, v), of));
  x = let(n,
          text(n, "max(where(%s[:, none, :, :, none], %s[:, :, none], -inf), axis = 3)", rows, x));
  const Shape s = {.rank = 4, .at = {many, v->shape.at[1], {.n = size[0]}, {.n = size[1]}}};
  return give(n, 0, v->type, &s, text(n, "where(%s == -inf, 0, %s)", x, x));
}
