/* dynamic_update: a tensor with a part replaced that starts at a run-time index, as in a key-value
   cache, which is updated in place at every step.
   Contract: the start is an integer scalar of any dtype, at least 0, and y fits behind it; else it
   is a fault of the data. */
#include "ir/op/op.h"

const Type *shape_dynamic_update(const ShapeIn *in) {
  const Type *x = in->type[0], *y = in->type[1], *start = in->type[2];
  int64_t axis = in->attr[AT_AXIS].i;
  if (axis < 0 || axis >= x->rank)
    return shape_wrong(in, "has no axis %lld in %s", (long long)axis, shape_str(in, x));
  bool fits = y->rank == x->rank && y->dtype == x->dtype;
  for (int i = 0; fits && i < x->rank; i++)
    fits = i == axis ? y->dim[i] <= x->dim[i] : y->dim[i] == x->dim[i];
  if (!fits)
    return shape_wrong(in, "along axis %lld needs a part of %s, not %s", (long long)axis,
                       shape_str(in, x), shape_str(in, y));
  if (!dtype_is_int(start->dtype) || start->rank > 0)
    return shape_wrong(in, "needs one integer as its start, not %s", shape_str(in, start));
  return x;
}

/* The replaced part of x has no gradient; y has that part of dz. */
void grad_dynamic_update(GradCtx *g, const Op *op, ValueId dz) {
  Ctx *c = g->e->module->ctx;
  const Type *x = value_type(g->e, op->operands[0]), *y = value_type(g->e, op->operands[1]);
  int axis = (int)op->attr[AT_AXIS].i;
  ValueId start = op->operands[2];
  if (grad_wants(g, op, 0)) {
    ValueId in[3] = {dz, grad_const(g, op->operands[1], 0), start};
    grad_to(g, op, 0, build(g->b, OP_DYNAMIC_UPDATE, in, 3, op->attr, NULL));
  }
  if (!grad_wants(g, op, 1)) return;
  int64_t *front = ARENA_ARRAY(g->e->module->arena, int64_t, x->rank);
  int64_t *back = ARENA_ARRAY(g->e->module->arena, int64_t, x->rank);
  front[0] = axis;
  for (int i = 0, to = 1; i < x->rank; i++)
    if (i != axis) front[to++] = i;
  for (int i = 0; i < x->rank; i++) back[front[i]] = i;
  const Type *ids = type_get(c, DT_I64, 1, (const int64_t[]){type_axis(y, axis)}); /* of a run */
  ValueId at = build_broadcast(g->b, build_convert(g->b, start, DT_I64), ids);
  at = build2(g->b, OP_ADD, at, build(g->b, OP_IOTA, NULL, 0, NULL, ids));
  ValueId rows = build2(g->b, OP_GATHER, build_transpose(g->b, dz, front), at);
  grad_to(g, op, 1, build_transpose(g->b, rows, back));
}

void eval_dynamic_update(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0), *y = eval_in(c, op, 1), *start = eval_in(c, op, 2);
  Tensor *z = eval_out(c, op);
  int axis = (int)op->attr[AT_AXIS].i;
  int64_t at = start->at[0].i, last = x->type->dim[axis] - y->type->dim[axis];
  if (at < 0 || at > last) {
    eval_fault(c, "a part that starts at %lld leaves the axis of %lld", (long long)at,
               (long long)x->type->dim[axis]);
    return;
  }
  if (x->type->numel) memcpy(z->at, x->at, sizeof(Scalar) * (size_t)x->type->numel);
  const int64_t *stride = row_major_strides(c->scratch, x->type);
  for (StridedIter w = strided_new(c->scratch, y->type, at * stride[axis], stride);
       strided_more(&w); strided_next(&w))
    z->at[w.to] = y->at[w.from];
}
