/* The tile instructions against plain loops: on a processor with AMX its own, else the emulator's,
   on which the tests of kernels rely.
     instructions */
#include "runtime/exec/amx.h"
#include "tests/amx/emulator.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <xmmintrin.h>

enum { ROWS = 16, BYTES = 64, PITCH = 80 /* from row to row in memory */ };

typedef struct Shapes {
  uint8_t palette, first_row, unused[14];
  uint16_t bytes[16];
  uint8_t rows[16];
} Shapes;

static uint64_t seed = 1;
static int failures, checks;

static uint32_t next(void) {
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(seed >> 32);
}

static void check(bool right, const char *what) {
  checks++;
  if (right) return;
  failures++;
  if (failures < 20) printf("FAILED: %s\n", what);
}

#define LOAD(N, p)                                                                                 \
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #N : : "r"(p), "r"((long)PITCH) : "memory")
#define STORE(N, p)                                                                                \
  __asm__ volatile("tilestored %%tmm" #N ", (%0,%1,1)" : : "r"(p), "r"((long)PITCH) : "memory")

/* ---- products ---- */

typedef struct Operands {
  int m, n, k; /* rows and columns of c, words of the depth */
  uint8_t a[ROWS][PITCH], b[ROWS][PITCH], c[ROWS][PITCH], d[ROWS][PITCH];
} Operands;

static void fill_random(uint8_t (*to)[PITCH]) {
  for (int i = 0; i < ROWS * PITCH; i++) to[i / PITCH][i % PITCH] = (uint8_t)next();
}

static void fill(Operands *o) {
  fill_random(o->a), fill_random(o->b), fill_random(o->c), fill_random(o->d);
}

/* Ordinary bf16 and f32, some of them tiny, zero, infinite or no numbers if `special`. */
static void fill_floats(Operands *o, bool special) {
  for (int x = 0; x < 2; x++)
    for (int i = 0; i < ROWS * PITCH; i += 2) {
      uint16_t h = (uint16_t)((next() & 0x80ff) | (0x3f00 + (next() & 0x0100)));
      if (special && next() % 8 == 0) h = (uint16_t)next();
      if (special && next() % 8 == 0) h = (uint16_t)(next() & 0x807f); /* subnormal, or 0 */
      if (!special) h &= 0xbfff;
      memcpy(&(x ? o->a : o->b)[i / PITCH][i % PITCH], &h, sizeof h);
    }
  for (int i = 0; i < ROWS * PITCH; i += 4) {
    float c = (float)(int32_t)next() / 1e9f;
    if (special && next() % 8 == 0) c = 1e-40f;
    memcpy(&o->c[i / PITCH][i % PITCH], &c, sizeof c);
  }
}

static void run(Operands *o, const char *what) {
  Shapes s = {.palette = 1};
  const uint16_t bytes[] = {(uint16_t)(4 * o->n), (uint16_t)(4 * o->k), (uint16_t)(4 * o->n)};
  const uint8_t rows[] = {(uint8_t)o->m, (uint8_t)o->m, (uint8_t)o->k};
  memcpy(s.bytes, bytes, sizeof bytes);
  memcpy(s.rows, rows, sizeof rows);
  __asm__ volatile("ldtilecfg %0" : : "m"(s));
  LOAD(0, o->c);
  LOAD(1, o->a);
  LOAD(2, o->b);
  if (what[4] == 'f') __asm__ volatile("tdpbf16ps %%tmm2, %%tmm1, %%tmm0" : :);
  if (strcmp(what, "tdpbssd") == 0) __asm__ volatile("tdpbssd %%tmm2, %%tmm1, %%tmm0" : :);
  if (strcmp(what, "tdpbsud") == 0) __asm__ volatile("tdpbsud %%tmm2, %%tmm1, %%tmm0" : :);
  if (strcmp(what, "tdpbusd") == 0) __asm__ volatile("tdpbusd %%tmm2, %%tmm1, %%tmm0" : :);
  if (strcmp(what, "tdpbuud") == 0) __asm__ volatile("tdpbuud %%tmm2, %%tmm1, %%tmm0" : :);
  STORE(0, o->d);
  __asm__ volatile("tilerelease");
}

static float bf16(const uint8_t *p) {
  const uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* A product of two bf16 has all bits in f64, and so has its sum with an f32 but for what rounding
   to f32 does not see: of numbers as near to each other as ordinary ones here. */
static float product_sum(const Operands *o, int m, int n, int half) {
  float sum = 0;
  for (int k = 0; k < o->k; k++)
    sum = (float)((double)sum +
                  (double)bf16(&o->a[m][4 * k + half]) * (double)bf16(&o->b[k][4 * n + half]));
  return sum;
}

static bool alike(float x, float y) {
  return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

static void check_bf16(bool special) {
  Operands o = {
      .m = 1 + (int)(next() % ROWS), .n = 1 + (int)(next() % 16), .k = 1 + (int)(next() % 16)};
  fill(&o);
  fill_floats(&o, special);
  const Operands before = o;
  run(&o, "tdpbf16ps");
  _mm_setcsr(_mm_getcsr() | 0x8040);
  for (int m = 0; m < ROWS; m++)
    for (int n = 0; n < PITCH / 4; n++) {
      float c, d, was;
      memcpy(&c, &o.c[m][4 * n], sizeof c);
      memcpy(&d, &o.d[m][4 * n], sizeof d);
      memcpy(&was, &before.d[m][4 * n], sizeof was);
      const bool inside = m < o.m && n < o.n;
      const float want = inside ? c + (product_sum(&o, m, n, 0) + product_sum(&o, m, n, 2)) : was;
      check(inside ? alike(d, want) : memcmp(&d, &was, sizeof d) == 0,
            special ? "tdpbf16ps of special numbers" : "tdpbf16ps");
    }
  _mm_setcsr(_mm_getcsr() & ~0x8040u);
}

static void check_bytes(const char *what, bool sa, bool sb) {
  Operands o = {
      .m = 1 + (int)(next() % ROWS), .n = 1 + (int)(next() % 16), .k = 1 + (int)(next() % 16)};
  fill(&o);
  run(&o, what);
  for (int m = 0; m < o.m; m++)
    for (int n = 0; n < o.n; n++) {
      uint32_t c, d;
      memcpy(&c, &o.c[m][4 * n], sizeof c);
      memcpy(&d, &o.d[m][4 * n], sizeof d);
      for (int k = 0; k < 4 * o.k; k++) {
        const int x = sa ? (int8_t)o.a[m][k] : o.a[m][k];
        const int y = sb ? (int8_t)o.b[k / 4][4 * n + k % 4] : o.b[k / 4][4 * n + k % 4];
        c += (uint32_t)(x * y);
      }
      check(c == d, what);
    }
}

/* ---- registers ---- */

static void check_registers(void) {
  static uint8_t in[ROWS][PITCH], out[ROWS][PITCH];
  Shapes s = {.palette = 1}, t;
  s.bytes[3] = 20, s.rows[3] = 5, s.bytes[7] = 64, s.rows[7] = 16;
  fill_random(in);
  __asm__ volatile("ldtilecfg %0" : : "m"(s));
  __asm__ volatile("sttilecfg %0" : "=m"(t));
  check(memcmp(&s, &t, sizeof s) == 0, "sttilecfg gives what ldtilecfg has read");
  LOAD(3, in);
  LOAD(7, in);
  STORE(3, out);
  for (int r = 0; r < ROWS; r++)
    for (int i = 0; i < PITCH; i++)
      check(out[r][i] == (r < 5 && i < 20 ? in[r][i] : 0), "a load and a store of a small tile");
  STORE(7, out);
  for (int r = 0; r < ROWS; r++) check(memcmp(out[r], in[r], BYTES) == 0, "a whole tile");
  __asm__ volatile("tilezero %%tmm7" : :);
  STORE(7, out);
  for (int r = 0; r < ROWS; r++)
    for (int i = 0; i < BYTES; i++) check(out[r][i] == 0, "tilezero");
  __asm__ volatile("tilerelease");
  __asm__ volatile("sttilecfg %0" : "=m"(t));
  check(memcmp(&(Shapes){0}, &t, sizeof t) == 0, "tilerelease");
}

int main(void) {
  const AmxState state = amx_state();
  const bool own = state == AMX_HERE;
  if (state == AMX_REFUSED || (!own && !__builtin_cpu_supports("fma"))) {
    printf("NOT TESTED: tile instructions: %s\n",
           state == AMX_REFUSED ? "the system does not let this process use them"
                                : "this processor lacks FMA, by which the emulator multiplies");
    return 77;
  }
  if (!own) amx_emulate();
  check_registers();
  for (int i = 0; i < 40; i++) {
    check_bf16(false);
    check_bf16(true);
    check_bytes("tdpbssd", true, true);
    check_bytes("tdpbsud", true, false);
    check_bytes("tdpbusd", false, true);
    check_bytes("tdpbuud", false, false);
  }
  printf("%s: %d checks, %d failures\n", own ? "this processor" : "the emulator", checks, failures);
  return failures != 0;
}
