/* An order by goals: a goal is an op without readers, such as the update of a weight, and goals are
   served one after the other, the nearest first. An op that serves one goal alone runs as soon as
   it can. So a sum, such as a weight's gradient over the steps of a recurrent net, is open only
   while its terms are made, and each term is dead at once. An op that serves several goals runs
   with the first of them, or as soon as it frees as many bytes as it makes. Gradients of stacked
   recurrent layers come step by step through all layers; this order goes backwards layer by layer,
   so that the sums of one layer are open at a time. Contract: dependences hold; linear in the edges
   but for one sort. */
#include "ir/support/heap.h"
#include "passes/schedule/order_impl.h"

#include <stdlib.h>

enum { SEVERAL = -1 };

typedef struct Goal {
  int level, node;
} Goal;

typedef struct Goals {
  Graph *g;
  int *phase;  /* by node: the first goal that it serves */
  int *only;   /* by node: the only goal, or SEVERAL */
  int *left;   /* by node: what must still come first */
  int *unread; /* by value: readers that are still to come */
  bool *done;
  IntList ready; /* those of one goal: a heap */
  int *order, n;
} Goals;

static int by_level(const void *pa, const void *pb) {
  const Goal *a = pa, *b = pb;
  if (a->level != b->level) return a->level < b->level ? -1 : 1;
  return (a->node > b->node) - (a->node < b->node);
}

/* Numbers the goals by the longest way to them; nodes are numbered such that what must follow does.
 */
static void find_goals(Goals *w) {
  const Graph *g = w->g;
  int *level = ARENA_ARRAY(g->a, int, g->n + 1), n = 0;
  Goal *goal = ARENA_ARRAY(g->a, Goal, g->n + 1);
  for (int k = 0; k < g->n; k++) {
    for (uint32_t i = 0; i < g->after[k].n; i++) {
      int next = g->after[k].at[i];
      if (level[next] <= level[k]) level[next] = level[k] + 1;
    }
    if (!g->after[k].n) goal[n++] = (Goal){level[k], k};
  }
  if (n) qsort(goal, (size_t)n, sizeof *goal, by_level);
  for (int i = 0; i < n; i++) w->phase[goal[i].node] = w->only[goal[i].node] = i;
  for (int k = g->n; k-- > 0;)
    for (uint32_t i = 0; i < g->after[k].n; i++) {
      int next = g->after[k].at[i];
      if (i == 0 || w->phase[next] < w->phase[k]) w->phase[k] = w->phase[next];
      w->only[k] = i == 0 || w->only[k] == w->only[next] ? w->only[next] : SEVERAL;
    }
}

static bool is_before(const void *a, const void *b) { return *(const int *)a < *(const int *)b; }

static void push(Goals *w, int node) { HEAP_PUSH(w->g->a, &w->ready, is_before, node); }

static int pop(Goals *w) {
  int first = w->ready.at[0];
  HEAP_POP(&w->ready, is_before);
  return first;
}

static int64_t bytes_of(const Graph *g, ValueId v) { return (int64_t)value_type(g->e, v)->bytes; }

/* It frees as much as it makes: better at once than with the goal that it serves. */
static bool shrinks(const Goals *w, int node) {
  const Graph *g = w->g;
  int64_t d = 0;
  for (int k = 0; k < g->op[node]->nresults; k++) d += bytes_of(g, g->op[node]->results[k]);
  for (uint32_t k = 0; k < g->reads[node].n; k++) {
    ValueId v = g->reads[node].at[k];
    if (!g->external[v] && w->unread[v] == 1) d -= bytes_of(g, v);
  }
  return d <= 0;
}

static void emit_goal_node(Goals *w, int node) {
  const Graph *g = w->g;
  if (w->done[node]) return;
  for (uint32_t k = 0; k < g->reads[node].n; k++) { /* leaves on demand */
    const Op *def = value_def(g->e, g->reads[node].at[k]);
    int maker = def ? g->node_of[def->id] : -1;
    if (maker < 0 || !g->leaf[maker] || w->done[maker]) continue;
    w->done[maker] = true;
    w->order[w->n++] = maker;
  }
  w->done[node] = true;
  w->order[w->n++] = node;
  for (uint32_t k = 0; k < g->after[node].n; k++) {
    int next = g->after[node].at[k];
    if (--w->left[next] == 0 && w->only[next] != SEVERAL && !g->leaf[next]) push(w, next);
  }
  for (uint32_t k = 0; k < g->reads[node].n; k++) { /* the last reader of each may free it now */
    ValueId v = g->reads[node].at[k];
    if (--w->unread[v] != 1) continue;
    for (uint32_t j = 0; j < g->readers[v].n; j++) {
      int r = g->readers[v].at[j];
      if (!w->done[r] && w->left[r] == 0 && !g->leaf[r] && shrinks(w, r)) push(w, r);
    }
  }
}

int *order_by_goals(Graph *g) {
  Goals w = {.g = g};
  IntList *of = ARENA_ARRAY(g->a, IntList, g->n + 1); /* by phase: what serves several goals */
  w.phase = ARENA_ARRAY(g->a, int, g->n);
  w.only = ARENA_ARRAY(g->a, int, g->n);
  w.left = ARENA_ARRAY(g->a, int, g->n);
  w.done = ARENA_ARRAY(g->a, bool, g->n);
  w.order = ARENA_ARRAY(g->a, int, g->n);
  w.unread = ARENA_ARRAY(g->a, int, g->e->values.n + 1);
  for (uint32_t v = 0; v < g->e->values.n; v++) w.unread[v] = (int)g->readers[v].n;
  find_goals(&w);
  for (int k = 0; k < g->n; k++)
    for (uint32_t i = 0; i < g->after[k].n; i++) w.left[g->after[k].at[i]] += !g->leaf[k];
  for (int k = 0; k < g->n; k++) {
    if (g->leaf[k]) continue;
    if (w.only[k] == SEVERAL)
      vec_push(g->a, &of[w.phase[k]], k);
    else if (!w.left[k])
      push(&w, k);
  }
  for (int phase = 0; phase < g->n; phase++)
    for (uint32_t i = 0; i < of[phase].n; i++) {
      while (w.ready.n) emit_goal_node(&w, pop(&w));
      emit_goal_node(&w, of[phase].at[i]);
    }
  while (w.ready.n) emit_goal_node(&w, pop(&w));
  for (int k = 0; k < g->n; k++) /* leaves that only the return or a store reads */
    if (!w.done[k]) w.order[w.n++] = k;
  return w.order;
}
