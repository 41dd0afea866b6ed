/* Programs for the GPU without one: their kernels compile for sm_80, sm_90a and sm_100 without
   spilling, and what the PTX interpreter makes of them is what the CPU's program computes, bit for
   bit but for f64, whose functions are each C library's own.
     programs RUNTIME_DIR [HOW] random FIRST COUNT     random programs, BATCH in a module
     programs RUNTIME_DIR [HOW] FILE.g                 the entries of a program, on random inputs
   HOW: --gpu: they run on the driver that the loader finds instead; --clang: clang compiles them,
   but for entries with functions of f64, which it has none of. Says "NOT TESTED" and exits with 77
   where there is no NVRTC or clang, but for GC_NO_SKIP, which makes that an error. */
#include "codegen/cuda/nvrtc.h"
#include "lang/ast.h"
#include "lang/elab.h"
#include "tests/cuda/device.h"
#include "tests/num/random_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 10, SKIP = 77 }; /* programs in a module: one run of each compiler */

typedef struct Made { /* one program, planned for both targets */
  Ctx *c;
  Module *cpu, *gpu;
  const Target *on_cpu, *on_gpu;
  CodegenOptions o;
  bool file; /* of a user's program */
  DeviceKind kind;
} Made;

/* Whole numbers below 10 are labels and indices that every program here takes. */
static Tensor *inputs_of(Arena *a, const Entry *e, uint64_t seed, bool small) {
  Tensor *in = random_inputs(a, e, seed);
  for (uint32_t i = 0; small && i < e->body->args.n; i++)
    for (int64_t k = 0; !dtype_is_float(in[i].type->dtype) && k < in[i].type->numel; k++)
      in[i].at[k].i = (in[i].at[k].i % 10 + 10) % 10;
  return in;
}

