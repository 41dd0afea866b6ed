/* BitCast: the bits of a type as another's of the same width. Contract: floats that are no numbers
   become the one quiet NaN without a sign, and subnormal f32, bf16 and f64 zero, as in arithmetic;
   all else is exact. A float is 1.f * 2 ** (e - bias) with f of `digits` bits, or 0.f * 2 ** (1 -
   bias) where e is 0. */
#include "lang/onnx/graph.h"

#include <math.h>

typedef struct Format {
  int bits, digits; /* digits 0: an integer */
  bool is_signed;
} Format;

static Format format_of(int type) {
  switch (type) {
  case ELEM_BOOL:
  case ELEM_U8: return (Format){8, 0, false};
  case ELEM_I8: return (Format){8, 0, true};
  case ELEM_U16: return (Format){16, 0, false};
  case ELEM_I16: return (Format){16, 0, true};
  case ELEM_U32: return (Format){32, 0, false};
  case ELEM_I32: return (Format){32, 0, true};
  case ELEM_I64: return (Format){64, 0, true};
  case ELEM_F16: return (Format){16, 10, true};
  case ELEM_BF16: return (Format){16, 7, true};
  case ELEM_F32: return (Format){32, 23, true};
  case ELEM_F64: return (Format){64, 52, true};
  default: return (Format){0, 0, false};
  }
}

static int bias_of(Format f) { return (1 << (f.bits - f.digits - 2)) - 1; }
static const char *power(Node *n, int k) {
  return number_text(n->im, ELEM_F64, (Number){.f = ldexp(1, k)});
}

/* The bits without the sign, as i64; x is no NaN, and not negative. */
static const char *magnitude_bits(Node *n, Format f, const char *x) {
  const int bias = bias_of(f);
  const long long unit = 1LL << f.digits;
  const char *y = x, *e = text(n, "%d", bias);
  for (int up = 0; up < 2; up++) /* to 1 <= y < 2, by powers of two from the largest on */
    for (int s = (bias + 1) / 2; s >= 1; s /= 2) {
      const char *far =
          let(n, up ? text(n, "%s < %s", y, power(n, 1 - s)) : text(n, "%s >= %s", y, power(n, s)));
      y = let(n, text(n, "where(%s, %s * %s, %s)", far, y, power(n, up ? s : -s), y));
      e = let(n, text(n, "%s %c i64(%s) * %d", e, up ? '-' : '+', far, s));
    }
  /* in two steps, since the power itself may be none of the type */
  const char *small = text(n, "%s * %s * %s", x, power(n, bias - 1), power(n, f.digits));
  const char *normal = text(n, "i64((%s - 1) * %s) + %s * %lld", y, power(n, f.digits), e, unit);
  return text(n, "where(%s == inf, %lld, where(%s < %s, i64(%s), %s))", x, (2 * bias + 1) * unit, x,
              power(n, 1 - bias), small, normal);
}

/* As i64, below 0 where the sign is set. */
static const char *bits_of_float(Node *n, Format f, const char *v) {
  const char *x = let(n, text(n, f.bits == 64 ? "f64(%s)" : "f32(%s)", v));
  const char *a = let(n, text(n, "where(%s == %s, abs(%s), 0)", x, x, x));
  const char *all = let(n, magnitude_bits(n, f, a));
  const char *negative = let(n, text(n, "%s < 0 or %s == 0 and 1 / %s < 0", x, x, x));
  const char *sign =
      f.bits == 64 ? "9223372036854775807 - 1" : text(n, "%lld", 1LL << (f.bits - 1));
  const char *nan = text(n, "%lld", (4 * (long long)bias_of(f) + 3) << (f.digits - 1));
  return text(n, "where(%s != %s, %s, where(%s, %s - %s, %s))", x, x, nan, negative, all, sign,
              all);
}

/* bits: as i64, below 0 where the sign is set. */
static const char *float_of_bits(Node *n, Format f, const char *bits) {
  const int bias = bias_of(f), most = 2 * bias + 1;
  const long long unit = 1LL << f.digits;
  const char *type = f.bits == 64 ? "f64" : "f32";
  const char *sign =
      f.bits == 64 ? "9223372036854775807 + 1" : text(n, "%lld", 1LL << (f.bits - 1));
  Number *x = ARENA_ARRAY(n->im->a, Number, most + 1);
  for (int e = 0; e <= most; e++) x[e].f = e < most ? ldexp(1, (e ? e : 1) - bias) : INFINITY;
  Tensor *powers = value_new(n->im, f.bits == 64 ? ELEM_F64 : ELEM_F32,
                             &(Shape){.rank = 1, .at = {{.n = most + 1}}});
  powers->known = x, powers->wish = "powers";
  bits = let(n, bits);
  const char *negative = let(n, text(n, "%s < 0", bits));
  const char *rest = let(n, text(n, "where(%s, %s + %s, %s)", negative, bits, sign, bits));
  const char *e = let(n, text(n, "%s // %lld", rest, unit)),
             *d = let(n, text(n, "%s %% %lld", rest, unit));
  const char *p = let(n, text(n, "gather(%s, %s)", tensor_text(n, powers), e));
  const char *y =
      let(n, text(n, "(%s(%s) * %s + %s(%s != 0)) * %s", type, d, power(n, -f.digits), type, e, p));
  y = let(n, text(n, "where(%s == %d and %s != 0, %s - %s, %s)", e, most, d, p, p, y));
  return text(n, "where(%s, -%s, %s)", negative, y, y);
}

/* What is beyond the type's largest is negative. */
bool onnx_bit_cast(Node *n) {
  Tensor *v = input(n, 0);
  const int to = (int)attr_int(n, "to", 0);
  const Format from = format_of(v->type), w = format_of(to);
  if (v->type == to) return give_same(n, 0, v);
  if (!from.bits || from.bits != w.bits || to == ELEM_BOOL)
    return refuse(n, "the bits of this type as another's");
  const char *t = from.digits ? bits_of_float(n, from, tensor_text(n, v))
                              : text(n, "i64(%s)", tensor_text(n, v));
  t = let(n, t);
  const char *all = w.bits < 64 ? text(n, "%lld", 1LL << w.bits) : "0";
  if (!from.is_signed && w.is_signed)
    t = let(n, text(n, "where(%s >= %lld, %s - %s, %s)", t, 1LL << (w.bits - 1), t, all, t));
  else if (!w.is_signed && from.is_signed)
    t = text(n, "where(%s < 0, %s + %s, %s)", t, t, all, t);
  if (w.digits) t = float_of_bits(n, w, t);
  return give(n, 0, to, &v->shape, text(n, "%s(%s)", elem_of(to)->gc, t));
}
