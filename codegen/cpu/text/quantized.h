/* Products of quantized matrices: integers of 8 or 4 bits, and bf16 scales of groups of the depth. */
/* section load_q8 load_q4 widen_i8 widen_u8: load_bf16 */
/* A register of scaled numbers, which are those of dequantize. Eight is taken from integers, not from their products
   with scales, which may be infinite. */
#if defined(GC_AVX512) || defined(GC_AVX2)
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
  *first = (Vf32)__builtin_ia32_permvarsf512_mask(numbers, both, (Vf32){0}, -1) * scale; /* by the low four bits */
  *second = (Vf32)__builtin_ia32_permvarsf512_mask(numbers, both >> 4, (Vf32){0}, -1) * scale;
#else
  *first = __builtin_convertvector((both & 15) - 8, Vf32) * scale;
  *second = __builtin_convertvector((both >> 4) - 8, Vf32) * scale;
#endif
}
/* section GC_TILE_Q8 GC_TILE_Q4 GC_QUANTIZED_AHEAD: GC_STORE_ROW load_q8 load_q4 load_bf16 splat_f32 vfma_f32 */
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
  for (long l = 0; l < n; l++, a += LK, b += LB) {                                                \
    UNROLL for (int j = 0; j < NV * L; j += 64) GC_PREFETCH(b, GC_QUANTIZED_AHEAD + j);                               \
    UNROLL for (int j = 0; j < NV; j++) v[j] = load_q8(b + j * L, scale[j]);                      \
    GC_ADD_ROW(R, LI, v)                                                                          \
  }
#define GC_ROWS_Q4(R, LI, LK, LB)                                                                 \
  Vf32 w[NV];                                                                                     \
  for (long l = 0; l < n; l += 2, a += LK, b += LB) {                                             \
    UNROLL for (int j = 0; j < NV * L; j += 64) GC_PREFETCH(b, GC_QUANTIZED_AHEAD + j);                               \
    UNROLL for (int j = 0; j < NV; j++) load_q4(b + j * L, scale[j], &v[j], &w[j]);               \
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
