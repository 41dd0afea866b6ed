/* What the gradient rules share: who wants a gradient, constants, undoing a reduction.
   Contract: rules build through the context's builder and name only the values they read. */
#include "ir/op/op.h"

bool grad_wants(const GradCtx *g, const Op *op, int operand) {
  return dtype_is_float(value_type(g->e, op->operands[operand])->dtype) &&
         grad_needs(g, op, operand);
}

ValueId grad_const(GradCtx *g, ValueId like, double k) {
  return build_const(g->b, value_type(g->e, like), k);
}

ValueId grad_spread(GradCtx *g, ValueId v, const Type *t, const Ints *axes) {
  int64_t *dim = ARENA_ARRAY(g->e->module->arena, int64_t, t->rank + 1);
  for (int i = 0, k = 0; i < t->rank; i++) {
    bool dropped = k < ints_n(axes) && axes->at[k] == i;
    k += dropped;
    dim[i] = dropped ? 1 : t->dim[i];
  }
  const Type *keep = type_get(g->e->module->ctx, value_type(g->e, v)->dtype, t->rank, dim);
  const Type *full = type_with_dtype(g->e->module->ctx, t, keep->dtype);
  return build_broadcast(g->b, build_reshape(g->b, v, keep), full);
}
