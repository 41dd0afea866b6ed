/* Random programs in the bytes of their plans: every strategy and three limits, each in 1, 2 and 4
   streams, give, bit for bit, what the reference interpreter gives on values. Half of the programs
   go through all passes of -O2, half through those alone that every value stays visible to.
     random_plans [COUNT [FIRST]]        COUNT programs from seed FIRST
     random_plans --faults [COUNT [FIRST]]  breaks plans: what breaks must show in the results
     random_plans --loops [COUNT [FIRST]]   with loops that are recomputed for their backward
                                            passes in every way that a limit could ask for
     random_plans --histories [COUNT [FIRST]]  recurrences that stack their states
   Contract: prints the seed of what differs, and exits with 1; also where a limit is refused that
   is at least what an earlier refusal named, or met that is less, or any other error than that
   comes up; or less than two thirds of the programs have three limits, of histories half; or, with
   --faults, less than most faults of a kind show. */
#include "codegen/cpu/target.h"
#include "passes/manager/pass_list.h"
#include "passes/remat/remat_impl.h"
#include "tests/level.h"
#include "tests/num/compare.h"
#include "tests/num/planned.h"
#include "tests/num/random_history.h"
#include "tests/num/random_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char unfused[] =
    "autodiff,fold,hoist,cse,dce,shared-stacks{all=1},layout,order," RANDOM_REMAT
    ",liveness,inplace,streams,share,plan-verify";

enum { LATE = 8 }; /* values that are held to the end, unless a limit has them recomputed */

typedef Module *Maker(Ctx *c, uint64_t seed, int late);

/* Small ones and large ones. */
static Module *any_program(Ctx *c, uint64_t seed, int late) {
  RandomOptions o = {.grads = true,
                     .stores = true,
                     .narrow = true,
                     .late = late,
                     .ops = 8 + (int)(seed * 37 % 56)};
  return random_program(c, seed, o);
}

static Module *recurrence(Ctx *c, uint64_t seed, int late) {
  (void)late;
  return random_history(c, seed);
}

/* Strategies, then the default one under limits that can be met. */
static const char *const memory[] = {"none", "inplace", "pool", "color", "pack"};
enum { MEMORIES = sizeof memory / sizeof *memory, LIMITS = 3, WAYS = MEMORIES + LIMITS };

typedef struct Tally {
  long plans, limits, refused, full; /* limits: of all programs; full: programs with all three */
  long updates;                      /* programs with rows that are written in place */
  uint64_t arena[WAYS];              /* bytes of all programs in one stream */
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
  int late;
  const Target *target;
  Maker *make;
  const char *pipeline;
  Outcome base;
} Program;

/* With all passes of -O2, or without those that hide values in kernels. Gradients come first:
   merging before autodiff is allowed to change their rounding; so is a table that is multiplied
   before its rows are taken, which the results to compare with have, too. */
static Program program_open(Maker *make, uint64_t seed, int late, const Target *target, bool all) {
  Program p = {ctx_new(), arena_new(), seed, late, target, make, unfused, {0}};
  if (all) p.pipeline = arena_printf(p.a, "autodiff,%s", random_pipeline(p.a, 2));
  Module *m = make(p.c, seed, late);
  PassOptions o = {.target = target};
  if (!passes_run(m, all ? "autodiff,gather-matmul" : "autodiff", &o)) exit(1);
  p.base = run(m, NULL, seed, 0, p.a);
  module_free(m);
  return p;
}

static void program_close(Program *p) {
  arena_free(p->a);
  ctx_free(p->c);
}

/* In at most so many bytes; 0: without a limit. NULL: that cannot be met, and *why says so. */
static Module *plan(const Program *p, const char *how, uint64_t limit, int streams, char **why) {
  Module *m = p->make(p->c, p->seed, p->late);
  PassOptions o = {.target = p->target,
                   .memory = how,
                   .plan_seconds = 0.001,
                   .limit.bytes = limit,
                   .streams = streams,
                   .verify_each = true};
  size_t size;
  FILE *f = limit ? open_memstream(why, &size) : stderr;
  ctx_set_stream(p->c, f);
  bool ok = passes_run(m, p->pipeline, &o);
  ctx_set_stream(p->c, stderr);
  if (limit) fclose(f);
  if (ok) return m;
  module_free(m);
  if (!limit) exit(1);
  return NULL;
}

/* The least that a hopeless limit is refused with, and one unit below it is, too; the most for
   which anything must be recomputed, and what lies between; how many of them there are, or -1: it
   is not refused as it must be. */
