/* 16-bit and tf32 conversions.
 * Exact for every input and all four directions; NaN becomes 0x7fff as the hardware's does.
 * One routine rounds a double's significand to a format of p bits with a least exponent. */
#include "half.h"
#include <math.h>
#include <string.h>

typedef struct Format {
  int bits;     /* of the significand, with the hidden one */
  int emin;     /* exponent of the least normal number */
  double max;   /* largest finite */
  uint16_t inf; /* encoding */
} Format;
static const Format f16 = {11, -14, 65504.0, 0x7c00};
static const Format bf16 = {8, -126, 0x1.fep127, 0x7f80};

static double round_to(double v, const Format *f, Round round) {
  int e;
  frexp(v, &e); /* |v| in [2^(e-1), 2^e) */
  e = e - 1 < f->emin ? f->emin : e - 1;
  int scale = f->bits - 1 - e;
  double x = ldexp(v, scale), r = 0;
  switch (round) {
  case ROUND_ZERO: r = trunc(x); break;
  case ROUND_DOWN: r = floor(x); break;
  case ROUND_UP: r = ceil(x); break;
  case ROUND_NEAREST: {
    r = floor(x);
    double rest = x - r;
    if (rest > 0.5 || (rest == 0.5 && fmod(r, 2) != 0)) r += 1;
    break;
  }
  }
  return ldexp(r, -scale);
}

static uint16_t put(double v, const Format *f, Round round) {
  uint16_t sign = signbit(v) ? 0x8000 : 0;
  if (isnan(v)) return 0x7fff;
  if (isinf(v)) return sign | f->inf;
  double r = fabs(round_to(v, f, round));
  if (r > f->max) {
    bool to_max =
        round == ROUND_ZERO || (round == ROUND_DOWN && !sign) || (round == ROUND_UP && sign);
    return sign | (uint16_t)(to_max ? f->inf - 1 : f->inf);
  }
  int e;
  if (r == 0) return sign;
  frexp(r, &e);
  int exponent = e - 1 < f->emin ? f->emin : e - 1;
  uint32_t m = (uint32_t)ldexp(r, f->bits - 1 - exponent); /* with the hidden bit */
  uint32_t field = (uint32_t)(exponent - f->emin);         /* one less than the biased exponent */
  return sign | (uint16_t)((field << (f->bits - 1)) + m);
}

double half_get(uint16_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return h & 0x8000 ? -v : v;
}

double bfloat_get(uint16_t b) {
  uint32_t u = (uint32_t)b << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}

uint16_t half_put(double v, Round round) { return put(v, &f16, round); }

/* To nearest is what kernels do all the time; from a float it is an addition. */
uint16_t bfloat_put(double v, Round round) {
  float f = (float)v;
  if (round == ROUND_NEAREST && (double)f == v) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
  return put(v, &bf16, round);
}

uint32_t tf32_put(float v, bool away) {
  uint32_t u;
  memcpy(&u, &v, 4);
  if ((u & 0x7fffffff) > 0x7f800000) return 0x7fffffff;
  if ((u & 0x7fffffff) == 0x7f800000) return u;
  u += away ? 0x1000 : 0xfff + (u >> 13 & 1);
  return u & ~0x1fffu;
}

uint32_t canonical_f32(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return v != v ? 0x7fffffff : bits;
}
