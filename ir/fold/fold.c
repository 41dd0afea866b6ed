/* Algebraic simplification and constant folding, one op at a time, while the IR is built.

   Contract of the rules. The builder has an op with its operands and result type, which is not in
   the IR yet. It tries the rules of that kind in the order of the table at the end of this file;
   the first result other than NO_ID is taken. A rule

   - returns a value of exactly the result's type, or NO_ID and has built nothing;
   - never changes a bit of any result, beyond the payload and sign of a NaN: floats are not
     reassociated, x + 0 stays (it turns -0 into 0), x * 0 stays (infinities), and a function whose
     last bit depends on the target (exp, log, tanh, …) is not evaluated here;
   - is monotonic: the result has fewer ops, or ops of less work, and no rule is the inverse of
     another, so folding terminates;
   - reads the definitions of its operands, never their other uses, and builds through the builder,
     so its ops are folded and hash-consed in turn;
   - keeps the gradient: x, seen by the autodiff pass, has the derivative that the op had, up to
     points where it was not defined.

   Operands with a layout are not folded. A constant is one number for all elements, so a folded
   constant costs nothing. The constant operand of a commutative op is the second one.

   To add a rule: its law as a comment, its function, its place in the table, and in
   tests/unit/ir_fold.c one program where it fires and one where it must not. */
#include "ir/fold/fold.h"
#include "ir/eval/interp.h"
#include "ir/op/op.h"

#include <math.h>

enum { LOOK_DEPTH = 6, MAX_RULES = 10 };

/* ---- queries of the rules ---- */

const Op *fold_def(const Fold *f, int i, OpKind k) {
  const Op *op = value_def(f->e, f->x[i]);
  return op && op->kind == k ? op : NULL;
}

bool fold_const(const Fold *f, int i, Attr *out) { return value_const(f->e, f->x[i], out); }

bool fold_is(const Fold *f, int i, double v) {
  Attr have, want;
  if (!fold_const(f, i, &have)) return false;
  if (dtype_is_float(value_type(f->e, f->x[i])->dtype))
    want.f = v;
  else if (v == trunc(v) && !(v == 0 && signbit(v)) && fabs(v) < 0x1p62)
    want.i = (int64_t)v;
  else
    return false;
  return have.i == want.i;
}

ValueId fold_make(const Fold *f, Attr v) {
  return build(f->b, OP_CONST, NULL, 0, (Attr[MAX_ATTRS]){[AT_VALUE] = v}, f->type);
}

ValueId fold_num(const Fold *f, double v) {
  return dtype_is_float(f->type->dtype) ? fold_make(f, (Attr){.f = v})
                                        : fold_make(f, (Attr){.i = (int64_t)v});
}

bool fold_is_float(const Fold *f) { return dtype_is_float(value_type(f->e, f->x[0])->dtype); }

bool fold_commutes(OpKind k, const Type *operand) {
  if (!(op_info[k].flags & OPF_COMMUTATIVE)) return false;
  /* min(0, -0) is its second operand */
  return !((k == OP_MIN || k == OP_MAX) && dtype_is_float(operand->dtype));
}

bool op_commutes(const Entry *e, const Op *op) {
  return op->noperands == 2 && fold_commutes(op->kind, value_type(e, op->operands[0]));
}

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

/* ---- constants ---- */

/* A conversion through f32, as kernels make it, gives the same as one that rounds once. */
static bool converts_exactly(Attr v, Dtype from, Dtype to) {
  if (to == DT_F32 || to == DT_F64 || !dtype_is_float(to)) return true;
  if (dtype_is_float(from)) return v.f != v.f || (double)(float)v.f == v.f;
  return v.i >= -(1 << 24) && v.i <= 1 << 24;
}

/* Ops that IEEE 754 or integer arithmetic determines to the last bit. Products of few bits in f16
   and bf16 are computed in f32, which has more than twice theirs, and so round as if once. */
static bool determined(const Fold *f) {
  static const bool table[OP_KINDS] = {
      [OP_NEG] = true,   [OP_ABS] = true,       [OP_SIGN] = true, [OP_SQRT] = true,
      [OP_RELU] = true,  [OP_FLOOR] = true,     [OP_CEIL] = true, [OP_ROUND] = true,
      [OP_NOT] = true,   [OP_CONVERT] = true,   [OP_ADD] = true,  [OP_SUB] = true,
      [OP_MUL] = true,   [OP_DIV] = true,       [OP_MIN] = true,  [OP_MAX] = true,
      [OP_EQ] = true,    [OP_NE] = true,        [OP_LT] = true,   [OP_LE] = true,
      [OP_GT] = true,    [OP_GE] = true,        [OP_AND] = true,  [OP_OR] = true,
      [OP_WHERE] = true, [OP_RELU_GRAD] = true, [OP_TF32] = true};
  if (f->kind == OP_MOD || f->kind == OP_QUOTIENT) return !dtype_is_float(f->type->dtype);
  return table[f->kind];
}

