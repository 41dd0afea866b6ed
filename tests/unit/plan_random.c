/* Plans of random entries: every strategy is accepted by the checker, the figures are ordered, and
   a plan with a fault that matters is rejected. */
#include "plan_rig.h"

enum { NETS = 10000, FAULTS = 10000 };
static const char *const strategies[] = {"none", "inplace", "pool", "color", "pack"};

static void every_strategy_is_proven(void **state) {
  uint64_t sum[5] = {0};
  for (uint64_t seed = 1; seed <= NETS; seed++) {
    PlanRig r = rig_new_plan(seed, 3 + (int)(seed % 60), seed % 2);
    assert_true(module_verify(r.m, NULL));
    for (int k = 0; k < 5; k++) {
      rig_plan(&r, strategies[k], k == 0);
      const Plan *p = plan_of(r.e);
      if (!plan_verify(r.e, &rig_target, stderr)) {
        module_print(stderr, r.m, &(PrintOptions){.note = plan_note});
        fail_msg("seed %llu, %s", (unsigned long long)seed, strategies[k]);
      }
      sum[k] += p->arena_bytes;
      assert_true(p->arena_bytes <= p->naive_bytes);
      assert_true(p->inplace_bytes <= p->naive_bytes);
      assert_true(p->pool_bytes <= p->inplace_bytes);
      assert_true(p->lower_bound_bytes <= p->pool_bytes);
      if (k == 3) assert_true(p->arena_bytes <= p->inplace_bytes);
      assert_true(p->proven_bytes >= p->lower_bound_bytes);
      if (k == 4) {
        assert_true(p->arena_bytes <= p->pool_bytes);
        assert_true(p->arena_bytes >= p->lower_bound_bytes);
      }
    }
    rig_free_plan(&r);
  }
  for (int j = 0; j < 5; j++) /* an ablation that changes nothing is none */
    for (int k = 0; k < j; k++) assert_int_not_equal(sum[j], sum[k]);
}

/* ---- faults ---- */

/* The checker must reject: the fault breaks a rule of the plan by its kind alone. */
typedef enum Fault {
  SHORT_LIFE,
  LATE_BIRTH,
  MISALIGNED,
  BEYOND,
  WRONG_SIZE,
  FALSE_REASON,
  OVERLAP,
  SCRATCH_OVERLAP,
  SCRATCH_SHORT,
  SCRATCH_NONE,
  SMALL_ARENA,
  WRONG_ALIAS,
  STEPS_SWAPPED,
  FAULT_KINDS
} Fault;

static ValueId any_result(PlanRig *r, const Plan *p) {
  for (int k = 0; k < 200; k++) {
    const Op *op = p->steps[rig_random(r, (uint64_t)p->nsteps)];
    if (op->nresults) return op->results[rig_random(r, (uint64_t)op->nresults)];
  }
  return NO_ID;
}

/* Two values alive at once with different contents: every pair that does not share by a view. */
static bool disturbs(const Plan *p, ValueId a, ValueId b) {
  const Place *x = &p->place[a], *y = &p->place[b];
  return x->region == PLAN_ARENA && y->region == PLAN_ARENA && x->bytes && y->bytes &&
         x->first < y->first && y->first < x->last;
}

