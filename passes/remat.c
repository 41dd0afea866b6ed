/* Recomputation under a byte limit: finds ops to run again so that the packed arena of every entry
   fits, with little added work, or says the least that was found and what holds it there.
   Contract: needs an order and keeps it, or one of those that the pass order tried: what runs again
   stands right in front of the step that needs it, as new values; loops may run again in parts
   (remat_loop.c). Does nothing without a limit. The limit is met in the packed arena, not in the
   sum of live bytes alone: where packing misses it, a tighter schedule is looked for. The search is
   remat_search.c. */
#include "passes/pass_list.h"
#include "passes/remat_impl.h"

#include <math.h>
#include <stdlib.h>

/* About nanoseconds, for one search over all orders; where packing misses the limit, there are up
   to TRIES of them. */
static const int64_t most_effort = 3000 * INT64_C(1000000), effort_a_step = 2 * INT64_C(1000000);

enum {
  LEAST_SHARE = 16
}; /* of the effort: one try on the way to the least, one point of a curve */

enum {
  TIGHTER = 50, /* where packing misses the limit, the next try has 1/50 less */
  TRIES = 10
};

/* A ladder of an entry, and the rung at which its loops are. */
typedef struct Climbed {
  Entry from;
  const LoopLadder *ladder;
  const LoopRung *rung;
} Climbed;

typedef struct Remat { /* of one order of an entry, or with its loops in one of their ways */
  PassRun *r;
  Entry *e;
  OpId *order;
  Climbed loops[2]; /* one after the other; without a rung loops run as they are */
  bool further;     /* with the second */
  double cost;      /* that they add */
  Entry old;        /* as it was before anything ran again: the problem's ids are its */
  const Target *t;
  const GlobalsPlan *g;
  Arena *a;
  RematProblem p;
  RematState s;
  uint64_t slack;
} Remat;

/* ---------------------------------------------------------------- the arena ---- */

static Plan *plan_of(Remat *w, Arena *a) {
  Plan *p;
  if (!plan_times(a, w->e, w->t, w->g, &p)) return NULL;
  plan_inplace(a, w->e, p, w->g, w->t->align, NULL);
  return p;
}

/* Bytes of the packed arena of the entry as it is. */
static uint64_t arena_of(Remat *w) {
  PassRun own = *w->r; /* with a scratch that does not grow from try to try */
  own.scratch = arena_new();
  Plan *p = plan_of(w, own.scratch);
  uint64_t bytes = p ? plan_arena(&own, w->e, p, own.opt->plan_seconds) : UINT64_MAX;
  arena_free(own.scratch);
  return bytes;
}

/* ---------------------------------------------------------------- rebuilding ---- */

/* Values of the old entry on their way into the new one. A view is made again for every instance of
   what it is a view of. */
typedef struct Rewrite {
  Remat *w;
  int *step_of;     /* by old op: its step in the problem, or -1 */
  ValueId *view_on; /* by old value: the new value that its last view was made of */
  Builder *b;
  const Entry *old;
  ValueId *map;
  bool backward;  /* the step at hand is on the way back */
  uint64_t flops; /* that run again */
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
  const RematStep *o = &x->w->p.step[step];
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
  w->e->rerun_flops = w->old.rerun_flops + x.flops;
}

/* ---------------------------------------------------------------- what is told ---- */

static int in_units(const Remat *w, uint64_t bytes) {
  uint64_t u = bytes > w->slack ? (bytes - w->slack) / w->p.unit : 0;
  return u > INT32_MAX / 2 ? INT32_MAX / 2 : (int)u;
}

static void tell_reruns(Remat *w) {
  if (!(w->r->opt->remarks & REMARK_REMAT)) return;
  for (int t = 0; t < w->p.nsteps; t++)
    for (uint32_t k = 0; k < w->s.again[t].n; k++) {
      const RematStep *o = &w->p.step[w->s.again[t].at[k]];
      uint64_t bytes = 0;
      char buf[32];
      for (int j = 0; j < o->nout; j++) bytes += (uint64_t)w->p.storage[o->out[j]].size * w->p.unit;
      const char *name = o->nout ? value_str(&w->old, w->p.storage[o->out[0]].value) : "?";
      remark(w->r, REMARK_REMAT, "remat", o->op->loc,
             "%s runs again before %s: %s (%s) is not held", plan_op_name(o->op),
             plan_op_name(w->p.step[t].op), name, plan_commas(buf, bytes));
    }
}

