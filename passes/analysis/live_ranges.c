/* Live ranges: the first and the last step of each value.
   Contract: the order is final; leaves plan_of(entry) with steps, sizes, lives, and the places of
   inputs, loads and views. One walk over the program does it. The live sets before and after every
   op are live_sets.c's. */
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

static bool too_large(const Entry *e, Loc loc) {
  diag(e->module->ctx, SEV_ERROR, loc, "a value of entry '%s' needs more than 2^62 bytes", e->name);
  return false;
}

static bool place_value(const Entry *e, Place *p, ValueId v, Loc loc) {
  if (!layout_bytes(value_type(e, v), value_at(e, v)->layout, &p->bytes)) return too_large(e, loc);
  return true;
}

static bool place_inputs(const Entry *e, const Target *t, Plan *p) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    ValueId v = e->body->args.at[i];
    Place *x = &p->place[v];
    if (!place_value(e, x, v, e->loc)) return false;
    x->region = PLAN_INPUTS;
    x->how = HOW_EXTERNAL;
    x->offset = at;
    x->first = x->last = -1;
    if (!checked_add(at, x->bytes, &at) || !checked_align(at, (uint64_t)t->align, &at))
      return too_large(e, e->loc);
  }
  p->inputs_bytes = at;
  return true;
}

static bool place_load(const Entry *e, Plan *p, const Op *op, const GlobalsPlan *g) {
  Place *x = &p->place[op->results[0]];
  if (!place_value(e, x, op->results[0], op->loc)) return false;
  x->global = (int)op->attr[AT_GLOBAL].i;
  x->region = e->module->globals.at[x->global].kind == GLOBAL_HYPER ? PLAN_HYPERS : PLAN_GLOBALS;
  x->how = HOW_EXTERNAL;
  x->offset = g->offset[x->global];
  x->first = x->last = -1;
  return true;
}

/* A view lies where its operand lies. */
static void place_view(const Entry *e, Plan *p, const Op *op) {
  const Place *x = &p->place[op->operands[0]];
  Place *y = &p->place[op->results[0]];
  y->region = x->region;
  y->global = x->global;
  y->offset = x->offset + plan_shift(e, op->results[0]) - plan_shift(e, op->operands[0]);
  y->how = HOW_INPLACE;
  y->of = op->operands[0];
}

typedef struct Times {
  Arena *scratch;
  const Entry *e;
  const Target *t;
  const GlobalsPlan *g;
  Plan *p;
} Times;

static bool place_step(Times *w, const Op *op, uint64_t runs) {
  Plan *p = w->p;
  int step = p->nsteps;
  for (int i = 0; i < op->nresults; i++) {
    Place *x = &p->place[op->results[i]];
    if (!place_value(w->e, x, op->results[i], op->loc)) return false;
    x->first = x->last = step;
  }
  if (plan_is_view(w->e, op)) place_view(w->e, p, op);
  Place *s = &p->scratch[op->id];
  s->bytes = w->t->scratch_bytes ? w->t->scratch_bytes(w->t, w->e, op) : 0;
  s->first = s->last = step;
  if (op->kind != OP_SCAN) p->flops += runs * op_flops(w->e, op);
  p->steps[p->nsteps++] = op;
  return true;
}

/* The arguments of a loop's block, at the loop's first step: the counter, the carries and slices,
   which lie where the results and the inputs lie. */
static bool place_arguments(Times *w, const Op *op, int begin) {
  const Block *b = op->blocks[0];
  Plan *p = w->p;
  for (uint32_t i = 0; i < b->args.n; i++) {
    ValueId v = b->args.at[i], of = plan_same(w->e, v);
    Place *x = &p->place[v];
    if (!place_value(w->e, x, v, op->loc)) return false;
    x->first = x->last = begin;
    if (of == NO_ID) {
      x->region = PLAN_COUNTS;
      x->how = HOW_EXTERNAL;
      continue;
    }
    x->region = p->place[of].region;
    x->global = p->place[of].global;
    x->offset = p->place[of].offset;
    x->how = HOW_INPLACE;
    x->of = of;
  }
  return true;
}

/* A value of another block is read in a loop, which says so for it at its own end. */
static void read_at(Times *w, const Block *b, ValueId v, int step) {
  if (value_block(w->e, v) == b) w->p->place[v].last = step;
}