/* Applies a fault; false if this plan has no room for it. */
static bool inject(PlanRig *r, Plan *p, Fault kind) {
  ValueId v = any_result(r, p), w;
  if (v == NO_ID) return false;
  Place *x = &p->place[v];
  switch (kind) {
  case SHORT_LIFE: x->last = x->first < x->last ? x->last - 1 : x->first - 1; return true;
  case LATE_BIRTH: x->first++; return true;
  case MISALIGNED: x->offset += 4; return x->bytes > 0;
  case BEYOND: x->offset = (x->region == PLAN_ARENA ? p->arena_bytes : 1u << 20) + 64; return true;
  case WRONG_SIZE: x->bytes -= x->bytes > 4 ? 4 : 0; return x->bytes > 4;
  case FALSE_REASON:
    if (x->how == HOW_INPLACE) return false;
    x->how = HOW_INPLACE;
    x->of = v;
    return true;
  case OVERLAP:
    for (int k = 0; k < 200; k++) {
      w = any_result(r, p);
      if (!disturbs(p, v, w)) continue;
      const Op *def = value_def(r->e, w);
      if (def->kind == OP_RESHAPE || p->place[w].how == HOW_INPLACE) continue;
      p->place[w].offset = x->offset;
      return true;
    }
    return false;
  case SCRATCH_OVERLAP: {
    const Op *def = value_def(r->e, v);
    Place *s = &p->scratch[def->id];
    if (!s->bytes || !x->bytes || x->region != PLAN_ARENA) return false;
    s->offset = x->offset;
    return true;
  }
  case SCRATCH_SHORT:
  case SCRATCH_NONE: { /* less than the kernel uses, and a plan that forgot it */
    Place *s = &p->scratch[value_def(r->e, v)->id];
    if (!s->bytes) return false;
    s->bytes = kind == SCRATCH_NONE ? 0 : s->bytes - 1;
    return true;
  }
  case SMALL_ARENA:
    for (int t = 0; t < p->nsteps; t++)
      for (int k = 0; k < p->steps[t]->nresults; k++) {
        const Place *y = &p->place[p->steps[t]->results[k]];
        if (y->region == PLAN_ARENA && y->bytes && y->offset + y->bytes + 64 > p->arena_bytes) {
          p->arena_bytes = y->offset + y->bytes - 1;
          return true;
        }
      }
    return false;
  case WRONG_ALIAS: { /* in place of an operand that is read again */
    const Op *def = value_def(r->e, v);
    for (int k = 0; k < def->noperands; k++) {
      const Place *y = &p->place[def->operands[k]];
      if (def->kind == OP_RESHAPE || y->region != PLAN_ARENA || x->region != PLAN_ARENA) continue;
      if (y->last <= x->first || !x->bytes || x->bytes > y->bytes) continue;
      x->how = HOW_INPLACE;
      x->of = def->operands[k];
      x->offset = y->offset;
      return true;
    }
    return false;
  }
  case STEPS_SWAPPED: { /* a step before one whose result it reads */
    int t = value_def(r->e, v) == p->steps[x->first < 0 ? 0 : x->first] ? x->first : -1;
    if (t < 0 || t + 1 >= p->nsteps) return false;
    const Op *next = p->steps[t + 1];
    for (int k = 0; k < next->noperands; k++)
      if (next->operands[k] == v) {
        p->steps[t + 1] = p->steps[t];
        p->steps[t] = next;
        return true;
      }
    return false;
  }
  case FAULT_KINDS: break;
  }
  return false;
}

static void every_fault_is_found(void **state) {
  int injected[FAULT_KINDS] = {0}, total = 0;
  for (uint64_t seed = 1; total < FAULTS; seed++) {
    PlanRig r = rig_new_plan(seed + 10000, 10 + (int)(seed % 50), false);
    rig_plan(&r, "pack", true);
    Plan *p = plan_of(r.e), good = *p;
    for (int k = 0; p->nsteps && k < FAULT_KINDS; k++) {
      Place *places = malloc(sizeof(Place) * r.e->values.n),
            *scratch = malloc(sizeof(Place) * r.e->ops.n);
      const Op **steps = malloc(sizeof(Op *) * (size_t)good.nsteps);
      memcpy(steps, good.steps, sizeof(Op *) * (size_t)good.nsteps);
      memcpy(places, good.place, sizeof(Place) * r.e->values.n);
      memcpy(scratch, good.scratch, sizeof(Place) * r.e->ops.n);
      *p = good;
      p->place = places;
      p->scratch = scratch;
      p->steps = steps;
      if (inject(&r, p, (Fault)k)) {
        injected[k]++;
        total++;
        if (plan_verify(r.e, &rig_target, NULL)) {
          module_print(stderr, r.m, &(PrintOptions){.note = plan_note});
          fail_msg("seed %llu: a fault of kind %d was accepted", (unsigned long long)seed, k);
        }
      }
      free(places);
      free(scratch);
      free(steps);
    }
    *p = good;
    rig_free_plan(&r);
  }
  for (int k = 0; k < FAULT_KINDS; k++) assert_true(injected[k] > 20);
}

/* Without the pass order, plans are right too, or the checker says why they cannot be. */
static void the_order_is_never_worse(void **state) {
  enum { SEEDS = 200 };
  int proven = 0;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    PlanRig a = rig_new_plan(seed, 40, seed % 2), b = rig_new_plan(seed, 40, seed % 2);
    rig_plan(&a, "pack", true);
    rig_plan(&b, "pack", false);
    if (plan_verify(b.e, &rig_target, NULL)) {
      assert_true(plan_of(a.e)->lower_bound_bytes <= plan_of(b.e)->lower_bound_bytes);
      proven++;
    }
    rig_free_plan(&a);
    rig_free_plan(&b);
  }
  assert_true(proven > SEEDS / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_strategy_is_proven),
      cmocka_unit_test(every_fault_is_found),
      cmocka_unit_test(the_order_is_never_worse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
