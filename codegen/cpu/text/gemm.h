/* Products. */
/* section GC_STORE_ROW */
/* The end of a tile: W sums of row i go to C, with those of c_in added. */
#define GC_STORE_ROW(T, W, i)                                                                     \
  UNROLL for (int j = 0; j < NV; j++) {                                                           \
    const unsigned long n = (W - j * L < L ? W - j * L : L) * sizeof(T);                          \
    if (c_in) {                                                                                   \
      V##T in = {0};                                                                              \
      __builtin_memcpy(&in, c_in + i * ldc + j * L, n);                                           \
      acc[i][j] += in;                                                                            \
    }                                                                                             \
    __builtin_memcpy(c + i * ldc + j * L, &acc[i][j], n);                                         \
  }
/* section GC_TILE GC_TILE_PACKING GC_TILE_BODY GC_PACK_NONE GC_PACK_ROW GC_SHALLOW GC_PREFETCH_ROW GC_PREFETCH_TILE B_PREFETCH: GC_STORE_ROW vfma_f32 splat_f32 vfma_i32 splat_i32 */
/* One micro-kernel for all: R rows and W columns of C stay in registers while the depth runs; bounds are
   literals, so loops over rows and columns vanish. a is read as it lies (LI from row to row, LK from k to k), b by
   rows of at least W, LB apart. The last register of a row of b reads past W, up to a register past the end of a
   buffer; those lanes are not used. C = a b + c_in. c_in is NULL, C itself between chains of the depth, or a tensor
   that lies as C does.
   Prefetched are C, c_in and the beginning of the next rows of A, since the hardware prefetcher ends at a page; C
   row by row while the depth runs, because all of it at once would delay the loads of b. The tile also prefetches
   rows of the next panel, which is in memory: from `prefetch` on, `prefetch_stride` apart, one each `interval` of
   the depth. Not inlined: one function serves all kernels of a shape, and a call is a microsecond of work. */
/* A smaller depth ends before rows of C that are prefetched one by one have arrived: all are at its beginning. */
enum { GC_SHALLOW = 64 };
#define GC_PREFETCH_ROW(T, W, r) {                                                                \
    UNROLL for (int j = 0; j < W; j += 64 / (int)sizeof(T)) GC_PREFETCH(c, (r) * ldc + j, 1);     \
    if (c_in) UNROLL for (int j = 0; j < W; j += 64 / (int)sizeof(T)) GC_PREFETCH(c_in, (r) * ldc + j);\
  }
#define GC_PREFETCH_TILE(T, R, W) {                                                               \
    UNROLL for (int i = 0; i < R; i++)                                                            \
      UNROLL for (int j = 0; j < W; j += 64 / (int)sizeof(T)) GC_PREFETCH(c, i * ldc + j, 1);     \
    if (c_in) UNROLL for (int i = 0; i < R; i++)                                                  \
      UNROLL for (int j = 0; j < W; j += 64 / (int)sizeof(T)) GC_PREFETCH(c_in, i * ldc + j);     \
  }
enum { B_PREFETCH = 16 };
#define GC_TILE(NAME, T, R, W, LI, LK, LB)                                                        \
  static __attribute__((noinline)) void NAME(const T *restrict a, const T *restrict b,            \
                                             T *c, long ldc, long depth, const T *c_in,           \
                                             const T *prefetch, long prefetch_stride, long interval) { \
    GC_TILE_BODY(T, T, R, W, LI, LK, LB, GC_READ_PLAIN, GC_PACK_NONE)                             \
  }
/* The same, and packs b: its rows are stored NR apart, as the panel that the other tiles read. Packing takes no time
   of its own, since it overlaps with the products. Rows of b are prefetched: the hardware prefetcher does not
   follow strides of that length. */
#define GC_TILE_PACKING(NAME, T, R, W, LI, LK, LB, NR)                                            \
  static __attribute__((noinline)) void NAME(const T *restrict a, const T *restrict b,            \
                                             T *c, long ldc, long depth, const T *c_in,           \
                                             const T *prefetch, long prefetch_stride, long interval, \
                                             T *restrict packed) {                                \
    GC_TILE_BODY(T, T, R, W, LI, LK, LB, GC_READ_PLAIN, GC_PACK_ROW, NR)                          \
  }
