/* Recomputation under a byte limit: the packed arena of every entry fits into the limit, with
   little added work, or an error names the least bytes that were found and their cause.
   Contract: needs an order; keeps it or takes another one that the pass order tried. Recomputed ops
   stand right in front of the step that needs them, as new values. Loops may be recomputed in parts
   (loops.c). Does nothing without a limit. Packing decides whether the limit is met: if it misses
   the limit, a tighter schedule follows (tries.c). The search is search.c. */
#include "passes/remat/tries.h"

/* ---------------------------------------------------------------- reports ---- */

static void report_recomputed(Remat *w) {
  if (!(w->r->opt->remarks & REMARK_REMAT)) return;
  for (int t = 0; t < w->p.nsteps; t++)
    for (uint32_t k = 0; k < w->s.again[t].n; k++) {
      const StepNode *o = &w->p.step[w->s.again[t].at[k]];
      uint64_t bytes = 0;
      char buf[32];
      for (int j = 0; j < o->nout; j++) bytes += (uint64_t)w->p.storage[o->out[j]].size * w->p.unit;
      const char *name = o->nout ? value_str(&w->old, w->p.storage[o->out[0]].value) : "?";
      remark(w->r, REMARK_REMAT, "remat", o->op->loc,
             "%s is recomputed before %s: %s (%s) is not held", plan_op_name(o->op),
             plan_op_name(w->p.step[t].op), name, plan_commas(buf, bytes));
    }
}

/* The storage is the place of a carry of the loop that runs at the step. */
static bool is_carry(const Remat *w, int v, int step) {
  const Op *op = w->p.step[step].op;
  for (int k = 0; op->kind == OP_SCAN && k < scan_carries(op); k++)
    if (op->results[k] == w->p.storage[v].value) return true;
  return false;
}

/* A result of the step may take the bytes, which no other op reads any more: it stands for both. */
static bool is_handed_on(const Remat *w, int v, int step) {
  const StepNode *s = &w->p.step[step];
  const RematUses *t = &w->s.use[v];
  for (int k = 0; k < s->npairs; k++)
    if (s->in[s->pair[k].in] == v) return t->at[t->n - 1].step == step;
  return false;
}

/* How far the plan is from what a schedule in its order could reach; of loops that are recomputed
   in parts nothing is known. `flops`: of the program as it came. */
static void report_bound(Remat *w, uint64_t limit, const RematPlan *found, double flops) {
  if (!(w->r->opt->remarks & REMARK_REMAT) || flops <= 0) return;
  const char *bound = "";
  if (!w->loops[0].point)
    bound = intern_printf(w->r->m->ctx, "; in this order no plan takes less than %.2f %%",
                          100 * remat_bound_joint(w->a, &w->p, remat_units(w, limit)) / flops);
  remark(w->r, REMARK_REMAT, "remat", w->e->loc, "entry '%s' takes %.2f %% more arithmetic%s",
         w->e->name, 100 * found->flops / flops, bound);
}

/* Why a storage is there at a step; NULL: it is not. */
static const char *why_held(const Remat *w, int v, int step) {
  if (remat_use_at(&w->s, v, step) >= 0)
    return is_carry(w, v, step) ? "the loop carries it, or adds it up, through all iterations"
                                : "it is read or made there";
  int i = remat_use_after(&w->s, v, step);
  const RematUses *t = &w->s.use[v];
  if (i == 0 || i == (int)t->n || !t->at[i].held) return NULL;
  if (t->at[i].step == w->p.nsteps) return "it is returned";
  if (!remat_may_rerun(&w->p, w->p.storage[v].maker, t->at[i].step))
    return "it cannot be recomputed: a later step overwrites one of its operands";
  return "it is read later, and its recomputation needs as many bytes";
}

/* Of the steps that hold nearly the most, the one with the most bytes of its own. */
static int widest_step(const Remat *w) {
  int at, peak = remat_peak(&w->s, &at);
  for (int t = 0; t < w->p.nsteps; t++)
    if (remat_live(&w->s, t) > peak - peak / 32 && w->s.within[t] > w->s.within[at]) at = t;
  return at;
}

