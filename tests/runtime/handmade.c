/* A generated program written by hand: linear regression with momentum, in the form that the
   compiler emits, so that the runtime can be tested by itself. Entries: train, test, predict (batch
   1), classes (reports labels out of range), generate (text from a state), rows (a flat file's
   windows). The weight w lies in panels of 2: [ceil(3/2)][4][2]. */
#include "gcrt.h"
#include <stdint.h>
#include <string.h>

enum { B = 8, K = 4, N = 3, NR = 2, PANELS = 2 };
/* offsets in globals */
enum { W = 0, BIAS = 64, MW = 128, MB = 192, STEP = 256, CTX = 320, GLOBALS = 384 };
/* offsets in the arena */
enum { Y = 0, D = 128, LOSS = 256, NOISE = 320, ARENA = 384 };
enum { IN_X = 0, IN_Y = 128, INPUTS = 256 };

static float *at_w(float *w, int k, int n) { return w + n / NR * K * NR + k * NR + n % NR; }

static uint32_t mix(uint64_t x) {
  x ^= x >> 33, x *= 0xff51afd7ed558ccdULL, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ULL, x ^= x >> 33;
  return (uint32_t)x;
}

static void init(void *const *p, const GcEnv *env, int t, int nt) {
  if (t) return;
  memset(p[0], 0, GLOBALS);
  for (int k = 0; k < K; k++)
    for (int n = 0; n < N; n++)
      *at_w(p[0], k, n) =
          (float)mix(env->seed * 100 + (uint64_t)(k * N + n)) / 4294967296.0F - 0.5F;
  memcpy((char *)p[0] + CTX, "hello, world\n", 13);
}

/* y = x @ w + b; rows are divided between the threads */
static void forward(void *const *p, const GcEnv *env, int t, int nt) {
  const float *x = p[0], *b = p[2];
  float *w = p[1], *y = p[3];
  for (int r = B * t / nt; r < B * (t + 1) / nt; r++)
    for (int n = 0; n < N; n++) {
      float s = b[n];
      for (int k = 0; k < K; k++) s = __builtin_fmaf(x[r * K + k], *at_w(w, k, n), s);
      y[r * N + n] = s;
    }
}

/* loss = mean((y - target)^2), d = its gradient */
static void loss(void *const *p, const GcEnv *env, int t, int nt) {
  const float *y = p[0], *target = p[1];
  float *d = p[2], *l = p[3], s = 0;
  if (t) return;
  for (int i = 0; i < B * N; i++) {
    float e = y[i] - target[i];
    s += e * e;
    d[i] = e * (2.0F / (B * N));
  }
  *l = s / (B * N);
}

/* momentum; noise of (seed, step) makes the order of steps and their counter matter */
static void update(void *const *p, const GcEnv *env, int t, int nt) {
  const float *x = p[0], *d = p[1], *lr = p[6];
  float *w = p[2], *b = p[3], *mw = p[4], *mb = p[5];
  if (t == 0) ++*(int64_t *)p[7];
  for (int n = N * t / nt; n < N * (t + 1) / nt; n++) {
    float gb = 0;
    for (int r = 0; r < B; r++) gb += d[r * N + n];
    mb[n] = 0.9F * mb[n] + gb;
    b[n] -= *lr * mb[n];
    for (int k = 0; k < K; k++) {
      float g = (float)mix(env->seed + env->step * 1000 + (uint64_t)(k * N + n)) * 0x1p-52F;
      for (int r = 0; r < B; r++) g += x[r * K + k] * d[r * N + n];
      float *m = at_w(mw, k, n);
      *m = 0.9F * *m + g;
      *at_w(w, k, n) -= *lr * *m;
    }
  }
}

static void classes(void *const *p, const GcEnv *env, int t, int nt) {
  const uint8_t *label = p[0];
  int64_t sum = 0;
  if (t) return;
  for (int i = 0; i < B; i++) {
    if (label[i] >= 3) gcrt_fault(0, i, label[i], 3);
    sum += label[i];
  }
  *(int64_t *)p[1] = sum;
}

