/* The checker of plans on what shares bytes by rows: views, histories, updates in place, and loops
   within loops. Contract: every fault is one change of one place of a plan that is right, and is
   rejected for what is wrong about it. */
#include "tests/unit/plan_rig.h"

enum { COLS = 64, TRIPS = 8, ROW = COLS * 4, ROOM = 16 * ROW };

static const Type *floats(PlanRig *r, int rank, const int64_t *dim) {
  return type_get(r->c, DT_F32, rank, dim);
}

static PlanRig rig_begin(void) {
  PlanRig r = {.c = ctx_new()};
  r.m = module_new(r.c, "rows.g");
  rig_entry(&r, "e");
  return r;
}

static const Op *only(const PlanRig *r, OpKind kind) {
  const Op *found = NULL;
  for (uint32_t i = 0; i < r->e->ops.n; i++) {
    if (op_at(r->e, i)->kind != kind) continue;
    assert_null(found);
    found = op_at(r->e, i);
  }
  assert_non_null(found);
  return found;
}

/* Plans, and leaves room behind the arena: no fault below is one of reaching beyond it. */
static Place *plan_right(PlanRig *r) {
  assert_true(module_verify(r->m, NULL));
  rig_plan(r, "pack", false);
  plan_of(r->e)->arena_bytes += ROOM;
  assert_true(plan_verify(r->e, &rig_target, stderr));
  return plan_of(r->e)->place;
}

/* The plan is rejected, and the first complaint has these words. */
static void reject(PlanRig *r, const char *fault, const char *words) {
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  assert_non_null(f);
  bool ok = plan_verify(r->e, &rig_target, f);
  fclose(f);
  if (ok) fail_msg("%s: was accepted", fault);
  text[strcspn(text, "\n")] = 0;
  if (!strstr(text, words)) fail_msg("%s: expected '%s', got: %s", fault, words, text);
  free(text);
  rig_free_plan(r);
}

/* ---- a view ---- */

typedef struct View {
  PlanRig r;
  ValueId whole, view, beside;
  Place *p;
} View;

/* view = exp(x)[1:], and a value that is made while the view waits to be read. */
static View view_new(void) {
  View w = {.r = rig_begin()};
  PlanRig *r = &w.r;
  const Type *all = floats(r, 2, (int64_t[]){TRIPS, COLS});
  ValueId x = entry_add_input(r->e, "x", all);
  w.whole = build1(r->b, OP_EXP, x);
  w.view = rows_slice(r->b, w.whole, 1, TRIPS - 1, 1);
  w.beside = build1(r->b, OP_COS, x);
  ValueId y = build1(r->b, OP_SIN, w.view);
  build_return(r->b, (ValueId[]){y, w.beside}, (const char *[]){"y", "z"}, 2);
  w.p = plan_right(r);
  assert_true(plan_is_alias(r->e, value_def(r->e, w.view)));
  return w;
}

static void views(void **state) {
  (void)state;
  View w = view_new();
  w.p[w.view].offset -= ROW;
  reject(&w.r, "a view begins a row early", "lies elsewhere");
  w = view_new();
  w.p[w.view].offset += ROW;
  reject(&w.r, "a view begins a row late", "lies elsewhere");
  w = view_new();
  rig_move(&w.p[w.view], &w.p[w.whole], 0);
  reject(&w.r, "rows are copied over rows that are still to be read", "over its operand");
  w = view_new();
  rig_move(&w.p[w.beside], &w.p[w.whole], ROW);
  reject(&w.r, "a value lies over a view", "was written over it");
}

/* ---- an update ---- */

