/* Improves an order at its peak: a value that is only held over the peak's step is made later, or
   read for the last time earlier. All ops that must go along move with it, and so do those that
   then hold less on the other side. A move is kept if the peak of the steps between falls, or if it
   stays and they hold less in sum.
   Contract: dependences hold. Deterministic; effort is counted and grows with the number of ops,
   and the search ends with it. Works on the step graph that recomputation uses (step_graph.h): a
   loop is one step. */
#include "passes/analysis/search_math.h"
#include "passes/schedule/order_impl.h"

#include <stdlib.h>

enum {
  MIN_EFFORT = 10000, /* reads and writes of steps that may be looked at, in small programs */
  EFFORT_A_NODE = 80, /* and besides for each node */
  EFFORT_A_PAIR = 2,  /* of nodes: a try looks at many of them, and there is one for each */
  MAX_FOR_PAIRS = 3000000,
  MAX_ALONG = 64, /* nodes that move together */
  DISPLACED = 3,  /* nodes, to get out of a dead end */
  GROWTHS = 6,    /* times that a move takes in what hangs on it */
  SCAN_SHARE = 2, /* looking through all steps costs as much as so many of them */
  SORT = 6        /* a value in a list to be sorted */
};

typedef struct Improve {
  const Graph *g;
  const StepGraph *p;
  Arena *a;
  const StepNode **step;  /* by node; NULL: a view, which takes nothing */
  IntList *comes_first;   /* by node */
  IntList *readers;       /* by storage: nodes */
  int *maker;             /* by storage: node */
  int *order, *pos;       /* by position: node; by node: position */
  int *last;              /* by storage: position of the last reader, n if it is kept */
  int64_t *within, *live; /* by position: the most while it runs, what is held before it */
  int *left;              /* by storage: readers in the window that are still to come */
  bool *taken;            /* by node: it moves */
  IntList moved;
  int *window; /* the order tried, from its first position on */
  int64_t effort;
  uint64_t seed;
} Improve;

typedef struct Score {
  int64_t peak, sum;
} Score;

static bool better(Score a, Score b) { return a.peak != b.peak ? a.peak < b.peak : a.sum < b.sum; }

/* ---------------------------------------------------------------- what is held ---- */

/* Those in the window that are still to come, and one more for all behind it; the effort of a run
   of the window, which is the same in each order. */
static void count_readers(Improve *w, const int *node, int n, int to) {
  w->effort -= n;
  for (int i = 0; i < n; i++) {
    const StepNode *s = w->step[node[i]];
    if (!s) continue;
    for (int k = 0; k < s->nin; k++) w->left[s->in[k]] = w->last[s->in[k]] > to;
    for (int k = 0; k < s->nout; k++) w->left[s->out[k]] = w->last[s->out[k]] > to;
    w->effort -= s->nin + s->nout;
  }
  for (int i = 0; i < n; i++)
    for (int k = 0; w->step[node[i]] && k < w->step[node[i]]->nin; k++)
      w->left[w->step[node[i]]->in[k]]++;
}

/* What a result takes over from an operand that no op reads later. */
static int64_t in_place(const Improve *w, const StepNode *s) {
  int64_t saved = 0;
  for (int q = 0; q < s->npairs; q++) {
    bool free = w->left[s->in[s->pair[q].in]] == 0;
    for (int z = 0; z < q && free; z++) /* the first pair of either */
      free = s->pair[z].in != s->pair[q].in && s->pair[z].out != s->pair[q].out;
    if (free) saved += w->p->storage[s->out[s->pair[q].out]].size;
  }
  return saved;
}

/* Runs n nodes from a position on, where so much is held, until that is not better than what it
   should be better than (NULL: to the end, and what is held is written down). */
static Score simulate(Improve *w, const int *node, int n, int from, const Score *than) {
  Score score = {0};
  int64_t live = w->live[from];
  count_readers(w, node, n, from + n - 1);
  for (int i = 0; i < n && (!than || better(score, *than)); i++) {
    const StepNode *s = w->step[node[i]];
    int64_t max = live, made = 0, dead = 0;
    if (!than) w->live[from + i] = live;
    if (s) {
      for (int k = 0; k < s->nin; k++)
        if (--w->left[s->in[k]] == 0) dead += w->p->storage[s->in[k]].size;
      for (int k = 0; k < s->nout; k++) {
        made += w->p->storage[s->out[k]].size;
        if (!w->left[s->out[k]]) dead += w->p->storage[s->out[k]].size;
      }
      max = live + made + s->extra - in_place(w, s);
      live += made - dead;
    }
    if (!than) w->within[from + i] = max;
    if (max > score.peak) score.peak = max;
    score.sum += max;
  }
  return score;
}

