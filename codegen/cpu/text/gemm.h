/* Products. One tile for all: R rows and W columns of C stay in registers while the depth runs. Bounds
   are literals, so every loop over rows and columns vanishes; a is read as it lies (LI from row to row,
   LK from k to k), b by rows of at least W, LB apart. What lies beyond W in the last register of a row
   of b is read (up to a register past the end of a buffer) and not used. C is the product, or the sum
   of it and `old`, which is C itself where depths are cut, which keeps the chain of roundings short, or
   a tensor that lies as C does. C, `old` and the beginning of the next rows of A are prefetched, since the
   hardware's own prefetching ends with a page; C row by row while the depth runs, because all of it at once
   would hold up the loads of b. Between them the tile asks for rows of the panel that comes next, `next` apart
   from `soon` on, one `every` so much depth: that one lies in memory, and the first tile to meet it would wait for
   every row. Not inlined: one function serves every kernel of the same shape, and one call
   is a microsecond of work. */
#define GC_TILE(NAME, T, R, W, LI, LK, LB)                                                        \
  static __attribute__((noinline)) void NAME(const T *restrict a, const T *restrict b,            \
                                             T *c, long ldc, long depth, const T *old,            \
                                             const T *soon, long next, long every) {              \
    GC_TILE_BODY(T, R, W, LI, LK, LB, GC_KEEP_NONE)                                               \
  }
/* The same, and rows of b are kept, NR apart: they become the panel that the other tiles read. Loads and
   stores go by while the products are computed, so that packing takes no time of its own; rows of b lie
   too far apart for the processor to foresee, so they are asked for ahead. */
#define GC_TILE_KEEPING(NAME, T, R, W, LI, LK, LB, NR)                                            \
  static __attribute__((noinline)) void NAME(const T *restrict a, const T *restrict b,            \
                                             T *c, long ldc, long depth, const T *old,            \
                                             const T *soon, long next, long every,                \
                                             T *restrict keep) {                                  \
    GC_TILE_BODY(T, R, W, LI, LK, LB, GC_KEEP_ROW, NR)                                            \
  }
#define GC_KEEP_NONE(T, W, LB, ...)
#define GC_KEEP_ROW(T, W, LB, NR)                                                                 \
      UNROLL for (int j = 0; j < W; j += 64 / (int)sizeof(T)) GC_AHEAD(b, KEEP_AHEAD * (long)LB + j); \
      UNROLL for (int j = 0; j < NV; j++) __builtin_memcpy(keep + j * L, &v[j], VBYTES);          \
      keep += NR;
