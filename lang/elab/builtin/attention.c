/* The built-in function attention.
   Contract: one op, whose gradient saves little. Without a mask there is no operand for it. */
#include "lang/elab/builtin/builtin.h"

#include <math.h>

/* Which keys each row of the batch has, as lengths give it, lacks the axes of heads and queries. */
static bool is_of_keys(const Type *mask, const Type *q, const Type *k) {
  return mask->dtype == DT_BOOL && mask->rank == 2 && q->rank == 4 && k->rank == 4 &&
         type_axis(mask, 0) == type_axis(q, 0) && type_axis(mask, 1) == type_axis(k, 2);
}

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
  Val y = build_checked(e, OP_ATTENTION, in, 3 + masked, attr, NULL, s->name, s->loc);
  if (y.kind == VAL_ERROR && masked && is_of_keys(in[3].tensor.type, q, in[1].tensor.type))
    elab_hint(e,
              "a mask of the keys of each row has axes for heads and queries: mask[:, none, none]");
  return y;
}
