/* Views: the same numbers elsewhere, and their inverses as gradients.
   Contract: elements are visited in row-major order of the result; every view is an index map from
   result to operand, so one walk evaluates them all. */
#include "ir/op/op.h"

/* ---- shapes ---- */

/* A list with one entry for every axis of the operand, none below `least`. */
static bool per_axis(const ShapeIn *in, const char *what, const Ints *l, int64_t least) {
  const Type *t = in->type[0];
  if (ints_n(l) != t->rank)
    return shape_wrong(in, "needs %d %s for %s, not %d", t->rank, what, shape_str(in, t), ints_n(l));
  for (int i = 0; i < t->rank; i++)
    if (l->at[i] < least)
      return shape_wrong(in, "needs %s of at least %lld, not %lld, on axis %d", what,
                         (long long)least, (long long)l->at[i], i);
  return true;
}

static bool keeps_dtype(const ShapeIn *in) {
  if (!in->given) return shape_given(in) != NULL;
  if (in->given->dtype == in->type[0]->dtype) return true;
  return shape_wrong(in, "keeps the dtype: %s cannot become %s", shape_str(in, in->type[0]),
                     shape_str(in, in->given));
}

const Type *shape_reshape(const ShapeIn *in) {
  const Type *t = in->type[0];
  if (!keeps_dtype(in)) return NULL;
  if (t->numel != in->given->numel)
    return shape_wrong(in, "keeps the number of elements: %s has %lld, %s has %lld",
                       shape_str(in, t), (long long)t->numel, shape_str(in, in->given),
                       (long long)in->given->numel);
  return in->given;
}

const Type *shape_transpose(const ShapeIn *in) {
  const Type *t = in->type[0];
  const Ints *perm = in->attr[AT_PERM].ints;
  if (ints_n(perm) != t->rank)
    return shape_wrong(in, "needs a permutation of the %d axes of %s, not %d numbers", t->rank,
                       shape_str(in, t), ints_n(perm));
  int64_t dim[t->rank ? t->rank : 1];
  for (int i = 0; i < t->rank; i++) {
    int64_t p = perm->at[i];
    if (p < 0 || p >= t->rank)
      return shape_wrong(in, "has no axis %lld in %s", (long long)p, shape_str(in, t));
    for (int j = 0; j < i; j++)
      if (perm->at[j] == p) return shape_wrong(in, "names axis %lld twice", (long long)p);
    dim[i] = t->dim[p];
  }
  return shape_make(in, t->dtype, t->rank, dim);
}
