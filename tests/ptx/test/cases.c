/* Inputs, launches and references of the kernels in kernels.cu.
 * Buffers are exactly as large as a kernel may touch; results start uninitialised. */
#include "cases.h"
#include "half.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void ref_map4(const Case *c, void *const *in, double *out) {
  const float *x = in[0], *y = in[1];
  for (int i = 0; i < c->ints[0]; i++) out[i] = fmax(fma((double)x[i], (double)y[i], 1.0), 0.0);
}

static void ref_softmax(const Case *c, void *const *in, double *out) {
  const float *x = in[0];
  int n = c->ints[0];
  for (unsigned r = 0; r < c->grid[0]; r++) {
    double m = -INFINITY, s = 0;
    for (int i = 0; i < n; i++) m = fmax(m, (double)x[r * (unsigned)n + (unsigned)i]);
    for (int i = 0; i < n; i++) s += exp((double)x[r * (unsigned)n + (unsigned)i] - m);
    for (int i = 0; i < n; i++)
      out[r * (unsigned)n + (unsigned)i] = exp((double)x[r * (unsigned)n + (unsigned)i] - m) / s;
  }
}

static void ref_transpose(const Case *c, void *const *in, double *out) {
  const float *x = in[0];
  for (int r = 0; r < c->ints[0]; r++)
    for (int q = 0; q < c->ints[1]; q++) out[q * c->ints[0] + r] = (double)x[r * c->ints[1] + q];
}

static double element(const Case *c, int buf, void *const *in, int i) {
  if (c->buf[buf].fill == 'h') return half_get(((const uint16_t *)in[buf])[i]);
  if (c->buf[buf].fill == 'b') return bfloat_get(((const uint16_t *)in[buf])[i]);
  return (double)((const float *)in[buf])[i];
}

static void ref_gemm(const Case *c, void *const *in, double *out) {
  int m = c->ints[0], n = c->ints[1], k = c->ints[2];
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double s = 0;
      for (int x = 0; x < k; x++) s += element(c, 0, in, i * k + x) * element(c, 1, in, x * n + j);
      out[i * n + j] = s;
    }
}

static void ref_sum(const Case *c, void *const *in, double *out) {
  const float *x = in[0];
  out[0] = 0;
  for (int i = 0; i < c->ints[0]; i++) out[0] += (double)x[i];
}

#define IN(name, count)                                                                            \
  { name, count, 4, PTX_READ, 'r' }
#define OUT(name, count)                                                                           \
  { name, count, 4, PTX_WRITE, '-' }
#define GEMM(kernel, g0, g1, threads, shared, bytes, fill, m, n, k, tolerance)                     \
  {                                                                                                \
    kernel, {g0, g1, 1}, {threads, 1, 1}, shared,                                                  \
        {{"a", (m) * (k), bytes, PTX_READ, fill},                                                  \
         {"b", (k) * (n), bytes, PTX_READ, fill},                                                  \
         OUT("c", (m) * (n))},                                                                     \
        3, {m, n, k}, 3, ref_gemm, 2, tolerance                                                    \
  }

const Case cases[] = {
    {"map4",
     {5, 1, 1},
     {64, 1, 1},
     0,
     {IN("x", 1003), IN("y", 1003), OUT("z", 1003)},
     3,
     {1003},
     1,
     ref_map4,
     2,
     1e-6},
    {"map4",
     {4, 1, 1},
     {64, 1, 1},
     0,
     {IN("x", 1024), IN("y", 1024), OUT("z", 1024)},
     3,
     {1024},
     1,
     ref_map4,
     2,
     1e-6},
    {"softmax",
     {3, 1, 1},
     {128, 1, 1},
     0,
     {IN("x", 3 * 301), OUT("y", 3 * 301)},
     2,
     {301},
     1,
     ref_softmax,
     1,
     1e-6},
    {"transpose",
     {2, 3, 1},
     {256, 1, 1},
     0,
     {IN("x", 70 * 45), OUT("y", 70 * 45)},
     2,
     {70, 45},
     2,
     ref_transpose,
     1,
     0},
    GEMM("gemm_f32", 3, 2, 256, 0, 4, 'r', 32, 48, 64, 1e-5),
    GEMM("gemm_bf16", 2, 1, 128, 3 * (64 * 40 + 32 * 72) * 2, 2, 'b', 64, 128, 160, 1e-5),
    GEMM("gemm_bf16", 1, 1, 128, 3 * (64 * 40 + 32 * 72) * 2, 2, 'b', 64, 64, 32, 1e-5),
    GEMM("gemm_f16", 1, 2, 128, 3 * (64 * 40 + 32 * 72) * 2, 2, 'h', 128, 64, 128, 1e-5),
    GEMM("gemm_tf32", 3, 2, 32, 0, 4, 'r', 32, 24, 40, 5e-3),
    {"sum_all",
     {7, 1, 1},
     {64, 1, 1},
     0,
     {IN("x", 999), {"part", 7, 4, PTX_RW, '-'}, {"count", 1, 4, PTX_RW, '0'}, OUT("y", 1)},
     4,
     {999},
     1,
     ref_sum,
     3,
     1e-5},
};
const int ncases = sizeof cases / sizeof *cases;

