/* From a planned entry to launches: addresses from the plan, barriers from what launches touch.
   Contract: launches run in the plan's order on all threads; between two that touch the same bytes,
   one of them writing, there is a barrier unless each thread touches only its own part in both.
   A thread's parts are equal where the slices are the same and are divided into as many units, or
   into numbers of units that the threads divide evenly: then the barrier depends on their number.
 */
#include "codegen/launch.h"

Address address_of(const Entry *e, ValueId v) {
  const Place *p = &e->plan->place[v];
  return (Address){p->region, p->offset, p->bytes};
}

/* ---- barriers ---- */

typedef struct Touch { /* an argument of a launch that no barrier has followed yet */
  Address at;
  Access access;
  int64_t units;
} Touch;

typedef struct Touches {
  VEC(Touch) at;
} Touches;

static bool overlap(const Address *a, const Address *b) {
  return a->region == b->region && a->offset < b->offset + b->bytes &&
         b->offset < a->offset + a->bytes;
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

/* Barrier between two touches: as in GcStep. */
static int64_t conflict(const Touch *a, const Touch *b) {
  if (!overlap(&a->at, &b->at)) return 0;
  if (!a->access.write && !b->access.write) return 0;
  const Access *x = &a->access, *y = &b->access;
  bool same = x->rows > 0 && x->rows == y->rows && x->width == y->width &&
              (x->rows == 1 || x->stride == y->stride) &&
              a->at.offset + x->offset == b->at.offset + y->offset && a->units > 1 && b->units > 1;
  if (!same) return 1;
  return a->units == b->units ? 0 : gcd(a->units, b->units);
}

static int64_t join(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return a ? a : b;
  return gcd(a, b);
}

/* Touches of one unit are all on thread 0 and cannot be in each other's way: they are kept apart,
   so that a long run of small launches costs what its length says. */
static void barriers(Gen *g, Launches *l) {
  enum { ONE, MANY, KINDS };
  Touches open[KINDS] = {0};
  for (uint32_t i = 0; i < l->at.n; i++) {
    Launch *s = &l->at.at[i];
    int kind = s->kernel->units == 1 ? ONE : MANY;
    int64_t need = 0;
    for (int k = 0; k < s->kernel->nargs; k++) {
      Touch now = {s->args[k], s->kernel->args[k].access, s->kernel->units};
      for (int other = kind == ONE ? MANY : ONE; other < KINDS; other++)
        for (uint32_t j = 0; j < open[other].at.n && need != 1; j++)
          need = join(need, conflict(&open[other].at.at[j], &now));
    }
    s->barrier = (int)(need > INT32_MAX ? 1 : need);
    if (s->barrier == 1)
      open[ONE].at.n = open[MANY].at.n = 0; /* one that some team skips ends nothing */
    for (int k = 0; k < s->kernel->nargs; k++)
      vec_push(g->a, &open[kind].at,
               (Touch){s->args[k], s->kernel->args[k].access, s->kernel->units});
  }
}

/* ---- dead bytes ---- */

/* Takes the bytes of p out of every range. */
static void subtract(Gen *g, Launch *l, const Place *p) {
  uint64_t lo = p->offset, hi = p->offset + p->bytes;
  for (uint32_t i = 0; i < l->dead.n; i++) {
    DeadRange *r = &l->dead.at[i];
    uint64_t end = r->offset + r->bytes;
    if (hi <= r->offset || end <= lo) continue;
    DeadRange left = {r->offset, lo > r->offset ? lo - r->offset : 0};
    DeadRange right = {hi, end > hi ? end - hi : 0};
    *r = left;
    if (right.bytes) vec_push(g->a, &l->dead, right);
  }
}

static bool in_arena(const Place *p) { return p->region == PLAN_ARENA && p->bytes > 0; }

/* Values of the arena: those that a step makes, in lists by step, and those alive at hand. */
typedef struct Living {
  ValueId *made, *next; /* by step: the first of its list; by value: the next one */
  VEC(ValueId) at;
} Living;

static Living living_of(Gen *g, const Entry *e) {
  const Plan *plan = e->plan;
  Living live = {0};
  live.made = ARENA_ARRAY(g->a, ValueId, plan->nsteps + 1);
  live.next = ARENA_ARRAY(g->a, ValueId, e->values.n + 1);
  for (int i = 0; i < plan->nsteps; i++) live.made[i] = NO_ID;
  for (ValueId v = e->values.n; v-- > 0;) {
    const Place *p = &plan->place[v];
    if (!in_arena(p) || p->first >= plan->nsteps) continue;
    ValueId *list = &live.made[p->first > 0 ? p->first : 0];
    live.next[v] = *list;
    *list = v;
  }
  return live;
}

/* Brings in what the step makes; what it reads last goes and leaves its bytes to the launch. */
static void live_through(Gen *g, const Entry *e, int step, Living *live, Launch *l) {
  for (ValueId v = live->made[step]; v != NO_ID; v = live->next[v]) vec_push(g->a, &live->at, v);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < live->at.n; i++) {
    const Place *p = &e->plan->place[live->at.at[i]];
    if (p->last > step)
      live->at.at[kept++] = live->at.at[i];
    else if (l)
      vec_push(g->a, &l->dead, (DeadRange){p->offset, p->bytes});
  }
  live->at.n = kept;
}

