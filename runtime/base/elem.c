/* Element types: sizes and names from elem.def, conversion from what a file holds to what an input
   needs. Contract: integers and bools convert only where every value is kept (elem_check says which
   is not); floats convert to any float, rounded to nearest even. f16 and bf16 are done in integer
   arithmetic. */
#include "runtime/base/rt.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ElemInfo elem_info[ELEM_COUNT] = {
#define ELEM(id, name, size, cls, st, npy) [ELEM_##id] = {name, size, cls, st, npy},
#include "runtime/base/elem.def"
#undef ELEM
};

static float half_to_float(uint16_t h) {
  uint32_t sign = (uint32_t)(h >> 15) << 31, exp = h >> 10 & 31, man = h & 1023;
  if (exp == 0) return (sign ? -1.0F : 1.0F) * (float)man * 0x1p-24F;
  uint32_t bits = exp == 31 ? 0x7F800000U | man << 13 : (exp + 112) << 23 | man << 13;
  bits |= sign;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

/* To nearest even, straight from f64 so that f64 -> f16 rounds once. */
static uint16_t double_to_half(double d) {
  uint64_t b;
  memcpy(&b, &d, 8);
  uint16_t sign = (uint16_t)(b >> 48 & 0x8000);
  if (isnan(d)) return sign | 0x7E00;
  double a = fabs(d);
  if (a >= 65520.0) return sign | 0x7C00;
  if (a < 0x1p-14) return sign | (uint16_t)nearbyint(a * 0x1p24); /* 1024 is the least normal */
  int e;
  double m = frexp(a, &e); /* a = m * 2^e, 0.5 <= m < 1 */
  uint32_t r = (uint32_t)nearbyint(m * 2048.0);
  return sign |
         (uint16_t)(((uint32_t)(e + 13) << 10) + r); /* a carry of r moves into the exponent */
}

static float bf16_to_float(uint16_t h) {
  uint32_t b = (uint32_t)h << 16;
  float f;
  memcpy(&f, &b, 4);
  return f;
}

static uint16_t double_to_bf16(double d) {
  float f = (float)d;
  if (!isnan(d) && isfinite(f) &&
      (double)f != d) { /* round to odd, so that the second rounding is right */
    float other = (double)f < d ? nextafterf(f, INFINITY) : nextafterf(f, -INFINITY);
    uint32_t fb;
    memcpy(&fb, &f, 4);
    if (!(fb & 1) && isfinite(other)) f = other;
  }
  uint32_t b;
  memcpy(&b, &f, 4);
  if (isnan(f)) return (uint16_t)(b >> 16 | 0x40);
  return (uint16_t)((b + 0x7FFF + (b >> 16 & 1)) >> 16);
}

#define LOAD(T, p, i)                                                                              \
  (__extension__({                                                                                 \
    T v_;                                                                                          \
    memcpy(&v_, (const char *)(p) + (i) * sizeof v_, sizeof v_);                                   \
    v_;                                                                                            \
  }))

static int64_t elem_int(const void *p, Elem type, uint64_t i) {
  switch (type) {
  case ELEM_BOOL:
  case ELEM_U8: return LOAD(uint8_t, p, i);
  case ELEM_I8: return LOAD(int8_t, p, i);
  case ELEM_I16: return LOAD(int16_t, p, i);
  case ELEM_U16: return LOAD(uint16_t, p, i);
  case ELEM_I32: return LOAD(int32_t, p, i);
  case ELEM_U32: return LOAD(uint32_t, p, i);
  case ELEM_I64:
  case ELEM_U64: return LOAD(int64_t, p, i);
  case ELEM_F16:
  case ELEM_BF16:
  case ELEM_F32:
  case ELEM_F64:
  case ELEM_COUNT: break;
  }
  return (int64_t)elem_real(p, type, i);
}

static double real_of(const void *p, Elem type, uint64_t i) {
  switch (type) {
  case ELEM_F16: return half_to_float(LOAD(uint16_t, p, i));
  case ELEM_BF16: return bf16_to_float(LOAD(uint16_t, p, i));
  case ELEM_F32: return LOAD(float, p, i);
  case ELEM_F64: return LOAD(double, p, i);
  case ELEM_U64: return (double)LOAD(uint64_t, p, i);
  case ELEM_BOOL:
  case ELEM_U8:
  case ELEM_I32:
  case ELEM_I64:
  case ELEM_I8:
  case ELEM_I16:
  case ELEM_U16:
  case ELEM_U32:
  case ELEM_COUNT: break;
  }
  return (double)elem_int(p, type, i);
}

double elem_real(const void *p, Elem type, uint64_t i) {
  double x = real_of(p, type, i);
  return isnan(x) ? (double)NAN : x; /* printf tells the sign */
}

/* Vectors, since compilers make none of loops at -O2. */
#define ONE_NAN(NAME, T, INFINITE, QUIET)                                                          \
  typedef T NAME##_lanes __attribute__((vector_size(16)));                                         \
  static void NAME(char *p, uint64_t n) {                                                          \
    const T magnitude = (T) ~((T)1 << (8 * sizeof(T) - 1));                                        \
    for (; n >= 16 / sizeof(T); n -= 16 / sizeof(T), p += 16) {                                    \
      NAME##_lanes x;                                                                              \
      memcpy(&x, p, sizeof x);                                                                     \
      const NAME##_lanes nan = (NAME##_lanes)((x & magnitude) > (T)(INFINITE));                    \
      x = (x & ~nan) | ((T)(QUIET)&nan);                                                           \
      memcpy(p, &x, sizeof x);                                                                     \
    }                                                                                              \
    for (T x; n > 0; n--, p += sizeof x) {                                                         \
      memcpy(&x, p, sizeof x);                                                                     \
      x = (x & magnitude) > (T)(INFINITE) ? (T)(QUIET) : x;                                        \
      memcpy(p, &x, sizeof x);                                                                     \
    }                                                                                              \
  }
ONE_NAN(one_nan_f16, int16_t, 0x7C00, 0x7E00)
ONE_NAN(one_nan_bf16, int16_t, 0x7F80, 0x7FC0)
ONE_NAN(one_nan_f32, int32_t, 0x7F800000, 0x7FC00000)
ONE_NAN(one_nan_f64, int64_t, INT64_C(0x7FF) << 52, INT64_C(0xFFF) << 51)

void elem_one_nan(void *p, Elem type, uint64_t n) {
  if (type == ELEM_F16) one_nan_f16(p, n);
  if (type == ELEM_BF16) one_nan_bf16(p, n);
  if (type == ELEM_F32) one_nan_f32(p, n);
  if (type == ELEM_F64) one_nan_f64(p, n);
}

static void store_real(void *dst, Elem to, uint64_t i, double d) {
  char *q = (char *)dst + i * (uint64_t)elem_info[to].size;
  if (to == ELEM_F64) {
    memcpy(q, &d, 8);
  } else if (to == ELEM_F32) {
    float f = (float)d;
    memcpy(q, &f, 4);
  } else {
    uint16_t h = to == ELEM_F16 ? double_to_half(d) : double_to_bf16(d);
    memcpy(q, &h, 2);
  }
}

static void store_int(void *dst, Elem to, uint64_t i, int64_t v) { /* little-endian machines */
  memcpy((char *)dst + i * (uint64_t)elem_info[to].size, &v, (size_t)elem_info[to].size);
}

bool elem_converts(Elem from, Elem to) {
  if (elem_info[to].cls == ELEM_FLOATS) return true;
  return elem_info[from].cls != ELEM_FLOATS;
}

bool elem_check(Elem to, const void *src, Elem from, uint64_t n, uint64_t *bad) {
  if (from == to && from != ELEM_BOOL) return true;
  if (elem_info[from].cls == ELEM_FLOATS) return true;
  if (to == ELEM_F64 && elem_info[from].size < 8) return true;
  if (to == ELEM_F32 && elem_info[from].size < 4) return true;
  int64_t lo = 0, hi = 1;
  if (to == ELEM_U8) hi = UINT8_MAX;
  if (to == ELEM_I8) lo = INT8_MIN, hi = INT8_MAX;
  if (to == ELEM_I32) lo = INT32_MIN, hi = INT32_MAX;
  if (to == ELEM_I64) lo = INT64_MIN, hi = INT64_MAX;
  bool real = elem_info[to].cls == ELEM_FLOATS;
  for (uint64_t i = 0; i < n; i++) {
    int64_t v = elem_int(src, from, i);
    bool ok = from != ELEM_U64 || v >= 0;
    if (ok && real) {
      double d = (double)v, back;
      char cell[8];
      store_real(cell, to, 0, d);
      back = elem_real(cell, to, 0);
      ok = back == d && back < 0x1p63 && (int64_t)back == v;
    } else if (ok) {
      ok = v >= lo && v <= hi;
    }
    if (!ok) {
      *bad = i;
      return false;
    }
  }
  return true;
}

void elem_convert(void *dst, Elem to, const void *src, Elem from, uint64_t n) {
  if (from == to) {
    memcpy(dst, src, n * (uint64_t)elem_info[to].size);
  } else if (from == ELEM_U8 && to == ELEM_F32) { /* images */
    for (uint64_t i = 0; i < n; i++) ((float *)dst)[i] = ((const uint8_t *)src)[i];
  } else if (from == ELEM_U8 && to == ELEM_I32) { /* text */
    for (uint64_t i = 0; i < n; i++) ((int32_t *)dst)[i] = ((const uint8_t *)src)[i];
  } else if (from == ELEM_BF16 && to == ELEM_F32) { /* published weights */
    for (uint64_t i = 0; i < n; i++)
      ((uint32_t *)dst)[i] = (uint32_t)((const uint16_t *)src)[i] << 16;
  } else if (elem_info[to].cls == ELEM_FLOATS) {
    for (uint64_t i = 0; i < n; i++) store_real(dst, to, i, elem_real(src, from, i));
  } else {
    for (uint64_t i = 0; i < n; i++) store_int(dst, to, i, elem_int(src, from, i));
  }
}

void elem_swap(void *p, int size, uint64_t n) {
  uint8_t *b = p;
  for (uint64_t i = 0; i < n; i++, b += size)
    for (int j = 0; j < size / 2; j++) {
      uint8_t x = b[j];
      b[j] = b[size - 1 - j];
      b[size - 1 - j] = x;
    }
}

bool elem_below(const void *p, Elem type, uint64_t n, int64_t limit, uint64_t *bad,
                int64_t *value) {
  for (uint64_t i = 0; i < n; i++) {
    *value = elem_int(p, type, i);
    *bad = i;
    if (*value < 0 || *value >= limit) return false;
  }
  return true;
}

bool elem_finite(const void *p, Elem type, uint64_t n, uint64_t *bad) {
  if (elem_info[type].cls != ELEM_FLOATS) return true;
  uint64_t i = 0;
  if (type == ELEM_F32) /* all of a model's weights, before each save */
    while (i < n && (((const uint32_t *)p)[i] & 0x7F800000U) != 0x7F800000U) i++;
  for (; i < n; i++)
    if (!isfinite(elem_real(p, type, i))) {
      *bad = i;
      return false;
    }
  return true;
}

void float_text(char out[32], float v) {
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(out, 32, "%.*g", digits, (double)v);
    if (strtof(out, NULL) == v) break;
  }
}

