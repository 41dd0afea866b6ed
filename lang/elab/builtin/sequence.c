/* Built-in functions along sequences: norms, attention, dropout.
   Contract: each is one op, whose gradient saves little. A missing optional argument is no operand.
 */
#include "lang/elab/builtin/builtin.h"

#include <math.h>

/* layer_norm and rms_norm; the data is the op */
Val builtin_norm(BuiltinCall *s) {
  double eps = val_number(arg(s, "eps"));
  if (!(eps >= 0)) return fail(s->e, arg_loc(s, "eps"), "%s needs an eps of at least 0", s->name);
  Attr attr[MAX_ATTRS] = {[AT_EPS] = {.f = eps}};
  Val x = arg(s, "x");
  return build_checked(s->e, (OpKind)s->f->data, &x, 1, attr, NULL, s->name, s->loc);
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
    return fail(e, arg_loc(s, "mask"), "attention needs bools for 'mask', found %s",
                val_str(e, in[3]));
  return build_checked(e, OP_ATTENTION, in, 3 + masked, attr, NULL, s->name, s->loc);
}

Val builtin_dropout(BuiltinCall *s) {
  Elab *e = s->e;
  double p = val_number(arg(s, "p"));
  if (!(p >= 0 && p < 1))
    return fail(e, arg_loc(s, "p"), "dropout needs a probability of at least 0 and below 1, not %s",
                val_str(e, arg(s, "p")));
  if (!e->run->training || p == 0) return arg(s, "x");
  RandomKey r = draw_next(e);
  Attr attr[MAX_ATTRS] = {
      [AT_KEEP] = {.f = 1 - p}, [AT_KEY] = {.str = r.key}, [AT_DRAW] = {.i = r.draw}};
  const Type *t = arg(s, "x").tensor.type;
  Val in[2] = {arg(s, "x"), error_value};
  bool loop = r.offset != NO_ID;
  if (loop) {
    const Type *offsets = type_get(e->c, DT_I32, t->rank, t->dim);
    if (!offsets) return fail(e, s->loc, "a dropout of this size in a loop cannot be addressed");
    in[1] = val_tensor(e, build(at(e, s->loc), OP_BROADCAST, &r.offset, 1, NULL, offsets));
  }
  return build_checked(e, OP_DROPOUT, in, 1 + loop, attr, NULL, s->name, s->loc);
}
