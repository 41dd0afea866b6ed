/* Random programs in the bytes of their plans: every strategy, three limits, and 1, 2 and 4 streams
   give, bit for bit, what the reference interpreter gives on values.
     random_plans [COUNT [FIRST]]        COUNT programs from seed FIRST, each in all ways
     random_plans --faults [COUNT [FIRST]]  breaks plans: what breaks must show in the results
   Contract: prints the seed of what differs, and exits with 1; --faults also where less than most
   faults of a kind show. */
#include "codegen/codegen.h"
#include "tests/num/compare.h"
#include "tests/num/planned.h"
#include "tests/num/random_program.h"

#include <stdio.h>
#include <stdlib.h>

static const char pipeline[] = "autodiff,fold,hoist,cse,dce,layout,order,remat,liveness,inplace,"
                               "color,share,plan-verify";

/* Small ones and large ones. */
static Module *make(Ctx *c, uint64_t seed) {
  RandomOptions o = {
      .grads = true, .stores = true, .narrow = true, .ops = 8 + (int)(seed * 37 % 56)};
  return random_program(c, seed, o);
}

typedef struct Way {
  const char *memory;
  int tenths; /* of the arena without a limit: what may be taken; 0: all */
} Way;
/* Limits come last, each tighter than the one before. */
static const Way ways[] = {{"none", 0}, {"inplace", 0}, {"pool", 0}, {"color", 0},
                           {"pack", 0}, {"pack", 9},    {"pack", 7}, {"pack", 5}};
enum { WAYS = sizeof ways / sizeof *ways };

typedef struct Tally {
  long plans, refused;
  uint64_t arena[WAYS]; /* bytes of all programs in one stream */
} Tally;

/* ---- one run ---- */

typedef struct Outcome { /* the entry's outputs, then the globals */
  int n;
  Tensor *at;
  const char *why;
} Outcome;

static Outcome run(Module *m, const Target *t, uint64_t seed, uint64_t order, Arena *a) {
  const Entry *e = m->entries.at[0];
  const ValueId *v;
  const char *const *name;
  int n = entry_outputs(e, &v, &name), globals = (int)m->globals.n;
  Outcome r = {.n = n + globals, .at = ARENA_ARRAY(a, Tensor, n + globals + 1)};
  Interp *it = interp_new(m, INTERP_DTYPE, seed);
  Tensor *in = random_inputs(a, e, seed);
  if (m->init) interp_run(it, m->init, NULL, NULL);
  bool ok = t ? planned_run(it, e, t, order, in, r.at) : interp_run(it, e, in, r.at);
  if (!ok) r.why = arena_strdup(a, it->why);
  for (int i = 0; ok && i < globals; i++) r.at[n + i] = it->globals[i];
  for (int i = 0; ok && i < r.n; i++) {
    size_t bytes = sizeof(Scalar) * (size_t)r.at[i].type->numel;
    r.at[i].at = memcpy(arena_alloc(a, bytes + 1), r.at[i].at, bytes);
  }
  interp_free(it);
  return r;
}

static bool same(const Outcome *x, const Outcome *y) {
  for (int i = 0; i < x->n && !y->why; i++)
    for (int64_t k = 0; k < x->at[i].type->numel; k++)
      if (!scalar_same(x->at[i].at[k], y->at[i].at[k], x->at[i].type->dtype)) return false;
  return !y->why;
}

/* ---- one program ---- */

typedef struct Program {
  Ctx *c;
  Arena *a;
  uint64_t seed;
  const Target *target;
  Outcome base;
} Program;

static Program program_open(uint64_t seed, const Target *target) {
  Program p = {.c = ctx_new(), .a = arena_new(), .seed = seed, .target = target};
  Module *m = make(p.c, seed);
  PassOptions o = {.target = target};
  if (!passes_run(m, "autodiff", &o)) exit(1);
  p.base = run(m, NULL, seed, 0, p.a);
  module_free(m);
  return p;
}

static void program_close(Program *p) {
  arena_free(p->a);
  ctx_free(p->c);
}

/* NULL: the limit cannot be met. */
static Module *plan(const Program *p, const Way *w, int streams) {
  Module *m = make(p->c, p->seed);
  PassOptions o = {.target = p->target,
                   .memory = w->memory,
                   .plan_seconds = 0.001,
                   .limit.share = w->tenths / 10.0,
                   .streams = streams,
                   .verify_each = true};
  if (w->tenths) ctx_set_stream(p->c, NULL);
  bool ok = passes_run(m, pipeline, &o);
  ctx_set_stream(p->c, stderr);
  if (ok) return m;
  module_free(m);
  if (!w->tenths) exit(1);
  return NULL;
}

/* *refused: the limit cannot be met. */
static bool agrees(const Program *p, int way, int streams, Tally *tally, bool *refused) {
  const Way *w = &ways[way];
  Module *m = plan(p, w, streams);
  *refused = !m;
  if (!m) {
    tally->refused++;
    return true;
  }
  Outcome r = run(m, p->target, p->seed, p->seed * 8 + (uint64_t)streams, p->a);
  bool ok = same(&p->base, &r);
  if (!ok) {
    fprintf(stderr, "seed %llu: %s, limit 0.%d, %d streams: %s\n", (unsigned long long)p->seed,
            w->memory, w->tenths, streams, r.why ? r.why : "other results");
    module_print(stderr, m, &(PrintOptions){.note = plan_note});
  }
  tally->plans++;
  if (streams == 1) tally->arena[way] += m->entries.at[0]->plan->arena_bytes;
  module_free(m);
  return ok;
}

