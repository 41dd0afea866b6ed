/* From a planned entry to launches: addresses from the plan, barriers from hazards between
   launches. Contract: launches run in the plan's order on all threads, or those of each stream on
   threads of its own, which wait for launches of others; between two of a stream that touch the
   same bytes, one of them writing, there is a barrier unless each thread touches only its own part
   in both. A thread's parts are equal where the slices are the same and are divided into as many
   units, or into numbers of units that the threads divide evenly: then the barrier depends on their
   number.
 */
#include "codegen/program/launch.h"

static Address address_in(const Place *p, const Block *b) {
  return (Address){p->region, p->offset, p->bytes, p->stride, plan_reach(p, b)};
}

Address address_of(const Entry *e, ValueId v) {
  const Place *p = &plan_of(e)->place[v];
  return address_in(p, value_block(e, v));
}

/* ---- barriers ---- */

typedef struct PendingAccess { /* an argument of a launch that no barrier has followed yet */
  Address at;
  Access access;
  int64_t units;
} PendingAccess;

typedef struct PendingAccesses {
  VEC(PendingAccess) at;
} PendingAccesses;

static bool overlap(const Address *a, const Address *b) {
  return a->region == b->region && a->offset < b->reach && b->offset < a->reach;
}

/* In one iteration the two are at the same address, and in two iterations apart, or the same. */
static bool move_alike(const Address *a, const Address *b, int depth) {
  if (!a->stride || !b->stride) return a->stride == b->stride;
  return memcmp(a->stride, b->stride, sizeof *a->stride * (size_t)depth) == 0;
}

/* Barrier between two accesses: as in GcStep. */
static int64_t hazard(const PendingAccess *a, const PendingAccess *b, int depth) {
  if (!overlap(&a->at, &b->at)) return 0;
  if (!a->access.write && !b->access.write) return 0;
  if (!(a->access.write || a->access.read) || !(b->access.write || b->access.read)) return 0;
  const Access *x = &a->access, *y = &b->access;
  bool same = x->rows > 0 && x->rows == y->rows && x->width == y->width &&
              (x->rows == 1 || x->stride == y->stride) &&
              a->at.offset + x->offset == b->at.offset + y->offset && a->units > 1 &&
              b->units > 1 && move_alike(&a->at, &b->at, depth);
  if (!same) return 1;
  int64_t n = x->parts ? x->parts : a->units, m = y->parts ? y->parts : b->units;
  return n == m && !x->parts && !y->parts ? 0 : gcd(n, m);
}

static int64_t join(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return a ? a : b;
  return gcd(a, b);
}

/* Accesses of one unit are all on thread 0 and are no hazards for one another: they are kept apart,
   so that a long run of small launches costs what its length says. */
enum { ONE, MANY, KINDS };
typedef struct HazardTracker {
  Gen *g;
  Launches *l;
  PendingAccesses (*streams)[KINDS]; /* since the last barrier of each stream */
} HazardTracker;

static void track_launch(HazardTracker *o, Launch *s) {
  int kind = s->kernel->units == 1 ? ONE : MANY;
  int64_t barrier = s->barrier;
  PendingAccesses *of = o->streams[s->stream];
  for (int k = 0; k < s->kernel->nargs; k++) {
    PendingAccess now = {s->args[k], s->kernel->args[k].access, s->kernel->units};
    for (int other = kind == ONE ? MANY : ONE; other < KINDS; other++)
      for (uint32_t j = 0; j < of[other].at.n && barrier != 1; j++)
        barrier = join(barrier, hazard(&of[other].at.at[j], &now, o->l->depth));
  }
  s->barrier = (int)(barrier > INT32_MAX ? 1 : barrier);
  if (s->barrier == 1)
    of[ONE].at.n = of[MANY].at.n = 0; /* one that some numbers of threads skip ends nothing */
  for (int k = 0; k < s->kernel->nargs; k++)
    vec_push(o->g->a, &of[kind].at,
             (PendingAccess){s->args[k], s->kernel->args[k].access, s->kernel->units});
}

