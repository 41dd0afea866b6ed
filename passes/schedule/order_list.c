/* List scheduling by memory pressure (Goodman and Hsu, 1988): of the nodes that are ready, next
   comes the one that adds the fewest bytes. Contract: every node comes once, after what it reads.
 */
#include "ir/support/heap.h"
#include "passes/schedule/order_impl.h"

typedef struct Ready {
  int64_t delta; /* bytes that it adds */
  int node;
} Ready;

typedef VEC(Ready) Heap;

/* A schedule in the making. Ready nodes are in both heaps; stale entries are skipped when they come
 * up. */
typedef struct ListSchedule {
  Graph *g;
  OrderRule rule;
  int *left;      /* by node: what must still come first */
  int *unread;    /* by value: readers that are not scheduled */
  int64_t *delta; /* by node, as last pushed */
  bool *done;
  Heap ready;   /* by delta, then place */
  Heap in_turn; /* by place */
  int *order;
  int n;
} ListSchedule;

static bool adds_less(const void *pa, const void *pb) {
  const Ready *a = pa, *b = pb;
  return a->delta != b->delta ? a->delta < b->delta : a->node < b->node;
}

static int64_t bytes_of(const Graph *g, ValueId v) { return (int64_t)value_type(g->e, v)->bytes; }

/* Bytes that a node adds: its results, and those of its leaves, without what it reads last. Stored
   results cost nothing: they lie in their global. */
static int64_t delta_of(const ListSchedule *s, int node) {
  const Graph *g = s->g;
  const Op *op = g->op[node];
  int64_t d = 0;
  if (!plan_is_view(g->e, op))
    for (int k = 0; k < op->nresults; k++) {
      bool stored = g->external[op->results[k]] && g->readers[op->results[k]].n == 0;
      d += stored ? 0 : bytes_of(g, op->results[k]);
    }
  for (uint32_t k = 0; k < g->reads[node].n; k++) {
    ValueId v = g->reads[node].at[k];
    const Op *def = value_def(g->e, v);
    if (g->external[v] || !def) continue;
    if (plan_is_view(g->e, op)) continue;
    if (s->unread[v] == 1) d -= bytes_of(g, v);
    int maker = g->node_of[def->id];
    if (g->leaf[maker] && !s->done[maker]) d += bytes_of(g, v);
  }
  return d;
}

static void offer(ListSchedule *s, int node) {
  s->delta[node] = delta_of(s, node);
  HEAP_PUSH(s->g->a, &s->ready, adds_less, (Ready){s->delta[node], node});
}

static void schedule_node(ListSchedule *s, int node) {
  Graph *g = s->g;
  for (uint32_t k = 0; k < g->reads[node].n; k++) { /* leaves on demand */
    const Op *def = value_def(g->e, g->reads[node].at[k]);
    int maker = def ? g->node_of[def->id] : -1;
    if (maker >= 0 && g->leaf[maker] && !s->done[maker]) schedule_node(s, maker);
  }
  s->done[node] = true;
  s->order[s->n++] = node;
  for (uint32_t k = 0; !g->leaf[node] && k < g->after[node].n; k++) {
    int next = g->after[node].at[k];
    if (--s->left[next] == 0 && !s->done[next] && !g->leaf[next]) {
      offer(s, next);
      HEAP_PUSH(g->a, &s->in_turn, adds_less, (Ready){0, next});
    }
  }
  for (uint32_t k = 0; k < g->reads[node].n; k++) { /* the last reader of each frees it now */
    ValueId v = g->reads[node].at[k];
    if (--s->unread[v] != 1) continue;
    for (uint32_t j = 0; j < g->readers[v].n; j++) {
      int r = g->readers[v].at[j];
      if (!s->done[r] && s->left[r] == 0 && !g->leaf[r]) offer(s, r);
    }
  }
}

/* The next node by the rule, or -1. */
static int choose(ListSchedule *s) {
  while (s->ready.n) {
    Ready r = s->ready.at[0];
    if (s->done[r.node] || r.delta != s->delta[r.node]) {
      HEAP_POP(&s->ready, adds_less);
      continue;
    }
    if (s->rule == ORDER_SHRINKERS && r.delta > 0) break;
    HEAP_POP(&s->ready, adds_less);
    return r.node;
  }
  while (s->in_turn.n) {
    int node = s->in_turn.at[0].node;
    HEAP_POP(&s->in_turn, adds_less);
    if (!s->done[node]) return node;
  }
  return -1;
}

int *order_list(Graph *g, OrderRule rule) {
  ListSchedule s = {.g = g, .rule = rule};
  s.left = ARENA_ARRAY(g->a, int, g->n);
  s.unread = ARENA_ARRAY(g->a, int, g->e->values.n);
  s.delta = ARENA_ARRAY(g->a, int64_t, g->n);
  s.done = ARENA_ARRAY(g->a, bool, g->n);
  s.order = ARENA_ARRAY(g->a, int, g->n);
  for (uint32_t v = 0; v < g->e->values.n; v++) s.unread[v] = (int)g->readers[v].n;
  for (int k = 0; k < g->n; k++) s.left[k] = g->before[k];
  for (int k = 0; k < g->n; k++) /* a leaf is there whenever it is wanted */
    if (g->leaf[k])
      for (uint32_t j = 0; j < g->after[k].n; j++) s.left[g->after[k].at[j]]--;
  for (int k = 0; k < g->n; k++)
    if (s.left[k] == 0 && !g->leaf[k]) {
      offer(&s, k);
      HEAP_PUSH(g->a, &s.in_turn, adds_less, (Ready){0, k});
    }
  for (int node; (node = choose(&s)) >= 0;) schedule_node(&s, node);
  for (int k = 0; k < g->n; k++) /* leaves that only the return or a store reads */
    if (!s.done[k]) {
      s.done[k] = true;
      s.order[s.n++] = k;
    }
  return s.order;
}