#define GC_TILE_BODY(T, R, W, LI, LK, LB, KEEP, ...)                                              \
    enum { L = VBYTES / sizeof(T), NV = (W + L - 1) / L };                                        \
    V##T acc[R][NV];                                                                              \
    UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) acc[i][j] = (V##T){0}; \
    if (LK == 1) UNROLL for (int i = 0; i < R; i++) {                                             \
      GC_AHEAD(a, (R + i) * (long)LI);                                                            \
      GC_AHEAD(a, (R + i) * (long)LI + 64 / (long)sizeof(T));                                     \
    }                                                                                             \
    const long part = soon ? every : depth < GC_SHALLOW ? 0 : depth / R;                          \
    for (long k = 0, r = 0; k < depth;) {                                                         \
      if (r < R) {                                                                                \
        UNROLL for (int j = 0; j < W; j += 64 / (int)sizeof(T)) GC_AHEAD(c, r * ldc + j, 1);      \
        if (old) UNROLL for (int j = 0; j < W; j += 64 / (int)sizeof(T)) GC_AHEAD(old, r * ldc + j);\
      }                                                                                           \
      if (soon) {                                                                                 \
        UNROLL for (int j = 0; j < W; j += 64 / (int)sizeof(T)) GC_AHEAD(soon, j, 0, 2);          \
        soon += next;                                                                             \
      }                                                                                           \
      const bool more = ++r < R || soon;                                                          \
      for (const long end = more && k + part < depth ? k + part : depth; k < end; k++, a += LK, b += LB) { \
        V##T v[NV];                                                                               \
        UNROLL for (int j = 0; j < NV; j++) __builtin_memcpy(&v[j], b + j * L, VBYTES);           \
        KEEP(T, W, LB, ##__VA_ARGS__)                                                             \
        UNROLL for (int i = 0; i < R; i++) {                                                      \
          V##T s = splat_##T(a[i * (long)LI]);                                                    \
          UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vfma_##T(v[j], s, acc[i][j]);           \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
    UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) {                      \
      const unsigned long n = (W - j * L < L ? W - j * L : L) * sizeof(T);                        \
      T *p = c + i * ldc + j * L;                                                                 \
      if (old) {                                                                                  \
        V##T was = {0};                                                                           \
        __builtin_memcpy(&was, old + i * ldc + j * L, n);                                         \
        acc[i][j] += was;                                                                         \
      }                                                                                           \
      __builtin_memcpy(p, &acc[i][j], n);                                                         \
    }
/* Less depth is over before rows of C that are asked for one by one have come. */
enum { GC_SHALLOW = 64 };
enum { KEEP_AHEAD = 16 };
/* Rows of A^T that are packed are asked for so many rows ahead. */
enum { PACK_AHEAD = 16 };
/* Packs columns of b, `ld` apart: p[k][j] = b[j][k], j < w, k < depth, in rows of `to` elements, in blocks
   of 16 that stay in registers. */
#define GC_PACK(T)                                                                                \
  static __attribute__((noinline)) void pack_t_##T(const T *restrict b, long ld, T *restrict p,   \
                                                   long to, long depth, long w) {                 \
    long j = 0;                                                                                   \
    for (; j + 16 <= w; j += 16) {                                                                \
      long k = 0;                                                                                 \
      for (; k + 16 <= depth; k += 16) transpose16_##T(b + j * ld + k, ld, p + k * to + j, to);   \
      for (; k < depth; k++)                                                                      \
        for (long i = 0; i < 16; i++) p[k * to + j + i] = b[(j + i) * ld + k];                    \
    }                                                                                             \
    for (; j < w; j++)                                                                            \
      for (long k = 0; k < depth; k++) p[k * to + j] = b[j * ld + k];                             \
  }
#define GC_TRANSPOSE(T)                                                                           \
  INL void transpose16_##T(const T *restrict b, long ld, T *restrict p, long to) {                \
    for (long k = 0; k < 16; k++)                                                                 \
      for (long i = 0; i < 16; i++) p[k * to + i] = b[i * ld + k];                                \
  }
#if defined(__AVX512F__)
/* four rounds of shuffles: 2x2 blocks, then 4x4, 8x8, 16x16 */
INL void transpose16_f32(const f32 *restrict b, long ld, f32 *restrict p, long to) {
  __m512 r[16], s[16];
  UNROLL for (int i = 0; i < 16; i++) r[i] = _mm512_loadu_ps(b + i * ld);
  UNROLL for (int i = 0; i < 16; i += 2) {
    s[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    s[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  UNROLL for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(s[i]), _mm512_castps_pd(s[i + 2])));
    r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(s[i]), _mm512_castps_pd(s[i + 2])));
    r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(s[i + 1]), _mm512_castps_pd(s[i + 3])));
    r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(s[i + 1]), _mm512_castps_pd(s[i + 3])));
  }
  UNROLL for (int i = 0; i < 4; i++) {
    s[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
    s[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
    s[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
    s[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
  }
  UNROLL for (int i = 0; i < 4; i++) {
    _mm512_storeu_ps(p + i * to, _mm512_shuffle_f32x4(s[i], s[i + 8], 0x88));
    _mm512_storeu_ps(p + (i + 4) * to, _mm512_shuffle_f32x4(s[i + 4], s[i + 12], 0x88));
    _mm512_storeu_ps(p + (i + 8) * to, _mm512_shuffle_f32x4(s[i], s[i + 8], 0xdd));
    _mm512_storeu_ps(p + (i + 12) * to, _mm512_shuffle_f32x4(s[i + 4], s[i + 12], 0xdd));
  }
}
#elif defined(__AVX2__)
/* 8x8 blocks: pairs, fours, halves */
INL void transpose16_f32(const f32 *restrict b, long ld, f32 *restrict p, long to) {
  for (long i = 0; i < 16; i += 8)
    for (long k = 0; k < 16; k += 8) {
      __m256 r[8], s[8];
      UNROLL for (int l = 0; l < 8; l++) r[l] = _mm256_loadu_ps(b + (i + l) * ld + k);
      UNROLL for (int l = 0; l < 8; l += 2) {
        s[l] = _mm256_unpacklo_ps(r[l], r[l + 1]);
        s[l + 1] = _mm256_unpackhi_ps(r[l], r[l + 1]);
      }
      UNROLL for (int l = 0; l < 8; l += 4) {
        r[l] = _mm256_shuffle_ps(s[l], s[l + 2], 0x44);
        r[l + 1] = _mm256_shuffle_ps(s[l], s[l + 2], 0xee);
        r[l + 2] = _mm256_shuffle_ps(s[l + 1], s[l + 3], 0x44);
        r[l + 3] = _mm256_shuffle_ps(s[l + 1], s[l + 3], 0xee);
      }
      UNROLL for (int l = 0; l < 4; l++) {
        _mm256_storeu_ps(p + (k + l) * to + i, _mm256_permute2f128_ps(r[l], r[l + 4], 0x20));
        _mm256_storeu_ps(p + (k + l + 4) * to + i, _mm256_permute2f128_ps(r[l], r[l + 4], 0x31));
      }
    }
}
#else
GC_TRANSPOSE(f32)
#endif
GC_TRANSPOSE(f64)
GC_TRANSPOSE(i32)
GC_TRANSPOSE(i64)
