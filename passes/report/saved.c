/* Saved activations (--remarks=saved): each value that lives on only for the backward pass of a
   gradient, its readers, its bytes, and the reason why it is not recomputed there. Contract: the
   plan has lives; reports and changes nothing. The backward pass begins behind the last product,
   window or loop that does not depend on it; its operands may be made ahead, as the index of a
   pool. A value is saved if it is made before the beginning and its last reader is in the backward
   pass. In a kernel every op counts for itself. */
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

typedef struct Readers { /* from the beginning on */
  const Op *first;
  const Op *anchor; /* a product or window */
  int others;       /* behind the first one */
  bool last;        /* the last reader of all is in the backward pass */
} Readers;

typedef struct Kept {
  PassRun *r;
  const Entry *e;
  Arena *a;
  ValueId *root;    /* by value: what it is a view of */
  Readers *readers; /* by value: of it and its views */
  bool *back;       /* by value: made in the backward pass, or from what is */
  bool *forward;    /* by value of a kernel's block: read by what is not in the backward pass */
  bool *read;       /* by value of a kernel's block */
  uint32_t begin;   /* of the backward pass: index in the entry's body */
} Kept;

/* ---------------------------------------------------------------- the backward pass ---- */

static bool is_back(Kept *w, const Op *op) {
  ValueList reads = {0};
  bool back = op->backward;
  plan_reads(w->a, w->e, op, &reads);
  for (uint32_t k = 0; k < reads.n && !back; k++) back = w->back[reads.at[k]];
  for (int k = 0; k < op->nresults; k++) w->back[op->results[k]] = back;
  return back;
}

/* True if an anchor op that is not in the backward pass is in it. */
static bool in_forward_pass(Kept *w, const Op *op) {
  if (op->kind != OP_KERNEL) return !is_back(w, op) && op_is_anchor(op);
  const Block *b = op->blocks[0];
  bool forward = false;
  for (int k = 0; k < op->noperands; k++) w->back[b->args.at[k]] = w->back[op->operands[k]];
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *in = op_at(w->e, b->ops.at[i]);
    forward |= !is_back(w, in) && op_is_anchor(in);
  }
  const Op *yield = plan_yield(w->e, op);
  for (int k = 0; k < op->nresults; k++) w->back[op->results[k]] = w->back[yield->operands[k]];
  return forward;
}

/* If no reader is an anchor, at the first op of it. */
static void find_begin(Kept *w) {
  const Block *b = w->e->body;
  uint32_t first = b->ops.n;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    if (op->backward && first == b->ops.n) first = i;
    if (in_forward_pass(w, op)) w->begin = i + 1;
  }
  if (!w->begin) w->begin = first;
}

/* ---------------------------------------------------------------- readers ---- */

/* A kernel has copies of its own of what only brings a value elsewhere. */
static bool only_brings(const Op *op) {
  return op_info[op->kind].cls == CLASS_VIEW || op->kind == OP_CONVERT;
}

/* From behind: what only brings a value to the backward pass is in it. */
static void look_into(Kept *w, const Op *kernel) {
  const Block *b = kernel->blocks[0];
  for (uint32_t i = b->ops.n; i-- > 0;) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    bool read = false, forward = false;
    for (int k = 0; k < op->nresults; k++) {
      read |= w->read[op->results[k]];
      forward |= w->forward[op->results[k]];
    }
    bool back = op->kind != OP_YIELD && (op->backward || (only_brings(op) && read && !forward));
    for (int k = 0; k < op->noperands; k++) {
      w->read[op->operands[k]] = true;
      w->forward[op->operands[k]] |= !back;
    }
  }
}

static bool reads_back(const Kept *w, const Op *op, ValueId v) {
  bool back = true;
  if (op->kind != OP_KERNEL) return op->backward;
  for (int k = 0; k < op->noperands; k++)
    if (op->operands[k] == v) back &= !w->forward[op->blocks[0]->args.at[k]];
  return back;
}

static bool holds(const Kept *w, const Op *op, bool (*is)(const Op *)) {
  bool any = is(op);
  for (uint32_t i = 0; op->kind == OP_KERNEL && i < op->blocks[0]->ops.n; i++)
    any |= is(op_at(w->e, op->blocks[0]->ops.at[i]));
  return any;
}

