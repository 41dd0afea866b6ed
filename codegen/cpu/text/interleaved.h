/* Products of integers by panels whose rows are interleaved: a word has four bytes of a column, which are four integers
   of 8 bits, or eight of 4, of which byte i has 2 i in its low half and 2 i + 1 in its high one. */
/* section interleaved_q8 interleaved_q4: GC_STEP GcUnsigned GC_QUANTIZED_AHEAD */
/* Words of GC_STEP integers, the c-th ones of those that are stored. Integers of 4 bits are in the order that takes
   fewest instructions, which packed rows of A have, too (GC_PLACE): four even or four odd ones of eight, or pairs that are
   four apart. */
#define GC_READ_INTERLEAVED(WORD, b, c)                                                           \
  if (c == 0) UNROLL for (int j = 0; j < NV * VBYTES; j += 64) GC_PREFETCH(b, GC_QUANTIZED_AHEAD + j); \
  UNROLL for (int j = 0; j < NV; j++) {                                                           \
    GcUnsigned stored;                                                                            \
    __builtin_memcpy(&stored, b + j * VBYTES, VBYTES);                                            \
    v[j] = WORD(stored, c);                                                                       \
  }
#define GC_READ_INTERLEAVED_Q8(b, LB, n, c) GC_READ_INTERLEAVED(interleaved_q8, b, c)
#define GC_READ_INTERLEAVED_Q4(b, LB, n, c) GC_READ_INTERLEAVED(interleaved_q4, b, c)
INL Vi32 interleaved_q8(GcUnsigned stored, int c) {
  if (GC_STEP == 4) return (Vi32)(stored ^ 0x80808080u);
  const GcUnsigned two = c ? stored >> 16 : stored;
  const Vi32 low = (Vi32)(two << 24) >> 24, high = (Vi32)(two << 16) >> 8;
  return (low & 0xffff) | (Vi32)((GcUnsigned)high & 0xffff0000u);
}
INL Vi32 interleaved_q4(GcUnsigned stored, int c) {
  if (GC_STEP == 4) return (Vi32)((c ? stored >> 4 : stored) & 0x0f0f0f0fu);
  return (Vi32)((stored >> 4 * c) & 0x000f000fu);
}
/* section add_group_q8 add_group_q4: GC_STEP GC_QUANTIZED_AHEAD splat_i32 */
#if defined(GC_PAIRS)
/* The sums of a group of `group` of the depth, of which n are there, for `nv` registers of columns: exact, of parts of up
   to 32 of the depth. Words stay as they lie. Few rows share their numbers among all columns, more rows b's numbers of a
   register of columns, so that registers hold all sums. */
enum { GC_PART_DEPTH = 32, GC_FEW_ROWS = 2, GC_MOST_ROWS = 8 };
typedef i8 GcBytesOfWords __attribute__((vector_size(32), may_alias));
typedef i8 GcBytesOfWordsAt __attribute__((vector_size(32), may_alias, aligned(1)));
typedef int16_t GcSums __attribute__((vector_size(32), may_alias));
typedef int64_t GcFours __attribute__((vector_size(32), may_alias));
typedef int GcEightSums __attribute__((vector_size(32), may_alias));
/* A compiler would keep all products for a tree of sums, and b's numbers of many words, for which there are no
   registers. */
#define GC_WORD_BY_WORD __asm__ volatile("" ::: "memory")
#define GC_ADD_SUMS(OP, c, x) __asm__(OP " %1, %0, %0" : "+x"(c) : "x"(x))
/* Of a part that is not whole, the words that are there. */
INL const void *whole_part(const void *b, void *rest, long n, int numbers, int part) {
  if (n >= part) return b;
  __builtin_memset(rest, 0, 64 * (unsigned long)(part / numbers));
  return __builtin_memcpy(rest, b, 64 * (unsigned long)((n + numbers - 1) / numbers));
}
/* Integers of 4 bits, unsigned, by signed bytes of a: a sum of 16 bits has eight pairs at most, 8 * 2 * 15 * 128 in
   magnitude. Of a's integers of 16 bits, the higher bytes have 256 times the weight. */
