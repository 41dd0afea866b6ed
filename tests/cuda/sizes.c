/* Every form of kernel that programs have at their own sizes is run on the PTX interpreter and
   compared with the CPU: by tests that run the same programs at smaller sizes, and programs made
   for it, or here, by itself.
     sizes RUNTIME_DIR MOST FILE.g [NAME=V…]… -- FILE.g…
   Before --: programs that other tests run, NAME=V as of gc -D; that they are run and compared is
   the caller's to see to. Behind it: programs at their own sizes. Kernels of a form that is run
   nowhere else are run here, where they read and write MOST elements or fewer; 0: all. Says "NOT
   TESTED" of those that are larger, and exits with 77 where there is no NVRTC, but for GC_NO_SKIP,
   which makes that an error. */
#include "tests/cuda/alone.h"
#include "tests/num/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIP = 77 };

typedef struct Session {
  Ctx *texts;            /* of all programs, interned */
  VEC(const char *) run; /* forms that are run, here or elsewhere */
  VEC(const char *) own; /* forms at own sizes */
  CodegenOptions o;
  int64_t most;
  int kernels, here, larger, bad;
} Session;

static bool has(const char *const *at, uint32_t n, const char *text) {
  for (uint32_t i = 0; i < n; i++)
    if (at[i] == text) return true;
  return false;
}

static bool is_run(const Session *s, const char *form) { return has(s->run.at, s->run.n, form); }

/* What is not run elsewhere is taken to be run here. */
static void add_own(Session *s, const CudaFunction *f, const char *form, CudaFunctions *alone) {
  Arena *a = ctx_arena(s->texts);
  s->kernels++;
  if (!has(s->own.at, s->own.n, form)) vec_push(a, &s->own, form);
  if (is_run(s, form)) return;
  vec_push(a, &s->run, form);
  if (f->op->kind == OP_COPY) { /* no pass leaves one without a reason, and by itself it has none */
    printf("no program that is run has the copy of \"%s\":\n%s\n", f->what, form);
    s->bad++;
    return;
  }
  if (s->most && elements_alone(f) > s->most) {
    s->larger++;
    return;
  }
  vec_push(a, alone, f);
  s->here++;
}

static void add_program(Session *s, char **argv, int n, bool own) {
  Ctx *c = ctx_new();
  Module *m = source_module(c, argv[0], (const char *const *)argv + 1, n - 1);
  const Target *t = target_cuda(c);
  PassOptions po = {.memory = "pack", .out = stdout, .target = t};
  Arena *a = arena_new();
  if (!passes_run(m, passes_pipeline(2), &po)) exit(1);
  CudaProgram *p = cuda_program(m, t, &s->o, a);
  CudaFunctions alone = {0};
  for (uint32_t i = 0; i < p->functions.n; i++) {
    const CudaFunction *f = &p->functions.at[i];
    const char *form = intern(s->texts, kernel_form(a, f));
    if (own)
      add_own(s, f, form, &alone);
    else if (!is_run(s, form))
      vec_push(ctx_arena(s->texts), &s->run, form);
  }
  int bad = run_alone(c, &alone, &s->o);
  if (bad) printf("%s: %d failures\n", argv[0], bad);
  s->bad += bad;
  arena_free(a);
  ctx_free(c);
}

int main(int argc, char **argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: sizes RUNTIME_DIR MOST FILE.g [NAME=V...]... -- FILE.g...\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  Session s = {.texts = ctx_new(), .most = atoll(argv[2])};
  s.o = (CodegenOptions){.version = "test", .runtime_dir = argv[1], .level = 2, .exact = true};
  if (!codegen_nvrtc(s.texts, NULL, NULL)) {
    printf("NOT TESTED: kernels of programs at their own sizes: there is no NVRTC (install the "
           "CUDA toolkit or set GC_NVRTC)\n");
    return getenv("GC_NO_SKIP") ? 1 : SKIP;
  }
  bool own = false;
  for (int i = 3, n; i < argc; i += n) {
    n = 1;
    if (strcmp(argv[i], "--") == 0) {
      own = true;
      continue;
    }
    while (i + n < argc && strchr(argv[i + n], '=')) n++;
    add_program(&s, argv + i, n, own);
  }
  if (s.larger)
    printf("NOT TESTED: %d forms of kernels with more than %lld elements: they take minutes; ctest "
           "-C full -R cuda/all_sizes\n",
           s.larger, (long long)s.most);
  printf("%d kernels of %u forms, of which %d were run here, %d failures\n", s.kernels, s.own.n,
         s.here, s.bad);
  ctx_free(s.texts);
  return s.bad != 0 || !s.own.n;
}
