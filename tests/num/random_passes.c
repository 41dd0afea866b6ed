/* Random programs through the passes: what the reference interpreter says must stay.
   Contract: `random_passes [--all] [COUNT [FIRST]]` runs COUNT programs of each kind from seed
   FIRST and exits with 1 after the first that differs, printed with its seed and both texts.

   Bit for bit: folded = raw; gradients cleaned up = raw gradients; after any one pass, and after
   passes in a random order = raw gradients; planned by every strategy and proven = raw gradients.
   In f64, nearly: gradients of the folded program, and of one after passes in a random order, =
   those of the raw one; gradients = central differences. Each program goes through several orders
   of passes, and through every second pass singly; with --all, or made for what passes look for,
   through every pass. Fails also where a pass of the list is in no run, or changes nothing in
   any. */
#include "passes/passes.h"
#include "random_history.h"
#include "random_nets.h"
#include "random_program.h"
#include "tests/level.h"

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
static const char planned[] =
    "guard,autodiff,fold,hoist,cse,dce,shared-stacks{all=1},cheap-remat{least=1},fuse,dce,"
    "layout,order,liveness,inplace,"
    "share,plan-verify";
static const char *const strategies[] = {"none", "inplace", "pool", "color", "pack"};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

/* What may stand behind autodiff, with options that make it act, and what it needs there. The first
   may stand anywhere, the next ones before fusion, once or twice; the plan ends it. */
static const char *const single[][2] = {
    {"fold"},
    {"hoist"},
    {"cse"},
    {"dce"},
    {"gather-matmul"},
    {"cheap-remat{least=1}"},
    {"shared-stacks{all=1}"},
    {"concat-split{all=1}"},
    {"image-tiles{all=1}"},
    {"row-tiles{rows=2}"},   /* which adds up in another order: not where bits are compared */
    {"microbatch{parts=2}"}, /* nor this one: the interpreter rounds where a part ends */
    {"fuse"},
    {"layout"},
    {"order"},
    {"remat{effort=1}", "order,"},
    {"liveness,inplace,streams,share,plan-verify", "order,"},
};
enum {
  SINGLE = sizeof single / sizeof *single,
  ANYTIME = 5,
  BEFORE_FUSION = 9,
  REGROUPING = 2, /* behind them */
  ORDERS = 3
};

/* ---- which passes ran, and acted ---- */

static struct {
  const char *name;
  long runs, changes;
} passes[] = {
#define PASS(ID, NAME, ...) {.name = NAME},
#include "passes/passes.def"
#undef PASS
};
enum { PASSES = sizeof passes / sizeof *passes };

/* From the table of --stats: a pass and its changes a line. */
static void count(const char *stats) {
  char name[32];
  long changes;
  for (; (stats = strchr(stats, '\n'));) {
    if (sscanf(++stats, "%31s %ld", name, &changes) != 2) continue;
    for (int i = 0; i < PASSES; i++) {
      if (strcmp(passes[i].name, name) != 0) continue;
      passes[i].runs++;
      passes[i].changes += changes;
    }
  }
}

/* A pass that only finds out or proves has nothing to change. */
static bool every_pass_acts(void) {
  bool ok = true;
  for (int i = 0; i < PASSES; i++) {
    bool looks =
        strcmp(passes[i].name, "liveness") == 0 || strcmp(passes[i].name, "plan-verify") == 0;
    if (passes[i].runs && (passes[i].changes || looks)) continue;
    fprintf(stderr, "%s: %ld runs, %ld changes\n", passes[i].name, passes[i].runs,
            passes[i].changes);
    ok = false;
  }
  return ok;
}

