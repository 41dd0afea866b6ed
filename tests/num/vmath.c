/* The elementary functions that generated programs contain, against libm in double: the largest
   error in units in the last place stays within its row, special values are exact, and a vectorised
   loop gives the bits of a scalar call. Prints a hash of all results, so that a script can compare
   compilers and flags: equal texts must give equal bits everywhere. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cpu/text/base.h"

#include "codegen/shared/math.h"

#include "codegen/cpu/text/vmath.h"

#include "codegen/shared/convert.h"

typedef struct GcEnv {
  uint64_t seed, step;
} GcEnv;
#include "codegen/shared/random.h"

#ifndef POINTS
#define POINTS (1 << 20)
#endif
static int failures;

static double ulp(double want) {
  int e;
  double a = fabs(want);
  if (a < 1.17549435e-38) a = 1.17549435e-38;
  frexp(a, &e);
  return ldexp(1, e - 24);
}

typedef struct Row {
  const char *name;
  void (*many)(float *y, const float *x, int n);
  float (*one)(float);
  double (*want)(double);
  double lo, hi, limit; /* limit in ulp */
} Row;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

#define ROW_FUNCTIONS(F)                                                                           \
  static void many_##F(float *restrict y, const float *restrict x, int n) {                        \
    for (int i = 0; i < n; i++) y[i] = f32_##F(x[i]);                                              \
  }                                                                                                \
  static __attribute__((noinline)) float one_##F(float x) { return f32_##F(x); }
ROW_FUNCTIONS(exp)
ROW_FUNCTIONS(expm1)
ROW_FUNCTIONS(log)
ROW_FUNCTIONS(log1p)
ROW_FUNCTIONS(log2)
ROW_FUNCTIONS(tanh)
ROW_FUNCTIONS(sigmoid)
ROW_FUNCTIONS(erf)
ROW_FUNCTIONS(sin)
ROW_FUNCTIONS(cos)

