/* Products of two quantized matrices: words of integers of the depth, whose products are summed exactly. */
/* section GC_INTEGER_ROW: GC_STEP bf16_to_f32 */
/* `depth` integers of a row of A in words, in groups of G: first what the sum begins with, and the scale. Of integers of
   two bytes, which stand for l + 256 h, or for -2^15 if this is less, words of four have h first, and behind a group's
   words those of l. */
#define GC_BYTE_8(l, h) a[l]
#define GC_BYTE_16(l, h) ((h) ? GC_LOW_BYTE(l) : a[2 * (l) + 1])
#define GC_LOW_BYTE(l) (a[2 * (l) + 1] == -128 && a[2 * (l)] < 0 ? 0 : a[2 * (l)])
#define GC_INTEGER_8(l) a[l]
#define GC_INTEGER_16(l) (GC_LOW_BYTE(l) + 256 * a[2 * (l) + 1])
/* So many integers are in an order of their own, that of words of interleaved halves of bytes; 1: all are in order. */
#define GC_PLACE(i) (STEP == 4 ? (i) % 2 * 4 + (i) / 2 : (i) % 4 * 2 + (i) / 4)
#define GC_INTEGER_ORDER_Q8 1
#define GC_INTEGER_ORDER_Q4 1
#define GC_INTEGER_ORDER_INTERLEAVED_Q8 1
#define GC_INTEGER_ORDER_INTERLEAVED_Q4 8
#define GC_INTEGER_GROUP(G, OFFSET, ORDER, BITS)                                                         \
  {                                                                                               \
    const f32 scale = bf16_to_f32(*s);                                                            \
    i32 sum = 0;                                                                                  \
    for (long l = 0; l < G; l++) sum += GC_INTEGER_##BITS(l);                                     \
    p[0] = -OFFSET * sum;                                                                         \
    __builtin_memcpy(p + 1, &scale, sizeof scale);                                                \
    for (long h = 0; h < PLANES; h++) {                                                           \
      GcWord *words = p + 2 + h * GC_WORDS(G, STEP);                                              \
      if (G % STEP) words[GC_WORDS(G, STEP) - 1] = 0;                                             \
      if (ORDER == 8)                                                                             \
        for (long l = 0; l < G; l += 8) UNROLL for (int i = 0; i < 8; i++) {                      \
          if (STEP == 4)                                                                          \
            ((int8_t *)words)[l + GC_PLACE(i)] = (int8_t)GC_BYTE_##BITS(l + i, h);                \
          else                                                                                    \
            ((GcShort *)words)[l + GC_PLACE(i)] = (int16_t)GC_INTEGER_##BITS(l + i);              \
        }                                                                                         \
      else                                                                                        \
        for (long l = 0; l < G; l++)                                                              \
          if (STEP == 4)                                                                          \
            ((int8_t *)words)[l] = (int8_t)GC_BYTE_##BITS(l, h);                                  \
          else                                                                                    \
            ((GcShort *)words)[l] = (int16_t)GC_INTEGER_##BITS(l);                                \
    }                                                                                             \
  }
