/* Globals: load and store.
   Contract: a load copies the value at entry; a store takes effect when the entry has ended. So the
   order of loads and stores within a run does not matter. */
#include "ir/op/op.h"

void eval_load(EvalCtx *c, const Op *op) {
  Tensor *t = eval_out(c, op), *g = &c->it->globals[op->attr[AT_GLOBAL].i];
  memcpy(t->at, g->at, sizeof(Scalar) * (size_t)t->type->numel);
}

void eval_store(EvalCtx *c, const Op *op) { c->stored[op->attr[AT_GLOBAL].i] = *eval_in(c, op, 0); }
