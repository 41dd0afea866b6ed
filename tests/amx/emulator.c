/* The tile instructions of AMX, as a handler of SIGILL does them; see emulator.h. Written from the
   Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: the instructions'
   encodings and their pseudocode. Contract: a thread that has not configured its registers may do
   nothing but that. Several in a row take one signal. */
#include "tests/amx/emulator.h"

#ifndef __x86_64__
void amx_emulate(void) {}
#else
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <xmmintrin.h>

enum { TILES = 8, ROWS = 16, BYTES = 64, FLUSH = 0x8040 /* DAZ and FTZ of MXCSR */ };

typedef struct Tile {
  int rows, bytes; /* as configured */
  uint8_t at[ROWS][BYTES];
} Tile;
static _Thread_local struct {
  bool configured;
  Tile tile[TILES];
} state;

static void fail(const char *why) {
  static const char before[] = "AMX emulator: ", after[] = "\n";
  (void)!write(STDERR_FILENO, before, sizeof before - 1);
  (void)!write(STDERR_FILENO, why, strlen(why));
  (void)!write(STDERR_FILENO, after, 1);
  _exit(99);
}

/* ---- what an instruction says ---- */

typedef enum Prefix { NONE, P66, PF3, PF2 } Prefix;

typedef struct Instruction {
  Prefix prefix;
  int opcode, reg, rm, vvvv;
  bool memory;
  bool sib;
  uint64_t address, stride; /* of the operand in memory: row r of a tile is r strides behind */
  int length;
} Instruction;

static uint64_t general(const ucontext_t *c, int number) {
  static const int names[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                              REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                              REG_R12, REG_R13, REG_R14, REG_R15};
  return (uint64_t)c->uc_mcontext.gregs[names[number]];
}

static int64_t displacement(const uint8_t *p, int bytes) {
  int32_t wide = 0;
  if (bytes == 1) return (int8_t)*p;
  if (bytes == 4) memcpy(&wide, p, sizeof wide);
  return wide;
}

/* The operand in memory, whose ModRM byte is at p; x and b extend registers. Returns its end. */
static const uint8_t *read_memory(const ucontext_t *c, const uint8_t *p, int x, int b,
                                  Instruction *i) {
  const int mod = *p >> 6, rm = *p & 7;
  p++;
  int base = rm | b << 3, index = 4, scale = 0;
  i->sib = rm == 4;
  if (i->sib) base = (*p & 7) | b << 3, index = (*p >> 3 & 7) | x << 3, scale = *p >> 6, p++;
  const bool no_base = mod == 0 && (base & 7) == 5;
  const int bytes = mod == 1 ? 1 : mod == 2 || no_base ? 4 : 0;
  const int64_t at = displacement(p, bytes);
  p += bytes;
  if (no_base && !i->sib) /* behind the instruction, which ends here */
    i->address = (uint64_t)(uintptr_t)p + (uint64_t)at;
  else
    i->address = (no_base ? 0 : general(c, base)) + (uint64_t)at;
  i->stride = index == 4 ? 0 : general(c, index) << scale;
  return p;
}

/* VEX of three bytes, 128 bits wide, W0, in the map 0F38. */
static bool decode(const ucontext_t *c, const uint8_t *p, Instruction *i) {
  if (p[0] != 0xC4 || (p[1] & 31) != 2 || p[2] & 0x84) return false;
  const int r = !(p[1] >> 7 & 1), x = !(p[1] >> 6 & 1), b = !(p[1] >> 5 & 1);
  *i = (Instruction){.prefix = (Prefix)(p[2] & 3), .opcode = p[3], .vvvv = ~(p[2] >> 3) & 15};
  i->memory = p[4] >> 6 != 3;
  i->reg = (p[4] >> 3 & 7) | r << 3;
  i->rm = (p[4] & 7) | b << 3;
  const uint8_t *end = i->memory ? read_memory(c, p + 4, x, b, i) : p + 5;
  i->length = (int)(end - p);
  return true;
}

/* ---- configuration ---- */

static void configure(const uint8_t *from) {
  enum { OF_BYTES = 16, OF_ROWS = 48 };
  memset(&state, 0, sizeof state);
  if (from[0] == 0) return;
  if (from[0] != 1) fail("there is no such palette");
  for (int i = 2; i < OF_BYTES; i++)
    if (from[i]) fail("reserved bytes of a configuration are not 0");
  for (int t = 0; t < 16; t++) {
    uint16_t bytes;
    memcpy(&bytes, from + OF_BYTES + 2 * t, sizeof bytes);
    const int rows = from[OF_ROWS + t];
    if (t >= TILES && (rows || bytes)) fail("there are eight tiles");
    if (rows > ROWS || bytes > BYTES || !rows != !bytes) fail("a tile cannot have this shape");
    if (t < TILES) state.tile[t].rows = rows, state.tile[t].bytes = bytes;
  }
  state.configured = true;
}

static void store_configuration(uint8_t *to) {
  memset(to, 0, 64);
  if (!state.configured) return;
  to[0] = 1;
  for (int t = 0; t < TILES; t++) {
    const uint16_t bytes = (uint16_t)state.tile[t].bytes;
    memcpy(to + 16 + 2 * t, &bytes, sizeof bytes);
    to[48 + t] = (uint8_t)state.tile[t].rows;
  }
}

