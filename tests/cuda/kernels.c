/* Every kernel of programs compiles for GPUs without spilling, at the programs' own sizes; none is
   run.
     kernels RUNTIME_DIR [--all] FILE.g…
   Kernels of equal text are compiled once. Without --all, so are those whose texts differ only in
   numbers above 9 and in fractions, for one architecture each by turns: such kernels are of one
   form, since the sizes of tiles and vectors that they are made of are below 10. Says "NOT TESTED"
   and exits with 77 where there is no NVRTC, but for GC_NO_SKIP, which makes that an error. */
#include "tests/cuda/uses.h"
#include "tests/num/source.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIP = 77 };

typedef struct Session {
  Ctx *texts; /* of all programs, interned */
  VEC(const char *) seen;
  const char *runtime;
  bool all;
  int turn, kernels, compiled;
} Session;

/* The text without its numbers, but for small whole ones; those within names stay. */
static const char *form(Arena *a, const char *text) {
  char *to = arena_alloc(a, strlen(text) + 1), *at = to;
  for (const char *s = text; *s;) {
    bool starts = isdigit((unsigned char)*s) &&
                  (s == text || !(isalnum((unsigned char)s[-1]) || s[-1] == '_' || s[-1] == '.'));
    if (!starts) {
      *at++ = *s++;
      continue;
    }
    const char *end = s;
    while (isalnum((unsigned char)*end) || *end == '.' ||
           ((*end == '+' || *end == '-') && strchr("eEpP", end[-1])))
      end++;
    *at++ = end - s == 1 ? *s : '#';
    s = end;
  }
  *at = 0;
  return to;
}

/* Is the text the first of its kind? */
static bool is_new(Session *s, Arena *a, const CudaFunction *f) {
  const char *text = intern(s->texts, s->all ? f->body : form(a, f->body));
  for (uint32_t i = 0; i < s->seen.n; i++)
    if (s->seen.at[i] == text) return false;
  vec_push(ctx_arena(s->texts), &s->seen, text);
  return true;
}

/* For each architecture the kernels that are its part: part[function * ARCHS + arch]. */
static void share_out(Session *s, Arena *a, const CudaProgram *p, bool *part) {
  for (uint32_t i = 0; i < p->functions.n; i++) {
    if (!is_new(s, a, &p->functions.at[i])) continue;
    int own = s->turn++ % ARCHS;
    for (int k = 0; k < ARCHS; k++) part[k * (int)p->functions.n + (int)i] = s->all || k == own;
  }
}

static int check(Session *s, const char *file) {
  Ctx *c = ctx_new();
  Module *m = source_module(c, file, NULL, 0);
  CodegenOptions o = {.version = "test", .runtime_dir = s->runtime, .level = 2};
  const Target *t = target_cuda(c);
  PassOptions po = {.memory = "pack", .out = stdout, .target = t};
  if (!passes_run(m, passes_pipeline(2), &po)) return 1;
  Arena *a = arena_new();
  CudaProgram *p = cuda_program(m, t, &o, a);
  bool *part = ARENA_ARRAY(a, bool, p->functions.n *ARCHS + 1);
  share_out(s, a, p, part);
  int bad = 0, code = 0;
  for (int k = 0; k < ARCHS && !code; k++) {
    const bool *only = part + k * (int)p->functions.n;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->functions.n; i++) n += only[i];
    CudaImage image;
    if (n && nvrtc_compile(c, a, cuda_source(p, only), &cuda_archs[k], 1, &image, &code))
      bad += uses_spills(p, &image, n);
    s->compiled += (int)n;
  }
  s->kernels += (int)p->functions.n;
  if (bad || code) printf("%s: %d kernels that spill\n", file, bad);
  arena_free(a);
  ctx_free(c);
  return bad + (code != 0);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: kernels RUNTIME_DIR [--all] FILE.g...\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  Session s = {.texts = ctx_new(), .runtime = argv[1], .all = strcmp(argv[2], "--all") == 0};
  if (!codegen_nvrtc(s.texts, NULL, NULL)) {
    printf("NOT TESTED: kernels for a GPU: there is no NVRTC (install the CUDA toolkit or set "
           "GC_NVRTC)\n");
    return getenv("GC_NO_SKIP") ? 1 : SKIP;
  }
  int bad = 0;
  for (int i = 2 + s.all; i < argc; i++) bad += check(&s, argv[i]);
  printf("%d kernels of %d programs, compiled %d, %d failures\n", s.kernels, argc - 2 - s.all,
         s.compiled, bad);
  ctx_free(s.texts);
  return bad != 0;
}
