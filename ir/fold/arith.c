/* Rules for arithmetic: sums, products, powers, signs, roundings and conversions; the contract of
   rules is in fold.c. */
#include "ir/eval/interp.h"
#include "ir/fold/fold.h"

#include <math.h>

enum { LOOK_DEPTH = 6 };

/* Each value of dtype a is a value of dtype b. */
static bool embeds(Dtype a, Dtype b) {
  static const unsigned into[DTYPES] = {
#define D(X) 1u << DT_##X
      [DT_BOOL] = D(BOOL) | D(U8) | D(I8) | D(I32) | D(I64) | D(F16) | D(BF16) | D(F32) | D(F64),
      [DT_U8] = D(U8) | D(I32) | D(I64) | D(F16) | D(BF16) | D(F32) | D(F64),
      [DT_I8] = D(I8) | D(I32) | D(I64) | D(F16) | D(BF16) | D(F32) | D(F64),
      [DT_I32] = D(I32) | D(I64) | D(F64),
      [DT_I64] = D(I64),
      [DT_F16] = D(F16) | D(F32) | D(F64),
      [DT_BF16] = D(BF16) | D(F32) | D(F64),
      [DT_F32] = D(F32) | D(F64),
      [DT_F64] = D(F64),
#undef D
  };
  return into[a] >> b & 1;
}

/* The value is known to be NaN or to have a clear sign bit. Conservative: the search has a depth,
   and sums and products of integers may wrap. */
static bool never_negative(const Entry *e, ValueId v, int depth) {
  Dtype dt = value_type(e, v)->dtype;
  const Op *op = value_def(e, v);
  Attr c;
  if (dt == DT_U8 || dt == DT_BOOL) return true;
  if (value_const(e, v, &c)) return c.i >= 0; /* the sign bit of a float, too */
  if (!op || depth == 0) return false;
  bool floats = dtype_is_float(dt), pair = false;
  switch ((int)op->kind) {
  case OP_EXP:
  case OP_SIGMOID:
  case OP_SOFTMAX:
  case OP_RANDOM_UNIFORM: return true;
  case OP_ABS: return floats;   /* the least integer has no positive twin */
  case OP_RELU: return !floats; /* relu(-0) is -0 */
  case OP_MUL: pair = floats && op->operands[0] != op->operands[1]; break;
  case OP_ADD:
  case OP_DIV: pair = floats; break;
  case OP_MIN:
  case OP_MAX: pair = true; break;
  case OP_RESHAPE:
  case OP_TRANSPOSE:
  case OP_BROADCAST:
  case OP_SLICE:
  case OP_REVERSE: return never_negative(e, op->operands[0], depth - 1);
  case OP_SUM:
    if (op_accumulator(op) >= 0 && !never_negative(e, op->operands[op_accumulator(op)], depth - 1))
      return false;
    return floats && never_negative(e, op->operands[0], depth - 1);
  case OP_SQRT: return floats && never_negative(e, op->operands[0], depth - 1);
  case OP_CONVERT:
    return (floats || embeds(value_type(e, op->operands[0])->dtype, dt)) &&
           never_negative(e, op->operands[0], depth - 1);
  default: return false;
  }
  if (op->kind == OP_MUL && !pair) return floats;
  return pair && never_negative(e, op->operands[0], depth - 1) &&
         never_negative(e, op->operands[1], depth - 1);
}

/* ---- sums and products ---- */

/* x + -0 → x;  x + 0 → x for integers: as floats, -0 + 0 is 0 */
ValueId add_zero(const Fold *f) {
  return fold_is(f, 1, fold_is_float(f) ? -0.0 : 0.0) ? f->x[0] : NO_ID;
}

/* x + -y → x - y;  -x + y → y - x */
ValueId add_neg(const Fold *f) {
  const Op *n = fold_def(f, 1, OP_NEG);
  if (n) return build2(f->b, OP_SUB, f->x[0], n->operands[0]);
  n = fold_def(f, 0, OP_NEG);
  return n ? build2(f->b, OP_SUB, f->x[1], n->operands[0]) : NO_ID;
}