/* The old value is read once more after the update of a row: the update may not be in place. */
static void updates(void **state) {
  (void)state;
  PlanRig r = rig_begin();
  const Type *all = floats(&r, 2, (int64_t[]){TRIPS, COLS});
  const Type *row = floats(&r, 2, (int64_t[]){1, COLS});
  ValueId old = build1(r.b, OP_EXP, entry_add_input(r.e, "x", all));
  ValueId in[] = {old, entry_add_input(r.e, "row", row),
                  entry_add_input(r.e, "at", type_scalar(r.c, DT_I32))};
  ValueId updated = build(r.b, OP_DYNAMIC_UPDATE, in, 3, NULL, NULL);
  ValueId after = build1(r.b, OP_SIN, old);
  build_return(r.b, (ValueId[]){updated, after}, (const char *[]){"y", "z"}, 2);
  Place *p = plan_right(&r);
  assert_false(plan_updates_part(r.e, plan_of(r.e), only(&r, OP_DYNAMIC_UPDATE)));
  rig_move(&p[updated], &p[old], 0);
  p[updated].how = HOW_INPLACE;
  p[updated].of = old;
  reject(&r, "an update in place of what is read again", "was written over it");
}

/* ---- a history ---- */

typedef struct History {
  PlanRig r;
  const Op *scan, *update;
  ValueId history, temporary; /* in the loop */
  Place *p;
} History;

/* h' = sin(cos(h)), stacked before each iteration and after it: one history of TRIPS + 1 rows. */
static History history_new(void) {
  History w = {.r = rig_begin()};
  PlanRig *r = &w.r;
  const Type *row = floats(r, 1, (int64_t[]){COLS});
  const Type *all = floats(r, 2, (int64_t[]){TRIPS, COLS});
  ValueId x = entry_add_input(r->e, "x", row);
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = {.i = TRIPS}, [AT_CARRIES] = {.i = 1}};
  Op *scan = build_op(r->b, OP_SCAN, &x, 1, attr, (const Type *[]){row, all, all}, 3);
  Block *in = scan->blocks[0];
  (void)block_add_arg(r->e, in, (Value){.type = type_scalar(r->c, DT_I32)});
  ValueId h = block_add_arg(r->e, in, (Value){.type = row});
  builder_at(r->b, in);
  ValueId next = build1(r->b, OP_SIN, build1(r->b, OP_COS, h));
  build_op(r->b, OP_YIELD, (ValueId[]){next, h, next}, 3, NULL, NULL, 0);
  builder_at(r->b, r->e->body);
  ValueId y = build2(r->b, OP_MUL, scan->results[1], scan->results[2]);
  build_return(r->b, (ValueId[]){scan->results[0], y}, (const char *[]){"h", "y"}, 2);
  assert_true(rig_pass(r, pass_shared_stacks, "", &(PassOptions){.target = &rig_target}));
  w.p = plan_right(r);
  w.scan = only(r, OP_SCAN);
  w.update = only(r, OP_DYNAMIC_UPDATE);
  w.history = w.update->operands[0];
  w.temporary = only(r, OP_COS)->results[0];
  assert_true(plan_updates_part(r->e, plan_of(r->e), w.update));
  return w;
}

static void histories(void **state) {
  (void)state;
  History w = history_new();
  w.p[w.update->results[0]].offset += ROW;
  reject(&w.r, "a history moves on by a row", "lies elsewhere");
  w = history_new();
  rig_move(&w.p[w.update->results[0]], &w.p[w.history], ROW);
  reject(&w.r, "a history is written beside itself", "over its operand");
  w = history_new();
  w.p[w.history].offset += ROW;
  reject(&w.r, "a history is sought a row behind its place", "not where the loop finds it");
  w = history_new();
  rig_move(&w.p[w.temporary], &w.p[w.history], 3 * ROW);
  reject(&w.r, "a value of the loop lies over a row of the history", "was written over it");
}

/* ---- a loop in a loop ---- */

typedef struct Nest {
  PlanRig r;
  const Op *outer, *inner;
  ValueId carry, outside;         /* of the outer loop, read by or after the inner one */
  ValueId temporary, next, stack; /* of the inner loop's body */
  Place *p;
} Nest;