/* The storage is the place of a carry of the loop that runs at the step. */
static bool is_carry(const Remat *w, int v, int step) {
  const Op *op = w->p.step[step].op;
  for (int k = 0; op->kind == OP_SCAN && k < op->attr[AT_CARRIES].i; k++)
    if (op->results[k] == w->p.storage[v].value) return true;
  return false;
}

/* A result of the step may take the bytes, which nobody else reads any more: it stands for both. */
static bool is_handed_on(const Remat *w, int v, int step) {
  const RematStep *s = &w->p.step[step];
  const RematTouches *t = &w->s.touch[v];
  for (int k = 0; k < s->npairs; k++)
    if (s->in[s->pair[k].in] == v) return t->at[t->n - 1].step == step;
  return false;
}

/* How far the plan is from what a schedule in its order could reach; of loops that run again in
   parts nothing is known. `flops`: of the program as it came. */
static void tell_bound(Remat *w, uint64_t limit, const RematPlan *found, double flops) {
  if (!(w->r->opt->remarks & REMARK_REMAT) || flops <= 0) return;
  const char *bound = "";
  if (!w->loops[0].rung)
    bound = intern_printf(w->r->m->ctx, "; in this order no plan takes less than %.2f %%",
                          100 * remat_bound(w->a, &w->p, in_units(w, limit)) / flops);
  remark(w->r, REMARK_REMAT, "remat", w->e->loc, "entry '%s' takes %.2f %% more arithmetic%s",
         w->e->name, 100 * found->flops / flops, bound);
}

/* Why a storage is there at a step; NULL: it is not. */
static const char *why_held(const Remat *w, int v, int step) {
  if (remat_touch_at(&w->s, v, step) >= 0)
    return is_carry(w, v, step) ? "the loop carries it, or adds it up, through all iterations"
                                : "it is read or made there";
  int i = remat_touch_after(&w->s, v, step);
  const RematTouches *t = &w->s.touch[v];
  if (i == 0 || i == (int)t->n || !t->at[i].held) return NULL;
  if (t->at[i].step == w->p.nsteps) return "it is returned";
  if (!remat_may_rerun(&w->p, w->p.storage[v].maker, t->at[i].step))
    return "it cannot be made again, since a later step overwrites what it is made of";
  return "it is read later, and to make it again needs as much";
}

/* Of the steps that hold nearly the most, the one with the most bytes of its own. */
static int step_to_blame(const Remat *w) {
  int at, peak = remat_peak(&w->s, &at);
  for (int t = 0; t < w->p.nsteps; t++)
    if (remat_live(&w->s, t) > peak - peak / 32 && w->s.within[t] > w->s.within[at]) at = t;
  return at;
}

static int64_t effort_of(const Remat *w) {
  int64_t e = w->p.nsteps * effort_a_step;
  return e < most_effort ? e : most_effort;
}

/* Every step, and the whole, in as few bytes as the search can. */
static int least_of(Remat *w) {
  int floor = 0, at;
  remat_reset(&w->s);
  int peak = remat_peak(&w->s, &at);
  for (int t = 0; t < w->p.nsteps; t++)
    if (w->s.within[t] > floor) floor = w->s.within[t];
  return remat_least(&w->s, floor, peak, effort_of(w) / LEAST_SHARE);
}

/* Says what the least is that was found, which the state is at, and what holds it there. */
static void refuse(Remat *w, uint64_t limit, uint64_t bytes, double share) {
  Ctx *c = w->r->m->ctx;
  char b1[32], b2[32];
  int at = step_to_blame(w), live = remat_live(&w->s, at);
  const RematStep *step = &w->p.step[at];
  diag(c, SEV_ERROR, w->e->loc,
       "%s not fit into %s bytes: the least that was found is %s bytes, with %.1f %% more "
       "arithmetic",
       w->e == w->r->m->init ? "the initial values do"
                             : intern_printf(c, "entry '%s' does", w->e->name),
       plan_commas(b1, limit), plan_commas(b2, bytes), 100 * share);
  diag(c, SEV_NOTE, step->op->loc, "%s holds it there: %s bytes are in use at this step",
       plan_op_name(step->op), plan_commas(b1, (uint64_t)live * w->p.unit));
  if (step->op->kind == OP_SCAN && (int64_t)step->extra * 20 >= live)
    diag(c, SEV_NOTE, step->op->loc, "its iterations have %s bytes in use besides",
         plan_commas(b1, (uint64_t)step->extra * w->p.unit));
  for (int v = 0; v < w->p.nstorages; v++) {
    const RematStorage *x = &w->p.storage[v];
    if ((int64_t)x->size * 20 < live || is_handed_on(w, v, at)) continue;
    const char *why = why_held(w, v, at);
    if (why)
      diag(c, SEV_NOTE, w->p.step[x->maker].op->loc, "%s of %s holds %s bytes: %s",
           value_str(&w->old, x->value), plan_op_name(w->p.step[x->maker].op),
           plan_commas(b1, (uint64_t)x->size * w->p.unit), why);
  }
}

