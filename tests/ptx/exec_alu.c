/* Arithmetic: one function for each row of alu.def, and the table decode.c looks them up in.
 * A handler computes the lanes of the mask from slots of the row's types; rounding, .ftz and .sat
 * of floats are done around it by alu_modified, .ftz alone of f32 by a second function. Built with
 * -frounding-math: the direction is the thread's. */
#include "alu.h"
#include "exec.h"
#include "half.h"
#include <fenv.h>
#include <math.h>

/* ---- what expressions use ---- */
static int32_t saturate_s32(int64_t v) {
  return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}
static uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb) {
  for (int i = 0; i < 32; i += 8) {
    int32_t x = sa ? (int8_t)(a >> i) : (uint8_t)(a >> i);
    int32_t y = sb ? (int8_t)(b >> i) : (uint8_t)(b >> i);
    c += (uint32_t)(x * y);
  }
  return c;
}
/* 16-bit halves of a by two bytes of b, from bit `at` on */
static uint32_t dot2(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb, int at) {
  for (int i = 0; i < 2; i++) {
    int64_t x = sa ? (int16_t)(a >> (16 * i)) : (uint16_t)(a >> (16 * i));
    int64_t y = sb ? (int8_t)(b >> (at + 8 * i)) : (uint8_t)(b >> (at + 8 * i));
    c += (uint32_t)(x * y);
  }
  return c;
}
static uint32_t funnel(uint32_t hi, uint32_t lo, uint32_t shift) { /* shift 0..32 */
  return (uint32_t)(((uint64_t)hi << 32 | lo) >> shift);
}
static uint64_t reverse_bits(uint64_t v) {
  uint64_t r = 0;
  for (int i = 0; i < 64; i++) r |= (v >> i & 1) << (63 - i);
  return r;
}
static uint32_t find_bit(uint64_t v, int width, bool shift_amount) {
  if (!v) return UINT32_MAX;
  int at = 63 - __builtin_clzll(v);
  return (uint32_t)(shift_amount ? width - 1 - at : at);
}
static uint64_t low_bits(uint32_t n) { return n > 63 ? UINT64_MAX : ((uint64_t)1 << n) - 1; }
static uint64_t field(uint64_t v, uint32_t pos, uint32_t len, uint32_t width, bool extend) {
  pos &= 255;
  len &= 255;
  if (!len) return 0;
  uint64_t sign_at = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
  uint64_t sign = extend ? v >> sign_at & 1 : 0;
  uint64_t body = pos >= width ? 0 : (v & low_bits(width)) >> pos;
  uint32_t have = pos >= width ? 0 : width - pos < len ? width - pos : len;
  body &= low_bits(have);
  return sign ? body | ~low_bits(have) : body;
}
static uint64_t insert_field(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, uint32_t width) {
  pos &= 255;
  len &= 255;
  if (pos >= width) return b;
  uint64_t mask = low_bits(len) << pos;
  return (b & ~mask) | (a << pos & mask);
}
static uint32_t permute(uint32_t a, uint32_t b, uint32_t select) {
  uint64_t bytes = (uint64_t)b << 32 | a;
  uint32_t r = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t s = select >> (4 * i) & 15, byte = (uint32_t)(bytes >> (8 * (s & 7))) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    r |= byte << (8 * i);
  }
  return r;
}
static uint32_t logic3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t r = 0;
  for (uint32_t i = 0; i < 8; i++)
    if (table >> i & 1) r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}
static double relu(double v) { return v > 0 || v != v ? v : 0; }
/* -0 is less than +0; a NaN loses against a number. */
static double least(double a, double b) {
  if (a != a) return b;
  if (b != b) return a;
  return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}
static double greatest(double a, double b) {
  if (a != a) return b;
  if (b != b) return a;
  return a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}

