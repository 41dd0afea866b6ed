/* The checker of plans on loops: a right plan is accepted, and each way in which the plan of a loop
   can be wrong is found. Contract: every fault is one change of one place of a plan that is right.
 */
#include "tests/unit/plan_rig.h"

typedef struct Loop {
  PlanRig r;
  ValueId outside;          /* read by every iteration */
  ValueId inner, next, row; /* of the body: for itself, the next carry, what is stacked */
  const Op *scan;
} Loop;

static const Type *floats(PlanRig *r, int rank, const int64_t *dim) {
  return type_get(r->c, DT_F32, rank, dim);
}

/* h' = sin(b), stacking cos(b), where b = (h + slice) exp(w). */
static Loop loop_new(void) {
  Loop l = {0};
  PlanRig *r = &l.r;
  r->c = ctx_new();
  r->m = module_new(r->c, "loop.g");
  rig_entry(r, "e");
  const Type *row = floats(r, 1, (int64_t[]){16}), *all = floats(r, 2, (int64_t[]){3, 16});
  ValueId x = entry_add_input(r->e, "x", row), w = entry_add_input(r->e, "w", row);
  ValueId xs = build1(r->b, OP_EXP, entry_add_input(r->e, "xs", all));
  l.outside = build1(r->b, OP_EXP, w);
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = {.i = 3}, [AT_CARRIES] = {.i = 1}};
  Op *scan = build_op(r->b, OP_SCAN, (ValueId[]){x, xs}, 2, attr, (const Type *[]){row, all}, 2);
  Block *in = scan->blocks[0];
  (void)block_add_arg(r->e, in, (Value){.type = type_scalar(r->c, DT_I32)});
  ValueId h = block_add_arg(r->e, in, (Value){.type = row});
  ValueId slice = block_add_arg(r->e, in, (Value){.type = row});
  builder_at(r->b, in);
  l.inner = build2(r->b, OP_MUL, build2(r->b, OP_ADD, h, slice), l.outside);
  l.next = build1(r->b, OP_SIN, l.inner);
  l.row = build1(r->b, OP_COS, l.inner);
  build_op(r->b, OP_YIELD, (ValueId[]){l.next, l.row}, 2, NULL, NULL, 0);
  builder_at(r->b, r->e->body);
  build_return(r->b, scan->results, (const char *[]){"h", "ys"}, 2);
  l.scan = scan;
  assert_true(module_verify(r->m, NULL));
  return l;
}

typedef enum Fault {
  OVER_CARRY,   /* a temporary of the body lies over the carry */
  OVER_OUTSIDE, /* ... over what every iteration reads */
  OVER_STACK,   /* ... in another iteration's slice of the stack */
  OVER_INPUT,   /* ... in the slices of the input */
  CARRY_APART,  /* the carry is sought beside its place */
  SLICE_STAYS,  /* the slice of the input does not move */
  ROW_STAYS,    /* what is stacked is always written to one slice */
  ROW_TOO_FAST, /* ... beyond its own */
  NEXT_LOST,    /* the next carry is said to lie in the carry, and lies elsewhere */
  SHORT_LIFE,   /* what is read from outside is said to die in the first iteration */
  FAULTS
} Fault;

static void inject(Loop *l, Fault f) {
  static const int64_t still[1] = {0}, fast[1] = {128};
  Place *p = plan_of(l->r.e)->place;
  const Block *in = l->scan->blocks[0];
  Place *temporary = &p[l->inner];
  switch (f) {
  case OVER_CARRY: rig_move(temporary, &p[in->args.at[1]], 0); return;
  case OVER_OUTSIDE: rig_move(temporary, &p[l->outside], 0); return;
  case OVER_STACK: rig_move(temporary, &p[l->scan->results[1]], 64); return;
  case OVER_INPUT: rig_move(temporary, &p[l->scan->operands[1]], 64); return;
  case CARRY_APART: p[in->args.at[1]].offset += 64; return;
  case SLICE_STAYS: p[in->args.at[2]].stride = still; return;
  case ROW_STAYS: p[l->row].stride = still; return;
  case ROW_TOO_FAST: p[l->row].stride = fast; return;
  case NEXT_LOST: p[l->next].offset = p[l->inner].offset; return;
  case SHORT_LIFE: p[l->outside].last = p[l->inner].first - 1; return;
  case FAULTS: return;
  }
}

static void right_plans_are_accepted(void **state) {
  (void)state;
  static const char *const memory[] = {"none", "inplace", "pool", "color", "pack"};
  for (int k = 0; k < 5; k++) {
    Loop l = loop_new();
    rig_plan(&l.r, memory[k], true);
    assert_true(plan_verify(l.r.e, &rig_target, stderr));
    rig_free_plan(&l.r);
  }
}

static void wrong_plans_are_found(void **state) {
  (void)state;
  for (int f = 0; f < FAULTS; f++) {
    Loop l = loop_new();
    rig_plan(&l.r, "pack", false);
    assert_true(plan_verify(l.r.e, &rig_target, stderr));
    const Place *p = plan_of(l.r.e)->place; /* as the faults below expect it */
    assert_true(p[l.next].how == HOW_INPLACE && p[l.row].stride && p[l.inner].how != HOW_EXTERNAL);
    inject(&l, (Fault)f);
    if (plan_verify(l.r.e, &rig_target, NULL)) fail_msg("fault %d was accepted", f);
    rig_free_plan(&l.r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_plans_are_accepted),
      cmocka_unit_test(wrong_plans_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
