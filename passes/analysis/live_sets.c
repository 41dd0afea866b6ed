/* Live sets after every op, for --print-liveness alone: the planner's live ranges need one walk
   (live_ranges.c). Contract: the entry is in any order and stays as it is. Algorithm: the worklist
   dataflow of Aho, Lam, Sethi, Ullman, section 9.2.5, over nested blocks. */
#include "passes/passes.h"

#include <stdlib.h>

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
