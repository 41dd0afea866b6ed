/* From a planned entry to launches: addresses from the plan; launch_order.c has what they wait for.
   Contract: launches run in the plan's order on all threads, or those of each stream on threads of
   its own. Where a launch only begins a collective, one of its own ends it in front of the first
   that comes after it. */
#include "codegen/program/launch.h"
#include "ir/update.h"

static Address address_in(const Place *p, const Block *b) {
  return (Address){p->region, p->offset, p->bytes, p->stride, plan_reach(p, b)};
}

Address address_of(const Entry *e, ValueId v) {
  const Place *p = &plan_of(e)->place[v];
  return address_in(p, value_block(e, v));
}

/* ---- dead bytes ---- */

/* Takes the bytes of p out of every range. */
static void subtract(Gen *g, DeadRanges *dead, const Place *p) {
  uint64_t lo = p->offset, hi = p->offset + p->bytes;
  for (uint32_t i = 0; i < dead->n; i++) {
    DeadRange *r = &dead->at[i];
    uint64_t end = r->offset + r->bytes;
    if (hi <= r->offset || end <= lo) continue;
    DeadRange left = {r->offset, lo > r->offset ? lo - r->offset : 0};
    DeadRange right = {hi, end > hi ? end - hi : 0};
    *r = left;
    if (right.bytes) vec_push(g->a, dead, right);
  }
}

static bool in_arena(const Place *p) { return p->region == PLAN_ARENA && p->bytes > 0; }

/* Values of the arena: those that a step makes, in lists by step, and those alive at hand. */
typedef struct LiveSet {
  ValueId *made, *next; /* by step: the first of its list; by value: the next one */
  VEC(ValueId) at;
} LiveSet;

static LiveSet live_set_of(Gen *g, const Entry *e) {
  const Plan *plan = plan_of(e);
  LiveSet live = {0};
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

/* Adds the values that the step makes and removes those that it reads last, whose bytes are dead.
 */
static void update_live_set(Gen *g, const Entry *e, int step, LiveSet *live, DeadRanges *dead) {
  for (ValueId v = live->made[step]; v != NO_ID; v = live->next[v]) vec_push(g->a, &live->at, v);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < live->at.n; i++) {
    const Place *p = &plan_of(e)->place[live->at.at[i]];
    if (p->last > step)
      live->at.at[kept++] = live->at.at[i];
    else if (dead)
      vec_push(g->a, dead, (DeadRange){p->offset, p->bytes});
  }
  live->at.n = kept;
}

/* What died at this step and holds no value that lives on. */
static void dead_after(Gen *g, const Entry *e, const Op *op, const LiveSet *live,
                       DeadRanges *dead) {
  const Plan *plan = plan_of(e);
  if (plan->scratch && plan->scratch[op->id].bytes)
    vec_push(g->a, dead, (DeadRange){plan->scratch[op->id].offset, plan->scratch[op->id].bytes});
  const ValueId *outputs;
  const char *const *names;
  int n = entry_outputs(e, &outputs, &names);
  for (int i = 0; i < n; i++)
    if (in_arena(&plan->place[outputs[i]])) subtract(g, dead, &plan->place[outputs[i]]);
  for (uint32_t i = 0; i < live->at.n && dead->n; i++)
    subtract(g, dead, &plan->place[live->at.at[i]]);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < dead->n; i++)
    if (dead->at[i].bytes) dead->at[kept++] = dead->at[i];
  dead->n = kept;
}

/* ---- the whole ---- */

static Address arg_address(Gen *g, const Entry *e, const Op *op, const KernelArg *a,
                           const GlobalsPlan *gp) {
  if (a->kind == ARG_VALUE) return address_of(e, a->value);
  if (a->kind == ARG_SCRATCH) {
    return address_in(&plan_of(e)->scratch[op->id], e->body);
  }
  if (a->kind == ARG_PART) {
    uint64_t at = sizeof(int32_t) * (uint64_t)extent_number(a->part);
    return (Address){PLAN_COUNTS, at, sizeof(int32_t), NULL, at + sizeof(int32_t)};
  }
  const Global *global = &g->m->globals.at[a->global];
  uint64_t bytes = 0;
  (void)layout_bytes(global->type, global->layout, &bytes);
  return (Address){PLAN_GLOBALS, gp->offset[a->global], bytes, NULL, gp->offset[a->global] + bytes};
}