const Case *case_find(const char *kernel) {
  for (int i = 0; i < ncases; i++)
    if (!strcmp(cases[i].kernel, kernel)) return &cases[i];
  return NULL;
}

static void fill(const struct CaseBuf *b, void *to, uint8_t *init, uint32_t *seed) {
  size_t size = b->count * b->bytes;
  memset(to, b->fill == '-' ? 0xff : 0, size);
  if (b->fill != '-') memset(init, 0xff, (size + 7) / 8);
  for (size_t i = 0; i < b->count; i++) {
    *seed = *seed * 1664525 + 1013904223;
    double v = (double)(*seed >> 8) / (1 << 23) - 1;
    if (b->fill == 'r') ((float *)to)[i] = (float)v;
    if (b->fill == 'h') ((uint16_t *)to)[i] = half_put(v, ROUND_NEAREST);
    if (b->fill == 'b') ((uint16_t *)to)[i] = bfloat_put(v, ROUND_NEAREST);
  }
}

CaseOutcome case_run(const Case *c, const PtxModule *m, unsigned order, unsigned checks,
                     uint64_t max_steps) {
  CaseOutcome o = {.status = PTX_REFUSED, .error = INFINITY};
  const PtxKernel *k = ptx_module_find(m, c->kernel);
  if (!k) return o;
  PtxBuf bufs[CASE_BUFS];
  void *in[CASE_BUFS];
  char params[128] = {0};
  size_t at = 0;
  uint32_t seed = 1;
  for (int i = 0; i < c->nbufs; i++) {
    size_t size = c->buf[i].count * c->buf[i].bytes;
    in[i] = aligned_alloc(256, (size + 255) & ~(size_t)255);
    bufs[i] =
        (PtxBuf){in[i], size, c->buf[i].rights, c->buf[i].name, calloc(1, size / 8 + 1), 0, 0};
    if (!in[i] || !bufs[i].init) abort();
    fill(&c->buf[i], in[i], bufs[i].init, &seed);
    memcpy(params + at, &in[i], 8);
    at += 8;
  }
  for (int i = 0; i < c->nints; i++, at += 4) memcpy(params + at, &c->ints[i], 4);
  PtxLaunch l = {.params = params,
                 .params_size = at,
                 .bufs = bufs,
                 .nbufs = (size_t)c->nbufs,
                 .checks = checks,
                 .order = order,
                 .dynamic_shared = c->dynamic_shared,
                 .max_steps = max_steps};
  memcpy(l.grid, c->grid, sizeof l.grid);
  memcpy(l.block, c->block, sizeof l.block);
  o.status = ptx_launch(k, &l, &o.result);
  size_t n = c->buf[c->result].count;
  double *want = calloc(n, sizeof *want);
  if (!want) abort();
  c->reference(c, in, want);
  o.error = 0;
  for (size_t i = 0; i < n; i++) {
    double got = (double)((float *)in[c->result])[i], e = fabs(got - want[i]) / (1 + fabs(want[i]));
    if (!(e <= o.error)) o.error = isnan(e) ? INFINITY : e;
    if (isinf(o.error)) break;
  }
  free(want);
  for (int i = 0; i < c->nbufs; i++) {
    free(in[i]);
    free(bufs[i].init);
  }
  return o;
}