/* Says what the least is that was found. */
static void report_refusal(const Remat *w, uint64_t limit, uint64_t bytes, double share) {
  Ctx *c = w->r->m->ctx;
  char b1[32], b2[32];
  diag(c, SEV_ERROR, w->e->loc,
       "%s not fit into %s bytes: the minimum found is %s bytes, with %.1f %% more "
       "arithmetic",
       w->e == w->r->m->init ? "the initial values do"
                             : intern_printf(c, "entry '%s' does", w->e->name),
       plan_commas(b1, limit), plan_commas(b2, bytes), 100 * share);
  if (w->r->opt->limit.bare && ctx_errors(c) == 1)
    diag(c, SEV_NOTE, (Loc){0},
         "a size without a letter is in bytes; K, M and G are KiB, MiB and GiB");
}

/* The largest of what is there at a step, and how much more there is. */
static void report_held(const Remat *w, int at, int64_t live) {
  enum { NAMED = 4, LEAST_SHARE = 20 }; /* so few that the reason stays in sight */
  Ctx *c = w->r->m->ctx;
  char b1[32];
  int *held = ARENA_ARRAY(w->a, int, w->p.nstorages + 1), n = 0;
  uint64_t rest = 0;
  for (int v = 0; v < w->p.nstorages; v++) {
    const int64_t size = w->p.storage[v].size;
    if (size * LEAST_SHARE < live || is_handed_on(w, v, at) || !why_held(w, v, at)) continue;
    int to = n++;
    for (; to > 0 && w->p.storage[held[to - 1]].size < size; to--) held[to] = held[to - 1];
    held[to] = v;
  }
  for (int i = 0; i < n; i++) {
    const StepStorage *x = &w->p.storage[held[i]];
    const uint64_t bytes = (uint64_t)x->size * w->p.unit;
    if (i >= NAMED)
      rest += bytes;
    else
      diag(c, SEV_NOTE, w->p.step[x->maker].op->loc, "%s of %s holds %s bytes: %s",
           value_str(&w->old, x->value), plan_op_name(w->p.step[x->maker].op),
           plan_commas(b1, bytes), why_held(w, held[i], at));
  }
  if (n > NAMED)
    diag(c, SEV_NOTE, (Loc){0}, "%d more hold%s %s bytes", n - NAMED, n == NAMED + 1 ? "s" : "",
         plan_commas(b1, rest));
}

/* What holds the entry at the least, which the state is at. */
static void report_holders(Remat *w) {
  Ctx *c = w->r->m->ctx;
  char b1[32];
  int at = widest_step(w), live = remat_live(&w->s, at);
  const StepNode *step = &w->p.step[at];
  diag(c, SEV_NOTE, step->op->loc, "%s holds it there: %s bytes are in use at this step",
       plan_op_name(step->op), plan_commas(b1, (uint64_t)live * w->p.unit));
  if (step->op->kind == OP_SCAN && (int64_t)step->extra * 20 >= live)
    diag(c, SEV_NOTE, step->op->loc, "its iterations have %s bytes in use besides",
         plan_commas(b1, (uint64_t)step->extra * w->p.unit));
  report_held(w, at, live);
  if (!(w->r->opt->remarks & REMARK_REMAT))
    diag(c, SEV_HINT, (Loc){0},
         "--remarks=remat says what is done in parts, what stays whole, and why");
}

static void report_loop_schedule(const Remat *w, const AppliedLoops *c) {
  for (int i = 0; c->point && i < c->frontier->npairs; i++) {
    const LoopPair *p = &c->frontier->pair[i];
    const LoopSchedule *schedule = c->point->schedule[i];
    char buf[32];
    uint64_t bytes = 0;
    if (!schedule) continue;
    for (int k = 0; k < p->forward->nresults; k++)
      bytes += schedule->dropped[k] ? value_type(&c->from, p->forward->results[k])->bytes : 0;
    if (schedule->block == 1)
      remark(
          w->r, REMARK_REMAT, "remat", p->forward->loc,
          "each iteration of scan is recomputed before its backward pass: %s bytes are not stacked",
          plan_commas(buf, bytes));
    else
      remark(w->r, REMARK_REMAT, "remat", p->forward->loc,
             "%lld of %lld iterations of scan are recomputed before their backward pass, %lld at a "
             "time: %s bytes are stacked in part",
             (long long)(schedule->blocks * schedule->block), (long long)scan_trips(p->forward),
             (long long)schedule->block, plan_commas(buf, bytes));
    w->r->changes++;
  }
}

