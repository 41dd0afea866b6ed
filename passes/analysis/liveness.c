/* Liveness: which values are still needed after every op, and from which step to which each lives.
   Contract: needs a final order; leaves entry->plan with steps, sizes, lives, and the places of
   inputs, loads and views. The sets are the worklist dataflow of Aho, Lam, Sethi, Ullman, section
   9.2.5, over nested blocks; they are built only for printing, since the lives need one walk. */
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- the sets ---- */

/* A node is an op. Control flows down a block; into a region op's blocks at their first op and from
   their terminators to what follows the region op; a block that repeats also to its own first op.
 */
typedef struct Flow {
  const Entry *e;
  Arena *a;
  uint32_t words;       /* of a set */
  uint64_t **in, **out; /* by op id; a bit a value, by rank; they only grow */
  uint64_t *inner;      /* a set for flow_in */
  OpId *next;           /* what follows an op in its block, or NO_ID */
  OpId *prev;           /* the inverse */
  OpId *queue;          /* a stack of ops whose live_out may grow */
  bool *queued;
  uint32_t nqueue;
  VEC(OpId) order;      /* all ops, a region op before what it holds */
  uint32_t *rank;       /* of values: computed ones in order of definition, then what is given */
  VEC(ValueId) defined; /* the inverse */
} Flow;

static void flow_define(Flow *w, ValueId v) {
  w->rank[v] = w->defined.n;
  vec_push(w->a, &w->defined, v);
}

/* Inputs and globals are there from the beginning: they come last in a set, behind what was made.
 */
static void flow_given(Flow *w) {
  const Block *b = w->e->body;
  for (uint32_t i = 0; i < b->args.n; i++) flow_define(w, b->args.at[i]);
  for (uint32_t i = 0; i < b->ops.n; i++)
    if (op_at(w->e, b->ops.at[i])->kind == OP_LOAD)
      flow_define(w, op_at(w->e, b->ops.at[i])->results[0]);
}

static void flow_block(Flow *w, const Block *b) {
  for (uint32_t i = 0; b->op && i < b->args.n; i++) flow_define(w, b->args.at[i]);
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    vec_push(w->a, &w->order, op->id);
    w->next[op->id] = i + 1 < b->ops.n ? b->ops.at[i + 1] : NO_ID;
    w->prev[op->id] = i ? b->ops.at[i - 1] : NO_ID;
    for (int k = 0; k < op->nblocks; k++) flow_block(w, op->blocks[k]);
    for (int k = 0; op->kind != OP_LOAD && k < op->nresults; k++) flow_define(w, op->results[k]);
  }
}

static void set_add(uint64_t *s, uint32_t i) { s[i / 64] |= UINT64_C(1) << i % 64; }
static void set_drop(uint64_t *s, uint32_t i) { s[i / 64] &= ~(UINT64_C(1) << i % 64); }
/* True if `to` grew. */
static bool set_union(uint64_t *to, const uint64_t *s, uint32_t words) {
  uint64_t fresh = 0;
  for (uint32_t i = 0; i < words; i++) {
    fresh |= s[i] & ~to[i];
    to[i] |= s[i];
  }
  return fresh != 0;
}

static void flow_push(Flow *w, OpId op) {
  if (op == NO_ID || w->queued[op]) return;
  w->queued[op] = true;
  w->queue[w->nqueue++] = op;
}

/* live_out of an op: what its successors need. True if it grew. */
static bool flow_out(Flow *w, const Op *op) {
  const Block *b = op->parent;
  uint64_t *out = w->out[op->id];
  if (w->next[op->id] != NO_ID) return set_union(out, w->in[w->next[op->id]], w->words);
  if (!b->op) return false;
  bool grew = set_union(out, w->out[b->op->id], w->words); /* on to what follows the region op */
  if (b->op->kind == OP_SCAN) grew |= set_union(out, w->in[b->ops.at[0]], w->words); /* and round */
  for (int k = 0; k < b->op->nresults; k++) set_drop(out, w->rank[b->op->results[k]]);
  for (uint32_t k = 0; k < b->args.n; k++) set_drop(out, w->rank[b->args.at[k]]);
  return grew;
}

/* live_in = reads + (live_out - definitions), and what the blocks of a region op need from outside.
 */
static void flow_in(Flow *w, const Op *op, uint64_t *in) {
  memcpy(in, w->out[op->id], w->words * sizeof *in);
  for (int k = 0; k < op->nresults; k++) set_drop(in, w->rank[op->results[k]]);
  for (int k = 0; k < op->nblocks; k++) {
    const Block *b = op->blocks[k];
    if (!b->ops.n) continue;
    memcpy(w->inner, w->in[b->ops.at[0]], w->words * sizeof *in);
    for (uint32_t i = 0; i < b->args.n; i++) set_drop(w->inner, w->rank[b->args.at[i]]);
    set_union(in, w->inner, w->words);
  }
  for (int k = 0; k < op->noperands; k++) set_add(in, w->rank[op->operands[k]]);
}

static void flow_run(Flow *w) {
  uint64_t *fresh = ARENA_ARRAY(w->a, uint64_t, w->words);
  for (uint32_t i = 0; i < w->order.n; i++) flow_push(w, w->order.at[i]); /* the last one on top */
  while (w->nqueue) {
    const Op *op = op_at(w->e, w->queue[--w->nqueue]);
    w->queued[op->id] = false;
    if (flow_out(w, op))
      for (int k = 0; k < op->nblocks; k++) /* terminators flow to where the region op does */
        if (op->blocks[k]->ops.n) flow_push(w, op->blocks[k]->ops.at[op->blocks[k]->ops.n - 1]);
    flow_in(w, op, fresh);
    if (!set_union(w->in[op->id], fresh, w->words)) continue;
    flow_push(w, w->prev[op->id]);
    if (!op->parent->op) continue;
    flow_push(w, op->parent->op->id);
    if (w->prev[op->id] == NO_ID) flow_push(w, op->parent->ops.at[op->parent->ops.n - 1]);
  }
}

