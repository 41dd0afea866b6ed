/* What --remarks=inplace and --remarks=share tell, against the plan: of random entries and of
   programs. unit_plan_remarks [PROGRAM.g …] Contract: every result is told to be in place or why it
   is not, every store and every next carry to be computed where it belongs or copied, and every
   sharing once; nothing else is told. */
#include "codegen/cpu/target.h"
#include "lang/elab/elab.h"
#include "lang/syntax/ast.h"
#include "tests/unit/plan_rig.h"

static struct {
  int nprograms;
  char **programs;
} asked;

typedef enum Said { IN_PLACE, STORED, NOT_IN_PLACE, COPIES, MOVES, SHARES, KINDS } Said;
static const char *const words[KINDS][2] = {
    [IN_PLACE] = {"reuses the bytes of", "is computed in the bytes of the "}, /* carry or stack */
    [STORED] = {"is computed in the bytes of @"},
    [NOT_IN_PLACE] = {" not in place: "},
    [COPIES] = {" copies: "},
    [MOVES] = {" is copied to the "},
    [SHARES] = {" shares bytes of "},
};

typedef struct Counts {
  int of[KINDS];
} Counts;

static Counts count_told(const char *text) {
  Counts n = {0};
  for (int k = 0; k < KINDS; k++)
    for (int w = 0; w < 2 && words[k][w]; w++)
      for (const char *at = text; (at = strstr(at, words[k][w])); at++) n.of[k]++;
  return n;
}

/* The load whose bytes the value is another name of. */
static bool is_loaded(const Entry *e, ValueId v) {
  for (ValueId of = plan_same(e, v); of != NO_ID; of = plan_same(e, v)) v = of;
  const Op *def = value_def(e, v);
  return def && def->kind == OP_LOAD;
}

static bool in_arena(const Place *x) { return x->region == PLAN_ARENA && x->bytes; }

/* Bytes of the arena that something held before. */
static bool lay_there_before(const Entry *e, const Place *x) {
  const Plan *p = plan_of(e);
  for (int t = 0; t < x->first; t++) {
    const Place *y = &p->scratch[p->steps[t]->id];
    if (y->bytes && y->offset < x->offset + x->bytes && x->offset < y->offset + y->bytes)
      return true;
    for (int k = 0; k < plan_nmade(p->steps[t]); k++) {
      y = &p->place[plan_made(p->steps[t], k)];
      if (in_arena(y) && y->offset < x->offset + x->bytes && x->offset < y->offset + y->bytes)
        return true;
    }
  }
  return false;
}

static void add_store(const Entry *e, const Op *op, Counts *n) {
  bool there = plan_is_alias(e, op);
  n->of[COPIES] += !there;
  n->of[STORED] += there && !is_loaded(e, op->operands[0]);
}

/* A next carry, or what is stacked, that is not computed where it goes. */
static void add_yield(const Entry *e, const Op *yield, Counts *n) {
  const Plan *p = plan_of(e);
  Arena *a = arena_new();
  for (int k = 0; k < yield->noperands; k++) {
    const Place *x = &p->place[yield->operands[k]], to = plan_target(e, a, yield->parent->op, k);
    bool there = x->region == to.region && x->offset == to.offset;
    for (int d = 0; d < p->depth; d++)
      there &= (x->stride ? x->stride[d] : 0) == (to.stride ? to.stride[d] : 0);
    n->of[MOVES] += !there;
  }
  arena_free(a);
}

static void add_result(const Entry *e, const Op *op, ValueId v, Counts *n) {
  const Place *x = &plan_of(e)->place[v];
  if (plan_same(e, v) != NO_ID || !x->bytes) return;
  if (x->how == HOW_INPLACE && !is_loaded(e, x->of))
    n->of[IN_PLACE]++;
  else if (x->how == HOW_NEW || x->how == HOW_REUSE)
    n->of[NOT_IN_PLACE] += op->noperands > 0 && in_arena(x);
  n->of[SHARES] += x->how == HOW_REUSE;
}

static void add_entry(const Entry *e, Counts *n) {
  for (int t = 0; t < plan_of(e)->nsteps; t++) {
    const Op *op = plan_of(e)->steps[t];
    const Place *own = &plan_of(e)->scratch[op->id];
    if (op->kind == OP_STORE) add_store(e, op, n);
    if (op->kind == OP_YIELD) add_yield(e, op, n);
    for (int k = 0; k < op->nresults; k++) add_result(e, op, op->results[k], n);
    n->of[SHARES] += own->bytes && lay_there_before(e, own);
  }
}

/* Returns what is so. */
static Counts assert_told(const Module *m, const char *text, const char *what) {
  Counts told = count_told(text), is = {0};
  const Entry *e;
  for (uint32_t k = 0; (e = pass_entry(m, k)); k++) add_entry(e, &is);
  for (int k = 0; k < KINDS; k++)
    if (told.of[k] != is.of[k])
      fail_msg("%s: '%s' is told %d times, and %d are so", what, words[k][0], told.of[k], is.of[k]);
  return is;
}

static void random_entries_are_told(void **state) {
  Counts total = {0};
  for (uint64_t seed = 1; seed <= 300; seed++) {
    char *text = NULL;
    size_t n;
    PlanRig r = rig_new_plan(seed, 10 + (int)(seed % 50), seed % 2);
    PassOptions o = {.target = &rig_target,
                     .remarks = REMARK_INPLACE | REMARK_SHARE,
                     .out = open_memstream(&text, &n)};
    assert_true(rig_pass(&r, pass_order, "", &o) && rig_pass(&r, pass_liveness, "", &o));
    assert_true(rig_pass(&r, pass_inplace, "", &o) && rig_pass(&r, pass_share, "", &o));
    fclose(o.out);
    Counts is = assert_told(r.m, text, intern_printf(r.c, "seed %d", (int)seed));
    for (int k = 0; k < KINDS; k++) total.of[k] += is.of[k];
    free(text);
    rig_free_plan(&r);
  }
  for (int k = 0; k < KINDS; k++) assert_true(total.of[k] > 20);
}

static void program_is_told(const char *file) {
  char *text = NULL;
  size_t n;
  Ctx *c = ctx_new();
  CodegenOptions none = {0};
  bool unreadable;
  Program *prog = parse_file(c, file, NULL, &unreadable);
  Module *m = prog ? elaborate(c, prog, &(ElabOptions){0}) : NULL;
  const Target *t = target_cpu(c, &none);
  if (!m || !t) fail_msg("%s cannot be read", file);
  PassOptions o = {.target = t,
                   .memory = "pack",
                   .remarks = REMARK_INPLACE | REMARK_SHARE,
                   .out = open_memstream(&text, &n)};
  if (!passes_run(m, passes_pipeline(2), &o)) fail_msg("%s: no plan", file);
  fclose(o.out);
  (void)assert_told(m, text, file);
  free(text);
  module_free(m);
  ctx_free(c);
}

static void programs_are_told(void **state) {
  for (int i = 0; i < asked.nprograms; i++) program_is_told(asked.programs[i]);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_entries_are_told),
      cmocka_unit_test(programs_are_told),
  };
  asked.nprograms = argc - 1;
  asked.programs = argv + 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
