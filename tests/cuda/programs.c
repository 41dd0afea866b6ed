/* Programs for the GPU without one: their kernels compile for sm_80, sm_90a and sm_100 without
   spilling, and what the PTX interpreter makes of them is what the CPU's program computes, bit for
   bit but for f64, whose functions are each C library's own.
     programs RUNTIME_DIR [HOW] random FIRST COUNT     random programs, BATCH in a module
     programs RUNTIME_DIR [HOW] FILE.g [NAME=V…]       the entries of a program; NAME=V as of gc -D
   Each entry runs STEPS times, on other random inputs and in another order of warps and blocks. Of
   a file with many entries a run takes a half, others on each commit, but at the level full.
   Every fourth module of random programs counts positions in 64 bits, as large values take them.
   HOW: --small: for a device that two blocks keep busy, with little scratch, whose launches cost
   nothing, so that small programs have large tiles and sums in several launches;
   --whole: all entries, as of a program in which some go on from the states of others;
   --unrolled: all of NVRTC's optimiser, for a program that is run for longer than it is compiled;
   --wide: all count so; --ptx: NVRTC makes PTX of them alone, for kernels at sizes at which no one
   has them; --precision=P: so, at another precision of products, bit for bit off tensor cores, and
   on them but for the order of sums; --sm90a: by wgmma alone, as an H100 runs them; --gpu: they run
   on the driver that the loader finds instead;
   --clang: clang compiles them, but for entries with functions of f64, which it has none of. A run
   that compares nothing fails. Says "NOT TESTED" and exits with 77 where there is no NVRTC or
   clang, but for GC_NO_SKIP, which makes that an error. */
#include "tests/cuda/device.h"
#include "tests/cuda/uses.h"
#include "tests/level.h"
#include "tests/num/compare.h"
#include "tests/num/random_program.h"
#include "tests/num/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  BATCH = 10,     /* programs in a module: one run of each compiler */
  STEPS = 2,      /* runs of an entry, */
  ORDERS = 3,     /* ... each in another one of so many orders */
  MANY = 4,       /* entries of a file, of which a run takes a half; */
  MANY_SM90A = 7, /* ... by wgmma, which of fewer one alone may be */
  COMMITS = 6,    /* of so many one has cubins, and all of NVRTC's optimiser */
  SKIP = 77
};

/* By which part of their size numbers may differ where products are on tensor cores: those round
   operands to 8 and 11 bits, and another order of sums rounds a few of them the other way. */
#define BF16_PART 1e-2
#define TF32_PART 1e-3

