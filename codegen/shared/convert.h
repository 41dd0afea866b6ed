/* Conversions between dtypes, as the reference has them: integers wrap, floats to integers truncate
   and saturate (NaN is 0), half precisions round to nearest even. All in integers or in normal f32
   numbers, so that flushing subnormals to zero does not change them. */
/* section bf16_to_f32 f32_to_bf16 bf16_bits bf16_load bf16_store bf16_round */
INL f32 bf16_to_f32(uint16_t h) { return bits_f32((i32)((uint32_t)h << 16)); }
INL uint16_t f32_to_bf16(f32 x) {
  uint32_t b = (uint32_t)f32_bits(x), r = b + 0x7fffu + (b >> 16 & 1);
  return (uint16_t)(((b & 0x7fffffffu) > 0x7f800000u ? b | 0x400000u : r) >> 16);
}
/* Of a number that bf16 holds already. */
INL uint16_t bf16_bits(f32 x) { return (uint16_t)((uint32_t)f32_bits(x) >> 16); }
INL f32 bf16_load(uint16_t h) { return bf16_to_f32(h); }
INL uint16_t bf16_store(f32 x) { return f32_to_bf16(x); }
INL f32 bf16_round(f32 x) { return bf16_to_f32(f32_to_bf16(x)); }
/* section f16_to_f32 f32_to_f16 f16_load f16_store f16_round */
INL f32 f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
  f32 sub = (f32)(i32)m * 5.9604644775390625e-8f; /* 2^-24: normal in f32 */
  uint32_t norm = (e == 31 ? 0x7f800000u : (e + 112) << 23) | m << 13;
  uint32_t b = e == 0 ? (uint32_t)f32_bits(sub) : norm;
  return bits_f32((i32)(sign | b));
}
/* In the high half of a word: gcc 12 would compute the low half with 16 bits, and not find vectors for the selects. */
INL uint16_t f32_to_f16(f32 x) {
  uint32_t b = (uint32_t)f32_bits(x), a = b & 0x7fffffffu;
  uint32_t sub = ((uint32_t)f32_bits(bits_f32((i32)a) + 0.5f) - 0x3f000000u) << 16; /* the adder rounds at 2^-24 */
  uint32_t norm = (a - 0x38000000u + 0xfffu + (a >> 13 & 1)) << 3;
  uint32_t r = a < 0x38800000u ? sub : norm;
  r = a >= 0x477ff000u ? 0x7c000000u : r; /* rounds above 65504: infinite */
  r = a > 0x7f800000u ? 0x7e000000u : r;
  return (uint16_t)(((b & 0x80000000u) | r) >> 16);
}
INL f32 f16_load(uint16_t h) { return f16_to_f32(h); }
INL uint16_t f16_store(f32 x) { return f32_to_f16(x); }
INL f32 f16_round(f32 x) {
  uint32_t b = (uint32_t)f32_bits(x), a = b & 0x7fffffffu;
  uint32_t sub = (uint32_t)f32_bits(bits_f32((i32)a) + 0.5f - 0.5f);
  uint32_t norm = (a + 0xfffu + (a >> 13 & 1)) & ~0x1fffu;
  uint32_t r = a < 0x38800000u ? sub : norm;
  r = a >= 0x477ff000u ? 0x7f800000u : r;
  r = a > 0x7f800000u ? 0x7fc00000u : r;
  return bits_f32((i32)((b & 0x80000000u) | r));
}
/* section f32_sticky */
/* Rounds to odd: what is lost stays visible in the last bit, so that rounding on to a half precision
   gives what rounding x once would. */
INL f32 f32_sticky(f64 x) {
  f32 y = (f32)x;
  i32 b = f32_bits(y);
  f64 ay = __builtin_fabs((f64)y), ax = __builtin_fabs(x);
  return x == x && ay != ax && !(b & 1) ? bits_f32(ay < ax ? b + 1 : b - 1) : y;
}
/* section FLOAT_TO_INT i32_from_f32 i32_from_f64 i64_from_f32 i64_from_f64 u8_from_f32 u8_from_f64 i8_from_f32 i8_from_f64 */
#define FLOAT_TO_INT(F, I, LO, HI, LIM)                                                           \
  INL I I##_from_##F(F x) { return x != x ? 0 : x >= (F)LIM ? HI : x <= (F)LO ? LO : (I)x; }
FLOAT_TO_INT(f32, i32, INT32_MIN, INT32_MAX, 2147483648.0)
FLOAT_TO_INT(f64, i32, INT32_MIN, INT32_MAX, 2147483648.0)
FLOAT_TO_INT(f32, i64, INT64_MIN, INT64_MAX, 9223372036854775808.0)
FLOAT_TO_INT(f64, i64, INT64_MIN, INT64_MAX, 9223372036854775808.0)
FLOAT_TO_INT(f32, u8, 0, 255, 256.0)
FLOAT_TO_INT(f64, u8, 0, 255, 256.0)
FLOAT_TO_INT(f32, i8, -128, 127, 128.0)
FLOAT_TO_INT(f64, i8, -128, 127, 128.0)
/* section FLOAT_WITHIN i8_within_f32 i8_within_f64 u8_within_f32 u8_within_f64 */
/* The same of a NaN or a number that the integers reach. */
#define FLOAT_WITHIN(F, I) \
  INL I I##_within_##F(F x) { return (I)(i32)(x == x ? x : 0); }
FLOAT_WITHIN(f32, i8)
FLOAT_WITHIN(f64, i8)
FLOAT_WITHIN(f32, u8)
FLOAT_WITHIN(f64, u8)
/* section INT_FUNCTIONS i8_abs i8_mod i8_quotient i32_abs i32_mod i32_quotient i64_abs i64_mod i64_quotient */
#define INT_FUNCTIONS(I, U)                                                                       \
  INL I I##_abs(I a) { return a < 0 ? (I)(0 - (U)a) : a; }                                        \
  INL I I##_mod(I a, I b) { /* floor-mod; 0 where b is 0 */                                       \
    if (b == 0 || (I)(b + 1) == 0) return 0;                                                      \
    I r = (I)(a % b);                                                                             \
    return r != 0 && (I)(r ^ b) < 0 ? (I)(r + b) : r;                                             \
  }                                                                                               \
  INL I I##_quotient(I a, I b) { /* rounded down; 0 where b is 0 */                               \
    if (b == 0) return 0;                                                                         \
    if ((I)(b + 1) == 0) return (I)(0 - (U)a);                                                    \
    I q = (I)(a / b);                                                                             \
    return (I)(q * b) != a && (I)(a ^ b) < 0 ? (I)(q - 1) : q;                                    \
  }
INT_FUNCTIONS(i8, uint8_t)
INT_FUNCTIONS(i32, uint32_t)
INT_FUNCTIONS(i64, uint64_t)
/* section u8_abs u8_mod u8_quotient */
INL u8 u8_abs(u8 a) { return a; }
INL u8 u8_mod(u8 a, u8 b) { return b == 0 ? 0 : (u8)(a % b); }
INL u8 u8_quotient(u8 a, u8 b) { return b == 0 ? 0 : (u8)(a / b); }
