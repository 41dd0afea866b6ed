/* Targets of gradients: the values that a grad op differentiates by.
   Contract: a target stays distinct from every other value until autodiff has expanded every grad.
   With y = x + 0, grad(f(y) + g(x), y) is f' alone; if y became x, it would be f' + g'. A pass that
   folds or merges therefore copies a target. Copies are never folded or merged, and no folding rule
   looks through them. Autodiff removes them at its end. */
#include "passes/manager/pass_list.h"

/* Inputs and loads need no copy: no other value merges with them. */
static bool can_merge(const Entry *e, ValueId v) {
  const Op *def = value_def(e, v);
  return def && def->kind != OP_LOAD;
}

bool *grad_targets(Arena *a, const Entry *e) {
  bool *is_target = NULL;
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    if (op->kind != OP_GRAD) continue;
    for (int k = 1; k < op->noperands; k++) {
      if (!can_merge(e, op->operands[k])) continue;
      if (!is_target) is_target = ARENA_ARRAY(a, bool, e->values.n);
      is_target[op->operands[k]] = true;
    }
  }
  return is_target;
}

ValueId mark_grad_target(Builder *b, const Entry *old, ValueId was, ValueId now) {
  const Op *def = value_def(old, was);
  if (def && def->kind == OP_COPY) return now; /* the copy of an earlier pass */
  const Type *t = value_type(b->e, now);
  b->name = NULL;
  ValueId copy = build_op(b, OP_COPY, &now, 1, NULL, &t, 1)->results[0];
  value_at(b->e, copy)->name = value_at(old, was)->name;
  return copy;
}