/* Memory is to be had for remat to save. */
static bool prepare(Module *m, const char *pipeline, uint64_t seed) {
  char *stats = NULL;
  size_t bytes;
  PassOptions o = {.verify_each = true,
                   .target = &random_target,
                   .memory = strategies[seed % STRATEGIES],
                   .streams = 1 + (int)(seed / STRATEGIES % 4),
                   .limit.share = strstr(pipeline, "remat") ? 0.7 : 0,
                   .plan_seconds = 0.001,
                   .trial = true, /* a limit that cannot be met is no error */
                   .stats = true,
                   .out = open_memstream(&stats, &bytes)};
  if (!o.out) exit(3);
  bool ok = module_verify(m, "random_program") && passes_run(m, pipeline, &o);
  fclose(o.out);
  count(stats);
  free(stats);
  return ok;
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

/* How programs are made: with these options, or otherwise. */
typedef struct Kind {
  RandomOptions o;
  Module *(*make)(Ctx *c, uint64_t seed); /* or NULL */
} Kind;

static Module *make(Ctx *c, const Kind *k, uint64_t seed) {
  return k->make ? k->make(c, seed) : random_program(c, seed, k->o);
}

/* How results are compared: bit for bit, nearly in f64, or bit for bit in f64, where nothing is
   rounded to the dtypes that a program names. */
typedef enum Held { BITS, NEARLY, UNROUNDED } Held;

static InterpMode mode_of(Held how) { return how == BITS ? INTERP_DTYPE : INTERP_F64; }

/* What a program gives after the first pipeline; others are held to it. */
typedef struct Base {
  Ctx *c;
  const Kind *kind;
  uint64_t seed;
  const char *pipeline;
  Result result;
  Held how;
} Base;

static bool base_open(Base *b, const Kind *k, uint64_t seed, const char *pipeline, Held how) {
  *b = (Base){.c = ctx_new(), .kind = k, .seed = seed, .pipeline = pipeline, .how = how};
  Module *m = make(b->c, k, seed);
  bool ok = prepare(m, pipeline, seed);
  if (ok) b->result = evaluate(m, mode_of(how), seed);
  if (!ok) {
    fprintf(stderr, "seed %llu: '%s' fails\n", (unsigned long long)seed, pipeline);
    module_print(stderr, make(b->c, k, seed), &(PrintOptions){0});
  }
  module_free(m);
  return ok;
}

static void base_close(Base *b) {
  if (b->result.a) arena_free(b->result.a);
  ctx_free(b->c);
}

static bool agrees(const Base *b, const char *pipeline) {
  Module *m = make(b->c, b->kind, b->seed);
  bool ok = prepare(m, pipeline, b->seed);
  if (ok) {
    Result r = evaluate(m, mode_of(b->how), b->seed);
    ok = equal(&b->result, &r, b->how != NEARLY, b->seed, pipeline);
    arena_free(r.a);
  } else {
    fprintf(stderr, "seed %llu: '%s' fails\n", (unsigned long long)b->seed, pipeline);
  }
  if (!ok) {
    fprintf(stderr, "seed %llu: '%s' against '%s'\n", (unsigned long long)b->seed, b->pipeline,
            pipeline);
    Module *raw = make(b->c, b->kind, b->seed);
    (void)passes_run(raw, b->pipeline, &(PassOptions){.target = &random_target});
    module_print(stderr, raw, &(PrintOptions){0});
    module_print(stderr, m, &(PrintOptions){0});
    module_free(raw);
  }
  module_free(m);
  return ok;
}

static bool compare(const Kind *k, uint64_t seed, const char *first, const char *second, Held how) {
  Base b;
  bool ok = base_open(&b, k, seed, first, how) && agrees(&b, second);
  base_close(&b);
  return ok;
}

/* A few of the first n passes in any order, some twice. */
static const char *some(Arena *a, uint64_t *rng, const char *so_far, int n, int most) {
  for (int64_t k = random_below(rng, most + 1); k > 0; k--)
    so_far = arena_printf(a, "%s%s%s", so_far, *so_far ? "," : "", single[random_below(rng, n)][0]);
  return so_far;
}

/* Passes in a random order: some before autodiff if they may, some behind it, perhaps fusion and
   layout with more around them, and a plan that is proven. */
static const char *random_order(Arena *a, uint64_t *rng, bool bits) {
  const char *p = some(a, rng, "", ANYTIME, bits ? 0 : 4);
  p = arena_printf(a, "%s%sautodiff", p, *p ? "," : "");
  p = some(a, rng, p, BEFORE_FUSION + (bits ? 0 : REGROUPING), 6);
  if (random_below(rng, 3)) p = some(a, rng, arena_printf(a, "%s,fuse", p), ANYTIME, 3);
  if (random_below(rng, 2)) p = arena_printf(a, "%s,layout", p);
  const char *again = random_below(rng, 16) ? "" : "remat{effort=1},";
  return arena_printf(a, "%s,order,%sliveness,inplace,streams,share,plan-verify", p, again);
}

static bool all; /* passes singly, for every program */

/* Passes alone and random orders of them. */
static bool orders(const Base *b) {
  Arena *a = arena_new();
  uint64_t rng = b->seed * 2 + 1;
  bool ok = true;
  for (int i = 0; i < SINGLE && ok; i++) {
    bool turn = all || b->kind->make || (b->seed + (uint64_t)i) % 2 == 0;
    bool regroups = i >= BEFORE_FUSION && i < BEFORE_FUSION + REGROUPING;
    if (!turn || (b->how == BITS) == regroups) continue;
    const char *needs = single[i][1] ? single[i][1] : "";
    ok = agrees(b, arena_printf(a, "autodiff,%s%s", needs, single[i][0]));
  }
  for (int i = 0; i < ORDERS && ok; i++) ok = agrees(b, random_order(a, &rng, b->how == BITS));
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

static bool differences(const Kind *k, uint64_t seed, const char *pipeline, Tally *tally) {
  Ctx *c = ctx_new();
  Module *m = make(c, k, seed);
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
    int nth;
    unsigned x;
    char kind[3] = "", loss[32];
    if (sscanf(name[i], "d%d_%2[ing]%u", &nth, kind, &x) != 3) continue;
    snprintf(loss, sizeof loss, "loss%d", nth);
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
    module_print(stderr, make(c, k, seed), &(PrintOptions){0});
    module_print(stderr, m, &(PrintOptions){0});
  }
  interp_free(p.it);
  arena_free(a);
  module_free(m);
  ctx_free(c);
  return ok;
}

/* Gradients and stores of a program bit for bit, through all that keeps bits. */
static bool exactly(const Kind *k, uint64_t seed) {
  Base b;
  bool ok = base_open(&b, k, seed, before, BITS) && agrees(&b, cleaned) && agrees(&b, planned) &&
            orders(&b);
  base_close(&b);
  return ok;
}

static bool nearly(const Kind *k, uint64_t seed) {
  Base b;
  bool ok = base_open(&b, k, seed, before, NEARLY) && agrees(&b, whole) && orders(&b);
  base_close(&b);
  return ok;
}

/* Operands of fewer bits change numbers by the rounding that they ask for and by nothing else:
   where no dtype rounds, all bits stay. What the rounding does, and tf32, which is an op that
   rounds in f64 as well, is for tests of programs. */
static bool narrowed(const Kind *k, uint64_t seed) {
  return compare(k, seed, before, "autodiff,precision{products=bf16},widen,fuse,dce,order",
                 UNROUNDED);
}

int main(int argc, char **argv) {
  all = argc > 1 && strcmp(argv[1], "--all") == 0;
  argc -= all, argv += all;
  long count = argc > 1 ? strtol(argv[1], NULL, 10) : 5000;
  long first = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
  const Kind plain = {.o = {.narrow = true, .stores = true}};
  const Kind trained = {.o = {.narrow = true, .grads = true, .stores = true}};
  const Kind exact = {.o = {.doubles = true, .grads = true}}; /* folding rounds narrow constants */
  const Kind smooth = {
      .o = {.doubles = true, .smooth = true, .grads = true, .ops = 14, .numel = 40}};
  const Kind attends = {.o = {.narrow = true, .grads = true, .attends = true, .ops = 4}};
  const Kind exact_attends = {.o = {.doubles = true, .grads = true, .attends = true, .ops = 4}};
  const Kind smooth_attends = {
      .o = {.doubles = true, .smooth = true, .grads = true, .attends = true, .ops = 4}};
  const Kind nets = {.make = random_net}, histories = {.make = random_history};
  Tally tally = {0};
  bool ok = true;
  level_say((uint64_t)first, (uint64_t)count);
  for (long i = 0; ok && i < count; i++) {
    const uint64_t seed = level_case((uint64_t)first, (uint64_t)i, (uint64_t)count), s = seed;
    const char *either = s % 2 ? before : whole;
    ok = compare(&plain, seed, before, whole, BITS) && exactly(&trained, seed) &&
         nearly(&exact, seed) && differences(&smooth, seed, either, &tally);
    if (ok && s % 10 == 0) ok = narrowed(&trained, seed);
    if (ok && s % 20 == 1)
      ok = exactly(&attends, seed) && nearly(&exact_attends, seed) &&
           differences(&smooth_attends, seed, either, &tally);
    if (ok && s % 20 == 3)
      ok = exactly(&nets, seed) && nearly(&nets, seed) && narrowed(&nets, seed);
    if (ok && s % 50 == 7) ok = exactly(&histories, seed);
  }
  printf("%ld programs; slopes: %lld agree, %lld are 0, %lld at kinks\n", count,
         (long long)tally.agree, (long long)tally.flat, (long long)tally.rough);
  if (tally.agree < tally.rough) { /* then this says nothing about gradients */
    fprintf(stderr, "most slopes could not be told\n");
    ok = false;
  }
  enum { ENOUGH = 1000 }; /* programs, for every pass to find something; fewer repeat a seed */
  if (ok && count >= ENOUGH && !every_pass_acts()) ok = false;
  return ok ? 0 : 1;
}