static void add_reader(Kept *w, const Op *op, ValueId v, bool begun) {
  Readers *x = &w->readers[w->root[v]];
  x->last = begun && reads_back(w, op, v);
  if (!x->last || x->first == op) return;
  if (x->first)
    x->others++;
  else
    x->first = op;
  if (holds(w, op, op_is_anchor)) x->anchor = op;
}

static void find_readers(Kept *w) {
  const Block *b = w->e->body;
  ValueList reads = {0};
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    if (op->kind == OP_KERNEL) look_into(w, op);
    if (plan_is_view(w->e, op)) continue;
    plan_reads(w->a, w->e, op, &reads);
    for (uint32_t k = 0; k < reads.n; k++) add_reader(w, op, reads.at[k], i >= w->begin);
  }
}

/* ---------------------------------------------------------------- reports ---- */

static bool is_scan(const Op *op) { return op->kind == OP_SCAN; }

static bool is_not_elementwise(const Op *op) {
  OpClass c = op_info[op->kind].cls;
  return c != CLASS_ELEMENT && c != CLASS_VIEW && c != CLASS_META && c != CLASS_REGION &&
         op->kind != OP_CONST && op->kind != OP_IOTA;
}

static const char *why_kept(const Kept *w, ValueId v) {
  const Op *op = value_def(w->e, v), *anchor = w->readers[v].anchor;
  const Place *place = plan_of(w->e)->place;
  const char *name = plan_op_name(op);
  char buf[32];
  if (holds(w, op, is_scan)) return "only a memory limit recomputes a loop";
  if (holds(w, op, op_is_anchor))
    return arena_printf(w->a, "only a memory limit recomputes %s, which takes %s operations", name,
                        plan_commas(buf, op_flops(w->e, op)));
  if (place[v].bytes < RECOMPUTE_MIN) return "it is too small to be worth the trouble";
  if (holds(w, op, is_not_elementwise))
    return arena_printf(w->a, "only a memory limit recomputes %s, which is not element-wise", name);
  if (anchor) return arena_printf(w->a, "%s reads it from memory", plan_op_name(anchor));
  ValueList reads = {0};
  uint64_t bytes = 0;
  plan_reads(w->a, w->e, op, &reads);
  for (uint32_t k = 0; k < reads.n; k++)
    if (place[reads.at[k]].region == PLAN_ARENA) bytes += place[reads.at[k]].bytes;
  return arena_printf(w->a, "its operands take %s bytes", plan_commas(buf, bytes));
}

static void report_saved_value(Kept *w, ValueId v) {
  const Op *op = value_def(w->e, v), *reader = w->readers[v].first;
  char bytes[32];
  const char *more = "";
  if (w->readers[v].others) more = arena_printf(w->a, " and %d more", w->readers[v].others);
  remark(w->r, REMARK_SAVED, "saved", op->loc, "%s of %s (%s) is kept for %s at %s%s: %s",
         value_str(w->e, v), plan_op_name(op), plan_commas(bytes, plan_of(w->e)->place[v].bytes),
         plan_op_name(reader), loc_str(w->r->m->ctx, reader->loc), more, why_kept(w, v));
}

void report_saved_activations(PassRun *r, const Entry *e) {
  if (!(r->opt->remarks & REMARK_SAVED)) return;
  remarks_of(r, e);
  Kept w = {.r = r, .e = e, .a = arena_new()};
  w.root = plan_viewed(w.a, e);
  w.readers = ARENA_ARRAY(w.a, Readers, e->values.n);
  w.back = ARENA_ARRAY(w.a, bool, e->values.n);
  w.forward = ARENA_ARRAY(w.a, bool, e->values.n);
  w.read = ARENA_ARRAY(w.a, bool, e->values.n);
  find_begin(&w);
  find_readers(&w);
  int n = 0;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < w.begin; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    for (int k = 0; k < op->nresults; k++) {
      ValueId v = op->results[k];
      const Place *x = &plan_of(e)->place[v];
      if (w.root[v] != v || !w.readers[v].last || x->region != PLAN_ARENA || !x->bytes) continue;
      if (i + 1 == w.begin && w.back[v]) continue; /* the first gradient */
      report_saved_value(&w, v);
      n++;
      sum += x->bytes;
    }
  }
  char bytes[32];
  if (n)
    remark(r, REMARK_SAVED, "saved", e->loc,
           "entry '%s' keeps %d value%s for the backward pass: %s bytes", e->name, n,
           n == 1 ? "" : "s", plan_commas(bytes, sum));
  arena_free(w.a);
}
