/* Plans with streams: of random entries and of programs, for 2 to 8 streams, the checker and a
   second one by brute force find every two steps ordered that touch the same bytes; a plan that
   lacks an edge, or whose steps are in other streams, is rejected.
     unit_plan_streams [NETS [FAULTS [PROGRAM.g …]]] */
#include "codegen/cpu/target.h"
#include "lang/elab/elab.h"
#include "lang/syntax/ast.h"
#include "plan_rig.h"
#include "tests/level.h"
#include "tests/unit/plan_order.h"

static const char *const strategies[] = {"none", "inplace", "pool", "color", "pack"};
enum { STRATEGIES = 5, LEAST = 2, MOST = 8 };

static struct {
  uint64_t nets;
  int faults, nprograms;
  char **programs;
} asked = {.nets = 200, .faults = 2000};

static void dump(const Module *m) {
  module_print(stderr, m, &(PrintOptions){.note = plan_note});
  for (uint32_t k = 0; k < m->entries.n; k++) {
    const Plan *p = plan_of(m->entries.at[k]);
    for (int i = 0; i < p->nedges; i++)
      fprintf(stderr, "edge %d -> %d\n", p->edges[i].from, p->edges[i].to);
  }
}

static void random_plans_are_ordered(void **state) {
  uint64_t shared = 0, edges = 0, more = 0;
  for (uint64_t seed = 1; seed <= asked.nets; seed++)
    for (int n = LEAST; n <= MOST; n++) {
      int k = (int)((seed + (uint64_t)n) % STRATEGIES);
      PlanRig r = rig_new_plan(seed, 3 + (int)(seed % 60), seed % 2);
      rig_plan(&r, strategies[k], true);
      uint64_t one = plan_of(r.e)->arena_bytes;
      rig_plan_streams(&r, strategies[k], false, n);
      const Plan *p = plan_of(r.e);
      GlobalsPlan g = plan_globals(r.m, rig_target.align);
      if (!plan_verify(r.e, &rig_target, stderr) || !order_check(r.e, &g, stderr)) {
        dump(r.m);
        fail_msg("seed %llu, %s, %d streams", (unsigned long long)seed, strategies[k], n);
      }
      assert_true(p->streams <= n);
      if (k == STRATEGIES - 1) assert_true(p->arena_bytes <= one + one / 100);
      if (p->streams > 1) {
        shared += p->naive_bytes > p->arena_bytes;
        edges += (uint64_t)p->nedges;
        more += p->average_parallelism > 1.2;
      }
      rig_free_plan(&r);
    }
  assert_true(!asked.nets || (shared > asked.nets && edges > asked.nets && more > asked.nets / 4));
}

/* ---- faults ---- */

typedef enum Fault {
  EDGE_MISSING,
  EDGE_EARLIER, /* it waits for the step of that stream before */
  EDGE_LATER,   /* it is waited for only after the step */
  EDGE_BACK,
  OTHER_STREAM, /* a step runs in a stream of its own */
  KINDS
} Fault;

static bool inject(PlanRig *r, Plan *p, PlanEdge *edge, int *stream, Fault kind) {
  int i = p->nedges ? (int)rig_random(r, (uint64_t)p->nedges) : -1, t;
  PlanEdge *x = &edge[i < 0 ? 0 : i];
  switch (kind) {
  case EDGE_MISSING:
    if (i < 0) return false;
    memmove(x, x + 1, sizeof *x * (size_t)(p->nedges - 1 - i));
    p->nedges--;
    return true;
  case EDGE_EARLIER:
    if (i < 0) return false;
    for (t = x->from - 1; t >= 0 && stream[t] != stream[x->from]; t--) {
    }
    if (t < 0) return false;
    x->from = t;
    return true;
  case EDGE_LATER:
    if (i < 0) return false;
    for (t = x->to + 1; t < p->nsteps && stream[t] != stream[x->to]; t++) {
    }
    if (t == p->nsteps) return false;
    x->to = t;
    return true;
  case EDGE_BACK:
    if (i < 0) return false;
    *x = (PlanEdge){x->to, x->from};
    return true;
  case OTHER_STREAM: {
    t = (int)rig_random(r, (uint64_t)p->nsteps);
    const Op *op = p->steps[t];
    bool follows = false; /* it reads what the step before it in its stream made */
    int s = t - 1;
    while (s >= 0 && stream[s] != stream[t]) s--;
    for (int k = 0; s >= 0 && k < op->noperands; k++)
      follows |= value_def(r->e, op->operands[k]) == p->steps[s] &&
                 p->place[op->operands[k]].region == PLAN_ARENA && p->place[op->operands[k]].bytes;
    for (int e = 0; e < p->nedges; e++) follows &= edge[e].to != t;
    if (!follows || op->kind == OP_RESHAPE || op->kind == OP_STORE ||
        p->steps[s]->kind == OP_RESHAPE)
      return false;
    stream[t] = p->streams;
    for (int k = 0; k < op->nresults; k++) p->place[op->results[k]].stream = p->streams;
    p->streams++;
    return true;
  }
  case KINDS: break;
  }
  return false;
}