/* ---- types of rows: C type, storage, class, reading and writing ---- */
typedef uint16_t T_i16, T_u16;
typedef int16_t T_s16;
typedef uint32_t T_i32, T_u32;
typedef int32_t T_s32;
typedef uint64_t T_i64, T_u64;
typedef int64_t T_s64;
typedef float T_f32;
typedef double T_f64, T_f16, T_bf16;
typedef uint32_t S_i16, S_u16, S_s16, S_i32, S_u32, S_f16, S_bf16;
typedef int32_t S_s32;
typedef uint64_t S_i64, S_u64;
typedef int64_t S_s64;
typedef float S_f32;
typedef double S_f64;
enum {
  C_i16 = SLOT_32,
  C_u16 = SLOT_32,
  C_s16 = SLOT_32,
  C_i32 = SLOT_32,
  C_u32 = SLOT_32,
  C_s32 = SLOT_32,
  C_f32 = SLOT_32,
  C_f16 = SLOT_32,
  C_bf16 = SLOT_32,
  C_i64 = SLOT_64,
  C_u64 = SLOT_64,
  C_s64 = SLOT_64,
  C_f64 = SLOT_64,
};
#define GET_i16(v) ((uint16_t)(v))
#define GET_u16(v) ((uint16_t)(v))
#define GET_s16(v) ((int16_t)(v))
#define GET_i32(v) (v)
#define GET_u32(v) (v)
#define GET_s32(v) (v)
#define GET_i64(v) (v)
#define GET_u64(v) (v)
#define GET_s64(v) (v)
#define GET_f32(v) (v)
#define GET_f64(v) (v)
#define GET_f16(v) half_get((uint16_t)(v))
#define GET_bf16(v) bfloat_get((uint16_t)(v))
#define PUT_i16(v) ((uint16_t)(v))
#define PUT_u16(v) ((uint16_t)(v))
#define PUT_s16(v) ((uint16_t)(v))
#define PUT_i32(v) ((uint32_t)(v))
#define PUT_u32(v) ((uint32_t)(v))
#define PUT_s32(v) ((int32_t)(v))
#define PUT_i64(v) ((uint64_t)(v))
#define PUT_u64(v) ((uint64_t)(v))
#define PUT_s64(v) ((int64_t)(v))
/* the hardware's NaN, 0x7fffffff */
static inline float canonical(float v) { return v != v ? __builtin_nanf("0x3fffff") : v; }
#define PUT_f32(v) canonical((float)(v))
#define PUT_f64(v) (v)
#define PUT_f16(v) half_put(v, ROUND_NEAREST)
#define PUT_bf16(v) bfloat_put(v, ROUND_NEAREST)

/* Code of rows whose results are f32, and what .ftz makes of their operands. */
#define FTZ_i16(...)
#define FTZ_u16(...)
#define FTZ_s16(...)
#define FTZ_i32(...)
#define FTZ_u32(...)
#define FTZ_s32(...)
#define FTZ_i64(...)
#define FTZ_u64(...)
#define FTZ_s64(...)
#define FTZ_f64(...)
#define FTZ_f16(...)
#define FTZ_bf16(...)
#define FTZ_f32(...) __VA_ARGS__
static inline float flushed(float v) {
  uint32_t u;
  memcpy(&u, &v, 4);
  u = u & 0x7f800000u ? u : u & 0x80000000u;
  memcpy(&v, &u, 4);
  return v;
}

/* All lanes at once where all are active, so that the compiler can use vectors: a result may lie
 * over a source, lane by lane. */