INL void halves_q4(const uint8_t *b, GcBytesOfWords *v) {
  const GcBytesOfWords both = *(const GcBytesOfWordsAt *)b;
  v[0] = both & 15, v[1] = (GcBytesOfWords)((GcSums)both >> 4) & 15;
}
INL void add_part_q4(const i32 *x, const uint8_t *b, int words, int plane, int planes, int rows, int nv, long li,
                     Vi32 *sum) {
  const GcSixteen one = (GcSixteen){0} + 1, high = (GcSixteen){0} + (int16_t)(planes == 2 ? 256 : 1);
  const int once = rows <= GC_FEW_ROWS ? nv : 1;
  UNROLL for (int j0 = 0; j0 < nv; j0 += once) {
    GcSums c[GC_MOST_ROWS][2][2];
    UNROLL for (int w = 0; w < words; w++) {
      GcBytesOfWords v[2][2];
      if (rows > GC_FEW_ROWS) GC_WORD_BY_WORD;
      UNROLL for (int j = 0; j < once; j++) halves_q4(b + 64 * w + 32 * (j0 + j), v[j]);
      UNROLL for (int i = 0; i < rows; i++) UNROLL for (int p = 0; p < planes; p++) UNROLL for (int h = 0; h < 2; h++) {
        const Vi32 y = splat_i32(x[i * li + p * plane + 2 * w + h]);
        UNROLL for (int j = 0; j < once; j++) {
          const GcSums both = (GcSums)__builtin_ia32_pmaddubsw256((GcChars)v[j][h], (GcChars)y);
          if (w + h == 0)
            c[i][p][j] = both;
          else
            GC_ADD_SUMS("vpaddw", c[i][p][j], both);
        }
      }
    }
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < once; j++) {
      Vi32 *to = sum + i * nv + j0 + j;
      *to += (Vi32)__builtin_ia32_pmaddwd256((GcSixteen)c[i][0][j], high);
      if (planes == 2) *to += (Vi32)__builtin_ia32_pmaddwd256((GcSixteen)c[i][1][j], one);
    }
  }
}
INL void add_group_q4(const i32 *x, const uint8_t *b, long n, int group, int bits, int rows, int nv, long li, Vi32 *sum) {
  const int part = group < GC_PART_DEPTH ? group : GC_PART_DEPTH;
  uint8_t rest[8 * GC_PART_DEPTH];
  do {
    UNROLL for (int j = 0; j < 8 * part; j += 64) GC_PREFETCH(b, GC_QUANTIZED_AHEAD + j);
    add_part_q4(x, (const uint8_t *)whole_part(b, rest, n, 8, part), part / 8, group / 4, bits / 8, rows, nv, li, sum);
    x += part / 4, b += 8 * part, n -= part;
  } while (group > part && n > 0);
}
/* Integers of 8 bits, as numbers of 16 bits, by four of a: a column has two sums, which are neighbours. */
INL GcSixteen shorts_q8(const int8_t *b) { return (GcSixteen)GC_PAIRS(*(const GcPairs *)b); }
INL Vi32 neighbours_q8(Vi32 x, Vi32 y) {
  const Vi32 both = (Vi32)__builtin_ia32_phaddd256((GcEightSums)x, (GcEightSums)y);
  return GC_SHUFFLE(both, both, 0, 1, 4, 5, 2, 3, 6, 7);
}
INL void add_part_q8(const i32 *x, const int8_t *b, int words, int rows, int nv, long li, Vi32 *sum) {
  const int once = rows <= GC_FEW_ROWS ? 2 * nv : 2;
  UNROLL for (int j0 = 0; j0 < 2 * nv; j0 += once) {
    Vi32 c[GC_MOST_ROWS][4];
    UNROLL for (int w = 0; w < words; w++) {
      GcSixteen v[4];
      if (rows > GC_FEW_ROWS) GC_WORD_BY_WORD;
      UNROLL for (int j = 0; j < once; j++) v[j] = shorts_q8(b + 64 * w + 16 * (j0 + j));
      UNROLL for (int i = 0; i < rows; i++) {
        int64_t four;
        __builtin_memcpy(&four, x + i * li + 2 * w, sizeof four);
        const GcFours y = {four, four, four, four};
        UNROLL for (int j = 0; j < once; j++) {
          const Vi32 both = (Vi32)__builtin_ia32_pmaddwd256(v[j], (GcSixteen)y);
          if (w == 0)
            c[i][j] = both;
          else
            GC_ADD_SUMS("vpaddd", c[i][j], both);
        }
      }
    }
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < once; j += 2)
      sum[i * nv + (j0 + j) / 2] += neighbours_q8(c[i][j], c[i][j + 1]);
  }
}
INL void add_group_q8(const i32 *x, const int8_t *b, long n, int group, int bits, int rows, int nv, long li, Vi32 *sum) {
  const int part = group < GC_PART_DEPTH ? group : GC_PART_DEPTH;
  int8_t rest[16 * GC_PART_DEPTH];
  (void)bits;
  do {
    UNROLL for (int j = 0; j < 16 * part; j += 64) GC_PREFETCH(b, GC_QUANTIZED_AHEAD + j);
    add_part_q8(x, (const int8_t *)whole_part(b, rest, n, 4, part), part / 4, rows, nv, li, sum);
    x += part / 2, b += 16 * part, n -= part;
  } while (group > part && n > 0);
}
#else
INL void add_group_q4(const i32 *x, const uint8_t *b, long n, int group, int bits, int rows, int nv, long li, Vi32 *sum) {
  (void)x, (void)b, (void)n, (void)group, (void)bits, (void)rows, (void)nv, (void)li, (void)sum;
}
INL void add_group_q8(const i32 *x, const int8_t *b, long n, int group, int bits, int rows, int nv, long li, Vi32 *sum) {
  (void)x, (void)b, (void)n, (void)group, (void)bits, (void)rows, (void)nv, (void)li, (void)sum;
}
#endif
