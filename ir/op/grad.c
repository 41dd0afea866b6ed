/* What gradient rules call: does anyone want this operand's gradient, and here it is.
   Contract: the answers belong to whoever asked for gradients (passes/autodiff/autodiff.c), a floor
   above, and are reached through the context; a gradient of another type than its operand is an
   internal error. */
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
