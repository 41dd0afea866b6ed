/* A lower bound for recomputation. At a step t of the given order every storage that is read from t
   on is held (k) or its maker runs again (r), and so are the operands of what runs again:
       k[v] + r[maker v] >= 1 for v read from t on,  >= r[o] for v read by o,
       sum size k <= limit - what t makes,           minimize sum flops r.
   Without the one sum over sizes the rows are those of a minimum cut: r[o] implies that its
   operands are available (a), and an available storage whose maker does not run again is held. So
   the linear program is the largest value over lambda of cut(lambda) - lambda x room (Lagrange; the
   cut's matrix is totally unimodular, hence no gap), found by intersecting tangents. Contract:
   holds for every schedule in which first runs keep the given order. */
#include "passes/remat_impl.h"

#include <math.h>
#include <stdlib.h>

enum { NOWHERE = -1 };

typedef struct Arc {
  int to, back; /* back: the arc the other way */
  double room;
} Arc;

/* Nodes: source, sink, then two a storage's and one an op's. Maximum flow by Dinic (1970). */
typedef struct Net {
  Arena *a;
  VEC(Arc) arc;
  VEC(int) next; /* by arc: of the same node */
  int *first;    /* by node */
  int *level, *current, *queue, *path;
  int nodes;
} Net;

static void arc(Net *g, int from, int to, double room) {
  int i = (int)g->arc.n;
  vec_push(g->a, &g->arc, (Arc){to, i + 1, room});
  vec_push(g->a, &g->next, g->first[from]);
  g->first[from] = i;
  vec_push(g->a, &g->arc, (Arc){from, i, 0});
  vec_push(g->a, &g->next, g->first[to]);
  g->first[to] = i + 1;
}

static const double crumb = 1e-9; /* of the largest flow: what rounding leaves over */

static bool find_levels(Net *g, int source, int sink, double least) {
  int head = 0, tail = 0;
  for (int v = 0; v < g->nodes; v++) g->level[v] = NOWHERE;
  g->level[source] = 0;
  g->queue[tail++] = source;
  while (head < tail) {
    int v = g->queue[head++];
    for (int i = g->first[v]; i != NOWHERE; i = g->next.at[i]) {
      const Arc *x = &g->arc.at[i];
      if (x->room <= least || g->level[x->to] != NOWHERE) continue;
      g->level[x->to] = g->level[v] + 1;
      g->queue[tail++] = x->to;
    }
  }
  return g->level[sink] != NOWHERE;
}

/* One path of the level graph; returns what it carries, 0 where there is none left. */
static double push_path(Net *g, int source, int sink, double least) {
  int depth = 0, v = source;
  while (v != sink) {
    int i = g->current[v];
    while (i != NOWHERE &&
           (g->arc.at[i].room <= least || g->level[g->arc.at[i].to] != g->level[v] + 1))
      i = g->next.at[i];
    g->current[v] = i;
    if (i != NOWHERE) {
      g->path[depth++] = i;
      v = g->arc.at[i].to;
    } else {
      if (v == source) return 0;
      g->level[v] = NOWHERE; /* a dead end */
      v = g->arc.at[g->arc.at[g->path[--depth]].back].to;
    }
  }
  double most = INFINITY;
  for (int k = 0; k < depth; k++)
    if (g->arc.at[g->path[k]].room < most) most = g->arc.at[g->path[k]].room;
  if (isinf(most)) return INFINITY;
  for (int k = 0; k < depth; k++) {
    Arc *x = &g->arc.at[g->path[k]];
    x->room -= most;
    g->arc.at[x->back].room += most;
  }
  return most;
}

static double max_flow(Net *g, int source, int sink, double least) {
  double sum = 0;
  while (find_levels(g, source, sink, least)) {
    memcpy(g->current, g->first, sizeof *g->first * (size_t)g->nodes);
    for (double more; (more = push_path(g, source, sink, least)) > 0; sum += more)
      if (isinf(more)) return INFINITY;
  }
  return sum;
}

/* ---------------------------------------------------------------- one step ---- */

typedef struct Cut {
  double flops; /* of what runs again */
  double size;  /* of what is held */
} Cut;

typedef struct AtStep {
  Arena *a; /* of one network */
  const RematProblem *p;
  int t;
  const bool *wanted;  /* by storage: made before t, read from t on */
  const bool *operand; /* by storage: read by t itself, so held */
} AtStep;

enum { SOURCE, SINK, FIRST };
static int available(const AtStep *w, int v) { return (void)w, FIRST + v; }
static int again(const AtStep *w, int o) { return FIRST + w->p->nstorages + o; }

