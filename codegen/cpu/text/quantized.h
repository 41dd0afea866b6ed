/* Products of quantized matrices: integers of 8 or 4 bits, and bf16 scales of groups of the depth. */
/* section load_q8 load_q4 widen_i8 widen_u8 GcBytes: load_bf16 */
/* A register of scaled numbers, which are those of dequantize. Eight is taken from integers, not from their products
   with scales, which may be infinite. clang has vectors of bytes become integers where gcc has instructions. */
#if defined(__clang__)
typedef i8 GcI8s __attribute__((vector_size(VW), may_alias, aligned(1)));
typedef u8 GcU8s __attribute__((vector_size(VW), may_alias, aligned(1)));
INL Vi32 widen_i8(const void *p) { return __builtin_convertvector(*(const GcI8s *)p, Vi32); }
INL Vi32 widen_u8(const void *p) { return __builtin_convertvector(*(const GcU8s *)p, Vi32); }
#elif defined(GC_AVX512) || defined(GC_AVX2)
#if defined(GC_AVX512)
typedef char GcBytes __attribute__((vector_size(16), may_alias, aligned(1)));
#define GC_WIDEN(KIND, p) (Vi32)__builtin_ia32_pmov##KIND##xbd512_mask(*(const GcBytes *)(p), (Vi32){0}, -1)
#else
typedef char GcBytes __attribute__((vector_size(16), may_alias));
typedef long long GcEightBytes __attribute__((may_alias, aligned(1)));
typedef long long GcTwo __attribute__((vector_size(16), may_alias));
#define GC_WIDEN(KIND, p) (Vi32)__builtin_ia32_pmov##KIND##xbd256((GcBytes)(GcTwo){*(const GcEightBytes *)(p), 0})
#endif
INL Vi32 widen_i8(const void *p) { return GC_WIDEN(s, p); }
INL Vi32 widen_u8(const void *p) { return GC_WIDEN(z, p); }
#else
#define GC_WIDEN(T)                                                                               \
  INL Vi32 widen_##T(const void *p) {                                                             \
    GC_LANES i32 x[VW];                                                                           \
    Vi32 v;                                                                                       \
    for (int i = 0; i < VW; i++) x[i] = ((const T *)p)[i];                                        \
    __builtin_memcpy(&v, x, sizeof v);                                                            \
    return v;                                                                                     \
  }
GC_WIDEN(i8)
GC_WIDEN(u8)
#endif
INL Vf32 load_q8(const int8_t *p, Vf32 scale) {
  return __builtin_convertvector(widen_i8(p), Vf32) * scale;
}
/* The numbers of two rows, which are in the halves of one row's bytes. */
INL void load_q4(const uint8_t *p, Vf32 scale, Vf32 *first, Vf32 *second) {
  const Vi32 both = widen_u8(p);
#if defined(GC_AVX512)
  const Vf32 numbers = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
#ifdef __clang__
#define GC_CHOOSE(from, at) (Vf32)__builtin_ia32_permvarsf512(from, at)
#else
#define GC_CHOOSE(from, at) (Vf32)__builtin_ia32_permvarsf512_mask(from, at, (Vf32){0}, -1)
#endif
  *first = GC_CHOOSE(numbers, both) * scale; /* by the low four bits */
  *second = GC_CHOOSE(numbers, both >> 4) * scale;
#else
  *first = __builtin_convertvector((both & 15) - 8, Vf32) * scale;
  *second = __builtin_convertvector((both >> 4) - 8, Vf32) * scale;
#endif
}
/* section GcLine GcLineAt GC_MOVE_BYTES */
#if defined(GC_AVX512)
typedef char GcLine __attribute__((vector_size(64), may_alias));
typedef char GcLineAt __attribute__((vector_size(64), may_alias, aligned(1)));
#endif
/* The bytes `from` of x where the mask has a bit, and those of `to` where it has none. */
#ifdef __clang__
#define GC_MOVE_BYTES(x, from, to, mask) \
  (GcLine)__builtin_ia32_selectb_512(mask, __builtin_ia32_permvarqi512((GcLine)(x), (GcLine)(from)), (GcLine)(to))
#else
#define GC_MOVE_BYTES(x, from, to, mask) (GcLine)__builtin_ia32_permvarqi512_mask((GcLine)(x), (GcLine)(from), (GcLine)(to), mask)
#endif
/* section GC_SPREADS GC_SPREAD_Q8 GC_SPREAD_Q4: vfma_f32 GcLine GcLineAt */
/* With AVX512_VBMI one permutation puts bytes u at bits 8 to 15 of numbers that are 32768 + u then. An fma multiplies by
   the scale s and takes away what is too much: (32768 + u) s - (32768 + z) s, where z stands for 0. The second product
   has 21 bits at most. So the number is that of load_q8, but for the sign of a zero, which no sum from +0 on shows.
   Scales of 2 or more, of which the product may be infinite, are left to load_q8. */
