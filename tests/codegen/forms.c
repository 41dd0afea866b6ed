/* Every form of kernel, compiled in several ways, against the interpreter and against each other.
     forms FILE.g RUNTIME_DIR
   For each entry: -O0 on one thread is within a tolerance of the reference interpreter, and -O1 and
   -O2 on one, two, three and five threads, dead bytes poisoned or not, with every value row-major
   or not, give the same bits as -O0.
 */
#include "lang/ast.h"
#include "lang/elab.h"
#include "tests/num/harness.h"
#include "tests/num/random_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Variant {
  const char *name, *memory;
  int level, threads;
  bool poison;
  const char *passes; /* NULL: those of the level */
} Variant;

static const char plain[] =
    "fold,cse,dce,autodiff,fold,cse,dce,fuse,order,liveness,inplace,share,plan-verify";

static const Variant variants[] = {
    {"-O0 none", "none", 0, 1, false, NULL},
    {"-O2 pack", "pack", 2, 1, false, NULL},
    {"-O2 pack, 2 threads", "pack", 2, 2, true, NULL},
    {"-O2 pool, 3 threads", "pool", 2, 3, false, NULL},
    {"-O1 pack, 5 threads", "pack", 1, 5, true, NULL},
    {"row-major, 2 threads", "pack", 2, 2, false, plain},
};

static Module *module_from(Ctx *c, const char *file) {
  bool unreadable;
  Program *p = parse_file(c, file, &unreadable);
  ElabOptions o = {0};
  Module *m = p ? elaborate(c, p, &o) : NULL;
  if (!m) exit(2);
  return m;
}

/* The whole numbers and labels of random_inputs are small; floats lie around 0. */
static Tensor *inputs_of(Arena *a, const Entry *e) { return random_inputs(a, e, 7); }

typedef struct Results {
  int n;
  Tensor at[512];
} Results;

static int outputs_of(const Entry *e) {
  const ValueId *v;
  const char *const *names;
  return entry_outputs(e, &v, &names);
}

static bool same_bits(Scalar x, Scalar y, Dtype dt) {
  if (!dtype_is_float(dt)) return x.i == y.i;
  return (x.f != x.f && y.f != y.f) || (x.f == y.f && signbit(x.f) == signbit(y.f));
}

/* Sums of up to 200,000 numbers in f32; halves have 8 or 11 bits. */
static bool near(Scalar x, Scalar y, Dtype dt) {
  if (!dtype_is_float(dt)) return x.i == y.i;
  if (x.f != x.f || y.f != y.f) return x.f != x.f && y.f != y.f;
  double eps = dt == DT_F64 ? 1e-11 : dt == DT_F32 ? 1e-4 : dt == DT_F16 ? 4e-3 : 3e-2;
  return x.f == y.f || fabs(x.f - y.f) <= eps * fmax(1, fmax(fabs(x.f), fabs(y.f)));
}

static int compare(const Module *m, const char *how, const Results *want, const Results *got,
                   bool bits) {
  int k = 0, failures = 0;
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i];
    const ValueId *v;
    const char *const *names;
    int n = entry_outputs(e, &v, &names);
    for (int j = 0; j < n; j++, k++) {
      const Type *t = want->at[k].type;
      int64_t bad = 0, first = -1;
      for (int64_t x = 0; x < t->numel; x++) {
        Scalar p = want->at[k].at[x], q = got->at[k].at[x];
        if (bits ? same_bits(p, q, t->dtype) : near(p, q, t->dtype)) continue;
        if (!bad++) first = x;
      }
      if (!bad) continue;
      failures++;
      bool real = dtype_is_float(t->dtype);
      printf("%s: %s.%s: %lld of %lld elements differ, first %lld: ", how, e->name, names[j],
             (long long)bad, (long long)t->numel, (long long)first);
      if (real)
        printf("%.9g, wanted %.9g\n", got->at[k].at[first].f, want->at[k].at[first].f);
      else
        printf("%lld, wanted %lld\n", (long long)got->at[k].at[first].i,
               (long long)want->at[k].at[first].i);
    }
  }
  return failures;
}

static void interpret(Ctx *c, const char *file, Arena *a, Results *r) {
  Module *m = module_from(c, file);
  PassOptions po = {.memory = "none"};
  if (!passes_run(m, "autodiff", &po)) exit(2);
  Interp *it = interp_new(m, INTERP_DTYPE, 1);
  if (m->init && !interp_run(it, m->init, NULL, NULL)) exit(2);
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i];
    if (!interp_run(it, e, inputs_of(a, e), r->at + r->n)) {
      printf("the interpreter cannot run %s: %s\n", e->name, it->why);
      exit(2);
    }
    r->n += outputs_of(e);
  }
}

static bool compile_and_run(Ctx *c, const char *file, const char *runtime, Arena *a,
                            const Variant *v, Results *r) {
  Module *m = module_from(c, file);
  CodegenOptions co = {.version = "test", .runtime_dir = runtime, .level = v->level};
  const Target *t = target_cpu(c, &co);
  PassOptions po = {.target = t, .memory = v->memory, .verify_each = true};
  if (!passes_run(m,
                  arena_printf(a, "autodiff,%s", v->passes ? v->passes : passes_pipeline(v->level)),
                  &po))
    return false;
  Compiled *p = compiled_open(m, t, &co, NULL);
  if (!p) return false;
  RunOptions ro = {.threads = v->threads, .order = 11, .poison = v->poison, .seed = 1};
  compiled_init(p, &ro);
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i];
    if (!compiled_run(p, e->name, &ro, inputs_of(a, e), r->at + r->n, c)) {
      printf("%s: %s: %s\n", v->name, e->name, p->fault);
      return false;
    }
    r->n += outputs_of(e);
  }
  return true; /* left open: the results lie in it */
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: forms FILE.g RUNTIME_DIR\n");
    return 2;
  }
  Ctx *c = ctx_new();
  Arena *a = arena_new();
  static Results oracle, base, other;
  interpret(c, argv[1], a, &oracle);
  if (!compile_and_run(c, argv[1], argv[2], a, &variants[0], &base)) return 1;
  const Module *m = module_from(c, argv[1]);
  int failures = compare(m, "-O0 against the interpreter", &oracle, &base, false);
  for (size_t v = 1; v < sizeof variants / sizeof variants[0]; v++) {
    other.n = 0;
    if (!compile_and_run(c, argv[1], argv[2], a, &variants[v], &other))
      failures++;
    else
      failures += compare(m, variants[v].name, &base, &other, true);
  }
  printf("%d results of %u entries in %zu ways: %d failures\n", base.n, m->entries.n,
         sizeof variants / sizeof variants[0], failures);
  return failures != 0;
}