static bool all_ways(uint64_t seed, const Target *t, Tally *tally) {
  Program p = program_open(seed, t);
  bool ok = true, refused = false;
  for (int k = 0; k < WAYS && ok && !refused; k++)
    for (int n = 1; n <= 4 && ok && !refused; n *= 2) ok = agrees(&p, k, n, tally, &refused);
  program_close(&p);
  return ok;
}

/* ---- faults ---- */

typedef enum Fault {
  OVERLAP,    /* a value is written where another one lives */
  SHORT_LIFE, /* a value is dead for its last reader */
  IN_PLACE,   /* over an operand that the op reads elsewhere later */
  SCRATCH,    /* where the op's own result lies */
  EDGE,       /* a step does not wait for one of another stream */
  FAULTS
} Fault;
static const char *const fault_name[] = {"overlap", "short life", "in place", "scratch", "edge"};

/* A result in the arena that has bytes of its own. */
static bool is_own(const Entry *e, ValueId v) {
  const Place *x = &e->plan->place[v];
  return x->region == PLAN_ARENA && x->bytes && !x->stride && x->how != HOW_INPLACE;
}

/* Breaks the plan in one place, drawn among those where it can; false: there is none. */
static bool break_plan(const Entry *e, Fault kind, uint64_t *rng) {
  Plan *p = e->plan;
  if (kind == EDGE) {
    if (!p->nedges) return false;
    int i = (int)random_below(rng, p->nedges);
    memmove(p->edges + i, p->edges + i + 1, sizeof *p->edges * (size_t)(--p->nedges - i));
    return true;
  }
  for (int tries = 0; tries < 200 && p->nsteps; tries++) {
    const Op *op = p->steps[random_below(rng, p->nsteps)];
    const Op *other = p->steps[random_below(rng, p->nsteps)];
    if (!op->nresults || !is_own(e, op->results[0]) || op->kind == OP_SCAN) continue;
    Place *y = &p->place[op->results[0]], *s = &p->scratch[op->id];
    if (kind == SHORT_LIFE && y->last > y->first && y->last < p->nsteps) {
      y->last--;
      return true;
    }
    if (kind == SCRATCH && s->bytes) {
      s->offset = y->offset;
      return true;
    }
    for (int i = 0; kind == IN_PLACE && i < op->noperands; i++) {
      const Place *x = &p->place[op->operands[i]];
      if (!is_own(e, op->operands[i]) || x->bytes < y->bytes) continue;
      if (op_inplace_ok(e, op, 0, i) && x->last == y->first) continue;
      y->offset = x->offset;
      return true;
    }
    if (kind != OVERLAP || !other->nresults || !is_own(e, other->results[0])) continue;
    const Place *x = &p->place[other->results[0]];
    if (x->first >= y->first || x->last <= y->first) continue;
    y->offset = x->offset;
    return y->offset + y->bytes <= p->arena_bytes;
  }
  return false;
}

/* Whether the fault shows in any of several orders of execution. */
static void fault(const Program *p, Fault kind, long *injected, long *shown) {
  enum { RUNS = 8 };
  int streams = kind == EDGE ? 4 : 1;
  uint64_t rng = p->seed;
  Module *m = plan(p, &ways[4], streams);
  bool seen = false;
  if (break_plan(m->entries.at[0], kind, &rng)) {
    ++*injected;
    for (uint64_t k = 0; k < RUNS && !seen; k++) {
      Outcome r = run(m, p->target, p->seed, p->seed + k, p->a);
      seen = !same(&p->base, &r);
    }
    *shown += seen;
  }
  module_free(m);
}

/* Faults that no result depends on may hide, but most must show. */
static bool faults_show(uint64_t first, long count, const Target *cpu) {
  long injected[FAULTS] = {0}, shown[FAULTS] = {0};
  bool ok = true;
  for (uint64_t s = first; s < first + (uint64_t)count; s++) {
    Program p = program_open(s, s % 2 ? cpu : &random_target);
    for (int k = 0; k < FAULTS; k++) fault(&p, (Fault)k, &injected[k], &shown[k]);
    program_close(&p);
  }
  for (int k = 0; k < FAULTS; k++) {
    printf("%s: %ld of %ld show\n", fault_name[k], shown[k], injected[k]);
    ok &= 2 * shown[k] > injected[k] && 4 * injected[k] > count;
  }
  return ok;
}

/* ---- the command ---- */

int main(int argc, char **argv) {
  bool faults = argc > 1 && strcmp(argv[1], "--faults") == 0;
  argc -= faults;
  argv += faults;
  long count = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
  long first = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
  Ctx *c = ctx_new();
  CodegenOptions o = {.march = "x86-64-v3"};
  const Target *cpu = target_cpu(c, &o);
  if (!cpu) return 1;
  if (faults) return !faults_show((uint64_t)first, count, cpu);
  Tally tally = {0};
  bool ok = true;
  for (long s = first; ok && s < first + count; s++)
    ok = all_ways((uint64_t)s, s % 2 ? cpu : &random_target, &tally);
  printf("%ld programs, %ld plans, %ld limits refused; arenas of", count, tally.plans,
         tally.refused);
  for (int k = 0; k < WAYS; k++)
    printf(" %s%s%.0d %llu", ways[k].memory, ways[k].tenths ? " 0." : "", ways[k].tenths,
           (unsigned long long)tally.arena[k]);
  printf("\n");
  ctx_free(c);
  return ok ? 0 : 1;
}
