/* Preparation: what a training entry computes of its inputs and of the step's random numbers alone,
   such as the augmentation of images, is cut off into an entry of its own (Entry.ahead), which runs
   for the next batch while a step runs. What of it the rest reads becomes inputs of the rest.
   Contract: bits stay, since the same ops read the same numbers; random numbers are keyed by the
   step that they are for. Preparations have no loops, nothing that a pass gives a layout, and touch
   no globals. Runs behind what divides the batch among ranks, and before everything that plans.
   Method: the closure of most worth (Picard 1976), by a least cut. An op is worth the work that the
   step has no more; a value that crosses costs what its bytes take to be read, twice that if its
   readers would have computed it on their way. Values of random numbers alone cross never: they
   come from no memory, so both sides make them. */
#include "passes/analysis/max_flow.h"
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

#include <math.h>

/* Below this share of the step's work two buffers are worth more than the time. */
#define LEAST_SHARE 0.01

enum { OF_INPUT = 1, OF_RANDOM = 2, OF_STEP = 4 }; /* what a value follows from */

typedef struct Cut {
  const Entry *e;
  const Target *t;
  Arena *a;
  unsigned char *from; /* by value */
  unsigned char *is;   /* by op of the body: 1 it is of the preparation, 2 its copy is */
  ValueId *arg;        /* by value: the input that it becomes; NO_ID: it does not cross */
  VEC(ValueId) crossing;
  double work, all; /* of the preparation; of the whole entry */
  bool random;      /* it draws numbers */
} Cut;

static bool draws(const Op *op) {
  return op->kind == OP_RANDOM_UNIFORM || op->kind == OP_RANDOM_NORMAL || op->kind == OP_DROPOUT;
}

static bool can_prepare(const Op *op) {
  const OpClass cls = op_info[op->kind].cls;
  return !op->nblocks && op->nresults && !op_is_anchor(op) && cls != CLASS_GLOBAL &&
         cls != CLASS_COLLECTIVE && cls != CLASS_META && cls != CLASS_COMPOSITE &&
         !(op_info[op->kind].flags & OPF_EFFECT);
}

/* The op that returns sees values of the step alone: its results are outputs. */
static void classify(Cut *w) {
  const Block *b = w->e->body;
  const Op *end = op_at(w->e, b->ops.at[b->ops.n - 1]);
  bool *returned = ARENA_ARRAY(w->a, bool, w->e->values.n + 1);
  for (int k = 0; k < end->noperands; k++) returned[end->operands[k]] = true;
  for (uint32_t i = 0; i < b->args.n; i++) w->from[b->args.at[i]] = OF_INPUT;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    unsigned from = (draws(op) ? OF_RANDOM : 0U) | (can_prepare(op) ? 0U : OF_STEP);
    for (int k = 0; k < op->noperands; k++) from |= w->from[op->operands[k]];
    for (int k = 0; k < op->nresults; k++)
      if (returned[op->results[k]]) from |= OF_STEP;
    for (int k = 0; k < op->nresults; k++) w->from[op->results[k]] = (unsigned char)from;
  }
}

static bool is_candidate(const Cut *w, const Op *op) {
  return op->nresults && w->from[op->results[0]] & OF_INPUT && !(w->from[op->results[0]] & OF_STEP);
}

static bool runs_on_its_way(const Op *op) {
  return op_info[op->kind].cls == CLASS_ELEMENT || op->kind == OP_BROADCAST ||
         op->kind == OP_RESHAPE || op->kind == OP_CONST || op->kind == OP_IOTA;
}

/* In front of any plan: of each value all bytes, though kernels keep some; a launch of what is no
   part of another one. */
static double work_of(const Cut *w, const Op *op) {
  double work = runs_on_its_way(op) ? 0 : w->t->launch * w->t->speed;
  if (op->kind == OP_RESHAPE || op->kind == OP_BROADCAST) return 0;
  for (int b = 0; b < op->nblocks; b++)
    for (uint32_t i = 0; i < op->blocks[b]->ops.n; i++)
      work += work_of(w, op_at(w->e, op->blocks[b]->ops.at[i]));
  if (op->kind == OP_SCAN) return work * (double)scan_trips(op);
  if (op_info[op->kind].cls == CLASS_GLOBAL || op_info[op->kind].cls == CLASS_META) return 0;
  work += op_slow_flops(w->t, w->e, op);
  for (int k = 0; k < op->noperands; k++) {
    const Op *def = value_def(w->e, op->operands[k]);
    const bool made = def && (def->kind == OP_BROADCAST || def->kind == OP_CONST);
    if (!made) work += FLOPS_A_BYTE * (double)value_type(w->e, op->operands[k])->bytes;
  }
  for (int k = 0; k < op->nresults; k++)
    work += FLOPS_A_BYTE * (double)value_type(w->e, op->results[k])->bytes;
  return work;
}