void real_text(char out[32], double v) {
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(out, 32, "%.*g", digits, v);
    if (strtod(out, NULL) == v) break;
  }
}

void hyper_text(char out[32], const GcHyper *h, double value) {
  if (h->dtype == GC_F32)
    float_text(out, (float)value);
  else if (h->dtype == GC_BOOL)
    snprintf(out, 32, "%s", value != 0 ? "true" : "false");
  else
    snprintf(out, 32, "%.0f", value);
}

void elem_format(char out[40], const void *p, Elem type, uint64_t i) {
  if (type == ELEM_BOOL) {
    snprintf(out, 40, "%s", elem_int(p, type, i) ? "true" : "false");
  } else if (type == ELEM_U64) {
    snprintf(out, 40, "%" PRIu64, (uint64_t)elem_int(p, type, i));
  } else if (elem_info[type].cls == ELEM_INTS) {
    snprintf(out, 40, "%" PRId64, elem_int(p, type, i));
  } else if (type == ELEM_F64) {
    snprintf(out, 40, "%.10g", elem_real(p, type, i));
  } else {
    snprintf(out, 40, "%.6g", elem_real(p, type, i));
  }
}

void elem_exact(char out[40], const void *p, Elem type, uint64_t i) {
  const double v = elem_real(p, type, i);
  if (type == ELEM_BOOL) {
    snprintf(out, 40, "%d", v != 0);
  } else if (type == ELEM_F64) {
    real_text(out, v);
  } else if (elem_info[type].cls == ELEM_FLOATS) {
    float_text(out, (float)v);
  } else {
    elem_format(out, p, type, i);
  }
}
