/* Improves an order at its peak: a value that is only held over the peak's step is made later, or
   read for the last time earlier. All ops that must go along move with it, and so do those that
   then hold less on the other side. A move is kept if the peak of the steps between falls, or if it
   stays and they hold less in sum.
   Contract: dependences hold. Deterministic; effort is counted and grows with the number of ops,
   and the search ends with it. Works on the step graph that recomputation uses (step_graph.h): a
   loop is one step. */
#include "passes/analysis/search_math.h"
#include "passes/schedule/order_improve_impl.h"

#include <stdlib.h>

enum {
  MIN_EFFORT = 10000, /* reads and writes of steps that may be looked at, in small programs */
  EFFORT_A_NODE = 80, /* and besides for each node */
  EFFORT_A_PAIR = 2,  /* of nodes: a try looks at many of them, and there is one for each */
  MAX_FOR_PAIRS = 3000000,
  DISPLACED = 3, /* nodes, to get out of a dead end */
  SORT = 6       /* a value in a list to be sorted */
};

/* ---------------------------------------------------------------- the peak ---- */

/* What is held over the step, but neither made nor read there: later, or earlier. */
static bool relieve(Improve *w, int at, int v) {
  int maker = w->maker[v], last = w->lived[v].last;
  if (w->pos[maker] >= at || last <= at) return false;
  improve_take(w, maker);
  bool done = improve_set(w, at, true);
  improve_drop(w);
  if (done || last == w->g->n) return done;
  for (uint32_t k = 0; k < w->readers[v].n; k++) { /* who reads it twice stands there twice */
    int reader = w->readers[v].at[k];
    if (w->pos[reader] > at && !w->taken[reader]) improve_take(w, reader);
  }
  done = w->moved.n <= MAX_ALONG && improve_set(w, at, false);
  improve_drop(w);
  return done;
}

/* The step of the peak itself, and what it reads and makes. */
static bool shift(Improve *w, int at) {
  for (int later = 0; later < 2; later++) {
    improve_take(w, w->order[at]);
    int far = improve_farthest(w, later);
    bool done = far != at && improve_window(w, later ? at : far, later ? far : at, later, false);
    improve_drop(w);
    if (done) return true;
  }
  return false;
}

typedef struct Held {
  int size, storage;
} Held;

static int larger_first(const void *pa, const void *pb) {
  const Held *a = pa, *b = pb;
  return a->size != b->size ? (a->size < b->size) - (a->size > b->size)
                            : (a->storage > b->storage) - (a->storage < b->storage);
}

static bool lower(Improve *w, int at, Held *held) {
  int n = 0;
  for (int v = 0; v < w->p->nstorages; v++)
    if (w->pos[w->maker[v]] < at && w->lived[v].last > at)
      held[n++] = (Held){w->p->storage[v].size, v};
  w->effort -= w->p->nstorages / SCAN_SHARE + SORT * n;
  qsort(held, (size_t)n, sizeof *held, larger_first);
  if (shift(w, at)) return true;
  for (int i = 0; i < n && w->effort > 0; i++)
    if (relieve(w, at, held[i].storage)) return true;
  return false;
}

static int peak_at(Improve *w) {
  int at = 0;
  for (int i = 1; i < w->g->n; i++)
    if (w->within[i] > w->within[at]) at = i;
  w->effort -= w->g->n / SCAN_SHARE;
  return at;
}

/* No step needs less by itself than this. */
static int64_t max_of_one(Improve *w) {
  int64_t max = 0;
  for (int t = 0; t < w->p->nsteps; t++) {
    const StepNode *s = &w->p->step[t];
    int64_t in = 0, out = 0, saved = 0;
    for (int k = 0; k < s->nin; k++) in += w->p->storage[s->in[k]].size;
    for (int k = 0; k < s->nout; k++) out += w->p->storage[s->out[k]].size;
    for (int q = 0; q < s->npairs; q++) saved += w->p->storage[s->out[s->pair[q].out]].size;
    if (in + s->extra > max) max = in + s->extra;
    if (in + out + s->extra - saved > max) max = in + out + s->extra - saved;
  }
  return max;
}