static bool empty(const Entry *e, const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (value_type(e, op->results[i])->numel) return false;
  if (op->kind == OP_STORE) return value_type(e, op->operands[0])->numel == 0;
  return true;
}

typedef struct LaunchBuilder {
  Gen *g;
  const Entry *e;
  const GlobalsPlan *gp;
  Launches *out;
  int step; /* at hand */
  LiveSet live;
  VEC(uint32_t) around; /* the loops that are open, by index */
  VEC(int) begun;       /* the steps of collectives … */
  uint32_t ended;       /* … of which so many, the first ones, have a launch that ends them */
} LaunchBuilder;

/* The target's threads run the stream of collectives beside another one: their launches begin
   collectives, and others end them. */
static bool awaits(const LaunchBuilder *m) { return m->g->print->await != NULL; }

/* How often a run of the entry comes to the op: the iterations of all loops around it. */
static uint64_t times_run(const Op *op) {
  uint64_t n = 1;
  for (const Op *scan = op->parent->op; scan; scan = scan->parent->op)
    n *= (uint64_t)scan_trips(scan);
  return n;
}

/* What a launch moves of a value: of a table whose rows are gathered, no more than those. */
static uint64_t bytes_picked(const Entry *e, const Op *op, ValueId v, uint64_t bytes) {
  if (op->kind != OP_GATHER || v != op->operands[0]) return bytes;
  const uint64_t rows = (uint64_t)value_type(e, op->results[0])->numel *
                        (uint64_t)dtype_size(value_type(e, v)->dtype);
  return rows < bytes ? rows : bytes;
}

static Launch *add_launch(LaunchBuilder *m, const Op *op, Kernel *kernel, uint64_t flops) {
  const Plan *p = plan_of(m->e);
  uint64_t runs = times_run(op);
  Launch l = {.op = op, .kernel = kernel, .flops = runs * flops, .step = m->step};
  l.stream = !p->stream || (awaits(m) && p->stream[m->step] == p->comm) ? 0 : p->stream[m->step];
  l.args = ARENA_ARRAY(m->g->a, Address, kernel->nargs + 1);
  const bool scatters = op->kind == OP_GATHER_GRAD; /* rows; else a slice is replaced */
  const int kept = scatters ? 2 : op_updated(m->e, op);
  const bool part = kept >= 0 && plan_moves(m->e, op) == MOVES_PART;
  for (int a = 0; a < kernel->nargs; a++) {
    l.args[a] = arg_address(m->g, m->e, op, &kernel->args[a], m->gp);
    const Access *access = &kernel->args[a].access;
    bool own = kernel->args[a].kind == ARG_SCRATCH || kernel->args[a].kind == ARG_PART;
    if (own || !(access->read || access->write)) continue;
    ValueId v = kernel->args[a].kind == ARG_VALUE ? kernel->args[a].value : NO_ID;
    if (part && v == op->operands[kept]) continue; /* stays where it is */
    if (part && v == op->results[0])
      l.bytes +=
          runs *
          value_type(m->e, scatters ? op->operands[0] : op_update(m->e, op)->operands[1])->bytes;
    else
      l.bytes +=
          runs * (v == NO_ID ? l.args[a].bytes : bytes_picked(m->e, op, v, p->place[v].bytes));
  }
  vec_push(m->g->a, &m->out->at, l);
  return &m->out->at.at[m->out->at.n - 1];
}

/* The value is copied to a place of its size, on behalf of the op. */
static void add_copy(LaunchBuilder *m, const Op *op, ValueId from, const Place *to,
                     const Block *b) {
  const Place *x = &plan_of(m->e)->place[from];
  Address at = address_in(to, b);
  if (!x->bytes ||
      (x->region == to->region && x->offset == to->offset &&
       address_moves_alike(&(Address){.stride = x->stride}, &at, plan_of(m->e)->depth)))
    return;
  Arena *a = m->g->a;
  Op *copy = ARENA_NEW(a, Op);
  ValueId *pair = ARENA_ARRAY(a, ValueId, 2);
  pair[0] = pair[1] = from; /* the result is of the same type, and lies at `to` */
  *copy = (Op){.kind = OP_COPY,
               .id = op->id,
               .noperands = 1,
               .nresults = 1,
               .operands = pair,
               .results = pair + 1,
               .parent = op->parent,
               .loc = op->loc,
               .scope = op->scope};
  m->g->out.n = 0;
  gen_print_group(m->g, group_of(a, m->e, copy));
  for (uint32_t k = 0; k < m->g->out.n; k++) add_launch(m, copy, m->g->out.at[k], 0)->args[1] = at;
}

