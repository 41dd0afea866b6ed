/* Element-wise ops: shape rules, gradients, and the evaluation made of the texts in ops.def.
   Contract: operands of one op have equal shapes (the elaborator broadcasts before); a gradient
   rule names only the values it reads, results where they suffice, so that operands can die early.
 */
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

const Type *shape_logic(const ShapeIn *in) {
  for (int i = 0; i < in->n; i++)
    if (in->type[i]->dtype != DT_BOOL)
      return shape_wrong(in, "needs bool, not %s: compare first, as in x != 0",
                         shape_str(in, in->type[i]));
  return all_equal(in) ? in->type[0] : NULL;
}

const Type *shape_convert(const ShapeIn *in) {
  if (!in->given) return shape_given(in);
  if (!shape_same_dims(in->given, in->type[0]))
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
  if (!shape_same_dims(in->type[0], in->type[1]))
    return shape_wrong(in, "needs equal shapes: condition %s against %s",
                       shape_str(in, in->type[0]), shape_str(in, in->type[1]));
  return in->type[1];
}

/* ---- evaluation ---- */

/* The rows' texts become one function of doubles and one of wide integers each. 128 bits hold every
   sum and product of 64-bit operands, so that wrapping is left to the final rounding. "- 0" makes
   the text ~ of an undefined case an expression, too; it is never called. */
typedef __int128 Wide;
typedef double RealFn(double a, double b, double c);
typedef Wide WideFn(Wide a, Wide b, Wide c);

#define real_abs fabs
#define real_exp exp
#define real_expm1 expm1
#define real_log log
#define real_log1p log1p
#define real_sqrt sqrt
#define real_sin sin
#define real_cos cos
#define real_tanh tanh
#define real_erf erf
#define real_floor floor
#define real_ceil ceil
#define real_rint rint
#define real_pow pow

static double real_sigmoid(double a) { return a < 0 ? exp(a) / (1 + exp(a)) : 1 / (1 + exp(-a)); }

static double real_mod(double a, double b) {
  double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static Wide wide_abs(Wide a) { return a < 0 ? -a : a; }

static Wide wide_mod(Wide a, Wide b) {
  if (b == 0) return 0;
  Wide r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

#define FN(f) real_##f
#define ELEM(KIND, NAME, N, FLAGS, F, ...)                                                         \
  static double real_of_##KIND(double a, double b, double c) { return F - 0; }
#include "ir/ops.def"
#undef ELEM
#undef FN
#define FN(f) wide_##f
#define ELEM(KIND, NAME, N, FLAGS, F, I, ...)                                                      \
  static Wide wide_of_##KIND(Wide a, Wide b, Wide c) { return I - 0; }
#include "ir/ops.def"
#undef ELEM
#undef FN

static const struct {
  RealFn *real;
  WideFn *wide;
} element_fn[OP_KINDS] = {
#define ELEM(KIND, ...) [OP_##KIND] = {real_of_##KIND, wide_of_##KIND},
#include "ir/ops.def"
#undef ELEM
};

static Scalar convert(Scalar s, Dtype from, Dtype to) {
  static const int64_t lo[DTYPES] = {[DT_I32] = INT32_MIN, [DT_I64] = INT64_MIN};
  static const int64_t hi[DTYPES] = {[DT_U8] = 255, [DT_I32] = INT32_MAX, [DT_I64] = INT64_MAX};
  bool real = dtype_is_float(from);
  if (dtype_is_float(to)) {
    if (real) return s;
    /* one rounding, not two */
    return (Scalar){.f = to == DT_F32 ? (double)(float)s.i : (double)s.i};
  }
  if (!real) return s;
  if (to == DT_BOOL) return (Scalar){.i = s.f != 0};
  if (s.f != s.f) return (Scalar){.i = 0};
  /* the bounds are powers of two or exact, and 2^63 as a double is the first one out of range */
  if (s.f >= (double)hi[to]) return (Scalar){.i = hi[to]};
  if (s.f <= (double)lo[to]) return (Scalar){.i = lo[to]};
  return (Scalar){.i = (int64_t)s.f};
}

void eval_element(EvalCtx *c, const Op *op) {
  const Tensor *x[3];
  for (int k = 0; k < op->noperands; k++) x[k] = eval_in(c, op, k);
  Tensor *y = eval_out(c, op);
  /* of where's operands, the last tells the dtype */
  Dtype from = x[op->noperands - 1]->type->dtype, to = y->type->dtype;
  bool real = dtype_is_float(from);
  for (int64_t i = 0; i < y->type->numel; i++) {
    Scalar s;
    if (op->kind == OP_CONVERT) {
      s = convert(x[0]->at[i], from, to);
    } else if (real) {
      double v[3] = {0};
      for (int k = 0; k < op->noperands; k++)
        v[k] = dtype_is_float(x[k]->type->dtype) ? x[k]->at[i].f : (double)x[k]->at[i].i;
      double r = element_fn[op->kind].real(v[0], v[1], v[2]);
      s = dtype_is_float(to) ? (Scalar){.f = r} : (Scalar){.i = r != 0};
    } else {
      Wide v[3] = {0};
      for (int k = 0; k < op->noperands; k++) v[k] = x[k]->at[i].i;
      s = (Scalar){.i = (int64_t)element_fn[op->kind].wide(v[0], v[1], v[2])};
    }
    y->at[i] = scalar_round(s, to, c->it->mode);
  }
}
