/* Compile-time arithmetic on 64-bit integers and doubles.
   Contract: integer overflow is an error. The quotient of integers is an integer if the division is
   exact, else a float. `//` rounds down, and the sign of `%` is the divisor's, as in numpy. */
#include "ir/eval/interp.h"
#include "lang/elab/elab_impl.h"

#include <math.h>

static Val overflow(Elab *e, Loc loc) {
  return elab_fail(e, loc, "the integer does not fit 64 bits");
}

static Val int_power(Elab *e, int64_t base, int64_t n, Loc loc) {
  int64_t r = 1;
  while (n > 0) {
    if ((n & 1) && __builtin_mul_overflow(r, base, &r)) return overflow(e, loc);
    n >>= 1;
    if (n && __builtin_mul_overflow(base, base, &base)) return overflow(e, loc);
  }
  return val_int(r, loc);
}

/* Integers and floats compare alike. */
#define COMPARISONS                                                                                \
  case BIN_EQ: return val_bool(a == b, loc);                                                       \
  case BIN_NE: return val_bool(a != b, loc);                                                       \
  case BIN_LT: return val_bool(a < b, loc);                                                        \
  case BIN_LE: return val_bool(a <= b, loc);                                                       \
  case BIN_GT: return val_bool(a > b, loc);                                                        \
  case BIN_GE: return val_bool(a >= b, loc);

static Val int_binary(Elab *e, BinaryOp op, int64_t a, int64_t b, Loc loc) {
  int64_t r = 0;
  bool bad = false;
  switch ((int)op) {
  case BIN_ADD: bad = __builtin_add_overflow(a, b, &r); break;
  case BIN_SUB: bad = __builtin_sub_overflow(a, b, &r); break;
  case BIN_MUL: bad = __builtin_mul_overflow(a, b, &r); break;
  case BIN_DIV:
    if (b == 0) return elab_fail(e, loc, "division by zero");
    if (b == -1)
      bad = __builtin_sub_overflow(0, a, &r);
    else if (a % b == 0)
      r = a / b;
    else
      return val_num((double)a / (double)b, loc);
    break;
  case BIN_MOD:
    if (b == 0) return elab_fail(e, loc, "remainder of a division by zero");
    r = b == -1 ? 0 : a % b;
    if (r != 0 && (r < 0) != (b < 0)) r += b;
    break;
  case BIN_QUOTIENT:
    if (b == 0) return elab_fail(e, loc, "division by zero");
    if (b == -1)
      bad = __builtin_sub_overflow(0, a, &r);
    else
      r = a / b - (a % b != 0 && (a < 0) != (b < 0));
    break;
  case BIN_POW:
    if (b >= 0) return int_power(e, a, b, loc);
    return val_num(pow((double)a, (double)b), loc);
    COMPARISONS
  default: break;
  }
  return bad ? overflow(e, loc) : val_int(r, loc);
}

static Val float_binary(Elab *e, BinaryOp op, double a, double b, Loc loc) {
  double r = 0;
  switch ((int)op) {
  case BIN_ADD: r = a + b; break;
  case BIN_SUB: r = a - b; break;
  case BIN_MUL: r = a * b; break;
  case BIN_DIV:
    if (b == 0) return elab_fail(e, loc, "division by zero");
    r = a / b;
    break;
  case BIN_MOD:
    if (b == 0) return elab_fail(e, loc, "remainder of a division by zero");
    r = fmod(a, b); /* exact, as at run time: the rounded quotient may be the next integer */
    if (r != 0 && (r < 0) != (b < 0)) r += b;
    break;
  case BIN_QUOTIENT:
    if (b == 0) return elab_fail(e, loc, "division by zero");
    r = floor(a / b);
    break;
  case BIN_POW:
    r = pow(a, b);
    break;
    COMPARISONS
  default: break;
  }
  return val_num(r, loc);
}

Val number_binary(Elab *e, BinaryOp op, Val l, Val r, Loc loc) {
  if (l.kind == VAL_EXTENT || r.kind == VAL_EXTENT) return extent_binary(e, op, l, r, loc);
  if (l.kind == VAL_INT && r.kind == VAL_INT) return int_binary(e, op, l.i, r.i, loc);
  if (val_is_number(l) && val_is_number(r))
    return float_binary(e, op, val_number(l), val_number(r), loc);
  if ((op == BIN_EQ || op == BIN_NE) && l.kind == r.kind)
    return val_bool(val_equal(e, l, r) == (op == BIN_EQ), loc);
  if (op == BIN_ADD && l.kind == VAL_LIST && r.kind == VAL_LIST)
    return val_joined(e, l.list, r.list, loc);
  return elab_fail(e, loc, "'%s' is not defined for %s and %s", binary_spelling(op), val_str(e, l),
                   val_str(e, r));
}

static Val integral(double f, Loc loc) {
  return fabs(f) < 0x1p62 ? val_int((int64_t)f, loc) : val_num(f, loc);
}

Val number_function(Elab *e, OpKind k, Val v, Loc loc) {
  if (v.kind == VAL_EXTENT) return extent_function(e, k, v, loc);
  if (v.kind == VAL_INT) {
    if (k == OP_FLOOR || k == OP_CEIL || k == OP_ROUND) return v;
    if (k == OP_SIGN) return val_int((v.i > 0) - (v.i < 0), loc);
    if (k == OP_RELU) return v.i < 0 ? val_int(0, loc) : v;
    if (k == OP_NEG || (k == OP_ABS && v.i < 0))
      return v.i == INT64_MIN ? overflow(e, loc) : val_int(-v.i, loc);
    if (k == OP_ABS) return v;
  }
  if (!op_info[k].expr || op_info[k].operands != 1) return (Val){.kind = VAL_NONE};
  double x = element_of_number(k, val_number(v));
  return k == OP_FLOOR || k == OP_CEIL || k == OP_ROUND ? integral(x, loc) : val_num(x, loc);
}