/* What died at this step and holds no value that lives on. */
static void dead_after(Gen *g, const Entry *e, const Op *op, const Living *live, Launch *l) {
  const Plan *plan = e->plan;
  if (plan->scratch && plan->scratch[op->id].bytes)
    vec_push(g->a, &l->dead,
             (DeadRange){plan->scratch[op->id].offset, plan->scratch[op->id].bytes});
  const ValueId *outputs;
  const char *const *names;
  int n = entry_outputs(e, &outputs, &names);
  for (int i = 0; i < n; i++)
    if (in_arena(&plan->place[outputs[i]])) subtract(g, l, &plan->place[outputs[i]]);
  for (uint32_t i = 0; i < live->at.n && l->dead.n; i++)
    subtract(g, l, &plan->place[live->at.at[i]]);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < l->dead.n; i++)
    if (l->dead.at[i].bytes) l->dead.at[kept++] = l->dead.at[i];
  l->dead.n = kept;
}

/* ---- the whole ---- */

static Address arg_address(Gen *g, const Entry *e, const Op *op, const KernelArg *a,
                           const GlobalsPlan *gp) {
  if (a->kind == ARG_VALUE) return address_of(e, a->value);
  if (a->kind == ARG_SCRATCH) {
    const Place *p = &e->plan->scratch[op->id];
    return (Address){p->region, p->offset, p->bytes};
  }
  const Global *global = &g->m->globals.at[a->global];
  uint64_t bytes = 0;
  (void)layout_bytes(global->type, global->layout, &bytes);
  return (Address){PLAN_GLOBALS, gp->offset[a->global], bytes};
}

static bool empty(const Entry *e, const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (value_type(e, op->results[i])->numel) return false;
  if (op->kind == OP_STORE) return value_type(e, op->operands[0])->numel == 0;
  return true;
}

void launches_of(Gen *g, const Entry *e, const GlobalsPlan *gp, PrintGroup *print, Launches *out) {
  const Plan *plan = e->plan;
  Living live = living_of(g, e);
  for (int i = 0; i < plan->nsteps; i++) {
    const Op *op = plan->steps[i];
    Group *gr = group_of(g->a, e, op);
    g->out.n = 0;
    if (gr->form != FORM_NONE && !plan_is_alias(e, op) && !empty(e, op)) print(g, gr);
    for (uint32_t k = 0; k < g->out.n; k++) {
      Kernel *kernel = g->out.at[k];
      Launch l = {.op = op, .kernel = kernel, .flops = k ? 0 : op_flops(e, op)};
      l.args = ARENA_ARRAY(g->a, Address, kernel->nargs + 1);
      for (int a = 0; a < kernel->nargs; a++) {
        l.args[a] = arg_address(g, e, op, &kernel->args[a], gp);
        if (kernel->args[a].kind != ARG_SCRATCH) l.bytes += l.args[a].bytes;
      }
      vec_push(g->a, &out->at, l);
    }
    Launch *last = out->at.n ? &out->at.at[out->at.n - 1] : NULL;
    live_through(g, e, i, &live, last);
    if (last) dead_after(g, e, op, &live, last);
  }
  barriers(g, out);
}