/* First values to the carries. */
static void begin_loop(LaunchBuilder *m, const Op *scan) {
  for (int i = 0; i < scan_carries(scan); i++)
    add_copy(m, scan, scan->operands[i], &plan_of(m->e)->place[scan->results[i]], scan->parent);
  vec_push(m->g->a, &m->around, m->out->loops.n);
  vec_push(m->g->a, &m->out->loops,
           (LaunchLoop){.scan = scan, .first = m->out->at.n, .depth = plan_level(scan)});
}

/* What the iteration gives: slices of what is stacked before the carries, which they may be. */
static void end_iteration(LaunchBuilder *m, const Op *yield) {
  const Op *scan = yield->parent->op;
  int carries = scan_carries(scan);
  for (int pass = 0; pass < 2; pass++)
    for (int i = pass ? 0 : carries; i < (pass ? carries : yield->noperands); i++) {
      Place to = plan_target(m->e, m->g->a, scan, i);
      add_copy(m, yield, yield->operands[i], &to, yield->parent);
    }
}

/* The dead list that this step adds to; NULL: nothing ran yet. */
static DeadRanges *dead_list(LaunchBuilder *m) {
  Launches *l = m->out;
  uint32_t open = m->around.n ? m->around.at[m->around.n - 1] : NO_ID;
  for (uint32_t i = l->loops.n; i-- > 0;) /* the last loop that is over, if no launch follows it */
    if (l->loops.at[i].end == l->at.n && i != open && l->loops.at[i].end > l->loops.at[i].first) {
      uint32_t outer = i;
      while (outer-- > 0)
        if (l->loops.at[outer].end == l->at.n) i = outer;
      return &l->loops.at[i].dead;
    }
  if (open != NO_ID && l->loops.at[open].first == l->at.n) return NULL;
  return l->at.n ? &l->at.at[l->at.n - 1].dead : NULL;
}

/* ---- collectives ---- */

/* The collectives up to this step end here, on behalf of the step at hand. */
static void end_collectives(LaunchBuilder *m, int step) {
  const Plan *p = plan_of(m->e);
  for (; m->ended < m->begun.n && m->begun.at[m->ended] <= step; m->ended++) {
    const Op *op = p->steps[m->begun.at[m->ended]];
    m->g->out.n = 0;
    m->g->print->await(m->g, group_of(m->g->a, m->e, op));
    Launch *l = add_launch(m, op, m->g->out.at[0], 0);
    l->ends = true, l->bytes = 0;
  }
}

static bool writes_over(const Entry *e, const Op *op, const Op *other) {
  for (int i = 0; i < op->nresults; i++) {
    Address y = address_of(e, op->results[i]);
    for (int k = 0; k < other->noperands + other->nresults; k++) {
      ValueId v = k < other->noperands ? other->operands[k] : other->results[k - other->noperands];
      Address x = address_of(e, v);
      if (address_overlap(&x, &y)) return true;
    }
  }
  return false;
}

/* The last of those under way whose bytes the collective touches, or -1. */
static int last_in_the_way(const LaunchBuilder *m, const Op *op) {
  const Plan *p = plan_of(m->e);
  for (uint32_t k = m->begun.n; k-- > m->ended;) {
    const Op *other = p->steps[m->begun.at[k]];
    if (writes_over(m->e, op, other) || writes_over(m->e, other, op)) return m->begun.at[k];
  }
  return -1;
}

/* Those that the step at hand comes after. In the plan a collective comes after all before it; here
   they are under way together. */
static void await_others(LaunchBuilder *m, const Op *op) {
  const Plan *p = plan_of(m->e);
  if (!awaits(m) || p->comm < 0) return;
  bool talks = p->stream[m->step] == p->comm;
  const int *over = p->finished_before + (size_t)m->step * (size_t)p->streams;
  end_collectives(m, talks ? last_in_the_way(m, op) : over[p->comm]);
}

