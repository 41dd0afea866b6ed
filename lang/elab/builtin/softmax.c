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

Val builtin_xent(BuiltinCall *s) {
  check_logits(s->e, "xent", "logits", arg(s, "logits"), arg_loc(s, "logits"));
  return op_of_arguments(s, OP_XENT);
}
