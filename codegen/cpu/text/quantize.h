/* Rows of floats as integers of 8 or 16 bits, with a bf16 scale for each group. */
/* section quantize_scales quantize_row_8 quantize_row_16 GC_ROTATED load_some larger GcSmall: vmax_f32 splat_f32 f32_to_bf16 bf16_to_f32 GC_SHUFFLE */
/* Lane i is lane i + h. */
#if VW == 16
#define GC_ROTATED(v, h)                                                                          \
  GC_SHUFFLE(v, v, h, (1 + h) % 16, (2 + h) % 16, (3 + h) % 16, (4 + h) % 16, (5 + h) % 16, (6 + h) % 16, (7 + h) % 16, \
             (8 + h) % 16, (9 + h) % 16, (10 + h) % 16, (11 + h) % 16, (12 + h) % 16, (13 + h) % 16, (14 + h) % 16,     \
             (15 + h) % 16)
#elif VW == 8
#define GC_ROTATED(v, h) \
  GC_SHUFFLE(v, v, h, (1 + h) % 8, (2 + h) % 8, (3 + h) % 8, (4 + h) % 8, (5 + h) % 8, (6 + h) % 8, (7 + h) % 8)
#else
#define GC_ROTATED(v, h) GC_SHUFFLE(v, v, h, (1 + h) % 4, (2 + h) % 4, (3 + h) % 4)
#endif
/* Up to a register of numbers, and zeros behind them. */
INL Vf32 load_some(const f32 *x, long n) {
  Vf32 v = {0};
  if (n >= VW)
    __builtin_memcpy(&v, x, sizeof v);
  else
    __builtin_memcpy(&v, x, (unsigned long)n * sizeof *x);
  return v;
}
INL Vi32 larger(Vi32 a, Vi32 b) {
  const Vi32 m = a > b;
  return (a & m) | (b & ~m);
}
/* The bf16 scales of a row's groups of G, which are -1 / `by` of the largest: those of the op quantize_scale. Magnitudes
   are compared as integers, among which NaN is the largest. */
static __attribute__((noinline)) void quantize_scales(const f32 *restrict x, uint16_t *restrict s, long depth, long G,
                                                      f32 by) {
  for (; depth > 0; depth -= G, x += G) {
    const long n = depth < G ? depth : G;
    Vi32 size = {0};
    Vf32 high = {0};
    for (long l = 0; l < n; l += VW) {
      const Vf32 v = load_some(x + l, n - l);
      size = larger((Vi32)v & 0x7fffffff, size);
      high = vmax_f32(v, high);
    }
#if VW == 16
    size = larger(size, (Vi32)GC_ROTATED((Vf32)size, 8)), high = vmax_f32(high, GC_ROTATED(high, 8));
#endif
#if VW >= 8
    size = larger(size, (Vi32)GC_ROTATED((Vf32)size, 4)), high = vmax_f32(high, GC_ROTATED(high, 4));
#endif
    size = larger(size, (Vi32)GC_ROTATED((Vf32)size, 2)), high = vmax_f32(high, GC_ROTATED(high, 2));
    size = larger(size, (Vi32)GC_ROTATED((Vf32)size, 1)), high = vmax_f32(high, GC_ROTATED(high, 1));
    const f32 most = ((Vf32)size)[0];
    *s++ = f32_to_bf16(0 - (high[0] == most ? most : -most) / by);
  }
}
/* The integers of a row: those of the op quantize, of 16 bits as l and h of l + 256 h. To add 3 2^22 rounds to an integer, in the last bits. */
typedef int8_t GcSmall __attribute__((vector_size(VW)));
typedef int16_t GcTwoBytes __attribute__((vector_size(2 * VW)));
#define GC_QUANTIZE_ROW(NAME, T, LEAST, STORED)                                                   \
  static __attribute__((noinline)) void NAME(const f32 *restrict x, const uint16_t *restrict s,   \
                                             int8_t *restrict q, long depth, long G) {            \
    const Vf32 least = splat_f32(-LEAST), most = splat_f32(1 - LEAST), shift = splat_f32(12582912); \
    for (; depth > 0; depth -= G, x += G, q += G * (long)(sizeof(T) / VW)) {                      \
      const long n = depth < G ? depth : G;                                                       \
      const f32 one = bf16_to_f32(*s++);                                                          \
      const Vf32 scale = splat_f32(one == 0 ? __builtin_inff() : one);                            \
      for (long l = 0; l < n; l += VW) {                                                          \
        Vf32 v = load_some(x + l, n - l) / scale;                                                 \
        v = (Vf32)((Vi32)v & (Vi32)(v == v));                                                     \
        v = -vmax_f32(-vmax_f32(v, least), most);                                                 \
        const Vi32 i = (Vi32)(v + shift) - (Vi32)shift;                                           \
        const T to = __builtin_convertvector(STORED(i), T);                                       \
        const long have = n - l < VW ? n - l : VW;                                                \
        if (have == VW)                                                                           \
          __builtin_memcpy(q + l * (long)(sizeof to / VW), &to, sizeof to);                       \
        else                                                                                      \
          __builtin_memcpy(q + l * (long)(sizeof to / VW), &to, sizeof to / VW * (unsigned long)have); \
      }                                                                                           \
    }                                                                                             \
  }
#define GC_ONE_BYTE(i) (i)
#define GC_TWO_BYTES(i) (((i) & 255) | (((i) + 128) & ~255))
GC_QUANTIZE_ROW(quantize_row_8, GcSmall, 128, GC_ONE_BYTE)
GC_QUANTIZE_ROW(quantize_row_16, GcTwoBytes, 32640, GC_TWO_BYTES)