/* ---------------------------------------------------------------- one order ---- */

static void take_order(Remat *w) {
  *w->e = w->old;
  if (w->order) memcpy(w->e->body->ops.at, w->order, w->e->body->ops.n * sizeof(OpId));
}

/* The problem of the entry as it is, in the order. */
static bool prepare(Remat *w, OpId *order) {
  if (!w->a) w->a = arena_new();
  w->old = *w->e;
  w->order = order;
  take_order(w);
  Plan *p = plan_of(w, w->a);
  if (!p) return false;
  w->p = remat_problem(w->a, &w->old, p, w->t);
  w->s = remat_state(w->a, &w->p);
  return true;
}

/* What is added to the program as it was given: by running loops again, too. */
static RematPlan search(Remat *w, int limit, int64_t effort, double beat) {
  RematPlan x = remat_search(&w->s, limit, effort, beat - w->cost);
  x.flops += (double)w->old.rerun_flops;
  x.cost += w->cost;
  return x;
}

/* Fits the entry, which stays as it was where nothing is found. */
static bool fit(Remat *w, uint64_t limit, int64_t effort, double beat, RematPlan *found,
                uint64_t *arena) {
  uint64_t target = limit;
  take_order(w);
  for (int k = 0; k < TRIES; k++, target -= limit / TIGHTER) {
    *found = search(w, in_units(w, target), effort, beat);
    if (!found->fits) return false;
    rewrite(w);
    *arena = arena_of(w);
    if (*arena <= limit) return true;
    *w->e = w->old;
  }
  return false;
}

static Remat remat_new(PassRun *r, Entry *e, const GlobalsPlan *g) {
  return (Remat){.r = r, .e = e, .t = r->opt->target, .g = g, .slack = plan_slack(r->opt->target)};
}

/* ---------------------------------------------------------------- all tries ---- */

/* The orders, then the rungs of the ladder, the cheapest first, without and with a further one;
   these are prepared when they are first looked at. */
typedef struct Tries {
  Remat *at;
  int n, norders;
  LoopLadder loops;
} Tries;

static bool tries_new(Arena *a, PassRun *r, Entry *e, const GlobalsPlan *g, Tries *out) {
  const Orders *o = e->orders;
  int norders = o ? (int)o->n : 1;
  *out = (Tries){.loops = remat_ladder(a, e)};
  out->at = ARENA_ARRAY(a, Remat, norders + 2 * out->loops.nrungs);
  bool ok = true;
  for (int k = 0; k < norders && ok; k++) {
    Remat *w = &out->at[out->n++];
    *w = remat_new(r, e, g);
    ok = prepare(w, o ? o->at[k] : NULL);
  }
  out->norders = out->n;
  for (int k = 0; k < 2 * out->loops.nrungs && ok; k++) {
    Remat *w = &out->at[out->n++];
    *w = remat_new(r, e, g);
    w->loops[0] = (Climbed){*e, &out->loops, &out->loops.rung[k / 2]};
    w->further = k % 2;
    w->cost = w->loops[0].rung->cost;
  }
  return ok;
}

static void tries_free(Tries *x) {
  for (int k = 0; k < x->n; k++)
    if (x->at[k].a) arena_free(x->at[k].a);
}

/* Loops behind blocks are pairs themselves. What they can drop for next to nothing is dropped, if
   anything is. */
static bool climb_further(Remat *w, const Remat *given) {
  static const double nothing = 0.01; /* of the program's work */
  LoopLadder *l = ARENA_NEW(w->a, LoopLadder);
  *l = remat_ladder(w->a, w->e);
  w->loops[1] = (Climbed){*w->e, l, NULL};
  for (int k = 0; k < l->nrungs && l->rung[k].cost <= nothing * given->p.cost; k++)
    w->loops[1].rung = &l->rung[k];
  if (!w->loops[1].rung) return false;
  remat_climb(w->a, w->e, l, w->loops[1].rung);
  w->cost += w->loops[1].rung->cost;
  return true;
}

/* Try k with its problem; NULL: it has none. */
static Remat *try_at(Tries *x, int k) {
  Remat *w = &x->at[k];
  if (w->a) return w->p.nsteps ? w : NULL;
  take_order(&x->at[0]);
  w->a = arena_new();
  remat_climb(w->a, w->e, &x->loops, w->loops[0].rung);
  return (!w->further || climb_further(w, &x->at[0])) && prepare(w, NULL) ? w : NULL;
}

