/* Elementary functions in f32, ours: branch-free scalar text that the compiler vectorises, built
   only of named fma, +, -, *, /, sqrt, comparisons and integer shifts, so that gcc, clang, any vector
   width and any target give the same bits. f64 uses libm. Errors in units in the last place, over
   dense samples: exp 1.0, log 0.8, expm1 1.5, log1p 2.5, log2 1.3, tanh 1.3, sigmoid 2.2, erf 6.3, sin and cos
   0.6, pow 0.6. Coefficients: Cephes' minimax polynomials (exp, log, tanh), Eigen's rational (erf). */
/* section f32_bits bits_f32 f64_bits bits_f64 */
INL i32 f32_bits(f32 x) { i32 i; __builtin_memcpy(&i, &x, 4); return i; }
INL f32 bits_f32(i32 i) { f32 x; __builtin_memcpy(&x, &i, 4); return x; }
INL i64 f64_bits(f64 x) { i64 i; __builtin_memcpy(&i, &x, 8); return i; }
INL f64 bits_f64(i64 i) { f64 x; __builtin_memcpy(&x, &i, 8); return x; }
/* section f32_fma */
INL f32 f32_fma(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
/* section f32_abs f32_sqrt f32_floor f32_ceil f32_rint */
INL f32 f32_abs(f32 x) { return __builtin_fabsf(x); }
INL f32 f32_sqrt(f32 x) { return __builtin_sqrtf(x); }
INL f32 f32_floor(f32 x) { return __builtin_floorf(x); }
INL f32 f32_ceil(f32 x) { return __builtin_ceilf(x); }
INL f32 f32_rint(f32 x) { return __builtin_rintf(x); }
/* section f32_tf32 */
INL f32 f32_tf32(f32 x) { /* rounds off the last 13 bits, ties to even; infinities and NaN stay */
  const i32 b = f32_bits(x), r = (i32)(((uint32_t)b + 0xfffu + ((uint32_t)b >> 13 & 1u)) & ~0x1fffu);
  return bits_f32((b & 0x7f800000) == 0x7f800000 ? b : r);
}
/* section EXP_HI EXP_LO ROUND_MAGIC f32_exp_poly */
#define EXP_HI 88.72284f   /* above: infinite */
#define EXP_LO -87.33655f  /* below: 0, results would be subnormal */
#define ROUND_MAGIC 12582912.f /* 1.5 2^23: adding it rounds to an integer, halves to even */
/* exp of r in +-0.35: 1 + r + r^2 P(r) */
INL f32 f32_exp_poly(f32 r) {
  f32 p = 1.9875691500e-4f;
  p = f32_fma(p, r, 1.3981999507e-3f);
  p = f32_fma(p, r, 8.3334519073e-3f);
  p = f32_fma(p, r, 4.1665795894e-2f);
  p = f32_fma(p, r, 1.6666665459e-1f);
  return f32_fma(p, r, 5.0000001201e-1f);
}
/* section f32_exp */
INL f32 f32_exp(f32 x) {
  f32 c = x > EXP_HI ? EXP_HI : x;
  c = c < EXP_LO ? EXP_LO : c;
  f32 t = f32_fma(c, 1.44269504f, ROUND_MAGIC), n = t - ROUND_MAGIC;
  f32 r = f32_fma(n, -0.693359375f, c);
  r = f32_fma(n, 2.12194440e-4f, r);
  f32 q = f32_fma(f32_exp_poly(r) * r, r, r) + 1.0f;
  i32 e = f32_bits(t) - 0x4b400000, h = e >> 1; /* 2^e in two factors: no overflow at e = 128 */
  f32 y = q * bits_f32((i32)((uint32_t)(h + 127) << 23)) * bits_f32((i32)((uint32_t)(e - h + 127) << 23));
  y = x < EXP_LO ? 0.0f : y;
  return x > EXP_HI ? __builtin_inff() : y;
}
/* section f32_exp_near f32_exp_down */
/* the same bits where 2^e is one factor: of x from EXP_LO to 88 */
INL f32 f32_exp_near(f32 x) {
  f32 t = f32_fma(x, 1.44269504f, ROUND_MAGIC), n = t - ROUND_MAGIC;
  f32 r = f32_fma(n, -0.693359375f, x);
  r = f32_fma(n, 2.12194440e-4f, r);
  f32 q = f32_fma(f32_exp_poly(r) * r, r, r) + 1.0f;
  return q * bits_f32((i32)((uint32_t)(f32_bits(t) - 0x4b400000 + 127) << 23));
}
/* … and of all that is not above 88 */
INL f32 f32_exp_down(f32 x) {
  f32 y = f32_exp_near(x);
  return x < EXP_LO ? 0.0f : y;
}
/* section f32_expm1 */
INL f32 f32_expm1(f32 x) { /* 2^n expm1(r) + (2^n - 1), halved so that n = 128 does not overflow */
  f32 c = x > EXP_HI ? EXP_HI : x;
  c = c < -20.0f ? -20.0f : c;
  f32 t = f32_fma(c, 1.44269504f, ROUND_MAGIC), n = t - ROUND_MAGIC;
  f32 r = f32_fma(n, -0.693359375f, c);
  r = f32_fma(n, 2.12194440e-4f, r);
  f32 p = f32_fma(f32_exp_poly(r) * r, r, r);
  f32 s = bits_f32((i32)((uint32_t)(f32_bits(t) - 0x4b400000 + 126) << 23));
  f32 y = f32_fma(s, p, s - 0.5f) * 2.0f;
  y = n == 0.0f ? p : y;
  y = x == 0.0f ? x : y;
  return x > EXP_HI ? __builtin_inff() : y;
}
/* section f32_log_rest f32_log_end */
/* x = 2^e (1 + m) with 1 + m near 1: of log(1 + m) what is beyond m - m^2 / 2 */
INL f32 f32_log_rest(f32 x, f32 *e, f32 *m) {
  f32 small = x < 1.17549435e-38f ? 1.0f : 0.0f;
  f32 u = small != 0.0f ? x * 8388608.0f : x;
  i32 b = f32_bits(u), n = (b - 0x3f3504f3) >> 23;
  f32 d = bits_f32((i32)((uint32_t)b - ((uint32_t)n << 23))) - 1.0f;
  *e = f32_fma(small, -23.0f, (f32)n);
  *m = d;
  f32 p = 7.0376836292e-2f;
  p = f32_fma(p, d, -1.1514610310e-1f);
  p = f32_fma(p, d, 1.1676998740e-1f);
  p = f32_fma(p, d, -1.2420140846e-1f);
  p = f32_fma(p, d, 1.4249322787e-1f);
  p = f32_fma(p, d, -1.6668057665e-1f);
  p = f32_fma(p, d, 2.0000714765e-1f);
  p = f32_fma(p, d, -2.4999993993e-1f);
  p = f32_fma(p, d, 3.3333331174e-1f);
  return p * d * (d * d);
}
INL f32 f32_log_end(f32 x, f32 y) {
  y = x == __builtin_inff() ? x : y;
  y = x < 0.0f || x != x ? __builtin_nanf("") : y;
  return x == 0.0f ? -__builtin_inff() : y;
}
/* section f32_log */
INL f32 f32_log(f32 x) {
  f32 e, m, y = f32_log_rest(x, &e, &m);
  y = f32_fma(e, -2.12194440e-4f, y);
  y = f32_fma(m * m, -0.5f, y);
  return f32_log_end(x, f32_fma(e, 0.693359375f, m + y));
}
/* section f32_log2 */
INL f32 f32_log2(f32 x) { /* log(1 + m) (1 + (1 / ln 2 - 1)), the small terms first */
  f32 e, m, y = f32_log_rest(x, &e, &m);
  y = f32_fma(m * m, -0.5f, y);
  f32 r = f32_fma(m, 0.44269504f, y * 0.44269504f);
  return f32_log_end(x, e + (m + (y + r)));
}
/* section f32_log1p */
INL f32 f32_log1p(f32 x) { /* log(u) x / (u - 1) with u = 1 + x rounded (Kahan) */
  f32 u = 1.0f + x, d = u - 1.0f;
  f32 y = f32_log(u) * divide(x, d);
  y = d == 0.0f ? x : y;
  return x == __builtin_inff() || x == -1.0f ? f32_log(u) : y;
}
/* section f32_tanh */
/* 1 - 2 / (exp(2 x) + 1) where an error of y is much of 1 - y^2, which gradients need; x + x^3 P(x^2)
   below. The sign comes last, so that -0 keeps its own. */
INL f32 f32_tanh(f32 x) {
  f32 a = f32_abs(x), z = x * x;
  f32 p = -5.70498872745e-3f;
  p = f32_fma(p, z, 2.06390887954e-2f);
  p = f32_fma(p, z, -5.37397155531e-2f);
  p = f32_fma(p, z, 1.33314422036e-1f);
  p = f32_fma(p, z, -3.33332819422e-1f);
  f32 near = f32_fma(a * z, p, a);
  f32 d = a + a; /* from 17.4 on, far is 1 */
  d = d > 20.0f ? 20.0f : d;
  f32 far = 1.0f - divide(2.0f, f32_exp_near(d) + 1.0f);
  f32 y = a < 0.625f ? near : far;
  return f32_bits(x) < 0 ? -y : y;
}
/* section f32_sigmoid */
INL f32 f32_sigmoid(f32 x) { /* from exp(-|x|), so that neither side overflows */
  f32 e = f32_exp_down(-f32_abs(x));
  return divide(x < 0.0f ? e : 1.0f, 1.0f + e);
}
/* section f32_erf */
INL f32 f32_erf(f32 x) {
  f32 c = x > 4.0f ? 4.0f : x;
  c = c < -4.0f ? -4.0f : c;
  f32 z = c * c;
  f32 p = -2.72614225801306e-10f;
  p = f32_fma(p, z, 2.77068142495902e-08f);
  p = f32_fma(p, z, -2.10102402082508e-06f);
  p = f32_fma(p, z, -5.69250639462346e-05f);
  p = f32_fma(p, z, -7.34990630326855e-04f);
  p = f32_fma(p, z, -2.95459980854025e-03f);
  p = f32_fma(p, z, -1.60960333262415e-02f);
  f32 q = -1.45660718464996e-05f;
  q = f32_fma(q, z, -2.13374055278905e-04f);
  q = f32_fma(q, z, -1.68282697438203e-03f);
  q = f32_fma(q, z, -7.37332916720468e-03f);
  q = f32_fma(q, z, -1.42647390514189e-02f);
  return divide(c * p, q);
}
/* section f32_sincos f32_sin f32_cos */
/* sin and cos in double: the quadrant from the low bits of x 2/pi + 1.5 2^52, the rest in +-pi/4.
   Right for |x| < 2^50; beyond, NaN: an f32 there is further from its neighbour than a period. */
INL f32 f32_sincos(f32 x, i64 shift) {
  f64 d = x, t = __builtin_fma(d, 0.63661977236758134308, 6755399441055744.0), n = t - 6755399441055744.0;
  f64 r = __builtin_fma(n, -1.57079632679489655800, d);
  r = __builtin_fma(n, -6.12323399573676603587e-17, r);
  f64 z = r * r;
  f64 s = __builtin_fma(z, 2.7557319223985893e-06, -1.9841269841269841e-04);
  s = __builtin_fma(z, s, 8.3333333333333332e-03);
  s = __builtin_fma(z, s, -1.6666666666666666e-01);
  s = __builtin_fma(s * z, r, r);
  f64 c = __builtin_fma(z, -2.7557319223985888e-07, 2.4801587301587302e-05);
  c = __builtin_fma(z, c, -1.3888888888888889e-03);
  c = __builtin_fma(z, c, 4.1666666666666664e-02);
  c = __builtin_fma(z, c, -0.5);
  c = __builtin_fma(z, c, 1.0);
  i64 q = f64_bits(t) + shift;
  f64 y = q & 1 ? c : s;
  y = q & 2 ? -y : y;
  return f32_abs(x) < 1125899906842624.0f ? (f32)y : __builtin_nanf("");
}
INL f32 f32_sin(f32 x) { return f32_sincos(x, 0); }
INL f32 f32_cos(f32 x) { return f32_sincos(x, 1); }
/* section f32_mod */
INL f32 f32_mod(f32 a, f32 b) { /* a - b floor(a / b), exact as fmod is, with the sign of b */
  f32 r = __builtin_fmodf(a, b);
  return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}
/* section f32_pow */
/* a^b = 2^(b log2 a) in double: 2^-45 relative before the last rounding, for every finite result. */
INL f32 f32_pow(f32 a, f32 b) { /* the powers that are folded to other functions give their bits */
  f64 x = f32_abs(a);
  i64 i = f64_bits(x), e = (i - 0x3fe6a09e667f3bcd) >> 52;
  f64 m = bits_f64((i64)((uint64_t)i - ((uint64_t)e << 52)));
  f64 s = (m - 1.0) / (m + 1.0), z = s * s;
  f64 p = 1.0 / 17.0; /* 2 atanh(s) = 2 s (1 + z/3 + z^2/5 + …), s in +-0.172 */
  p = __builtin_fma(p, z, 1.0 / 15.0);
  p = __builtin_fma(p, z, 1.0 / 13.0);
  p = __builtin_fma(p, z, 1.0 / 11.0);
  p = __builtin_fma(p, z, 1.0 / 9.0);
  p = __builtin_fma(p, z, 1.0 / 7.0);
  p = __builtin_fma(p, z, 1.0 / 5.0);
  p = __builtin_fma(p, z, 1.0 / 3.0);
  p = __builtin_fma(p, z, 1.0);
  f64 l = __builtin_fma(2.0 * s * p, 1.44269504088896338700, (f64)e); /* log2 |a| */
  f64 w = l * b;
  w = w > 1000.0 ? 1000.0 : w;
  w = w < -1000.0 ? -1000.0 : w;
  f64 t = w + 6755399441055744.0, n = t - 6755399441055744.0, r = (w - n) * 0.69314718055994528623;
  f64 q = 1.0 / 39916800.0; /* Taylor's series of exp in +-0.347 to r^11 */
  q = __builtin_fma(q, r, 1.0 / 3628800.0);
  q = __builtin_fma(q, r, 1.0 / 362880.0);
  q = __builtin_fma(q, r, 1.0 / 40320.0);
  q = __builtin_fma(q, r, 1.0 / 5040.0);
  q = __builtin_fma(q, r, 1.0 / 720.0);
  q = __builtin_fma(q, r, 1.0 / 120.0);
  q = __builtin_fma(q, r, 1.0 / 24.0);
  q = __builtin_fma(q, r, 1.0 / 6.0);
  q = __builtin_fma(q, r, 0.5);
  q = __builtin_fma(q, r, 1.0);
  q = __builtin_fma(q, r, 1.0);
  f32 y = (f32)(q * bits_f64((i64)((uint64_t)(f64_bits(t) - 0x4338000000000000 + 1023) << 52)));
  f32 inf = __builtin_inff(), ab = f32_abs(b), aa = f32_abs(a);
  int whole = f32_floor(b) == b || ab == inf;
  int odd = whole && ab < 16777216.0f && f32_floor(b * 0.5f) * 2.0f != b;
  y = aa == 0.0f ? (b < 0.0f ? inf : 0.0f) : y;
  y = aa == inf ? (b < 0.0f ? 0.0f : inf) : y;
  y = ab == inf ? (aa == 1.0f ? 1.0f : (aa > 1.0f) == (b > 0.0f) ? inf : 0.0f) : y;
  y = odd && f32_bits(a) < 0 ? -y : y;
  y = a < 0.0f && a != -inf && !whole ? __builtin_nanf("") : y;
  y = a != a || b != b ? a + b : y;
  y = b == -1.0f ? divide(1.0f, a) : y;
  y = b == 2.0f ? a * a : y;
  y = b == 0.5f && a > 0.0f ? __builtin_sqrtf(a) : y;
  return b == 0.0f || a == 1.0f ? 1.0f : y;
}
/* section f64_abs f64_sqrt f64_floor f64_ceil f64_rint */
INL f64 f64_abs(f64 x) { return __builtin_fabs(x); }
INL f64 f64_sqrt(f64 x) { return __builtin_sqrt(x); }
INL f64 f64_floor(f64 x) { return __builtin_floor(x); }
INL f64 f64_ceil(f64 x) { return __builtin_ceil(x); }
INL f64 f64_rint(f64 x) { return __builtin_rint(x); }
/* section f64_opaque f64_exp f64_exp_down f64_expm1 f64_log f64_log1p f64_log2 f64_sin f64_cos f64_tanh f64_erf */
/* Hides a value from the compiler, which evaluates functions of constants with another rounding than
   libm has: the same number must not depend on whether it is known at compile time. */
INL f64 f64_opaque(f64 x) {
#ifndef __CUDACC__
  __asm__("" : "+m"(x));
#endif
  return x;
}
INL f64 f64_exp(f64 x) { return __builtin_exp(f64_opaque(x)); }
INL f64 f64_exp_down(f64 x) { return f64_exp(x); }
INL f64 f64_expm1(f64 x) { return __builtin_expm1(f64_opaque(x)); }
INL f64 f64_log(f64 x) { return __builtin_log(f64_opaque(x)); }
INL f64 f64_log1p(f64 x) { return __builtin_log1p(f64_opaque(x)); }
INL f64 f64_log2(f64 x) { return __builtin_log2(f64_opaque(x)); }
INL f64 f64_sin(f64 x) { return __builtin_sin(f64_opaque(x)); }
INL f64 f64_cos(f64 x) { return __builtin_cos(f64_opaque(x)); }
INL f64 f64_tanh(f64 x) { return __builtin_tanh(f64_opaque(x)); }
INL f64 f64_erf(f64 x) { return __builtin_erf(f64_opaque(x)); }
/* section f64_pow */
INL f64 f64_pow(f64 a, f64 b) {
  if (b == -1) return divide(1.0, a);
  if (b == 2) return a * a;
  if (b == 0.5 && a > 0) return __builtin_sqrt(a);
  return __builtin_pow(f64_opaque(a), f64_opaque(b));
}
/* section f64_sigmoid */
INL f64 f64_sigmoid(f64 x) {
  f64 e = f64_exp(-__builtin_fabs(x));
  return divide(x < 0 ? e : 1, 1 + e);
}
/* section f64_mod */
INL f64 f64_mod(f64 a, f64 b) {
  f64 r = __builtin_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
