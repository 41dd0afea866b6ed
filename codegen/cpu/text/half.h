/* Products of half precisions. Sums are f32, as the reference has them: one fma for each product of two numbers, in
   order of depth. */
/* section load_bf16 load_f16 GcHalves GcWords GcShorts widen_u16 */
/* A register of numbers from p on, as f32, which has them all. gcc 12 widens by four instructions, which for few rows
   take longer than memory gives the numbers: one does it. */
typedef uint16_t GcHalves __attribute__((vector_size(VW * 2), may_alias));
typedef uint32_t GcWords __attribute__((vector_size(VBYTES), may_alias));
INL GcWords widen_u16(const uint16_t *p) {
#if defined(GC_AVX2) || defined(GC_AVX512)
  typedef uint16_t Stored __attribute__((vector_size(VW * 2), may_alias, aligned(2)));
  GcWords w;
  __asm__("vpmovzxwd %1, %0" : "=v"(w) : "m"(*(const Stored *)p));
  return w;
#else
  GcHalves h;
  __builtin_memcpy(&h, p, sizeof h);
  return __builtin_convertvector(h, GcWords);
#endif
}
/* With AVX2 the numbers come to both halves of a register as they are read, and one shuffle puts each over two zeros. */
#if defined(GC_AVX2)
typedef int64_t GcPairOfWords __attribute__((vector_size(16), may_alias, aligned(1)));
typedef char GcPlaces __attribute__((vector_size(32), may_alias));
INL Vf32 load_bf16(const uint16_t *p) {
  const GcPairOfWords x = *(const GcPairOfWords *)p;
  const i64 z = -1; /* no byte */
  const GcPlaces from = {z, z, 0, 1, z, z, 2,  3,  z, z, 4,  5,  z, z, 6,  7,
                         z, z, 8, 9, z, z, 10, 11, z, z, 12, 13, z, z, 14, 15};
  return (Vf32)__builtin_ia32_pshufb256((GcPlaces)(Vi64){x[0], x[1], x[0], x[1]}, from);
}
#else
INL Vf32 load_bf16(const uint16_t *p) { return (Vf32)(widen_u16(p) << 16); }
#endif
#if defined(GC_AVX512) || (defined(GC_AVX2) && defined(__F16C__))
typedef short GcShorts __attribute__((vector_size(VW * 2), may_alias));
INL Vf32 load_f16(const uint16_t *p) {
  GcShorts h;
  __builtin_memcpy(&h, p, sizeof h);
#if defined(GC_AVX512)
  return (Vf32)__builtin_ia32_vcvtph2ps512_mask(h, (Vf32){0}, -1, GC_ROUND_CURRENT);
#else
  return (Vf32)__builtin_ia32_vcvtph2ps256(h);
#endif
}
#else
INL Vf32 load_f16(const uint16_t *p) {
  GC_LANES f32 x[VW];
  Vf32 v;
  for (int i = 0; i < VW; i++) x[i] = f16_to_f32(p[i]);
  __builtin_memcpy(&v, x, sizeof v);
  return v;
}
#endif
/* section GC_TILE_STEPS GC_NOTHING: GC_TILE */
/* As GC_TILE, of numbers that READ makes of b: STEP rows of b at a time, which ADD multiplies by as many of a's numbers.
   LAST does so for the rows that are left over, and ORDER puts the sums where their columns are. */
#define GC_TILE_STEPS(NAME, TA, TB, TV, R, W, LI, LK, LB, STEP, STEPS, SPLAT, READ, ADD, LAST, ORDER) \
  static __attribute__((noinline)) void NAME(const TA *restrict a, const TB *restrict b,          \
                                             f32 *c, long ldc, long depth, const f32 *c_in,       \
                                             const TB *prefetch, long prefetch_stride, long interval) { \
    enum { L = VW, NV = (W + L - 1) / L };                                                        \
    Vf32 acc[R][NV];                                                                              \
    TV v[NV];                                                                                     \
    UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) acc[i][j] = (Vf32){0}; \
    const long steps = STEPS;                                                                     \
    const bool shallow = !prefetch && depth < GC_SHALLOW;                                         \
    if (shallow) GC_PREFETCH_TILE(f32, R, W)                                                      \
    const long part = prefetch ? (interval + STEP - 1) / STEP : steps / R;                        \
    for (long k = 0, r = shallow ? R : 0; k < steps;) {                                           \
      if (r < R) GC_PREFETCH_ROW(f32, W, r)                                                       \
      if (prefetch) {                                                                             \
        UNROLL for (int j = 0; j < W; j += 64 / (int)sizeof(TB)) GC_PREFETCH(prefetch, j, 0, 2);  \
        prefetch += prefetch_stride;                                                              \
      }                                                                                           \
      const bool more = ++r < R || prefetch;                                                      \
      for (const long end = more && k + part < steps ? k + part : steps; k < end; k++, a += LK, b += LB * STEP) { \
        READ(b, LB)                                                                               \
        ADD(R, LI, SPLAT)                                                                         \
      }                                                                                           \
    }                                                                                             \
    LAST(R, LI, SPLAT, ADD)                                                                       \
    UNROLL for (int i = 0; i < R; i++) {                                                          \
      ORDER(i)                                                                                    \
      GC_STORE_ROW(f32, W, i)                                                                     \
    }                                                                                             \
  }
