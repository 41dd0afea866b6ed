/* From a planned entry to launches: addresses from the plan, barriers from what launches touch.
   Contract: launches run in the plan's order on all threads; between two that touch the same bytes,
   one of them writing, there is a barrier unless each thread touches only its own part in both.
   A thread's parts are equal where the slices are the same and are divided into as many units, or
   into numbers of units that the threads divide evenly: then the barrier depends on their number. */
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
  if (a->units == 1 && b->units == 1) return 0; /* both on thread 0 */
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

static void barriers(Gen *g, Launches *l) {
  Touches open = {0};
  for (uint32_t i = 0; i < l->at.n; i++) {
    Launch *s = &l->at.at[i];
    int64_t need = 0;
    for (int k = 0; k < s->kernel->nargs; k++) {
      Touch now = {s->args[k], s->kernel->args[k].access, s->kernel->units};
      for (uint32_t j = 0; j < open.at.n && need != 1; j++)
        need = join(need, conflict(&open.at.at[j], &now));
    }
    s->barrier = (int)(need > INT32_MAX ? 1 : need);
    if (s->barrier == 1) open.at.n = 0; /* one that some team skips ends nothing */
    for (int k = 0; k < s->kernel->nargs; k++)
      vec_push(g->a, &open.at, (Touch){s->args[k], s->kernel->args[k].access, s->kernel->units});
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

/* What died at this step and holds no value that lives on. */
static void dead_after(Gen *g, const Entry *e, int step, const Op *op, Launch *l) {
  const Plan *plan = e->plan;
  for (ValueId v = 0; v < e->values.n; v++)
    if (in_arena(&plan->place[v]) && plan->place[v].last == step)
      vec_push(g->a, &l->dead, (DeadRange){plan->place[v].offset, plan->place[v].bytes});
  if (plan->scratch && plan->scratch[op->id].bytes)
    vec_push(g->a, &l->dead,
             (DeadRange){plan->scratch[op->id].offset, plan->scratch[op->id].bytes});
  const ValueId *outputs;
  const char *const *names;
  int n = entry_outputs(e, &outputs, &names);
  for (int i = 0; i < n; i++)
    if (in_arena(&plan->place[outputs[i]])) subtract(g, l, &plan->place[outputs[i]]);
  for (ValueId v = 0; v < e->values.n && l->dead.n; v++) {
    const Place *p = &plan->place[v];
    if (in_arena(p) && p->first <= step && p->last > step) subtract(g, l, p);
  }
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
    if (out->at.n) dead_after(g, e, i, op, &out->at.at[out->at.n - 1]);
  }
  barriers(g, out);
}