#if defined(GC_AVX512) && defined(__AVX512VBMI__)
#ifdef __clang__
#define GC_ANY(a, b) __builtin_ia32_cmpd512_mask((a) & (b), (Vi32){0}, 4, -1) /* 4: not equal */
#else
#define GC_ANY(a, b) __builtin_ia32_ptestmd512(a, b, -1)
#endif
/* Of bytes 16 i and on. */
INL Vf32 spread_bytes(GcLine u, int i) {
  const Vi32 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const GcLine from = (GcLine)((lane + 16 * i) << 8), high = (GcLine)((Vi32){0} + 0x47000000);
  return (Vf32)GC_MOVE_BYTES(u, from, high, 0x2222222222222222);
}
INL int are_small(const Vf32 *scale, int n) {
  Vi32 any = {0};
  UNROLL for (int j = 0; j < n; j++) any |= (Vi32)scale[j];
  return !GC_ANY(any, (Vi32){0} + 0x40000000);
}
INL void spread_q8(const int8_t *p, int i, Vf32 scale, Vf32 less, Vf32 *x) {
  *x = vfma_f32(spread_bytes(*(const GcLineAt *)p ^ (char)-128, i), scale, less);
}
INL void spread_q4(const uint8_t *p, int i, Vf32 scale, Vf32 less, Vf32 *x, Vf32 *y) {
  const GcLine both = *(const GcLineAt *)p;
  *x = vfma_f32(spread_bytes(both & 15, i), scale, less);
  *y = vfma_f32(spread_bytes((GcLine)((Vi32)both >> 4) & 15, i), scale, less);
}
#define GC_SPREADS(NV) ((NV) % 4 == 0 && are_small(scale, NV))
#define GC_SPREAD_Q8(j) spread_q8(b + j / 4 * 64, j % 4, scale[j], scale[j] * -32896.0f, &v[j])
#define GC_SPREAD_Q4(j) spread_q4(b + j / 4 * 64, j % 4, scale[j], scale[j] * -32776.0f, &v[j], &w[j])
#else
#define GC_SPREADS(NV) 0
#define GC_SPREAD_Q8(j) (void)0
#define GC_SPREAD_Q4(j) (void)0
#endif
/* section GC_TILE_Q8 GC_TILE_Q4 GC_QUANTIZED_AHEAD: GC_SPREADS GC_STORE_ROW load_q8 load_q4 load_bf16 splat_f32 vfma_f32 */
/* Bytes ahead that a tile prefetches, a page. One of few rows computes for so long between two lines of b that the
   processor does not reach far enough ahead by itself: without it a row takes 1.6 times as long from memory. */
enum { GC_QUANTIZED_AHEAD = 4096 };
/* As GC_TILE, of integers b as they lie, with the scales s of groups of G rows, the first of which begins with b. */
#define GC_TILE_Q8(...) GC_TILE_QUANTIZED(GC_ROWS_Q8, int8_t, ##__VA_ARGS__)
#define GC_TILE_Q4(...) GC_TILE_QUANTIZED(GC_ROWS_Q4, uint8_t, ##__VA_ARGS__)
#define GC_TILE_QUANTIZED(ROWS, TB, NAME, R, W, LI, LK, LB, G)                                    \
  static __attribute__((noinline)) void NAME(const f32 *restrict a, const TB *restrict b, f32 *c, \
                                             long ldc, long depth, const f32 *c_in,               \
                                             const uint16_t *restrict s) {                        \
    enum { L = VW, NV = (W + L - 1) / L };                                                        \
    Vf32 acc[R][NV];                                                                              \
    UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) acc[i][j] = (Vf32){0}; \
    for (long k = 0; k < depth; k += G, s += LB) {                                                \
      const long n = depth - k < G ? depth - k : G;                                               \
      Vf32 scale[NV], v[NV];                                                                      \
      UNROLL for (int j = 0; j < NV; j++) scale[j] = load_bf16(s + j * L);                        \
      ROWS(R, LI, LK, LB)                                                                         \
    }                                                                                             \
    UNROLL for (int i = 0; i < R; i++) GC_STORE_ROW(f32, W, i)                                    \
  }
#define GC_ADD_ROW(R, LI, v)                                                                      \
  UNROLL for (int i = 0; i < R; i++) {                                                            \
    const Vf32 x = splat_f32(a[i * (long)LI]);                                                    \
    UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vfma_f32(v[j], x, acc[i][j]);                 \
  }