static bool reads_on_its_way(const Op *op) {
  const OpClass cls = op_info[op->kind].cls;
  return runs_on_its_way(op) || cls == CLASS_REDUCE || cls == CLASS_ROWS;
}

/* ---- the cut ---- */

enum { SOURCE, SINK, FIRST }; /* then a node for each op, then one for each value */

static int op_node(const Op *op) { return FIRST + (int)op->id; }
static int value_node(const Cut *w, ValueId v) { return FIRST + (int)(w->e->ops.n + v); }

/* Arcs without end: an op needs the ops that make its operands, and what reads a value in the step
   makes it cross. */
static void connect(Cut *w, FlowNet *net, const Op *op, ValueId v, bool *costly) {
  const Op *def = value_def(w->e, v);
  if (!def || def->parent != w->e->body || !is_candidate(w, def)) return;
  const bool inside = op->parent == w->e->body && is_candidate(w, op);
  flow_arc(net, value_node(w, v), inside ? op_node(op) : SINK, INFINITY);
  if (inside) flow_arc(net, op_node(op), op_node(def), INFINITY);
  costly[v] |= reads_on_its_way(op);
}

static void connect_all(Cut *w, FlowNet *net, const Block *b, bool *costly) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    for (int k = 0; k < op->noperands; k++) connect(w, net, op, op->operands[k], costly);
    for (int k = 0; k < op->nblocks; k++) connect_all(w, net, op->blocks[k], costly);
  }
}

/* No input has this type: an axis of it is a product or a part of extents. */
static bool is_of_no_input(const Entry *e, ValueId v) {
  const Type *t = value_type(e, v);
  bool fits = true;
  for (int k = 0; k < t->rank; k++)
    fits &= !type_extent(t, k) || axis_is_of_input(e->module->ctx, type_axis(t, k));
  return !fits;
}

/* The ops of the preparation. */
static void choose(Cut *w) {
  const Block *b = w->e->body;
  FlowNet net = flow_net(w->a, FIRST + (int)(w->e->ops.n + w->e->values.n));
  bool *costly = ARENA_ARRAY(w->a, bool, w->e->values.n + 1);
  connect_all(w, &net, b, costly);
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    w->all += work_of(w, op);
    if (!is_candidate(w, op)) continue;
    flow_arc(&net, SOURCE, op_node(op), work_of(w, op));
    for (int k = 0; k < op->nresults; k++) {
      const ValueId v = op->results[k];
      const double bytes = (double)value_type(w->e, v)->bytes * (costly[v] ? 2 : 1);
      flow_arc(&net, op_node(op), value_node(w, v),
               is_of_no_input(w->e, v) ? INFINITY : bytes * FLOPS_A_BYTE);
    }
  }
  (void)flow_max(&net, SOURCE, SINK, 0.5);
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    w->is[op->id] = is_candidate(w, op) && !flow_is_cut_off(&net, op_node(op));
    if (w->is[op->id]) w->work += work_of(w, op);
  }
}

static void cross(Cut *w, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    for (int k = 0; k < op->noperands && !w->is[op->id]; k++) {
      const ValueId v = op->operands[k];
      const Op *def = value_def(w->e, v);
      if (!def || !w->is[def->id] || w->arg[v] != NO_ID) continue;
      w->arg[v] = 0;
      vec_push(w->a, &w->crossing, v);
    }
    for (int k = 0; k < op->nblocks; k++) cross(w, op->blocks[k]);
  }
}

/* Of random numbers and constants alone, read in the preparation: those it makes itself. */
static void find_copies(Cut *w) {
  const Block *b = w->e->body;
  for (uint32_t i = b->ops.n; i-- > 0;) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    if (!w->is[op->id]) continue;
    w->random |= draws(op);
    for (int k = 0; k < op->noperands; k++) {
      const Op *def = value_def(w->e, op->operands[k]);
      if (!def || w->is[def->id]) continue;
      w->is[def->id] = 2;
      w->work += work_of(w, def);
    }
  }
}

/* ---- two entries ---- */

static const char *crossing_name(Cut *w, const Entry *p, const char *const *taken, int n) {
  const char *own = value_at(w->e, w->crossing.at[n])->name, *name = own ? own : "ahead";
  for (int again = 1, k = 0; k < n + (int)p->body->args.n; k++) {
    const char *other = k < n ? taken[k] : value_at(p, p->body->args.at[k - n])->name;
    if (other != intern(p->module->ctx, name)) continue;
    name = arena_printf(w->a, "%s_%d", own ? own : "ahead", ++again);
    k = -1;
  }
  return intern(p->module->ctx, name);
}

