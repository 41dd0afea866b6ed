/* Programs for the GPU without one: their kernels compile for every architecture without spilling,
   and what the PTX interpreter makes of them is what the CPU's program computes, bit for bit.
     programs RUNTIME_DIR random FIRST COUNT     random programs, BATCH in a module
     programs RUNTIME_DIR FILE.g                 the entries of a program, on random inputs
   Says "NOT TESTED" and exits with 77 where there is no NVRTC, but for GC_NO_SKIP, which makes that
   an error. */
#include "lang/ast.h"
#include "lang/elab.h"
#include "tests/cuda/device.h"
#include "tests/num/random_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, SKIP = 77 };
static const char *const archs[] = {"sm_80", "sm_90a", "sm_100"};

typedef struct Made { /* one program, planned for both targets */
  Ctx *c;
  Module *cpu, *gpu;
  const Target *on_cpu, *on_gpu;
  CodegenOptions o;
  bool file;    /* of a user's program */
  bool not_run; /* compiled only */
} Made;

/* Whole numbers below 10 are labels and indices that every program here takes. */
static Tensor *inputs_of(Arena *a, const Entry *e, uint64_t seed, bool small) {
  Tensor *in = random_inputs(a, e, seed);
  for (uint32_t i = 0; small && i < e->body->args.n; i++)
    for (int64_t k = 0; !dtype_is_float(in[i].type->dtype) && k < in[i].type->numel; k++)
      in[i].at[k].i %= 10;
  return in;
}

/* x86: as programs run, subnormal numbers are 0. The interpreter says so to itself. */
static unsigned flush(bool on) {
#if defined(__SSE__)
  unsigned old = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(on ? old | 0x8040u : old & ~0x8040u);
  return old;
#else
  (void)on;
  return 0;
#endif
}

static int outputs_of(const Entry *e) {
  const ValueId *v;
  const char *const *names;
  return entry_outputs(e, &v, &names);
}

static bool same_bits(Scalar x, Scalar y, Dtype dt) {
  if (!dtype_is_float(dt)) return x.i == y.i;
  if (x.f != x.f || y.f != y.f) return x.f != x.f && y.f != y.f;
  if (dt == DT_F64)
    return x.f == y.f || fabs(x.f - y.f) <= 1e-12 * fmax(1, fmax(fabs(x.f), fabs(y.f)));
  return x.f == y.f && signbit(x.f) == signbit(y.f);
}

static int compare(const char *what, const char *name, const Tensor *want, const Tensor *got) {
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < want->type->numel; i++)
    if (!same_bits(want->at[i], got->at[i], want->type->dtype)) {
      if (first < 0) first = i;
      wrong++;
    }
  if (!wrong) return 0;
  const Scalar *x = &want->at[first], *y = &got->at[first];
  bool real = dtype_is_float(want->type->dtype);
  printf("%s: %s: %lld of %lld differ, element %lld is %.9g, not %.9g\n", what, name,
         (long long)wrong, (long long)want->type->numel, (long long)first,
         real ? y->f : (double)y->i, real ? x->f : (double)x->i);
  return 1;
}

static int compare_globals(const char *what, Arena *a, Compiled *cpu, Compiled *gpu, Ctx *c) {
  int bad = 0;
  for (int i = 0; i < cpu->program->nglobals; i++) {
    const GcTensor *t = &cpu->program->globals[i].t;
    const Type *type = type_get(c, (Dtype)t->dtype, t->rank, t->dims);
    Tensor x = {type, ARENA_ARRAY(a, Scalar, type->numel + 1)},
           y = {type, ARENA_ARRAY(a, Scalar, type->numel + 1)};
    compiled_get(cpu, i, x.at);
    compiled_get(gpu, i, y.at);
    bad += compare(what, t->name, &x, &y);
  }
  return bad;
}

