/* The order that gc finds against the best one there is, by exhaustive search over all sets of ops
   that can have run: small random graphs of slices, concats, and elementwise ops that work in
   place. unit_plan_schedule [COUNT] Contract: no order is better than the search says; nearly all
   are as good, and none is much worse. The search shares nothing with the planner but the question
   what may be in place. An entry's order and plan depend on nothing but the entry, and an order
   that was found stays as it is. */
#include "tests/unit/plan_rig.h"

enum { NODES = 14, ROW = 16, MOST_ROWS = 24 }; /* a row of f32 is 64 bytes */
static const Target target = {.name = "test", .align = 64};

typedef struct Problem {
  PlanRig r;
  const Op *op[NODES + 1];
  int n;
  uint64_t bytes[NODES];
  unsigned reads[NODES], readers[NODES]; /* by node: bits of nodes */
  bool kept[NODES], over[NODES][NODES];  /* node i may take the bytes of node j */
} Problem;

static const Type *rows(PlanRig *r, int64_t n) { return rig_matrix(r, n, ROW); }
static int64_t rows_of(const PlanRig *r, ValueId v) { return value_type(r->e, v)->dim[0]; }

static ValueId any(PlanRig *r) { return r->value[rig_random(r, (uint64_t)r->n)]; }

/* Rows of x from the second on, at 64 bytes, so that they must be copied. */
static ValueId slice(PlanRig *r, ValueId x, int64_t n) {
  if (n >= rows_of(r, x)) return build1(r->b, OP_EXP, x);
  Attr attr[MAX_ATTRS] = {[AT_STARTS] = {.ints = intern_ints(r->c, (int64_t[]){1, 0}, 2)},
                          [AT_STEPS] = {.ints = intern_ints(r->c, (int64_t[]){1, 1}, 2)}};
  return build(r->b, OP_SLICE, &x, 1, attr, rows(r, n));
}

static ValueId grow(PlanRig *r) {
  ValueId x = any(r), y = any(r);
  switch (rig_random(r, 6)) {
  case 0: return build1(r->b, OP_TANH, x);
  case 1:
  case 2: return slice(r, x, 1 + (int64_t)rig_random(r, (uint64_t)rows_of(r, x)));
  case 3:
    if (value_type(r->e, x) == value_type(r->e, y)) return build2(r->b, OP_ADD, x, y);
    return build1(r->b, OP_EXP, x);
  default:
    if (rows_of(r, x) + rows_of(r, y) > MOST_ROWS) return slice(r, y, 1);
    return build(r->b, OP_CONCAT, (ValueId[]){x, y}, 2, NULL, NULL);
  }
}

/* With an input of half the most rows. */
static void new_entry(PlanRig *r) {
  r->m = module_new(r->c, "schedule.g");
  rig_entry(r, "e");
  rig_add(r, entry_add_input(r->e, "x", rows(r, MOST_ROWS / 2)));
}

/* What nobody reads is returned. */
static void problem_new(Problem *p, uint64_t seed) {
  PlanRig *r = &p->r;
  *p = (Problem){.r = {.c = ctx_new(), .random = seed}};
  new_entry(r);
  int n = 6 + (int)rig_random(r, NODES - 5);
  for (int k = 0; k < n; k++) {
    ValueId v = rig_add(r, grow(r));
    const Op *op = p->op[p->n] = value_def(r->e, v);
    p->bytes[k] = value_type(r->e, v)->bytes;
    for (int i = 0; i < op->noperands; i++)
      for (int j = 0; j < k; j++)
        if (p->op[j]->results[0] == op->operands[i]) {
          p->reads[k] |= 1u << j;
          p->readers[j] |= 1u << k;
        }
    p->n++;
  }
  ValueId out[NODES];
  const char *name[NODES];
  int outs = 0;
  for (int k = 0; k < n; k++) {
    p->kept[k] = !p->readers[k];
    if (!p->kept[k]) continue;
    out[outs] = p->op[k]->results[0];
    name[outs++] = intern_printf(r->c, "o%d", k);
  }
  for (int k = 0; k < n; k++)
    for (int j = 0; j < k; j++) {
      bool ok = (p->reads[k] >> j & 1) && p->bytes[k] == p->bytes[j] && !p->kept[j];
      for (int i = 0; i < p->op[k]->noperands; i++)
        ok &= p->op[k]->operands[i] != p->op[j]->results[0] ||
              op_inplace_ok(&target, r->e, p->op[k], 0, i);
      p->over[k][j] = ok;
    }
  build_return(r->b, out, name, outs);
  assert_true(module_verify(r->m, NULL));
}

/* Bytes while node k runs after those of the set. */
static uint64_t within(const Problem *p, unsigned done, int k) {
  uint64_t live = p->bytes[k];
  bool over = false;
  for (int j = 0; j < p->n; j++) {
    if (!(done >> j & 1)) continue;
    if (p->kept[j] || (p->readers[j] & ~done)) live += p->bytes[j];
    over |= p->over[k][j] && !(p->readers[j] & ~done & ~(1u << k));
  }
  return over ? live - p->bytes[k] : live;
}