static bool time_block(Times *w, const Block *b, uint64_t runs, int depth);

static bool time_scan(Times *w, const Op *op, uint64_t runs, int depth) {
  Plan *p = w->p;
  int begin = p->nsteps - 1;
  if (!place_arguments(w, op, begin)) return false;
  if (!time_block(w, op->blocks[0], runs * (uint64_t)scan_trips(op), depth + 1)) return false;
  int end = p->nsteps - 1;
  ValueList captured = {0};
  plan_captured(w->scratch, w->e, op, &captured);
  for (uint32_t i = 0; i < captured.n; i++) read_at(w, op->parent, captured.at[i], end);
  for (int i = scan_carries(op); i < op->noperands; i++)
    read_at(w, op->parent, op->operands[i], end);
  for (int i = 0; i < op->nresults; i++) p->place[op->results[i]].last = end;
  uint64_t counts = 4 * (uint64_t)scan_trips(op);
  if (p->place[op->blocks[0]->args.at[0]].last > begin && counts > p->counts_bytes)
    p->counts_bytes = counts;
  return true;
}

static bool time_block(Times *w, const Block *b, uint64_t runs, int depth) {
  const Entry *e = w->e;
  Plan *p = w->p;
  if (depth > p->depth) p->depth = depth;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind == OP_LOAD) {
      if (!place_load(e, p, op, w->g)) return false;
      continue;
    }
    for (int k = 0; k < op->noperands; k++) read_at(w, b, op->operands[k], p->nsteps);
    if (op->kind == OP_RETURN) {
      for (int k = 0; k < op->noperands; k++)
        if (!checked_add(p->outputs_bytes, p->place[op->operands[k]].bytes, &p->outputs_bytes))
          return too_large(e, op->loc);
      continue;
    }
    if (!place_step(w, op, runs)) return false;
    if (op->kind == OP_SCAN && !time_scan(w, op, runs, depth)) return false;
  }
  return true;
}

/* A kernel that sees a part of a bounded axis reads which part it is. */
static void count_parts(const Entry *e, Plan *p) {
  for (uint32_t v = 0; v < e->values.n; v++)
    for (int i = 0; i < value_type(e, v)->rank; i++) {
      const Extent *x = type_extent(value_type(e, v), i);
      for (int k = 0; x && k < x->nfactors; k++) {
        uint64_t counts = 4 * (uint64_t)(extent_number(x->factor[k]) + 1);
        if (x->factor[k]->whole && counts > p->counts_bytes) p->counts_bytes = counts;
      }
    }
}

bool plan_times(Arena *a, const Entry *e, const Target *t, const GlobalsPlan *g, Plan **out) {
  Plan *p = ARENA_NEW(a, Plan);
  p->steps = ARENA_ARRAY(a, const Op *, e->ops.n);
  p->place = ARENA_ARRAY(a, Place, e->values.n);
  p->scratch = ARENA_ARRAY(a, Place, e->ops.n);
  p->streams = 1;
  p->comm = -1;
  p->recompute_flops = notes_of(e)->rerun_flops;
  for (uint32_t v = 0; v < e->values.n; v++)
    p->place[v] = (Place){.of = NO_ID, .first = -1, .last = -1, .global = -1};
  for (uint32_t i = 0; i < e->ops.n; i++)
    p->scratch[i] = (Place){.of = NO_ID, .first = -1, .last = -1, .global = -1};
  if (!place_inputs(e, t, p)) return false;
  Times w = {.scratch = arena_new(), .e = e, .t = t, .g = g, .p = p};
  bool ok = time_block(&w, e->body, 1, 0);
  arena_free(w.scratch);
  count_parts(e, p);
  plan_strides(a, e, p);
  *out = p;
  return ok;
}

bool pass_liveness(PassRun *r) {
  const Target *t = r->opt->target;
  GlobalsPlan g = plan_globals(r->m, t->align);
  if (g.bytes == UINT64_MAX) return false;
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    Plan *p;
    if (!plan_times(r->m->arena, e, t, &g, &p)) return false;
    cache_change(e)->plan = p;
    report_saved_activations(r, e);
    if (r->opt->print_liveness) liveness_print(r->opt->out ? r->opt->out : stderr, e);
  }
  return true;
}
