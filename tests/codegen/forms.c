/* Every form of kernel, compiled in several ways, against the interpreter and against each other.
     forms FILE.g RUNTIME_DIR [amx]
   For each entry: -O0 on one thread is within a tolerance of the reference interpreter, and -O1 and
   -O2 on one, two, three and 67 threads, dead bytes poisoned or not, with every value row-major
   or not, compiled for this machine, for AVX2, for AVX512_BF16 and for plain x86-64, give the same
   bits as -O0. Convolutions by Winograd's method or in tile registers are neither where every value
   is row-major: then their entry is near the interpreter. An output NAME=K has every bit of the
   output NAME. amx: the ways are those of one level, with products in tile registers, whose sums
   have an order of their own: NAME=K is near NAME. Without AMX they run on an emulator.
 */
#include "runtime/exec/amx.h"
#include "tests/amx/emulator.h"
#include "tests/level.h"
#include "tests/num/compare.h"
#include "tests/num/harness.h"
#include "tests/num/random_program.h"
#include "tests/num/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Variant {
  const char *name, *memory;
  int level, threads;
  bool poison;
  const char *passes; /* NULL: those of the level */
  const char *cflags; /* of the C compiler; -O3 at the level full */
  int march;          /* see harness_march */
  const char *cc;     /* NULL: clang, or gcc by "-O3" */
} Variant;

static const char plain[] =
    "fold,cse,dce,autodiff,fold,cse,dce,accumulate,fuse,order,liveness,inplace,share,plan-verify";

static const Variant variants[] = {
    {"-O0 none", "none", 0, 1, false, NULL, "-O0", 0, NULL},
    {"-O2 pack", "pack", 2, 1, false, NULL, "-O3", 0, "gcc"},
    {"-O2 pack, 2 threads, AVX2", "pack", 2, 2, true, NULL, "-O1", 1, NULL},
    {"-O2 pool, 3 threads, plain x86-64", "pool", 2, 3, false, NULL, "-O0", 2, NULL},
    {"-O1 pack, 67 threads, pairs of bf16", "pack", 1, 67, true, NULL, "-O0", 3, NULL},
    {"row-major, 2 threads", "pack", 2, 2, false, plain, "-O0", 0, NULL},
};

static const char amx_march[] = "x86-64-v4", amx_cc[] = "cc -mamx-tile -mamx-bf16";

static const Variant amx_variants[] = {
    {"-O0 none", "none", 0, 1, false, NULL, "-O0", 0, amx_cc},
    {"-O2 pack", "pack", 2, 1, false, NULL, "-O1", 0, amx_cc},
    {"-O2 pool, 3 threads", "pool", 2, 3, true, NULL, "-O0", 0, amx_cc},
    {"-O1 pack, 67 threads", "pack", 1, 67, true, NULL, "-O0", 0, amx_cc},
    {"row-major, 2 threads", "pack", 2, 2, false, plain, "-O0", 0, amx_cc},
};

/* The whole numbers and labels of random_inputs are small; floats lie around 0. */
static Tensor *inputs_of(Arena *a, const Entry *e) { return random_inputs(a, e, 7); }

typedef struct Results {
  int n;
  bool *own_order; /* by entry: the order of a convolution's sums is that of its layout */
  Tensor at[512];
} Results;

static int compare(const Module *m, const char *how, const Results *want, const Results *got,
                   ScalarSame *same, const Results *oracle) {
  int k = 0, failures = 0;
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i];
    const ValueId *v;
    const char *const *names;
    int n = entry_outputs(e, &v, &names);
    const bool direct = want->own_order[i] && !got->own_order[i];
    for (int j = 0; j < n; j++, k++) {
      const char *name = intern_printf(m->ctx, "%s.%s", e->name, names[j]);
      failures += tensor_compare(how, name, direct ? &oracle->at[k] : &want->at[k], &got->at[k],
                                 direct ? scalar_near : same);
    }
  }
  return failures;
}

/* Outputs NAME=K against the NAME of their entry; gives failures, and adds how many there are. */
static int compare_alike(const Module *m, const Results *got, ScalarSame *same, int *pairs) {
  int first = 0, failures = 0;
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const ValueId *v;
    const char *const *names;
    int n = entry_outputs(m->entries.at[i], &v, &names);
    for (int j = 0; j < n * n; j++) {
      const char *a = names[j / n], *b = names[j % n], *equals = strchr(b, '=');
      size_t bytes = strlen(a);
      if (!equals || (size_t)(equals - b) != bytes || strncmp(a, b, bytes) != 0) continue;
      const char *name = intern_printf(m->ctx, "%s.%s", m->entries.at[i]->name, b);
      failures += tensor_compare("against what it is to be like", name, &got->at[first + j / n],
                                 &got->at[first + j % n], same);
      ++*pairs;
    }
    first += n;
  }
  return failures;
}

