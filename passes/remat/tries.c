/* Fits an entry into a byte limit: in each of its orders, and with its loops in the schedules that
   need fewer bytes; the cheapest plan is kept. Contract: recomputed ops stand right in front of the
   step that needs them, as new values. The packed arena meets the limit, not only the sum of live
   bytes: if packing misses the limit, the schedule becomes tighter. The least limit is looked for
   twice: plans are shrunk as far as they go, then limits below are tried like any other. */
#include "passes/remat/tries.h"

#include <math.h>
#include <stdlib.h>

/* Roughly nanoseconds for the searches of all orders; effort=N allows N per cent of it. If packing
   misses the limit, a search continues with a tighter one, up to TRIES times. */
static const int64_t max_effort = 3000 * INT64_C(1000000), effort_a_step = 2 * INT64_C(1000000);

enum {
  TRIES = 16,         /* where packing misses the limit */
  MIN_TIGHTER = 3200, /* the next one is, of the limit; twice as much each time */
  PART_OF_MISS = 6,   /* or so much of what packing missed the limit by */
  BY_CHANCE = 2,      /* times that packing may miss the limit by chance */
  NEARLY = 400,       /* of the limit: what packing misses by, and need not */
  BRIEF = 50,         /* a brief trial's part of the effort */
  SHORTEST = 64       /* the first search's part of the effort; four times as much each time */
};

/* ---------------------------------------------------------------- the arena ---- */

static Plan *plan_without_offsets(Remat *w, Arena *a) {
  Plan *p;
  if (!plan_times(a, w->e, w->t, w->g, &p)) return NULL;
  plan_inplace(a, w->e, p, w->g, w->t, NULL);
  return p;
}

uint64_t remat_arena(Remat *w, uint64_t enough) {
  PassRun own = *w->r; /* with a scratch that does not grow from try to try */
  own.scratch = arena_new();
  Plan *p = plan_without_offsets(w, own.scratch);
  uint64_t bytes = p ? plan_arena(&own, w->e, p, own.opt->plan_seconds, enough) : UINT64_MAX;
  arena_free(own.scratch);
  return bytes;
}

/* ---------------------------------------------------------------- rebuilding ---- */

/* Maps values of the old entry to the new one. A view is rebuilt for every instance of its operand.
 */
typedef struct Rewrite {
  Remat *w;
  int *step_of;     /* by old op: its step in the problem, or -1 */
  ValueId *view_on; /* by old value: the new value that its last view was made of */
  Builder *b;
  const Entry *old;
  ValueId *map;
  bool backward;  /* the step at hand is in the backward pass */
  uint64_t flops; /* that are recomputed */
} Rewrite;

static void bring(Rewrite *x, ValueId v) {
  const Op *op = value_def(x->old, v);
  if (!op || op->parent != x->old->body || !plan_is_view(x->old, op)) return;
  bring(x, op->operands[0]);
  if (x->view_on[v] == x->map[op->operands[0]]) return;
  x->view_on[v] = x->map[op->operands[0]];
  build_copy(x->b, x->old, op, x->map);
}

static void copy_op(Rewrite *x, const Op *op) {
  ValueList reads = {0};
  plan_reads(x->w->a, x->old, op, &reads);
  for (uint32_t k = 0; k < reads.n; k++) bring(x, reads.at[k]);
  build_copy(x->b, x->old, op, x->map);
}

static void emit_op(void *data, int step, const bool *made) {
  Rewrite *x = data;
  const StepNode *o = &x->w->p.step[step];
  ValueId *was = ARENA_ARRAY(x->w->a, ValueId, o->nout + 1);
  for (int k = 0; k < o->nout; k++) was[k] = x->map[x->w->p.storage[o->out[k]].value];
  bool again = o->nout && was[0] != NO_ID;
  copy_op(x, o->op);
  if (again && x->backward)
    value_def(x->b->e, x->map[x->w->p.storage[o->out[0]].value])->backward = true;
  for (int k = 0; k < o->nout; k++) /* who reads it later means the older one, which is held */
    if (!made[k] && was[k] != NO_ID) x->map[x->w->p.storage[o->out[k]].value] = was[k];
  if (again) x->flops += op_flops(x->old, o->op);
}

