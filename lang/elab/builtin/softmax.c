/* Built-in functions: softmax, log_softmax, cross entropy. */
#include "lang/elab/builtin/builtin.h"

/* softmax and log_softmax work on the last axis; another one is moved there and back. */
Val builtin_softmax(BuiltinCall *s) {
  Elab *e = s->e;
  OpKind k = (OpKind)s->f->data;
  Val x = arg(s, "x");
  int rank = x.tensor.type->rank;
  int64_t axis;
  if (!arg_axis(s, "axis", x, &axis)) return error_value;
  if (axis == rank - 1) return build_checked(e, k, &x, 1, NULL, NULL, s->name, s->loc);
  ValueId y = build1(elab_at(e, s->loc), k, swap_last(e, x.tensor.id, axis));
  return val_tensor(e, swap_last(e, y, axis));
}

/* Probabilities in the place of logits would go through softmax twice: a loss that looks well and
   learns slowly. log_softmax of logits has their softmax, and is as good. */
static void check_logits(BuiltinCall *s, Val x) {
  Elab *e = s->e;
  const Op *op = value_def(e->run->entry, x.tensor.id);
  while (op && (op->kind == OP_RESHAPE || op->kind == OP_CONVERT))
    op = value_def(e->run->entry, op->operands[0]);
  if (!op || op->kind != OP_SOFTMAX) return;
  elab_warning(e, arg_loc(s, "logits"), "xent takes logits, and these have been through softmax");
  elab_hint(e, "xent applies softmax itself: give it what softmax was given");
}

Val builtin_xent(BuiltinCall *s) {
  check_logits(s, arg(s, "logits"));
  return op_of_arguments(s, OP_XENT);
}
