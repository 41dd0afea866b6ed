/* Random programs through the passes: what the reference interpreter says must stay.
   Contract: `random_passes [COUNT [FIRST]]` runs COUNT programs of each kind from seed
   FIRST and exits with 1 after the first that differs, printed with its seed and both texts.

   Bit for bit: folded = raw; gradients cleaned up = raw gradients; after any one pass, and after
   passes in a random order = raw gradients; planned by every strategy and proven = raw gradients.
   In f64, nearly: gradients of the folded program, and of one after passes in a random order, =
   those of the raw one; gradients = central differences. Each program goes through every pass
   singly and through several orders. */
#include "passes/passes.h"
#include "random_program.h"

#include <math.h>
#include <stdlib.h>

typedef struct Result {
  Arena *a;
  int n;
  Tensor *out; /* of the entry e0, then the globals */
  const char *const *name;
  char why[256];
} Result;

static const char before[] = "autodiff";
static const char cleaned[] = "autodiff,fold,cse,dce";
static const char whole[] = "fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce";
static const char planned[] = "autodiff,fold,cse,dce,history{all=1},recompute{least=1},fuse,dce,"
                              "layout,order,liveness,inplace,"
                              "share,plan-verify";
static const char *const strategies[] = {"none", "inplace", "pool", "pack"};
/* What may stand anywhere behind autodiff, and the plan, which ends it. */
static const char *const single[] = {
    "fold",           "hoist", "cse",    "dce",   "recompute{least=1}",
    "history{all=1}", "fuse",  "layout", "order", "remat"};
enum { SINGLE = sizeof single / sizeof *single, ANYTIME = 4, BEFORE_FUSION = 6, ORDERS = 4 };

static bool prepare(Module *m, const char *pipeline, uint64_t seed) {
  PassOptions o = {.verify_each = true, .target = &random_target, .memory = strategies[seed % 4]};
  return module_verify(m, "random_program") && passes_run(m, pipeline, &o);
}

static Interp *start(Module *m, InterpMode mode, uint64_t seed) {
  Interp *it = interp_new(m, mode, seed);
  if (m->init) interp_run(it, m->init, NULL, NULL);
  return it;
}

static Result evaluate(Module *m, InterpMode mode, uint64_t seed) {
  const Entry *e = m->entries.at[0];
  Result r = {.a = arena_new()};
  const ValueId *v;
  int n = entry_outputs(e, &v, &r.name);
  r.out = ARENA_ARRAY(r.a, Tensor, n + (int)m->globals.n);
  Interp *it = start(m, mode, seed);
  Tensor *out = ARENA_ARRAY(r.a, Tensor, n + 1);
  if (!interp_run(it, e, random_inputs(r.a, e, seed), out)) {
    memcpy(r.why, it->why, sizeof r.why);
    interp_free(it);
    return r;
  }
  for (int i = 0; i < n; i++) r.out[i] = out[i];
  for (uint32_t i = 0; i < m->globals.n; i++) r.out[n + (int)i] = it->globals[i];
  r.n = n + (int)m->globals.n;
  for (int i = 0; i < r.n; i++) {
    size_t bytes = sizeof(Scalar) * (size_t)r.out[i].type->numel;
    r.out[i].at = memcpy(arena_alloc(r.a, bytes), r.out[i].at, bytes);
  }
  interp_free(it);
  return r;
}

static bool same_bits(const Type *t, Scalar x, Scalar y) {
  return x.i == y.i || (dtype_is_float(t->dtype) && x.f != x.f && y.f != y.f);
}

/* Different orders of summation, on values that may cancel: relative to the largest of the tensor.
   A NaN of the raw program may be gone: that of a branch that `where` never takes flows into
   gradients as 0 x NaN, unless folding has removed the branch. None may come. */
static bool close(double x, double y, double scale) {
  if (x != x) return true;
  if (y != y) return false;
  if (isinf(x) || isinf(y)) return x == y;
  return fabs(x - y) <= 1e-6 * (scale + 1e-3);
}

