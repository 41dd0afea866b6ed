/* Element-wise ops: shape rules, gradients, and the evaluation made of the texts in ops.def.
   Contract: operands of one op have equal shapes (the elaboration broadcasts them). A gradient rule
   reads results rather than operands if they suffice, so that operands are not saved. */
#include "ir/op/op.h"

#include <math.h>

/* ---- shapes ---- */

static bool all_equal(const ShapeIn *in) {
  for (int i = 1; i < in->n; i++)
    if (!shape_equal(in, 0, i)) return false;
  return true;
}

const Type *shape_arith(const ShapeIn *in) {
  bool logic = in->kind == OP_MIN || in->kind == OP_MAX; /* and, or under their other names */
  for (int i = 0; i < in->n && !logic; i++)
    if (in->type[i]->dtype == DT_BOOL)
      return shape_wrong(in, "needs numbers, not %s: convert with f32(x) or i32(x)",
                         shape_str(in, in->type[i]));
  return all_equal(in) ? in->type[0] : NULL;
}

const Type *shape_float(const ShapeIn *in) {
  for (int i = 0; i < in->n; i++)
    if (!dtype_is_float(in->type[i]->dtype))
      return shape_wrong(in, "needs floats, not %s: convert with f32(x)",
                         shape_str(in, in->type[i]));
  return all_equal(in) ? in->type[0] : NULL;
}

const Type *shape_single(const ShapeIn *in) {
  if (in->type[0]->dtype == DT_F32) return in->type[0];
  return shape_wrong(in, "needs f32, not %s: convert with f32(x)", shape_str(in, in->type[0]));
}

const Type *shape_integer(const ShapeIn *in) {
  for (int i = 0; i < in->n; i++)
    if (!dtype_is_int(in->type[i]->dtype))
      return shape_wrong(in, "needs integers, not %s", shape_str(in, in->type[i]));
  return all_equal(in) ? in->type[0] : NULL;
}

const Type *shape_logic(const ShapeIn *in) {
  for (int i = 0; i < in->n; i++)
    if (in->type[i]->dtype != DT_BOOL)
      return shape_wrong(in, "needs bool, not %s: compare first, as in x != 0",
                         shape_str(in, in->type[i]));
  return all_equal(in) ? in->type[0] : NULL;
}

const Type *shape_convert(const ShapeIn *in) {
  if (!in->given) return shape_given(in);
  if (!type_same_dims(in->given, in->type[0]))
    return shape_wrong(in, "keeps the shape: %s cannot become %s", shape_str(in, in->type[0]),
                       shape_str(in, in->given));
  return in->given;
}

const Type *shape_compare(const ShapeIn *in) {
  return all_equal(in) ? type_with_dtype(in->ctx, in->type[0], DT_BOOL) : NULL;
}

const Type *shape_where(const ShapeIn *in) {
  if (in->type[0]->dtype != DT_BOOL)
    return shape_wrong(in, "needs a bool condition, not %s", shape_str(in, in->type[0]));
  if (!shape_equal(in, 1, 2)) return NULL;
  if (!type_same_dims(in->type[0], in->type[1]))
    return shape_wrong(in, "needs equal shapes: condition %s against %s",
                       shape_str(in, in->type[0]), shape_str(in, in->type[1]));
  return in->type[1];
}

/* ---- gradients ---- */

/* A rule runs only if some operand's gradient is wanted, so those of one operand need not ask. */
#define A (op->operands[0])
#define B (op->operands[1])
#define Y (op->results[0])
#define MUL(x, y) build2(g->b, OP_MUL, x, y)
#define SCALE(x, k) build2(g->b, OP_MUL, x, grad_const(g, x, k))
#define RULE(NAME) void grad_##NAME(GradCtx *g, const Op *op, ValueId dy)