static void generate(void *const *p, const GcEnv *env, int t, int nt) {
  uint8_t *ctx = p[0];
  if (t) return;
  *(uint8_t *)p[1] = ctx[0];
  memmove(ctx, ctx + 1, 12);
  ctx[12] = *(uint8_t *)p[1];
}

static void copy_rows(void *const *p, const GcEnv *env, int t, int nt) {
  if (t) return;
  for (int i = 0; i < 2; i++)
    ((int32_t *)p[2])[i] = ((int32_t *)p[0])[3 * i + 2] * 1000 + ((uint8_t *)p[1])[i];
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define FIELDS(n, type, rk, dm, by, reg, off, pan)                                                 \
  .name = n, .dtype = type, .rank = rk, .dims = dm, .bytes = by, .region = reg, .offset = off,     \
  .panel = pan
#define TENSOR(...)                                                                                \
  { FIELDS(__VA_ARGS__) }
#define ARG(r, o)                                                                                  \
  { GC_##r, o, 64 } /* the distance of two globals */

static const GcGlobal globals[] = {
    {TENSOR("net.w", GC_F32, 2, DIMS(K, N), 64, GC_GLOBALS, W, NR), GC_PARAM},
    {TENSOR("net.b", GC_F32, 1, DIMS(N), 12, GC_GLOBALS, BIAS, 0), GC_PARAM},
    {TENSOR("sgd.m.net.w", GC_F32, 2, DIMS(K, N), 64, GC_GLOBALS, MW, NR), GC_OPTIMIZER},
    {TENSOR("sgd.m.net.b", GC_F32, 1, DIMS(N), 12, GC_GLOBALS, MB, 0), GC_OPTIMIZER},
    {TENSOR("step", GC_I64, 0, NULL, 8, GC_GLOBALS, STEP, 0), GC_STATE},
    {TENSOR("generate.ctx", GC_U8, 1, DIMS(13), 13, GC_GLOBALS, CTX, 0), GC_STATE},
};

static const GcTensor xy[] = {
    TENSOR("x", GC_F32, 2, DIMS(B, K), B *K * 4, GC_INPUTS, IN_X, 0),
    TENSOR("target", GC_F32, 2, DIMS(B, N), B *N * 4, GC_INPUTS, IN_Y, 0)};
static const GcTensor out_loss[] = {TENSOR("loss", GC_F32, 0, NULL, 4, GC_ARENA, LOSS, 0)};
static const GcTensor out_y[] = {TENSOR("y", GC_F32, 2, DIMS(B, N), B *N * 4, GC_ARENA, Y, 0)};
static const GcTensor in_label[] = {TENSOR("label", GC_U8, 1, DIMS(B), B, GC_INPUTS, 0, 0)};
static const GcTensor out_sum[] = {TENSOR("sum", GC_I64, 0, NULL, 8, GC_ARENA, 0, 0)};
static const GcTensor out_char[] = {TENSOR("char", GC_U8, 0, NULL, 1, GC_ARENA, 0, 0)};
static const GcTensor in_tok[] = {{FIELDS("tok", GC_I32, 2, DIMS(2, 3), 24, GC_INPUTS, 0, 0),
                                   .nlimits = 1, .limits = (const GcLimit[]){{3, 256}}},
                                  TENSOR("next", GC_U8, 1, DIMS(2), 2, GC_INPUTS, 64, 0)};
static const GcTensor out_code[] = {TENSOR("code", GC_I32, 1, DIMS(2), 8, GC_ARENA, 0, 0)};

static const GcArg a_init[] = {ARG(GLOBALS, 0)};
static const GcArg a_forward[] = {ARG(INPUTS, IN_X), ARG(GLOBALS, W), ARG(GLOBALS, BIAS),
                                  ARG(ARENA, Y)};
static const GcArg a_loss[] = {ARG(ARENA, Y), ARG(INPUTS, IN_Y), ARG(ARENA, D), ARG(ARENA, LOSS)};
static const GcArg a_update[] = {ARG(INPUTS, IN_X),  ARG(ARENA, D),     ARG(GLOBALS, W),
                                 ARG(GLOBALS, BIAS), ARG(GLOBALS, MW),  ARG(GLOBALS, MB),
                                 ARG(HYPERS, 0),     ARG(GLOBALS, STEP)};
static const GcArg a_classes[] = {ARG(INPUTS, 0), ARG(ARENA, 0)};
static const GcArg a_generate[] = {ARG(GLOBALS, CTX), ARG(ARENA, 0)};
static const GcArg a_rows[] = {ARG(INPUTS, 0), ARG(INPUTS, 64), ARG(ARENA, 0)};
static const GcRange dead_y[] = {{Y, 128}}, dead_d[] = {{D, 128}};

#define STEP_(k, a, b)                                                                             \
  .kernel = k, .name = #k, .scope = "net", .loc = "handmade.g:1:1", .args = a,                     \
  .nargs = sizeof a / sizeof *a, .barrier = b
static const GcStep s_init[] = {{STEP_(init, a_init, 0)}};
static const GcStep s_train[] = {
    {STEP_(forward, a_forward, 0), .flops = 192, .bytes = 288},
    {STEP_(loss, a_loss, 1), .dead = dead_y, .ndead = 1, .flops = 96, .bytes = 256},
    {STEP_(update, a_update, 1), .dead = dead_d, .ndead = 1, .flops = 300, .bytes = 512}};
static const GcStep s_test[] = {{STEP_(forward, a_forward, 0)},
                                {STEP_(loss, a_loss, 1), .dead = dead_y, .ndead = 1}};
static const GcStep s_predict[] = {{STEP_(forward, a_forward, 0)}};
static const GcStep s_classes[] = {{STEP_(classes, a_classes, 0)}};
static const GcStep s_generate[] = {{STEP_(generate, a_generate, 0)}};
static const GcStep s_rows[] = {{STEP_(copy_rows, a_rows, 0)}};

#define PART(field, a) .field = a, .n##field = sizeof a / sizeof *a
static const GcEntry entry_init = {
    .name = "init", .loss = -1, PART(steps, s_init), .arena_bytes = 64};
static const GcEntry entries[] = {
    {.name = "train",
     .training = true,
     .loss = 0,
     PART(inputs, xy),
     PART(outputs, out_loss),
     PART(steps, s_train),
     .arena_bytes = ARENA,
     .inputs_bytes = INPUTS,
     .outputs_bytes = 4,
     .naive_bytes = 512,
     .inplace_bytes = 448,
     .pool_bytes = ARENA,
     .lower_bound_bytes = 260,
     .flops = 588},
    {.name = "test",
     .loss = -1,
     PART(inputs, xy),
     PART(outputs, out_loss),
     PART(steps, s_test),
     .arena_bytes = ARENA,
     .inputs_bytes = INPUTS,
     .outputs_bytes = 4},
    {.name = "predict",
     .loss = -1,
     .inputs = xy,
     .ninputs = 1,
     PART(outputs, out_y),
     PART(steps, s_predict),
     .arena_bytes = ARENA,
     .inputs_bytes = INPUTS,
     .outputs_bytes = 96},
    {.name = "classes",
     .loss = -1,
     PART(inputs, in_label),
     PART(outputs, out_sum),
     PART(steps, s_classes),
     .arena_bytes = 64,
     .inputs_bytes = 64,
     .outputs_bytes = 8},
    {.name = "generate",
     .loss = -1,
     PART(outputs, out_char),
     PART(steps, s_generate),
     .arena_bytes = 64,
     .outputs_bytes = 1},
    {.name = "rows",
     .loss = -1,
     PART(inputs, in_tok),
     PART(outputs, out_code),
     PART(steps, s_rows),
     .arena_bytes = 64,
     .inputs_bytes = 128,
     .outputs_bytes = 8},
};
static const GcCheckSite sites[] = {{"handmade.g:1:1", "a label", "label", true, 0, 1, 1, B}};
static const GcHyper hypers[] = {{"lr", GC_F32, 0.05F}};

#ifndef MARCH
#define MARCH ""
#endif
const GcProgram gc_program = {.abi = GCRT_ABI,
                              .version = "0.1.0",
                              .name = "handmade",
                              .target = "cpu",
                              .march = MARCH,
                              .hash = 0x1234,
                              PART(globals, globals),
                              .globals_bytes = GLOBALS,
                              PART(hypers, hypers),
                              PART(entries, entries),
                              .init = &entry_init,
                              PART(sites, sites)};
