/* Non-maximum suppression: of boxes that overlap, those of the highest scores.
   Contract: boxes are [images, boxes, 4], two corners each, the lower one first; scores are
   [images, classes, boxes]. Of each class a box is chosen if no chosen one of the class overlaps it
   by more than the limit: both areas' common part over their union. The highest score comes first,
   of equal ones the first box. A score of -inf or NaN is none. What is not chosen is -1, behind all
   that is; it has no gradient. */
#include "ir/op/op.h"

#include <math.h>

const Type *shape_nms(const ShapeIn *in) {
  const Type *boxes = in->type[0], *scores = in->type[1], *limit = in->type[2];
  const int64_t most = in->attr[AT_MOST].i;
  for (int i = 0; i < 3; i++)
    if (in->type[i]->dtype != DT_F32)
      return shape_wrong(in, "needs f32, not %s", shape_str(in, in->type[i]));
  if (boxes->rank != 3 || boxes->dim[2] != 4)
    return shape_wrong(in, "needs boxes [images, boxes, 4], not %s", shape_str(in, boxes));
  if (scores->rank != 3 || scores->dim[0] != boxes->dim[0] || scores->dim[2] != boxes->dim[1])
    return shape_wrong(in, "needs scores [images, classes, boxes] of boxes %s, not %s",
                       shape_str(in, boxes), shape_str(in, scores));
  if (limit->rank != 0) return shape_wrong(in, "needs one limit, not %s", shape_str(in, limit));
  if (most < 1 || most > INT32_MAX || boxes->dim[1] > INT32_MAX)
    return shape_wrong(in, "takes 1 to 2147483647 boxes of a class, not %lld", (long long)most);
  return shape_make(in, DT_I32, 3, (int64_t[]){scores->dim[0], scores->dim[1], most});
}

static float least_of(float a, float b) { return a < b ? a : b; }
static float most_of(float a, float b) { return a > b ? a : b; }

/* Whether two boxes overlap by more than the limit; in f32, as programs compute it. */
static bool overlaps(const Scalar *a, const Scalar *b, float limit) {
  float side[2], of_a[2], of_b[2];
  for (int i = 0; i < 2; i++) {
    const float low_a = (float)a[i].f, low_b = (float)b[i].f, high_a = (float)a[i + 2].f,
                high_b = (float)b[i + 2].f;
    side[i] = most_of(least_of(high_a, high_b) - most_of(low_a, low_b), 0);
    of_a[i] = high_a - low_a, of_b[i] = high_b - low_b;
  }
  const float both = side[0] * side[1];
  return both / (of_a[0] * of_a[1] + of_b[0] * of_b[1] - both) > limit;
}

void eval_nms(EvalCtx *c, const Op *op) {
  const Tensor *boxes = eval_in(c, op, 0), *scores = eval_in(c, op, 1);
  Tensor *y = eval_out(c, op);
  const int64_t n = boxes->type->dim[1], classes = scores->type->dim[1], most = y->type->dim[2];
  const float limit = (float)eval_in(c, op, 2)->at[0].f;
  bool *left = ARENA_ARRAY(c->scratch, bool, n + 1);
  for (int64_t row = 0; row < y->type->numel / most; row++) {
    const Scalar *box = boxes->at + row / classes * n * 4, *score = scores->at + row * n;
    for (int64_t i = 0; i < n; i++) left[i] = score[i].f > -(double)INFINITY;
    for (int64_t k = 0; k < most; k++) {
      int64_t best = -1;
      for (int64_t i = 0; i < n; i++)
        if (left[i] && (best < 0 || score[i].f > score[best].f)) best = i;
      y->at[row * most + k].i = best;
      for (int64_t i = 0; best >= 0 && i < n; i++)
        left[i] = left[i] && i != best && !overlaps(box + best * 4, box + i * 4, limit);
    }
  }
}