static Score now(Improve *w, int from, int n) {
  Score score = {0};
  w->effort -= n / SCAN_SHARE;
  for (int i = from; i < from + n; i++) {
    if (w->within[i] > score.peak) score.peak = w->within[i];
    score.sum += w->within[i];
  }
  return score;
}

static void find_last(Improve *w, int v) {
  int last = w->p->storage[v].kept ? w->g->n : w->pos[w->maker[v]];
  for (uint32_t k = 0; k < w->readers[v].n; k++)
    if (w->pos[w->readers[v].at[k]] > last) last = w->pos[w->readers[v].at[k]];
  w->last[v] = last;
  w->effort -= w->readers[v].n;
}

/* ---------------------------------------------------------------- a move ---- */

static void take_node(Improve *w, int node) {
  w->taken[node] = true;
  vec_push(w->a, &w->moved, node);
}

static void let_go(Improve *w) {
  for (uint32_t i = 0; i < w->moved.n; i++) w->taken[w->moved.at[i]] = false;
  w->moved.n = 0;
}

/* What must go along with those that move behind (or ahead of) a position: false where that is the
   node there, or too many. */
static bool close_set(Improve *w, int at, bool later) {
  for (uint32_t i = 0; i < w->moved.n; i++) {
    const IntList *next = later ? &w->g->after[w->moved.at[i]] : &w->comes_first[w->moved.at[i]];
    for (uint32_t k = 0; k < next->n; k++) {
      int node = next->at[k], pos = w->pos[node];
      if (w->taken[node] || (later ? pos > at : pos < at)) continue;
      if (pos == at || w->moved.n == MAX_ALONG) return false;
      take_node(w, node);
    }
  }
  return true;
}

/* On the other side: what only serves those that move later, or what those that move earlier make
   possible. */
static bool grow_set(Improve *w, int at, bool later) {
  uint32_t n = w->moved.n;
  for (uint32_t i = 0; i < n; i++) {
    const IntList *near = later ? &w->comes_first[w->moved.at[i]] : &w->g->after[w->moved.at[i]];
    for (uint32_t k = 0; k < near->n && w->moved.n < MAX_ALONG; k++) {
      int node = near->at[k];
      const IntList *bound = later ? &w->g->after[node] : &w->comes_first[node];
      bool free = !w->taken[node] && (later ? w->pos[node] < at : w->pos[node] > at);
      for (uint32_t j = 0; j < bound->n && free; j++) {
        int pos = w->pos[bound->at[j]];
        free = w->taken[bound->at[j]] || (later ? pos > at : pos < at);
      }
      if (free) take_node(w, node);
    }
  }
  return w->moved.n > n;
}

static int by_number(const void *pa, const void *pb) {
  int a = *(const int *)pa, b = *(const int *)pb;
  return (a > b) - (a < b);
}

/* The steps from..to with those that move at one end of them; done where that is better, or by
   force. */
static bool try_window(Improve *w, int from, int to, bool later, bool force) {
  int n = to - from + 1, stay = later ? 0 : (int)w->moved.n, go = later ? n - (int)w->moved.n : 0;
  for (int i = from; i <= to; i++) {
    int node = w->order[i];
    w->window[w->taken[node] ? go++ : stay++] = node;
  }
  if (!force) {
    const Score before = now(w, from, n);
    if (!better(simulate(w, w->window, n, from, &before), before)) return false;
  }
  for (int i = 0; i < n; i++) {
    w->order[from + i] = w->window[i];
    w->pos[w->window[i]] = from + i;
  }
  for (int i = 0; i < n; i++) {
    const StepNode *s = w->step[w->window[i]];
    for (int k = 0; s && k < s->nin; k++) find_last(w, s->in[k]);
    for (int k = 0; s && k < s->nout; k++) find_last(w, s->out[k]);
  }
  (void)simulate(w, w->window, n, from, NULL);
  return true;
}

/* How far those that move can go: before the first that must follow, behind the last that must come
   first. */