static int run(const char *what, Made *p, uint64_t seed) {
  Arena *a = arena_new();
  int bad = 0;
  bool calls;
  Compiled *cpu = compiled_open(p->cpu, p->on_cpu, &p->o, "-O1"),
           *gpu = device_open(p->gpu, p->on_gpu, &p->o, &calls);
  if (!cpu || !gpu) {
    compiled_close(cpu);
    device_close(gpu);
    p->not_run = cpu && calls;
    return !p->not_run;
  }
  RunOptions o = {.threads = 1, .seed = seed, .step = 3};
  for (int i = -1; i < (int)p->cpu->entries.n; i++) {
    device_order(gpu, (unsigned)(seed + (uint64_t)i + 1) % 3);
    const Entry *e = i < 0 ? p->cpu->init : p->cpu->entries.at[i];
    if (!e) continue;
    int n = outputs_of(e);
    Tensor *x = ARENA_ARRAY(a, Tensor, n + 1), *y = ARENA_ARRAY(a, Tensor, n + 1);
    const char *name = arena_printf(a, "%s, %s", what, i < 0 ? "init" : e->name);
    bool ran = true;
    if (i < 0) {
      flush(true);
      compiled_init(cpu, &o);
      flush(false);
      compiled_init(gpu, &o);
      ran = !gpu->fault[0];
    } else {
      Tensor *in = inputs_of(a, e, seed + (uint64_t)i, p->file);
      flush(true);
      bool ok = compiled_run(cpu, e->name, &o, in, x, p->c);
      flush(false);
      ran = compiled_run(gpu, e->name, &o, in, y, p->c);
      if (!ok) printf("%s: on the CPU: %s\n", name, cpu->fault);
      bad += !ok;
    }
    if (!ran) {
      printf("%s: %s\n", name, gpu->fault);
      bad++;
      break; /* the globals are not those of the CPU any more */
    }
    const ValueId *v;
    const char *const *names;
    entry_outputs(e, &v, &names);
    for (int k = 0; k < n && i >= 0; k++) bad += compare(name, names[k], &x[k], &y[k]);
    bad += compare_globals(name, a, cpu, gpu, p->c);
  }
  compiled_close(cpu);
  device_close(gpu);
  arena_free(a);
  return bad;
}

static bool plan(Made *p, int level) {
  p->on_cpu = target_cpu(p->c, &p->o);
  p->on_gpu = target_cuda(p->c);
  if (!p->on_cpu) return false;
  PassOptions po = {.memory = "pack", .verify_each = true, .out = stdout};
  const char *pipeline = intern_printf(p->c, "autodiff,%s", passes_pipeline(level));
  po.target = p->on_cpu;
  if (!passes_run(p->cpu, pipeline, &po)) return false;
  po.target = p->on_gpu;
  return passes_run(p->gpu, pipeline, &po);
}

static Module *module_from(Ctx *c, const char *file) {
  bool unreadable;
  Program *p = parse_file(c, file, &unreadable);
  ElabOptions o = {0};
  Module *m = p ? elaborate(c, p, &o) : NULL;
  if (!m) exit(2);
  return m;
}

static bool has_nvrtc(Made *p) {
  const char *bytes;
  size_t n;
  int code = 0;
  ctx_set_stream(p->c, NULL);
  bool ok = codegen_cuda_binary(p->gpu, p->on_gpu, &p->o, "compute_80", &bytes, &n, &code);
  ctx_set_stream(p->c, stderr);
  return ok;
}

static int check(const char *what, Made *p, uint64_t seed, int level) {
  if (!plan(p, level)) {
    printf("%s: no plan\n", what);
    return 1;
  }
  if (!has_nvrtc(p)) {
    printf("NOT TESTED: kernels for a GPU: there is no NVRTC (install the CUDA toolkit or set "
           "GC_NVRTC)\n");
    exit(getenv("GC_NO_SKIP") ? 1 : SKIP);
  }
  return device_spills(p->gpu, p->on_gpu, &p->o, archs, (int)(sizeof archs / sizeof *archs)) +
         run(what, p, seed);
}

int main(int argc, char **argv) {
  bool random = argc == 5 && strcmp(argv[2], "random") == 0;
  if (!random && argc != 3) {
    fprintf(stderr,
            "usage: programs RUNTIME_DIR random FIRST COUNT | programs RUNTIME_DIR FILE.g\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  uint64_t first = random ? strtoull(argv[3], NULL, 10) : 7,
           count = random ? strtoull(argv[4], NULL, 10) : 1;
  int bad = 0, n = 0, not_run = 0;
  for (uint64_t s = first; s < first + (random ? (count + BATCH - 1) / BATCH : 1); s++) {
    Made p = {.c = ctx_new(),
              .o = {.version = "test", .runtime_dir = argv[1], .level = 2, .exact = true},
              .file = !random};
    RandomOptions o = {.entries = BATCH, .grads = true, .stores = true, .narrow = true};
    p.cpu = random ? random_program(p.c, s, o) : module_from(p.c, argv[2]);
    p.gpu = random ? random_program(p.c, s, o) : module_from(p.c, argv[2]);
    char what[64];
    snprintf(what, sizeof what, "seed %llu", (unsigned long long)s);
    bad += check(random ? what : argv[2], &p, s, random && s % 4 == 0 ? 0 : 2);
    n += random ? BATCH : 1;
    not_run += p.not_run ? random ? BATCH : 1 : 0;
    ctx_free(p.c);
  }
  printf("%d programs, %d of them compiled but not run, %d failures\n", n, not_run, bad);
  return bad != 0;
}