/* By set of nodes that have run: the least peak with which it can be reached. */
static uint64_t best_peak(const Problem *p) {
  unsigned all = (1u << p->n) - 1;
  uint64_t *least = malloc((all + 1) * sizeof *least);
  assert_non_null(least);
  for (unsigned s = 1; s <= all; s++) least[s] = UINT64_MAX;
  least[0] = 0;
  for (unsigned s = 0; s < all; s++)
    for (int k = 0; k < p->n && least[s] < UINT64_MAX; k++) {
      if ((s >> k & 1) || (p->reads[k] & ~s)) continue;
      uint64_t peak = within(p, s, k);
      if (peak < least[s]) peak = least[s];
      if (peak < least[s | 1u << k]) least[s | 1u << k] = peak;
    }
  uint64_t best = least[all];
  free(least);
  return best;
}

static uint64_t found_peak(Problem *p) {
  PassOptions o = {.target = &target, .verify_each = true};
  assert_true(passes_run(p->r.m, "autodiff,order,liveness,inplace,share", &o));
  return plan_of(p->r.e)->lower_bound_bytes - plan_slack(&target);
}

static void is_near_the_best(void **state) {
  int count = *(const int *)*state, equal = 0;
  double worst = 1;
  for (int k = 0; k < count; k++) {
    Problem p;
    problem_new(&p, (uint64_t)k);
    uint64_t best = best_peak(&p), found = found_peak(&p);
    assert_true(found >= best);
    equal += found == best;
    if ((double)found / (double)best > worst) worst = (double)found / (double)best;
    ctx_free(p.r.c);
  }
  printf("%d of %d orders have the least peak; the worst has %.3f of it\n", equal, count, worst);
  assert_true(equal * 100 >= 95 * count);
  assert_true(worst < 1.5);
}

/* ---- the same entry, the same order ---- */

/* More entries of the module, one of them before the rig's own, and a name for every value. */
static void crowd(PlanRig *r) {
  Entry *own = r->e;
  for (uint32_t v = 0; v < own->values.n; v++)
    value_at(own, v)->name = intern_printf(r->c, "crowd%u", own->values.n - v);
  for (int k = 0; k < 2; k++) {
    rig_entry(r, intern_printf(r->c, "other%d", k));
    r->n = 0;
    rig_add(r, entry_add_input(r->e, "in", rig_matrix(r, 8, 8)));
    for (int i = 0; i < 30; i++) rig_op(r);
    build_return(r->b, &r->value[r->n - 1], (const char *[]){"out"}, 1);
  }
  r->m->entries.at[0] = r->m->entries.at[1];
  r->m->entries.at[1] = own;
  r->e = own;
}

static void assert_same_plan(const Plan *x, const Plan *y) {
  assert_int_equal(x->nsteps, y->nsteps);
  assert_int_equal(x->arena_bytes, y->arena_bytes);
  for (int t = 0; t < x->nsteps; t++) {
    const Op *a = x->steps[t], *b = y->steps[t];
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->id, b->id);
    assert_int_equal(x->scratch[a->id].offset, y->scratch[b->id].offset);
    for (int k = 0; k < plan_nmade(a); k++) {
      const Place *p = &x->place[plan_made(a, k)], *q = &y->place[plan_made(b, k)];
      assert_true(p->region == q->region && p->how == q->how && p->of == q->of);
      assert_true(p->offset == q->offset && p->first == q->first && p->last == q->last);
    }
  }
}

static void depends_on_the_entry_alone(void **state) {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    PlanRig a = rig_new_plan(seed, 40, seed % 2), b = rig_new_plan(seed, 40, seed % 2);
    crowd(&b);
    rig_plan(&a, "pack", true);
    rig_plan(&b, "pack", true);
    assert_same_plan(plan_of(a.e), plan_of(b.e));
    rig_free_plan(&a);
    rig_free_plan(&b);
  }
}

/* All values are read at the end, so that every order has the same peak: the given one stays. */
static void stays_where_nothing_is_gained(void **state) {
  enum { OPS = 30 };
  for (uint64_t seed = 1; seed <= 100; seed++) {
    PlanRig r = {.c = ctx_new(), .random = seed};
    new_entry(&r);
    ValueId made[OPS];
    for (int k = 0; k < OPS; k++) made[k] = rig_add(&r, grow(&r));
    ValueId all = build(r.b, OP_CONCAT, made, OPS, NULL, NULL);
    build_return(r.b, &all, (const char *[]){"y"}, 1);
    PassOptions opt = {.target = &rig_target};
    assert_true(rig_pass(&r, pass_order, "", &opt));
    for (int k = 0; k < OPS; k++)
      assert_int_equal(op_at(r.e, r.e->body->ops.at[k])->results[0], made[k]);
    rig_free_plan(&r);
  }
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 300;
  const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(is_near_the_best, &count),
                                     cmocka_unit_test(depends_on_the_entry_alone),
                                     cmocka_unit_test(stays_where_nothing_is_gained)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
