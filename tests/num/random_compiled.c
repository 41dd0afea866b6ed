/* Random programs, compiled: the same numbers from every way of compiling them.
     random_compiled FIRST COUNT RUNTIME_DIR
   For each batch of programs (one module with many entries, one run of the C compiler each):
   - all floats f64: -O2 agrees with the reference interpreter to 1e-9, relative;
   - mixed dtypes: -O2 and every memory strategy give, bit for bit, what -O0 with `none` gives, on
   one thread and on three (run in any order between barriers), with and without poison, in one
   stream and in several, and under limits.
   The C compiler takes most of the time, so beside f64 and -O2, one of which its optimiser
   compiles, a batch has one of the others, which its seed draws. `random_compiled --all …` gives
   each batch all. Prints the seed of what differs; `random_compiled --all SEED 1 DIR` runs it
   again. A third of the batches each is compiled for this machine, for AVX2 and for plain x86-64;
   half of them have seeds that follow from the commit (level.h). `random_compiled --streams …`
   takes instead every strategy, and three limits, with 1, 2 and 4 streams each. */
#include "tests/level.h"
#include "tests/num/harness.h"
#include "tests/num/random_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With the initial values no more entries than errors are shown: each may be refused. */
enum { BATCH = 19, LATE = 4 };

typedef struct Variant {
  const char *name, *memory;
  int level, threads;
  bool poison;
  int limit; /* 1 to 3: the least that can be met, and thirds of the way from there; 0: none */
  const char *cflags; /* of the C compiler */
  int streams;
} Variant;

static const Variant variants[] = {
    {"-O0 none", "none", 0, 1, false, 0, "-O0", 1},
    {"-O2 pack", "pack", 2, 1, false, 0, "-O1", 1},
    {"-O2 pack 3 threads", "pack", 2, 3, false, 0, "-O0", 1},
    {"-O2 inplace poison", "inplace", 2, 1, true, 0, "-O0", 1},
    {"-O2 pool poison", "pool", 2, 2, true, 0, "-O0", 1},
    {"-O1 pack poison", "pack", 1, 2, true, 0, "-O0", 1},
    {"-O2 limited poison", "pack", 2, 2, true, 1, "-O0", 1},
    {"-O2 pack 2 streams", "pack", 2, 3, false, 0, "-O0", 2},
    {"-O2 pool 4 streams", "pool", 2, 4, false, 0, "-O0", 4},
    {"-O2 limited 2 streams", "pack", 2, 4, false, 2, "-O0", 2},
};

enum { VARIANTS = sizeof variants / sizeof variants[0], OPTIMISED = 1, SIMPLE = 2 };

static bool all, wide; /* --all, --streams */

/* Whether the batch has the variant: 0 stands for f64. */
static bool is_drawn(uint64_t seed, size_t v) {
  uint64_t rng = seed;
  size_t other = SIMPLE + (size_t)random_below(&rng, VARIANTS - SIMPLE);
  return all || v == 0 || v == OPTIMISED || v == other;
}

/* Values that are read late, which recomputation can save: most small programs have none. */
static int late_of(uint64_t seed) {
  bool limited = wide;
  for (size_t v = 0; v < VARIANTS; v++) limited |= variants[v].limit && is_drawn(seed, v);
  return limited ? LATE : 0;
}

typedef struct Results {
  int n; /* outputs of all entries, then globals */
  Tensor *at;
  const char **name; /* "e3.loss0", a global's path */
} Results;

static Module *make(Ctx *c, uint64_t seed, bool doubles) {
  RandomOptions o = {.entries = BATCH,
                     .grads = true,
                     .stores = true,
                     .late = doubles ? 0 : late_of(seed),
                     .narrow = !doubles,
                     .doubles = doubles,
                     .smooth = doubles};
  return random_program(c, seed, o);
}

static void append_globals(const Module *m, Results *r, Arena *a, const Interp *it) {
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    if (g->kind == GLOBAL_HYPER) continue;
    Tensor t = {g->type, ARENA_ARRAY(a, Scalar, g->type->numel + 1)};
    if (it) memcpy(t.at, it->globals[i].at, sizeof(Scalar) * (size_t)g->type->numel);
    r->name[r->n] = g->path;
    r->at[r->n++] = t;
  }
}

/* Globals of the program by path: the compiled order leaves hypers out. */
static void read_globals(const Module *m, Results *r, Arena *a, Compiled *c) {
  int start = r->n;
  append_globals(m, r, a, NULL);
  int k = start;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    if (m->globals.at[i].kind == GLOBAL_HYPER) continue;
    for (int j = 0; j < c->program->nglobals; j++)
      if (strcmp(c->program->globals[j].t.name, m->globals.at[i].path) == 0)
        compiled_get(c, j, r->at[k].at);
    k++;
  }
}

static void results_new(Results *r, Arena *a, int n) {
  r->at = ARENA_ARRAY(a, Tensor, n + 1);
  r->name = ARENA_ARRAY(a, const char *, n + 1);
}