#define GC_NOTHING(...)
/* section GC_TILE_HALF GC_TILE_HALF_PACKING: GC_TILE load_bf16 load_f16 */
/* b as it is stored is converted register by register; a was converted when it was packed. */
#define GC_READ_bf16(v, b) v = load_bf16(b)
#define GC_READ_f16(v, b) v = load_f16(b)
#define GC_TILE_HALF(NAME, DT, R, W, LI, LK, LB)                                                  \
  static __attribute__((noinline)) void NAME(const f32 *restrict a, const uint16_t *restrict b,   \
                                             f32 *c, long ldc, long depth, const f32 *c_in,       \
                                             const uint16_t *prefetch, long prefetch_stride, long interval) { \
    GC_TILE_BODY(f32, uint16_t, R, W, LI, LK, LB, GC_READ_##DT, GC_PACK_NONE)                     \
  }
/* The same, and packs b as f32. */
#define GC_TILE_HALF_PACKING(NAME, DT, R, W, LI, LK, LB, NR)                                      \
  static __attribute__((noinline)) void NAME(const f32 *restrict a, const uint16_t *restrict b,   \
                                             f32 *c, long ldc, long depth, const f32 *c_in,       \
                                             const uint16_t *prefetch, long prefetch_stride, long interval, \
                                             f32 *restrict packed) {                              \
    GC_TILE_BODY(f32, uint16_t, R, W, LI, LK, LB, GC_READ_##DT, GC_PACK_ROW, NR)                  \
  }
/* section store_row_bf16 store_row_f16: f32_to_f16 f32_to_bf16 GcHalves GcWords GcShorts */
/* n numbers of `from`, which is as long as registers, rounded. The instruction for f16 keeps some bits of a NaN, so it
   is made the one that f32_to_f16 makes. */
#ifdef __AVX512BF16__ /* which takes subnormal numbers for 0: there are none in results of an fma that flushes them */
INL void store_row_bf16(uint16_t *restrict to, const f32 *restrict from, long n) {
  UNROLL for (long j = 0; j < n; j += VW) {
    Vf32 v;
    GcHalves h;
    __builtin_memcpy(&v, from + j, sizeof v);
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(h) : "v"(v));
    __builtin_memcpy(to + j, &h, (n - j < VW ? n - j : VW) * sizeof *to);
  }
}
#else
INL void store_row_bf16(uint16_t *restrict to, const f32 *restrict from, long n) {
  GC_IVDEP for (long j = 0; j < n; j++) to[j] = f32_to_bf16(from[j]);
}
#endif
#if defined(GC_AVX512) || (defined(GC_AVX2) && defined(__F16C__))
INL void store_row_f16(uint16_t *restrict to, const f32 *restrict from, long n) {
  UNROLL for (long j = 0; j < n; j += VW) {
    Vf32 v;
    __builtin_memcpy(&v, from + j, sizeof v);
    const GcWords nan = (GcWords)(v != v), bits = (GcWords)v;
    v = (Vf32)((bits & ~nan) | (((bits & 0x80000000u) | 0x7fc00000u) & nan));
#if defined(GC_AVX512)
    const GcHalves h = (GcHalves)__builtin_ia32_vcvtps2ph512_mask(v, 0, (GcShorts){0}, -1);
#else
    const GcHalves h = (GcHalves)__builtin_ia32_vcvtps2ph256(v, 0);
#endif
    __builtin_memcpy(to + j, &h, (n - j < VW ? n - j : VW) * sizeof *to);
  }
}
#else
INL void store_row_f16(uint16_t *restrict to, const f32 *restrict from, long n) {
  GC_IVDEP for (long j = 0; j < n; j++) to[j] = f32_to_f16(from[j]);
}
#endif
/* section narrow_row_bf16 narrow_row_f16 narrow_rows_bf16 narrow_rows_f16: store_row_f16 f32_to_bf16 f32_to_f16 GcHalves GcWords */
/* The same of numbers that lie behind each other, of which a register may have more, with the bits of f32_to_bf16 and
   f32_to_f16: subnormal numbers stay, too. narrow_rows: of so many as the run has. */
INL GcHalves narrow_bf16(const f32 *from) {
  GcWords b;
  __builtin_memcpy(&b, from, sizeof b);
  const GcWords nan = (GcWords)((b & 0x7fffffffu) > 0x7f800000u), r = b + 0x7fffu + (b >> 16 & 1);
  const GcWords high = ((r & ~nan) | ((b | 0x400000u) & nan)) >> 16;
#if defined(GC_AVX512)
  GcHalves h;
  __asm__("vpmovdw %1, %0" : "=v"(h) : "v"(high));
  return h;
#else
  return __builtin_convertvector(high, GcHalves);
#endif
}
INL void narrow_row_bf16(uint16_t *restrict to, const f32 *restrict from, long n) {
  UNROLL for (long j = 0; j < n; j += VW) {
    const GcHalves h = narrow_bf16(from + j);
    __builtin_memcpy(to + j, &h, (n - j < VW ? n - j : VW) * sizeof *to);
  }
}
INL void narrow_row_f16(uint16_t *restrict to, const f32 *restrict from, long n) { store_row_f16(to, from, n); }
INL void narrow_rows_bf16(uint16_t *restrict to, const f32 *restrict from, long n) {
  long j = 0;
  GC_ROLLED for (; j + VW <= n; j += VW) {
    const GcHalves h = narrow_bf16(from + j);
    __builtin_memcpy(to + j, &h, sizeof h);
  }
  GC_ROLLED for (; j < n; j++) to[j] = f32_to_bf16(from[j]);
}
INL void narrow_rows_f16(uint16_t *restrict to, const f32 *restrict from, long n) {
  long j = 0;
  GC_ROLLED for (; j + VW <= n; j += VW) store_row_f16(to + j, from + j, VW);
  GC_ROLLED for (; j < n; j++) to[j] = f32_to_f16(from[j]);
}
/* section widen_row_u8: GcWords */
/* n bytes as 32 bits, and what lies behind them: both have room for whole registers. */
INL void widen_row_u8(i32 *restrict to, const uint8_t *restrict from, long n) {
#if defined(GC_AVX2) || defined(GC_AVX512)
  typedef uint8_t Stored __attribute__((vector_size(VW), may_alias, aligned(1)));
  GC_ROLLED for (long j = 0; j < n; j += VW) {
    GcWords w;
    __asm__("vpmovzxbd %1, %0" : "=v"(w) : "m"(*(const Stored *)(from + j)));
    __builtin_memcpy(to + j, &w, sizeof w);
  }
#else
  GC_IVDEP for (long j = 0; j < n; j++) to[j] = from[j];
#endif
}
/* section widen_row_bf16 widen_row_f16: load_bf16 load_f16 */
/* n numbers as f32, and what lies behind them: both have room for whole registers. */
INL void widen_row_bf16(f32 *restrict to, const uint16_t *restrict from, long n) {
  GC_ROLLED for (long j = 0; j < n; j += VW) {
    const Vf32 v = load_bf16(from + j);
    __builtin_memcpy(to + j, &v, sizeof v);
  }
}
INL void widen_row_f16(f32 *restrict to, const uint16_t *restrict from, long n) {
  GC_ROLLED for (long j = 0; j < n; j += VW) {
    const Vf32 v = load_f16(from + j);
    __builtin_memcpy(to + j, &v, sizeof v);
  }
}
/* section dot_bf16 GcPair GC_PAIR GC_SWAP_HALVES minus_zeros GC_16: splat_i32 GcHalves GC_TRANSPOSE */
/* Two bf16 of the depth in 32 bits, the first one in the high half: vdpbf16ps adds the product of the high halves, then
   that of the low ones, each by an fma that rounds to nearest even and flushes subnormals. So the sums have the bits of
   a chain of fma in f32. The last one of an odd depth is beside 0 in a and -0 in b, whose product changes no sum. */
INL Vf32 dot_bf16(Vi32 v, Vi32 s, Vf32 c) {
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(v), "v"(s));
  return c;
}
typedef i32 GcPair __attribute__((may_alias, aligned(2)));
#define GC_SWAP_HALVES(x) ((x) << 16 | (x) >> 16)
#define GC_PAIR(high, low) ((i32)((uint32_t)(high) << 16 | (low)))
#define GC_16(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
static const uint16_t minus_zeros[64] = {GC_16(0x8000), GC_16(0x8000), GC_16(0x8000), GC_16(0x8000)};
/* section pair_row pair_columns */
/* `depth` numbers of a row of A; eight of two rows of A^T, of the second one if there is one. */
static __attribute__((noinline)) void pair_row(const uint16_t *restrict a, i32 *restrict p, long depth) {
  const GcPair *from = (const GcPair *)a;
  for (long k = 0; k < depth / 2; k++) p[k] = (i32)GC_SWAP_HALVES((uint32_t)from[k]);
  if (depth % 2) p[depth / 2] = GC_PAIR(a[depth - 1], 0);
}
INL void pair_columns(const uint16_t *restrict a, long ld, i32 *restrict p, bool both) {
  if (both)
    UNROLL for (int r = 0; r < 8; r++) p[r] = GC_PAIR(a[r], a[ld + r]);
  else
    UNROLL for (int r = 0; r < 8; r++) p[r] = GC_PAIR(a[r], 0);
}
/* section zip_rows zip_half_rows GC_ZIP GC_ORDER_PAIRS: dot_bf16 GcHalves GC_SHUFFLE */
/* Two rows of b as they are stored make two registers of pairs, in fours of columns that alternate between them.
   GC_ORDER_PAIRS puts the sums in the order of columns. */
