/* The built-in function attention.
   Contract: one op, whose gradient saves little. Without a mask there is no operand for it. */
#include "lang/elab/builtin/builtin.h"

#include <math.h>

Val builtin_attention(BuiltinCall *s) {
  Elab *e = s->e;
  const Type *q = arg(s, "q").tensor.type;
  int64_t d = q->rank ? q->dim[q->rank - 1] : 1;
  double scale =
      arg(s, "scale").kind == VAL_NONE ? 1 / sqrt((double)d) : val_number(arg(s, "scale"));
  Attr attr[MAX_ATTRS] = {[AT_SCALE] = {.f = scale}, [AT_CAUSAL] = {.i = arg(s, "causal").b}};
  Val in[4] = {arg(s, "q"), arg(s, "k"), arg(s, "v"), arg(s, "mask")};
  bool masked = in[3].kind != VAL_NONE;
  if (masked && in[3].kind != VAL_TENSOR)
    return elab_fail(e, arg_loc(s, "mask"), "attention needs bools for 'mask', found %s",
                     val_str(e, in[3]));
  return build_checked(e, OP_ATTENTION, in, 3 + masked, attr, NULL, s->name, s->loc);
}
