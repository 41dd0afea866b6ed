/* Every kernel of programs compiles for every architecture without spilling, at the programs' own
   sizes, without forms that leave bits open, and without atomics but for the compare-and-swap of
   the one that reports an index, counts of blocks, and what blocks tell each other; none is run.
     kernels RUNTIME_DIR FILE.g… [--precision=P FILE.g…]…
   At another precision than f32: for sm_80, bf16 for sm_90a too, and what the programs in front of
   it do not have.
   Kernels of equal text are compiled once, and of these one in thirty, at other precisions one in
   fifteen, by the commit's hash, each for one architecture, but for the level full; PART of them at
   a time, so that NVRTC's limits hold however large a program is. Says "NOT TESTED" and exits with
   77 where there is no NVRTC, but for GC_NO_SKIP, which makes that an error. */
#define _GNU_SOURCE
#include "tests/cuda/uses.h"
#include "tests/level.h"
#include "tests/num/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIP = 77, PART = 100, OF_F32 = 30, OF_OTHERS = 15 };

typedef struct Session {
  Ctx *texts; /* of all programs, interned */
  VEC(const char *) seen;
  const char *runtime, *precision;
  const char *const *arch;
  int archs;
  int programs, kernels, distinct, compiled; /* at the precision */
} Session;

/* Is the text the first of its kind? */
static bool is_new(Session *s, const CudaFunction *f) {
  const char *text = intern(s->texts, f->body);
  for (uint32_t i = 0; i < s->seen.n; i++)
    if (s->seen.at[i] == text) return false;
  vec_push(ctx_arena(s->texts), &s->seen, text);
  return true;
}

/* Of so many kernels one is compiled, and of twice as many one for the second architecture. */
static uint64_t one_in(const Session *s) {
  return strcmp(s->precision, "f32") == 0 ? OF_F32 : OF_OTHERS;
}

/* Takes up to PART new kernels, from *next on, which it moves. */
static uint32_t take_part(Session *s, const CudaProgram *p, uint32_t *next, bool *only) {
  uint32_t n = 0;
  memset(only, 0, p->functions.n * sizeof *only);
  for (; *next < p->functions.n && n < PART; ++*next) {
    const CudaFunction *f = &p->functions.at[*next];
    only[*next] = is_new(s, f) && level_draws(f->body, one_in(s));
    n += only[*next];
  }
  return n;
}

/* Those of the part that are compiled for architecture k; returns how many. */
static uint32_t of_arch(const Session *s, const CudaProgram *p, const bool *part, int k,
                        bool *only) {
  const bool each = level_is_full() || s->archs == 1;
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->functions.n; i++) {
    only[i] = part[i] && (each || level_draws(p->functions.at[i].body, 2 * one_in(s)) == (k > 0));
    n += only[i];
  }
  return n;
}

/* It reports an index, counts blocks, or passes on bits as they are: no order changes a value. */
static bool is_orderless(const char *s, size_t n) {
  const char *const parts[] = {".cas.b32", ".inc.u32", ".exch."};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (memmem(s, n, parts[i], strlen(parts[i]))) return true;
  return n > 4 && memmem(s, n, ".add.u", 6) && memcmp(s + n - 4, ", 0;", 4) == 0; /* a load */
}

/* Instructions of PTX that change memory atomically and could be part of a value. */
static int atomics(const char *file, const char *ptx) {
  static const char *const words[] = {"\tatom.", " atom.", "\tred.", " red."};
  int bad = 0;
  for (size_t w = 0; w < sizeof words / sizeof *words; w++)
    for (const char *s = ptx; (s = strstr(s, words[w])); s++) {
      int n = (int)strcspn(s, "\n");
      if (is_orderless(s, (size_t)n)) continue;
      printf("%s: an atomic: %.*s\n", file, n, s);
      bad++;
    }
  return bad;
}

static int approximations(const CudaProgram *p, const CudaImage *image) {
  char err[256] = "";
  PtxModule *m = ptx_module_load((const char *)image->text, image->text_size - 1, err, sizeof err);
  if (!m) printf("%s: the PTX cannot be read: %s\n", image->arch, err);
  int bad = m ? uses_approximations(p, m, image->arch) : 1;
  if (m) ptx_module_free(m);
  return bad;
}

