/* Products of two quantized matrices: words of integers of the depth, whose products are summed exactly. */
/* section GC_STEP GC_STEP_OF GC_WORDS GC_PLANES GC_BY_LINES GcUnsigned GcWord GcShort GcChars GcSixteen GC_PAIRS dot_integers word_q8 word_q4 line_q8 line_q4: widen_i8 widen_u8 GcBytes GcLine GcLineAt GC_SHUFFLE */
/* A word of 32 bits has GC_STEP integers of the depth. Four, if there is vpdpbusd: its left operand is unsigned, so b's
   integers are stored plus an offset, and the sum begins with that offset times a's integers, negated; integers of 4 bits
   have it as they lie. Else two, of 16
   bits, whose products vpmaddwd adds; nothing saturates. */
typedef uint32_t GcUnsigned __attribute__((vector_size(VBYTES), may_alias));
#if (defined(GC_AVX512) && defined(__AVX512VNNI__)) || (defined(GC_AVX2) && defined(__AVXVNNI__))
enum { GC_STEP = 4, GC_OFFSET_Q8 = 128, GC_OFFSET_Q4 = 8 };
INL Vi32 dot_integers(Vi32 v, Vi32 s, Vi32 c) {
#ifdef GC_AVX512
  __asm__("vpdpbusd %2, %1, %0" : "+v"(c) : "v"(v), "v"(s));
#else
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(c) : "x"(v), "x"(s));
#endif
  return c;
}
/* Words of `rows` rows of b; if fewer than GC_STEP are there, the others are beside 0 in a. */
INL Vi32 word_q8(const int8_t *b, long ld, long rows) {
  const GcUnsigned x = (GcUnsigned)widen_u8(b), y = (GcUnsigned)widen_u8(b + (rows > 1 ? ld : 0));
  const GcUnsigned z = (GcUnsigned)widen_u8(b + (rows > 2 ? 2 * ld : 0));
  const GcUnsigned w = (GcUnsigned)widen_u8(b + (rows > 3 ? 3 * ld : 0));
  return (Vi32)(((x | y << 8) | (z << 16 | w << 24)) ^ 0x80808080u);
}
INL Vi32 word_q4(const uint8_t *b, long ld, long rows) {
  const GcUnsigned x = (GcUnsigned)widen_u8(b), y = (GcUnsigned)widen_u8(b + (rows > 2 ? ld : 0));
  const GcUnsigned both = x | y << 16;
  return (Vi32)((both & 0x000f000fu) | (both & 0x00f000f0u) << 4);
}
#else
enum { GC_STEP = 2, GC_OFFSET_Q8 = 0, GC_OFFSET_Q4 = 8 };
INL Vi32 dot_integers(Vi32 v, Vi32 s, Vi32 c) {
#if (defined(GC_AVX512) && defined(__AVX512BW__)) || defined(GC_AVX2)
  Vi32 both;
  __asm__("vpmaddwd %2, %1, %0" : "=v"(both) : "v"(v), "v"(s));
  return c + both;
#else
  const Vi32 low = (Vi32)((GcUnsigned)v << 16) >> 16, of = (Vi32)((GcUnsigned)s << 16) >> 16;
  return c + low * of + (v >> 16) * (s >> 16);
#endif
}
INL Vi32 word_q8(const int8_t *b, long ld, long rows) {
  const GcUnsigned x = (GcUnsigned)widen_i8(b), y = (GcUnsigned)widen_i8(b + (rows > 1 ? ld : 0));
  return (Vi32)((x & 0xffffu) | y << 16);
}
INL Vi32 word_q4(const uint8_t *b, long ld, long rows) {
  (void)ld, (void)rows;
  const Vi32 x = widen_u8(b);
  return (x | x << 12) & 0x000f000f;
}
#endif
/* With AVX512_VBMI one permutation puts bytes of a row of 64 where they belong in four registers of words, and one more
   those of each other row; of 4 bits, a multishift then spreads the halves of bytes. */