INL void zip_rows(Vi32 *v, const uint16_t *first, const uint16_t *second) {
  Vi32 x, y;
  __builtin_memcpy(&x, first, sizeof x);
  __builtin_memcpy(&y, second, sizeof y);
  __asm__("vpunpcklwd %2, %1, %0" : "=v"(v[0]) : "v"(y), "v"(x));
  __asm__("vpunpckhwd %2, %1, %0" : "=v"(v[1]) : "v"(y), "v"(x));
}
INL Vi32 zip_half_rows(const uint16_t *first, const uint16_t *second) {
  return (Vi32)(widen_u16(first) << 16 | widen_u16(second));
}
#define GC_ZIP(first, second)                                                                     \
  UNROLL for (int j = 0; j + 1 < NV; j += 2) zip_rows(&v[j], first + j * L, second + j * L);      \
  if (NV % 2) v[NV - 1] = zip_half_rows(first + (NV - 1) * L, second + (NV - 1) * L);
#define GC_ORDER_PAIRS(i)                                                                         \
  UNROLL for (int j = 0; j + 1 < NV; j += 2) {                                                    \
    const Vf32 x = acc[i][j], y = acc[i][j + 1];                                                  \
    acc[i][j] = GC_SHUFFLE(x, y, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);         \
    acc[i][j + 1] = GC_SHUFFLE(x, y, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31); \
  }
