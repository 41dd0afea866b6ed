/* NonMaxSuppression: of boxes that overlap, those of the highest scores. Contract: boxes become two
   corners, the lower one first; scores that are not above the threshold, -inf. Rows behind the
   number of boxes are of no meaning (counted.c). */
#include "lang/onnx/import.h"

/* Two corners of each box: [images, boxes, 4]. */
static const char *corners_of(Node *n, const char *boxes, bool centers) {
  const char *a = text(n, "%s[:, :, 0:2]", boxes), *b = text(n, "%s[:, :, 2:4]", boxes);
  const char *low = let(n, text(n, centers ? "%s - %s / 2" : "min(%s, %s)", a, b)),
             *high = let(n, text(n, centers ? "%s + %s / 2" : "max(%s, %s)", a, b));
  return let(n, text(n, "concat([%s, %s], axis = 2)", low, high));
}

/* One number, or an expression of what the run has; NULL after refusing. */
static const char *threshold(Node *n, int in, const char *otherwise) {
  Tensor *v = input(n, in);
  uint64_t count;
  Number x;
  if (!v) return otherwise;
  if (!shape_count(&v->shape, &count) || count != 1 || v->type != ELEM_F32)
    return refuse(n, "a threshold that is no number"), NULL;
  if (is_one_number(n->im, v, &x)) return number_text(n->im, v->type, x);
  return let(n, reshaped(n, tensor_text(n, v), &(Shape){0}));
}

bool onnx_suppression(Node *n) {
  Tensor *boxes = input(n, 0), *scores = input(n, 1);
  int64_t b[MOST_RANK], s[MOST_RANK], most = 0;
  int count;
  enum { MOST = 1 << 24 };
  if (boxes->shape.rank != 3 || scores->shape.rank != 3 || boxes->type != ELEM_F32 ||
      scores->type != ELEM_F32)
    return refuse(
        n, "boxes and scores of another form than [images, boxes, 4] and [images, classes, boxes]");
  if (!shape_numbers(n, boxes, b) || !shape_numbers(n, scores, s)) return false;
  if (b[0] != s[0] || b[1] != s[2] || b[2] != 4 || axis_is_counted(&boxes->shape, 0, 1) ||
      axis_is_counted(&scores->shape, 0, 2))
    return refuse(n, "shapes that do not fit");
  if (input(n, 2) && !known_int(n, 2, &most)) return false;
  if (most > b[1]) most = b[1];
  if (most < 1 || s[0] < 1 || s[1] < 1) return refuse(n, "a tensor without elements");
  if (s[1] > MOST / s[0] || s[0] * s[1] > MOST / most)
    return refuse(n, "more than %d boxes to be chosen", MOST);
  const int64_t all = s[0] * s[1] * most;
  const char *overlap = threshold(n, 3, "0"), *least = overlap ? threshold(n, 4, "") : NULL;
  if (!least) return false;
  const char *all_scores = rows_filled(n, tensor_text(n, scores), scores->type, &scores->shape,
                                       (bool[]){false, false, true}, "-inf");
  if (*least)
    all_scores = let(n, text(n, "where(%s > %s, %s, -inf)", all_scores, least, all_scores));
  const char *corners =
      corners_of(n, tensor_text(n, boxes), attr_int(n, "center_point_box", 0) != 0);
  const char *at = let(n, text(n, "reshape(nms(%s, %s, %lld, %s), [%lld])", corners, all_scores,
                               (long long)most, overlap, (long long)all));
  const char *ids = chosen(n, text(n, "%s >= 0", at), all, &count);
  const Shape rows = {.rank = 2, .at = {{.n = all, .counted = count}, {.n = 3}}};
  return give(n, 0, ELEM_I64, &rows,
              text(n,
                   "i64(stack([%s // %lld, %s // %lld %% %lld, max(gather(%s, %s), 0)], axis = 1))",
                   ids, (long long)(s[1] * most), ids, (long long)most, (long long)s[1], at, ids));
}