/* NULL where passes fail. */
static CudaProgram *program_of(Session *s, Ctx *c, const char *file, const char *precision,
                               Arena *a) {
  Module *m = source_module(c, file, NULL, 0);
  CodegenOptions *o = ARENA_ARRAY(a, CodegenOptions, 1);
  *o = (CodegenOptions){.version = "test", .runtime_dir = s->runtime, .level = 2};
  const Target *t = target_cuda(c, NULL, 0);
  PassOptions po = {.memory = "pack", .out = stdout, .target = t};
  const char *pipeline = passes_with_precision(c, passes_pipeline(2), precision);
  return pipeline && passes_run(m, pipeline, &po) ? cuda_program(m, t, o, a) : NULL;
}

static int check(Session *s, const char *file) {
  Ctx *c = ctx_new();
  Arena *a = arena_new();
  CudaProgram *p = program_of(s, c, file, s->precision, a);
  if (!p) return 1;
  bool *part = ARENA_ARRAY(a, bool, p->functions.n + 1);
  bool *only = ARENA_ARRAY(a, bool, p->functions.n + 1);
  int bad = 0, code = 0;
  for (uint32_t next = 0, n, of; (n = take_part(s, p, &next, part)) && !code;) {
    for (int k = 0; k < s->archs && !code; k++) {
      CudaImage image;
      if (!(of = of_arch(s, p, part, k, only))) continue;
      const char *source = cuda_source(p, only);
      if (!nvrtc_compile(c, a, cuda_cache(), source, &s->arch[k], 1, &image, &code)) break;
      bad += uses_spills(p, &image, of) + atomics(file, (const char *)image.text);
      if (strcmp(s->precision, "f32") == 0) bad += approximations(p, &image);
      s->compiled += (int)of;
    }
    s->distinct += (int)n;
  }
  s->kernels += (int)p->functions.n;
  if (bad || code)
    printf("%s: %d kernels that spill, have atomics or leave bits open\n", file, bad);
  arena_free(a);
  ctx_free(c);
  return bad + (code != 0);
}

static void set_precision(Session *s, const char *precision) {
  static const char *const tensor[] = {"sm_80",
                                       "sm_90a"}; /* which has code of its own for halves */
  const bool f32 = strcmp(precision, "f32") == 0;
  s->precision = precision;
  s->arch = f32 ? cuda_archs : tensor;
  s->archs = !f32 ? 1 + (strcmp(precision, "bf16") == 0) : level_is_full() ? ARCHS : ARCHS - 1;
  s->programs = s->kernels = s->distinct = s->compiled = 0;
}

/* Says what was compiled at the precision; false if nothing was. */
static bool summed(const Session *s) {
  printf("%d kernels of %d programs at %s, %d of them distinct, compiled %d\n", s->kernels,
         s->programs, s->precision, s->distinct, s->compiled);
  return s->compiled;
}

int main(int argc, char **argv) {
  static const char flag[] = "--precision=";
  if (argc < 3) {
    fprintf(stderr, "usage: kernels RUNTIME_DIR FILE.g... [--precision=P FILE.g...]...\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  Session s = {.texts = ctx_new(), .runtime = argv[1]};
  if (!cuda_has_nvrtc(s.texts)) {
    printf("NOT TESTED: kernels for a GPU: there is no NVRTC (install the CUDA toolkit or set "
           "GC_NVRTC)\n");
    return getenv("GC_NO_SKIP") ? 1 : SKIP;
  }
  int bad = 0;
  set_precision(&s, "f32");
  for (int i = 2; i < argc; i++) {
    if (strncmp(argv[i], flag, strlen(flag)) == 0)
      bad += !summed(&s), set_precision(&s, argv[i] + strlen(flag));
    else
      bad += check(&s, argv[i]), s.programs++;
  }
  bad += !summed(&s);
  printf("%d failures\n", bad);
  ctx_free(s.texts);
  return bad != 0;
}