static void rewrite_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Rewrite *x = data;
  x->b = b;
  x->old = old;
  x->map = map;
  int step = op->parent == old->body ? x->step_of[op->id] : -1;
  x->backward = op->backward;
  if (step >= 0)
    remat_step_ops(&x->w->s, step, emit_op, x);
  else if (op->parent != old->body)
    build_copy(b, old, op, map);
  else if (!plan_is_view(old, op)) /* loads and the return */
    copy_op(x, op);
}

/* The entry as the state has it. */
static void rewrite(Remat *w) {
  Rewrite x = {.w = w};
  x.step_of = ARENA_ARRAY(w->a, int, w->e->ops.n);
  x.view_on = ARENA_ARRAY(w->a, ValueId, w->e->values.n);
  for (uint32_t i = 0; i < w->e->ops.n; i++) x.step_of[i] = -1;
  for (uint32_t v = 0; v < w->e->values.n; v++) x.view_on[v] = NO_ID;
  for (int t = 0; t < w->p.nsteps; t++) x.step_of[w->p.step[t].op->id] = t;
  entry_rebuild(w->e, rewrite_each, &x, false, false);
  notes_change(w->e)->rerun_flops = notes_of(&w->old)->rerun_flops + x.flops;
}

int remat_units(const Remat *w, uint64_t bytes) {
  uint64_t u = bytes > w->slack ? (bytes - w->slack) / w->p.unit : 0;
  return u > INT32_MAX / 2 ? INT32_MAX / 2 : (int)u;
}

static int64_t whole_effort(const Remat *w) {
  int64_t e = w->p.nsteps * effort_a_step;
  return e < max_effort ? e : max_effort;
}

int64_t remat_effort(const Remat *w, int max) {
  int64_t percent = pass_arg_int(w->r, "effort", 100);
  if (percent > max) percent = max;
  if (w->r->opt->brief) percent /= BRIEF;
  return whole_effort(w) / 100 * (percent < 1 ? 1 : percent);
}

/* ---------------------------------------------------------------- one order ---- */

void remat_as_given(Remat *w) {
  *w->e = w->old;
  if (w->order) memcpy(w->e->body->ops.at, w->order, w->e->body->ops.n * sizeof(OpId));
}

/* The problem of the entry as it is, in the order. */
static bool prepare(Remat *w, OpId *order) {
  if (!w->a) w->a = arena_new();
  w->old = *w->e;
  w->order = order;
  remat_as_given(w);
  Plan *p = plan_without_offsets(w, w->a);
  if (!p) return false;
  w->p = step_graph(w->a, &w->old, p, w->t);
  w->s = remat_state(w->a, &w->p);
  return true;
}

/* What is added to the program as it was given: by running loops again, too. */
static RematPlan added(const Remat *w, RematPlan x) {
  x.flops += (double)notes_of(&w->old)->rerun_flops;
  x.cost += w->cost;
  return x;
}

static RematPlan search(Remat *w, int limit, int64_t effort, double incumbent, double near) {
  return added(w, remat_search(&w->s, limit, effort, incumbent - w->cost, near));
}

/* By how many bytes the next limit of the schedule is tighter, if packing exceeded the limit by
   `over`. The first BY_CHANCE steps are small: a slightly different schedule may pack well, since
   packing is a heuristic. Later steps are a part of `over`, since packing loses about the same
   share again. */
static uint64_t tighter(uint64_t limit, uint64_t over, int k) {
  uint64_t by = (limit / MIN_TIGHTER) << k, part = over / PART_OF_MISS;
  if (over < (k < BY_CHANCE ? limit / NEARLY : by)) return over;
  return k < BY_CHANCE || part < by ? by : part;
}

/* Of the program's work: a plan that is cheaper by less is not packed for it. */
static const double little = 0.001;

/* Fits the entry at less cost than `incumbent`; without such a schedule the entry is unchanged.
   *missed: bytes by which packing exceeded the limit in the first schedule. If a shorter search has
   set it already, small steps are not tried again. */