static bool equal(const Result *x, const Result *y, bool exact, uint64_t seed, const char *what) {
  if (x->why[0] || y->why[0] || x->n != y->n) {
    fprintf(stderr, "seed %llu, %s: '%s' against '%s'\n", (unsigned long long)seed, what, x->why,
            y->why);
    return false;
  }
  for (int i = 0; i < x->n; i++) {
    const Type *t = x->out[i].type;
    double scale = 0;
    for (int64_t k = 0; k < t->numel && dtype_is_float(t->dtype); k++)
      if (isfinite(x->out[i].at[k].f)) scale = fmax(scale, fabs(x->out[i].at[k].f));
    for (int64_t k = 0; k < t->numel; k++) {
      Scalar a = x->out[i].at[k], b = y->out[i].at[k];
      bool ok =
          same_bits(t, a, b) || (!exact && dtype_is_float(t->dtype) && close(a.f, b.f, scale));
      if (ok) continue;
      bool real = dtype_is_float(t->dtype);
      fprintf(stderr, "seed %llu, %s: result %d element %lld: %.17g against %.17g\n",
              (unsigned long long)seed, what, i, (long long)k, real ? a.f : (double)a.i,
              real ? b.f : (double)b.i);
      return false;
    }
  }
  return true;
}

/* ---- one program in several pipelines ---- */

/* What a program gives after the first pipeline; others are held to it. */
typedef struct Base {
  Ctx *c;
  RandomOptions o;
  uint64_t seed;
  const char *pipeline;
  Result result;
  bool exact;
} Base;

static bool base_open(Base *b, RandomOptions o, uint64_t seed, const char *pipeline, bool exact) {
  *b = (Base){.c = ctx_new(), .o = o, .seed = seed, .pipeline = pipeline, .exact = exact};
  Module *m = random_program(b->c, seed, o);
  bool ok = prepare(m, pipeline, seed);
  if (ok) b->result = evaluate(m, exact ? INTERP_DTYPE : INTERP_F64, seed);
  if (!ok) {
    fprintf(stderr, "seed %llu: '%s' fails\n", (unsigned long long)seed, pipeline);
    module_print(stderr, random_program(b->c, seed, o), &(PrintOptions){0});
  }
  module_free(m);
  return ok;
}

static void base_close(Base *b) {
  if (b->result.a) arena_free(b->result.a);
  ctx_free(b->c);
}

static bool agrees(const Base *b, const char *pipeline) {
  Module *m = random_program(b->c, b->seed, b->o);
  bool ok = prepare(m, pipeline, b->seed);
  if (ok) {
    Result r = evaluate(m, b->exact ? INTERP_DTYPE : INTERP_F64, b->seed);
    ok = equal(&b->result, &r, b->exact, b->seed, pipeline);
    arena_free(r.a);
  }
  if (!ok) {
    fprintf(stderr, "seed %llu: '%s' against '%s'\n", (unsigned long long)b->seed, b->pipeline,
            pipeline);
    Module *raw = random_program(b->c, b->seed, b->o);
    (void)passes_run(raw, b->pipeline, &(PassOptions){.target = &random_target});
    module_print(stderr, raw, &(PrintOptions){0});
    module_print(stderr, m, &(PrintOptions){0});
    module_free(raw);
  }
  module_free(m);
  return ok;
}

static bool compare(RandomOptions o, uint64_t seed, const char *first, const char *second,
                    bool exact) {
  Base b;
  bool ok = base_open(&b, o, seed, first, exact) && agrees(&b, second);
  base_close(&b);
  return ok;
}

/* A few of the first n passes in any order, some twice. */
static const char *some(Arena *a, uint64_t *rng, const char *so_far, int n, int most) {
  for (int64_t k = random_below(rng, most + 1); k > 0; k--)
    so_far = arena_printf(a, "%s%s%s", so_far, *so_far ? "," : "", single[random_below(rng, n)]);
  return so_far;
}

