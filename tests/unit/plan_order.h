/* A second checker of streams, by brute force: every pair of steps, every byte, the whole relation
   of what comes before what. Contract: shares no code with the planner or its checker; quadratic
   in the steps. */
#ifndef GC_TESTS_PLAN_ORDER_H
#define GC_TESTS_PLAN_ORDER_H
#include "passes/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct OrderTouch { /* bytes that a step touches in some iteration */
  int step;
  bool write;
  PlanRegion region;
  uint64_t from, to;
} OrderTouch;

typedef struct OrderCheck {
  const Entry *e;
  const Plan *p;
  int words;
  uint64_t *before; /* by step: a bit for every step that is over when it begins */
  int *head;        /* by step: the step of the entry's body that it belongs to */
  OrderTouch *at;
  size_t n, cap;
} OrderCheck;

static inline void order_touch(OrderCheck *c, int step, const Place *x, const Block *b,
                               bool write) {
  uint64_t to = x->offset + x->bytes;
  if (!x->bytes) return;
  for (; x->stride && b->op; b = b->op->parent) { /* to where the last iterations reach */
    int depth = 0;
    for (const Block *o = b->op->parent; o->op; o = o->op->parent) depth++;
    to += (uint64_t)((b->op->attr[AT_TRIPS].i - 1) * x->stride[depth]);
  }
  if (c->n == c->cap) {
    c->cap = c->cap ? 2 * c->cap : 256;
    c->at = realloc(c->at, c->cap * sizeof *c->at);
    if (!c->at) abort();
  }
  c->at[c->n++] = (OrderTouch){step, write, x->region, x->offset, to};
}

static inline const Block *order_block(const Entry *e, ValueId v) {
  const Value *x = value_at(e, v);
  return x->def == NO_ID ? x->block : op_at(e, x->def)->parent;
}

static inline void order_value(OrderCheck *c, int step, ValueId v, bool write) {
  order_touch(c, step, &c->p->place[v], order_block(c->e, v), write);
}

/* The second place begins so many bytes behind the first one. */
static inline bool order_same(const OrderCheck *c, ValueId v, ValueId w, uint64_t behind) {
  const Place *x = &c->p->place[v], *y = &c->p->place[w];
  bool same = x->region == y->region && x->offset + behind == y->offset;
  for (int d = 0; d < c->p->depth; d++)
    same &= (x->stride ? x->stride[d] : 0) == (y->stride ? y->stride[d] : 0);
  return same;
}

/* The op's result is its operand's bytes as they lie, or whole rows of them. */
static inline bool order_moves_nothing(const OrderCheck *c, const Op *op) {
  if (op->kind != OP_RESHAPE && op->kind != OP_SLICE) return false;
  ValueId v = op->operands[0], w = op->results[0];
  if (value_at(c->e, v)->layout || value_at(c->e, w)->layout) return false;
  if (op->kind == OP_RESHAPE) return order_same(c, v, w, 0);
  const Type *x = value_type(c->e, v), *y = value_type(c->e, w);
  if (!x->numel || !x->rank || op->attr[AT_STEPS].ints->at[0] != 1) return false;
  for (int i = 1; i < x->rank; i++)
    if (x->dim[i] != y->dim[i]) return false;
  return order_same(c, v, w,
                    (uint64_t)op->attr[AT_STARTS].ints->at[0] * (x->bytes / (uint64_t)x->dim[0]));
}