/* The cheapest cut when a unit held costs lambda. */
static Cut cheapest(const AtStep *w, double lambda) {
  const RematProblem *p = w->p;
  Net g = {.a = w->a, .nodes = FIRST + p->nstorages + w->t};
  g.first = ARENA_ARRAY(w->a, int, g.nodes);
  g.level = ARENA_ARRAY(w->a, int, g.nodes);
  g.current = ARENA_ARRAY(w->a, int, g.nodes);
  g.queue = ARENA_ARRAY(w->a, int, g.nodes);
  g.path = ARENA_ARRAY(w->a, int, g.nodes);
  for (int v = 0; v < g.nodes; v++) g.first[v] = NOWHERE;
  for (int v = 0; v < p->nstorages; v++) {
    const RematStorage *x = &p->storage[v];
    if (x->maker >= w->t || w->operand[v]) continue;
    if (w->wanted[v]) arc(&g, SOURCE, available(w, v), INFINITY);
    if (remat_may_rerun(p, x->maker, w->t))
      arc(&g, available(w, v), again(w, x->maker), lambda * x->size);
    else
      arc(&g, available(w, v), SINK, lambda * x->size);
  }
  for (int o = 0; o < w->t; o++) {
    const RematStep *s = &p->step[o];
    if (!remat_may_rerun(p, o, w->t)) continue;
    arc(&g, again(w, o), SINK, s->flops);
    for (int k = 0; k < s->nin; k++)
      if (!w->operand[s->in[k]]) arc(&g, again(w, o), available(w, s->in[k]), INFINITY);
  }
  double least = crumb * (lambda + 1);
  max_flow(&g, SOURCE, SINK, least);
  find_levels(&g, SOURCE, SINK, least); /* what the source still reaches is true */
  Cut c = {0};
  for (int v = 0; v < p->nstorages; v++) {
    const RematStorage *x = &p->storage[v];
    if (x->maker >= w->t || w->operand[v] || g.level[available(w, v)] == NOWHERE) continue;
    bool rerun = remat_may_rerun(p, x->maker, w->t) && g.level[again(w, x->maker)] != NOWHERE;
    if (!rerun) c.size += x->size;
  }
  for (int o = 0; o < w->t; o++)
    if (remat_may_rerun(p, o, w->t) && g.level[again(w, o)] != NOWHERE) c.flops += p->step[o].flops;
  return c;
}

/* Units that the step adds to what it finds: results that take no operand's bytes, and its own. */
static int64_t made_by(const RematProblem *p, int t) {
  const RematStep *s = &p->step[t];
  int64_t sum = s->extra;
  for (int k = 0; k < s->nout; k++) {
    bool over = false;
    for (int q = 0; q < s->npairs; q++) over |= s->pair[q].out == k;
    if (!over) sum += p->storage[s->out[k]].size;
  }
  return sum;
}

static double bound_at(const RematProblem *p, int t, int limit) {
  Arena *a = arena_new();
  bool *wanted = ARENA_ARRAY(a, bool, p->nstorages + 1);
  bool *operand = ARENA_ARRAY(a, bool, p->nstorages + 1);
  int64_t room = limit - made_by(p, t);
  for (int s = t; s < p->nsteps; s++)
    for (int k = 0; k < p->step[s].nin; k++) {
      int v = p->step[s].in[k];
      if (p->storage[v].maker >= t) continue;
      wanted[v] = true;
      if (s == t) operand[v] = true;
    }
  for (int v = 0; v < p->nstorages; v++) {
    if (operand[v]) room -= p->storage[v].size;
    if (p->storage[v].kept && p->storage[v].maker < t) wanted[v] = true;
  }
  AtStep w = {.p = p, .t = t, .wanted = wanted, .operand = operand};
  double best = 0, dear = 2 * p->flops + 1;
  w.a = arena_new();
  Cut none = {0}, all = cheapest(&w, dear); /* holding a unit costs more than everything */
  arena_free(w.a);
  for (int v = 0; v < p->nstorages; v++)
    if (wanted[v] && !operand[v]) none.size += p->storage[v].size;
  if (all.size > (double)room) best = INFINITY;
  /* tangents of a concave function: one that rises, one that falls; their crossing is the next */
  while (isfinite(best) && none.size > (double)room) {
    double lambda = (all.flops - none.flops) / (none.size - all.size);
    w.a = arena_new();
    Cut c = cheapest(&w, lambda);
    arena_free(w.a);
    double value = c.flops + lambda * (c.size - (double)room);
    double crossing = all.flops + lambda * (all.size - (double)room);
    if (value > best) best = value;
    if (value >= crossing * (1 - 1e-6)) break;
    if (c.size > (double)room)
      none = c;
    else
      all = c;
  }
  arena_free(a);
  return best;
}

/* ---------------------------------------------------------------- the largest of several ---- */

typedef struct Peak {
  int step;
  double share; /* to be dropped, of what it does not touch itself */
} Peak;

static int by_share(const void *pa, const void *pb) {
  const Peak *a = pa, *b = pb;
  if (a->share != b->share) return a->share > b->share ? -1 : 1;
  return (a->step > b->step) - (a->step < b->step);
}

/* Steps that are tried, each of which gives a bound of its own; next to each other they say about
   the same, so they stand apart by one part of all steps in so many. */
enum { STEPS_TRIED = 8, APART = 28 };

static bool is_near(const Peak *tried, int n, int step, int nsteps) {
  for (int k = 0; k < n; k++)
    if (abs(tried[k].step - step) <= nsteps / APART) return true;
  return false;
}

/* The peak, then what leaves least room to what others hold: a step that needs much itself may come
   before or behind it. */
double remat_bound(Arena *a, const RematProblem *p, int limit) {
  RematState s = remat_state(a, p);
  remat_reset(&s);
  Peak *peak = ARENA_ARRAY(a, Peak, p->nsteps + 1);
  int n = 0, tried = 0, top;
  (void)remat_peak(&s, &top);
  for (int t = 0; t < p->nsteps; t++) {
    double over = (double)remat_live(&s, t) - limit, others = remat_live(&s, t) - s.within[t];
    if (over <= 0) continue;
    peak[n++] = (Peak){t, others > 0 && t != top ? over / others : INFINITY};
  }
  if (n) qsort(peak, (size_t)n, sizeof *peak, by_share);
  double best = 0;
  for (int k = 0; k < n && tried < STEPS_TRIED && isfinite(best); k++) {
    if (is_near(peak, tried, peak[k].step, p->nsteps)) continue;
    double b = bound_at(p, peak[k].step, limit);
    if (b > best) best = b;
    peak[tried++] = peak[k];
  }
  return best;
}