/* Passes in a random order: some before autodiff if they may, some behind it, perhaps fusion and
   layout with more around them, and a plan that is proven. */
static const char *random_order(Arena *a, uint64_t *rng, bool early) {
  const char *p = some(a, rng, "", ANYTIME, early ? 4 : 0);
  p = arena_printf(a, "%s%sautodiff", p, *p ? "," : "");
  p = some(a, rng, p, BEFORE_FUSION, 6);
  if (random_below(rng, 3)) p = some(a, rng, arena_printf(a, "%s,fuse", p), ANYTIME, 3);
  if (random_below(rng, 2)) p = arena_printf(a, "%s,layout", p);
  return arena_printf(a, "%s,order,liveness,inplace,share,plan-verify", p);
}

/* Every pass alone and random orders of them. */
static bool orders(const Base *b) {
  Arena *a = arena_new();
  uint64_t rng = b->seed * 2 + 1;
  bool ok = true;
  for (int i = 0; i < SINGLE && ok && b->exact; i++) {
    const char *needs = strcmp(single[i], "remat") == 0 ? "order," : "";
    ok = agrees(b, arena_printf(a, "autodiff,%s%s", needs, single[i]));
  }
  for (int i = 0; i < ORDERS && ok; i++) ok = agrees(b, random_order(a, &rng, !b->exact));
  arena_free(a);
  return ok;
}

/* ---- central differences ---- */

typedef struct Probe {
  Module *m;
  Interp *it;
  Tensor *in, *out; /* of entry e0 */
  Arena *a;
  Scalar **saved; /* globals before the run */
} Probe;

static void restore_globals(Probe *p, bool save) {
  for (uint32_t i = 0; i < p->m->globals.n; i++) {
    size_t bytes = sizeof(Scalar) * (size_t)p->m->globals.at[i].type->numel;
    if (save)
      p->saved[i] = memcpy(arena_alloc(p->a, bytes), p->it->globals[i].at, bytes);
    else
      memcpy(p->it->globals[i].at, p->saved[i], bytes);
  }
}

static double loss_at(Probe *p, int output, Scalar *at, double x) {
  double was = at->f;
  at->f = x;
  interp_run(p->it, p->m->entries.at[0], p->in, p->out);
  at->f = was;
  return p->out[output].at[0].f;
}

typedef enum Verdict { AGREES, DIFFERS, ROUGH } Verdict; /* ROUGH: a kink, or too large to tell */

/* One element's slope by differences of two steps; a kink shows as steps that disagree. */
static Verdict probe(Probe *p, int output, Scalar *at, double slope) {
  double x = at->f, h = 1e-4, d[2], f0 = loss_at(p, output, at, x), jump = 0;
  for (int i = 0; i < 2; i++, h /= 4) {
    double up = loss_at(p, output, at, x + h), down = loss_at(p, output, at, x - h);
    d[i] = (up - down) / (2 * h);
    jump = fmax(jump, fabs(up - 2 * f0 + down) / h);
  }
  double scale = fmax(fabs(d[1]), fabs(slope)) + 1e-2;
  if (!isfinite(f0) || fabs(f0) > 1e5 || !(fabs(d[0] - d[1]) < 1e-4 * scale)) return ROUGH;
  if (fabs(d[1] - slope) < 1e-3 * scale) return AGREES;
  return jump > 1e-3 * scale ? ROUGH : DIFFERS;
}

static int find_name(const char *const *name, int n, const char *want) {
  for (int i = 0; i < n; i++)
    if (strcmp(name[i], want) == 0) return i;
  return -1;
}

typedef struct Tally {
  int64_t agree, flat, rough; /* flat: both are 0 */
} Tally;

