/* Pinned values: those that a grad op differentiates by.
   Contract: until autodiff has expanded every grad, a pinned value is told from every other one.
   With y = x + 0, grad(f(y) + g(x), y) is f' alone; were y one with x, it would be f' + g'. So a
   pass that folds or merges puts a copy behind what computes a pinned value: copies are never
   folded or merged, and no folding rule looks through them. Autodiff takes them out at its end. */
#include "passes/manager/pass_list.h"

/* Inputs and loads need no copy: nothing but themselves can become one with them. */
static bool can_merge(const Entry *e, ValueId v) {
  const Op *def = value_def(e, v);
  return def && def->kind != OP_LOAD;
}

bool *pass_pinned(Arena *a, const Entry *e) {
  bool *pinned = NULL;
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    if (op->kind != OP_GRAD) continue;
    for (int k = 1; k < op->noperands; k++) {
      if (!can_merge(e, op->operands[k])) continue;
      if (!pinned) pinned = ARENA_ARRAY(a, bool, e->values.n);
      pinned[op->operands[k]] = true;
    }
  }
  return pinned;
}

ValueId pass_pin(Builder *b, const Entry *old, ValueId was, ValueId now) {
  const Op *def = value_def(old, was);
  if (def && def->kind == OP_COPY) return now; /* it is the copy of an earlier pass */
  const Type *t = value_type(b->e, now);
  b->name = NULL;
  ValueId pin = build_op(b, OP_COPY, &now, 1, NULL, &t, 1)->results[0];
  value_at(b->e, pin)->name = value_at(old, was)->name;
  return pin;
}
