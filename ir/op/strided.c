/* The strided iterator, by which views and reductions are evaluated.
   Contract: nothing is visited if a dim is 0; rank 0 has one element. */
#include "ir/op/op.h"

int64_t *row_major_strides(Arena *a, const Type *t) {
  int64_t *stride = ARENA_ARRAY(a, int64_t, t->rank + 1), n = 1;
  for (int i = t->rank - 1; i >= 0; i--) {
    stride[i] = n;
    n *= t->dim[i];
  }
  return stride;
}

int64_t *reduced_strides(Arena *a, const Type *t, const Type *reduced, const Ints *axes) {
  int64_t *stride = ARENA_ARRAY(a, int64_t, t->rank + 1);
  const int64_t *kept = row_major_strides(a, reduced);
  for (int i = 0, k = 0; i < t->rank; i++) {
    bool dropped = k < ints_n(axes) && axes->at[k] == i;
    k += dropped;
    stride[i] = dropped ? 0 : kept[i - k];
  }
  return stride;
}

StridedIter strided_new(Arena *a, const Type *t, int64_t base, const int64_t *stride) {
  return (StridedIter){
      .type = t, .stride = stride, .index = ARENA_ARRAY(a, int64_t, t->rank + 1), .to = base};
}

void strided_next(StridedIter *w) {
  w->from++;
  for (int i = w->type->rank - 1; i >= 0; i--) {
    w->to += w->stride[i];
    if (++w->index[i] < w->type->dim[i]) return;
    w->to -= w->stride[i] * w->type->dim[i];
    w->index[i] = 0;
  }
}
