/* Walking a tensor in row-major order with an offset into another one: how views, reductions and
   their like are evaluated.
   Contract: nothing is visited when a dim is 0; rank 0 has one element. */
#include "ir/op/op.h"

int64_t *walk_strides(Arena *a, const Type *t) {
  int64_t *stride = ARENA_ARRAY(a, int64_t, t->rank + 1), n = 1;
  for (int i = t->rank - 1; i >= 0; i--) {
    stride[i] = n;
    n *= t->dim[i];
  }
  return stride;
}

Walk walk_new(Arena *a, const Type *t, int64_t base, const int64_t *stride) {
  return (Walk){
      .type = t, .stride = stride, .index = ARENA_ARRAY(a, int64_t, t->rank + 1), .to = base};
}

void walk_next(Walk *w) {
  w->from++;
  for (int i = w->type->rank - 1; i >= 0; i--) {
    w->to += w->stride[i];
    if (++w->index[i] < w->type->dim[i]) return;
    w->to -= w->stride[i] * w->type->dim[i];
    w->index[i] = 0;
  }
}