/* (x + c) + d → x + (c + d);  (x * c) * d → x * (c * d): integers wrap, so they are associative */
ValueId associate(const Fold *f) {
  Attr c, d;
  const Op *inner = fold_def(f, 0, f->kind);
  if (fold_is_float(f) || !inner || !fold_const(f, 1, &d) ||
      !value_const(f->e, inner->operands[1], &c))
    return NO_ID;
  ValueId k = build2(f->b, f->kind, inner->operands[1], f->x[1]);
  return build2(f->b, f->kind, inner->operands[0], k);
}

/* x - 0 → x: also as floats, -0 - 0 is -0; but x - -0 turns -0 into 0 */
ValueId sub_zero(const Fold *f) { return fold_is(f, 1, 0) ? f->x[0] : NO_ID; }

/* x - x → 0 for integers: as floats, infinities and NaN give NaN */
ValueId sub_self(const Fold *f) {
  return !fold_is_float(f) && f->x[0] == f->x[1] ? fold_num(f, 0) : NO_ID;
}

/* -0 - x → -x;  0 - x → -x for integers: as floats, 0 - 0 is 0 */
ValueId sub_from_zero(const Fold *f) {
  return fold_is(f, 0, fold_is_float(f) ? -0.0 : 0.0) ? build1(f->b, OP_NEG, f->x[1]) : NO_ID;
}

/* x - -y → x + y */
ValueId sub_neg(const Fold *f) {
  const Op *n = fold_def(f, 1, OP_NEG);
  return n ? build2(f->b, OP_ADD, f->x[0], n->operands[0]) : NO_ID;
}

/* x * 1 → x;  x / 1 → x */
ValueId times_one(const Fold *f) { return fold_is(f, 1, 1) ? f->x[0] : NO_ID; }

/* x * -1 → -x;  x / -1 → -x */
ValueId times_minus_one(const Fold *f) {
  return fold_is(f, 1, -1) ? build1(f->b, OP_NEG, f->x[0]) : NO_ID;
}

/* x * 0 → 0 for integers: as floats, an infinity gives NaN, and the sign of x stays */
ValueId mul_zero(const Fold *f) {
  return !fold_is_float(f) && fold_is(f, 1, 0) ? fold_num(f, 0) : NO_ID;
}

/* -x * -y → x * y;  -x * c → x * -c;  the same for division */
ValueId times_neg(const Fold *f) {
  const Op *x = fold_def(f, 0, OP_NEG), *y = fold_def(f, 1, OP_NEG);
  Attr c;
  if (!x) return NO_ID;
  if (y) return build2(f->b, f->kind, x->operands[0], y->operands[0]);
  if (!fold_const(f, 1, &c)) return NO_ID;
  return build2(f->b, f->kind, x->operands[0], build1(f->b, OP_NEG, f->x[1]));
}

/* x / 2^k → x * 2^-k: both round the same number, as long as neither constant is subnormal */
ValueId div_by_power(const Fold *f) {
  static const double min_normal[DTYPES] = {
      [DT_F16] = 0x1p-14, [DT_BF16] = 0x1p-126, [DT_F32] = 0x1p-126, [DT_F64] = 0x1p-1022};
  Dtype dt = f->type->dtype;
  Attr c;
  int k;
  if (!fold_const(f, 1, &c) || !isfinite(c.f) || fabs(frexp(c.f, &k)) != 0.5) return NO_ID;
  double inverse = 1 / c.f;
  if (fabs(c.f) < min_normal[dt] || fabs(inverse) < min_normal[dt] ||
      scalar_round((Scalar){.f = inverse}, dt, INTERP_DTYPE).f != inverse)
    return NO_ID;
  return build2(f->b, OP_MUL, f->x[0], fold_num(f, inverse));
}

/* x mod 1 → 0 for integers */
ValueId mod_one(const Fold *f) {
  return !fold_is_float(f) && fold_is(f, 1, 1) ? fold_num(f, 0) : NO_ID;
}

/* x ** 0 → 1, as C and numpy have it, also for NaN */
ValueId pow_zero(const Fold *f) {
  return fold_is(f, 1, 0) || fold_is(f, 1, -0.0) ? fold_num(f, 1) : NO_ID;
}

/* x ** 1 → x */
ValueId pow_one(const Fold *f) { return fold_is(f, 1, 1) ? f->x[0] : NO_ID; }