static int limits_of(const Program *p, uint64_t limit[LIMITS], Tally *tally) {
  char *why = NULL;
  Module *m = plan(p, "pack", 0, 1, NULL);
  const Entry *e = m->entries.at[0];
  uint64_t all = plan_of(e)->arena_bytes, grain = p->target->align;
  int n = 0;
  bool updates = false;
  for (uint32_t i = 0; i < e->ops.n; i++) updates |= op_at(e, i)->kind == OP_DYNAMIC_UPDATE;
  tally->updates += updates;
  module_free(m);
  if (all <= 1) return 0;
  m = plan(p, "pack", 1, 1, &why);
  if (m || !random_refused(why)) {
    fprintf(stderr, "seed %llu: one byte: %s\n", (unsigned long long)p->seed, m ? "fits" : why);
    n = -1;
  }
  uint64_t least = n ? 0 : random_least(why);
  free(why);
  if (m) module_free(m);
  if (!n && least > grain) {
    m = plan(p, "pack", least - grain, 1, &why);
    bool refused = !m && random_refused(why) && random_least(why) == least;
    if (!refused) {
      fprintf(stderr, "seed %llu: the least is %llu bytes, but %llu less: %s\n",
              (unsigned long long)p->seed, (unsigned long long)least, (unsigned long long)grain,
              m ? "fits" : why);
      n = -1;
    }
    free(why);
    if (m) module_free(m);
  }
  if (n || all < least) return n;
  uint64_t room = (all - least) / grain;
  if (room >= 1) limit[n++] = least;
  if (room >= 3) limit[n++] = least + room / 2 * grain;
  if (room >= 2) limit[n++] = all - grain;
  return n;
}

static bool agrees(const Program *p, int way, uint64_t limit, int streams, Tally *tally) {
  const char *how = memory[way < MEMORIES ? way : MEMORIES - 1];
  char *why = NULL;
  Module *m = plan(p, how, limit, streams, &why);
  if (!m) {
    bool refused = random_refused(why);
    fprintf(stderr, "seed %llu: %llu bytes in %d streams: %s\n", (unsigned long long)p->seed,
            (unsigned long long)limit, streams, why);
    free(why);
    tally->refused++;
    return refused; /* the others are looked at, too */
  }
  free(why);
  uint64_t arena = plan_of(m->entries.at[0])->arena_bytes;
  Outcome r = run(m, p->target, p->seed, p->seed * 8 + (uint64_t)streams, p->a);
  bool ok = same(&p->base, &r);
  if (limit && arena > limit) {
    fprintf(stderr, "seed %llu: limit %llu, %d streams: the arena has %llu bytes\n",
            (unsigned long long)p->seed, (unsigned long long)limit, streams,
            (unsigned long long)arena);
    ok = false;
  } else if (!ok) {
    fprintf(stderr, "seed %llu: %s, limit %llu, %d streams: %s\n", (unsigned long long)p->seed, how,
            (unsigned long long)limit, streams, r.why ? r.why : "other results");
    module_print(stderr, m, &(PrintOptions){.note = plan_note});
  }
  tally->plans++;
  if (streams == 1) tally->arena[way] += arena;
  module_free(m);
  return ok;
}

static bool all_ways(Maker *make, uint64_t seed, const Target *t, Tally *tally) {
  Program p = program_open(make, seed, LATE, t, seed / 2 % 2 == 0);
  uint64_t limit[LIMITS];
  int limits = limits_of(&p, limit, tally);
  bool ok = limits >= 0;
  for (int k = 0; k < MEMORIES && ok; k++)
    for (int n = 1; n <= 4 && ok; n *= 2) ok = agrees(&p, k, 0, n, tally);
  for (int k = 0; k < limits && ok; k++)
    for (int n = 1; n <= 4 && ok; n *= 2) ok = agrees(&p, MEMORIES + k, limit[k], n, tally);
  if (ok) tally->limits += limits;
  tally->full += limits == LIMITS;
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
  const Place *x = &plan_of(e)->place[v];
  return x->region == PLAN_ARENA && x->bytes && !x->stride && x->how != HOW_INPLACE;
}

/* Breaks the plan in one place, drawn among those where it can; false: there is none. */
static bool break_plan(const Entry *e, const Target *t, Fault kind, uint64_t *rng) {
  Plan *p = plan_of(e);
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
      if (op_inplace_ok(t, e, op, 0, i) && x->last == y->first) continue;
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
  int streams = kind == EDGE || p->seed / 2 % 2 ? 4 : 1;
  uint64_t rng = p->seed;
  Module *m = plan(p, "pack", 0, streams, NULL);
  bool seen = false;
  if (break_plan(m->entries.at[0], p->target, kind, &rng)) {
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
    Program p = program_open(any_program, s, 0, s % 2 ? cpu : &random_target, false);
    for (int k = 0; k < FAULTS; k++) fault(&p, (Fault)k, &injected[k], &shown[k]);
    program_close(&p);
  }
  for (int k = 0; k < FAULTS; k++) {
    printf("%s: %ld of %ld show\n", fault_name[k], shown[k], injected[k]);
    ok &= 2 * shown[k] > injected[k] && 4 * injected[k] > count;
  }
  return ok;
}

/* ---- loops that are recomputed ---- */

typedef struct Loops {
  long programs, ways, each, blocks; /* with such loops; ways of them; and of which kinds */
} Loops;

/* The program in order; longer loops than elsewhere. */
static Module *loops_module(Ctx *c, uint64_t seed, const Target *t, const char *pipeline_of) {
  RandomOptions o = {.recurrent = true, .stores = true, .ops = 2 + (int)(seed % 8), .trips = 13};
  Module *m = random_program(c, seed, o);
  PassOptions po = {.target = t, .verify_each = true};
  if (!passes_run(m, pipeline_of, &po)) exit(1);
  return m;
}