static bool fit(Remat *w, uint64_t limit, int64_t effort, double incumbent, double near,
                uint64_t *missed, RematPlan *found, uint64_t *arena) {
  int first = *missed < limit / NEARLY ? 0 : BY_CHANCE;
  uint64_t by = first ? tighter(limit, *missed, first) : 0, target = limit;
  remat_as_given(w);
  for (int k = first; k < TRIES && by < target; k++) {
    target -= by;
    int units = remat_units(w, target);
    if (k > first) *found = added(w, remat_tighten(&w->s, units, effort / 4));
    if (k == first || !found->fits) *found = search(w, units, effort, incumbent, near);
    if (!found->fits || found->cost > incumbent - little * w->p.cost) return false;
    rewrite(w);
    *arena = remat_arena(w, w->r->opt->curve ? 0 : limit); /* of a curve, the least */
    if (*arena <= limit) return true;
    *w->e = w->old;
    if (k == 0) *missed = *arena - limit;
    by = tighter(limit, *arena - limit, k);
  }
  return false;
}

Remat remat_new(PassRun *r, Entry *e, const GlobalsPlan *g) {
  return (Remat){.r = r, .e = e, .t = r->opt->target, .g = g, .slack = plan_slack(r->opt->target)};
}

/* ---------------------------------------------------------------- all tries ---- */