static void print_set(FILE *f, const Flow *w, const uint64_t *s) {
  const char *comma = "";
  fputc('{', f);
  for (uint32_t k = 0; k < w->words; k++)
    for (uint64_t left = s[k]; left; left &= left - 1) {
      uint32_t i = k * 64 + (uint32_t)__builtin_ctzll(left);
      fputs(comma, f);
      fputs(value_str(w->e, w->defined.at[i]), f);
      comma = ", ";
    }
  fputc('}', f);
}

static void print_op(FILE *f, const Flow *w, const Op *op) {
  const Entry *e = w->e;
  for (const Block *b = op->parent; b->op; b = b->op->parent) fputs("  ", f);
  for (int i = 0; i < op->nresults; i++)
    fprintf(f, "%s%s", i ? ", " : "", value_str(e, op->results[i]));
  fprintf(f, "%s%s", op->nresults ? " = " : "", op_info[op->kind].name);
  const char *sep = " ";
  if (op_info[op->kind].cls == CLASS_GLOBAL) {
    fprintf(f, " @%s", e->module->globals.at[op->attr[AT_GLOBAL].i].path);
    sep = ", ";
  }
  for (int i = 0; i < op->noperands; i++, sep = ", ")
    fprintf(f, "%s%s", sep, value_str(e, op->operands[i]));
  fputs("   live_in = ", f);
  print_set(f, w, w->in[op->id]);
  fputs("   live_out = ", f);
  print_set(f, w, w->out[op->id]);
  fputc('\n', f);
}

void liveness_print(FILE *f, const Entry *e) {
  Arena *a = arena_new();
  uint32_t n = e->ops.n;
  Flow w = {.e = e, .a = a, .words = (e->values.n + 63) / 64};
  w.in = ARENA_ARRAY(a, uint64_t *, n);
  w.out = ARENA_ARRAY(a, uint64_t *, n);
  w.next = ARENA_ARRAY(a, OpId, n);
  w.prev = ARENA_ARRAY(a, OpId, n);
  w.queue = ARENA_ARRAY(a, OpId, n);
  w.inner = ARENA_ARRAY(a, uint64_t, w.words);
  w.queued = ARENA_ARRAY(a, bool, n);
  w.rank = ARENA_ARRAY(a, uint32_t, e->values.n);
  flow_block(&w, e->body);
  flow_given(&w);
  for (uint32_t i = 0; i < w.order.n; i++) {
    w.in[w.order.at[i]] = ARENA_ARRAY(a, uint64_t, w.words);
    w.out[w.order.at[i]] = ARENA_ARRAY(a, uint64_t, w.words);
  }
  flow_run(&w);
  fprintf(f, "liveness of %s:\n", e->name);
  for (uint32_t i = 0; i < w.order.n; i++) {
    const Op *op = op_at(e, w.order.at[i]);
    if (!(op_info[op->kind].flags & OPF_TERMINATOR)) print_op(f, &w, op);
  }
  arena_free(a);
}

/* ---------------------------------------------------------------- the lives ---- */

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
  if (!time_block(w, op->blocks[0], runs * (uint64_t)op->attr[AT_TRIPS].i, depth + 1)) return false;
  int end = p->nsteps - 1;
  ValueList captured = {0};
  plan_captured(w->scratch, w->e, op, &captured);
  for (uint32_t i = 0; i < captured.n; i++) read_at(w, op->parent, captured.at[i], end);
  for (int i = (int)op->attr[AT_CARRIES].i; i < op->noperands; i++)
    read_at(w, op->parent, op->operands[i], end);
  for (int i = 0; i < op->nresults; i++) p->place[op->results[i]].last = end;
  uint64_t counts = 4 * (uint64_t)op->attr[AT_TRIPS].i;
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

bool plan_times(Arena *a, const Entry *e, const Target *t, const GlobalsPlan *g, Plan **out) {
  Plan *p = ARENA_NEW(a, Plan);
  p->steps = ARENA_ARRAY(a, const Op *, e->ops.n);
  p->place = ARENA_ARRAY(a, Place, e->values.n);
  p->scratch = ARENA_ARRAY(a, Place, e->ops.n);
  p->streams = 1;
  p->recompute_flops = e->rerun_flops;
  for (uint32_t v = 0; v < e->values.n; v++)
    p->place[v] = (Place){.of = NO_ID, .first = -1, .last = -1, .global = -1};
  for (uint32_t i = 0; i < e->ops.n; i++)
    p->scratch[i] = (Place){.of = NO_ID, .first = -1, .last = -1, .global = -1};
  if (!place_inputs(e, t, p)) return false;
  Times w = {.scratch = arena_new(), .e = e, .t = t, .g = g, .p = p};
  bool ok = time_block(&w, e->body, 1, 0);
  arena_free(w.scratch);
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
    if (!plan_times(r->m->arena, e, t, &g, &e->plan)) return false;
    kept_tell(r, e);
    if (r->opt->print_liveness) liveness_print(r->opt->out ? r->opt->out : stderr, e);
  }
  return true;
}