/* The search has left little of what this order allows. Another one may allow more; that is looked
   for only where the search itself found less than it could. */
static bool near_bound(const Remat *w, uint64_t arena, const RematPlan *plan) {
  const double near = 1.1;
  return plan->flops <= near * remat_bound(w->a, &w->p, in_units(w, arena));
}

/* Fits the entry with the least work: in one of the orders, or with loops that run again. Each
   order has half of the effort until one fits. */
static Remat *fit_best(Tries *x, uint64_t limit, int64_t effort, RematPlan *found,
                       uint64_t *arena) {
  Remat *best = NULL;
  Entry fitted;
  bool near = false;
  for (int k = 0; k < x->n; k++) {
    bool rung = k >= x->norders;
    if (best && (rung ? x->at[k].cost >= found->cost : near)) continue;
    Remat *w = try_at(x, k);
    RematPlan plan;
    uint64_t bytes;
    int64_t share = rung ? effort / 8 : k && best ? effort / 4 : effort / 2;
    if (!w || !fit(w, limit, share, best ? found->cost : INFINITY, &plan, &bytes)) continue;
    if (best && plan.cost >= found->cost) continue;
    best = w;
    fitted = *w->e;
    *found = plan;
    *arena = bytes;
    near = !rung && near_bound(w, bytes, &plan);
  }
  if (best)
    *best->e = fitted;
  else
    take_order(&x->at[0]);
  return best;
}

/* In the order, or on the rung, that takes the least bytes as far as the search can tell. */
static Remat *fit_least(Tries *x, RematPlan *found, uint64_t *arena) {
  Remat *best = NULL;
  uint64_t least = UINT64_MAX;
  int limit = 0;
  for (int k = 0; k < x->n; k++) {
    Remat *w = try_at(x, k);
    int units = w ? least_of(w) : 0;
    if (!w || (uint64_t)units * w->p.unit >= least) continue;
    best = w;
    limit = units;
    least = (uint64_t)units * w->p.unit;
  }
  take_order(best);
  *found = search(best, limit, effort_of(best) / 4, INFINITY);
  if (!found->fits) remat_reset(&best->s);
  rewrite(best);
  *arena = arena_of(best);
  return best;
}

static void tell_climbed(const Remat *w, const Climbed *c) {
  for (int i = 0; c->rung && i < c->ladder->npairs; i++) {
    const LoopPair *p = &c->ladder->pair[i];
    const LoopWay *way = c->rung->way[i];
    char buf[32];
    uint64_t bytes = 0;
    if (!way) continue;
    for (int k = 0; k < p->there->nresults; k++)
      bytes += way->dropped[k] ? value_type(&c->from, p->there->results[k])->bytes : 0;
    if (way->block == 1)
      remark(w->r, REMARK_REMAT, "remat", p->there->loc,
             "each iteration of scan runs again before its way back: %s bytes are not stacked",
             plan_commas(buf, bytes));
    else
      remark(w->r, REMARK_REMAT, "remat", p->there->loc,
             "%lld of %lld iterations of scan run again before their way back, %lld at a time: %s "
             "bytes are stacked in part",
             (long long)(way->blocks * way->block), (long long)p->there->attr[AT_TRIPS].i,
             (long long)way->block, plan_commas(buf, bytes));
    w->r->changes++;
  }
}

static void tell_loops(const Remat *w) {
  for (int k = 0; k < 2 && (w->r->opt->remarks & REMARK_REMAT); k++) tell_climbed(w, &w->loops[k]);
}

static bool limit_entry(PassRun *r, Entry *e, const GlobalsPlan *g, uint64_t limit) {
  Remat given = remat_new(r, e, g);
  if (arena_of(&given) <= limit) return true;
  Arena *a = arena_new();
  Tries x;
  RematPlan found;
  uint64_t arena;
  bool ok = tries_new(a, r, e, g, &x);
  Remat *w = ok ? fit_best(&x, limit, effort_of(&x.at[0]), &found, &arena) : NULL;
  if (ok && !w) {
    w = fit_least(&x, &found, &arena); /* which may fit after all */
    ok = arena <= limit || r->opt->trial;
    double flops = x.at[0].p.flops;
    if (!ok) refuse(w, limit, arena, flops > 0 ? found.flops / flops : 0);
  }
  if (ok) {
    for (int t = 0; t < w->p.nsteps; t++) r->changes += w->s.again[t].n;
    tell_loops(w);
    tell_reruns(w);
    tell_bound(w, limit, &found, x.at[0].p.flops);
  }
  tries_free(&x);
  arena_free(a);
  return ok;
}

