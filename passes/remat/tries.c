/* Fits an entry into a byte limit: in each of its orders, and with its loops in the schedules that
   need fewer bytes; the cheapest plan is kept. */
#include "passes/remat/tries.h"

#include <math.h>
#include <stdlib.h>

enum { SHORTEST = 64 }; /* the first search's part of the effort; four times as much each time */

bool tries_new(Arena *a, PassRun *r, Entry *e, const GlobalsPlan *g, Tries *out) {
  const Orders *o = cache_of(e)->orders;
  int norders = o ? (int)o->n : 1;
  *out = (Tries){.a = a, .loops = remat_loop_frontier(a, e)};
  out->at = ARENA_ARRAY(a, Remat, norders + 2 * out->loops.npoints);
  bool ok = true;
  for (int k = 0; k < norders && ok; k++) {
    Remat *w = &out->at[out->n++];
    *w = remat_new(r, e, g);
    ok = remat_prepare(w, o ? o->at[k] : NULL);
  }
  out->norders = out->n;
  for (int k = 0; k < 2 * out->loops.npoints && ok; k++) {
    Remat *w = &out->at[out->n++];
    *w = remat_new(r, e, g);
    w->loops[0] = (AppliedLoops){*e, &out->loops, &out->loops.point[k / 2]};
    w->further = k % 2;
    w->cost = w->loops[0].point->cost;
  }
  return ok;
}

void tries_free(Tries *x) {
  for (int k = 0; k < x->n; k++)
    if (x->at[k].a) arena_free(x->at[k].a);
}

/* Loops that follow blocks are pairs of a forward and a backward loop themselves. Stacks that cost
   next to nothing to recompute are dropped there, if any stack is. */
static bool apply_further(Remat *w, const Remat *given) {
  static const double nothing = 0.01; /* of the program's work */
  LoopFrontier *l = ARENA_NEW(w->a, LoopFrontier);
  *l = remat_loop_frontier(w->a, w->e);
  w->loops[1] = (AppliedLoops){*w->e, l, NULL};
  for (int k = 0; k < l->npoints && l->point[k].cost <= nothing * given->p.cost; k++)
    w->loops[1].point = &l->point[k];
  if (!w->loops[1].point) return false;
  remat_apply_loops(w->a, w->e, l, w->loops[1].point);
  w->cost += w->loops[1].point->cost;
  return true;
}

Remat *tries_at(Tries *x, int k) {
  Remat *w = &x->at[k];
  if (w->a) return w->p.nsteps ? w : NULL;
  remat_as_given(&x->at[0]);
  w->a = arena_new();
  remat_apply_loops(w->a, w->e, &x->loops, w->loops[0].point);
  return (!w->further || apply_further(w, &x->at[0])) && remat_prepare(w, NULL) ? w : NULL;
}

typedef struct RankedTry {
  double min; /* that the try adds: flops of an order, work of a point */
  int k;
  uint64_t missed; /* bytes by which packing missed the limit at first */
} RankedTry;

static int by_bound(const void *pa, const void *pb) {
  const RankedTry *a = pa, *b = pb;
  if (a->min != b->min) return a->min < b->min ? -1 : 1;
  return (a->k > b->k) - (a->k < b->k);
}

/* Two lower bounds are close; the cost found is close to its lower bound. */
static const double near_bound = 1.1;
/* Share of the program's work: a cost within it is close to a lower bound that is almost 0. */
static const double near_by = 0.01;

/* The tries in the order in which they are made: first the orders, by their lower bound on added
   arithmetic, the order of least peak first among close ones; then the points. Returns their
   number, without orders in which no schedule fits. */
static int rank_tries(Tries *x, uint64_t limit, RankedTry *out) {
  int n = 0;
  for (int k = 0; k < x->norders; k++) {
    Remat *w = &x->at[k];
    Arena *a = arena_new();
    double bound = remat_bound(a, &w->p, remat_units(w, limit));
    arena_free(a);
    if (isfinite(bound)) out[n++] = (RankedTry){bound, k, 0};
  }
  if (n) qsort(out, (size_t)n, sizeof *out, by_bound);
  for (int i = 1; i < n; i++) {
    RankedTry first = out[i];
    if (first.k || first.min > near_bound * out[0].min) continue;
    memmove(out + 1, out, sizeof *out * (size_t)i);
    out[0] = first;
  }
  for (int k = x->norders; k < x->n; k++) out[n++] = (RankedTry){x->at[k].cost, k, 0};
  return n;
}

/* The best of some searches. */
typedef struct Best {
  Remat *of;
  Entry fitted;
  RematSaved saved; /* what is recomputed */
  RematPlan *found;
  uint64_t *arena;
  bool near; /* it costs about what its order allows */
  bool done; /* it costs next to nothing, or that */
} Best;

/* Each order gets half of the effort until one fits. If the cost found is close to the lower bound
   of its order, no other order is tried. Neither is an order whose lower bound is hardly less than
   the cost found. */
static void fit_all(Tries *x, uint64_t limit, int64_t effort, RankedTry *ranked, int n, Best *b) {
  for (int i = 0; i < n; i++) {
    bool point = ranked[i].k >= x->norders;
    if (b->of && point && ranked[i].min >= b->found->cost) continue;
    if (b->of && !point && b->of != &x->at[ranked[i].k] &&
        (b->near || near_bound * ranked[i].min >= b->found->flops))
      continue;
    Remat *w = tries_at(x, ranked[i].k);
    RematPlan plan;
    uint64_t bytes;
    if (!w) continue;
    int64_t share = point ? effort / 8 : i && b->of ? effort / 4 : effort / 2;
    double enough = point ? INFINITY : near_bound * ranked[i].min + near_by * w->p.flops;
    double incumbent = b->of ? b->found->cost : INFINITY;
    if (!remat_fit(w, limit, share, incumbent, enough, &ranked[i].missed, &plan, &bytes)) continue;
    b->of = w;
    b->fitted = *w->e;
    remat_save(&w->s, &b->saved);
    *b->found = plan;
    *b->arena = bytes;
    b->near = !point && plan.flops <= near_bound * ranked[i].min;
    b->done = plan.cost <= REMAT_LITTLE * w->p.cost ||
              (!point && plan.flops <= ranked[i].min + REMAT_LITTLE * w->p.flops);
  }
}

Remat *tries_fit(Tries *x, uint64_t limit, int64_t spent, int64_t effort, RematPlan *found,
                 uint64_t *arena) {
  Best b = {.found = found, .arena = arena};
  RankedTry *ranked = ARENA_ARRAY(x->at[0].a, RankedTry, x->n + 1);
  int n = rank_tries(x, limit, ranked);
  int64_t done = 0, next = remat_whole_effort(&x->at[0]) / SHORTEST;
  if (next > effort) next = effort;
  for (; next <= effort && !b.done; done = next, next *= 4)
    if (next > spent) fit_all(x, limit, next - done, ranked, n, &b);
  if (!b.of) {
    remat_as_given(&x->at[0]);
    return NULL;
  }
  *b.of->e = b.fitted;
  remat_restore(&b.of->s, &b.saved, remat_units(b.of, limit));
  return b.of;
}

Remat *tries_again(Tries *x, int k, const RematSaved *again) {
  Remat *w = tries_at(x, k);
  remat_as_given(w);
  remat_restore(&w->s, again, INT32_MAX / 2);
  remat_rewrite(w);
  return w;
}
