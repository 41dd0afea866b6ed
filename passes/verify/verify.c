/* The independent checker of a plan: walks the final program, keeps for every byte of memory the
   value that it holds, and proves that every read finds the value that it means.
   Contract: reads the plan and nothing that made it; of the planner's code only the places of
   globals are used. The target, whose kernels use scratch, tells how much an op needs. A plan is
   rejected if the proof fails, with the op, its place and both values. */
#include "ir/update.h"
#include "passes/verify/verify_impl.h"

#include "passes/manager/pass_list.h"

#include <stdarg.h>

void verify_fail(Check *c, const Op *op, const char *fmt, ...) {
  c->failed = true;
  if (!c->f) return;
  Ctx *ctx = c->e->module->ctx;
  fprintf(c->f, "%s: error: the memory plan of '%s' is wrong: ",
          op && op->loc.line ? loc_str(ctx, op->loc) : "gc", c->e->name);
  if (op) fprintf(c->f, "%s: ", op_info[op->kind].name);
  va_list args;
  va_start(args, fmt);
  vfprintf(c->f, fmt, args);
  va_end(args);
  fputc('\n', c->f);
}

static const char *name_of(const Check *c, ValueId v) { return value_str(c->e, v); }

/* ---------------------------------------------------------------- a step ---- */

static void check_reads(Check *c, const Op *op, int step) {
  for (int i = 0; i < op->noperands; i++) verify_read(c, op, op->operands[i], step);
}

static void check_overwrites(Check *c, const Op *op, int result) {
  Range y = verify_range(c, op->results[result]);
  for (int i = 0; i < op->noperands; i++) {
    if (!verify_overlap(verify_range(c, op->operands[i]), y)) continue;
    bool same =
        verify_same_place(c, &c->p->place[op->operands[i]], &c->p->place[op->results[result]]);
    if (!same || !verify_overwrite(c->target, c->e, op, result, i))
      verify_fail(c, op, "writes %s over its operand %s, which it still reads elsewhere",
                  name_of(c, op->results[result]), name_of(c, op->operands[i]));
  }
  for (int k = 0; k < result; k++)
    if (verify_overlap(verify_range(c, op->results[k]), y))
      verify_fail(c, op, "writes %s and %s to the same bytes", name_of(c, op->results[k]),
                  name_of(c, op->results[result]));
}

static void check_scratch(Check *c, const Op *op, int step) {
  const Target *t = c->target;
  const Place *s = &c->p->scratch[op->id];
  uint64_t bytes = t->scratch_bytes ? t->scratch_bytes(t, c->e, op) : 0;
  if (!verify_place(c, op, "its scratch", s, bytes, c->e->body) || !bytes) return;
  Range r = {s->region, s->offset, s->bytes};
  if (s->region != PLAN_ARENA) verify_fail(c, op, "its scratch lies outside the arena");
  if (s->stride) verify_fail(c, op, "its scratch moves");
  if (s->first > step || s->last < step)
    verify_fail(c, op, "its scratch does not live at its step");
  for (int i = 0; i < op->noperands; i++)
    if (verify_overlap(verify_range(c, op->operands[i]), r))
      verify_fail(c, op, "its scratch overlaps its operand %s", name_of(c, op->operands[i]));
  for (int i = 0; i < op->nresults; i++)
    if (verify_overlap(verify_range(c, op->results[i]), r))
      verify_fail(c, op, "its scratch overlaps its result %s", name_of(c, op->results[i]));
  verify_write(c, r, SCRATCH, NO_ID);
}

/* The carry, or the stack, that a body's value may be said to lie in. */
static bool is_target(const Op *op, ValueId of) {
  const Op *scan = op->parent->op;
  for (int i = 0; scan && i < scan->nresults; i++)
    if (scan->results[i] == of || (i < scan_carries(scan) && scan->blocks[0]->args.at[i + 1] == of))
      return true;
  return false;
}

/* `how` and `of` tell people and tools why a value lies there: they must be true. */
static void check_reason(Check *c, const Op *op, ValueId v) {
  const Place *y = &c->p->place[v];
  if (y->how != HOW_INPLACE) return;
  bool known = is_target(op, y->of);
  for (int i = 0; i < op->noperands; i++) known |= op->operands[i] == y->of;
  if (!known) {
    verify_fail(c, op, "%s is said to be in place of a value that is not its operand",
                name_of(c, v));
    return;
  }
  const Place *x = &c->p->place[y->of];
  bool view = op->noperands && y->of == op->operands[0]; /* not the place of a loop's result */
  uint64_t behind = view ? verify_rows_before(c, op) : 0;
  if (x->region != y->region || x->offset + behind != y->offset)
    verify_fail(c, op, "%s is said to be in place of %s and lies elsewhere", name_of(c, v),
                name_of(c, y->of));
}

