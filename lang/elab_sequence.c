/* Built-in functions along sequences: norms, attention, dropout.
   Contract: each is one op whose gradient keeps little; what is optional is left out of the op. */
#include "lang/elab_builtin.h"

/* layer_norm and rms_norm; the data is the op */
Val builtin_norm(Site *s) {
  double eps = val_number(s->v[1]);
  if (!(eps >= 0)) return fail(s->e, s->at[1], "%s needs an eps of at least 0", s->name);
  Attr attr[MAX_ATTRS] = {[AT_EPS] = {.f = eps}};
  return build_checked(s->e, (OpKind)s->f->data, &s->v[0], 1, attr, NULL, s->name, s->loc);
}