static void report_loops(const Remat *w) {
  for (int k = 0; k < 2 && (w->r->opt->remarks & REMARK_REMAT); k++)
    report_loop_schedule(w, &w->loops[k]);
}

/* ---------------------------------------------------------------- the pass ---- */

/* Fits the entry, or brings it as near to the limit as a trial needs to know: what is known already
   about the same entry is done again. */
static Remat *fit_once(PassRun *r, Tries *x, RematKnown *known, bool wish, RematPlan *found,
                       uint64_t *arena) {
  if (known->chosen >= 0) {
    *found = known->found;
    *arena = known->arena;
    return tries_again(x, known->chosen, &known->again);
  }
  Remat *w = tries_fit(x, known->limit, 0, remat_effort(&x->at[0], 100), found, arena);
  if (!w && (wish || r->opt->trial || r->opt->probe)) w = tries_min(x, false, found, arena);
  if (w) remat_keep(r, known, x, w, found, *arena);
  return w;
}

/* Goes on if effort=N is above 100, and keeps the better plan of both. A trial does not, so that
   rewrites are chosen as with 100. What w has found is known. */
static Remat *fit_better(Tries *x, Remat *w, const RematKnown *known, RematPlan *found,
                         uint64_t *arena) {
  enum { MAX = 10000 };
  int64_t spent = remat_effort(&x->at[0], 100), effort = remat_effort(&x->at[0], MAX);
  RematPlan plan;
  uint64_t bytes;
  if (x->at[0].r->opt->trial || effort <= spent) return w;
  Remat *more = tries_fit(x, known->limit, spent, effort, &plan, &bytes);
  if (more && (!w || *arena > known->limit || plan.cost < found->cost)) {
    *found = plan;
    *arena = bytes;
    return more;
  }
  return w ? tries_again(x, known->chosen, &known->again) : NULL;
}

/* Rewrites that passes make for a limit depend on it: under another one they may take less than the
   minimum found here. Limits below it are asked for, the first by one unit less, until one
   is refused, as `asked` was; `found` is what entry k takes under the least that is met. */
static uint64_t min_of_all(PassRun *r, uint32_t k, uint64_t asked, uint64_t min, Trial *found) {
  uint64_t unit = (uint64_t)r->opt->target->align, step = unit;
  while (min > asked + unit) {
    uint64_t limit = min > asked + step ? min - step : asked + unit;
    Trial x, again;
    if (!passes_again(r, limit, k, &x)) return min;
    if (x.arena > limit && step == unit) return min;
    if (x.arena > limit) {
      step = unit;
      continue;
    }
    min = limit; /* and less, if that is met when it is asked for, too */
    if (x.arena > asked && x.arena < limit && passes_again(r, x.arena, k, &again) &&
        again.arena <= x.arena)
      min = x.arena;
    *found = x;
    step *= 2;
  }
  return min;
}

/* What holds the program there is known of the one at hand. */
static void refuse(Remat *w, uint32_t k, uint64_t limit, uint64_t arena, double share) {
  Trial other = {0};
  char buf[32];
  bool is_init = w->e == w->r->m->init;
  arena += notes_of(w->e)->prepared;
  uint64_t min = is_init ? arena : min_of_all(w->r, k, limit, arena, &other);
  if (min < arena) share = other.flops ? (double)other.again / (double)other.flops : 0;
  report_refusal(w, limit, min, share);
  if (notes_of(w->e)->prepared)
    diag(w->r->m->ctx, SEV_NOTE, w->e->loc,
         "the preparation of the next batch, by --ahead=yes, takes %s of these bytes",
         plan_commas(buf, notes_of(w->e)->prepared));
  if (min == arena) report_holders(w);
}

/* Bytes of what is prepared for two batches. */
static uint64_t prepared_of(PassRun *r, const Entry *e, const GlobalsPlan *g) {
  if (!e->ahead) return 0;
  Remat first = remat_new(r, e->ahead, g);
  return prepared_bytes(remat_arena(&first, 0));
}

/* What is left of a limit without them: they take it all at most. */
static uint64_t less_prepared(PassRun *r, Entry *e, const GlobalsPlan *g, uint64_t limit) {
  if (!e->ahead) return limit;
  const uint64_t bytes = prepared_of(r, e, g), least = (uint64_t)r->opt->target->align;
  notes_change(e)->prepared = bytes;
  return limit >= bytes + least ? limit - bytes : least;
}