/* Launches [from, to), where `loop` is the first loop that can begin there. */
static void track_launches(HazardTracker *o, uint32_t from, uint32_t to, uint32_t loop) {
  while (from < to) {
    const LaunchLoop *in = loop < o->l->loops.n ? &o->l->loops.at[loop] : NULL;
    if (!in || in->first != from) {
      track_launch(o, &o->l->at.at[from++]);
      continue;
    }
    for (int twice = 0; twice < 2; twice++) track_launches(o, from, in->end, loop + 1);
    from = in->end;
    while (loop < o->l->loops.n && o->l->loops.at[loop].first < from) loop++;
  }
}

static void barriers(Gen *g, Launches *l) {
  HazardTracker o = {.g = g, .l = l};
  o.streams = arena_alloc(g->a, sizeof *o.streams * (size_t)l->streams);
  track_launches(&o, 0, l->at.n, 0);
}

/* ---- streams ---- */

/* What comes before, a number a stream: the last launch that is over; -1: none. */
typedef struct Clocks {
  int *at;
  int streams;
} Clocks;

static Clocks clocks_new(Arena *a, int n, int streams) {
  Clocks c = {ARENA_ARRAY(a, int, (size_t)(n + 1) * (size_t)streams), streams};
  for (size_t i = 0; i < (size_t)(n + 1) * (size_t)streams; i++) c.at[i] = -1;
  return c;
}

static int *clock_at(const Clocks *c, int i) { return c->at + (size_t)i * (size_t)c->streams; }

/* `i` comes after `before`, of that stream, and after all that comes before that. */
static void come_after(const Clocks *c, int i, int before, int stream) {
  int *mine = clock_at(c, i);
  const int *other = clock_at(c, before);
  for (int k = 0; k < c->streams; k++)
    if (other[k] > mine[k]) mine[k] = other[k];
  if (before > mine[stream]) mine[stream] = before;
}

static int *last_of_streams(Arena *a, int streams) {
  int *last = ARENA_ARRAY(a, int, streams);
  for (int k = 0; k < streams; k++) last[k] = -1;
  return last;
}

/* Many steps have no launch, so that edges between steps are edges between the launches around
   them: each launch waits for the last one of each stream that its step must come after, unless
   what came before it has waited for that. */