/* x ** 2 → x * x;  this, the next two: pow gives the same bits in the interpreter and in kernels */
ValueId pow_two(const Fold *f) {
  return fold_is(f, 1, 2) ? build2(f->b, OP_MUL, f->x[0], f->x[0]) : NO_ID;
}

/* x ** -1 → 1 / x */
ValueId pow_minus_one(const Fold *f) {
  return fold_is(f, 1, -1) ? build2(f->b, OP_DIV, fold_num(f, 1), f->x[0]) : NO_ID;
}

/* x ** 0.5 → sqrt(x) where x is never below zero: they differ at -0 and at -inf */
ValueId pow_half(const Fold *f) {
  if (!fold_is(f, 1, 0.5) || !never_negative(f->e, f->x[0], LOOK_DEPTH)) return NO_ID;
  return build1(f->b, OP_SQRT, f->x[0]);
}

/* ---- signs, roundings, extremes ---- */

/* --x → x */
ValueId neg_of_neg(const Fold *f) {
  const Op *n = fold_def(f, 0, OP_NEG);
  return n ? n->operands[0] : NO_ID;
}

/* -(x - y) → y - x for integers: as floats, -(x - x) is -0 */
ValueId neg_of_sub(const Fold *f) {
  const Op *s = fold_def(f, 0, OP_SUB);
  return s && !fold_is_float(f) ? build2(f->b, OP_SUB, s->operands[1], s->operands[0]) : NO_ID;
}

/* abs(-x) → abs(x) */
ValueId abs_of_neg(const Fold *f) {
  const Op *n = fold_def(f, 0, OP_NEG);
  return n ? build1(f->b, OP_ABS, n->operands[0]) : NO_ID;
}

/* abs(x) → x, relu(x) → x where x is never below zero */
ValueId keep_positive(const Fold *f) {
  return never_negative(f->e, f->x[0], LOOK_DEPTH) ? f->x[0] : NO_ID;
}

/* relu(relu(x)) → relu(x), and any op of a kind that does nothing the second time */
ValueId idempotent(const Fold *f) { return fold_def(f, 0, f->kind) ? f->x[0] : NO_ID; }

/* floor(x) → x where x is an integer: of an integer dtype, or rounded or converted from one */
ValueId round_of_whole(const Fold *f) {
  const Op *c = fold_def(f, 0, OP_CONVERT);
  bool whole = !fold_is_float(f) || fold_def(f, 0, OP_FLOOR) || fold_def(f, 0, OP_CEIL) ||
               fold_def(f, 0, OP_ROUND) ||
               (c && !dtype_is_float(value_type(f->e, c->operands[0])->dtype));
  return whole ? f->x[0] : NO_ID;
}

/* min(x, x) → x;  x and x → x;  x or x → x */
ValueId same_operands(const Fold *f) { return f->x[0] == f->x[1] ? f->x[0] : NO_ID; }

/* max(x, -inf) → x, min(x, inf) → x, in either order */
ValueId extreme_of_limit(const Fold *f) {
  double limit = f->kind == OP_MAX ? -INFINITY : INFINITY;
  if (!fold_is_float(f)) return NO_ID;
  return fold_is(f, 1, limit) ? f->x[0] : fold_is(f, 0, limit) ? f->x[1] : NO_ID;
}

/* ---- conversions ---- */

/* convert(convert(x)) → convert(x), or x itself, where the inner one keeps every value. From
   integers back to integers through floats only where all fit: floats stop at the bounds, integers
   wrap. */
ValueId convert_of_convert(const Fold *f) {
  const Op *inner = fold_def(f, 0, OP_CONVERT);
  if (!inner) return NO_ID;
  ValueId x = inner->operands[0];
  Dtype from = value_type(f->e, x)->dtype, mid = value_type(f->e, f->x[0])->dtype,
        to = f->type->dtype;
  if (!embeds(from, mid)) return NO_ID;
  bool around = !dtype_is_float(from) && dtype_is_float(mid) && !dtype_is_float(to);
  if (around && to != DT_BOOL && !embeds(from, to)) return NO_ID;
  /* to f16 and bf16 a kernel goes through f32, which would round what f64 keeps of an i32 */
  if (from == DT_I32 && dtype_is_half(to)) return NO_ID;
  return build_convert(f->b, x, to);
}
