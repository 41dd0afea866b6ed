/* Ops along the last axis, row by row: softmax, log_softmax, cross entropy, and their gradients.
   Contract: the largest element of a row is subtracted before exp, so no finite row overflows; the
   gradients read the outputs, xent's reads the logits, nothing else is kept. */
#include "ir/op/op.h"

/* ---- shapes ---- */

static bool has_rows(const ShapeIn *in, const Type *t) {
  if (!dtype_is_float(t->dtype))
    return shape_wrong(in, "needs floats, not %s: convert with f32(x)", shape_str(in, t));
  if (t->rank == 0 || t->dim[t->rank - 1] == 0)
    return shape_wrong(in, "needs elements along the last axis of %s", shape_str(in, t));
  return true;
}

const Type *shape_row(const ShapeIn *in) {
  if (!has_rows(in, in->type[0])) return NULL;
  return in->n == 1 || shape_equal(in, 0, 1) ? in->type[0] : NULL;
}

static bool labels_fit(const ShapeIn *in, const Type *logits, const Type *labels) {
  if (!has_rows(in, logits)) return false;
  if (!dtype_is_int(labels->dtype))
    return shape_wrong(in, "needs integer labels, not %s", shape_str(in, labels));
  bool fits = labels->rank == logits->rank - 1;
  for (int i = 0; fits && i < labels->rank; i++) fits = labels->dim[i] == logits->dim[i];
  return fits || shape_wrong(in, "needs one label for every row: logits %s against labels %s",
                             shape_str(in, logits), shape_str(in, labels));
}

const Type *shape_xent(const ShapeIn *in) {
  const Type *t = in->type[0];
  return labels_fit(in, t, in->type[1]) ? shape_make(in, t->dtype, t->rank - 1, t->dim) : NULL;
}

const Type *shape_xent_grad(const ShapeIn *in) {
  const Type *dy = in->type[0], *t = in->type[1], *labels = in->type[2];
  if (!labels_fit(in, t, labels)) return NULL;
  if (dy->dtype != t->dtype || !shape_same_dims(dy, labels))
    return shape_wrong(in, "needs one gradient for every row: %s against logits %s",
                       shape_str(in, dy), shape_str(in, t));
  return t;
}
