/* Every form of kernel that programs have at their own sizes is run on the PTX interpreter and
   compared with the CPU: by tests that run the same programs at smaller sizes, and programs made
   for it, or here, by itself.
     sizes RUNTIME_DIR FILE.g [NAME=V…]… -- FILE.g… -- FILE.g [NAME=V…]…
   First programs that other tests run, NAME=V as of gc -D; that they are run and compared is the
   caller's to see to. Then programs at their own sizes. Last programs of which nothing is asked:
   where one of their kernels is of a form that is run nowhere else, it may stand for it. Of all the
   kernels of such a form the one of the fewest elements runs here, and of the forms one in thirty,
   by the commit's hash, and of those that take long one in two hundred, and the fewer the longer
   they take, but for the level full. Says "NOT TESTED" and exits with 77 where there is no NVRTC,
   but for GC_NO_SKIP, which makes that an error.
 */
#include "tests/cuda/alone.h"
#include "tests/cuda/uses.h"
#include "tests/level.h"
#include "tests/num/harness.h"
#include "tests/num/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIP = 77, MOST_PROGRAMS = 200, OF_FORMS = 30, OF_LONG = 200 };

/* Of forms whose kernel takes a second or more one in OF_LONG is drawn, of those that take twice as
   long half as many, so that what they take together is bounded: by its operations, which the CPU's
   program does one after the other, or by its elements, which are made, converted, compared. */
static const uint64_t MANY_FLOPS = 1000 * 1000 * 1000;
static const int64_t MANY_ELEMENTS = 20 * 1000 * 1000;

typedef enum Use { RUN_ELSEWHERE, AT_OWN_SIZE, STAND_IN, USES } Use;

typedef struct KernelForm {
  const char *text;
  bool run, own;             /* by another test; of a program at its own size */
  const CudaFunction *least; /* of its kernels that may run here */
  int program;               /* that one's */
} KernelForm;

typedef struct Session {
  Ctx *texts; /* of all programs, interned */
  VEC(KernelForm) forms;
  CodegenOptions o;
  Ctx *program[MOST_PROGRAMS];
  Arena *code[MOST_PROGRAMS];
  const char *file[MOST_PROGRAMS];
  int programs, kernels, own, here, bad;
} Session;

static KernelForm *form_of(Session *s, const CudaFunction *f) {
  Arena *a = arena_new();
  const char *text = intern(s->texts, kernel_form(a, f));
  arena_free(a);
  for (uint32_t i = 0; i < s->forms.n; i++)
    if (s->forms.at[i].text == text) return &s->forms.at[i];
  vec_push(ctx_arena(s->texts), &s->forms, (KernelForm){.text = text});
  return &s->forms.at[s->forms.n - 1];
}

/* Of several launches in one, each: programs that are run have batches. */
static void add_kernel(Session *s, const CudaFunction *f, Use use) {
  for (int i = 0; i < f->kernel->mixed; i++) add_kernel(s, &f->members[i], use);
  if (f->kernel->mixed) return;
  if (f->one) f = f->one;
  KernelForm *form = form_of(s, f);
  s->kernels += use == AT_OWN_SIZE;
  form->run |= use == RUN_ELSEWHERE;
  form->own |= use == AT_OWN_SIZE;
  if (form->run || (form->least && elements_alone(form->least) <= elements_alone(f))) return;
  form->least = f;
  form->program = s->programs;
}

static void add_program(Session *s, char **argv, int n, Use use) {
  Ctx *c = ctx_new();
  Module *m = source_module(c, argv[0], (const char *const *)argv + 1, n - 1);
  const Target *t = target_cuda(c, NULL, 0);
  PassOptions po = {.memory = "pack", .out = stdout, .target = t};
  Arena *a = arena_new();
  if (s->programs == MOST_PROGRAMS || !passes_run(m, passes_pipeline(2), &po)) exit(1);
  CudaProgram *p = cuda_program(m, t, &s->o, a);
  for (uint32_t i = 0; i < p->functions.n; i++) add_kernel(s, &p->functions.at[i], use);
  s->program[s->programs] = c;
  s->code[s->programs] = a;
  s->file[s->programs++] = argv[0];
}

static bool is_drawn(const KernelForm *f) {
  const uint64_t flops = op_flops(f->least->entry, f->least->op) / MANY_FLOPS,
                 elements = (uint64_t)(elements_alone(f->least) / MANY_ELEMENTS),
                 many = flops > elements ? flops : elements;
  return level_draws(f->text, many ? OF_LONG * many : OF_FORMS);
}

/* Those kernels of a program that stand for the forms which are run nowhere else. */
static void run_program(Session *s, int program) {
  CudaFunctions alone = {0};
  for (uint32_t i = 0; i < s->forms.n; i++) {
    const KernelForm *f = &s->forms.at[i];
    if (f->run || !f->own || f->program != program) continue;
    if (!is_drawn(f)) continue;
    vec_push(s->code[program], &alone, f->least);
  }
  int bad = run_alone(s->program[program], &alone, &s->o);
  if (bad) printf("%s: %d failures\n", s->file[program], bad);
  s->bad += bad;
  s->here += (int)alone.n;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: sizes RUNTIME_DIR FILE.g [NAME=V...]... -- FILE.g... -- FILE.g "
                    "[NAME=V...]...\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  Session s = {.texts = ctx_new()};
  s.o = (CodegenOptions){.version = "test",
                         .runtime_dir = argv[1],
                         .level = 2,
                         .exact = true,
                         .march = harness_march(0)};
  if (!cuda_has_nvrtc(s.texts)) {
    printf("NOT TESTED: kernels of programs at their own sizes: there is no NVRTC (install the "
           "CUDA toolkit or set GC_NVRTC)\n");
    return getenv("GC_NO_SKIP") ? 1 : SKIP;
  }
  int use = RUN_ELSEWHERE;
  for (int i = 2, n; i < argc && use < USES; i += n) {
    n = 1;
    if (strcmp(argv[i], "--") == 0) {
      use++;
      continue;
    }
    while (i + n < argc && strchr(argv[i + n], '=')) n++;
    add_program(&s, argv + i, n, (Use)use);
  }
  for (int i = 0; i < s.programs; i++) run_program(&s, i);
  s.bad += alone_miscounted();
  for (uint32_t i = 0; i < s.forms.n; i++) s.own += s.forms.at[i].own;
  printf("%d kernels of %d forms, of which %d were run here, %d failures\n", s.kernels, s.own,
         s.here, s.bad);
  for (int i = 0; i < s.programs; i++) {
    arena_free(s.code[i]);
    ctx_free(s.program[i]);
  }
  ctx_free(s.texts);
  return s.bad != 0 || !s.own;
}
