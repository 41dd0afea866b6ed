/* Every kernel of kernels.cu, for three architectures and four orders, must compute what plain C
 * does with no finding; every planted bug must be found, with the kind that it is. test_kernels
 * kernels.cu */
#define _GNU_SOURCE
#include "cases.h"
#include "nvrtc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static PtxModule *compile(Nvrtc *n, const char *source, const char *arch, int bug) {
  char define[32], err[256];
  snprintf(define, sizeof define, "-DBUG=%d", bug);
  const char *options[] = {arch, define};
  char *ptx = nvrtc_ptx(n, source, options, 2, 0);
  if (!ptx) return NULL;
  PtxModule *m = ptx_module_load(ptx, strlen(ptx), err, sizeof err);
  if (!m) fprintf(stderr, "%s: %s\n", arch, err);
  const char *keep = getenv("PTXI_KEEP");
  FILE *f = keep ? fopen(keep, "w") : NULL;
  if (f) {
    fputs(ptx, f);
    fclose(f);
  }
  free(ptx);
  return m;
}

static void print(const char *where, const CaseOutcome *o) {
  fprintf(stderr, "%s: error %g %s\n", where, o->error, o->result.error);
  for (size_t i = 0; i < o->result.count; i++) {
    const PtxFinding *f = &o->result.findings[i];
    fprintf(stderr, "  line %d, CTA (%u,%u,%u), thread (%u,%u,%u), %llu times: %s: %s\n", f->line,
            f->cta[0], f->cta[1], f->cta[2], f->thread[0], f->thread[1], f->thread[2],
            (unsigned long long)f->count, ptx_kind_name(f->kind), f->text);
  }
}

static int check_values(Nvrtc *n, const char *source) {
  static const char *const archs[] = {"--gpu-architecture=compute_80",
                                      "--gpu-architecture=compute_90a",
                                      "--gpu-architecture=compute_100"};
  int failed = 0;
  for (size_t a = 0; a < 3; a++) {
    PtxModule *m = compile(n, source, archs[a], 0);
    if (!m) return 1;
    for (int i = 0; i < ncases; i++)
      for (unsigned order = 0; order < 4; order++) {
        CaseOutcome o = case_run(&cases[i], m, order, PTX_CHECK_ALL, 0);
        if (o.status != PTX_OK || !(o.error <= cases[i].tolerance)) {
          char where[128];
          snprintf(where, sizeof where, "%s %s order %u", cases[i].kernel, archs[a], order);
          print(where, &o);
          failed++;
        }
        ptx_result_free(&o.result);
      }
    ptx_module_free(m);
  }
  return failed;
}

static const struct Bug {
  int number;
  const char *kernel;
  PtxKind kind;
} bugs[] = {
    {1, "map4", PTX_BOUNDS},           {2, "softmax", PTX_RACE_SHARED},
    {3, "softmax", PTX_RACE_SHARED},   {4, "softmax", PTX_RACE_SHARED},
    {5, "transpose", PTX_RACE_SHARED}, {6, "transpose", PTX_BOUNDS},
    {7, "gemm_f32", PTX_UNINIT},       {8, "gemm_f32", PTX_RACE_SHARED},
    {9, "gemm_bf16", PTX_ASYNC},       {10, "gemm_bf16", PTX_RACE_SHARED},
    {11, "sum_all", PTX_UNINIT},       {12, "sum_all", PTX_RACE_GLOBAL},
    {13, "softmax", PTX_BARRIER},
};

/* The source without other kernels; parts of it are divided by blank lines. To free. */
static char *with_one(const char *source, const char *kernel) {
  char *out = calloc(1, strlen(source) + 1), *to = out, call[64];
  if (!out) abort();
  snprintf(call, sizeof call, " %s(", kernel);
  for (const char *s = source; *s;) {
    const char *end = strstr(s, "\n\n");
    end = end ? end + 2 : s + strlen(s);
    const char *is = strstr(s, "__global__"), *of = strstr(s, call);
    if (!is || is >= end || (of && of < end)) to = mempcpy(to, s, (size_t)(end - s));
    s = end;
  }
  return out;
}

static int check_bugs(Nvrtc *n, const char *source) {
  int failed = 0;
  for (size_t b = 0; b < sizeof bugs / sizeof *bugs; b++) {
    char *one = with_one(source, bugs[b].kernel);
    PtxModule *m = compile(n, one, "--gpu-architecture=compute_80", bugs[b].number);
    free(one);
    if (!m) return 1;
    for (unsigned order = 0; order < 2; order++) {
      CaseOutcome o = case_run(case_find(bugs[b].kernel), m, order, PTX_CHECK_ALL, 0);
      int found = 0;
      for (size_t i = 0; i < o.result.count; i++)
        found |= o.result.findings[i].kind == bugs[b].kind;
      if (!found) {
        char where[64];
        snprintf(where, sizeof where, "bug %d in %s is not found", bugs[b].number, bugs[b].kernel);
        print(where, &o);
        failed++;
      }
      ptx_result_free(&o.result);
    }
    ptx_module_free(m);
  }
  return failed;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  Nvrtc *n = nvrtc_open();
  if (!n) return EXIT_SKIP;
  char *source = read_file(argv[1]);
  int failed = check_values(n, source) + check_bugs(n, source);
  free(source);
  if (failed) fprintf(stderr, "%d failures\n", failed);
  return failed != 0;
}