static void faults_are_found(void **state) {
  int injected[KINDS] = {0}, total = 0;
  for (uint64_t seed = 1; total < asked.faults; seed++) {
    PlanRig r = rig_new_plan(seed + 50000, 10 + (int)(seed % 50), false);
    rig_plan_streams(&r, strategies[seed % STRATEGIES], true, LEAST + (int)(seed % 5));
    GlobalsPlan g = plan_globals(r.m, rig_target.align);
    Plan *p = plan_of(r.e), good = *p;
    for (int k = 0; good.streams > 1 && k < KINDS; k++) {
      PlanEdge *edge = malloc(sizeof *edge * (size_t)(good.nedges + 1));
      int *stream = malloc(sizeof *stream * (size_t)good.nsteps);
      Place *place = malloc(sizeof *place * r.e->values.n);
      assert_true(edge && stream && place);
      if (good.nedges) memcpy(edge, good.edges, sizeof *edge * (size_t)good.nedges);
      memcpy(stream, good.stream, sizeof *stream * (size_t)good.nsteps);
      memcpy(place, good.place, sizeof *place * r.e->values.n);
      *p = good;
      p->edges = edge;
      p->stream = stream;
      p->place = place;
      if (inject(&r, p, edge, stream, (Fault)k)) {
        injected[k]++;
        total++;
        if (plan_verify(r.e, &rig_target, NULL)) {
          dump(r.m);
          fail_msg("seed %llu: a fault of kind %d was accepted", (unsigned long long)seed, k);
        }
        if (k != EDGE_BACK && order_check(r.e, &g, NULL))
          fail_msg("seed %llu: kind %d: brute force finds no fault", (unsigned long long)seed, k);
      }
      free(edge);
      free(stream);
      free(place);
    }
    *p = good;
    rig_free_plan(&r);
  }
  for (int k = 0; asked.faults && k < KINDS; k++) assert_true(injected[k] > asked.faults / 100);
}

/* ---- programs ---- */

/* Whether any of its entries runs in several streams. */
static bool program_is_ordered(const char *file, int n) {
  Ctx *c = ctx_new();
  CodegenOptions o = {0};
  bool unreadable;
  Program *prog = parse_file(c, file, NULL, &unreadable);
  ElabOptions none = {0};
  Module *m = prog ? elaborate(c, prog, &none) : NULL;
  const Target *t = target_cpu(c, &o);
  if (!m || !t) fail_msg("%s cannot be read", file);
  PassOptions opt = {.target = t, .memory = "pack", .streams = n};
  if (!passes_run(m, passes_pipeline(2), &opt)) fail_msg("%s, %d streams: no plan", file, n);
  GlobalsPlan g = plan_globals(m, t->align);
  bool several = false;
  for (uint32_t k = 0; k < m->entries.n; k++) {
    if (!order_check(m->entries.at[k], &g, stderr)) fail_msg("%s, %d streams", file, n);
    several |= plan_of(m->entries.at[k])->streams > 1;
  }
  module_free(m);
  ctx_free(c);
  return several;
}

/* The fewest streams, the most, and one number between, another one of each program and commit. */
static void programs_are_ordered(void **state) {
  int several = 0, tried = 0;
  for (int i = 0; i < asked.nprograms; i++) {
    const char *slash = strrchr(asked.programs[i], '/'); /* the folder differs by machine */
    const int between =
        LEAST + 1 + (int)level_turn(slash ? slash : asked.programs[i], MOST - LEAST - 1);
    for (int n = LEAST; n <= MOST; n++) {
      if (n != LEAST && n != MOST && n != between && !level_is_full()) continue;
      several += program_is_ordered(asked.programs[i], n);
      tried++;
    }
  }
  assert_true(2 * several >= tried);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_plans_are_ordered),
      cmocka_unit_test(faults_are_found),
      cmocka_unit_test(programs_are_ordered),
  };
  if (argc > 1) asked.nets = strtoull(argv[1], NULL, 10);
  if (argc > 2) asked.faults = (int)strtol(argv[2], NULL, 10);
  if (argc > 3) {
    asked.nprograms = argc - 3;
    asked.programs = argv + 3;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