#if defined(GC_AVX512) && defined(__AVX512VNNI__) && defined(__AVX512VBMI__)
#define GC_BY_LINES(NV) ((NV) == 4)
#ifdef __clang__
#define GC_MULTISHIFT(at, x) __builtin_ia32_vpmultishiftqb512(at, x)
#else
#define GC_MULTISHIFT(at, x) __builtin_ia32_vpmultishiftqb512_mask(at, x, x, -1)
#endif
INL void line_q8(const int8_t *b, long ld, long rows, Vi32 *v) {
  const Vi32 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const GcLine x = *(const GcLineAt *)b, y = *(const GcLineAt *)(b + (rows > 1 ? ld : 0));
  const GcLine z = *(const GcLineAt *)(b + (rows > 2 ? 2 * ld : 0)), w = *(const GcLineAt *)(b + (rows > 3 ? 3 * ld : 0));
  UNROLL for (int j = 0; j < 4; j++) {
    const Vi32 from = (lane + 16 * j) * 0x01010101;
    GcLine u = GC_MOVE_BYTES(x, from, from, -1);
    u = GC_MOVE_BYTES(y, from, u, 0x2222222222222222);
    u = GC_MOVE_BYTES(z, from, u, 0x4444444444444444);
    u = GC_MOVE_BYTES(w, from, u, 0x8888888888888888);
    v[j] = (Vi32)((GcUnsigned)u ^ 0x80808080u);
  }
}
/* Eight bytes have two rows of four columns: of register j columns 2 i and 2 i + 1, and of the next one. */
INL void line_q4(const uint8_t *b, long ld, long rows, Vi32 *v) {
  typedef long long Eights __attribute__((vector_size(64)));
  const Eights i = {0, 1, 2, 3, 4, 5, 6, 7}, halves = (Eights){0} + 0x1c1814100c080400;
  const GcLine x = *(const GcLineAt *)b, y = *(const GcLineAt *)(b + (rows > 2 ? ld : 0));
  UNROLL for (int j = 0; j < 4; j += 2) {
    const Eights from = i * 0x0202020202020202 + 0x1111101001010000 + j * 0x1010101010101010;
    const GcLine u = GC_MOVE_BYTES(y, from, GC_MOVE_BYTES(x, from, from, -1), 0xaaaaaaaaaaaaaaaa);
    UNROLL for (int k = 0; k < 2; k++) {
      const GcLine shift = (GcLine)(halves + k * 0x2020202020202020);
      v[j + k] = (Vi32)GC_MULTISHIFT(shift, u) & 0x0f0f0f0f;
    }
  }
}
#elif defined(GC_AVX2) && !defined(__AVXVNNI__) && (defined(__clang__) || __GNUC__ >= 12)
/* With AVX2 bytes of two rows of 16 columns are interleaved, so that one widening makes eight words: half of the
   instructions that words of widened bytes take. */
#define GC_BY_LINES(NV) ((NV) == 2)
typedef i8 GcPairs __attribute__((vector_size(16), may_alias, aligned(1)));
typedef char GcChars __attribute__((vector_size(32), may_alias));
typedef short GcSixteen __attribute__((vector_size(32), may_alias));
typedef int16_t GcEightShorts __attribute__((vector_size(16), may_alias));
#define GC_INTERLEAVED(x, y, at)                                                                  \
  GC_SHUFFLE(x, y, at, at + 16, at + 1, at + 17, at + 2, at + 18, at + 3, at + 19, at + 4, at + 20, at + 5, at + 21, \
             at + 6, at + 22, at + 7, at + 23)
#ifdef __clang__
#define GC_PAIRS(x) (Vi32)__builtin_convertvector(x, GcSixteen)
#else
#define GC_PAIRS(x) (Vi32)__builtin_ia32_pmovsxbw256((GcBytes)(x))
#endif
INL void line_q8(const int8_t *b, long ld, long rows, Vi32 *v) {
  const GcPairs x = *(const GcPairs *)b, y = *(const GcPairs *)(b + (rows > 1 ? ld : 0));
  v[0] = GC_PAIRS(GC_INTERLEAVED(x, y, 0));
  v[1] = GC_PAIRS(GC_INTERLEAVED(x, y, 8));
}
INL void line_q4(const uint8_t *b, long ld, long rows, Vi32 *v) {
  (void)ld, (void)rows;
  const GcPairs both = *(const GcPairs *)b, x = both & 15;
  const GcPairs y = (GcPairs)((GcEightShorts)both >> 4) & 15;
  v[0] = GC_PAIRS(GC_INTERLEAVED(x, y, 0));
  v[1] = GC_PAIRS(GC_INTERLEAVED(x, y, 8));
}
#else
#define GC_BY_LINES(NV) 0
INL void line_q8(const int8_t *b, long ld, long rows, Vi32 *v) { (void)b, (void)ld, (void)rows, (void)v; }
INL void line_q4(const uint8_t *b, long ld, long rows, Vi32 *v) { (void)b, (void)ld, (void)rows, (void)v; }
#endif
typedef i32 GcWord __attribute__((may_alias));
typedef int16_t GcShort __attribute__((may_alias));
/* By integers of 8 bits those of 4, in panels of 16 columns, are multiplied as bytes with AVX2 (add_bytes_q4), words of
   four of a by two rows. Integers of 16 bits would take two such products instead of one of whole numbers. */