/* `wish`: an entry that does not fit is no error, and later passes are held to nothing. */
static bool limit_entry(PassRun *r, uint32_t k, const GlobalsPlan *g, uint64_t limit, bool wish) {
  Entry *e = pass_entry(r->m, k);
  const uint64_t asked = limit;
  limit = less_prepared(r, e, g, limit);
  Remat given = remat_new(r, e, g);
  if (!wish) notes_change(e)->memory_limit = limit;
  remarks_of(r, e);
  if (remat_arena(&given, limit) <= limit) return true;
  Arena *a = arena_new();
  Tries x;
  RematPlan found;
  uint64_t arena;
  RematKnown *known = remat_known(r, e, limit);
  bool ok = tries_new(a, r, e, g, &x);
  Remat *w = ok ? fit_once(r, &x, known, wish, &found, &arena) : NULL;
  if (ok) w = fit_better(&x, w, known, &found, &arena);
  if (ok && !wish && !r->opt->trial && !r->opt->probe && (!w || arena > limit)) {
    w = tries_min(&x, true, &found, &arena); /* which may fit after all */
    ok = w && arena <= limit;
    double flops = x.at[0].p.flops;
    if (w && !ok) refuse(w, k, asked, arena, flops > 0 ? found.flops / flops : 0);
  }
  if (ok && w) {
    for (int t = 0; t < w->p.nsteps; t++) r->changes += w->s.again[t].n;
    report_loops(w);
    report_recomputed(w);
    report_bound(w, limit, &found, x.at[0].p.flops);
  }
  notes_change(e)->memory_limit = ok && w && !wish && arena <= limit ? limit : 0;
  tries_free(&x);
  arena_free(a);
  return ok;
}

/* The bytes that the limit allows; UINT64_MAX where there is none. A share is one of what the
   largest entry takes without a limit; the initial values, computed once before, are held to bytes
   alone. */
static uint64_t limit_of(PassRun *r, const GlobalsPlan *g) {
  const MemoryLimit *l = &r->opt->limit;
  uint64_t max = 0;
  if (l->bytes) return l->bytes;
  if (l->share <= 0) return UINT64_MAX;
  uint64_t whole = module_notes(r->m)->whole_arena;
  if (whole) return (uint64_t)((double)whole * l->share);
  for (uint32_t k = 0; k < r->m->entries.n; k++) {
    Remat w = remat_new(r, r->m->entries.at[k], g);
    uint64_t arena = remat_arena(&w, 0), all = UINT64_MAX;
    arena += all - less_prepared(r, r->m->entries.at[k], g, all);
    if (arena > max) max = arena;
  }
  return (uint64_t)((double)max * l->share);
}

/* What is prepared counts with the entry that it is for. */
static bool is_prepared(const Module *m, const Entry *e) {
  for (uint32_t k = 0; k < m->entries.n; k++)
    if (m->entries.at[k]->ahead == e) return true;
  return false;
}

bool pass_remat(PassRun *r) {
  for (uint32_t k = 0; pass_entry(r->m, k); k++)
    notes_change(pass_entry(r->m, k))->memory_limit = 0;
  const bool limited = r->opt->limit.bytes || r->opt->limit.share > 0;
  bool wished = false;
  Entry *e;
  for (uint32_t k = 0; !limited && (e = pass_entry(r->m, k)); k++) wished |= notes_of(e)->goal > 0;
  if (!limited && !wished && !r->opt->curve) return true;
  GlobalsPlan g = plan_globals(r->m, r->opt->target->align);
  if (g.bytes == UINT64_MAX) return false;
  for (uint32_t k = 0; r->opt->curve && (e = pass_entry(r->m, k)); k++)
    if (!is_prepared(r->m, e) && !remat_curve(r, k, &g, prepared_of(r, e, &g))) return false;
  uint64_t limit = limit_of(r, &g);
  bool ok = true;
  for (uint32_t k = 0; limit < UINT64_MAX && (e = pass_entry(r->m, k)); k++)
    if ((e != r->m->init || r->opt->limit.bytes) && !is_prepared(r->m, e))
      ok &= limit_entry(r, k, &g, limit, false);
  for (uint32_t k = 0; wished && (e = pass_entry(r->m, k)); k++)
    if (notes_of(e)->goal) ok &= limit_entry(r, k, &g, notes_of(e)->goal, true);
  return ok;
}