#define GC_INTEGER_ROW(NAME, KIND, G, BITS, STEP_OF)                                              \
  static __attribute__((noinline)) void NAME(const int8_t *restrict a, const uint16_t *restrict s, \
                                             i32 *restrict to, long depth) {                      \
    enum { STEP = STEP_OF, PLANES = GC_PLANES(BITS, STEP) };                                      \
    GcWord *p = (GcWord *)to;                                                                     \
    for (; depth >= G; depth -= G, a += BITS / 8 * G, s++, p += 2 + PLANES * GC_WORDS(G, STEP))   \
      GC_INTEGER_GROUP(G, GC_OFFSET_##KIND, GC_INTEGER_ORDER_##KIND, BITS)                                                 \
    if (depth > 0) {                                                                              \
      int8_t rest[BITS / 8 * G] = {0};                                                            \
      __builtin_memcpy(rest, a, (unsigned long)depth * (BITS / 8));                               \
      a = rest;                                                                                   \
      GC_INTEGER_GROUP(G, GC_OFFSET_##KIND, GC_INTEGER_ORDER_##KIND, BITS)                                                 \
    }                                                                                             \
  }
/* section GC_TILE_INTEGERS: GC_STORE_ROW GC_STEP interleaved_q8 add_group_q8 GC_QUANTIZED_AHEAD load_bf16 splat_f32 splat_i32 vfma_f32 */
/* As GC_TILE, of a of BITS bits that GC_INTEGER_ROW packed, rows of b LB apart, which are words or integers as they lie,
   and its scales, whose rows are as far apart. The sum of a group is exact; it is scaled and added by one fma. Where
   it is made of two sums, of higher and of lower bytes, they are made at once if registers hold them, else one after
   the other. */
#define GC_READ_WORDS(b, LB, n, c) UNROLL for (int j = 0; j < NV; j++) __builtin_memcpy(&v[j], b + j * L, VBYTES);
#define GC_READ_INTERLEAVED_WORDS(b, LB, n, c) GC_READ_WORDS(b, LB, n, c)
#define GC_READ_STORED(WORD, LINE, KIND, b, LB, n)                                                \
  UNROLL for (int r = 0; r < GC_AFTER_##KIND(GC_STEP); r++)                                       \
    UNROLL for (int j = 0; j < NV * L; j += 64) GC_PREFETCH(b, GC_QUANTIZED_AHEAD + r * (long)LB + j); \
  if (GC_BY_LINES(NV))                                                                            \
    LINE(b, LB, n, v);                                                                            \
  else                                                                                            \
    UNROLL for (int j = 0; j < NV; j++) v[j] = WORD(b + j * L, LB, n);
#define GC_READ_Q8(b, LB, n, c) GC_READ_STORED(word_q8, line_q8, Q8, b, LB, n)
#define GC_READ_Q4(b, LB, n, c) GC_READ_STORED(word_q4, line_q4, Q4, b, LB, n)
#define GC_ADD_WORD(KIND, R, LI, LB, G, n)                                                        \
  UNROLL for (int c = 0; c < GC_TIMES_##KIND; c++) {                                              \
    GC_READ_##KIND(b, LB, n, c)                                                                   \
    UNROLL for (int h = 0; h < ONCE; h++) UNROLL for (int i = 0; i < R; i++) {                    \
      const Vi32 w = splat_i32(x[c + i * (long)LI + h * GC_WORDS(G, STEP)]);                      \
      UNROLL for (int j = 0; j < NV; j++) sum[h][i][j] = dot_integers(v[j], w, sum[h][i][j]);     \
    }                                                                                             \
  }                                                                                               \
  b += GC_AFTER_##KIND(n) * LB;
#define GC_ADD_GROUP_Q8(...) (void)0
#define GC_ADD_GROUP_Q4(...) (void)0
#define GC_ADD_GROUP_WORDS(...) (void)0
#define GC_ADD_GROUP_INTERLEAVED_Q8(...) add_group_q8(__VA_ARGS__)
#define GC_ADD_GROUP_INTERLEAVED_Q4(...) add_group_q4(__VA_ARGS__)
#define GC_ADD_GROUP_INTERLEAVED_WORDS(...) (void)0
enum { GC_MOST_SUMS = VBYTES == 64 ? 24 : 8 };
#define GC_TILE_INTEGERS(NAME, KIND, TB, R, W, LI, LB, G, BITS)                                   \
  static __attribute__((noinline)) void NAME(const i32 *restrict a, const TB *restrict b, f32 *c, \
                                             long ldc, long depth, const f32 *c_in,               \
                                             const uint16_t *restrict s) {                        \
    enum { L = VW, NV = (W + L - 1) / L, BYTES = GC_GROUP_BYTES_##KIND(LB, G) };                  \
    enum { STEP = GC_STEP_OF_##KIND(LB, G), PLANES = GC_PLANES(BITS, STEP) };                     \
    enum { ONCE = BYTES ? 1 : PLANES * R * NV <= GC_MOST_SUMS ? PLANES : 1, AT_ONCE = GC_TIMES_##KIND * GC_STEP }; \
    Vf32 acc[R][NV];                                                                              \
    UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) acc[i][j] = (Vf32){0}; \
    for (; depth > 0; depth -= G, s += LB) {                                                      \
      const long n = GC_READS_##KIND(depth < G ? depth : G);                                      \
      const TB *of_group = b;                                                                     \
      Vi32 sum[ONCE][R][NV] = {0}, v[NV];                                                         \
      if (BYTES) {                                                                                \
        GC_ADD_GROUP_##KIND(a + 2, b, n, G, BITS, R, NV, LI, &sum[0][0][0]);                      \
        UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) sum[0][i][j] += a[i * (long)LI]; \
        b += BYTES;                                                                               \
      } else                                                                                      \
        UNROLL for (int part = ONCE; part <= PLANES; part += ONCE) {                              \
          const i32 *x = a + 2 + (part - ONCE) * GC_WORDS(G, STEP);                               \
          b = of_group;                                                                           \
          UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) {                \
            if (part > ONCE) sum[0][i][j] *= 256;                                                 \
            if (part == PLANES) sum[ONCE - 1][i][j] += a[i * (long)LI];                           \
          }                                                                                       \
          long l = AT_ONCE;                                                                       \
          for (; l <= n; l += AT_ONCE, x += GC_TIMES_##KIND) {                                    \
            GC_ADD_WORD(KIND, R, LI, LB, G, GC_STEP)                                              \
          }                                                                                       \
          l = n + AT_ONCE - l;                                                                    \
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
      for (long l = 0; l < n; l += GC_TIMES_##KIND * GC_STEP) {                                   \
        const long rows = n - l < GC_STEP ? n - l : GC_STEP;                                      \
        Vi32 v[NV];                                                                               \
        UNROLL for (int c = 0; c < GC_TIMES_##KIND; c++, p += NR) {                               \
          GC_READ_##KIND(b, LB, rows, c)                                                          \
          UNROLL for (int j = 0; j < NV; j++) __builtin_memcpy(p + j * L, &v[j], sizeof v[j]);    \
        }                                                                                         \
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