/* section pair_at */
/* Two neighbours as a pair in every lane. */
INL Vi32 pair_at(const uint16_t *a) {
  const GcWords s = (GcWords)splat_i32(*(const GcPair *)a);
  return (Vi32)GC_SWAP_HALVES(s);
}
/* section GC_TILE_PAIRS GC_TILE_PAIRED: GC_TILE_STEPS splat_i32 */
#define GC_ADD_PAIRS(R, LI, SPLAT)                                                                \
  UNROLL for (int i = 0; i < R; i++) {                                                            \
    const Vi32 s = SPLAT(a[i * (long)LI]);                                                        \
    UNROLL for (int j = 0; j < NV; j++) acc[i][j] = dot_bf16(v[j], s, acc[i][j]);                 \
  }
/* b is packed in pairs. */
#define GC_READ_PAIRED(b, LB) UNROLL for (int j = 0; j < NV; j++) __builtin_memcpy(&v[j], b + j * L, VBYTES);
#define GC_TILE_PAIRED(NAME, R, W, LI, LK, LB)                                                    \
  GC_TILE_STEPS(NAME, i32, i32, Vi32, R, W, LI, LK, (LB / 2), 2, (depth + 1) / 2, splat_i32, GC_READ_PAIRED, GC_ADD_PAIRS, \
                GC_NOTHING, GC_NOTHING)