#define GC_READ_PLAIN(v, b) __builtin_memcpy(&v, b, VBYTES)
#define GC_PACK_NONE(TB, W, LB, ...)
#define GC_PACK_ROW(TB, W, LB, NR)                                                                \
      UNROLL for (int j = 0; j < W; j += 64 / (int)sizeof(TB)) GC_PREFETCH(b, B_PREFETCH * (long)LB + j); \
      UNROLL for (int j = 0; j < NV; j++) __builtin_memcpy(packed + j * L, &v[j], VBYTES);        \
      packed += NR;
/* b is of TB, and READ makes a register of T of it. */
#define GC_TILE_BODY(T, TB, R, W, LI, LK, LB, READ, PACK, ...)                                    \
    enum { L = VBYTES / sizeof(T), NV = (W + L - 1) / L };                                        \
    V##T acc[R][NV];                                                                              \
    UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) acc[i][j] = (V##T){0}; \
    if (LK == 1) UNROLL for (int i = 0; i < R; i++) {                                             \
      GC_PREFETCH(a, (R + i) * (long)LI);                                                         \
      GC_PREFETCH(a, (R + i) * (long)LI + 64 / (long)sizeof(T));                                  \
    }                                                                                             \
    const bool shallow = !prefetch && depth < GC_SHALLOW;                                         \
    if (shallow) GC_PREFETCH_TILE(T, R, W)                                                        \
    const long part = prefetch ? interval : depth / R;                                            \
    for (long k = 0, r = shallow ? R : 0; k < depth;) {                                           \
      if (r < R) GC_PREFETCH_ROW(T, W, r)                                                         \
      if (prefetch) {                                                                             \
        UNROLL for (int j = 0; j < W; j += 64 / (int)sizeof(TB)) GC_PREFETCH(prefetch, j, 0, 2);  \
        prefetch += prefetch_stride;                                                              \
      }                                                                                           \
      const bool more = ++r < R || prefetch;                                                      \
      for (const long end = more && k + part < depth ? k + part : depth; k < end; k++, a += LK, b += LB) { \
        V##T v[NV];                                                                               \
        UNROLL for (int j = 0; j < NV; j++) READ(v[j], b + j * L);                                \
        PACK(TB, W, LB, ##__VA_ARGS__)                                                            \
        UNROLL for (int i = 0; i < R; i++) {                                                      \
          V##T s = splat_##T(a[i * (long)LI]);                                                    \
          UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vfma_##T(v[j], s, acc[i][j]);           \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
    UNROLL for (int i = 0; i < R; i++) GC_STORE_ROW(T, W, i)
/* section GC_NUMBER */
#define GC_NUMBER_f32(x) (x)
#define GC_NUMBER_bf16(x) bf16_to_f32(x)
#define GC_NUMBER_f16(x) f16_to_f32(x)
/* section GC_ROW row_of_f32: GC_NUMBER vfma_f32 splat_f32 */
/* One row of A, and P panels of NR columns of B, `panel` elements apart, that are read side by side: memory sends several
   streams faster than one, and the sums of one panel alone wait for each other. Chains of at most CHAIN of the depth are
   added in order, as those of tiles are. C = a b + c_in, or c_in is NULL. */
enum { GC_ROW_AHEAD = 512 }; /* bytes of each panel */
INL Vf32 row_of_f32(const f32 *p) {
  Vf32 v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
#define GC_ROW(NAME, DT, TB, P, NR, CHAIN)                                                        \
  static __attribute__((noinline)) void NAME(const TB *restrict a, const TB *restrict b, long panel, \
                                             f32 *c, long depth, const f32 *c_in) {               \
    enum { L = VW, NV = NR / L };                                                                 \
    Vf32 sum[P][NV];                                                                              \
    for (long k = 0, end; k < depth;) {                                                           \
      const bool first = k == 0;                                                                  \
      Vf32 acc[P][NV];                                                                            \
      UNROLL for (int p = 0; p < P; p++) UNROLL for (int j = 0; j < NV; j++) acc[p][j] = (Vf32){0}; \
      for (end = depth - k < CHAIN ? depth : k + CHAIN; k < end; k++, b += NR) {                  \
        const Vf32 s = splat_f32(GC_NUMBER_##DT(a[k]));                                           \
        UNROLL for (int p = 0; p < P; p++) {                                                      \
          UNROLL for (int j = 0; j < NR; j += 64 / (int)sizeof(TB))                               \
            GC_PREFETCH(b, p * panel + GC_ROW_AHEAD / (long)sizeof(TB) + j);                      \
          UNROLL for (int j = 0; j < NV; j++)                                                     \
            acc[p][j] = vfma_f32(row_of_##DT(b + p * panel + j * L), s, acc[p][j]);               \
        }                                                                                         \
      }                                                                                           \
      UNROLL for (int p = 0; p < P; p++) UNROLL for (int j = 0; j < NV; j++) {                    \
        if (!first) acc[p][j] += sum[p][j];                                                       \
        sum[p][j] = acc[p][j];                                                                    \
      }                                                                                           \
    }                                                                                             \
    UNROLL for (int p = 0; p < P; p++) UNROLL for (int j = 0; j < NV; j++) {                      \
      if (c_in) sum[p][j] += row_of_f32(c_in + p * NR + j * L);                                   \
      __builtin_memcpy(c + p * NR + j * L, &sum[p][j], VBYTES);                                   \
    }                                                                                             \
  }
/* section A_PREFETCH */
/* Rows of A^T are prefetched so many rows before they are packed. */
enum { A_PREFETCH = 16 };
/* section GC_TRANSPOSE GC_SHUFFLE GC_FOURS transpose16_f32 transpose16_f64 transpose16_i32 transpose16_i64 */
#define GC_TRANSPOSE(T)                                                                           \
  INL void transpose16_##T(const T *restrict b, long ld, T *restrict p, long to) {                \
    for (long k = 0; k < 16; k++)                                                                 \
      for (long i = 0; i < 16; i++) p[k * to + i] = b[i * ld + k];                                \
  }
/* Elements of a and b, by number, those of b behind those of a. */
#if defined(__clang__) || __GNUC__ >= 12
#define GC_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define GC_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (GcLanes){__VA_ARGS__})
#endif
#if defined(GC_AVX512)
/* in every four of a and b */
typedef Vi32 GcLanes;
#define GC_FOURS(a, b, i, j, k, l)                                                                \
  GC_SHUFFLE(a, b, i, j, k, l, i + 4, j + 4, k + 4, l + 4, i + 8, j + 8, k + 8, l + 8, i + 12,    \
             j + 12, k + 12, l + 12)
/* fours i and i + 2 of a, then of b */
#define GC_HALVES(a, b, i)                                                                        \
  GC_SHUFFLE(a, b, 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3, 4 * i + 8, 4 * i + 9, 4 * i + 10,      \
             4 * i + 11, 4 * i + 16, 4 * i + 17, 4 * i + 18, 4 * i + 19, 4 * i + 24, 4 * i + 25,  \
             4 * i + 26, 4 * i + 27)
INL void gc_store16(f32 *p, Vf32 v) { __builtin_memcpy(p, &v, sizeof v); }
/* four rounds of shuffles: 2x2 blocks, then 4x4, 8x8, 16x16 */
INL void transpose16_f32(const f32 *restrict b, long ld, f32 *restrict p, long to) {
  Vf32 r[16], s[16];
  UNROLL for (int i = 0; i < 16; i++) __builtin_memcpy(&r[i], b + i * ld, sizeof r[i]);
  UNROLL for (int i = 0; i < 16; i += 2) {
    s[i] = GC_FOURS(r[i], r[i + 1], 0, 16, 1, 17);
    s[i + 1] = GC_FOURS(r[i], r[i + 1], 2, 18, 3, 19);
  }
  UNROLL for (int i = 0; i < 16; i += 4) {
    r[i] = GC_FOURS(s[i], s[i + 2], 0, 1, 16, 17);
    r[i + 1] = GC_FOURS(s[i], s[i + 2], 2, 3, 18, 19);
    r[i + 2] = GC_FOURS(s[i + 1], s[i + 3], 0, 1, 16, 17);
    r[i + 3] = GC_FOURS(s[i + 1], s[i + 3], 2, 3, 18, 19);
  }
  UNROLL for (int i = 0; i < 4; i++) {
    s[i] = GC_HALVES(r[i], r[i + 4], 0);
    s[i + 4] = GC_HALVES(r[i], r[i + 4], 1);
    s[i + 8] = GC_HALVES(r[i + 8], r[i + 12], 0);
    s[i + 12] = GC_HALVES(r[i + 8], r[i + 12], 1);
  }
  UNROLL for (int i = 0; i < 4; i++) {
    gc_store16(p + i * to, GC_HALVES(s[i], s[i + 8], 0));
    gc_store16(p + (i + 4) * to, GC_HALVES(s[i + 4], s[i + 12], 0));
    gc_store16(p + (i + 8) * to, GC_HALVES(s[i], s[i + 8], 1));
    gc_store16(p + (i + 12) * to, GC_HALVES(s[i + 4], s[i + 12], 1));
  }
}
#elif defined(GC_AVX2)
typedef f32 GcEight __attribute__((vector_size(32), may_alias));
typedef i32 GcLanes __attribute__((vector_size(32), may_alias));
/* in both fours of a and b */
#define GC_FOURS(a, b, i, j, k, l) GC_SHUFFLE(a, b, i, j, k, l, i + 4, j + 4, k + 4, l + 4)
INL void gc_store8(f32 *p, GcEight v) { __builtin_memcpy(p, &v, sizeof v); }
/* 8x8 blocks: pairs, fours, halves */
INL void transpose16_f32(const f32 *restrict b, long ld, f32 *restrict p, long to) {
  for (long i = 0; i < 16; i += 8)
    for (long k = 0; k < 16; k += 8) {
      GcEight r[8], s[8];
      UNROLL for (int l = 0; l < 8; l++) __builtin_memcpy(&r[l], b + (i + l) * ld + k, sizeof r[l]);
      UNROLL for (int l = 0; l < 8; l += 2) {
        s[l] = GC_FOURS(r[l], r[l + 1], 0, 8, 1, 9);
        s[l + 1] = GC_FOURS(r[l], r[l + 1], 2, 10, 3, 11);
      }
      UNROLL for (int l = 0; l < 8; l += 4) {
        r[l] = GC_FOURS(s[l], s[l + 2], 0, 1, 8, 9);
        r[l + 1] = GC_FOURS(s[l], s[l + 2], 2, 3, 10, 11);
        r[l + 2] = GC_FOURS(s[l + 1], s[l + 3], 0, 1, 8, 9);
        r[l + 3] = GC_FOURS(s[l + 1], s[l + 3], 2, 3, 10, 11);
      }
      UNROLL for (int l = 0; l < 4; l++) {
        gc_store8(p + (k + l) * to + i, GC_SHUFFLE(r[l], r[l + 4], 0, 1, 2, 3, 8, 9, 10, 11));
        gc_store8(p + (k + l + 4) * to + i, GC_SHUFFLE(r[l], r[l + 4], 4, 5, 6, 7, 12, 13, 14, 15));
      }
    }
}
#else
GC_TRANSPOSE(f32)
#endif
GC_TRANSPOSE(f64)
GC_TRANSPOSE(i32)
GC_TRANSPOSE(i64)
/* section GC_PREFETCH_COLUMNS */
/* A cache line of each of the next 16 columns, which are transposed when this long block is done: the hardware prefetcher
   does not follow so many of them. */
#define GC_PREFETCH_COLUMNS(b, ld) UNROLL for (long i = 0; i < 16; i++) GC_PREFETCH((b), i * (ld), 0, 2)
/* section turn_f32: transpose16_f32 */
/* Columns of b, `ld` apart: p[k][j] = b[j][k], j < 16, k < 16. Behind the n that there are the last one is repeated. */
INL void turn_f32(const f32 *restrict b, long ld, long n, f32 *restrict p, long to) {
  GC_LANES f32 block[16][16];
  if (n >= 16) {
    transpose16_f32(b, ld, p, to);
    return;
  }
  for (long i = 0; i < 16; i++)
    for (long l = 0; l < 16; l += VW) {
      Vf32 v;
      __builtin_memcpy(&v, b + (i < n ? i : n - 1) * ld + l, sizeof v);
      __builtin_memcpy(&block[i][l], &v, sizeof v);
    }
  transpose16_f32(block[0], 16, p, to);
}
/* section GC_TURN_STEP */
/* Of the depth, so many at once are transposed: a cache line, or half of one. */
#define GC_TURN_STEP(T) GC_TURN_STEP_##T
enum { GC_TURN_STEP_f32 = 16, GC_TURN_STEP_f16 = 16, GC_TURN_STEP_bf16 = 32 };
/* section GC_TILE_TURNED: GC_NUMBER turn_f32 vfma_f32 splat_f32 GC_TURN_STEP GC_PREFETCH_COLUMNS */
/* As GC_TILE, of columns of b, LB apart, b[j][k], that are transposed block by block and used at once: where no other tile
   needs them, packing would take longer. With large registers two blocks of 16 columns go through the depth side by
   side, since the sums of one row wait for each other. It prefetches the columns behind the block itself, and
   ignores what its caller wants prefetched, an argument of every tile. */
#define GC_TILE_TURNED(NAME, T, TB, R, W, LI, LK, LB)                                             \
  static __attribute__((noinline)) void NAME(const f32 *restrict a, const TB *restrict b,         \
                                             f32 *c, long ldc, long depth, const f32 *c_in,       \
                                             const TB *prefetch, long prefetch_stride, long interval) { \
    enum { L = VW, N = W > 16 && VW >= 16 ? 32 : 16, NV = N / L, STEP = GC_TURN_STEP(T) };        \
    for (long j = 0; j < W; j += N, b += N * (long)LB) {                                          \
      GC_LANES f32 x[STEP][N];                                                                    \
      Vf32 acc[R][NV];                                                                            \
      const f32 *s = a;                                                                           \
      UNROLL for (int i = 0; i < R; i++) UNROLL for (int v = 0; v < NV; v++) acc[i][v] = (Vf32){0}; \
      for (long k = 0, steps; k < depth; k += steps) {                                            \
        steps = k + STEP <= depth ? STEP : 1;                                                     \
        for (long g = 0; g < N && steps > 1; g += 16) {                                           \
          GC_PREFETCH_COLUMNS(b + (N + g) * (long)LB + k, (long)LB);                              \
          turn_##T(b + g * (long)LB + k, LB, W - j - g, &x[0][g], N);                             \
        }                                                                                         \
        for (long l = 0; l < N && steps == 1; l++)                                                \
          x[0][l] = GC_NUMBER_##T(b[(l < W - j ? l : W - j - 1) * (long)LB + k]);                 \
        for (long l = 0; l < steps; l++, s += LK) {                                               \
          Vf32 y[NV];                                                                             \
          UNROLL for (int v = 0; v < NV; v++) __builtin_memcpy(&y[v], &x[l][v * L], VBYTES);      \
          UNROLL for (int i = 0; i < R; i++) {                                                    \
            const Vf32 r = splat_f32(s[i * (long)LI]);                                            \
            UNROLL for (int v = 0; v < NV; v++) acc[i][v] = vfma_f32(y[v], r, acc[i][v]);         \
          }                                                                                       \
        }                                                                                         \
      }                                                                                           \
      UNROLL for (int i = 0; i < R; i++) UNROLL for (int v = 0; v < NV; v++) {                    \
        f32 *to = c + i * ldc + j + v * L;                                                        \
        const long left = W - j - v * L, n = left < 0 ? 0 : left < L ? left : L;                  \
        if (c_in) {                                                                               \
          Vf32 in = {0};                                                                          \
          __builtin_memcpy(&in, c_in + i * ldc + j + v * L, (unsigned long)n * sizeof(f32));      \
          acc[i][v] += in;                                                                        \
        }                                                                                         \
        if (n == L)                                                                               \
          __builtin_memcpy(to, &acc[i][v], VBYTES);                                               \
        else                                                                                      \
          __builtin_memcpy(to, &acc[i][v], (unsigned long)n * sizeof(f32));                       \
      }                                                                                           \
    }                                                                                             \
  }
/* section GC_PACK: transpose16_f32 GC_PREFETCH_COLUMNS */
/* Packs columns of b, `ld` apart: p[k][j] = b[j][k], j < w, k < depth, in rows of `to` elements, in blocks
   of 16 that stay in registers. */
#define GC_PACK(T)                                                                                \
  static __attribute__((noinline)) void pack_t_##T(const T *restrict b, long ld, T *restrict p,   \
                                                   long to, long depth, long w) {                 \
    long j = 0;                                                                                   \
    for (; j + 16 <= w; j += 16) {                                                                \
      long k = 0;                                                                                 \
      for (; k + 16 <= depth; k += 16) {                                                          \
        GC_PREFETCH_COLUMNS(b + (j + 16) * ld + k, ld);                                           \
        transpose16_##T(b + j * ld + k, ld, p + k * to + j, to);                                  \
      }                                                                                           \
      for (; k < depth; k++)                                                                      \
        for (long i = 0; i < 16; i++) p[k * to + j + i] = b[(j + i) * ld + k];                    \
    }                                                                                             \
    for (; j < w; j++)                                                                            \
      for (long k = 0; k < depth; k++) p[k * to + j] = b[j * ld + k];                             \
  }