/* The step has begun one; in no stream of its own it ends at once. */
static void has_begun(LaunchBuilder *m, const Op *op) {
  const Plan *p = plan_of(m->e);
  if (!awaits(m) || op_info[op->kind].cls != CLASS_COLLECTIVE) return;
  vec_push(m->g->a, &m->begun, m->step);
  if (p->comm < 0 || p->stream[m->step] != p->comm) end_collectives(m, m->step);
}

/* What other ranks may read or write: an operand that the result replaces counts once. */
static uint64_t bytes_moved(const Entry *e, const Op *op) {
  const Plan *p = plan_of(e);
  uint64_t bytes = 0;
  for (int i = 0; i < op->nresults; i++) bytes += p->place[op->results[i]].bytes;
  for (int i = 0; i < op->noperands; i++) {
    Address x = address_of(e, op->operands[i]);
    bool apart = true;
    for (int k = 0; k < op->nresults && apart; k++) {
      Address y = address_of(e, op->results[k]);
      apart = !address_overlap(&x, &y);
    }
    if (apart) bytes += p->place[op->operands[i]].bytes;
  }
  return bytes;
}

/* By the plan: a collective is under way up to the first step that comes after it. */
uint64_t entry_under_way(const Entry *e) {
  const Plan *p = plan_of(e);
  uint64_t now = 0, most = 0;
  int ended = 0;
  for (int t = 0; t < p->nsteps; t++) {
    const bool talks = op_info[p->steps[t]->kind].cls == CLASS_COLLECTIVE;
    const bool beside = p->comm >= 0 && p->stream[t] == p->comm;
    const int over = p->comm < 0 || beside
                         ? -1
                         : p->finished_before[(size_t)t * (size_t)p->streams + (size_t)p->comm];
    for (; ended <= over; ended++)
      if (p->stream[ended] == p->comm && op_info[p->steps[ended]->kind].cls == CLASS_COLLECTIVE)
        now -= bytes_moved(e, p->steps[ended]);
    const uint64_t bytes = talks ? bytes_moved(e, p->steps[t]) : 0;
    if (now + bytes > most) most = now + bytes;
    if (beside) now += bytes;
  }
  return most;
}

static void step(LaunchBuilder *m, int i) {
  const Op *op = plan_of(m->e)->steps[i];
  Group *gr = group_of(m->g->a, m->e, op);
  m->step = i;
  bool runs = op->kind == OP_SCAN || op->kind == OP_YIELD ||
              (gr->form != FORM_NONE && plan_moves(m->e, op) != MOVES_NOTHING && !empty(m->e, op));
  if (runs) await_others(m, op);
  m->g->out.n = 0;
  if (op->kind == OP_SCAN)
    begin_loop(m, op);
  else if (op->kind == OP_YIELD)
    end_iteration(m, op);
  else if (runs)
    gen_print_group(m->g, gr);
  bool launches = op->kind != OP_SCAN && op->kind != OP_YIELD && m->g->out.n;
  for (uint32_t k = 0; launches && k < m->g->out.n; k++)
    add_launch(m, op, m->g->out.at[k], k ? 0 : op_flops(m->e, op));
  if (launches) has_begun(m, op);
  if (op->kind == OP_YIELD) m->out->loops.at[m->around.at[--m->around.n]].end = m->out->at.n;
  DeadRanges *dead = dead_list(m);
  update_live_set(m->g, m->e, i, &m->live, dead);
  if (dead) dead_after(m->g, m->e, op, &m->live, dead);
}

void launches_of(Gen *g, const Entry *e, const GlobalsPlan *gp, Launches *out) {
  LaunchBuilder m = {.g = g, .e = e, .gp = gp, .out = out, .live = live_set_of(g, e)};
  out->depth = plan_of(e)->depth;
  out->streams = plan_of(e)->streams;
  if (plan_of(e)->comm >= 0 && awaits(&m)) out->streams--;
  if (e->ranks) out->under_way = entry_under_way(e);
  for (int i = 0; i < plan_of(e)->nsteps; i++) step(&m, i);
  end_collectives(&m, plan_of(e)->nsteps);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < out->loops.n; i++)
    if (out->loops.at[i].end > out->loops.at[i].first) out->loops.at[kept++] = out->loops.at[i];
  out->loops.n = kept;
  launches_batch(g, e, out);
  launches_barriers(g, out);
  if (out->streams > 1) launches_streams(g, plan_of(e), out);
}