static bool differences(RandomOptions o, uint64_t seed, const char *pipeline, Tally *tally) {
  Ctx *c = ctx_new();
  Module *m = random_program(c, seed, o);
  bool ok = prepare(m, pipeline, seed);
  Arena *a = arena_new();
  const Entry *e = m->entries.at[0];
  const ValueId *v;
  const char *const *name;
  int n = entry_outputs(e, &v, &name);
  Probe p = {.m = m, .it = start(m, INTERP_F64, seed), .a = a, .in = random_inputs(a, e, seed)};
  p.out = ARENA_ARRAY(a, Tensor, n + 1);
  p.saved = ARENA_ARRAY(a, Scalar *, m->globals.n + 1);
  restore_globals(&p, true);
  uint64_t rng = seed;
  for (int i = 0; ok && i < n; i++) {
    int k;
    unsigned x;
    char kind[3] = "", loss[32];
    if (sscanf(name[i], "d%d_%2[ing]%u", &k, kind, &x) != 3) continue;
    snprintf(loss, sizeof loss, "loss%d", k);
    int output = find_name(name, n, loss);
    Tensor *t = kind[0] == 'i' ? &p.in[x] : &p.it->globals[x];
    for (int tries = 0; ok && tries < 3; tries++) {
      int64_t at = random_below(&rng, t->type->numel);
      interp_run(p.it, e, p.in, p.out);
      double slope = p.out[i].at[at].f;
      Verdict r = probe(&p, output, &t->at[at], slope);
      restore_globals(&p, false);
      ok = r != DIFFERS;
      if (r == AGREES && slope == 0)
        tally->flat++;
      else if (r == AGREES)
        tally->agree++;
      else
        tally->rough++;
      if (!ok)
        fprintf(stderr, "seed %llu: %s element %lld is %.9g, not the slope of %s\n",
                (unsigned long long)seed, name[i], (long long)at, slope, loss);
    }
  }
  if (!ok) {
    module_print(stderr, random_program(c, seed, o), &(PrintOptions){0});
    module_print(stderr, m, &(PrintOptions){0});
  }
  interp_free(p.it);
  arena_free(a);
  module_free(m);
  ctx_free(c);
  return ok;
}

/* Gradients and stores of a program bit for bit, through all that keeps bits. */
static bool exactly(RandomOptions o, uint64_t seed) {
  Base b;
  bool ok = base_open(&b, o, seed, before, true) && agrees(&b, cleaned) && agrees(&b, planned) &&
            orders(&b);
  base_close(&b);
  return ok;
}

static bool nearly(RandomOptions o, uint64_t seed) {
  Base b;
  bool ok = base_open(&b, o, seed, before, false) && agrees(&b, whole) && orders(&b);
  base_close(&b);
  return ok;
}

int main(int argc, char **argv) {
  long count = argc > 1 ? strtol(argv[1], NULL, 10) : 5000;
  long first = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
  RandomOptions plain = {.narrow = true, .stores = true};
  RandomOptions trained = {.narrow = true, .grads = true, .stores = true};
  RandomOptions exact = {.doubles = true, .grads = true}; /* folding rounds narrow constants */
  RandomOptions smooth = {.doubles = true, .smooth = true, .grads = true, .ops = 14, .numel = 40};
  Tally tally = {0};
  bool ok = true;
  for (long s = first; ok && s < first + count; s++) {
    uint64_t seed = (uint64_t)s;
    ok = compare(plain, seed, before, whole, true) && exactly(trained, seed) &&
         nearly(exact, seed) && differences(smooth, seed, s % 2 ? before : whole, &tally);
  }
  printf("%ld programs; slopes: %lld agree, %lld are 0, %lld at kinks\n", count,
         (long long)tally.agree, (long long)tally.flat, (long long)tally.rough);
  if (tally.agree < tally.rough) { /* then this says nothing about gradients */
    fprintf(stderr, "most slopes could not be told\n");
    ok = false;
  }
  return ok ? 0 : 1;
}