#define GC_READ_PAIRS(b, LB) GC_ZIP((b), (b + LB))
#define GC_LAST_PAIRS(R, LI, SPLAT, ADD)                                                          \
  if (depth % 2) {                                                                                \
    GC_ZIP(b, minus_zeros)                                                                        \
    ADD(R, LI, SPLAT)                                                                             \
  }
#define GC_TILE_PAIRS(NAME, R, W, LI, LK, LB)                                                     \
  GC_TILE_STEPS(NAME, i32, uint16_t, Vi32, R, W, LI, LK, LB, 2, depth / 2, splat_i32, GC_READ_PAIRS, GC_ADD_PAIRS, \
                GC_LAST_PAIRS, GC_ORDER_PAIRS)
/* section pairs_pack pairs_pack_t: GC_PREFETCH_COLUMNS */
/* Rows of b, `ld` apart, in pairs: p[k / 2][j] = b[k][j] and b[k + 1][j], j < w. */
static __attribute__((noinline)) void pairs_pack(const uint16_t *restrict b, long ld, i32 *restrict p, long to, long depth,
                                                 long w) {
  for (long k = 0; k < depth; k += 2, b += 2 * ld, p += to) {
    const uint16_t *next = k + 1 < depth ? b + ld : minus_zeros;
    GC_PREFETCH(b, B_PREFETCH * ld);
    GC_PREFETCH(b, B_PREFETCH * ld + 32);
    GC_PREFETCH(b, (B_PREFETCH + 1) * ld);
    GC_PREFETCH(b, (B_PREFETCH + 1) * ld + 32);
    for (long j = 0; j < w; j++) p[j] = GC_PAIR(b[j], next[j]);
  }
}
/* Columns of b, `ld` apart: p[k / 2][j] = b[j][k] and b[j][k + 1], in blocks of 16 pairs of 16 columns. */
static __attribute__((noinline)) void pairs_pack_t(const uint16_t *restrict b, long ld, i32 *restrict p, long to,
                                                   long depth, long w) {
  const long done = depth / 32 * 32; /* in blocks */
  for (long j = 0; j < w; j += 16)
    for (long k = 0; k < done; k += 32) {
      GC_LANES f32 block[16][16];
      const long n = w - j < 16 ? w - j : 16;
      GC_PREFETCH_COLUMNS(b + (j + 16) * ld + k, ld);
      for (long i = 0; i < 16; i++) {
        GcWords x;
        __builtin_memcpy(&x, b + (j + (i < n ? i : n - 1)) * ld + k, sizeof x);
        x = GC_SWAP_HALVES(x);
        __builtin_memcpy(block[i], &x, sizeof x);
      }
      transpose16_f32(block[0], 16, (f32 *)p + k / 2 * to + j, to);
    }
  for (long k = done; k < depth; k += 2)
    for (long j = 0; j < w; j++)
      p[k / 2 * to + j] = GC_PAIR(b[j * ld + k], k + 1 < depth ? b[j * ld + k + 1] : 0x8000);
}
/* section GC_PACK_HALF_A: load_bf16 load_f16 bf16_to_f32 f16_to_f32 */
/* `depth` numbers of a row of A, or eight of a row of A^T, as f32. */
#define GC_PACK_HALF_A(T)                                                                         \
  static __attribute__((noinline)) void half_row_##T(const uint16_t *restrict a, f32 *restrict p, long depth) { \
    long k = 0;                                                                                   \
    for (; k + VW <= depth; k += VW) {                                                            \
      const Vf32 v = load_##T(a + k);                                                             \
      __builtin_memcpy(p + k, &v, sizeof v);                                                      \
    }                                                                                             \
    for (; k < depth; k++) p[k] = T##_to_f32(a[k]);                                               \
  }                                                                                               \
  INL void half_columns_##T(const uint16_t *restrict a, f32 *restrict p) {                        \
    UNROLL for (int r = 0; r < 8; r += VW) {                                                      \
      const Vf32 v = load_##T(a + r);                                                             \
      __builtin_memcpy(p + r, &v, (VW < 8 ? VW : 8) * sizeof(f32));                               \
    }                                                                                             \
  }
/* section turn_bf16 turn_f16: load_bf16 load_f16 GcWords transpose16_f32 */
/* Columns of a transposed B as in turn_f32, as f32. Two bf16 are one element of what is transposed, which takes half the
   shuffles; where rows begin at odd places they are copied first. */