static void interpret(Ctx *c, const char *file, Arena *a, Results *r) {
  Module *m = source_module(c, file, NULL, 0);
  PassOptions po = {.memory = "none"};
  if (!passes_run(m, "autodiff", &po)) exit(2);
  Interp *it = interp_new(m, INTERP_DTYPE, 1);
  r->own_order = ARENA_ARRAY(a, bool, m->entries.n + 1);
  if (m->init && !interp_run(it, m->init, NULL, NULL)) exit(2);
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i];
    if (!interp_run(it, e, inputs_of(a, e), r->at + r->n)) {
      printf("the interpreter cannot run %s: %s\n", e->name, it->why);
      exit(2);
    }
    r->n += entry_outputs(e, NULL, NULL);
  }
}

/* The C compiler's optimiser takes most of the time: one file in six has it for this machine, one
   for AVX2; others on each commit. TURN chooses small ones for runs with fixed seeds alone. */
static const char *optimiser(const char *file, const Variant *v) {
  enum { FILES = 6, TURN = 2 };
  const char *name = strrchr(file, '/'); /* the folder is another one on each machine */
  const uint64_t turn = (level_turn(name ? name : file, FILES) + TURN) % FILES;
  if (v->cc == amx_cc) return v->cflags;
  return level_is_full() ? "-O3" : turn == (uint64_t)v->march ? v->cflags : "-O0";
}

/* A convolution by Winograd's method, or in tile registers. */
static bool has_own_order(const Entry *e, const Target *t) {
  bool has = false;
  for (ValueId x = 0; x < e->values.n; x++)
    has |= value_at(e, x)->layout && value_at(e, x)->layout->winograd;
  for (uint32_t i = 0; cpu_target(t)->machine.amx && i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    has |= conv_multiplies_halves(t, e, op) && value_at(e, op->operands[0])->layout;
  }
  return has;
}

static bool compile_and_run(Ctx *c, const char *file, const char *runtime, Arena *a,
                            const Variant *v, Results *r) {
  Module *m = source_module(c, file, NULL, 0);
  CodegenOptions co = {.version = "test",
                       .runtime_dir = runtime,
                       .level = v->level,
                       .march = v->cc == amx_cc ? amx_march : harness_march((uint64_t)v->march),
                       .cc = v->cc};
  const Target *t = target_cpu(c, &co);
  PassOptions po = {.target = t, .memory = v->memory, .verify_each = true};
  if (!passes_run(m,
                  arena_printf(a, "autodiff,%s", v->passes ? v->passes : passes_pipeline(v->level)),
                  &po))
    return false;
  r->own_order = ARENA_ARRAY(a, bool, m->entries.n + 1);
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i];
    r->own_order[i] = has_own_order(e, t);
  }
  Compiled *p = compiled_open(m, t, &co, optimiser(file, v));
  if (!p) return false;
  RunOptions ro = {.threads = v->threads, .order = 11, .poison = v->poison, .seed = 1};
  compiled_init(p, &ro);
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i];
    if (!compiled_run(p, e->name, &ro, inputs_of(a, e), r->at + r->n, c)) {
      printf("%s: %s: %s\n", v->name, e->name, p->fault);
      return false;
    }
    r->n += entry_outputs(e, NULL, NULL);
  }
  return true; /* left open: the results lie in it */
}

static bool has_avx512(void) {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

int main(int argc, char **argv) {
  const bool amx = argc == 4 && strcmp(argv[3], "amx") == 0;
  if (argc != 3 && !amx) {
    fprintf(stderr, "usage: forms FILE.g RUNTIME_DIR [amx]\n");
    return 2;
  }
  if (amx && !has_avx512()) {
    printf("NOT TESTED: products in tile registers: this processor lacks AVX-512\n");
    return 77;
  }
  const AmxState tiles = amx ? amx_state() : AMX_HERE;
  if (tiles == AMX_REFUSED) { /* some instructions would run, and others not */
    printf("NOT TESTED: products in tile registers: the system does not let this process use "
           "them\n");
    return 77;
  }
  if (tiles == AMX_ABSENT) amx_emulate();
  const Variant *way = amx ? amx_variants : variants;
  const size_t n = amx ? sizeof amx_variants / sizeof *way : sizeof variants / sizeof *way;
  Ctx *c = ctx_new();
  Arena *a = arena_new();
  static Results oracle, base, other;
  interpret(c, argv[1], a, &oracle);
  if (!compile_and_run(c, argv[1], argv[2], a, &way[0], &base)) return 1;
  const Module *m = source_module(c, argv[1], NULL, 0);
  int failures = compare(m, "-O0 against the interpreter", &oracle, &base, scalar_near, NULL);
  int pairs = 0;
  failures += compare_alike(m, &base, amx ? scalar_near : scalar_same, &pairs);
  for (size_t v = 1; v < n; v++) {
    other.n = 0;
    if (!compile_and_run(c, argv[1], argv[2], a, &way[v], &other) ||
        (!way[v].passes &&
         memcmp(base.own_order, other.own_order, m->entries.n * sizeof(bool)) != 0))
      failures++;
    else
      failures += compare(m, way[v].name, &base, &other, scalar_same, &oracle);
  }
  printf("%d results of %u entries in %zu ways, %d pairs: %d failures\n", base.n, m->entries.n, n,
         pairs, failures);
  return failures != 0;
}
