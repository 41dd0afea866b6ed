/* Every kernel of hopper.cu in four orders against plain C, and every planted bug: it must be found
 * in one of them. With a number: so many small edits of the products instead, of which 98 % must be
 * found. test_hopper hopper.cu [edits] */
#include "half.h"
#include "nvrtc.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 4 };

typedef struct Case {
  const char *kernel;
  char type; /* of a and b: b bf16, h f16, t tf32 (f32 in memory, which copies round) */
  unsigned swizzle;
  bool turn_a, turn_b; /* stored as [k][m]; as [k][n], else [n][k] */
  int m, n, k;
  unsigned ctas;    /* of gemm: blocks; 0: one tile */
  double tolerance; /* of 1 + |expected| */
  double sign;
} Case;

#define ONE(kernel, type, swizzle, ta, tb, tolerance)                                              \
  { kernel, type, swizzle, ta, tb, 64, 64, 0, 0, tolerance, 1 }
static const Case cases[] = {
    ONE("bf16_0", 'b', 0, 0, 0, 1e-5),
    ONE("bf16_1", 'b', 1, 0, 0, 1e-5),
    ONE("bf16_2", 'b', 2, 0, 0, 1e-5),
    ONE("bf16_3", 'b', 3, 0, 0, 1e-5),
    ONE("bf16_0_turned", 'b', 0, 1, 1, 1e-5),
    ONE("bf16_1_turned", 'b', 1, 1, 1, 1e-5),
    ONE("bf16_2_turned", 'b', 2, 1, 1, 1e-5),
    ONE("bf16_3_turned", 'b', 3, 1, 1, 1e-5),
    ONE("f16_3", 'h', 3, 0, 1, 1e-5),
    ONE("f16_sums_3", 'h', 3, 0, 0, 1e-2),
    ONE("tf32_3", 't', 3, 0, 0, 5e-3),
    ONE("tf32_0", 't', 0, 0, 0, 5e-3),
    {"registers", 'b', 3, 0, 0, 64, 64, 0, 0, 1e-5, -1},
    {"gemm_1", 'b', 3, 0, 1, 200, 192, 264, 2, 1e-5, 1},
    {"gemm_1", 'b', 3, 0, 1, 64, 64, 40, 1, 1e-5, 1},
    {"gemm_2", 'b', 3, 0, 1, 300, 128, 264, 2, 1e-5, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

static double value_of(const Case *c, const void *at, size_t i) {
  if (c->type == 't') return (double)((const float *)at)[i];
  uint16_t u = ((const uint16_t *)at)[i];
  return c->type == 'h' ? half_get(u) : bfloat_get(u);
}

static void *operand(const Case *c, size_t count, uint32_t *seed) {
  size_t size = count * (c->type == 't' ? 4 : 2);
  void *to = aligned_alloc(256, (size + 255) & ~(size_t)255);
  if (!to) abort();
  for (size_t i = 0; i < count; i++) {
    *seed = *seed * 1664525 + 1013904223;
    double v = (double)(*seed >> 8) / (1 << 23) - 1;
    if (c->type == 't')
      ((float *)to)[i] = (float)v;
    else
      ((uint16_t *)to)[i] =
          c->type == 'h' ? half_put(v, ROUND_NEAREST) : bfloat_put(v, ROUND_NEAREST);
  }
  return to;
}

/* rows x k elements, with k along rows or turned, in boxes as wide as the swizzle */
static void make_map(const Case *c, void *map, void *at, int rows, bool turned, uint32_t box_rows,
                     uint32_t box_k) {
  unsigned bytes = c->type == 't' ? 4 : 2, wide = (16u << c->swizzle) / bytes;
  uint64_t inner = (uint64_t)(turned ? rows : c->k), outer = (uint64_t)(turned ? c->k : rows);
  PtxTensor t = {.type = c->type == 't'   ? 11
                         : c->type == 'h' ? 6
                                          : 9,
                 .rank = 2,
                 .address = (uintptr_t)at,
                 .size = {inner, outer},
                 .stride = {inner * bytes},
                 .box = {wide, turned ? box_k : box_rows},
                 .step = {1, 1},
                 .swizzle = c->swizzle};
  const char *wrong = ptx_tensor_map(map, &t);
  if (wrong) {
    fprintf(stderr, "%s: %s\n", c->kernel, wrong);
    exit(1);
  }
}

static double error_of(const Case *c, const void *a, const void *b, const float *got) {
  double most = 0;
  for (int i = 0; i < c->m; i++)
    for (int j = 0; j < c->n; j++) {
      double want = 0;
      for (int x = 0; x < c->k; x++)
        want += value_of(c, a, (size_t)(c->turn_a ? x * c->m + i : i * c->k + x)) *
                value_of(c, b, (size_t)(c->turn_b ? x * c->n + j : j * c->k + x));
      double e = fabs((double)got[i * c->n + j] - c->sign * want) / (1 + fabs(want));
      if (!(e <= most)) most = isnan(e) ? INFINITY : e;
    }
  return most;
}

typedef struct Outcome {
  PtxStatus status;
  PtxResult result;
  double error;
} Outcome;

/* unwritten: 'a' or 'b': nobody wrote an element of this operand; 0: of none */
static Outcome run_without(const Case *given, const PtxModule *m, unsigned order, char unwritten) {
  Case copy = *given, *c = &copy;
  const PtxKernel *k = ptx_module_find(m, c->kernel);
  Outcome o = {.status = PTX_REFUSED, .error = INFINITY};
  if (!k) return o;
  if (!c->ctas) c->k = c->type == 't' ? 32 : 64;
  uint32_t seed = 1;
  size_t na = (size_t)(c->m * c->k), nb = (size_t)(c->n * c->k), nc = (size_t)(c->m * c->n);
  void *a = operand(c, na, &seed), *b = operand(c, nb, &seed);
  float *out = aligned_alloc(256, (4 * nc + 255) & ~(size_t)255);
  uint8_t *init = calloc(1, nc / 2 + 1), *whole = malloc(na + nb);
  if (!out || !init || !whole) abort();
  memset(whole, 0xff, na + nb);
  whole[na / 8] = 0xfc; /* two bytes */
  memset(out, 0xff, 4 * nc);
  size_t bytes = c->type == 't' ? 4 : 2;
  PtxBuf bufs[] = {{a, na * bytes, PTX_READ, "a", unwritten == 'a' ? whole : NULL, 0, 0},
                   {b, nb * bytes, PTX_READ, "b", unwritten == 'b' ? whole : NULL, 0, 0},
                   {out, nc * 4, PTX_WRITE, "c", init, 0, 0}};
  _Alignas(64) char params[512] = {0};
  PtxLaunch l = {.grid = {c->ctas ? c->ctas : 1, 1, 1},
                 .block = {c->ctas ? 384 : 128, 1, 1},
                 .params = params,
                 .params_size = ptx_kernel_params_size(k),
                 .bufs = bufs,
                 .nbufs = 3,
                 .checks = PTX_CHECK_ALL,
                 .order = order,
                 .max_steps = 4000000,
                 .dynamic_shared = c->ctas ? 3 * 24576 : 0};
  if (ptx_kernel_params(k) == 3 && ptx_kernel_param(k, 0).size == 8) {
    memcpy(params, &a, 8);
    memcpy(params + 8, &b, 8);
    memcpy(params + 16, &out, 8);
  } else {
    uint32_t deep = c->type == 't' ? 32 : 64;
    uint32_t parts = !strcmp(c->kernel, "gemm_2") ? 2 : 1;
    make_map(c, params, a, c->m, c->turn_a, c->ctas ? 128 : 64, deep);
    make_map(c, params + 128, b, c->n, c->turn_b, 64, deep / parts);
    memcpy(params + 256, &out, 8);
    memcpy(params + 264, (int[]){c->m, c->n, c->k}, 12);
  }
  o.status = ptx_launch(k, &l, &o.result);
  o.error = error_of(c, a, b, out);
  free(a);
  free(b);
  free(out);
  free(init);
  free(whole);
  return o;
}

static Outcome run(const Case *c, const PtxModule *m, unsigned order) {
  return run_without(c, m, order, 0);
}

/* want: of the bug's kernels this one alone; NULL: all */
static PtxModule *compile(Nvrtc *n, const char *source, int bug, const char *want) {
  char define[32], kernel[64], err[256];
  snprintf(define, sizeof define, "-DBUG=%d", bug);
  snprintf(kernel, sizeof kernel, "-DWANT_%s", want ? want : "");
  const char *options[] = {"--gpu-architecture=compute_90a", define, kernel};
  char *ptx = nvrtc_ptx(n, source, options, want ? 3 : 2, 0);
  PtxModule *m = ptx ? ptx_module_load(ptx, strlen(ptx), err, sizeof err) : NULL;
  if (ptx && !m) fprintf(stderr, "%s\n", err);
  free(ptx);
  return m;
}

static void print(const char *where, const Outcome *o) {
  fprintf(stderr, "%s: error %g %s\n", where, o->error, o->result.error);
  for (size_t i = 0; i < o->result.count; i++) {
    const PtxFinding *f = &o->result.findings[i];
    fprintf(stderr, "  line %d, CTA %u, thread %u, %llu times: %s: %s\n", f->line, f->cta[0],
            f->thread[0], (unsigned long long)f->count, ptx_kind_name(f->kind), f->text);
  }
}

/* A tensor map copies what nobody wrote; sums of its row, or column, and no others, are undefined:
   those of the 128 stores of four warps have a finding each. */
static int check_unwritten(const PtxModule *m) {
  int failed = 0;
  for (int i = 0; i < CASES; i++)
    for (const char *of = "ab"; *of && !cases[i].ctas && strcmp(cases[i].kernel, "registers");
         of++) {
      Outcome o = run_without(&cases[i], m, 0, *of);
      bool ok = true;
      uint64_t stores = 0;
      for (size_t f = 0; f < o.result.count; f++) {
        ok &= o.result.findings[f].kind == PTX_UNINIT;
        stores += o.result.findings[f].count;
      }
      char where[64];
      snprintf(where, sizeof where, "%s, an element of %c is unwritten", cases[i].kernel, *of);
      ok &= stores > 0 && stores <= 16;
      if (!ok) print(where, &o);
      failed += !ok;
      ptx_result_free(&o.result);
    }
  return failed;
}

static int check_values(Nvrtc *n, const char *source) {
  int failed = 0;
  PtxModule *m = compile(n, source, 0, NULL);
  if (!m) return 1;
  for (int i = 0; i < CASES; i++)
    for (unsigned order = 0; order < ORDERS; order++) {
      Outcome o = run(&cases[i], m, order);
      char where[64];
      snprintf(where, sizeof where, "%s, order %u", cases[i].kernel, order);
      bool ok = o.status == PTX_OK && o.error <= cases[i].tolerance;
      if (!ok) print(where, &o);
      failed += !ok;
      ptx_result_free(&o.result);
    }
  failed += check_unwritten(m);
  ptx_module_free(m);
  return failed;
}

enum { VALUES = PTX_KIND_COUNT }; /* nothing is found, and the result is wrong */
static const struct Bug {
  int number;
  const char *what, *kernel;
  int kind;
} bugs[] = {
    {1, "no fence of the mbarriers", "gemm_1", PTX_PROXY},
    {2, "no barrier after them", "gemm_1", PTX_MBARRIER},
    {3, "the producer's parity", "gemm_1", PTX_MBARRIER},
    {4, "the producer does not wait", "gemm_1", PTX_ASYNC},
    {5, "no bytes are expected", "gemm_1", PTX_ASYNC},
    {6, "too few bytes are expected", "gemm_1", PTX_MBARRIER},
    {7, "no wgmma.fence", "gemm_1", PTX_WGMMA},
    {8, "sums before they are there", "gemm_1", PTX_WGMMA},
    {9, "no commit", "bf16_3", PTX_WGMMA},
    {10, "the consumers do not wait", "gemm_1", PTX_ASYNC},
    {11, "a stage is given back too early", "gemm_1", PTX_ASYNC},
    {12, "another swizzle", "gemm_1", VALUES},
    {13, "another stride", "gemm_1", VALUES},
    {14, "too many registers", "gemm_1", PTX_REGISTERS},
    {15, "one warp arrives for its warpgroup", "gemm_1", PTX_RACE_SHARED},
    {17, "no barrier before the neighbour's mbarriers", "gemm_2", PTX_MBARRIER},
    {18, "no barrier before the end", "gemm_2", PTX_CLUSTER},
    {19, "a copy to this block alone", "gemm_2", PTX_MBARRIER},
    {20, "no proxy fence", "registers", PTX_PROXY},
};

static int check_bug(Nvrtc *n, const char *source, const struct Bug *b) {
  PtxModule *m = compile(n, source, b->number, b->kernel);
  bool found = false;
  Outcome o = {.error = 0};
  int at = 0;
  if (!m) return 1;
  while (strcmp(cases[at].kernel, b->kernel)) at++;
  for (unsigned order = 0; order < ORDERS && !found; order++) {
    ptx_result_free(&o.result);
    o = run(&cases[at], m, order);
    for (size_t i = 0; i < o.result.count; i++) found |= (int)o.result.findings[i].kind == b->kind;
    found |= b->kind == VALUES && o.status == PTX_OK && !(o.error <= cases[at].tolerance);
  }
  char where[96];
  snprintf(where, sizeof where, "bug %d is not found: %s", b->number, b->what);
  if (!found) print(where, &o);
  ptx_result_free(&o.result);
  ptx_module_free(m);
  return !found;
}

/* ---- edits ---- */
static const struct Edit {
  const char *from, *to;
} edits[] = {
    {"wgmma_fence();", ""},
    {"wgmma_commit();", ""},
    {"wgmma_wait<1>();", "wgmma_wait<2>();"},
    {"wgmma_wait<0>();", "wgmma_wait<1>();"},
    {"__syncthreads();", ""},
    {"cluster_sync();", ""},
    {"barrier_fence();", ""},
    {"barrier_wait(", "(void)("},
    {"phase ^ 1", "phase"},
    {"phase ^= 1", "phase ^= 0"},
    {" ^ ", " + "},
    {" + ", " - "},
    {" * ", " + "},
    {" / ", " * "},
    {" % ", " / "},
    {" == ", " != "},
    {" < ", " <= "},
    {" >= ", " > "},
    {" & ", " | "},
    {" >> ", " << "},
    {"1024", "512"},
    {"8192", "4096"},
    {"group - 1", "group"},
    {"last = stage", "last = 0"},
    {"++stage", "stage++"},
    {"= 0.0f", "= 1.0f"},
    {"rank", "0"},
    {"STAGES", "2"},
};

/* Substrings of the edited line behind the edit, and why it is no error. */
static const char *const harmless[] = {
#include "harmless_hopper.def"
};

typedef struct Edits {
  Nvrtc *n;
  const char *source;
  int made, same, broken, found, missed;
} Edits;

static char *edited(const Edits *e, size_t at, const struct Edit *d) {
  size_t cut = strlen(d->from), add = strlen(d->to);
  char *s = calloc(1, strlen(e->source) + add + 1);
  if (!s) abort();
  memcpy(s, e->source, at);
  memcpy(s + at, d->to, add);
  strcpy(s + at + add, e->source + at + cut);
  return s;
}

static bool is_harmless(const char *s, size_t at, const struct Edit *d) {
  char line[400];
  size_t from = at, end = strcspn(s + at, "\n");
  while (from && s[from - 1] != '\n') from--;
  snprintf(line, sizeof line, "%.*s", (int)(at - from + end), s + from);
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    if (strstr(line, harmless[i]) && strstr(harmless[i], d->to)) return true;
  return false;
}

static void try_edit(Edits *e, size_t at, const struct Edit *d, const char *original) {
  static const char *const options[] = {"--gpu-architecture=compute_90a", "-DBUG=-1"};
  char *s = edited(e, at, d), err[256];
  char *ptx = is_harmless(s, at, d) ? NULL : nvrtc_ptx(e->n, s, options, 2, 1);
  bool changed = ptx && strcmp(ptx, original) != 0, found = false;
  e->made++;
  e->broken += !ptx;
  e->same += ptx && !changed;
  PtxModule *m = changed ? ptx_module_load(ptx, strlen(ptx), err, sizeof err) : NULL;
  for (int i = CASES - 3; m && i < CASES && !found; i++)
    for (unsigned order = 0; order < ORDERS && !found; order++) {
      Outcome o = run(&cases[i], m, order);
      found = o.status != PTX_OK || !(o.error <= cases[i].tolerance);
      ptx_result_free(&o.result);
    }
  e->found += m && found;
  e->missed += changed && !found;
  if (changed && !found) {
    size_t from = at;
    while (from && s[from - 1] != '\n') from--;
    fprintf(stderr, "missed: '%s' -> '%s': %.*s\n", d->from, d->to, (int)strcspn(s + from, "\n"),
            s + from);
  }
  ptx_module_free(m);
  free(ptx);
  free(s);
}

static int each_edit(Edits *e, size_t first, int stride, const char *original) {
  int seen = 0;
  for (size_t at = first; e->source[at]; at++) {
    if (e->source[at] == '#') at += strcspn(e->source + at, "\n");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
      if (strncmp(e->source + at, edits[i].from, strlen(edits[i].from)) != 0) continue;
      if (original && seen % stride == 0) try_edit(e, at, &edits[i], original);
      seen++;
    }
  }
  return seen;
}

static int check_edits(Nvrtc *n, const char *source, int most) {
  static const char *const options[] = {"--gpu-architecture=compute_90a", "-DBUG=-1"};
  const char *products = strstr(source, "template <int CTAS>");
  char *original = nvrtc_ptx(n, source, options, 2, 0);
  if (!products || !original) return 1;
  Edits e = {.n = n, .source = source};
  size_t first = (size_t)(products - source);
  int sites = each_edit(&e, first, 1, NULL), stride = sites > most ? (sites + most - 1) / most : 1;
  each_edit(&e, first, stride, original);
  free(original);
  printf("%d sites, %d edits: %d do not compile or are harmless, %d leave the PTX as it was, %d of "
         "%d others found\n",
         sites, e.made, e.broken, e.same, e.found, e.found + e.missed);
  return e.found * 100 < (e.found + e.missed) * 98 || e.found + e.missed < e.made / 3;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  Nvrtc *n = nvrtc_open();
  if (!n) return EXIT_SKIP;
  char *source = read_file(argv[1]);
  int failed = argc > 2 ? check_edits(n, source, atoi(argv[2])) : check_values(n, source);
  for (size_t b = 0; argc == 2 && b < sizeof bugs / sizeof *bugs; b++)
    failed += check_bug(n, source, &bugs[b]);
  free(source);
  if (failed) fprintf(stderr, "%d failures\n", failed);
  return failed != 0;
}