#if defined(GC_PAIRS)
#define GC_IN_BYTES_Q4(LB, G, BITS) ((LB) == 16 && (G) % 4 == 0 && (G) <= 32 && (BITS) == 8)
#else
#define GC_IN_BYTES_Q4(LB, G, BITS) 0
#endif
#define GC_IN_BYTES_Q8(LB, G, BITS) 0
#define GC_IN_BYTES_WORDS(LB, G, BITS) 0
#define GC_STEP_OF(KIND, LB, G, BITS) (GC_IN_BYTES_##KIND(LB, G, BITS) ? 4 : GC_STEP)
/* Of a left operand of 16 bits, a word of four bytes has the lower ones of four integers, or the higher ones, and two
   sums are made; a word of two numbers has whole ones. */
#define GC_PLANES(BITS, STEP) ((BITS) / 8 * (STEP) > 4 ? 2 : 1)
/* Words of n integers. Rows of b as they are stored, or words, for n of the depth. */
#define GC_WORDS(n, STEP) (((n) + (STEP) - 1) / (STEP))
#define GC_AFTER_Q8(n) (n)
#define GC_AFTER_Q4(n) (((n) + 1) / 2)
#define GC_AFTER_WORDS(n) GC_WORDS(n, GC_STEP)
/* section GC_INTEGER_ROW: GC_STEP bf16_to_f32 */
/* `depth` integers of a row of A in words, in groups of G: first what the sum begins with, and the scale. Of integers of
   two bytes, which stand for l + 256 h, or for -2^15 if this is less, words of four have h first, and behind a group's
   words those of l. */
#define GC_BYTE_8(l, h) a[l]
#define GC_BYTE_16(l, h) ((h) ? GC_LOW_BYTE(l) : a[2 * (l) + 1])
#define GC_LOW_BYTE(l) (a[2 * (l) + 1] == -128 && a[2 * (l)] < 0 ? 0 : a[2 * (l)])
#define GC_INTEGER_8(l) a[l]
#define GC_INTEGER_16(l) (GC_LOW_BYTE(l) + 256 * a[2 * (l) + 1])
#define GC_INTEGER_GROUP(G, OFFSET, BITS)                                                         \
  {                                                                                               \
    const f32 scale = bf16_to_f32(*s);                                                            \
    i32 sum = 0;                                                                                  \
    for (long l = 0; l < G; l++) sum += GC_INTEGER_##BITS(l);                                     \
    p[0] = -OFFSET * sum;                                                                         \
    __builtin_memcpy(p + 1, &scale, sizeof scale);                                                \
    for (long h = 0; h < PLANES; h++) {                                                           \
      GcWord *words = p + 2 + h * GC_WORDS(G, STEP);                                              \
      if (G % STEP) words[GC_WORDS(G, STEP) - 1] = 0;                                             \
      for (long l = 0; l < G; l++)                                                                \
        if (STEP == 4)                                                                            \
          ((int8_t *)words)[l] = (int8_t)GC_BYTE_##BITS(l, h);                                    \
        else                                                                                      \
          ((GcShort *)words)[l] = (int16_t)GC_INTEGER_##BITS(l);                                  \
    }                                                                                             \
  }