static inline void order_step(OrderCheck *c, int t, const GlobalsPlan *g) {
  const Op *op = c->p->steps[t];
  const Op *scan = op->kind == OP_SCAN ? op : op->kind == OP_YIELD ? op->parent->op : NULL;
  if (scan) { /* a loop as a whole: what it moves before and within, at its own bytes */
    for (int k = 0; k < scan->attr[AT_CARRIES].i; k++) {
      if (op == scan && order_same(c, scan->operands[k], scan->results[k], 0)) continue;
      if (op == scan) order_value(c, t, scan->operands[k], false);
      order_value(c, t, scan->results[k], true);
    }
    for (int k = 0; op != scan && k < op->noperands; k++) {
      order_value(c, t, op->operands[k], false);
      order_value(c, t, scan->results[k], true);
    }
    return;
  }
  if (order_moves_nothing(c, op)) return;
  if (op->kind == OP_STORE) {
    int global = (int)op->attr[AT_GLOBAL].i;
    const Place *x = &c->p->place[op->operands[0]];
    if (x->region == PLAN_GLOBALS && x->offset == g->offset[global]) return;
    Place to = {.region = PLAN_GLOBALS, .offset = g->offset[global], .bytes = x->bytes};
    order_touch(c, t, &to, c->e->body, true);
  }
  for (int k = 0; k < op->noperands; k++) order_value(c, t, op->operands[k], false);
  for (int k = 0; k < op->nresults; k++) order_value(c, t, op->results[k], true);
  order_touch(c, t, &c->p->scratch[op->id], c->e->body, true);
}

static inline bool order_is_before(const OrderCheck *c, int a, int b) {
  return c->before[(size_t)b * (size_t)c->words + (size_t)a / 64] >> a % 64 & 1;
}

static inline void order_follow(OrderCheck *c, int t, int s) { /* s, and all before it */
  uint64_t *mine = c->before + (size_t)t * (size_t)c->words;
  const uint64_t *other = c->before + (size_t)s * (size_t)c->words;
  for (int w = 0; w < c->words; w++) mine[w] |= other[w];
  mine[s / 64] |= UINT64_C(1) << s % 64;
}

/* The whole relation: the stream's steps, edges, and what follows from them. */
static inline void order_relate(OrderCheck *c) {
  const Plan *p = c->p;
  for (int t = 0; t < p->nsteps; t++) {
    int s = t - 1;
    while (s >= 0 && p->stream[s] != p->stream[t]) s--;
    if (s >= 0) order_follow(c, t, s);
    for (int i = 0; i < p->nedges; i++)
      if (p->edges[i].to == c->head[t]) order_follow(c, t, p->edges[i].from);
  }
}

/* The last step of the loop, or the step. */
static inline int order_end(const OrderCheck *c, int t) {
  int end = t;
  while (end + 1 < c->p->nsteps && c->head[end + 1] == c->head[t]) end++;
  return end;
}

/* True if every two steps that touch a byte, one writing, are ordered as they are numbered. */
static inline bool order_check(const Entry *e, const GlobalsPlan *g, FILE *f) {
  OrderCheck c = {.e = e, .p = plan_of(e)};
  const Plan *p = plan_of(e);
  bool ok = true;
  if (p->streams <= 1) return true;
  c.words = p->nsteps / 64 + 1;
  c.before = calloc((size_t)p->nsteps * (size_t)c.words + 1, sizeof *c.before);
  c.head = calloc((size_t)p->nsteps + 1, sizeof *c.head);
  if (!c.before || !c.head) abort();
  for (int t = 0; t < p->nsteps; t++) c.head[t] = p->steps[t]->parent->op ? c.head[t - 1] : t;
  order_relate(&c);
  for (int t = 0; t < p->nsteps; t++) order_step(&c, t, g);
  for (size_t i = 0; ok && i < c.n; i++)
    for (size_t j = 0; ok && j < i; j++) {
      const OrderTouch *x = &c.at[j], *y = &c.at[i]; /* x is of an earlier step */
      if (x->region != y->region || (!x->write && !y->write)) continue;
      if (x->to <= y->from || y->to <= x->from || c.head[x->step] == c.head[y->step]) continue;
      ok = order_is_before(&c, order_end(&c, x->step), y->step);
      if (!ok && f)
        fprintf(f, "steps %d and %d of '%s' touch bytes from 0x%llx and 0x%llx, unordered\n",
                x->step, y->step, e->name, (unsigned long long)x->from,
                (unsigned long long)y->from);
    }
  free(c.before);
  free(c.head);
  free(c.at);
  return ok;
}
#endif
