/* Built-in functions that normalise: layer_norm, rms_norm, batch_norm.
   Contract: each is one op, whose gradient saves little. A missing optional argument is no operand.
 */
#include "lang/elab/builtin/builtin.h"

/* layer_norm and rms_norm; the data is the op */
Val builtin_normalize(BuiltinCall *s) {
  Attr attr[MAX_ATTRS] = {[AT_EPS] = {.f = val_number(arg(s, "eps"))}};
  Val x = arg(s, "x");
  return build_checked(s->e, (OpKind)s->f->data, &x, 1, attr, NULL, s->name, s->loc);
}

/* batch_norm(x, mean, var, scale, shift, eps) */
Val builtin_batch_norm(BuiltinCall *s) {
  static const char *const name[] = {"x", "mean", "var", "scale", "shift"};
  Elab *e = s->e;
  const Type *t = arg(s, "x").tensor.type;
  if (t->rank < 2)
    return elab_fail(e, arg_loc(s, "x"), "%s needs x [N, C, ...], found %s", s->name,
                     val_str(e, arg(s, "x")));
  const Type *channel = type_get(e->c, t->dtype, 1, t->dim + 1);
  for (int i = 1; i < 5; i++) {
    Val v = arg(s, name[i]);
    if (v.kind == VAL_NONE || v.tensor.type == channel) continue;
    elab_error(e, arg_loc(s, name[i]),
               "%s needs %s for '%s', one number for each channel, found %s", s->name,
               type_text(e->c, channel), name[i], val_str(e, v));
    elab_note_tensor(e, "x", arg(s, "x"));
    const Type *own = v.tensor.type;
    if (own == type_with_dtype(e->c, channel, own->dtype) && dtype_is_float(own->dtype)) {
      const char *dt = dtype_name(t->dtype);
      if (e->frame->user.line) /* a layer, which keeps them */
        elab_hint(e, "convert what it keeps, too: with %s(params()), %s(states()) { … }", dt, dt);
      else
        elab_hint(e, "convert: %s(%s)", dt, name[i]);
    }
    return elab_trace(e);
  }
  Val inv_std = tensor_binary(e, BIN_ADD, arg(s, "var"), arg(s, "eps"), s->loc);
  if (inv_std.kind == VAL_ERROR) return inv_std;
  inv_std = build_checked(e, OP_RSQRT, &inv_std, 1, NULL, NULL, s->name, s->loc);
  if (arg(s, "scale").kind != VAL_NONE)
    inv_std = tensor_binary(e, BIN_MUL, arg(s, "scale"), inv_std, s->loc);
  Val shift = arg(s, "shift");
  if (shift.kind == VAL_NONE) shift = val_to_const(e, val_int(0, s->loc), channel, s->loc);
  Val v[4] = {arg(s, "x"), arg(s, "mean"), inv_std, shift};
  return build_checked(e, OP_BATCH_NORM, v, 4, NULL, NULL, s->name, s->loc);
}