#define GC_INTEGER_ROW(NAME, KIND, G, BITS, STEP_OF)                                              \
  static __attribute__((noinline)) void NAME(const int8_t *restrict a, const uint16_t *restrict s, \
                                             i32 *restrict to, long depth) {                      \
    enum { STEP = STEP_OF, PLANES = GC_PLANES(BITS, STEP) };                                      \
    GcWord *p = (GcWord *)to;                                                                     \
    for (; depth >= G; depth -= G, a += BITS / 8 * G, s++, p += 2 + PLANES * GC_WORDS(G, STEP))   \
      GC_INTEGER_GROUP(G, GC_OFFSET_##KIND, BITS)                                                 \
    if (depth > 0) {                                                                              \
      int8_t rest[BITS / 8 * G] = {0};                                                            \
      __builtin_memcpy(rest, a, (unsigned long)depth * (BITS / 8));                               \
      a = rest;                                                                                   \
      GC_INTEGER_GROUP(G, GC_OFFSET_##KIND, BITS)                                                 \
    }                                                                                             \
  }
/* section add_bytes_q4: GC_STEP splat_i32 */
/* The sums of up to 32 of the depth for 16 columns, exact: two rows of bytes that stand for four of the depth are
   interleaved, so that neighbours in depth are neighbours, one row in each half of a register, and multiplied as they
   are, unsigned, by signed bytes of a. A sum of 16 bits has eight pairs at most, 8 * 2 * 15 * 128 in magnitude. */
#if defined(GC_PAIRS)
typedef i8 GcTwoRows __attribute__((vector_size(32), may_alias));
typedef i8 GcTwoRowsAt __attribute__((vector_size(32), may_alias, aligned(1)));
typedef int16_t GcSums __attribute__((vector_size(32), may_alias));
#define GC_LOW_BYTES(x, y)                                                                        \
  GC_SHUFFLE(x, y, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, \
             53, 22, 54, 23, 55)
#define GC_HIGH_BYTES(x, y)                                                                       \
  GC_SHUFFLE(x, y, 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47, 24, 56, 25, 57, 26, 58, 27, 59, 28, \
             60, 29, 61, 30, 62, 31, 63)
#define GC_LOW_SUMS(x, y) GC_SHUFFLE(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27)
#define GC_HIGH_SUMS(x, y) GC_SHUFFLE(x, y, 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31)
INL void bytes_q4(const uint8_t *b, GcTwoRows *v) {
  const GcTwoRows both = *(const GcTwoRowsAt *)b, x = both & 15, y = (GcTwoRows)((GcSums)both >> 4) & 15;
  v[0] = GC_LOW_BYTES(x, y);
  v[1] = GC_HIGH_BYTES(x, y);
}
/* x: four bytes; the first two are for the lower half of v, the others for the higher one. */
INL void dot_bytes_q4(const GcTwoRows *v, i32 x, GcSums *c) {
  const GcTwoRows at = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3};
  const GcTwoRows y = (GcTwoRows)__builtin_ia32_pshufb256((GcChars)splat_i32(x), (GcChars)at);
  UNROLL for (int j = 0; j < 2; j++) {
    const GcSums both = (GcSums)__builtin_ia32_pmaddubsw256((GcChars)v[j], (GcChars)y);
    __asm__("vpaddw %1, %0, %0" : "+x"(c[j]) : "x"(both)); /* a compiler would keep all products for a tree of sums */
  }
}
/* The sums of eight columns, of which each half has a part. */
INL Vi32 whole_sums(GcSums c) {
  const GcSixteen first = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0};
  const Vi32 x = (Vi32)__builtin_ia32_pmaddwd256((GcSixteen)GC_LOW_SUMS(c, c), first);
  const Vi32 y = (Vi32)__builtin_ia32_pmaddwd256((GcSixteen)GC_HIGH_SUMS(c, c), first);
  return GC_SHUFFLE(x, y, 0, 1, 2, 3, 8, 9, 10, 11) + GC_SHUFFLE(x, y, 4, 5, 6, 7, 12, 13, 14, 15);
}
INL void add_bytes_q4(const i32 *x, const uint8_t *b, long n, int group, int rows, int nv, long li, Vi32 *sum) {
  const int words = group / 4;
  uint8_t rest[16 * 16] = {0};
  GcTwoRows v[8][2];
  if (n < group) b = __builtin_memcpy(rest, b, 16 * (unsigned long)((n + 1) / 2));
  UNROLL for (int w = 0; w < words && rows > 1; w++) bytes_q4(b + 32 * w, v[w]);
  for (int i = 0; i < rows; i++) {
    GcSums c[2] = {0};
    UNROLL for (int w = 0; w < words; w++) {
      if (rows == 1) bytes_q4(b + 32 * w, v[w]);
      dot_bytes_q4(v[w], x[i * li + w], c);
    }
    UNROLL for (int j = 0; j < nv; j++) sum[i * nv + j] = whole_sums(c[j]);
  }
}
#else
INL void add_bytes_q4(const i32 *x, const uint8_t *b, long n, int group, int rows, int nv, long li, Vi32 *sum) {
  (void)x, (void)b, (void)n, (void)group, (void)rows, (void)nv, (void)li, (void)sum;
}
#endif
/* section GC_TILE_INTEGERS: GC_STORE_ROW GC_STEP add_bytes_q4 GC_QUANTIZED_AHEAD load_bf16 splat_f32 splat_i32 vfma_f32 */
/* As GC_TILE, of a of BITS bits that GC_INTEGER_ROW packed, rows of b LB apart, which are words or integers as they lie,
   and its scales, whose rows are as far apart. The sum of a group is exact; it is scaled and added by one fma. Where
   it is made of two sums, of higher and of lower bytes, they are made at once if registers hold them, else one after
   the other. */
