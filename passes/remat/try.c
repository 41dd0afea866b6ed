/* One try to fit an entry into a byte limit: in one order, or with its loops in one schedule.
   Contract: recomputed ops stand right in front of the step that needs them, as new values. The
   packed arena meets the limit, not only the sum of live bytes: if packing misses the limit, the
   schedule becomes tighter. */
#include "passes/remat/tries.h"

/* Roughly nanoseconds for the searches of all orders; effort=N allows N per cent of it. If packing
   misses the limit, a search continues with a tighter one, up to TRIES times. */
static const int64_t max_effort = 3000 * INT64_C(1000000), effort_a_step = 2 * INT64_C(1000000);

enum {
  TRIES = 16,         /* where packing misses the limit */
  MIN_TIGHTER = 3200, /* the next one is, of the limit; twice as much each time */
  PART_OF_MISS = 6,   /* or so much of what packing missed the limit by */
  BY_CHANCE = 2,      /* times that packing may miss the limit by chance */
  NEARLY = 400,       /* of the limit: what packing misses by, and need not */
  BRIEF = 50          /* a brief trial's part of the effort */
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

void remat_rewrite(Remat *w) {
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

int64_t remat_whole_effort(const Remat *w) {
  int64_t e = w->p.nsteps * effort_a_step;
  return e < max_effort ? e : max_effort;
}

int64_t remat_effort(const Remat *w, int max) {
  int64_t percent = pass_arg_int(w->r, "effort", 100);
  if (percent > max) percent = max;
  if (w->r->opt->brief) percent /= BRIEF;
  return remat_whole_effort(w) / 100 * (percent < 1 ? 1 : percent);
}

/* ---------------------------------------------------------------- one order ---- */

void remat_as_given(Remat *w) {
  *w->e = w->old;
  if (w->order) memcpy(w->e->body->ops.at, w->order, w->e->body->ops.n * sizeof(OpId));
}

bool remat_prepare(Remat *w, OpId *order) {
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

RematPlan remat_added(const Remat *w, RematPlan x) {
  x.flops += (double)notes_of(&w->old)->rerun_flops;
  x.cost += w->cost;
  return x;
}

static RematPlan search(Remat *w, int limit, int64_t effort, double incumbent, double near) {
  return remat_added(w, remat_search(&w->s, limit, effort, incumbent - w->cost, near));
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

bool remat_fit(Remat *w, uint64_t limit, int64_t effort, double incumbent, double near,
               uint64_t *missed, RematPlan *found, uint64_t *arena) {
  int first = *missed < limit / NEARLY ? 0 : BY_CHANCE;
  uint64_t by = first ? tighter(limit, *missed, first) : 0, target = limit;
  remat_as_given(w);
  for (int k = first; k < TRIES && by < target; k++) {
    target -= by;
    int units = remat_units(w, target);
    if (k > first) *found = remat_added(w, remat_tighten(&w->s, units, effort / 4));
    if (k == first || !found->fits) *found = search(w, units, effort, incumbent, near);
    if (!found->fits || found->cost > incumbent - REMAT_LITTLE * w->p.cost) return false;
    remat_rewrite(w);
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
