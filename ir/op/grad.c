/* The calls of gradient rules to the pass autodiff: is this operand's gradient needed, and the
   gradient that was built.
   Contract: the calls go through functions of the context, since passes/ is a layer above. A
   gradient whose type differs from its operand's is an internal error. */
#include "ir/ir.h"

bool grad_needs(const GradCtx *g, const Op *op, int operand) { return g->needs(g, op, operand); }

ValueId grad_of(const GradCtx *g, const Op *op, int result) { return g->of(g, op, result); }

void grad_to(GradCtx *g, const Op *op, int operand, ValueId d) {
  Ctx *c = g->e->module->ctx;
  const Type *have = value_type(g->e, d), *want = value_type(g->e, op->operands[operand]);
  if (have != want)
    gc_bug(c, "the gradient rule of %s made %s for operand %d of type %s", op_info[op->kind].name,
           type_str(c, have), operand, type_str(c, want));
  g->to(g, op, operand, d);
}