static void append(Results *r, Ctx *c, Tensor t, const Entry *e, int output) {
  const ValueId *values;
  const char *const *names;
  entry_outputs(e, &values, &names);
  r->name[r->n] = intern_printf(c, "%s.%s", e->name, names[output]);
  r->at[r->n++] = t;
}

static int capacity(const Module *m) {
  int n = (int)m->globals.n;
  for (uint32_t i = 0; i < m->entries.n; i++) n += entry_outputs(m->entries.at[i], NULL, NULL);
  return n;
}

static bool interpret(Ctx *c, Arena *a, uint64_t seed, Results *r) {
  Module *m = make(c, seed, true);
  PassOptions po = {.verify_each = true, .memory = "none"};
  if (!passes_run(m, "autodiff", &po)) return false;
  Interp *it = interp_new(m, INTERP_DTYPE, seed);
  if (m->init && !interp_run(it, m->init, NULL, NULL)) return false;
  results_new(r, a, capacity(m));
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i];
    int n = entry_outputs(e, NULL, NULL);
    Tensor *out = ARENA_ARRAY(a, Tensor, n + 1);
    if (!interp_run(it, e, random_inputs(a, e, seed + i), out)) return false;
    for (int j = 0; j < n; j++) append(r, c, out[j], e, j);
  }
  append_globals(m, r, a, it);
  return true; /* the interpreter's arena stays: results point into it */
}

static int limits_asked, limits_given;

/* In at most so many bytes; 0: without a limit. NULL: that cannot be met, and *why says so.
   Gradients come first: merging before autodiff is allowed to change their rounding. */
static Module *plan(Ctx *c, uint64_t seed, bool doubles, const Variant *v, const Target *t,
                    uint64_t limit, char **why) {
  Arena *a = arena_new();
  const char *pipeline = arena_printf(a, "autodiff,%s", random_pipeline(a, v->level));
  size_t size;
  Module *m = make(c, seed, doubles);
  PassOptions po = {.target = t,
                    .memory = v->memory,
                    .limit.bytes = limit,
                    .verify_each = true,
                    .streams = v->streams};
  FILE *f = why ? open_memstream(why, &size) : stderr;
  ctx_set_stream(c, f);
  bool ok = passes_run(m, pipeline, &po);
  ctx_set_stream(c, stderr);
  if (why) fclose(f);
  arena_free(a);
  return ok ? m : NULL;
}

/* Between the least that all entries can do with and the most that one takes; 0: these are one.
   False where one byte is not refused with a least. */
static bool limit_of(Ctx *c, uint64_t seed, const Variant *v, const Target *t, uint64_t *limit) {
  const Module *m = plan(c, seed, false, v, t, 0, NULL);
  uint64_t most = 0, least = 0;
  for (uint32_t i = 0; m && i < m->entries.n; i++) {
    uint64_t bytes = plan_of(m->entries.at[i])->arena_bytes;
    if (bytes > most) most = bytes;
  }
  char *why = NULL;
  Ctx *own = ctx_new(); /* shows so many errors at most */
  bool refused = most <= 1 || (!plan(own, seed, false, v, t, 1, &why) && random_refused(why));
  if (!refused) printf("seed %llu, one byte: %s\n", (unsigned long long)seed, why);
  least = why ? random_least(why) : most;
  ctx_free(own);
  free(why);
  *limit = least < most ? least + (most - least) / 3 * (uint64_t)(v->limit - 1) : 0;
  return refused;
}

static Module *planned(Ctx *c, uint64_t seed, bool doubles, const Variant *v, const Target *t) {
  uint64_t limit = 0;
  if (v->limit && !limit_of(c, seed, v, t, &limit)) return NULL;
  limits_asked += v->limit != 0;
  limits_given += limit != 0;
  return plan(c, seed, doubles, v, t, limit, NULL);
}

/* The C compiler's optimiser takes most of the time: f64 and -O2 have it in turn, and every sixth
   program all of it, as a user's have. */
static const char *optimiser(uint64_t seed, bool doubles, const Variant *v) {
  if (v != &variants[OPTIMISED]) return v->cflags;
  return doubles != (seed % 2 != 0) ? "-O0" : seed % 6 == 0 ? "-O3" : v->cflags;
}

static bool compile_and_run(Ctx *c, Arena *a, uint64_t seed, bool doubles, const Variant *v,
                            CodegenOptions co, Results *r) {
  const Target *t = target_cpu(c, &co);
  if (!t) return false;
  co.level = v->level;
  Module *m = planned(c, seed, doubles, v, t);
  if (!m) return false;
  Compiled *p = compiled_open(m, t, &co, optimiser(seed, doubles, v));
  if (!p) return false;
  RunOptions ro = {.threads = v->threads, .order = seed, .poison = v->poison, .seed = seed};
  compiled_init(p, &ro);
  results_new(r, a, capacity(m));
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i];
    int n = entry_outputs(e, NULL, NULL);
    Tensor *out = ARENA_ARRAY(a, Tensor, n + 1);
    bool ok = compiled_run(p, e->name, &ro, random_inputs(a, e, seed + i), out, c);
    if (!ok) {
      printf("seed %llu entry %s: %s\n", (unsigned long long)seed, e->name, p->fault);
      return false;
    }
    for (int j = 0; j < n; j++) { /* out of the program's arena, which is closed below */
      Tensor copy = {out[j].type, ARENA_ARRAY(a, Scalar, out[j].type->numel + 1)};
      memcpy(copy.at, out[j].at, sizeof(Scalar) * (size_t)out[j].type->numel);
      append(r, c, copy, e, j);
    }
  }
  read_globals(m, r, a, p);
  compiled_close(p);
  return true;
}