static void count_kinds(const LoopFrontier *l, const LoopPoint *r, Loops *n) {
  for (int i = 0; i < l->npairs; i++) {
    n->each += r->schedule[i] && r->schedule[i]->block == 1;
    n->blocks += r->schedule[i] && r->schedule[i]->block > 1;
  }
  n->ways++;
}

/* Point k of the frontier gives the same bits; *more: there is another one. */
static bool applies(Program *p, int k, bool fuse, Loops *n, bool *more) {
  Module *m = loops_module(p->c, p->seed, p->target,
                           fuse ? "autodiff,fold,hoist,cse,dce,cheap-remat,fuse,layout,order"
                                : "autodiff,fold,hoist,cse,dce,layout,order");
  Entry *e = m->entries.at[0];
  Arena *a = arena_new();
  LoopFrontier l = remat_loop_frontier(a, e);
  bool ok = true;
  *more = k + 1 < l.npoints;
  if (k < l.npoints) {
    remat_apply_loops(a, e, &l, &l.point[k]);
    count_kinds(&l, &l.point[k], n);
    PassOptions o = {.target = p->target, .plan_seconds = 0.001, .verify_each = true};
    PassRun run_of = {.m = m, .opt = &o, .scratch = a, .args = ""};
    if (!module_verify(m, "loops") || !pass_liveness(&run_of) || !pass_inplace(&run_of) ||
        !pass_share(&run_of) || !pass_plan_verify(&run_of))
      exit(1);
    Outcome r = run(m, p->target, p->seed, 0, p->a);
    ok = same(&p->base, &r);
    if (!ok) {
      fprintf(stderr, "seed %llu: point %d: %s\n", (unsigned long long)p->seed, k,
              r.why ? r.why : "other results");
      module_print(stderr, m, &(PrintOptions){.note = plan_note});
    }
  }
  n->programs += k == 0 && l.npoints > 0;
  arena_free(a);
  module_free(m);
  return ok;
}

static bool all_points(uint64_t seed, const Target *t, Loops *n) {
  Program p = {.c = ctx_new(), .a = arena_new(), .seed = seed, .target = t};
  Module *m = loops_module(p.c, seed, t, "autodiff");
  p.base = run(m, NULL, seed, 0, p.a);
  module_free(m);
  bool ok = true, more = true;
  for (int k = 0; ok && more; k++) ok = applies(&p, k, seed / 2 % 2, n, &more);
  program_close(&p);
  return ok;
}

/* Both kinds of ways must come up. */
static bool loops_agree(uint64_t first, long count, const Target *cpu) {
  Loops n = {0};
  bool ok = true;
  for (uint64_t s = first; ok && s < first + (uint64_t)count; s++)
    ok = all_points(s, s % 2 ? cpu : &random_target, &n);
  printf("%ld of %ld programs have loops that can be recomputed, in %ld ways: %ld loops by "
         "iterations, %ld by blocks\n",
         n.programs, count, n.ways, n.each, n.blocks);
  return ok && (count < 100 || (n.each && n.blocks));
}

/* ---- the command ---- */

int main(int argc, char **argv) {
  bool faults = argc > 1 && strcmp(argv[1], "--faults") == 0;
  bool loops = argc > 1 && strcmp(argv[1], "--loops") == 0;
  bool histories = argc > 1 && strcmp(argv[1], "--histories") == 0;
  argc -= faults || loops || histories;
  argv += faults || loops || histories;
  long count = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
  long first = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
  Ctx *c = ctx_new();
  CodegenOptions o = {.march = "x86-64-v3"};
  const Target *cpu = target_cpu(c, &o);
  if (!cpu) return 1;
  if (faults) return !faults_show((uint64_t)first, count, cpu);
  if (loops) return !loops_agree((uint64_t)first, count, cpu);
  Tally tally = {0};
  bool ok = true;
  level_say((uint64_t)first, (uint64_t)count);
  for (long i = 0; ok && i < count; i++) {
    const uint64_t s = level_case((uint64_t)first, (uint64_t)i, (uint64_t)count);
    ok = all_ways(histories ? recurrence : any_program, s, s % 2 ? cpu : &random_target, &tally);
  }
  long asked = 3 * tally.limits; /* each in 1, 2 and 4 streams */
  printf("%ld programs, %ld of them under three limits; %ld plans; %ld of %ld limits met\n", count,
         tally.full, tally.plans, asked - tally.refused, asked);
  ctx_free(c);
  /* far below what is usual, since the programs are other ones each time: the test must not be
   * empty */
  bool few = histories ? 4 * tally.full < count : 2 * tally.full < count;
  if (tally.refused || few) {
    fprintf(stderr, "a limit is refused that a refusal names, or there are too few\n");
    ok = false;
  }
  if (histories && 10 * tally.updates < count) {
    fprintf(stderr, "only %ld of %ld programs have histories\n", tally.updates, count);
    ok = false;
  }
  return ok ? 0 : 1;
}