/* x86: as programs run, subnormal numbers are 0. The interpreter says so to itself. */
static bool flush(bool on) {
#if defined(__SSE__)
  unsigned old = __builtin_ia32_stmxcsr(), bits = 0x8040;
  __builtin_ia32_ldmxcsr(on ? old | bits : old & ~bits);
  return old & bits;
#else
  return on;
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

static bool run_one(const char *what, Compiled *c, const Entry *e, const RunOptions *o,
                    const Tensor *in, Tensor *out, Ctx *ctx) {
  if (e)
    compiled_run(c, e->name, o, in, out, ctx);
  else
    compiled_init(c, o);
  if (c->fault[0]) printf("%s: %s\n", what, c->fault);
  return !c->fault[0];
}

/* An entry, or init where e is NULL, on the CPU and on the devices. */
static int run_entry(const char *what, Made *p, Compiled *cpu, Compiled *const *gpu, const Entry *e,
                     uint64_t seed) {
  Arena *a = arena_new();
  RunOptions o = {.threads = 1, .seed = seed, .step = 3};
  int n = e ? outputs_of(e) : 0, bad = 0;
  Tensor *x = ARENA_ARRAY(a, Tensor, n + 1), *y = ARENA_ARRAY(a, Tensor, n + 1);
  Tensor *in = e ? inputs_of(a, e, seed, p->file) : NULL;
  const ValueId *v;
  const char *const *names = NULL;
  if (e) entry_outputs(e, &v, &names);
  bool was = flush(true), ok = run_one(what, cpu, e, &o, in, x, p->c);
  flush(was);
  for (int d = 0; d < DEVICES && ok && gpu[d]; d++) {
    const char *name =
        arena_printf(a, "%s, %s for %s", what, e ? e->name : "init", device_arch(gpu[d]));
    device_order(gpu[d], (unsigned)(seed + (uint64_t)d) % 3);
    if (!run_one(name, gpu[d], e, &o, in, y, p->c)) {
      bad++;
      continue;
    }
    for (int k = 0; k < n; k++) bad += compare(name, names[k], &x[k], &y[k]);
    bad += compare_globals(name, a, cpu, gpu[d], p->c);
  }
  arena_free(a);
  return bad + !ok;
}

static int run(const char *what, Made *p, uint64_t seed) {
  Compiled *gpu[DEVICES], *cpu = compiled_open(p->cpu, p->on_cpu, &p->o, "-O1");
  int bad = devices_open(p->gpu, p->on_gpu, &p->o, p->kind, gpu) + !cpu;
  if (!bad && p->cpu->init) bad = run_entry(what, p, cpu, gpu, NULL, seed);
  for (uint32_t i = 0; i < p->cpu->entries.n && !bad; i++)
    bad = run_entry(what, p, cpu, gpu, p->cpu->entries.at[i], seed + i);
  compiled_close(cpu);
  devices_close(gpu);
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

/* Leaves out entries that compute a function of f64. */
static void drop_inexact(Module *m) {
  uint32_t kept = 0;
  ctx_set_stream(m->ctx, NULL);
  for (uint32_t i = 0; i < m->entries.n; i++) {
    Module one = *m;
    one.entries.at = &m->entries.at[i];
    one.entries.n = 1;
    if (codegen_exact(&one)) m->entries.at[kept++] = m->entries.at[i];
  }
  m->entries.n = kept;
  ctx_set_stream(m->ctx, stderr);
}

static bool has_nvrtc(void) {
  static const char *const arch[] = {"compute_80"};
  Ctx *c = ctx_new();
  CudaImage image;
  int code = 0;
  ctx_set_stream(c, NULL);
  bool ok = nvrtc_compile(c, ctx_arena(c), "__global__ void k() {}", arch, 1, &image, &code);
  ctx_free(c);
  return ok;
}

/* Is there what compiles? Says so where there is not. */
static bool can_compile(DeviceKind kind) {
  if (kind != DEVICE_CLANG && !has_nvrtc()) {
    printf("NOT TESTED: programs for a GPU: there is no NVRTC (install the CUDA toolkit or set "
           "GC_NVRTC)\n");
    return false;
  }
  Arena *a = arena_new();
  bool ok = kind != DEVICE_CLANG || clang_find(a);
  if (!ok)
    printf("NOT TESTED: a second compiler's PTX: there is no clang 16 or later (install clang-16 "
           "or set GC_CLANG)\n");
  arena_free(a);
  return ok;
}

static int check(const char *what, Made *p, uint64_t seed, int level) {
  if (plan(p, level)) return run(what, p, seed);
  printf("%s: no plan\n", what);
  return 1;
}

/* Every fifth module has programs of up to 40 ops, the others small ones. */
static RandomOptions random_options(uint64_t seed) {
  return (RandomOptions){.ops = seed % 5 ? 4 + (int)(seed % 4) : 0,
                         .entries = BATCH,
                         .grads = true,
                         .stores = true,
                         .narrow = true};
}

int main(int argc, char **argv) {
  const char *runtime = argv[1], *how = argc > 2 ? argv[2] : "";
  DeviceKind kind = strcmp(how, "--gpu") == 0     ? DEVICE_DRIVER
                    : strcmp(how, "--clang") == 0 ? DEVICE_CLANG
                                                  : DEVICE_NVRTC;
  if (kind != DEVICE_NVRTC) argc--, argv++;
  bool random = argc == 5 && strcmp(argv[2], "random") == 0;
  if (!random && argc != 3) {
    fprintf(stderr, "usage: programs RUNTIME_DIR [--gpu|--clang] random FIRST COUNT | FILE.g\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (!can_compile(kind)) return getenv("GC_NO_SKIP") ? 1 : SKIP;
  uint64_t first = random ? strtoull(argv[3], NULL, 10) : 7,
           count = random ? strtoull(argv[4], NULL, 10) : 1;
  int bad = 0, n = 0;
  for (uint64_t s = first; s < first + (random ? (count + BATCH - 1) / BATCH : 1); s++) {
    Made p = {.c = ctx_new(),
              .o = {.version = "test", .runtime_dir = runtime, .level = 2, .exact = true},
              .file = !random,
              .kind = kind};
    p.cpu = random ? random_program(p.c, s, random_options(s)) : module_from(p.c, argv[2]);
    p.gpu = random ? random_program(p.c, s, random_options(s)) : module_from(p.c, argv[2]);
    if (kind == DEVICE_CLANG) drop_inexact(p.cpu), drop_inexact(p.gpu);
    char what[64];
    snprintf(what, sizeof what, "seed %llu", (unsigned long long)s);
    if (p.gpu->entries.n)
      bad += check(random ? what : argv[2], &p, s, random && s % 4 == 0 ? 0 : 2);
    n += random ? (int)p.cpu->entries.n : 1;
    ctx_free(p.c);
  }
  printf("%d programs, %d failures\n", n, bad);
  return bad != 0;
}