RULE(neg) { grad_to(g, op, 0, build1(g->b, OP_NEG, dy)); }
RULE(abs) { grad_to(g, op, 0, MUL(dy, build1(g->b, OP_SIGN, A))); }
RULE(exp) { grad_to(g, op, 0, MUL(dy, Y)); }
RULE(expm1) { grad_to(g, op, 0, MUL(dy, build2(g->b, OP_ADD, Y, grad_const(g, Y, 1)))); }
RULE(log) { grad_to(g, op, 0, build2(g->b, OP_DIV, dy, A)); }
RULE(sqrt) { grad_to(g, op, 0, build2(g->b, OP_DIV, SCALE(dy, 0.5), Y)); }
RULE(rsqrt) { grad_to(g, op, 0, MUL(SCALE(dy, -0.5), MUL(Y, MUL(Y, Y)))); }
RULE(sin) { grad_to(g, op, 0, MUL(dy, build1(g->b, OP_COS, A))); }
RULE(cos) { grad_to(g, op, 0, build1(g->b, OP_NEG, MUL(dy, build1(g->b, OP_SIN, A)))); }
RULE(tanh) { grad_to(g, op, 0, build2(g->b, OP_TANH_GRAD, dy, Y)); }
RULE(sigmoid) { grad_to(g, op, 0, build2(g->b, OP_SIGMOID_GRAD, dy, Y)); }
RULE(relu) { grad_to(g, op, 0, build2(g->b, OP_RELU_GRAD, dy, Y)); }

RULE(log1p) {
  ValueId d = build2(g->b, OP_ADD, A, grad_const(g, A, 1));
  grad_to(g, op, 0, build2(g->b, OP_DIV, dy, d));
}

RULE(log2) { grad_to(g, op, 0, SCALE(build2(g->b, OP_DIV, dy, A), M_LOG2E)); }

RULE(erf) { /* 2 / sqrt(pi) exp(-a^2) */
  ValueId gaussian = build1(g->b, OP_EXP, build1(g->b, OP_NEG, MUL(A, A)));
  grad_to(g, op, 0, MUL(SCALE(dy, M_2_SQRTPI), gaussian));
}

RULE(convert) {
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, build_convert(g->b, dy, value_type(g->e, A)->dtype));
}

RULE(add) {
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, dy);
  if (grad_wants(g, op, 1)) grad_to(g, op, 1, dy);
}

RULE(sub) {
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, dy);
  if (grad_wants(g, op, 1)) grad_to(g, op, 1, build1(g->b, OP_NEG, dy));
}

RULE(mul) {
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, MUL(dy, B));
  if (grad_wants(g, op, 1)) grad_to(g, op, 1, MUL(dy, A));
}

RULE(div) { /* from the quotient, so that a can die */
  ValueId d = build2(g->b, OP_DIV, dy, B);
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, d);
  if (grad_wants(g, op, 1)) grad_to(g, op, 1, build1(g->b, OP_NEG, MUL(d, Y)));
}

RULE(mod) { /* a - b floor(a / b), where the floor is flat */
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, dy);
  if (!grad_wants(g, op, 1)) return;
  ValueId q = build1(g->b, OP_FLOOR, build2(g->b, OP_DIV, A, B));
  grad_to(g, op, 1, build1(g->b, OP_NEG, MUL(dy, q)));
}

/* The third power of its reciprocal has a number. */
static double least_of(Dtype dt) {
  return dt == DT_F64 ? 0x1p-340 : dt == DT_F16 ? 0x1p-5 : 0x1p-40;
}

/* b a^(b - 1), and 0 where b is 0 even if a is 0 or infinite: there it is a power of 1, so that the
   slopes of this have numbers, but not where they have them anyway: that by b is 1 / a. */
static ValueId pow_slope(GradCtx *g, ValueId a, ValueId b) {
  Attr k;
  if (value_const(g->e, b, &k)) {
    if (k.f == 1) return grad_const(g, a, 1);
    if (k.f == 2) return SCALE(a, 2);
    return SCALE(build2(g->b, OP_POW, a, grad_const(g, b, k.f - 1)), k.f);
  }
  ValueId one = grad_const(g, b, 1), zero = grad_const(g, b, 0), size = build1(g->b, OP_ABS, a);
  ValueId least = grad_const(g, a, least_of(value_type(g->e, a)->dtype));
  ValueId large = build2(g->b, OP_GE, size, least);
  ValueId finite = build2(g->b, OP_LT, size, grad_const(g, a, (double)INFINITY));
  ValueId ordinary = build2(g->b, OP_AND, large, finite);
  ValueId safe = build3(g->b, OP_WHERE, ordinary, a, one);
  a = build3(g->b, OP_WHERE, build2(g->b, OP_EQ, b, zero), safe, a);
  return MUL(b, build2(g->b, OP_POW, a, build2(g->b, OP_SUB, b, one)));
}