/* The inner loop: h' = sin(t), stacking cos(t), where t = (h + outside) outside. */
static const Op *nest_inner(Nest *w, ValueId first, const Type *row) {
  PlanRig *r = &w->r;
  const Type *all = floats(r, 2, (int64_t[]){TRIPS, COLS});
  Block *around = r->b->b;
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = {.i = TRIPS}, [AT_CARRIES] = {.i = 1}};
  Op *scan = build_op(r->b, OP_SCAN, &first, 1, attr, (const Type *[]){row, all}, 2);
  Block *in = scan->blocks[0];
  (void)block_add_arg(r->e, in, (Value){.type = type_scalar(r->c, DT_I32)});
  ValueId h = block_add_arg(r->e, in, (Value){.type = row});
  builder_at(r->b, in);
  w->temporary = build2(r->b, OP_MUL, build2(r->b, OP_ADD, h, w->outside), w->outside);
  w->next = build1(r->b, OP_SIN, w->temporary);
  w->stack = build1(r->b, OP_COS, w->temporary);
  build_op(r->b, OP_YIELD, (ValueId[]){w->next, w->stack}, 2, NULL, NULL, 0);
  builder_at(r->b, around);
  return scan;
}

static Nest nest_new(void) {
  Nest w = {.r = rig_begin()};
  PlanRig *r = &w.r;
  const Type *row = floats(r, 1, (int64_t[]){COLS}), *all = floats(r, 2, (int64_t[]){3, COLS});
  ValueId x = entry_add_input(r->e, "x", row);
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = {.i = 3}, [AT_CARRIES] = {.i = 1}};
  Op *scan = build_op(r->b, OP_SCAN, &x, 1, attr, (const Type *[]){row, all}, 2);
  Block *in = scan->blocks[0];
  (void)block_add_arg(r->e, in, (Value){.type = type_scalar(r->c, DT_I32)});
  w.carry = block_add_arg(r->e, in, (Value){.type = row});
  builder_at(r->b, in);
  w.outside = build1(r->b, OP_EXP, w.carry);
  w.inner = nest_inner(&w, w.outside, row);
  ValueId next = build2(r->b, OP_ADD, w.inner->results[0], w.carry);
  ValueId sum = build_reduce(r->b, OP_SUM, w.inner->results[1], (int64_t[]){0}, 1);
  build_op(r->b, OP_YIELD, (ValueId[]){next, sum}, 2, NULL, NULL, 0);
  builder_at(r->b, r->e->body);
  build_return(r->b, scan->results, (const char *[]){"h", "ys"}, 2);
  w.outer = scan;
  w.p = plan_right(r);
  assert_true(w.p[w.next].how == HOW_INPLACE && w.p[w.stack].stride);
  return w;
}

static void nests(void **state) {
  (void)state;
  static const int64_t both[2] = {ROW, ROW}, outermost[2] = {ROW, 0};
  Nest w = nest_new();
  rig_move(&w.p[w.temporary], &w.p[w.inner->results[0]], 0);
  reject(&w.r, "a value of the inner loop lies over its carry", "was written over it");
  w = nest_new();
  rig_move(&w.p[w.temporary], &w.p[w.outside], 0);
  reject(&w.r, "... over what the loop around made for it", "hold nothing");
  w = nest_new();
  rig_move(&w.p[w.temporary], &w.p[w.carry], 0);
  reject(&w.r, "... over the carry of the loop around", "was written over it");
  w = nest_new();
  rig_move(&w.p[w.temporary], &w.p[w.inner->results[1]], ROW);
  reject(&w.r, "... over the stack of its own loop", "beside the iteration's slice");
  w = nest_new();
  rig_move(&w.p[w.temporary], &w.p[w.outer->results[1]], ROW);
  reject(&w.r, "... over the stack of the loop around", "beside the iteration's slice");
  w = nest_new();
  w.p[w.stack].stride = both;
  reject(&w.r, "what the inner loop stacks moves with both loops", "beside the iteration's slice");
  w = nest_new();
  w.p[w.stack].stride = outermost;
  reject(&w.r, "... with the wrong one", "beside the iteration's slice");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(views),
      cmocka_unit_test(updates),
      cmocka_unit_test(histories),
      cmocka_unit_test(nests),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