typedef struct Made { /* one program, planned for both targets */
  Ctx *c;
  Module *cpu, *gpu;
  const Target *on_cpu, *on_gpu;
  CodegenOptions o;
  const char *pipeline;
  bool file;   /* of a user's program */
  double part; /* of their size by which results may differ; 0: none */
  DeviceKind kind;
  int devices, compared; /* of it: texts of PTX that were run, and runs of an entry by one */
  bool small;            /* the device */
  int once;              /* entries that ran in one order alone */
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

static int compare(const char *what, const char *name, double part, const Tensor *want,
                   const Tensor *got) {
  return part > 0 ? tensor_compare_size(what, name, want, got, part)
                  : tensor_compare(what, name, want, got, scalar_close);
}

static const char second_moment[] = "adamw.v.";

/* A step of Adam divides a gradient by its own size. Where that is zero but for rounding, as of
   keys' biases, it is a matter of chance; the moments say as much of the gradient, and the exact
   run holds the step itself. */
static bool divided_by_size(const GcProgram *p, const char *name) {
  for (int i = 0; i < p->nglobals; i++) {
    const char *other = p->globals[i].t.name;
    if (strncmp(other, second_moment, strlen(second_moment)) == 0 &&
        strcmp(other + strlen(second_moment), name) == 0)
      return true;
  }
  return false;
}

static int compare_globals(const char *what, Arena *a, const Made *p, Compiled *cpu,
                           Compiled *gpu) {
  int bad = 0;
  for (int i = 0; i < cpu->program->nglobals; i++) {
    const GcTensor *t = &cpu->program->globals[i].t;
    if (p->part > 0 && divided_by_size(cpu->program, t->name)) continue;
    bool square = strncmp(t->name, second_moment, strlen(second_moment)) == 0;
    const Type *type = type_get(p->c, (Dtype)t->dtype, t->rank, t->dims);
    Tensor x = {type, ARENA_ARRAY(a, Scalar, type->numel + 1)},
           y = {type, ARENA_ARRAY(a, Scalar, type->numel + 1)};
    compiled_get(cpu, i, x.at);
    compiled_get(gpu, i, y.at);
    bad += compare(what, t->name, square ? 2 * p->part : p->part, &x, &y);
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

/* An entry, or init where e is NULL, on the CPU and on the devices; marks in which orders. */
static int run_step(const char *what, Made *p, Compiled *cpu, Compiled *const *gpu, const Entry *e,
                    uint64_t seed, unsigned *orders) {
  Arena *a = arena_new();
  RunOptions o = {.threads = 1, .seed = seed, .step = 3};
  int n = e ? entry_outputs(e, NULL, NULL) : 0, bad = 0;
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
    unsigned order = (unsigned)(seed + (uint64_t)d) % ORDERS;
    device_order(gpu[d], order);
    orders[d] |= 1u << order;
    if (!run_one(name, gpu[d], e, &o, in, y, p->c)) {
      bad++;
      continue;
    }
    for (int k = 0; k < n; k++) bad += compare(name, names[k], p->part, &x[k], &y[k]);
    bad += compare_globals(name, a, p, cpu, gpu[d]);
    p->compared += e != NULL;
  }
  arena_free(a);
  return bad + !ok;
}

static int run_entry(const char *what, Made *p, Compiled *cpu, Compiled *const *gpu, const Entry *e,
                     uint64_t seed) {
  unsigned orders[DEVICES] = {0};
  int bad = 0;
  for (uint64_t i = 0; i < STEPS && !bad; i++)
    bad = run_step(what, p, cpu, gpu, e, seed + i, orders);
  for (int d = 0; d < DEVICES && gpu[d] && !bad; d++) p->once += (orders[d] & (orders[d] - 1)) == 0;
  return bad;
}

/* Launches on tensor cores, which are those with a pipeline in shared memory. */
static int on_tensor_cores(const Compiled *c) {
  int n = 0;
  for (int i = 0; i < c->program->nentries; i++)
    for (int k = 0; k < c->program->entries[i].nsteps; k++) {
      const GcLaunch *l = c->program->entries[i].steps[k].launch;
      n += l && l->shared;
    }
  return n;
}

/* Launches of code for sm_90a that has warpgroups: these are not the blocks of the other code. */
static int by_wgmma(const Compiled *c) {
  int n = 0;
  for (int i = 0; i < c->program->nentries; i++)
    for (int k = 0; k < c->program->entries[i].nsteps; k++) {
      const GcLaunch *l = c->program->entries[i].steps[k].launch;
      n += l[1].block != l[0].block;
    }
  return n;
}

static int run(const char *what, Made *p, uint64_t seed) {
  Compiled *gpu[DEVICES], *cpu = compiled_open(p->cpu, p->on_cpu, &p->o, "-O0");
  int bad = devices_open(p->gpu, p->on_gpu, &p->o, p->kind, gpu) + !cpu;
  for (int d = 0; d < DEVICES; d++) p->devices += gpu[d] != NULL;
  if (!bad && p->o.exact == (on_tensor_cores(gpu[0]) > 0) && p->kind != DEVICE_DRIVER)
    bad = 1, printf("%s: %s on tensor cores\n", what, p->o.exact ? "products" : "nothing is");
  if (!bad && p->kind == DEVICE_SM90A && !by_wgmma(gpu[0]))
    bad = 1, printf("%s: nothing is by wgmma\n", what);
  if (!bad && p->cpu->init) bad = run_entry(what, p, cpu, gpu, NULL, seed);
  for (uint32_t i = 0; i < p->cpu->entries.n && !bad; i++)
    bad = run_entry(what, p, cpu, gpu, p->cpu->entries.at[i], seed + STEPS * i);
  compiled_close(cpu);
  devices_close(gpu);
  return bad;
}

static bool plan(Made *p) {
  p->on_cpu = target_cpu(p->c, &p->o);
  CudaTarget *device = ARENA_NEW(ctx_arena(p->c), CudaTarget);
  *device = *cuda_target(target_cuda(p->c, NULL, 0));
  if (p->small)
    device->machine.blocks = device->machine.multiprocessors = 2, device->machine.scratch = 32,
    device->machine.launch = 0;
  p->on_gpu = &device->t;
  if (!p->on_cpu) return false;
  PassOptions po = {.memory = "pack", .verify_each = true, .out = stdout};
  po.target = p->on_cpu;
  if (!passes_run(p->cpu, p->pipeline, &po)) return false;
  po.target = p->on_gpu;
  return passes_run(p->gpu, p->pipeline, &po);
}

static bool has_nvrtc(void) {
  Ctx *c = ctx_new();
  bool ok = cuda_has_nvrtc(c);
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

static int check(const char *what, Made *p, uint64_t seed) {
  if (plan(p)) return run(what, p, seed);
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

typedef struct Request {
  const char *runtime, *file; /* file: NULL where programs are random */
  const char *precision;      /* or NULL */
  const char *const *define;
  int ndefines;
  uint64_t first, modules;
  DeviceKind kind;
  bool wide, small, sm90a, unrolled, whole;
} Request;

static bool read_request(Request *r, int argc, char **argv) {
  static const char precision[] = "--precision=";
  *r = (Request){.kind = DEVICE_NVRTC, .modules = 1, .first = 7};
  int i = 2;
  for (; i < argc && argv[i][0] == '-'; i++) {
    if (strcmp(argv[i], "--gpu") == 0)
      r->kind = DEVICE_DRIVER;
    else if (strcmp(argv[i], "--clang") == 0)
      r->kind = DEVICE_CLANG;
    else if (strncmp(argv[i], precision, strlen(precision)) == 0)
      r->precision = argv[i] + strlen(precision), r->kind = DEVICE_PTX;
    else if (strcmp(argv[i], "--ptx") == 0)
      r->kind = DEVICE_PTX;
    else if (strcmp(argv[i], "--wide") == 0)
      r->wide = true;
    else if (strcmp(argv[i], "--small") == 0)
      r->small = true;
    else if (strcmp(argv[i], "--unrolled") == 0)
      r->unrolled = true;
    else if (strcmp(argv[i], "--whole") == 0)
      r->whole = true;
    else if (strcmp(argv[i], "--sm90a") == 0)
      r->sm90a = true;
    else
      return false;
  }
  if (i >= argc) return false;
  r->runtime = argv[1];
  if (strcmp(argv[i], "random") != 0) {
    r->file = argv[i];
    r->define = (const char *const *)argv + i + 1;
    r->ndefines = argc - i - 1;
    return true;
  }
  if (argc != i + 3) return false;
  r->first = strtoull(argv[i + 1], NULL, 10);
  r->modules = (strtoull(argv[i + 2], NULL, 10) + BATCH - 1) / BATCH;
  return true;
}

/* The file's, as the folder differs by machine. */
static const char *name_of(const Request *r, const char *what) {
  const char *slash = r->file ? strrchr(r->file, '/') : NULL;
  return slash ? slash : what;
}

/* Of a file that is compiled in two ways, as for tensor cores and off them, each takes another half
   of the entries. */
static Module *module_of(Ctx *c, const Request *r, uint64_t seed, double part) {
  if (!r->file) return random_program(c, seed, random_options(seed));
  Module *m = source_module(c, r->file, r->define, r->ndefines);
  const uint32_t all = m->entries.n;
  const bool second_way = part > 0 || r->wide || r->kind == DEVICE_CLANG;
  const bool whole = r->whole || r->kind == DEVICE_DRIVER || level_is_full();
  if (whole || all < (r->sm90a ? MANY_SM90A : MANY)) return m;
  m->entries.n = 0;
  /* each half on some of the commits that have cubins, which the same turn chooses */
  const uint64_t half = level_turn(name_of(r, ""), 2 * COMMITS) / COMMITS;
  for (uint32_t i = (uint32_t)half ^ second_way; i < all; i += 2)
    m->entries.at[m->entries.n++] = m->entries.at[i];
  return m;
}

typedef struct Tally {
  int programs, devices, compared, once, bad;
} Tally;

/* Cubins take NVRTC longest: one file in six, or module of random programs, is compiled to them,
   others on each commit, but at the level full. */
static DeviceKind kind_of(const Request *r, const char *name) {
  return r->kind == DEVICE_NVRTC && !level_draws(name, COMMITS) ? DEVICE_PTX : r->kind;
}

/* NVRTC's optimiser takes most of the time of programs that are only interpreted: their PTX has a
   part of it, if NVRTC is new enough for the option, but on one commit in six, and at the level
   full. Examples and random programs have little; forms of kernels have more, since the interpreter
   takes longer over loops that are not unrolled; and kernels on tensor cores have all of it, see
   device.c. */
static void choose_optimiser(const Request *r, DeviceKind kind, const char *name) {
  enum { SINCE = 13 };
  static const char options[] = "GC_NVRTC_OPTIONS";
  static const char *less = ""; /* as it was set here */
  const char *own = getenv(options);
  if (own && strcmp(own, less) != 0) return; /* of whoever runs the test */
  unsetenv(options);
  Ctx *c = ctx_new();
  const char *version = nvrtc_version(c, NULL, NULL);
  const bool interpreted = kind == DEVICE_PTX || kind == DEVICE_SM90A;
  if (interpreted && !r->unrolled && version && !level_draws(name, COMMITS) &&
      atoi(version + strlen("NVRTC ")) >= SINCE) {
    less = !r->file || r->whole ? "--Ofast-compile=mid" : "--Ofast-compile=min";
    setenv(options, less, 1);
  }
  ctx_free(c);
}

/* One module of programs; part: see Made. */
static void test_module(const Request *r, uint64_t s, double part, Tally *t) {
  Made p = {.c = ctx_new(),
            .o = {.version = "test",
                  .runtime_dir = r->runtime,
                  .level = 2,
                  .exact = part == 0,
                  .march = harness_march(0)},
            .file = r->file != NULL,
            .part = part,
            .small = r->small};
  p.o.index64 = r->wide || (!r->file && s % 4 == 1);
  p.cpu = module_of(p.c, r, s, part);
  p.gpu = module_of(p.c, r, s, part);
  const char *passes = passes_pipeline(!r->file && s % 4 == 0 ? 0 : 2);
  p.pipeline = r->precision
                   ? passes_with_precision(p.c, passes, r->precision)
                   : intern_printf(p.c, r->file ? "fold,autodiff,%s" : "autodiff,%s", passes);
  const char *what = r->file ? r->file : intern_printf(p.c, "seed %llu", (unsigned long long)s);
  const char *name = name_of(r, what);
  p.kind = r->sm90a && part > 0 ? DEVICE_SM90A : kind_of(r, name);
  choose_optimiser(r, p.kind,
                   r->precision ? intern_printf(p.c, "%s %s", name, r->precision) : name);
  t->bad += check(what, &p, s);
  t->programs += r->file ? 1 : (int)p.cpu->entries.n;
  t->devices += p.devices;
  t->compared += p.compared;
  t->once += p.once;
  ctx_free(p.c);
}

int main(int argc, char **argv) {
  Request r;
  if (!read_request(&r, argc, argv)) {
    fprintf(stderr,
            "usage: programs RUNTIME_DIR [--small] [--wide] [--whole] [--unrolled] [--sm90a] "
            "[--precision=P|--ptx|--gpu|--clang] "
            "random FIRST COUNT | FILE.g [NAME=V...]\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (!can_compile(r.kind)) return getenv("GC_NO_SKIP") ? 1 : SKIP;
  Tally t = {0};
  for (uint64_t i = 0; i < r.modules; i++) {
    const uint64_t s = r.file ? r.first : level_case(r.first, i, r.modules);
    if (!r.sm90a) test_module(&r, s, 0, &t);
    if (r.precision)
      test_module(&r, s, strcmp(r.precision, "bf16") == 0 ? BF16_PART : TF32_PART, &t);
  }
  if (r.kind == DEVICE_NVRTC || r.kind == DEVICE_PTX)
    printf("%d texts of PTX ran, no two of a program alike\n", t.devices);
  if (!r.file) level_say(r.first, r.modules);
  if (!t.compared) printf("nothing was compared\n"), t.bad++;
  if (t.once && r.kind != DEVICE_DRIVER)
    printf("%d entries ran in one order of warps alone\n", t.once), t.bad++;
  printf("%d programs, %d failures\n", t.programs, t.bad);
  return t.bad != 0;
}