/* op(c, …) → constant, computed by the interpreter on one element. */
static ValueId element_of_consts(const Fold *f) {
  enum { MAX_OPERANDS = 3 };
  Tensor tensor[MAX_OPERANDS + 1] = {0};
  Value value[MAX_OPERANDS + 1] = {0};
  Scalar at[MAX_OPERANDS];
  ValueId ids[MAX_OPERANDS + 1];
  Ctx *c = f->b->m->ctx;
  if (f->n > MAX_OPERANDS || !determined(f)) return NO_ID;
  for (int i = 0; i < f->n; i++) {
    Attr v;
    if (!fold_const(f, i, &v)) return NO_ID;
    Dtype dt = value_type(f->e, f->x[i])->dtype;
    if (f->kind == OP_CONVERT && !converts_exactly(v, dt, f->type->dtype)) return NO_ID;
    at[i].i = v.i;
    ids[i] = (ValueId)i;
    value[i].type = type_scalar(c, dt);
    tensor[i] = (Tensor){value[i].type, &at[i]};
  }
  ids[f->n] = (ValueId)f->n;
  value[f->n].type = type_scalar(c, f->type->dtype);
  Entry entry = {.module = f->b->m, .values = {.at = value, .n = (uint32_t)f->n + 1}};
  Interp it = {.m = f->b->m, .arena = f->b->m->arena, .mode = INTERP_DTYPE};
  EvalCtx eval = {.it = &it, .e = &entry, .value = tensor, .scratch = f->b->m->arena};
  Op op = {
      .kind = f->kind, .noperands = f->n, .nresults = 1, .operands = ids, .results = ids + f->n};
  memcpy(op.attr, f->attr, sizeof op.attr);
  eval_element(&eval, &op);
  return fold_make(f, (Attr){.i = tensor[f->n].at[0].i});
}

/* ---- sums and products ---- */

/* x + -0 → x;  x + 0 → x for integers: as floats, -0 + 0 is 0 */
static ValueId add_zero(const Fold *f) {
  return fold_is(f, 1, fold_is_float(f) ? -0.0 : 0.0) ? f->x[0] : NO_ID;
}

/* x + -y → x - y;  -x + y → y - x */
static ValueId add_neg(const Fold *f) {
  const Op *n = fold_def(f, 1, OP_NEG);
  if (n) return build2(f->b, OP_SUB, f->x[0], n->operands[0]);
  n = fold_def(f, 0, OP_NEG);
  return n ? build2(f->b, OP_SUB, f->x[1], n->operands[0]) : NO_ID;
}

/* (x + c) + d → x + (c + d);  (x * c) * d → x * (c * d): integers wrap, so they are associative */
static ValueId associate(const Fold *f) {
  Attr c, d;
  const Op *inner = fold_def(f, 0, f->kind);
  if (fold_is_float(f) || !inner || !fold_const(f, 1, &d) ||
      !value_const(f->e, inner->operands[1], &c))
    return NO_ID;
  ValueId k = build2(f->b, f->kind, inner->operands[1], f->x[1]);
  return build2(f->b, f->kind, inner->operands[0], k);
}

/* x - 0 → x: also as floats, -0 - 0 is -0; but x - -0 turns -0 into 0 */
static ValueId sub_zero(const Fold *f) { return fold_is(f, 1, 0) ? f->x[0] : NO_ID; }

/* x - x → 0 for integers: as floats, infinities and NaN give NaN */
static ValueId sub_self(const Fold *f) {
  return !fold_is_float(f) && f->x[0] == f->x[1] ? fold_num(f, 0) : NO_ID;
}

/* -0 - x → -x;  0 - x → -x for integers: as floats, 0 - 0 is 0 */
static ValueId sub_from_zero(const Fold *f) {
  return fold_is(f, 0, fold_is_float(f) ? -0.0 : 0.0) ? build1(f->b, OP_NEG, f->x[1]) : NO_ID;
}

/* x - -y → x + y */
static ValueId sub_neg(const Fold *f) {
  const Op *n = fold_def(f, 1, OP_NEG);
  return n ? build2(f->b, OP_ADD, f->x[0], n->operands[0]) : NO_ID;
}

/* x * 1 → x;  x / 1 → x */
static ValueId times_one(const Fold *f) { return fold_is(f, 1, 1) ? f->x[0] : NO_ID; }

/* x * -1 → -x;  x / -1 → -x */
static ValueId times_minus_one(const Fold *f) {
  return fold_is(f, 1, -1) ? build1(f->b, OP_NEG, f->x[0]) : NO_ID;
}