static bool same(Scalar x, Scalar y, Dtype dt, double tolerance) {
  if (!dtype_is_float(dt)) return x.i == y.i;
  if (x.f == y.f || (x.f != x.f && y.f != y.f))
    return tolerance > 0 || signbit(x.f) == signbit(y.f) || x.f != x.f;
  double scale = fmax(1, fmax(fabs(x.f), fabs(y.f)));
  return fabs(x.f - y.f) <= tolerance * scale;
}

static int compare(uint64_t seed, const char *name, const Results *want, const Results *got,
                   double tolerance) {
  if (want->n != got->n) {
    printf("seed %llu %s: %d results, not %d\n", (unsigned long long)seed, name, got->n, want->n);
    return 1;
  }
  for (int i = 0; i < want->n; i++)
    for (int64_t j = 0; j < want->at[i].type->numel; j++)
      if (!same(want->at[i].at[j], got->at[i].at[j], want->at[i].type->dtype, tolerance)) {
        printf("seed %llu %s: %s element %lld is %.17g, not %.17g\n", (unsigned long long)seed,
               name, want->name[i], (long long)j, got->at[i].at[j].f, want->at[i].at[j].f);
        return 1;
      }
  return 0;
}

static int against(uint64_t s, const Variant *v, CodegenOptions co, const Results *base, Ctx *c,
                   Arena *a) {
  Results r = {0};
  if (compile_and_run(c, a, s, false, v, co, &r)) return compare(s, v->name, base, &r, 0);
  printf("seed %llu %s: does not run\n", (unsigned long long)s, v->name);
  return 1;
}

/* Every strategy, limit and number of streams. */
static int all_streams(uint64_t s, CodegenOptions co, const Results *base, Ctx *c, Arena *a) {
  static const char *const memory[] = {"none", "inplace", "pool", "color", "pack"};
  int failures = 0;
  for (int streams = 1; streams <= 4; streams *= 2)
    for (int k = 0; k < 8; k++) {
      int limit = k < 5 ? 0 : k - 4;
      const char *how = memory[k < 5 ? k : 4];
      const char *name = arena_printf(a, "%s, %d streams, limit %d", how, streams, limit);
      Variant v = {name, how, 2, 4 + k % 2, false, limit, "-O0", streams};
      failures += against(s, &v, co, base, c, a);
    }
  return failures;
}

int main(int argc, char **argv) {
  all = argc > 1 && strcmp(argv[1], "--all") == 0;
  wide = argc > 1 && strcmp(argv[1], "--streams") == 0;
  argc -= all || wide;
  argv += all || wide;
  if (argc != 4) {
    fprintf(stderr, "usage: random_compiled [--all | --streams] FIRST COUNT RUNTIME_DIR\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
  int failures = 0, programs = 0;
  const uint64_t batches = (count + BATCH - 1) / BATCH;
  level_say(first, batches);
  for (uint64_t i = 0; i < batches; i++) {
    const uint64_t s = level_case(first, i, batches);
    CodegenOptions co = {.version = "test", .runtime_dir = argv[3], .march = harness_march(s)};
    Ctx *c = ctx_new();
    Arena *a = arena_new();
    Results oracle = {0}, f64 = {0}, base = {0};
    if (!wide) {
      if (interpret(c, a, s, &oracle) &&
          compile_and_run(c, a, s, true, &variants[OPTIMISED], co, &f64)) {
        failures += compare(s, "-O2 against the interpreter", &oracle, &f64, 1e-9);
      } else {
        printf("seed %llu: f64 does not run\n", (unsigned long long)s);
        failures++;
      }
    }
    size_t others = wide ? 0 : VARIANTS;
    if (!compile_and_run(c, a, s, false, &variants[0], co, &base))
      failures++, others = 0;
    else if (wide)
      failures += all_streams(s, co, &base, c, a);
    for (size_t v = 1; v < others; v++) {
      if (!is_drawn(s, v)) continue;
      failures += against(s, &variants[v], co, &base, c, a);
    }
    programs += BATCH;
    arena_free(a);
    ctx_free(c);
  }
  if (limits_asked)
    printf("%d of %d limited batches have room for one\n", limits_given, limits_asked);
  /* Of fewer, less than a third may be chance. */
  if (limits_asked >= 10 && limits_given * 3 < limits_asked) failures++;
  printf("%d programs, %d failures\n", programs, failures);
  return failures != 0;
}
