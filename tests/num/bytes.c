/* Elements as they lie in memory; see bytes.h. */
#include "tests/num/bytes.h"

#include <math.h>

static float half_to_float(uint16_t h, bool brain) {
  if (brain) {
    uint32_t b = (uint32_t)h << 16;
    float f;
    memcpy(&f, &b, 4);
    return f;
  }
  int e = h >> 10 & 31, m = h & 1023;
  double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return (float)(h & 0x8000 ? -v : v);
}

Scalar scalar_read(const unsigned char *p, Dtype dt) {
  Scalar s = {0};
  uint16_t h;
  int32_t i;
  float f;
  switch (dt) {
  case DT_BOOL:
  case DT_U8: s.i = *p; break;
  case DT_I8: s.i = (int8_t)*p; break;
  case DT_I32: memcpy(&i, p, 4), s.i = i; break;
  case DT_I64: memcpy(&s.i, p, 8); break;
  case DT_F16:
  case DT_BF16: memcpy(&h, p, 2), s.f = half_to_float(h, dt == DT_BF16); break;
  case DT_F32: memcpy(&f, p, 4), s.f = f; break;
  case DT_F64: memcpy(&s.f, p, 8); break;
  case DTYPES: break;
  }
  return s;
}

static uint16_t half_bits(double v, bool brain) { /* v is representable: interpreters rounded it */
  if (brain) {
    float f = (float)v;
    uint32_t b;
    memcpy(&b, &f, 4);
    return (uint16_t)(b >> 16);
  }
  uint16_t sign = signbit(v) ? 0x8000 : 0;
  double a = fabs(v);
  if (v != v) return 0x7e00;
  if (a > 65504) return sign | 0x7c00;
  if (a < ldexp(1, -14)) return sign | (uint16_t)lrint(ldexp(a, 24));
  int e;
  double m = frexp(a, &e);
  return sign | (uint16_t)((e + 14) << 10 | ((int)lrint(ldexp(m, 11)) & 1023));
}

void scalar_write(unsigned char *p, Dtype dt, Scalar s) {
  uint16_t h;
  int32_t i = (int32_t)s.i;
  float f = (float)s.f;
  switch (dt) {
  case DT_BOOL:
  case DT_U8:
  case DT_I8: *p = (unsigned char)s.i; break;
  case DT_I32: memcpy(p, &i, 4); break;
  case DT_I64: memcpy(p, &s.i, 8); break;
  case DT_F16:
  case DT_BF16: h = half_bits(s.f, dt == DT_BF16), memcpy(p, &h, 2); break;
  case DT_F32: memcpy(p, &f, 4); break;
  case DT_F64: memcpy(p, &s.f, 8); break;
  case DTYPES: break;
  }
}