#define GC_READ_WORDS(b, LB, n) UNROLL for (int j = 0; j < NV; j++) __builtin_memcpy(&v[j], b + j * L, VBYTES);
#define GC_READ_STORED(WORD, LINE, KIND, b, LB, n)                                                \
  UNROLL for (int r = 0; r < GC_AFTER_##KIND(GC_STEP); r++)                                       \
    UNROLL for (int j = 0; j < NV * L; j += 64) GC_PREFETCH(b, GC_QUANTIZED_AHEAD + r * (long)LB + j); \
  if (GC_BY_LINES(NV))                                                                            \
    LINE(b, LB, n, v);                                                                            \
  else                                                                                            \
    UNROLL for (int j = 0; j < NV; j++) v[j] = WORD(b + j * L, LB, n);
#define GC_READ_Q8(b, LB, n) GC_READ_STORED(word_q8, line_q8, Q8, b, LB, n)
#define GC_READ_Q4(b, LB, n) GC_READ_STORED(word_q4, line_q4, Q4, b, LB, n)
#define GC_ADD_WORD(KIND, R, LI, LB, G, n)                                                        \
  GC_READ_##KIND(b, LB, n)                                                                        \
  UNROLL for (int h = 0; h < ONCE; h++) UNROLL for (int i = 0; i < R; i++) {                      \
    const Vi32 w = splat_i32(x[i * (long)LI + h * GC_WORDS(G, STEP)]);                                  \
    UNROLL for (int j = 0; j < NV; j++) sum[h][i][j] = dot_integers(v[j], w, sum[h][i][j]);       \
  }                                                                                               \
  b += GC_AFTER_##KIND(n) * LB;
enum { GC_MOST_SUMS = VBYTES == 64 ? 24 : 8 };
#define GC_TILE_INTEGERS(NAME, KIND, TB, R, W, LI, LB, G, BITS)                                   \
  static __attribute__((noinline)) void NAME(const i32 *restrict a, const TB *restrict b, f32 *c, \
                                             long ldc, long depth, const f32 *c_in,               \
                                             const uint16_t *restrict s) {                        \
    enum { L = VW, NV = (W + L - 1) / L, BYTES = GC_IN_BYTES_##KIND(LB, G, BITS) };               \
    enum { STEP = GC_STEP_OF(KIND, LB, G, BITS), PLANES = GC_PLANES(BITS, STEP) };                \
    enum { ONCE = BYTES ? 1 : PLANES * R * NV <= GC_MOST_SUMS ? PLANES : 1 };                     \
    Vf32 acc[R][NV];                                                                              \
    UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) acc[i][j] = (Vf32){0}; \
    for (; depth > 0; depth -= G, s += LB) {                                                      \
      const long n = depth < G ? depth : G;                                                       \
      const TB *of_group = b;                                                                     \
      Vi32 sum[ONCE][R][NV] = {0}, v[NV];                                                         \
      if (BYTES) {                                                                                \
        UNROLL for (int j = 0; j < G * 8; j += 64) GC_PREFETCH(b, GC_QUANTIZED_AHEAD + j);        \
        add_bytes_q4(a + 2, (const uint8_t *)b, n, G, R, NV, LI, &sum[0][0][0]);                  \
        UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) sum[0][i][j] += a[i * (long)LI]; \
        b += G / 2 * (long)LB;                                                                    \
      } else                                                                                      \
        UNROLL for (int part = ONCE; part <= PLANES; part += ONCE) {                              \
          const i32 *x = a + 2 + (part - ONCE) * GC_WORDS(G, STEP);                               \
          b = of_group;                                                                           \
          UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) {                \
            if (part > ONCE) sum[0][i][j] *= 256;                                                 \
            if (part == PLANES) sum[ONCE - 1][i][j] += a[i * (long)LI];                           \
          }                                                                                       \
          long l = GC_STEP;                                                                       \
          for (; l <= n; l += GC_STEP, x++) {                                                     \
            GC_ADD_WORD(KIND, R, LI, LB, G, GC_STEP)                                              \
          }                                                                                       \
          l = n + GC_STEP - l;                                                                    \
          if (l) {                                                                                \
            GC_ADD_WORD(KIND, R, LI, LB, G, l)                                                    \
          }                                                                                       \
        }                                                                                         \
      UNROLL for (int j = 0; j < NV; j++) v[j] = (Vi32)load_bf16(s + j * L);                      \
      UNROLL for (int i = 0; i < R; i++) {                                                        \
        const Vf32 scale = (Vf32)splat_i32(a[i * (long)LI + 1]);                                  \
        UNROLL for (int j = 0; j < NV; j++) {                                                     \
          if (ONCE > 1) sum[0][i][j] = sum[0][i][j] * 256 + sum[ONCE - 1][i][j];                  \
          acc[i][j] = vfma_f32(__builtin_convertvector(sum[0][i][j], Vf32), scale * (Vf32)v[j], acc[i][j]); \
        }                                                                                         \
      }                                                                                           \
      a += 2 + PLANES * GC_WORDS(G, STEP);                                                        \
    }                                                                                             \
    UNROLL for (int i = 0; i < R; i++) GC_STORE_ROW(f32, W, i)                                    \
  }