INL void turn_bf16(const uint16_t *restrict b, long ld, long n, f32 *restrict p, long to) {
  GC_LANES f32 block[16][16], turned[16][16];
  if (n >= 16 && ld % 2 == 0) {
    transpose16_f32((const f32 *)b, ld / 2, turned[0], 16);
  } else {
    for (long i = 0; i < 16; i++)
      for (long l = 0; l < 16; l += VW) {
        GcWords x;
        __builtin_memcpy(&x, b + (i < n ? i : n - 1) * ld + 2 * l, sizeof x);
        __builtin_memcpy(&block[i][l], &x, sizeof x);
      }
    transpose16_f32(block[0], 16, turned[0], 16);
  }
  for (long k = 0; k < 16; k++, p += 2 * to)
    for (long j = 0; j < 16; j += VW) {
      GcWords x;
      __builtin_memcpy(&x, &turned[k][j], sizeof x);
      const GcWords first = x << 16, second = x & 0xffff0000u;
      __builtin_memcpy(p + j, &first, sizeof first);
      __builtin_memcpy(p + to + j, &second, sizeof second);
    }
}
INL void turn_f16(const uint16_t *restrict b, long ld, long n, f32 *restrict p, long to) {
  GC_LANES f32 block[16][16];
  for (long i = 0; i < 16; i++)
    for (long l = 0; l < 16; l += VW) {
      const Vf32 v = load_f16(b + (i < n ? i : n - 1) * ld + l);
      __builtin_memcpy(&block[i][l], &v, sizeof v);
    }
  transpose16_f32(block[0], 16, p, to);
}
/* section GC_TILE_TURNED_HALF: GC_TILE_TURNED turn_bf16 turn_f16 bf16_to_f32 f16_to_f32 */
#define GC_TILE_TURNED_HALF(...) GC_TILE_TURNED(__VA_ARGS__)
/* section GC_ROW_HALF row_of_bf16 row_of_f16: GC_ROW load_bf16 load_f16 bf16_to_f32 f16_to_f32 */
#define row_of_bf16(p) load_bf16(p)
#define row_of_f16(p) load_f16(p)
#define GC_ROW_HALF(...) GC_ROW(__VA_ARGS__)
/* section GC_PACK_HALF: load_bf16 load_f16 turn_bf16 turn_f16 bf16_to_f32 f16_to_f32 GC_TURN_STEP GC_PREFETCH_COLUMNS */
/* B of 16 bits packed as f32: by rows, and of a transposed B by columns in blocks of 16. */
#define GC_PACK_HALF(T)                                                                           \
  static __attribute__((noinline)) void pack_##T(const uint16_t *restrict b, long ld, f32 *restrict p, long to, long depth, \
                                                 long w) {                                        \
    for (long k = 0; k < depth; k++, b += ld, p += to) {                                          \
      GC_PREFETCH(b, B_PREFETCH * ld);                                                            \
      GC_PREFETCH(b, B_PREFETCH * ld + 32);                                                       \
      for (long j = 0; j < w; j += VW) {                                                          \
        const Vf32 v = load_##T(b + j);                                                           \
        __builtin_memcpy(p + j, &v, sizeof v);                                                    \
      }                                                                                           \
    }                                                                                             \
  }                                                                                               \
  static __attribute__((noinline)) void pack_t_##T(const uint16_t *restrict b, long ld, f32 *restrict p, long to, \
                                                   long depth, long w) {                          \
    const long wide = to % 16 ? w / 16 * 16 : w; /* blocks have 16 columns, also where fewer are left */ \
    const long done = depth / 16 * 16;                                                            \
    for (long j = 0; j < wide; j += 16) {                                                         \
      const uint16_t *columns = b + j * ld;                                                       \
      long k = 0;                                                                                 \
      for (; k + GC_TURN_STEP(T) <= depth; k += GC_TURN_STEP(T)) {                                \
        GC_PREFETCH_COLUMNS(columns + 16 * ld + k, ld);                                           \
        turn_##T(columns + k, ld, w - j, p + k * to + j, to);                                     \
      }                                                                                           \
      for (; k < done; k += 16)                                                                   \
        for (long i = 0; i < 16; i++)                                                             \
          for (long l = 0; l < 16; l++)                                                           \
            p[(k + l) * to + j + i] = T##_to_f32(columns[(i < w - j ? i : w - j - 1) * ld + k + l]);\
    }                                                                                             \
    for (long k = 0; k < depth; k++)                                                              \
      for (long j = k < done ? wide : 0; j < w; j++) p[k * to + j] = T##_to_f32(b[j * ld + k]);   \
  }