/* ---------------------------------------------------------------- the curve ---- */

/* The bound is one of programs whose loops run as they are. */
static void curve_line(FILE *f, const Tries *x, const Remat *w, uint64_t arena, uint64_t all,
                       const RematPlan *plan, int limit) {
  char buf[32];
  const RematProblem *p = &x->at[0].p;
  double flops = p->flops > 0 ? 100 / p->flops : 0, cost = p->cost > 0 ? 100 / p->cost : 0;
  double bound = w->loops[0].rung ? 0 : remat_bound(w->a, &w->p, limit);
  fprintf(f, "%18s  %5.1f  %11.2f  %10.2f", plan_commas(buf, arena),
          100 * (double)arena / (double)all, flops * plan->flops, cost * plan->cost);
  if (!w->loops[0].rung && isfinite(bound))
    fprintf(f, "  %10.2f\n", flops * bound);
  else
    fprintf(f, "  %10s\n", w->loops[0].rung ? "-" : "none fits");
}

/* From what nothing runs again for down to the least that is found, in steps of a tenth; a plan
   that is far below its step is the next ones', too, and has one line. */
static bool print_curve(PassRun *r, Entry *e, const GlobalsPlan *g) {
  Remat given = remat_new(r, e, g), *w;
  FILE *f = r->opt->curve;
  Arena *a = arena_new();
  Tries x;
  uint64_t all = arena_of(&given), arena = all, last = all;
  bool ok = tries_new(a, r, e, g, &x);
  if (ok && all) {
    RematPlan found = {0};
    if (e == r->m->init)
      fputs("memory curve of the initial values\n", f);
    else
      fprintf(f, "memory curve of entry '%s'\n", e->name);
    fprintf(f, "%18s  %5s  %11s  %10s  %10s\n", "arena, bytes", "%", "flops, + %", "work, + %",
            "at least");
    curve_line(f, &x, &x.at[0], all, all, &found, INT32_MAX / 2);
    for (int tenth = 9; tenth > 0; tenth--) {
      int64_t effort = effort_of(&x.at[0]) / LEAST_SHARE * x.norders;
      w = fit_best(&x, all / 10 * (uint64_t)tenth, effort, &found, &arena);
      if (!w) break;
      if (arena < last) curve_line(f, &x, w, arena, all, &found, in_units(w, arena));
      last = arena;
    }
    Remat *least = fit_least(&x, &found, &arena);
    if (arena < last) {
      w = fit_best(&x, arena, effort_of(&x.at[0]), &found, &arena); /* the same for less work */
      if (!w) w = least;
      curve_line(f, &x, w, arena, all, &found, in_units(w, arena));
    }
  }
  if (x.n) take_order(&x.at[0]);
  tries_free(&x);
  arena_free(a);
  return ok;
}

/* ---------------------------------------------------------------- the pass ---- */

/* The bytes that the limit allows; UINT64_MAX where there is none. A share is one of what the
   largest entry takes without a limit; the initial values, computed once before, are held to bytes
   alone. */
static uint64_t limit_of(PassRun *r, const GlobalsPlan *g) {
  const MemoryLimit *l = &r->opt->limit;
  uint64_t most = 0;
  if (l->bytes) return l->bytes;
  if (l->share <= 0) return UINT64_MAX;
  if (r->m->whole_arena) return (uint64_t)((double)r->m->whole_arena * l->share);
  for (uint32_t k = 0; k < r->m->entries.n; k++) {
    Remat w = remat_new(r, r->m->entries.at[k], g);
    uint64_t arena = arena_of(&w);
    if (arena > most) most = arena;
  }
  return (uint64_t)((double)most * l->share);
}

bool pass_remat(PassRun *r) {
  if (!r->opt->limit.bytes && r->opt->limit.share <= 0 && !r->opt->curve) return true;
  GlobalsPlan g = plan_globals(r->m, r->opt->target->align);
  Entry *e;
  if (g.bytes == UINT64_MAX) return false;
  for (uint32_t k = 0; r->opt->curve && (e = pass_entry(r->m, k)); k++)
    if (!print_curve(r, e, &g)) return false;
  uint64_t limit = limit_of(r, &g);
  bool ok = true;
  for (uint32_t k = 0; limit < UINT64_MAX && (e = pass_entry(r->m, k)); k++)
    if (e != r->m->init || r->opt->limit.bytes) ok &= limit_entry(r, e, &g, limit);
  return ok;
}