bool tries_new(Arena *a, PassRun *r, Entry *e, const GlobalsPlan *g, Tries *out) {
  const Orders *o = cache_of(e)->orders;
  int norders = o ? (int)o->n : 1;
  *out = (Tries){.a = a, .loops = remat_loop_frontier(a, e)};
  out->at = ARENA_ARRAY(a, Remat, norders + 2 * out->loops.npoints);
  bool ok = true;
  for (int k = 0; k < norders && ok; k++) {
    Remat *w = &out->at[out->n++];
    *w = remat_new(r, e, g);
    ok = prepare(w, o ? o->at[k] : NULL);
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

/* Try k with its problem; NULL: it has none. */
static Remat *try_at(Tries *x, int k) {
  Remat *w = &x->at[k];
  if (w->a) return w->p.nsteps ? w : NULL;
  remat_as_given(&x->at[0]);
  w->a = arena_new();
  remat_apply_loops(w->a, w->e, &x->loops, w->loops[0].point);
  return (!w->further || apply_further(w, &x->at[0])) && prepare(w, NULL) ? w : NULL;
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
    Remat *w = try_at(x, ranked[i].k);
    RematPlan plan;
    uint64_t bytes;
    if (!w) continue;
    int64_t share = point ? effort / 8 : i && b->of ? effort / 4 : effort / 2;
    double enough = point ? INFINITY : near_bound * ranked[i].min + near_by * w->p.flops;
    double incumbent = b->of ? b->found->cost : INFINITY;
    if (!fit(w, limit, share, incumbent, enough, &ranked[i].missed, &plan, &bytes)) continue;
    b->of = w;
    b->fitted = *w->e;
    remat_save(&w->s, &b->saved);
    *b->found = plan;
    *b->arena = bytes;
    b->near = !point && plan.flops <= near_bound * ranked[i].min;
    b->done = plan.cost <= little * w->p.cost ||
              (!point && plan.flops <= ranked[i].min + little * w->p.flops);
  }
}

Remat *tries_fit(Tries *x, uint64_t limit, int64_t spent, int64_t effort, RematPlan *found,
                 uint64_t *arena) {
  Best b = {.found = found, .arena = arena};
  RankedTry *ranked = ARENA_ARRAY(x->at[0].a, RankedTry, x->n + 1);
  int n = rank_tries(x, limit, ranked);
  int64_t done = 0, next = whole_effort(&x->at[0]) / SHORTEST;
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
  Remat *w = try_at(x, k);
  remat_as_given(w);
  remat_restore(&w->s, again, INT32_MAX / 2);
  rewrite(w);
  return w;
}

/* ---------------------------------------------------------------- the least ---- */

static uint64_t bytes_of(const Remat *w, int units) { return (uint64_t)units * w->p.unit; }

/* No schedule takes less: a step alone needs it. */
static int floor_of(Remat *w) {
  int floor = 0;
  remat_reset(&w->s);
  for (int t = 0; t < w->p.nsteps; t++)
    if (w->s.within[t] > floor) floor = w->s.within[t];
  return floor;
}

/* Shrinks the plan of the try that takes least, and of those that may come below it. */
static Remat *shrink_nearest(Tries *x, int *min, const int *floor) {
  enum { NEAREST = 3 };
  Remat *best = NULL;
  bool *done = ARENA_ARRAY(x->at[0].a, bool, x->n + 1);
  for (int j = 0; j < NEAREST; j++) {
    int next = -1;
    for (int k = 0; k < x->n; k++)
      if (min[k] >= 0 && !done[k] &&
          (next < 0 || bytes_of(&x->at[k], min[k]) < bytes_of(&x->at[next], min[next])))
        next = k;
    if (next < 0) break;
    Remat *w = &x->at[next];
    done[next] = true;
    min[next] = remat_shrink(&w->s, floor[next], remat_effort(w, 100) / 4);
    if (!best || bytes_of(w, min[next]) < bytes_of(best, min[best - x->at])) best = w;
  }
  return best;
}

/* What was found at the least so far. */
typedef struct Least {
  Tries *x;
  Remat *best; /* one of them */
  Entry fitted;
  RematSaved saved; /* what is recomputed */
  RematPlan *found;
  uint64_t *arena;
} Least;

static void keep_min(Least *l, Remat *w, const RematPlan *plan, uint64_t bytes) {
  l->best = w;
  l->fitted = *w->e;
  l->saved = (RematSaved){0};
  remat_save(&w->s, &l->saved);
  *l->found = *plan;
  *l->arena = bytes;
}

/* Tries limits below the least one, as if the user had given them, in growing steps while there is
   a plan. The limits tried do not depend on the user's limit. So the least limit that one refusal
   names can be met, and no other refusal names a larger one. */
static void probe_below(Least *l) {
  enum { PROBES = 5, FIRST = 32, NEAR = 100 }; /* the first step; the least is known to so much */
  uint64_t step = *l->arena / FIRST, failed = 0;
  for (int k = 0; k < PROBES && step > *l->arena / NEAR; k++) {
    uint64_t arena = *l->arena, bytes;
    uint64_t limit = arena > step && arena - step > failed ? arena - step : failed + 1;
    RematPlan plan;
    Remat *w = tries_fit(l->x, limit, 0, remat_effort(&l->x->at[0], 100), &plan, &bytes);
    if (!w) {
      failed = limit;
      step = (arena - limit) / 2;
      continue;
    }
    keep_min(l, w, &plan, bytes);
    if (bytes <= failed) failed = 0; /* what is far below its limit */
    step = failed ? (bytes - failed) / 2 : 2 * step;
  }
}

/* Tries the limit one unit below the least one by itself, independent of other tries, until there
   is no plan: so a user who asks for it gets a refusal, too. While there is a plan, steps grow. */
static bool find_end(Least *l) {
  uint64_t unit = (uint64_t)l->x->at[0].t->align, step = unit;
  while (*l->arena > step) {
    Remat *first = &l->x->at[0];
    Tries own;
    RematPlan plan;
    uint64_t bytes;
    remat_as_given(first);
    if (!tries_new(l->x->a, first->r, first->e, first->g, &own)) return false;
    Remat *w = tries_fit(&own, *l->arena - step, 0, remat_effort(&own.at[0], 100), &plan, &bytes);
    if (w) {
      tries_free(l->x);
      *l->x = own;
      keep_min(l, w, &plan, bytes);
      step *= 2;
      continue;
    }
    tries_free(&own);
    if (step == unit) return true;
    step = unit;
  }
  return true;
}

Remat *tries_min(Tries *x, bool probe, RematPlan *found, uint64_t *arena) {
  int *min = ARENA_ARRAY(x->at[0].a, int, x->n + 1),
      *floor = ARENA_ARRAY(x->at[0].a, int, x->n + 1);
  int at;
  for (int k = 0; k < x->n; k++) {
    Remat *w = try_at(x, k);
    min[k] = -1;
    if (!w) continue;
    floor[k] = floor_of(w);
    min[k] = remat_min(&w->s, floor[k], remat_peak(&w->s, &at), remat_effort(w, 100) / MIN_SHARE);
  }
  Remat *best = shrink_nearest(x, min, floor);
  remat_as_given(best);
  *found =
      added(best, remat_tighten(&best->s, remat_peak(&best->s, &at), remat_effort(best, 100) / 4));
  rewrite(best);
  *arena = remat_arena(best, 0);
  if (!probe) return best;
  Least l = {.x = x, .found = found, .arena = arena};
  keep_min(&l, best, found, *arena);
  probe_below(&l);
  if (!find_end(&l)) return NULL;
  *l.best->e = l.fitted;
  remat_restore(&l.best->s, &l.saved, INT32_MAX / 2);
  remat_set_limit(&l.best->s, remat_peak(&l.best->s, &at));
  return l.best;
}