/* Lower until no move helps. */
static int64_t descend(Improve *w, Held *held, int64_t floor) {
  int at = peak_at(w);
  while (w->effort > 0 && w->within[at] > floor && lower(w, at, held)) at = peak_at(w);
  return w->within[at];
}

/* ---------------------------------------------------------------- out of a dead end ---- */

static int random_below(Improve *w, int n) { return (int)(search_random(&w->seed) % (uint64_t)n); }

/* Somewhere else within its bounds. */
static void displace(Improve *w) {
  bool later = random_below(w, 2);
  int at = random_below(w, w->g->n);
  improve_take(w, w->order[at]);
  int far = improve_farthest(w, later), by = far == at ? 0 : 1 + random_below(w, abs(far - at));
  if (by) (void)improve_window(w, later ? at : at - by, later ? at + by : at, later, true);
  improve_drop(w);
}

/* ---------------------------------------------------------------- the whole ---- */

static Improve improve_new(const Graph *g, const StepGraph *p) {
  Arena *a = g->a;
  Improve w = {.g = g, .p = p, .a = a, .seed = 88172645463325252u};
  w.order = ARENA_ARRAY(a, int, g->n + 1);
  w.step = ARENA_ARRAY(a, const StepNode *, g->n + 1);
  w.comes_first = ARENA_ARRAY(a, IntList, g->n + 1);
  w.readers = ARENA_ARRAY(a, IntList, p->nstorages + 1);
  w.maker = ARENA_ARRAY(a, int, p->nstorages + 1);
  w.pos = ARENA_ARRAY(a, int, g->n + 1);
  w.lived = ARENA_ARRAY(a, Lived, p->nstorages + 1);
  for (int v = 0; v < p->nstorages; v++) w.lived[v].size = p->storage[v].size;
  w.within = ARENA_ARRAY(a, int64_t, g->n + 1);
  w.live = ARENA_ARRAY(a, int64_t, g->n + 1);
  w.taken = ARENA_ARRAY(a, bool, g->n + 1);
  w.window = ARENA_ARRAY(a, int, g->n + 1);
  int64_t pairs = (int64_t)g->n * g->n * EFFORT_A_PAIR;
  w.effort = MIN_EFFORT + (int64_t)g->n * EFFORT_A_NODE;
  w.effort += pairs < MAX_FOR_PAIRS ? pairs : MAX_FOR_PAIRS;
  for (int t = 0; t < p->nsteps; t++) {
    int node = g->node_of[p->step[t].op->id];
    if (node < 0) continue; /* a store: it stands where its value is made */
    w.step[node] = &p->step[t];
    for (int k = 0; k < p->step[t].nin; k++) vec_push(a, &w.readers[p->step[t].in[k]], node);
    for (int k = 0; k < p->step[t].nout; k++) w.maker[p->step[t].out[k]] = node;
  }
  for (int k = 0; k < g->n; k++)
    for (uint32_t i = 0; i < g->after[k].n; i++) vec_push(a, &w.comes_first[g->after[k].at[i]], k);
  return w;
}

/* An op of constants alone may stand in front of what its update must follow: stores see to that
   where the order is written. Such an order is none to move things in. */
static bool keeps_edges(const Improve *w) {
  for (int k = 0; k < w->g->n; k++)
    for (uint32_t i = 0; i < w->g->after[k].n; i++)
      if (w->pos[w->g->after[k].at[i]] < w->pos[k]) return false;
  return true;
}

/* A few ops are put elsewhere and all is lowered again (iterated local search), as long as there is
   effort. */
bool order_improve(const Graph *g, const StepGraph *p, int *order) {
  if (g->n == 0) return false;
  Improve w = improve_new(g, p);
  Held *held = ARENA_ARRAY(g->a, Held, p->nstorages + 1);
  improve_start(&w, order);
  if (!keeps_edges(&w)) return false;
  int64_t floor = max_of_one(&w), given = w.within[peak_at(&w)], min = given;
  for (int64_t peak = descend(&w, held, floor);; peak = descend(&w, held, floor)) {
    if (peak < min) min = peak;
    if (peak == min) memcpy(order, w.order, sizeof *order * (size_t)g->n);
    if (min <= floor || w.effort <= 0) break;
    if (peak > min) improve_start(&w, order);
    for (int k = DISPLACED; k > 0; k--) displace(&w);
  }
  return min < given;
}
