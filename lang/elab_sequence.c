/* Built-in functions along sequences: norms, attention, dropout.
   Contract: each is one op whose gradient keeps little; what is optional is left out of the op. */
#include "lang/elab_builtin.h"

#include <math.h>

/* layer_norm and rms_norm; the data is the op */
Val builtin_norm(Site *s) {
  double eps = val_number(s->v[1]);
  if (!(eps >= 0)) return fail(s->e, s->at[1], "%s needs an eps of at least 0", s->name);
  Attr attr[MAX_ATTRS] = {[AT_EPS] = {.f = eps}};
  return build_checked(s->e, (OpKind)s->f->data, &s->v[0], 1, attr, NULL, s->name, s->loc);
}

Val builtin_attention(Site *s) {
  Elab *e = s->e;
  const Type *q = s->v[0].tensor.type;
  int64_t d = q->rank ? q->dim[q->rank - 1] : 1;
  double scale = s->v[4].kind == VAL_NONE ? 1 / sqrt((double)d) : val_number(s->v[4]);
  Attr attr[MAX_ATTRS] = {[AT_SCALE] = {.f = scale}, [AT_CAUSAL] = {.i = s->v[3].b}};
  Val in[4] = {s->v[0], s->v[1], s->v[2], s->v[5]};
  bool masked = in[3].kind != VAL_NONE;
  if (masked && in[3].kind != VAL_TENSOR)
    return fail(e, s->at[5], "attention needs bools for 'mask', found %s", val_str(e, in[3]));
  return build_checked(e, OP_ATTENTION, in, 3 + masked, attr, NULL, s->name, s->loc);
}

Val builtin_dropout(Site *s) {
  Elab *e = s->e;
  double p = val_number(s->v[1]);
  if (!(p >= 0 && p < 1))
    return fail(e, s->at[1], "dropout needs a probability of at least 0 and below 1, not %s",
                val_str(e, s->v[1]));
  if (!e->run->training || p == 0) return s->v[0];
  Attr attr[MAX_ATTRS] = {
      [AT_KEEP] = {.f = 1 - p}, [AT_DROP_KEY] = {.str = random_key_name(e, s->loc)}};
  if (!attr[AT_DROP_KEY].str) return poison;
  return build_checked(e, OP_DROPOUT, &s->v[0], 1, attr, NULL, s->name, s->loc);
}
