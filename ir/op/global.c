/* Ops that touch the run around them: globals, fused kernels, terminators.
   Contract: a load sees the value at entry and copies it; a store waits until the entry has ended,
   so the order of loads and stores inside one run cannot matter. */
#include "ir/op/op.h"

void eval_load(EvalCtx *c, const Op *op) {
  Tensor *t = eval_out(c, op), *g = &c->it->globals[op->attr[AT_GLOBAL].i];
  memcpy(t->at, g->at, sizeof(Scalar) * (size_t)t->type->numel);
}

void eval_store(EvalCtx *c, const Op *op) { c->stored[op->attr[AT_GLOBAL].i] = *eval_in(c, op, 0); }

void eval_kernel(EvalCtx *c, const Op *op) {
  const Block *b = op->blocks[0];
  for (uint32_t i = 0; i < b->args.n; i++) c->value[b->args.at[i]] = *eval_in(c, op, (int)i);
  eval_block(c, b);
  if (c->it->why[0]) return;
  const Op *end = op_at(c->e, b->ops.at[b->ops.n - 1]);
  for (int i = 0; i < op->nresults; i++) c->value[op->results[i]] = *eval_in(c, end, i);
}

/* The block's holder reads the operands. */
void eval_yield(EvalCtx *c, const Op *op) {}
