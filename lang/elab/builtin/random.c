/* Built-in functions that draw random numbers: uniform, normal, bernoulli, dropout.
   Contract: the key of a random op is its path, so its numbers do not depend on the rest of the
   program. In an initialiser shape and dtype default to the declared ones. */
#include "lang/elab/builtin/builtin.h"

static Dtype float_dtype(const Elab *e) {
  return e->init_shape && dtype_is_float(e->init_dtype) ? e->init_dtype : DT_F32;
}

static Val too_long(BuiltinCall *s, const Type *t) {
  return elab_fail(s->e, s->loc,
                   "%s of %s has axes that are more than 2147483647 elements together", s->name,
                   type_text(s->e->c, t));
}

static Val random_tensor(BuiltinCall *s, OpKind k) {
  Elab *e = s->e;
  if (e->run->kind == BUILD_LET)
    return elab_fail(e, s->loc, "a let is computed at compile time and cannot hold random numbers");
  const Type *t = type_of_shape(s, "shape", float_dtype(e));
  if (!t) return error_value;
  const Type *joined = type_joined(e->c, t); /* numbers count what a run has */
  if (!joined) return too_long(s, t);
  RandomKey r = draw_next(e);
  Attr attr[MAX_ATTRS] = {[AT_KEY] = {.str = r.key}, [AT_DRAW] = {.i = r.draw}};
  bool loop = r.offset != NO_ID;
  Val offset = loop ? val_tensor(e, r.offset) : error_value;
  Val y = build_checked(e, k, &offset, loop, attr, joined, s->name, s->loc);
  if (y.kind == VAL_ERROR || joined == t) return y;
  return val_tensor(e, build_reshape(elab_at(e, s->loc), y.tensor.id, t));
}

/* x * scale + shift, where scale 1 and shift 0 leave no op. */
static Val affine(BuiltinCall *s, Val x, Val scale, Val shift) {
  Elab *e = s->e;
  if (!(val_is_number(scale) && val_number(scale) == 1))
    x = expr_binary(e, BIN_MUL, x, scale, s->loc);
  if (!(val_is_number(shift) && val_number(shift) == 0))
    x = expr_binary(e, BIN_ADD, x, shift, s->loc);
  return x;
}

Val builtin_uniform(BuiltinCall *s) {
  Val x = random_tensor(s, OP_RANDOM_UNIFORM);
  if (x.kind == VAL_ERROR) return x;
  return affine(s, x, expr_binary(s->e, BIN_SUB, arg(s, "b"), arg(s, "a"), s->loc), arg(s, "a"));
}

Val builtin_normal(BuiltinCall *s) {
  Val x = random_tensor(s, OP_RANDOM_NORMAL);
  return x.kind == VAL_ERROR ? x : affine(s, x, arg(s, "std"), arg(s, "mean"));
}

Val builtin_bernoulli(BuiltinCall *s) {
  double p = val_is_number(arg(s, "p")) ? val_number(arg(s, "p")) : 0;
  if (!(p >= 0 && p <= 1))
    return elab_fail(s->e, arg_loc(s, "p"), "bernoulli needs a probability from 0 to 1, not %s",
                     val_str(s->e, arg(s, "p")));
  Val x = random_tensor(s, OP_RANDOM_UNIFORM);
  return x.kind == VAL_ERROR ? x : expr_binary(s->e, BIN_LT, x, arg(s, "p"), s->loc);
}

Val builtin_dropout(BuiltinCall *s) {
  Elab *e = s->e;
  double p = val_number(arg(s, "p"));
  if (!(p >= 0 && p < 1))
    return elab_fail(e, arg_loc(s, "p"),
                     "dropout needs a probability of at least 0 and below 1, not %s",
                     val_str(e, arg(s, "p")));
  if (!e->run->training || p == 0) return arg(s, "x");
  RandomKey r = draw_next(e);
  Attr attr[MAX_ATTRS] = {
      [AT_KEEP] = {.f = 1 - p}, [AT_KEY] = {.str = r.key}, [AT_DRAW] = {.i = r.draw}};
  const Type *whole = arg(s, "x").tensor.type, *t = type_joined(e->c, whole);
  if (!t) return too_long(s, whole);
  Val in[2] = {arg(s, "x"), error_value};
  if (t != whole) in[0] = val_tensor(e, build_reshape(elab_at(e, s->loc), in[0].tensor.id, t));
  bool loop = r.offset != NO_ID;
  if (loop) {
    const Type *offsets = type_with_dtype(e->c, t, DT_I32);
    if (!offsets)
      return elab_fail(e, s->loc, "a dropout of this size in a loop cannot be addressed");
    in[1] = val_tensor(e, build(elab_at(e, s->loc), OP_BROADCAST, &r.offset, 1, NULL, offsets));
  }
  Val y = build_checked(e, OP_DROPOUT, in, 1 + loop, attr, NULL, s->name, s->loc);
  if (y.kind == VAL_ERROR || t == whole) return y;
  return val_tensor(e, build_reshape(elab_at(e, s->loc), y.tensor.id, whole));
}
