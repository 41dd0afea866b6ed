/* Vectors and the named fused multiply-add. One text for every instruction set: VW is the width of
   a register in floats; results never depend on it, because products accumulate element by element
   in order of depth and every fma is named (the file is compiled with -ffp-contract=off). */
#define INL static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 64")
/* Before a loop that is to become vectors. gcc 12 would write out one of few iterations first, with branches, or if it
   has no more than 16, make vectors of the loop around it, whose elements it gathers by shuffles. */
#ifdef __clang__
#define GC_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define GC_IVDEP _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#endif
/* Before a short loop that is to stay one. */
#define GC_ROLLED _Pragma("GCC unroll 1")
/* In a loop that a branch lets skip iterations, before loops over the elements of each: it stays a
   branch. By gcc 12, such a loop whose inner loops are unrolled may be turned into one over
   masked vectors, and those read wrong addresses. */
#define GC_BRANCH __asm__ volatile("")
/* The compilers' own names of instructions: reading <immintrin.h> takes longer than all else that the
   compiler reads, and every file is compiled with it. */
/* An x86-64 without FMA has the vectors of the least one with it, as pairs of registers, so that a program's text for
   both is one. */
#if defined(__AVX512F__)
#define GC_AVX512
#define VW 16
enum { GC_ROUND_CURRENT = 4 }; /* the rounding mode of the thread */
#elif defined(__AVX2__) && defined(__FMA__)
#define GC_AVX2
#define VW 8
#elif defined(__x86_64__)
#define VW 8
#pragma GCC diagnostic ignored "-Wpsabi" /* of how vectors are passed: no function here is called from elsewhere */
#else
#define VW 4
#endif
#define VBYTES (VW * 4)
/* Prefetches element n from p on, to read or to write it. An address, since it may lie past the end. */
#define GC_PREFETCH(p, n, ...) \
  __builtin_prefetch((const void *)((uintptr_t)(p) + (uintptr_t)(n) * sizeof *(p)), ##__VA_ARGS__)
/* Of every array that loops over lanes fill: gcc aligns one that it vectorises to 64 bytes by itself, and before version
   15 may forget the stack of a function that calls nothing (PR target/109780). */
#define GC_LANES _Alignas(64)
/* the quotient, rounded once */
#define divide(a, b) ((a) / (b))
typedef float f32;
typedef double f64;
typedef uint8_t u8;
typedef int8_t i8;
typedef int32_t i32;
typedef int64_t i64;
typedef f32 Vf32 __attribute__((vector_size(VBYTES), may_alias));
typedef f64 Vf64 __attribute__((vector_size(VBYTES), may_alias));
typedef i32 Vi32 __attribute__((vector_size(VBYTES), may_alias));
typedef i64 Vi64 __attribute__((vector_size(VBYTES), may_alias));
typedef u8 Vu8 __attribute__((vector_size(VBYTES), may_alias));
typedef i8 Vi8 __attribute__((vector_size(VBYTES), may_alias));
/* section rectangle_at GcRectangle */
/* Of a grid of rows x columns units, numbered row by row, the largest rectangle that begins with unit u and ends
   before `end`: whole rows, or a part of one. */
typedef struct GcRectangle {
  long row0, row1, column0, column1;
} GcRectangle;
INL GcRectangle rectangle_at(long u, long end, long rows, long columns) {
  const long r = u / columns, c = u % columns, whole = (end - u) / columns;
  if (c || !whole) return (GcRectangle){r, r + 1, c, end - u < columns - c ? c + (end - u) : columns};
  return (GcRectangle){r, whole < rows - r ? r + whole : rows, 0, columns};
}
/* section env_first_row */
#define env_first_row(env) ((long)(env)->first_row) /* a macro: tests take this file without the runtime */

/* section vfma_f32 vfma_f64 splat_f32 splat_f64 */
#if defined(GC_AVX512)
INL Vf32 vfma_f32(Vf32 a, Vf32 b, Vf32 c) { return (Vf32)__builtin_ia32_vfmaddps512_mask(a, b, c, -1, GC_ROUND_CURRENT); }
INL Vf64 vfma_f64(Vf64 a, Vf64 b, Vf64 c) { return (Vf64)__builtin_ia32_vfmaddpd512_mask(a, b, c, -1, GC_ROUND_CURRENT); }
INL Vf32 splat_f32(f32 s) { return (Vf32){s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s}; }
INL Vf64 splat_f64(f64 s) { return (Vf64){s, s, s, s, s, s, s, s}; }
#elif defined(GC_AVX2)
INL Vf32 vfma_f32(Vf32 a, Vf32 b, Vf32 c) { return (Vf32)__builtin_ia32_vfmaddps256(a, b, c); }
INL Vf64 vfma_f64(Vf64 a, Vf64 b, Vf64 c) { return (Vf64)__builtin_ia32_vfmaddpd256(a, b, c); }
INL Vf32 splat_f32(f32 s) { return (Vf32){s, s, s, s, s, s, s, s}; }
INL Vf64 splat_f64(f64 s) { return (Vf64){s, s, s, s}; }
#elif defined(__ARM_NEON) && defined(__aarch64__)
#ifdef __clang__
INL Vf32 vfma_f32(Vf32 a, Vf32 b, Vf32 c) {
  for (int i = 0; i < VW; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
}
INL Vf64 vfma_f64(Vf64 a, Vf64 b, Vf64 c) {
  for (int i = 0; i < VW / 2; i++) c[i] = __builtin_fma(a[i], b[i], c[i]);
  return c;
}
#else
INL Vf32 vfma_f32(Vf32 a, Vf32 b, Vf32 c) { return (Vf32)__builtin_aarch64_fmav4sf(a, b, c); }
INL Vf64 vfma_f64(Vf64 a, Vf64 b, Vf64 c) { return (Vf64)__builtin_aarch64_fmav2df(a, b, c); }
#endif
INL Vf32 splat_f32(f32 s) { return (Vf32){s, s, s, s}; }
INL Vf64 splat_f64(f64 s) { return (Vf64){s, s}; }
#else /* the same bits without the instruction */
typedef f64 Half64 __attribute__((vector_size(16), may_alias));
typedef i64 Half64i __attribute__((vector_size(16), may_alias));
typedef f32 Half32 __attribute__((vector_size(8), may_alias));
typedef f32 Quad32 __attribute__((vector_size(16), may_alias));
#define GC_LOW(v) __builtin_convertvector((Half32){(v)[0], (v)[1]}, Half64)
#define GC_HIGH(v) __builtin_convertvector((Half32){(v)[2], (v)[3]}, Half64)
#define GC_JOIN(lo, hi) ((Quad32){(f32)(lo)[0], (f32)(lo)[1], (f32)(hi)[0], (f32)(hi)[1]})
/* Two of a b + c, where p = a b is exact in f64: the sum is rounded to odd, so that rounding it once more, to f32, rounds
   as if once (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). What the rounded sum misses is
   exact (Knuth's TwoSum); where it misses something and its last bit is even, it becomes the odd neighbour on that
   side. */
INL Half64 sum_to_odd(Half64 p, Half64 c) {
  const Half64 s = p + c, q = s - p, miss = (p - (s - q)) + (c - q);
  const Half64i more = miss > 0, less = miss < 0, below = s < 0, odd = (Half64i)s & 1;
  const Half64i step = ((less - more) ^ below) - below; /* of the magnitude: +1, -1 or 0 */
  return (Half64)((Half64i)s + (step & (odd - 1)));
}
static __attribute__((noinline)) Quad32 fma_with_care(Quad32 a, Quad32 b, Quad32 c) {
  const Half64 lo = sum_to_odd(GC_LOW(a) * GC_LOW(b), GC_LOW(c)), hi = sum_to_odd(GC_HIGH(a) * GC_HIGH(b), GC_HIGH(c));
  return GC_JOIN(lo, hi);
}
#ifdef __SSE2__
#include <emmintrin.h>
/* The sum rounded twice, which is wrong only where the f64 lies half way between two f32, or where f32 has fewer bits:
   then with care. */
INL Quad32 fma_quad(Quad32 a, Quad32 b, Quad32 c) {
  const __m128 x = (__m128)a, y = (__m128)b, z = (__m128)c;
  const __m128d lo = _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(x), _mm_cvtps_pd(y)), _mm_cvtps_pd(z));
  const __m128d hi = _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(_mm_movehl_ps(x, x)), _mm_cvtps_pd(_mm_movehl_ps(y, y))),
                                _mm_cvtps_pd(_mm_movehl_ps(z, z)));
  const __m128 r = _mm_movelh_ps(_mm_cvtpd_ps(lo), _mm_cvtpd_ps(hi));
  const __m128i cut = _mm_castps_si128(_mm_shuffle_ps(_mm_castpd_ps(lo), _mm_castpd_ps(hi), 0x88)); /* what f32 lacks */
  const __m128i half = _mm_cmpeq_epi32(_mm_and_si128(cut, _mm_set1_epi32(0x1fffffff)), _mm_set1_epi32(0x10000000));
  const __m128i size = _mm_and_si128(_mm_castps_si128(r), _mm_set1_epi32(0x7fffffff));
  /* 0 < size <= 2^-126, by signed integers: 0 becomes the largest one, 1 the smallest */
  const __m128i tiny = _mm_cmplt_epi32(_mm_add_epi32(size, _mm_set1_epi32(0x7fffffff)), _mm_set1_epi32((int)0x80800000u));
  if (__builtin_expect(_mm_movemask_epi8(_mm_or_si128(half, tiny)), 0)) return fma_with_care(a, b, c);
  return (Quad32)r;
}
#elif defined __FP_FAST_FMAF
INL Quad32 fma_quad(Quad32 a, Quad32 b, Quad32 c) {
  for (int i = 0; i < 4; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
}
#else
INL Quad32 fma_quad(Quad32 a, Quad32 b, Quad32 c) { return fma_with_care(a, b, c); }
#endif
typedef union Quads {
  Vf32 v;
  Quad32 q[VW / 4];
} Quads;
INL Vf32 vfma_f32(Vf32 a, Vf32 b, Vf32 c) {
  const Quads x = {a}, y = {b};
  Quads z = {c};
  for (int i = 0; i < VW / 4; i++) z.q[i] = fma_quad(x.q[i], y.q[i], z.q[i]);
  return z.v;
}
INL Vf64 vfma_f64(Vf64 a, Vf64 b, Vf64 c) {
  for (int i = 0; i < VW / 2; i++) c[i] = __builtin_fma(a[i], b[i], c[i]);
  return c;
}
INL Vf32 splat_f32(f32 s) { return s - (Vf32){0}; }
INL Vf64 splat_f64(f64 s) { return s - (Vf64){0}; }
#endif
/* section vmax_f32 vmax_f64 */
#if defined(GC_AVX512)
#ifdef __clang__
INL Vf32 vmax_f32(Vf32 a, Vf32 b) { return (Vf32)__builtin_ia32_maxps512(a, b, GC_ROUND_CURRENT); }
INL Vf64 vmax_f64(Vf64 a, Vf64 b) { return (Vf64)__builtin_ia32_maxpd512(a, b, GC_ROUND_CURRENT); }
#else
INL Vf32 vmax_f32(Vf32 a, Vf32 b) { return (Vf32)__builtin_ia32_maxps512_mask(a, b, a, -1, GC_ROUND_CURRENT); }
INL Vf64 vmax_f64(Vf64 a, Vf64 b) { return (Vf64)__builtin_ia32_maxpd512_mask(a, b, a, -1, GC_ROUND_CURRENT); }
#endif
#elif defined(GC_AVX2)
INL Vf32 vmax_f32(Vf32 a, Vf32 b) { return (Vf32)__builtin_ia32_maxps256(a, b); }
INL Vf64 vmax_f64(Vf64 a, Vf64 b) { return (Vf64)__builtin_ia32_maxpd256(a, b); }
#else
INL Vf32 vmax_f32(Vf32 a, Vf32 b) { /* a > b ? a : b, as the others */
  const Vi32 m = a > b;
  return (Vf32)(((Vi32)a & m) | ((Vi32)b & ~m));
}
INL Vf64 vmax_f64(Vf64 a, Vf64 b) {
  const Vi64 m = a > b;
  return (Vf64)(((Vi64)a & m) | ((Vi64)b & ~m));
}
#endif
/* section splat_i32 splat_i64 vfma_i32 vfma_i64 */
INL Vi32 splat_i32(i32 s) { return s - (Vi32){0}; }
INL Vi64 splat_i64(i64 s) { return s - (Vi64){0}; }
/* integers wrap: computed unsigned */
typedef uint32_t Vu32 __attribute__((vector_size(VBYTES), may_alias));
typedef uint64_t Vu64 __attribute__((vector_size(VBYTES), may_alias));
INL Vi32 vfma_i32(Vi32 a, Vi32 b, Vi32 c) { return (Vi32)((Vu32)a * (Vu32)b + (Vu32)c); }
INL Vi64 vfma_i64(Vi64 a, Vi64 b, Vi64 c) { return (Vi64)((Vu64)a * (Vu64)b + (Vu64)c); }