RULE(pow) {
  Attr k;
  bool flat = value_const(g->e, B, &k) && k.f == 0;
  if (grad_wants(g, op, 0) && !flat) grad_to(g, op, 0, MUL(dy, pow_slope(g, A, B)));
  if (!grad_wants(g, op, 1)) return;
  /* log(a) a^b; the logarithm of 1 in place of 0, since a^b is then 0 whatever b > 0 is */
  ValueId zero = build2(g->b, OP_EQ, A, grad_const(g, A, 0));
  ValueId safe = build3(g->b, OP_WHERE, zero, grad_const(g, A, 1), A);
  grad_to(g, op, 1, MUL(dy, MUL(build1(g->b, OP_LOG, safe), Y)));
}

/* All of dy to the operand that was picked, half to each of two equals. */
static void grad_pick(GradCtx *g, const Op *op, ValueId dy, OpKind is_picked[2]) {
  ValueId equal = build2(g->b, OP_EQ, A, B), none = grad_const(g, dy, 0);
  ValueId tie = build3(g->b, OP_WHERE, equal, SCALE(dy, 0.5), none);
  for (int i = 0; i < 2; i++)
    if (grad_wants(g, op, i))
      grad_to(g, op, i, build3(g->b, OP_WHERE, build2(g->b, is_picked[i], A, B), dy, tie));
}

RULE(max) { grad_pick(g, op, dy, (OpKind[2]){OP_GT, OP_LT}); }
RULE(min) { grad_pick(g, op, dy, (OpKind[2]){OP_LT, OP_GT}); }

RULE(where) {
  ValueId none = grad_const(g, dy, 0);
  if (grad_wants(g, op, 1)) grad_to(g, op, 1, build3(g->b, OP_WHERE, A, dy, none));
  if (grad_wants(g, op, 2)) grad_to(g, op, 2, build3(g->b, OP_WHERE, A, none, dy));
}

RULE(relu_grad) { /* flat in y */
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, build2(g->b, OP_RELU_GRAD, dy, B));
}

RULE(sigmoid_grad) { /* a b (1 - b) */
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, build2(g->b, OP_SIGMOID_GRAD, dy, B));
  if (!grad_wants(g, op, 1)) return;
  ValueId slope = build2(g->b, OP_SUB, grad_const(g, B, 1), SCALE(B, 2));
  grad_to(g, op, 1, MUL(MUL(dy, A), slope));
}

RULE(tanh_grad) { /* a (1 - b^2) */
  if (grad_wants(g, op, 0)) grad_to(g, op, 0, build2(g->b, OP_TANH_GRAD, dy, B));
  if (grad_wants(g, op, 1)) grad_to(g, op, 1, MUL(MUL(dy, A), SCALE(B, -2)));
}

#undef A
#undef B
#undef Y
#undef MUL
#undef SCALE
#undef RULE

/* ---- evaluation ---- */

/* Each row's two texts become a function of doubles and one of 128-bit integers. 128 bits hold
   every sum and product of 64-bit operands, so only the final rounding wraps. "- 0" makes an
   expression of the text ~, which means undefined; that function is never called. */
typedef __int128 Int128;
typedef double FloatFn(double a, double b, double c);
typedef Int128 IntFn(Int128 a, Int128 b, Int128 c);

#define float_abs fabs
#define float_exp exp
#define float_expm1 expm1
#define float_log log
#define float_log1p log1p
#define float_log2 log2
#define float_sqrt sqrt
#define float_sin sin
#define float_cos cos
#define float_tanh tanh
#define float_erf erf
#define float_floor floor
#define float_ceil ceil
#define float_rint rint

/* Powers that folding turns into other functions give the bits of those, which round once. */
static double float_pow(double a, double b) {
  if (b == -1) return 1 / a;
  if (b == 2) return a * a;
  return b == 0.5 && a > 0 ? sqrt(a) : pow(a, b);
}

static double float_sigmoid(double a) { return a < 0 ? exp(a) / (1 + exp(a)) : 1 / (1 + exp(-a)); }