#define GC_ROWS_Q8(R, LI, LK, LB)                                                                 \
  if (GC_SPREADS(NV))                                                                             \
    GC_EACH_Q8(R, LI, LK, LB, GC_SPREAD_Q8(j))                                                    \
  else                                                                                            \
    GC_EACH_Q8(R, LI, LK, LB, v[j] = load_q8(b + j * L, scale[j]))
#define GC_EACH_Q8(R, LI, LK, LB, LOAD)                                                           \
  for (long l = 0; l < n; l++, a += LK, b += LB) {                                                \
    UNROLL for (int j = 0; j < NV * L; j += 64) GC_PREFETCH(b, GC_QUANTIZED_AHEAD + j);           \
    UNROLL for (int j = 0; j < NV; j++) LOAD;                                                     \
    GC_ADD_ROW(R, LI, v)                                                                          \
  }
#define GC_ROWS_Q4(R, LI, LK, LB)                                                                 \
  Vf32 w[NV];                                                                                     \
  if (GC_SPREADS(NV))                                                                             \
    GC_EACH_Q4(R, LI, LK, LB, GC_SPREAD_Q4(j))                                                    \
  else                                                                                            \
    GC_EACH_Q4(R, LI, LK, LB, load_q4(b + j * L, scale[j], &v[j], &w[j]))
#define GC_EACH_Q4(R, LI, LK, LB, LOAD)                                                           \
  for (long l = 0; l < n; l += 2, a += LK, b += LB) {                                             \
    UNROLL for (int j = 0; j < NV * L; j += 64) GC_PREFETCH(b, GC_QUANTIZED_AHEAD + j);           \
    UNROLL for (int j = 0; j < NV; j++) LOAD;                                                     \
    GC_ADD_ROW(R, LI, v)                                                                          \
    if (l + 1 == n) break;                                                                        \
    a += LK;                                                                                      \
    GC_ADD_ROW(R, LI, w)                                                                          \
  }
/* section GC_DEQUANTIZE dequantize_q8 dequantize_q4: load_q8 load_q4 load_bf16 */
/* Rows of b, W columns of integers LB apart, as numbers NR apart, with the scales of groups of G rows. Of a pair the
   second row is left out if there is none. */
#define GC_DEQUANTIZE(NAME, ROWS, TB, W, LB, NR, G)                                                 \
  static __attribute__((noinline)) void NAME(const TB *restrict b, f32 *restrict p, long depth,   \
                                             const uint16_t *restrict s) {                        \
    enum { L = VW, NV = (W + L - 1) / L };                                                        \
    for (long k = 0; k < depth; k += G, s += LB) {                                                \
      const long n = depth - k < G ? depth - k : G;                                               \
      UNROLL for (int j = 0; j < NV; j++) {                                                       \
        const Vf32 scale = load_bf16(s + j * L);                                                  \
        const TB *q = b + j * L;                                                                  \
        f32 *to = p + j * L;                                                                      \
        ROWS(LB, NR)                                                                              \
      }                                                                                           \
      b += GC_STORED_##ROWS(n) * LB, p += n * NR;                                                 \
    }                                                                                             \
  }
#define GC_STORED_GC_NUMBERS_Q8(n) (n)
#define GC_STORED_GC_NUMBERS_Q4(n) (((n) + 1) / 2)
#define GC_NUMBERS_Q8(LB, NR)                                                                     \
  for (long l = 0; l < n; l++, q += LB, to += NR) {                                               \
    const Vf32 x = load_q8(q, scale);                                                             \
    __builtin_memcpy(to, &x, sizeof x);                                                           \
  }
#define GC_NUMBERS_Q4(LB, NR)                                                                     \
  for (long l = 0; l < n; l += 2, q += LB, to += 2 * NR) {                                        \
    Vf32 x, y;                                                                                    \
    load_q4(q, scale, &x, &y);                                                                    \
    __builtin_memcpy(to, &x, sizeof x);                                                           \
    if (l + 1 < n) __builtin_memcpy(to + NR, &y, sizeof y);                                       \
  }
/* section number_q8 number_q4: bf16_to_f32 */
/* Number k of a row along the depth. */
INL f32 number_q8(const int8_t *q, const uint16_t *s, long k, long group) {
  return (f32)q[k] * bf16_to_f32(s[k / group]);
}
INL f32 number_q4(const uint8_t *q, const uint16_t *s, long k, long group) {
  return (f32)((k % 2 ? q[k / 2] >> 4 : q[k / 2] & 15) - 8) * bf16_to_f32(s[k / group]);
}