/* section GC_PACK_WORDS: GC_TILE_INTEGERS */
/* Rows of b, W columns of integers LB apart, as words NR apart, and the scales of groups of G rows. */
#define GC_PACK_WORDS(NAME, KIND, TB, W, LB, NR, G)                                               \
  static __attribute__((noinline)) void NAME(const TB *restrict b, i32 *restrict p, long depth,   \
                                             const uint16_t *restrict s, uint16_t *restrict to) { \
    enum { L = VW, NV = (W + L - 1) / L };                                                        \
    for (; depth > 0; depth -= G, s += LB, to += NR) {                                            \
      const long n = depth < G ? depth : G;                                                       \
      __builtin_memcpy(to, s, W * sizeof *s);                                                     \
      for (long l = 0; l < n; l += GC_STEP, p += NR) {                                            \
        const long rows = n - l < GC_STEP ? n - l : GC_STEP;                                      \
        Vi32 v[NV];                                                                               \
        GC_READ_##KIND(b, LB, rows)                                                               \
        UNROLL for (int j = 0; j < NV; j++) __builtin_memcpy(p + j * L, &v[j], sizeof v[j]);      \
        b += GC_AFTER_##KIND(rows) * LB;                                                          \
      }                                                                                           \
    }                                                                                             \
  }
/* section column_words_q8 column_words_q4: GC_STEP */
/* From k0 on, `depth` integers of a row along the depth, as a column of words NR apart, and its scales. */
#define GC_COLUMN_WORDS(KIND, TB, NUMBER)                                                          \
  static __attribute__((noinline)) void column_words_##KIND(const TB *restrict b, i32 *restrict p, long nr, long k0, \
                                                           long depth, long group, const uint16_t *restrict s, \
                                                           uint16_t *restrict to) {               \
    s += k0 / group;                                                                              \
    for (long k = 0; k < depth; k += group, to += nr) {                                           \
      const long n = depth - k < group ? depth - k : group;                                       \
      *to = *s++;                                                                                 \
      for (long l = 0; l < n; l += GC_STEP, p += nr) {                                            \
        uint32_t w = 0;                                                                           \
        for (long i = 0; i < GC_STEP && l + i < n; i++)                                           \
          w |= ((uint32_t)(NUMBER(b, k0 + k + l + i)) & GC_PART) << (32 / GC_STEP * i);           \
        *p = (i32)w;                                                                              \
      }                                                                                           \
    }                                                                                             \
  }
#define GC_PART (0xffffffffu >> (32 - 32 / GC_STEP))
#define GC_NUMBER_Q8(b, k) (b[k] + GC_OFFSET_Q8)
#define GC_NUMBER_Q4(b, k) (((k) % 2 ? b[(k) / 2] >> 4 : b[(k) / 2] & 15) - 8 + GC_OFFSET_Q4)
GC_COLUMN_WORDS(q8, int8_t, GC_NUMBER_Q8)
GC_COLUMN_WORDS(q4, uint8_t, GC_NUMBER_Q4)