static void streams(Gen *g, const Plan *p, Launches *l) {
  Clocks launches = clocks_new(g->a, (int)l->at.n, p->streams);
  int *last = last_of_streams(g->a, p->streams);          /* launch of each stream */
  int *launch_at = ARENA_ARRAY(g->a, int, p->nsteps + 1); /* by step: of its stream, so far */
  uint32_t i = 0;
  for (int t = 0; t < p->nsteps; t++) {
    for (; i < l->at.n && l->at.at[i].step == t; i++) {
      Launch *x = &l->at.at[i];
      const int *over = p->finished_before + (size_t)t * (size_t)p->streams;
      int *known = clock_at(&launches, (int)i);
      if (last[x->stream] >= 0) come_after(&launches, (int)i, last[x->stream], x->stream);
      for (;;) { /* the latest first: it may have waited for others */
        int latest = -1;
        for (int k = 0; k < p->streams; k++) {
          int want = k == x->stream || over[k] < 0 ? -1 : launch_at[over[k]];
          if (want > known[k] && want > latest) latest = want;
        }
        if (latest < 0) break;
        vec_push(g->a, &x->after, (uint32_t)latest);
        come_after(&launches, (int)i, latest, l->at.at[latest].stream);
      }
      last[x->stream] = (int)i;
    }
    launch_at[t] = last[p->stream[t]];
  }
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
    uint64_t at = sizeof(int32_t) * (uint64_t)(a->part->first / a->part->bound);
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

static Launch *add_launch(LaunchBuilder *m, const Op *op, Kernel *kernel, uint64_t flops) {
  const Plan *p = plan_of(m->e);
  uint64_t runs = times_run(op);
  Launch l = {.op = op, .kernel = kernel, .flops = runs * flops, .step = m->step};
  l.stream = !p->stream || (awaits(m) && p->stream[m->step] == p->comm) ? 0 : p->stream[m->step];
  l.args = ARENA_ARRAY(m->g->a, Address, kernel->nargs + 1);
  const bool part = op_info[op->kind].cls == CLASS_INDEX && plan_moves(m->e, op) == MOVES_PART;
  const bool scatters = op->kind == OP_GATHER_GRAD; /* rows; else a slice is replaced */
  for (int a = 0; a < kernel->nargs; a++) {
    l.args[a] = arg_address(m->g, m->e, op, &kernel->args[a], m->gp);
    const Access *access = &kernel->args[a].access;
    bool own = kernel->args[a].kind == ARG_SCRATCH || kernel->args[a].kind == ARG_PART;
    if (own || !(access->read || access->write)) continue;
    ValueId v = kernel->args[a].kind == ARG_VALUE ? kernel->args[a].value : NO_ID;
    if (part && v == op->operands[scatters ? 2 : 0]) continue; /* stays where it is */
    if (part && v == op->results[0]) v = op->operands[scatters ? 0 : 1];
    l.bytes += runs * (v == NO_ID ? l.args[a].bytes : p->place[v].bytes);
  }
  vec_push(m->g->a, &m->out->at, l);
  return &m->out->at.at[m->out->at.n - 1];
}

/* The value is copied to a place of its size, on behalf of the op. */
static void add_copy(LaunchBuilder *m, const Op *op, ValueId from, const Place *to,
                     const Block *b) {
  const Place *x = &plan_of(m->e)->place[from];
  Address at = address_in(to, b);
  if (!x->bytes || (x->region == to->region && x->offset == to->offset &&
                    move_alike(&(Address){.stride = x->stride}, &at, plan_of(m->e)->depth)))
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
    add_launch(m, op, m->g->out.at[0], 0)->bytes = 0;
  }
}

/* Those that the step at hand comes after. */
static void await_others(LaunchBuilder *m) {
  const Plan *p = plan_of(m->e);
  if (!awaits(m) || p->comm < 0 || p->stream[m->step] == p->comm) return;
  end_collectives(m, p->finished_before[(size_t)m->step * (size_t)p->streams + (size_t)p->comm]);
}

/* The step has begun one; in no stream of its own it ends at once. */
static void has_begun(LaunchBuilder *m, const Op *op) {
  const Plan *p = plan_of(m->e);
  if (!awaits(m) || op_info[op->kind].cls != CLASS_COLLECTIVE) return;
  vec_push(m->g->a, &m->begun, m->step);
  if (p->comm < 0 || p->stream[m->step] != p->comm) end_collectives(m, m->step);
}

static void step(LaunchBuilder *m, int i) {
  const Op *op = plan_of(m->e)->steps[i];
  Group *gr = group_of(m->g->a, m->e, op);
  m->step = i;
  bool runs = op->kind == OP_SCAN || op->kind == OP_YIELD ||
              (gr->form != FORM_NONE && plan_moves(m->e, op) != MOVES_NOTHING && !empty(m->e, op));
  if (runs) await_others(m);
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
  for (int i = 0; i < plan_of(e)->nsteps; i++) step(&m, i);
  end_collectives(&m, plan_of(e)->nsteps);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < out->loops.n; i++)
    if (out->loops.at[i].end > out->loops.at[i].first) out->loops.at[kept++] = out->loops.at[i];
  out->loops.n = kept;
  launches_batch(g, out);
  barriers(g, out);
  if (out->streams > 1) streams(g, plan_of(e), out);
}
