/* Words of integers of a quantized matrix, which vectors multiply by words of another one. */
/* section GC_STEP GC_STEP_OF GC_WORDS GC_PLANES GC_BY_GROUP GC_BY_LINES GcUnsigned GcWord GcShort GcChars GcSixteen GcPairs GC_PAIRS dot_integers word_q8 word_q4 line_q8 line_q4: widen_i8 widen_u8 GcBytes GcLine GcLineAt GC_SHUFFLE */
/* A word of 32 bits has GC_STEP integers of the depth. Four, if there is vpdpbusd: its left operand is unsigned, so b's
   integers are stored plus an offset, and the sum begins with that offset times a's integers, negated; integers of 4 bits
   have it as they lie. Else two, of 16
   bits, whose products vpmaddwd adds; nothing saturates. */
typedef uint32_t GcUnsigned __attribute__((vector_size(VBYTES), may_alias));
#if (defined(GC_AVX512) && defined(__AVX512VNNI__)) || (defined(GC_AVX2) && defined(__AVXVNNI__))
enum { GC_STEP = 4, GC_OFFSET_Q8 = 128, GC_OFFSET_Q4 = 8, GC_OFFSET_INTERLEAVED_Q8 = 128, GC_OFFSET_INTERLEAVED_Q4 = 8 };
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
enum { GC_STEP = 2, GC_OFFSET_Q8 = 0, GC_OFFSET_Q4 = 8, GC_OFFSET_INTERLEAVED_Q8 = 0, GC_OFFSET_INTERLEAVED_Q4 = 8 };
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
/* Of a left operand of 16 bits, a word of four bytes has the lower ones of four integers, or the higher ones, and two
   sums are made; a word of two numbers has whole ones. */
#define GC_PLANES(BITS, STEP) ((BITS) / 8 * (STEP) > 4 ? 2 : 1)
/* Words of n integers. Rows of b as they are stored, or words, for n of the depth. */
#define GC_WORDS(n, STEP) (((n) + (STEP) - 1) / (STEP))
#define GC_AFTER_Q8(n) (n)
#define GC_AFTER_Q4(n) (((n) + 1) / 2)
#define GC_AFTER_WORDS(n) GC_WORDS(n, GC_STEP)
#define GC_AFTER_INTERLEAVED_Q8(n) 4
#define GC_AFTER_INTERLEAVED_Q4(n) 4
#define GC_AFTER_INTERLEAVED_WORDS(n) 1
/* Words that are read at a time. */
#define GC_TIMES_Q8 1
#define GC_TIMES_Q4 1
#define GC_TIMES_WORDS 1
#define GC_TIMES_INTERLEAVED_Q8 (4 / GC_STEP)
#define GC_TIMES_INTERLEAVED_Q4 (8 / GC_STEP)
#define GC_TIMES_INTERLEAVED_WORDS 1
/* Integers that n of the depth are read as: eight have an order of their own. */
#define GC_READS_Q8(n) (n)
#define GC_READS_Q4(n) (n)
#define GC_READS_WORDS(n) (n)
#define GC_READS_INTERLEAVED_Q8(n) (n)
#define GC_READS_INTERLEAVED_Q4(n) (n)
#define GC_READS_INTERLEAVED_WORDS(n) (((n) + 7) / 8 * 8)
/* With AVX2, groups of panels of 16 columns have a loop of their own. */
#if defined(GC_PAIRS)
#define GC_BY_GROUP(LB) ((LB) == 16)
#else
#define GC_BY_GROUP(LB) 0
#endif
/* Bytes of a group that has one, in panels LB wide; 0: it has none. */
#define GC_GROUP_BYTES_Q8(LB, G) 0
#define GC_GROUP_BYTES_Q4(LB, G) 0
#define GC_GROUP_BYTES_WORDS(LB, G) 0
#define GC_GROUP_BYTES_INTERLEAVED_Q8(LB, G) (GC_BY_GROUP(LB) ? (G) * (LB) : 0)
#define GC_GROUP_BYTES_INTERLEAVED_Q4(LB, G) (GC_BY_GROUP(LB) ? (G) / 2 * (LB) : 0)
#define GC_GROUP_BYTES_INTERLEAVED_WORDS(LB, G) 0
/* Integers of 4 bits are multiplied as bytes then. */
#define GC_STEP_OF(KIND, LB, G) GC_STEP_OF_##KIND(LB, G)
#define GC_STEP_OF_Q8(LB, G) GC_STEP
#define GC_STEP_OF_Q4(LB, G) GC_STEP
#define GC_STEP_OF_WORDS(LB, G) GC_STEP
#define GC_STEP_OF_INTERLEAVED_Q8(LB, G) GC_STEP
#define GC_STEP_OF_INTERLEAVED_Q4(LB, G) (GC_BY_GROUP(LB) ? 4 : GC_STEP)
#define GC_STEP_OF_INTERLEAVED_WORDS(LB, G) GC_STEP