static int farthest(const Improve *w, bool later) {
  int end = later ? w->g->n - 1 : 0;
  for (uint32_t i = 0; i < w->moved.n; i++) {
    const IntList *next = later ? &w->g->after[w->moved.at[i]] : &w->comes_first[w->moved.at[i]];
    for (uint32_t k = 0; k < next->n; k++) {
      int pos = w->pos[next->at[k]];
      if (w->taken[next->at[k]]) continue;
      if (later && pos - 1 < end) end = pos - 1;
      if (!later && pos + 1 > end) end = pos + 1;
    }
  }
  return end;
}

/* Moves the set to the other side of a position, next to it or as far as it goes. */
static bool try_set(Improve *w, int at, bool later) {
  for (int grown = 0; grown < GROWTHS && w->effort > 0; grown++) {
    if (!close_set(w, at, later)) return false;
    int first = w->g->n, last = 0;
    for (uint32_t i = 0; i < w->moved.n; i++) {
      int pos = w->pos[w->moved.at[i]];
      if (pos < first) first = pos;
      if (pos > last) last = pos;
    }
    int far = farthest(w, later);
    int from = later ? first : at, to = later ? at : last;
    if (try_window(w, from, to, later, false)) return true;
    if (later ? far > at : far < at)
      if (try_window(w, later ? first : far, later ? far : last, later, false)) return true;
    if (!grow_set(w, at, later)) return false;
  }
  return false;
}

/* ---------------------------------------------------------------- the peak ---- */

/* What is held over the step, but neither made nor read there: later, or earlier. */
static bool relieve(Improve *w, int at, int v) {
  int maker = w->maker[v], last = w->last[v];
  if (w->pos[maker] >= at || last <= at) return false;
  take_node(w, maker);
  bool done = try_set(w, at, true);
  let_go(w);
  if (done || last == w->g->n) return done;
  for (uint32_t k = 0; k < w->readers[v].n; k++) { /* who reads it twice stands there twice */
    int reader = w->readers[v].at[k];
    if (w->pos[reader] > at && !w->taken[reader]) take_node(w, reader);
  }
  done = w->moved.n <= MAX_ALONG && try_set(w, at, false);
  let_go(w);
  return done;
}

/* The step of the peak itself, and what it reads and makes. */
static bool shift(Improve *w, int at) {
  for (int later = 0; later < 2; later++) {
    take_node(w, w->order[at]);
    int far = farthest(w, later);
    bool done = far != at && try_window(w, later ? at : far, later ? far : at, later, false);
    let_go(w);
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
                            : by_number(&a->storage, &b->storage);
}

static bool lower(Improve *w, int at, Held *held) {
  int n = 0;
  for (int v = 0; v < w->p->nstorages; v++)
    if (w->pos[w->maker[v]] < at && w->last[v] > at) held[n++] = (Held){w->p->storage[v].size, v};
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
  take_node(w, w->order[at]);
  int far = farthest(w, later), by = far == at ? 0 : 1 + random_below(w, abs(far - at));
  if (by) (void)try_window(w, later ? at : at - by, later ? at + by : at, later, true);
  let_go(w);
}

static void set_order(Improve *w, const int *order) {
  memcpy(w->order, order, sizeof *order * (size_t)w->g->n);
  for (int k = 0; k < w->g->n; k++) w->pos[order[k]] = k;
  for (int v = 0; v < w->p->nstorages; v++) find_last(w, v);
  w->effort -= w->g->n;
  (void)simulate(w, w->order, w->g->n, 0, NULL);
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
  w.last = ARENA_ARRAY(a, int, p->nstorages + 1);
  w.within = ARENA_ARRAY(a, int64_t, g->n + 1);
  w.live = ARENA_ARRAY(a, int64_t, g->n + 1);
  w.left = ARENA_ARRAY(a, int, p->nstorages + 1);
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
  set_order(&w, order);
  if (!keeps_edges(&w)) return false;
  int64_t floor = max_of_one(&w), given = w.within[peak_at(&w)], min = given;
  for (int64_t peak = descend(&w, held, floor);; peak = descend(&w, held, floor)) {
    if (peak < min) min = peak;
    if (peak == min) memcpy(order, w.order, sizeof *order * (size_t)g->n);
    if (min <= floor || w.effort <= 0) break;
    if (peak > min) set_order(&w, order);
    for (int k = DISPLACED; k > 0; k--) displace(&w);
  }
  return min < given;
}