#define EACH_LANE(T, value)                                                                        \
  S_##T *out = (S_##T *)(w->regs + i->opd[0].at);                                                  \
  if (mask == UINT32_MAX) {                                                                        \
    _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++) out[l] = (S_##T)(value);                  \
  } else {                                                                                         \
    FOR_LANES(l, mask) out[l] = (S_##T)(value);                                                    \
  }
#define SOURCE(n, T) const S_##T *p##n = (const S_##T *)(w->regs + i->opd[n].at)

#define ALU1(key, D, A, expr)                                                                      \
  static inline T_##D value_##key(T_##A a) { return (T_##D)(expr); }                               \
  static void alu_##key(Warp *w, const Ins *i, uint32_t mask) {                                    \
    SOURCE(1, A);                                                                                  \
    EACH_LANE(D, PUT_##D(value_##key(GET_##A(p1[l]))))                                             \
  }                                                                                                \
  FTZ_##D(static void ftz_##key(Warp *w, const Ins *i, uint32_t mask) {                            \
    SOURCE(1, f32);                                                                                \
    EACH_LANE(f32, flushed(PUT_f32(value_##key(flushed(p1[l])))))                                  \
  })
#define ALU2(key, D, A, B, expr)                                                                   \
  static inline T_##D value_##key(T_##A a, T_##B b) { return (T_##D)(expr); }                      \
  static void alu_##key(Warp *w, const Ins *i, uint32_t mask) {                                    \
    SOURCE(1, A);                                                                                  \
    SOURCE(2, B);                                                                                  \
    EACH_LANE(D, PUT_##D(value_##key(GET_##A(p1[l]), GET_##B(p2[l]))))                             \
  }                                                                                                \
  FTZ_##D(static void ftz_##key(Warp *w, const Ins *i, uint32_t mask) {                            \
    SOURCE(1, f32);                                                                                \
    SOURCE(2, f32);                                                                                \
    EACH_LANE(f32, flushed(PUT_f32(value_##key(flushed(p1[l]), flushed(p2[l])))))                  \
  })
#define ALU3(key, D, A, B, C, expr)                                                                \
  static inline T_##D value_##key(T_##A a, T_##B b, T_##C c) { return (T_##D)(expr); }             \
  static void alu_##key(Warp *w, const Ins *i, uint32_t mask) {                                    \
    SOURCE(1, A);                                                                                  \
    SOURCE(2, B);                                                                                  \
    SOURCE(3, C);                                                                                  \
    EACH_LANE(D, PUT_##D(value_##key(GET_##A(p1[l]), GET_##B(p2[l]), GET_##C(p3[l]))))             \
  }                                                                                                \
  FTZ_##D(static void ftz_##key(Warp *w, const Ins *i, uint32_t mask) {                            \
    SOURCE(1, f32);                                                                                \
    SOURCE(2, f32);                                                                                \
    SOURCE(3, f32);                                                                                \
    EACH_LANE(f32, flushed(PUT_f32(value_##key(flushed(p1[l]), flushed(p2[l]), flushed(p3[l])))))  \
  })
#define ALU4(key, D, A, B, C, E, expr)                                                             \
  static inline T_##D value_##key(T_##A a, T_##B b, T_##C c, T_##E d) { return (T_##D)(expr); }    \
  static void alu_##key(Warp *w, const Ins *i, uint32_t mask) {                                    \
    SOURCE(1, A);                                                                                  \
    SOURCE(2, B);                                                                                  \
    SOURCE(3, C);                                                                                  \
    SOURCE(4, E);                                                                                  \
    EACH_LANE(                                                                                     \
        D, PUT_##D(value_##key(GET_##A(p1[l]), GET_##B(p2[l]), GET_##C(p3[l]), GET_##E(p4[l]))))   \
  }
/* Packed pairs: the scalar row's function on both halves. */
#define BOTH(T, f) ((uint32_t)PUT_##T(f(0)) | (uint32_t)PUT_##T(f(16)) << 16)
#define PAIR1(key, T, expr)                                                                        \
  static inline double value_##key(double a) { return (expr); }                                    \
  static void alu_##key(Warp *w, const Ins *i, uint32_t mask) {                                    \
    SOURCE(1, u32);                                                                                \
    EACH_LANE(u32, (uint32_t)PUT_##T(value_##key(GET_##T(p1[l]))) |                                \
                       (uint32_t)PUT_##T(value_##key(GET_##T(p1[l] >> 16))) << 16)                 \
  }
#define PAIR2(key, T, expr)                                                                        \
  static inline double value_##key(double a, double b) { return (expr); }                          \
  static void alu_##key(Warp *w, const Ins *i, uint32_t mask) {                                    \
    SOURCE(1, u32);                                                                                \
    SOURCE(2, u32);                                                                                \
    EACH_LANE(u32, (uint32_t)PUT_##T(value_##key(GET_##T(p1[l]), GET_##T(p2[l]))) |                \
                       (uint32_t)PUT_##T(value_##key(GET_##T(p1[l] >> 16), GET_##T(p2[l] >> 16)))  \
                           << 16)                                                                  \
  }
#define PAIR3(key, T, expr)                                                                        \
  static inline double value_##key(double a, double b, double c) { return (expr); }                \
  static void alu_##key(Warp *w, const Ins *i, uint32_t mask) {                                    \
    SOURCE(1, u32);                                                                                \
    SOURCE(2, u32);                                                                                \
    SOURCE(3, u32);                                                                                \
    EACH_LANE(u32,                                                                                 \
              (uint32_t)PUT_##T(value_##key(GET_##T(p1[l]), GET_##T(p2[l]), GET_##T(p3[l]))) |     \
                  (uint32_t)PUT_##T(value_##key(GET_##T(p1[l] >> 16), GET_##T(p2[l] >> 16),        \
                                                GET_##T(p3[l] >> 16)))                             \
                      << 16)                                                                       \
  }
#include "alu.def"
#undef ALU1
#undef ALU2
#undef ALU3
#undef ALU4
#undef PAIR1
#undef PAIR2
#undef PAIR3

#define KEY(key) #key, sizeof #key - 1
static const AluRow alu_rows[] = {
#define ALU1(key, D, A, expr) {KEY(key), alu_##key, 1, .cls = {C_##D, C_##A}, FTZ_##D(ftz_##key)},
#define ALU2(key, D, A, B, expr)                                                                   \
  {KEY(key), alu_##key, 2, .cls = {C_##D, C_##A, C_##B}, FTZ_##D(ftz_##key)},
#define ALU3(key, D, A, B, C, expr)                                                                \
  {KEY(key), alu_##key, 3, .cls = {C_##D, C_##A, C_##B, C_##C}, FTZ_##D(ftz_##key)},
#define ALU4(key, D, A, B, C, E, expr)                                                             \
  {KEY(key), alu_##key, 4, .cls = {C_##D, C_##A, C_##B, C_##C, C_##E}},
#define PAIR1(key, T, expr) {KEY(key), alu_##key, 1, .cls = {SLOT_32, SLOT_32}},
#define PAIR2(key, T, expr) {KEY(key), alu_##key, 2, .cls = {SLOT_32, SLOT_32, SLOT_32}},
#define PAIR3(key, T, expr) {KEY(key), alu_##key, 3, .cls = {SLOT_32, SLOT_32, SLOT_32, SLOT_32}},
#include "alu.def"
};

static const AluRow *find_exact(const char *key, size_t size) {
  for (size_t i = 0; i < sizeof alu_rows / sizeof *alu_rows; i++)
    if (alu_rows[i].size == size && !memcmp(alu_rows[i].key, key, size)) return &alu_rows[i];
  return NULL;
}

const AluRow *alu_find(const char *key) {
  const size_t n = strlen(key);
  const AluRow *row = find_exact(key, n);
  if (row) return row;
  char any[64]; /* add_u32 -> add_i32 */
  if (n < 4 || n >= sizeof any) return NULL;
  memcpy(any, key, n + 1);
  char *type = strrchr(any, '_');
  if (!type || (type[1] != 'u' && type[1] != 's' && type[1] != 'b')) return NULL;
  type[1] = 'i';
  return find_exact(any, n);
}

/* ---- rounding, .ftz and .sat ---- */
static uint32_t flush(uint32_t v) { return v & 0x7f800000u ? v : v & 0x80000000u; }
static uint32_t saturate(uint32_t v) { /* of a NaN 0 */
  float f;
  memcpy(&f, &v, 4);
  f = f > 0 ? (f < 1 ? f : 1) : 0;
  memcpy(&v, &f, 4);
  return v;
}

/* Runs the row on copies of the operands in the scratch slots, which every register block starts
 * with, for all lanes, of which those of the mask are taken. */
void alu_modified(Warp *w, const Ins *i, uint32_t mask) {
  Ins inner = {.nopd = i->nopd};
  Opd opd[ALU_SCRATCH];
  bool single = i->type == TYPE_f32, ftz = single && i->mods & MOD_FTZ;
  inner.opd = opd;
  for (int n = 0; n < i->nopd; n++) {
    opd[n] = i->opd[n];
    opd[n].at = (uint32_t)n * ALU_SCRATCH_BYTES;
    if (!n) continue;
    uint32_t *to = (uint32_t *)(w->regs + opd[n].at);
    const uint32_t *from = (const uint32_t *)(w->regs + i->opd[n].at);
    if (ftz && opd[n].cls == SLOT_32) {
      for (int l = 0; l < LANES; l++) to[l] = flush(from[l]);
    } else {
      memcpy(to, from, opd[n].cls == SLOT_64 ? 8 * LANES : 4 * LANES);
    }
  }
  static const int direction[] = {[ROUND_NEAREST] = FE_TONEAREST,
                                  [ROUND_ZERO] = FE_TOWARDZERO,
                                  [ROUND_DOWN] = FE_DOWNWARD,
                                  [ROUND_UP] = FE_UPWARD};
  if (i->mods & MOD_ROUND) fesetround(direction[i->round]);
  i->inner(w, &inner, ~0u);
  if (i->mods & MOD_ROUND) fesetround(FE_TONEAREST);
  if (i->opd[0].cls == SLOT_64) {
    const uint64_t *from = (const uint64_t *)(w->regs + opd[0].at);
    uint64_t *to = slot64(w, &i->opd[0]);
    FOR_LANES(l, mask) to[l] = from[l];
    return;
  }
  uint32_t *from = (uint32_t *)(w->regs + opd[0].at), *to = slot32(w, &i->opd[0]);
  if (ftz)
    for (int l = 0; l < LANES; l++) from[l] = flush(from[l]);
  if (single && i->mods & MOD_SAT)
    for (int l = 0; l < LANES; l++) from[l] = saturate(from[l]);
  for (int l = 0; l < LANES; l++) to[l] = mask >> l & 1 ? from[l] : to[l];
}
