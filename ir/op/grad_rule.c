/* Helpers of gradient rules: operands that need a gradient, constants, the inverse of a reduction.
   Contract: rules build through the context's builder and name only the values they read. */
#include "ir/op/op.h"

bool grad_wants(const GradCtx *g, const Op *op, int operand) {
  return dtype_is_float(value_type(g->e, op->operands[operand])->dtype) &&
         grad_needs(g, op, operand);
}

ValueId grad_const(GradCtx *g, ValueId like, double k) {
  return build_const(g->b, value_type(g->e, like), k);
}

ValueId build_unreduce(Builder *b, ValueId v, const Type *t, const Ints *axes) {
  Ctx *c = b->m->ctx;
  int64_t *dim = ARENA_ARRAY(b->m->arena, int64_t, t->rank + 1);
  for (int i = 0, k = 0; i < t->rank; i++) {
    bool dropped = k < ints_n(axes) && axes->at[k] == i;
    k += dropped;
    dim[i] = dropped ? 1 : type_axis(t, i);
  }
  const Type *kept = type_get(c, value_type(b->e, v)->dtype, t->rank, dim);
  return build_broadcast(b, build_reshape(b, v, kept), type_with_dtype(c, t, kept->dtype));
}

ValueId grad_unreduce(GradCtx *g, ValueId v, const Type *t, const Ints *axes) {
  return build_unreduce(g->b, v, t, axes);
}

ValueId grad_sum_last(GradCtx *g, ValueId v) {
  return build_reduce(g->b, OP_SUM, v, &(int64_t){value_type(g->e, v)->rank - 1}, 1);
}

ValueId grad_over_last(GradCtx *g, ValueId v, const Type *t) {
  return grad_unreduce(g, v, t, intern_ints(g->e->module->ctx, &(int64_t){t->rank - 1}, 1));
}