static void check_store(Check *c, const Op *op) {
  int g = (int)op->attr[AT_GLOBAL].i;
  ValueId v = op->operands[0];
  const Place *x = &c->p->place[v];
  uint64_t bytes, value;
  if (!layout_bytes(c->e->module->globals.at[g].type, c->e->module->globals.at[g].layout, &bytes) ||
      !verify_bytes(c, v, &value))
    return;
  if (x->region == PLAN_GLOBALS && x->global == g) { /* no copy: it must be there already */
    c->moves[op->id] = MOVES_NOTHING;
    if (x->offset != c->globals.offset[g] || bytes != value)
      verify_fail(c, op, "%s is not at the place of @%s", name_of(c, v),
                  c->e->module->globals.at[g].path);
    return;
  }
  Range to = {PLAN_GLOBALS, c->globals.offset[g], bytes};
  if (verify_overlap(verify_range(c, v), to))
    verify_fail(c, op, "%s overlaps @%s, to which it is copied", name_of(c, v),
                c->e->module->globals.at[g].path);
  verify_write(c, to, CONTENT, verify_copied(c, v));
}

bool verify_results(Check *c, const Op *op, int step) {
  bool ok = true;
  for (int i = 0; i < op->nresults; i++) {
    ValueId v = op->results[i];
    const Place *y = &c->p->place[v];
    if (!verify_value(c, op, v)) {
      ok = false;
      continue;
    }
    if (y->first > step || y->last < step)
      verify_fail(c, op, "%s does not live at the step that makes it", name_of(c, v));
    bool written = !verify_moves_nothing(c, op);
    if (y->region != PLAN_ARENA && y->region != PLAN_GLOBALS && written)
      verify_fail(c, op, "writes %s to %s", name_of(c, v), verify_region[y->region]);
    for (int d = 0; d < c->p->depth && written; d++)
      if (verify_stride(y, d) % (int64_t)c->target->align)
        verify_fail(c, op, "%s moves by %lld bytes, which are not aligned to %llu", name_of(c, v),
                    (long long)verify_stride(y, d), (unsigned long long)c->target->align);
    check_reason(c, op, v);
  }
  return ok;
}

/* What the op touches, for other streams. A store of what lies in its place touches nothing. */
static void touch(Check *c, const Op *op) {
  const Place *x = op->noperands ? &c->p->place[op->operands[0]] : NULL;
  int g = op->kind == OP_STORE ? (int)op->attr[AT_GLOBAL].i : -1;
  if (g >= 0 && x->region == PLAN_GLOBALS && x->global == g) return;
  for (int i = 0; i < op->noperands; i++)
    verify_touch(c, op, verify_range(c, op->operands[i]), false);
  for (int i = 0; i < op->nresults; i++) verify_touch(c, op, verify_range(c, op->results[i]), true);
  const Place *s = &c->p->scratch[op->id];
  verify_touch(c, op, (Range){s->region, s->offset, s->bytes}, true);
  if (g >= 0) verify_touch(c, op, (Range){PLAN_GLOBALS, c->globals.offset[g], x->bytes}, true);
}

static void check_step(Check *c, const Op *op, int step) {
  check_reads(c, op, step);
  if (!verify_results(c, op, step)) return;
  if (verify_moves_nothing(c, op)) {
    c->moves[op->id] = MOVES_NOTHING;
    c->content[op->results[0]] = c->content[op->operands[0]];
    c->from[op->results[0]] = c->from[op->operands[0]] + verify_rows_before(c, op);
    c->defined[op->results[0]] = true;
    return;
  }
  for (int i = 0; i < op->nresults; i++) check_overwrites(c, op, i);
  int kept = op->kind == OP_GATHER_GRAD ? 2 : op_updated(c->e, op);
  if (kept >= 0 && kept < op->noperands &&
      verify_same_place(c, &c->p->place[op->operands[kept]], &c->p->place[op->results[0]]))
    c->moves[op->id] = MOVES_PART;
  check_scratch(c, op, step);
  for (int i = 0; i < op->nresults; i++) {
    verify_write(c, verify_range(c, op->results[i]), CONTENT, op->results[i]);
    c->defined[op->results[i]] = true;
  }
  if (op->kind == OP_STORE) check_store(c, op);
  if (c->streams && !c->failed) touch(c, op);
}

