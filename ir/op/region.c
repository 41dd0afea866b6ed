/* Ops with blocks, and the terminators of blocks: fused kernels, scans. */
#include "ir/op/op.h"

void eval_kernel(EvalCtx *c, const Op *op) {
  const Block *b = op->blocks[0];
  for (uint32_t i = 0; i < b->args.n; i++) c->value[b->args.at[i]] = *eval_in(c, op, (int)i);
  eval_block(c, b);
  if (c->it->why[0]) return;
  const Op *end = op_at(c->e, b->ops.at[b->ops.n - 1]);
  for (int i = 0; i < op->nresults; i++) c->value[op->results[i]] = *eval_in(c, end, i);
}

/* Slice k of a stacked tensor, as a tensor that shares its elements. */
static Tensor slice_at(const Tensor *t, const Type *row, int64_t k) {
  return (Tensor){.type = row, .at = t->at + k * row->numel};
}

void eval_scan(EvalCtx *c, const Op *op) {
  const Block *b = op->blocks[0];
  const Op *end = op_at(c->e, b->ops.at[b->ops.n - 1]);
  int64_t trips = op->attr[AT_TRIPS].i, carries = op->attr[AT_CARRIES].i;
  Tensor *next = ARENA_ARRAY(c->scratch, Tensor, carries + 1);
  Tensor count = {.type = value_type(c->e, b->args.at[0])};
  for (int64_t i = 0; i < carries; i++) next[i] = *eval_in(c, op, (int)i);
  for (int i = (int)carries; i < op->nresults; i++) {
    const Type *t = value_type(c->e, op->results[i]);
    c->value[op->results[i]] = (Tensor){.type = t, .at = ARENA_ARRAY(c->scratch, Scalar, t->numel)};
  }
  for (int64_t k = 0; k < trips; k++) {
    int64_t at = op->attr[AT_REVERSE].i ? trips - 1 - k : k;
    count.at = ARENA_ARRAY(c->scratch, Scalar, 1);
    count.at[0].i = at;
    c->value[b->args.at[0]] = count;
    for (int i = 0; i < op->noperands; i++) {
      ValueId arg = b->args.at[i + 1];
      c->value[arg] =
          i < carries ? next[i] : slice_at(eval_in(c, op, i), value_type(c->e, arg), at);
    }
    eval_block(c, b);
    if (c->it->why[0]) return;
    for (int i = 0; i < op->nresults; i++) {
      Tensor y = *eval_in(c, end, i);
      if (i < carries)
        next[i] = y;
      else
        memcpy(slice_at(&c->value[op->results[i]], y.type, at).at, y.at,
               sizeof(Scalar) * (size_t)y.type->numel);
    }
  }
  for (int64_t i = 0; i < carries; i++) c->value[op->results[i]] = next[i];
}

/* The backward pass of a scan is another scan, which the pass autodiff builds. */
void grad_scan(GradCtx *g, const Op *op, ValueId dy) {
  (void)dy;
  g->region(g, op);
}

/* The block's holder reads the operands. */
void eval_yield(EvalCtx *c, const Op *op) {}