static double float_mod(double a, double b) {
  double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

#define divide(a, b) ((a) / (b))

static double float_tf32(double a) {
  int e;
  double m = frexp(a, &e);
  return a - a == 0 ? ldexp(rint(ldexp(m, 11)), e - 11) : a;
}

static Int128 int_abs(Int128 a) { return a < 0 ? -a : a; }

static Int128 int_mod(Int128 a, Int128 b) {
  if (b == 0) return 0;
  Int128 r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* Towards the lesser, as the remainder has the divisor's sign. */
static Int128 int_quotient(Int128 a, Int128 b) { return b == 0 ? 0 : (a - int_mod(a, b)) / b; }

#define FN(f) float_##f
#define ELEM(KIND, NAME, N, FLAGS, F, ...)                                                         \
  static double float_of_##KIND(double a, double b, double c) { return F - 0; }
#include "ir/ops.def"
#undef ELEM
#undef FN
#define FN(f) int_##f
#define ELEM(KIND, NAME, N, FLAGS, F, I, ...)                                                      \
  static Int128 int_of_##KIND(Int128 a, Int128 b, Int128 c) { return I - 0; }
#include "ir/ops.def"
#undef ELEM
#undef FN

static const struct {
  FloatFn *on_floats;
  IntFn *on_ints;
} element_fn[OP_KINDS] = {
#define ELEM(KIND, ...) [OP_##KIND] = {float_of_##KIND, int_of_##KIND},
#include "ir/ops.def"
#undef ELEM
};

double element_of_number(OpKind k, double x) { return element_fn[k].on_floats(x, 0, 0); }

static Scalar convert(Scalar s, Dtype from, Dtype to, InterpMode mode) {
  static const int64_t lo[DTYPES] = {
      [DT_I8] = INT8_MIN, [DT_I32] = INT32_MIN, [DT_I64] = INT64_MIN};
  static const int64_t hi[DTYPES] = {
      [DT_U8] = 255, [DT_I8] = INT8_MAX, [DT_I32] = INT32_MAX, [DT_I64] = INT64_MAX};
  bool is_float = dtype_is_float(from);
  if (dtype_is_float(to)) {
    if (is_float) return s;
    bool once = to == DT_F32 && mode == INTERP_DTYPE; /* by way of double would be two roundings */
    return (Scalar){.f = once ? (double)(float)s.i : (double)s.i};
  }
  if (!is_float) return s;
  if (to == DT_BOOL) return (Scalar){.i = s.f != 0};
  if (s.f != s.f) return (Scalar){.i = 0};
  /* the bounds are powers of two or exact, and 2^63 as a double is the first one out of range */
  if (s.f >= (double)hi[to]) return (Scalar){.i = hi[to]};
  if (s.f <= (double)lo[to]) return (Scalar){.i = lo[to]};
  return (Scalar){.i = (int64_t)s.f};
}

void eval_element(EvalCtx *c, const Op *op) {
  const Tensor *x[3] = {eval_in(c, op, 0)};
  for (int k = 1; k < op->noperands; k++) x[k] = eval_in(c, op, k);
  /* where's first operand is a condition */
  Dtype from = x[op->noperands > 1]->type->dtype;
  Tensor *y = eval_out(c, op);
  Dtype to = y->type->dtype;
  bool is_float = dtype_is_float(from);
  for (int64_t i = 0; i < y->type->numel; i++) {
    Scalar s;
    if (op->kind == OP_CONVERT) {
      s = convert(x[0]->at[i], from, to, c->it->mode);
    } else if (is_float) {
      double v[3] = {0};
      for (int k = 0; k < op->noperands; k++)
        v[k] = dtype_is_float(x[k]->type->dtype) ? x[k]->at[i].f : (double)x[k]->at[i].i;
      double r = element_fn[op->kind].on_floats(v[0], v[1], v[2]);
      s = dtype_is_float(to) ? (Scalar){.f = r} : (Scalar){.i = r != 0};
    } else {
      Int128 v[3] = {0};
      for (int k = 0; k < op->noperands; k++) v[k] = x[k]->at[i].i;
      s = (Scalar){.i = (int64_t)element_fn[op->kind].on_ints(v[0], v[1], v[2])};
    }
    y->at[i] = scalar_round(s, to, c->it->mode);
  }
}