/* ---------------------------------------------------------------- the whole ---- */

/* Steps of a block from *step on, in the order of the program. */
static void check_block(Check *c, const Block *b, int *step) {
  for (uint32_t i = 0; i < b->ops.n && !c->failed; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    if (op->kind == OP_LOAD || op->kind == OP_RETURN) continue;
    c->step = (*step)++;
    if (op->kind == OP_YIELD) {
      verify_loop_round(c, op);
    } else if (op->kind == OP_SCAN) {
      verify_loop_begin(c, op);
      check_block(c, op->blocks[0], step);
      if (!c->failed) verify_loop_end(c, op);
    } else {
      check_step(c, op, c->step);
    }
  }
}

/* The steps are the ops of the program in order, a loop's body behind the loop. */
static bool order_from(Check *c, const Block *b, int *step) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    if (op->kind == OP_LOAD || op->kind == OP_RETURN) continue;
    if (*step >= c->p->nsteps || c->p->steps[*step] != op) {
      verify_fail(c, op, "its steps are not the ops of the program in order");
      return false;
    }
    ++*step;
    if (op->kind == OP_SCAN && verify_level(op->blocks[0]) > c->p->depth) {
      verify_fail(c, op, "is nested deeper than the plan says");
      return false;
    }
    if (op->kind == OP_SCAN && !order_from(c, op->blocks[0], step)) return false;
  }
  return true;
}

static const Op *check_order(Check *c) {
  const Block *b = c->e->body;
  const Op *last = op_at(c->e, b->ops.at[b->ops.n - 1]);
  int step = 0;
  if (!order_from(c, b, &step)) return NULL;
  if (step == c->p->nsteps && last->kind == OP_RETURN) return last;
  verify_fail(c, NULL, "it has more steps than the program");
  return NULL;
}

static void check_all(Check *c) {
  const Op *ret = check_order(c);
  if (!ret || !verify_strides(c)) return;
  verify_begin(c);
  if (!c->failed && c->p->streams > 1) verify_streams_begin(c);
  int step = 0;
  if (!c->failed) check_block(c, c->e->body, &step);
  if (!c->failed) verify_end(c, ret);
}

/* What kernels may read behind the last buffer of the arena: no buffer lies there. */
static uint64_t size_of_arena(const Plan *p, const Target *t) {
  uint64_t slack = 0;
  if (!checked_align((uint64_t)t->slack, (uint64_t)t->align, &slack)) return 0;
  return p->arena_bytes > slack ? p->arena_bytes - slack : 0;
}

PlanMoves plan_moves(const Entry *e, const Op *op) {
  if (!plan_of(e)->moves) gc_bug(e->module->ctx, "the plan of '%s' is used unproven", e->name);
  return (PlanMoves)plan_of(e)->moves[op->id];
}

bool plan_verify(const Entry *e, const Target *target, FILE *f) {
  Plan *p = plan_of(e);
  Arena *a = arena_new();
  Check c = {.e = e, .p = p, .f = f, .a = a, .target = target};
  c.globals = plan_globals(e->module, target->align);
  c.size[PLAN_ARENA] = size_of_arena(p, target);
  c.size[PLAN_INPUTS] = p->inputs_bytes;
  c.size[PLAN_COUNTS] = p->counts_bytes;
  c.content = ARENA_ARRAY(a, ValueId, e->values.n);
  c.from = ARENA_ARRAY(a, uint64_t, e->values.n);
  c.defined = ARENA_ARRAY(a, bool, e->values.n);
  c.initial = ARENA_ARRAY(a, ValueId, e->module->globals.n + 1);
  c.moves = ARENA_ARRAY(a, unsigned char, e->ops.n);
  for (uint32_t v = 0; v < e->values.n; v++) c.content[v] = v;
  check_all(&c);
  if (!c.failed) {
    p->moves = ARENA_ARRAY(e->module->arena, unsigned char, e->ops.n);
    memcpy(p->moves, c.moves, e->ops.n);
  }
  arena_free(a);
  return !c.failed;
}

bool pass_plan_verify(PassRun *r) {
  Entry *e;
  bool ok = true;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++)
    ok &= plan_verify(e, r->opt->target, r->opt->out ? r->opt->out : stderr);
  return ok;
}