static Tile *tile(int t) {
  if (!state.configured) fail("this thread has not configured its tiles");
  if (t >= TILES || !state.tile[t].rows) fail("this tile has no shape");
  if (state.tile[t].bytes % 4) fail("columns of a tile are not whole");
  return &state.tile[t];
}

/* ---- loads, stores, products ---- */

static void load(const Instruction *i) {
  Tile *t = tile(i->reg);
  memset(t->at, 0, sizeof t->at);
  for (int r = 0; r < t->rows; r++) /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    memcpy(t->at[r], (const void *)(uintptr_t)(i->address + (uint64_t)r * i->stride),
           (size_t)t->bytes);
}

static void store(const Instruction *i) {
  const Tile *t = tile(i->reg);
  for (int r = 0; r < t->rows; r++) /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    memcpy((void *)(uintptr_t)(i->address + (uint64_t)r * i->stride), t->at[r], (size_t)t->bytes);
}

static float of_bf16(const uint8_t *p) {
  uint16_t high;
  memcpy(&high, p, sizeof high);
  const uint32_t bits = (uint32_t)high << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Chains of fma of first and of second numbers of pairs, whose sums are added, and then to c;
   rounded to nearest, subnormal numbers are 0, whatever MXCSR says. */
__attribute__((target("fma"))) static void add_bf16(const Tile *a, const Tile *b, int m, int n,
                                                    uint8_t *c) {
  float first = 0, second = 0, sum;
  for (int k = 0; k < a->bytes / 4; k++) {
    const uint8_t *x = &a->at[m][4 * k], *y = &b->at[k][4 * n];
    first = __builtin_fmaf(of_bf16(x), of_bf16(y), first);
    second = __builtin_fmaf(of_bf16(x + 2), of_bf16(y + 2), second);
  }
  memcpy(&sum, c, sizeof sum);
  sum += first + second;
  memcpy(c, &sum, sizeof sum);
}

static void add_bytes(const Tile *a, const Tile *b, int m, int n, uint8_t *c, bool sa, bool sb) {
  uint32_t sum; /* it wraps */
  memcpy(&sum, c, sizeof sum);
  for (int k = 0; k < a->bytes; k++) {
    const uint8_t x = a->at[m][k], y = b->at[k / 4][4 * n + k % 4];
    sum += (uint32_t)((sa ? (int8_t)x : x) * (sb ? (int8_t)y : y));
  }
  memcpy(c, &sum, sizeof sum);
}

static void multiply(const Instruction *i) {
  Tile *c = tile(i->reg);
  const Tile *a = tile(i->rm), *b = tile(i->vvvv);
  if (c == a || c == b || a == b) fail("an operand is there twice");
  if (a->rows != c->rows || b->bytes != c->bytes || b->rows != a->bytes / 4)
    fail("shapes do not agree");
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(0x1f80 | FLUSH);
  for (int m = 0; m < c->rows; m++)
    for (int n = 0; n < c->bytes / 4; n++)
      if (i->opcode == 0x5C)
        add_bf16(a, b, m, n, &c->at[m][4 * n]);
      else
        add_bytes(a, b, m, n, &c->at[m][4 * n], i->prefix == PF2 || i->prefix == PF3,
                  i->prefix == PF2 || i->prefix == P66);
  _mm_setcsr(saved);
}

static bool execute(const Instruction *i) {
  switch (i->opcode) {
  case 0x49:
    if (i->memory && i->reg == 0 &&
        i->prefix == NONE) /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
      return configure((const uint8_t *)(uintptr_t)i->address), true;
    if (i->memory && i->reg == 0 &&
        i->prefix == P66) /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
      return store_configuration((uint8_t *)(uintptr_t)i->address), true;
    if (!i->memory && i->prefix == NONE && i->reg == 0 && i->rm == 0)
      return memset(&state, 0, sizeof state), true;
    if (!i->memory && i->prefix == PF2 && i->rm == 0) {
      Tile *t = tile(i->reg);
      return memset(t->at, 0, sizeof t->at), true;
    }
    return false;
  case 0x4B:
    if (!i->memory || !i->sib) return false;
    if (i->prefix == PF2 || i->prefix == P66) return load(i), true;
    if (i->prefix == PF3) return store(i), true;
    return false;
  case 0x5C:
    if (i->memory || i->prefix != PF3) return false;
    return multiply(i), true;
  case 0x5E:
    if (i->memory) return false;
    return multiply(i), true;
  default: return false;
  }
}

static void on_illegal(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  ucontext_t *c = context;
  Instruction i;
  int done = 0;
  for (;; done++) { /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    const uint8_t *p = (const uint8_t *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
    if (!decode(c, p, &i) || !execute(&i)) break;
    c->uc_mcontext.gregs[REG_RIP] += i.length;
  }
  if (!done) fail("an illegal instruction that is none of AMX");
}

void amx_emulate(void) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_sigaction = on_illegal;
  a.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &a, NULL);
}
#endif