#define ROW(F, W, LO, HI, LIM)                                                                     \
  { #F, many_##F, one_##F, W, LO, HI, LIM }
static const Row rows[] = {
    ROW(exp, exp, -87, 88.7, 1.05),      ROW(exp, exp, -1e-3, 1e-3, 1.05),
    ROW(expm1, expm1, -30, 88, 1.6),     ROW(expm1, expm1, -1e-3, 1e-3, 1.6),
    ROW(log, log, 1.2e-38, 1e-3, 0.85),  ROW(log, log, 0.5, 2, 0.85),
    ROW(log, log, 1, 3e38, 0.85),        ROW(log1p, log1p, -0.999, 1, 2.6),
    ROW(log1p, log1p, -1e-4, 1e-4, 2.6), ROW(log1p, log1p, 1, 1e10, 2.6),
    ROW(log2, log2, 1.2e-38, 1e-3, 1.1), ROW(log2, log2, 0.5, 2, 1.3),
    ROW(log2, log2, 1, 3e38, 1.1),       ROW(tanh, tanh, -9, 9, 1.35),
    ROW(tanh, tanh, -1e-3, 1e-3, 0.51),  ROW(sigmoid, sigmoid, -80, 80, 2.5),
    ROW(erf, erf, -5, 5, 6.4),           ROW(sin, sin, -100, 100, 0.6),
    ROW(cos, cos, -100, 100, 0.6),       ROW(sin, sin, -1e9, 1e9, 0.6),
    ROW(cos, cos, -1e9, 1e9, 0.6),
};

static uint64_t hash = 1469598103934665603ull;
static void mix(const void *p, size_t n) {
  const unsigned char *b = p;
  for (size_t i = 0; i < n; i++) hash = (hash ^ b[i]) * 1099511628211ull;
}

static void expect(const char *what, float got, float want) {
  if (memcmp(&got, &want, 4) != 0 && !(got != got && want != want)) {
    printf("%s: %a, expected %a\n", what, (double)got, (double)want);
    failures++;
  }
}

static void check_int(const char *what, int64_t got, int64_t want) {
  if (got == want) return;
  printf("%s is %lld, not %lld\n", what, (long long)got, (long long)want);
  failures++;
}

static void special(void) {
  float inf = INFINITY, nan = NAN;
#define S(F, X, Y) expect(#F "(" #X ")", f32_##F(X), Y)
  S(exp, 0.0f, 1.0f), S(exp, inf, inf), S(exp, -inf, 0.0f), S(exp, nan, nan);
  S(expm1, 0.0f, 0.0f), S(expm1, -0.0f, -0.0f), S(expm1, inf, inf), S(expm1, -inf, -1.0f),
      S(expm1, nan, nan);
  S(log, 1.0f, 0.0f), S(log, 0.0f, -inf), S(log, -1.0f, nan), S(log, inf, inf), S(log, nan, nan);
  S(log1p, 0.0f, 0.0f), S(log1p, -1.0f, -inf), S(log1p, -2.0f, nan), S(log1p, inf, inf),
      S(log1p, nan, nan), S(log2, 0.0f, -inf), S(log2, 8.0f, 3.0f), S(log2, 0x1p-126f, -126.0f),
      S(log2, -1.0f, nan), S(log2, inf, inf);
  S(tanh, 0.0f, 0.0f), S(tanh, -0.0f, -0.0f), S(tanh, inf, 1.0f), S(tanh, -inf, -1.0f),
      S(tanh, nan, nan), S(erf, nan, nan), S(sigmoid, nan, nan);
  S(sigmoid, inf, 1.0f), S(sigmoid, -inf, 0.0f), S(sin, 0.0f, 0.0f), S(sin, inf, nan),
      S(cos, 0.0f, 1.0f);
  static const float base[] = {0.0f,  -0.0f, 1.0f,     -1.0f,     2.0f, -2.0f, 0.5f,
                               -0.5f, 3e38f, INFINITY, -INFINITY, NAN,  3.0f,  -8.0f};
  for (int i = 0; i < 14; i++)
    for (int j = 0; j < 14; j++) {
      char text[64];
      snprintf(text, sizeof text, "pow(%g, %g)", (double)base[i], (double)base[j]);
      expect(text, f32_pow(base[i], base[j]), (float)pow(base[i], base[j]));
    }
#define C(GOT, WANT) check_int(#GOT, (int64_t)(GOT), (int64_t)(WANT))
  C(i32_from_f32(nan), 0), C(i32_from_f32(inf), INT32_MAX), C(i32_from_f32(-inf), INT32_MIN),
      C(i32_from_f32(-1.9f), -1);
  C(u8_from_f32(-3.0f), 0), C(u8_from_f32(256.5f), 255), C(i64_from_f64(1e30), INT64_MAX),
      C(i32_mod(-7, 3), 2);
  C(i32_quotient(-7, 3), -3), C(i32_quotient(7, -3), -3), C(i32_quotient(-6, 3), -2);
  C(i32_quotient(INT32_MIN, -1), INT32_MIN), C(i32_quotient(5, 0), 0);
  C(i64_quotient(INT64_MAX, 2), INT64_MAX / 2), C(u8_quotient(200, 3), 66);
  C(i32_mod(7, -3), -2), C(i32_mod(INT32_MIN, -1), 0), C(i32_mod(5, 0), 0),
      C(i32_abs(INT32_MIN), INT32_MIN);
  expect("mod(-1, 3)", f32_mod(-1, 3), 2), expect("mod(1, -3)", f32_mod(1, -3), -2);
}

static void halves(void) { /* every f16 and bf16 there and back; every rounding point of f16 */
  for (uint32_t h = 0; h < 65536; h++) {
    float x = f16_to_f32((uint16_t)h), y = bf16_to_f32((uint16_t)h);
    if (x == x && f32_to_f16(x) != h)
      printf("f16 %04x comes back as %04x\n", h, f32_to_f16(x)), failures++;
    if (y == y && f32_to_bf16(y) != h)
      printf("bf16 %04x comes back as %04x\n", h, f32_to_bf16(y)), failures++;
    float next = f16_to_f32((uint16_t)(h + 1));
    if ((h & 0x7fff) < 0x7bff) { /* halfway goes to the even one */
      float mid = (x + next) / 2;
      uint32_t even = h & 1 ? h + 1 : h;
      if (f32_to_f16(mid) != even)
        printf("f16: halfway above %04x rounds to %04x\n", h, f32_to_f16(mid)), failures++;
    }
  }
  if (f32_to_f16(65520.0f) != 0x7c00 || f32_to_f16(65519.0f) != 0x7bff)
    printf("f16: overflow\n"), failures++;
  if (!(f16_to_f32(f32_to_f16(NAN)) != f16_to_f32(f32_to_f16(NAN))))
    printf("f16: NaN\n"), failures++;
}

typedef struct Array {
  const char *name;
  void (*all)(float *x, long n);
  float (*one)(float);
} Array;

/* exp of what is not above 0 */
static float one_exp_down(float x) { return f32_exp_down(-fabsf(x)); }
static void all_exp_down(float *x, long n) {
  for (long i = 0; i < n; i++) x[i] = -fabsf(x[i]);
  all_exp_down_f32(x, n);
}

/* The functions of arrays have the bits of those of one number, of all kinds of numbers, for every
   count, and change nothing behind the last vector. */
static void arrays(void) {
  static const Array array[] = {{"exp", all_exp_f32, one_exp},
                                {"exp down", all_exp_down, one_exp_down},
                                {"sigmoid", all_sigmoid_f32, one_sigmoid},
                                {"tanh", all_tanh_f32, one_tanh},
                                {"erf", all_erf_f32, one_erf}};
  static const float edge[] = {0,      -0.0f, 0.625f, -0.625f, 4,         -4,       EXP_LO,
                               EXP_HI, 88,    1e-40,  3e38f,   -INFINITY, INFINITY, NAN};
  enum { MOST = 6 * VW };
  _Alignas(64) float x[MOST + 1], was[MOST];
  for (int i = 0; i < POINTS / 256; i++) {
    const int n = i % (MOST + 1);
    for (int k = 0; k < MOST; k++) {
      uint32_t w[4];
      philox(13, (uint64_t)i * MOST + (uint64_t)k, 0, w);
      was[k] = w[1] % 4 == 0   ? bits_f32((i32)w[0])
               : w[1] % 4 == 1 ? edge[w[0] % (sizeof edge / sizeof *edge)]
                               : (float)((double)w[0] / 4294967296.0 * 40 - 20);
    }
    for (size_t f = 0; f < sizeof array / sizeof *array; f++) {
      memcpy(x, was, sizeof was);
      const int end = (n + VW - 1) / VW * VW;
      if (end < MOST) x[end] = 5;
      array[f].all(x, n);
      if (end < MOST) check_int("the number behind an array", x[end] == 5, 1);
      for (int k = 0; k < n; k++) {
        const float one = array[f].one(was[k]);
        if (memcmp(&one, &x[k], 4) == 0 || (isnan(one) && isnan(x[k]))) continue;
        if (failures++ < 9)
          printf("%s(%a): %a in an array of %d, %a alone\n", array[f].name, (double)was[k],
                 (double)x[k], n, (double)one);
      }
    }
  }
}

/* The powers that the compiler folds to other functions have the bits of those, when the exponent
   is known and when it is not. */
static void powers(void) {
  volatile float two = 2, minus = -1, half = 0.5f;
  uint32_t w[4];
  int other = 0;
  for (uint64_t i = 0; i < POINTS / 4; i++) {
    philox(11, i, 0, w);
    float a = bits_f32((i32)(w[0] % 0x7d000000u + 0x01000000u)), sign = w[1] & 1 ? -a : a;
    double d = bits_f64((i64)(((uint64_t)(w[2] % 0x3ff + 0x200) << 52) | w[3] * 1048573ull)),
           e = w[1] & 1 ? -d : d;
    other += f32_pow(sign, two) != sign * sign || f32_pow(sign, 2) != sign * sign;
    other += f32_pow(sign, minus) != 1 / sign || f32_pow(sign, -1) != 1 / sign;
    other += f32_pow(a, half) != sqrtf(a) || f32_pow(a, 0.5f) != sqrtf(a);
    other += f64_pow(e, two) != e * e || f64_pow(e, 2) != e * e;
    other += f64_pow(e, minus) != 1 / e || f64_pow(e, -1) != 1 / e;
    other += f64_pow(d, half) != sqrt(d) || f64_pow(d, 0.5) != sqrt(d);
  }
  check_int("powers with other bits than what they fold to", other, 0);
}

/* Products and sums that end near the middle between two floats, cancel, or have too few bits, in
   every lane: rounded once, as fmaf does. */
static void fused(void) {
  for (int i = 0; i < 2 * POINTS; i++) {
    uint32_t w[4], u[4];
    Vf32 a, b, c;
    for (int l = 0; l < VW; l++) {
      philox(11, (uint64_t)i * VW + (uint64_t)l, 0, w);
      philox(12, (uint64_t)i * VW + (uint64_t)l, 0, u);
      uint32_t x = w[0], y = w[1], z = w[2];
      if (w[3] % 4 == 1) { /* the addend reaches below the product's last bit, or cancels it */
        x = (x & 0x807fffffu) | (100 + u[0] % 54) << 23;
        y = (y & 0x807fffffu) | (100 + u[1] % 54) << 23;
        float p = bits_f32((i32)x) * bits_f32((i32)y);
        z = (uint32_t)f32_bits(p) + (u[2] % 64 - 32) + ((u[3] % 60 - 30) << 23);
        if (u[3] & 1 << 20) z ^= 0x80000000u;
      } else if (w[3] % 4 == 2) { /* few bits: ties */
        x = (x & 0x807ff000u) | (120 + u[0] % 10) << 23;
        y = (y & 0x807ff000u) | (120 + u[1] % 10) << 23;
        z = (z & 0x807ff000u) | (100 + u[2] % 50) << 23;
      } else if (w[3] % 4 == 3) { /* subnormal sums */
        x = (x & 0x807ff000u) | (u[0] % 120) << 23;
        y = (y & 0x807ff000u) | (u[1] % 130) << 23;
        z &= 0x80ffffffu;
      }
      a[l] = bits_f32((i32)x), b[l] = bits_f32((i32)y), c[l] = bits_f32((i32)z);
    }
    const Vf32 got = vfma_f32(a, b, c);
    for (int l = 0; l < VW; l++) {
      const float want = fmaf(a[l], b[l], c[l]), one = got[l];
      if (memcmp(&one, &want, 4) == 0 || (isnan(one) && isnan(want))) continue;
      if (failures++ < 9) printf("fma(%a, %a, %a) is %a, not %a\n", a[l], b[l], c[l], one, want);
    }
  }
}

int main(int argc, char **argv) {
  float *x = malloc(POINTS * sizeof *x), *y = malloc(POINTS * sizeof *y);
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    const Row *row = &rows[r];
    for (int i = 0; i < POINTS; i++)
      x[i] = (float)(row->lo + (row->hi - row->lo) * ((double)i + 0.37) / POINTS);
    row->many(y, x, POINTS);
    double worst = 0;
    for (int i = 0; i < POINTS; i++) {
      float s = row->one(x[i]);
      if (memcmp(&s, &y[i], 4) != 0) {
        printf("%s(%a): %a in a loop, %a alone\n", row->name, (double)x[i], (double)y[i],
               (double)s);
        failures++;
        break;
      }
      double want = row->want(x[i]), err = fabs(y[i] - want) / ulp(want);
      if (!(err <= worst)) worst = err;
    }
    if (!(worst <= row->limit)) failures++;
    if (argc > 1 || !(worst <= row->limit))
      printf("%-8s [%g, %g] %.2f ulp (limit %.2f)\n", row->name, row->lo, row->hi, worst,
             row->limit);
    mix(y, POINTS * sizeof *y);
  }
  double worst = 0;
  uint32_t w[4];
  for (int i = 0; i < POINTS / 4; i++) { /* pow at random points, by the generator under test */
    philox(7, (uint64_t)i, 0, w);
    float a = bits_f32((i32)(w[0] % 0x7f000000u + 0x00800000u)),
          b = (float)((double)w[1] / 4294967296.0 * 20 - 10);
    float got = f32_pow(a, b);
    double want = pow(a, b);
    if (want > 3.4e38 || want < 1.2e-38) continue;
    double err = fabs(got - want) / ulp(want);
    if (!(err <= worst)) worst = err;
    mix(&got, 4);
  }
  if (!(worst <= 0.6)) printf("pow %.2f ulp\n", worst), failures++;
  const GcEnv env = {5, 3};
  double sum = 0, square = 0;
  for (int i = 0; i < POINTS; i++) {
    double n = f32_random_normal(99, &env, (uint64_t)i);
    sum += n, square += n * n;
  }
  if (fabs(sum / POINTS) > 4e-3 || fabs(square / POINTS - 1) > 6e-3)
    printf("normal: mean %g, variance %g\n", sum / POINTS, square / POINTS), failures++;
  fused();
  arrays();
  special();
  powers();
  halves();
  printf("hash %016llx, %d failures\n", (unsigned long long)hash, failures);
  free(x);
  free(y);
  return failures != 0;
}