/* x * 0 → 0 for integers: as floats, an infinity gives NaN, and the sign of x stays */
static ValueId mul_zero(const Fold *f) {
  return !fold_is_float(f) && fold_is(f, 1, 0) ? fold_num(f, 0) : NO_ID;
}

/* -x * -y → x * y;  -x * c → x * -c;  the same for division */
static ValueId times_neg(const Fold *f) {
  const Op *x = fold_def(f, 0, OP_NEG), *y = fold_def(f, 1, OP_NEG);
  Attr c;
  if (!x) return NO_ID;
  if (y) return build2(f->b, f->kind, x->operands[0], y->operands[0]);
  if (!fold_const(f, 1, &c)) return NO_ID;
  return build2(f->b, f->kind, x->operands[0], build1(f->b, OP_NEG, f->x[1]));
}

/* x / 2^k → x * 2^-k: both round the same number, as long as neither constant is subnormal */
static ValueId div_by_power(const Fold *f) {
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
static ValueId mod_one(const Fold *f) {
  return !fold_is_float(f) && fold_is(f, 1, 1) ? fold_num(f, 0) : NO_ID;
}

/* x ** 0 → 1, as C and numpy have it, also for NaN */
static ValueId pow_zero(const Fold *f) {
  return fold_is(f, 1, 0) || fold_is(f, 1, -0.0) ? fold_num(f, 1) : NO_ID;
}

/* x ** 1 → x */
static ValueId pow_one(const Fold *f) { return fold_is(f, 1, 1) ? f->x[0] : NO_ID; }

/* x ** 2 → x * x;  this, the next two: pow gives the same bits in the interpreter and in kernels */
static ValueId pow_two(const Fold *f) {
  return fold_is(f, 1, 2) ? build2(f->b, OP_MUL, f->x[0], f->x[0]) : NO_ID;
}

/* x ** -1 → 1 / x */
static ValueId pow_minus_one(const Fold *f) {
  return fold_is(f, 1, -1) ? build2(f->b, OP_DIV, fold_num(f, 1), f->x[0]) : NO_ID;
}

/* x ** 0.5 → sqrt(x) where x is never below zero: they differ at -0 and at -inf */
static ValueId pow_half(const Fold *f) {
  if (!fold_is(f, 1, 0.5) || !never_negative(f->e, f->x[0], LOOK_DEPTH)) return NO_ID;
  return build1(f->b, OP_SQRT, f->x[0]);
}

/* ---- signs, roundings, extremes ---- */

/* --x → x */
static ValueId neg_of_neg(const Fold *f) {
  const Op *n = fold_def(f, 0, OP_NEG);
  return n ? n->operands[0] : NO_ID;
}

/* -(x - y) → y - x for integers: as floats, -(x - x) is -0 */
static ValueId neg_of_sub(const Fold *f) {
  const Op *s = fold_def(f, 0, OP_SUB);
  return s && !fold_is_float(f) ? build2(f->b, OP_SUB, s->operands[1], s->operands[0]) : NO_ID;
}

/* abs(-x) → abs(x) */
static ValueId abs_of_neg(const Fold *f) {
  const Op *n = fold_def(f, 0, OP_NEG);
  return n ? build1(f->b, OP_ABS, n->operands[0]) : NO_ID;
}

/* abs(x) → x, relu(x) → x where x is never below zero */
static ValueId keep_positive(const Fold *f) {
  return never_negative(f->e, f->x[0], LOOK_DEPTH) ? f->x[0] : NO_ID;
}

/* relu(relu(x)) → relu(x), and any op of a kind that does nothing the second time */
static ValueId idempotent(const Fold *f) { return fold_def(f, 0, f->kind) ? f->x[0] : NO_ID; }

/* floor(x) → x where x is an integer: of an integer dtype, or rounded or converted from one */
static ValueId round_of_whole(const Fold *f) {
  const Op *c = fold_def(f, 0, OP_CONVERT);
  bool whole = !fold_is_float(f) || fold_def(f, 0, OP_FLOOR) || fold_def(f, 0, OP_CEIL) ||
               fold_def(f, 0, OP_ROUND) ||
               (c && !dtype_is_float(value_type(f->e, c->operands[0])->dtype));
  return whole ? f->x[0] : NO_ID;
}

/* min(x, x) → x;  x and x → x;  x or x → x */
static ValueId same_operands(const Fold *f) { return f->x[0] == f->x[1] ? f->x[0] : NO_ID; }

/* max(x, -inf) → x, min(x, inf) → x, in either order */
static ValueId extreme_of_limit(const Fold *f) {
  double limit = f->kind == OP_MAX ? -INFINITY : INFINITY;
  if (!fold_is_float(f)) return NO_ID;
  return fold_is(f, 1, limit) ? f->x[0] : fold_is(f, 0, limit) ? f->x[1] : NO_ID;
}

/* ---- conversions ---- */

/* convert(convert(x)) → convert(x), or x itself, where the inner one keeps every value. From
   integers back to integers through floats only where all fit: floats stop at the bounds, integers
   wrap. */
static ValueId convert_of_convert(const Fold *f) {
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

/* ---- the table: rules by kind, in the order in which they are tried ---- */

#define VIEW view_identity, view_of_const

static FoldRule *const rules[OP_KINDS][MAX_RULES] = {
    [OP_NEG] = {element_of_consts, neg_of_neg, neg_of_sub},
    [OP_ABS] = {element_of_consts, idempotent, abs_of_neg, keep_positive},
    [OP_SIGN] = {element_of_consts, idempotent},
    [OP_SQRT] = {element_of_consts},
    [OP_RELU] = {element_of_consts, idempotent, keep_positive},
    [OP_FLOOR] = {element_of_consts, round_of_whole},
    [OP_CEIL] = {element_of_consts, round_of_whole},
    [OP_ROUND] = {element_of_consts, round_of_whole},
    [OP_TF32] = {element_of_consts, idempotent},
    [OP_NOT] = {element_of_consts, not_of_not, not_of_compare},
    [OP_CONVERT] = {view_identity, element_of_consts, convert_of_convert},
    [OP_ADD] = {element_of_consts, add_zero, add_neg, associate},
    [OP_SUB] = {element_of_consts, sub_zero, sub_self, sub_from_zero, sub_neg},
    [OP_MUL] = {element_of_consts, times_one, times_minus_one, mul_zero, times_neg, associate},
    [OP_DIV] = {element_of_consts, times_one, times_minus_one, times_neg, div_by_power},
    [OP_MOD] = {element_of_consts, mod_one},
    [OP_QUOTIENT] = {element_of_consts, times_one},
    [OP_POW] = {pow_zero, pow_one, pow_two, pow_minus_one, pow_half},
    [OP_MIN] = {element_of_consts, same_operands, extreme_of_limit},
    [OP_MAX] = {element_of_consts, same_operands, extreme_of_limit},
    [OP_EQ] = {element_of_consts, compare_self},
    [OP_NE] = {element_of_consts, compare_self},
    [OP_LT] = {element_of_consts, compare_self},
    [OP_LE] = {element_of_consts, compare_self},
    [OP_GT] = {element_of_consts, compare_self},
    [OP_GE] = {element_of_consts, compare_self},
    [OP_AND] = {element_of_consts, same_operands, logic_const},
    [OP_OR] = {element_of_consts, same_operands, logic_const},
    [OP_WHERE] = {where_const, where_same, where_not, where_bool, where_of_where},
    [OP_RELU_GRAD] = {element_of_consts, relu_grad_const, relu_grad_of_pool},
    [OP_IOTA] = {iota_of_one},
    [OP_RESHAPE] = {VIEW, reshape_of_reshape},
    [OP_TRANSPOSE] = {view_of_const, transpose_of_transpose, transpose_as_reshape},
    [OP_BROADCAST] = {VIEW, broadcast_of_broadcast, broadcast_as_reshape},
    [OP_SLICE] = {VIEW, slice_of_slice, slice_of_concat},
    [OP_REVERSE] = {view_of_const, reverse_of_one, reverse_of_reverse},
    [OP_PAD] = {view_identity, pad_of_same},
    [OP_CONCAT] = {concat_empty, concat_const},
    [OP_SUM] = {reduce_of_one, sum_of_const},
    [OP_PROD] = {reduce_of_one, prod_of_const},
    [OP_REDUCE_MAX] = {reduce_of_one, extreme_of_const},
    [OP_REDUCE_MIN] = {reduce_of_one, extreme_of_const},
    [OP_ARGMAX] = {arg_trivial},
    [OP_ARGMIN] = {arg_trivial},
    [OP_MATMUL] = {matmul_of_transpose, matmul_of_dequantize},
    [OP_QUANTIZED_MATMUL] = {product_of_dequantize},
    [OP_GATHER] = {gather_of_dequantize},
    [OP_STOP_GRADIENT] = {view_of_const, stop_of_stop},
};

ValueId fold_op(const Fold *f) {
  for (int i = 0; i < f->n; i++)
    if (value_at(f->e, f->x[i])->layout) return NO_ID;
  for (int i = 0; i < MAX_RULES && rules[f->kind][i]; i++) {
    ValueId v = rules[f->kind][i](f);
    if (v == NO_ID) continue;
    if (value_type(f->e, v) != f->type)
      gc_bug(f->b->m->ctx, "folding %s gave %s, not %s", op_info[f->kind].name,
             type_str(f->b->m->ctx, value_type(f->e, v)), type_str(f->b->m->ctx, f->type));
    return v;
  }
  return op_info[f->kind].cls == CLASS_ELEMENT ? element_of_moved(f) : NO_ID;
}