static Entry *make_preparation(Cut *w, const char **names) {
  const Entry *e = w->e;
  Entry *p = entry_new(e->module, entry_ahead_name(e), e->loc);
  ValueId *map = ARENA_ARRAY(w->a, ValueId, e->values.n + 1);
  ValueId *out = ARENA_ARRAY(w->a, ValueId, w->crossing.n + 1);
  p->ranks = e->ranks;
  for (ValueId v = 0; v < e->values.n; v++) map[v] = NO_ID;
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const ValueId v = e->body->args.at[i];
    map[v] = entry_add_input(p, value_at(e, v)->name, value_type(e, v));
  }
  Builder *b = builder_new(p, p->body);
  b->fold = false;
  for (uint32_t i = 0; i < e->body->ops.n; i++)
    if (w->is[e->body->ops.at[i]]) build_copy(b, e, op_at(e, e->body->ops.at[i]), map);
  for (uint32_t i = 0; i < w->crossing.n; i++) {
    out[i] = map[w->crossing.at[i]];
    names[i] = crossing_name(w, p, names, (int)i);
  }
  build_return(b, out, names, (int)w->crossing.n);
  return p;
}

/* The rest reads inputs in place of what crosses. */
static void keep_rest(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  const Cut *w = data;
  if (op->parent != old->body || w->is[op->id] != 1) {
    build_copy(b, old, op, map);
    return;
  }
  for (int k = 0; k < op->nresults; k++)
    if (w->arg[op->results[k]] != NO_ID) map[op->results[k]] = map[w->arg[op->results[k]]];
}

static void divide(Cut *w, Entry *e) {
  const char **names = ARENA_ARRAY(w->a, const char *, w->crossing.n + 1);
  e->ahead = make_preparation(w, names);
  const Entry whole = *e;
  for (uint32_t i = 0; i < w->crossing.n; i++) {
    const ValueId v = w->crossing.at[i];
    w->arg[v] = entry_add_input(e, names[i], value_type(&whole, v));
  }
  entry_rebuild(e, keep_rest, w, false, true);
}

/* ---- whether ---- */

static uint64_t crossing_bytes(const Cut *w) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < w->crossing.n; i++) bytes += value_type(w->e, w->crossing.at[i])->bytes;
  return bytes;
}

/* Why not, or NULL. */
static const char *refusal(const Cut *w, bool always) {
  if (!w->crossing.n) return "nothing follows from the batch and random numbers alone";
  if (always) return NULL;
  if (!w->t->runs_beside) return "the threads of a step are all that this target has";
  if (!w->random) return "no random numbers are in it, so that files can hold what it makes";
  return w->work < LEAST_SHARE * w->all ? "it is less than 1 % of the step's work" : NULL;
}

static void prepare(PassRun *r, Entry *e) {
  Cut w = {.e = e, .t = r->opt->target, .a = arena_new()};
  char buf[32];
  w.from = ARENA_ARRAY(w.a, unsigned char, e->values.n + 1);
  w.is = ARENA_ARRAY(w.a, unsigned char, e->ops.n + 1);
  w.arg = ARENA_ARRAY(w.a, ValueId, e->values.n + 1);
  for (ValueId v = 0; v < e->values.n; v++) w.arg[v] = NO_ID;
  classify(&w);
  choose(&w);
  cross(&w, e->body);
  find_copies(&w);
  const char *why = refusal(&w, pass_arg_int(r, "always", 0) != 0);
  remarks_of(r, e);
  if (why && w.crossing.n)
    remark(r, REMARK_AHEAD, "ahead-missed", e->loc,
           "the preparation of a batch, %.1f %% of the work, stays in the step: %s",
           100 * w.work / w.all, why);
  if (!why) {
    remark(r, REMARK_AHEAD, "ahead", e->loc,
           "the preparation of the next batch runs beside the step: %.1f %% of the work, about "
           "%.3g us; %s bytes of %u value%s cross, in two buffers",
           100 * w.work / w.all, 1e6 * w.work / w.t->speed, plan_commas(buf, crossing_bytes(&w)),
           w.crossing.n, w.crossing.n == 1 ? "" : "s");
    divide(&w, e);
    r->changes++;
  }
  arena_free(w.a);
}

bool pass_ahead(PassRun *r) {
  for (uint32_t k = 0; k < r->m->entries.n; k++) {
    Entry *e = r->m->entries.at[k];
    if (e->training && !e->ahead && e->body->args.n) prepare(r, e);
  }
  return true;
}
