/* Loops that can hold fewer bytes for their backward passes: the frontier of loop schedules that
   remat applies. Contract: pure questions about an entry in order; loops_build.c applies a point of
   the frontier. Method: a stack that only the backward pass reads may be dropped, and an iteration
   is recomputed to have its rows again. It starts from the carries kept before its block, slices,
   values from outside, and stacks that stay. Stacks are dropped one after the other, the one that
   frees most bytes for its work first. Each such set is tried with blocks of every length (Chen et
   al. 2016, with blocks of a loop for segments). A schedule is kept only if no other is better in
   bytes and work. A frontier over all loops takes the next schedule of the loop that frees most for
   its work. Bytes are those at the turn from forward to backward pass, at which all stacks are
   live. */
#include "passes/remat/loops_impl.h"

#include <stdlib.h>

enum { POINTS = 32 }; /* of a frontier: each is planned as a program of its own */

/* ---- pairs ---- */

static void find_uses(LoopFinder *f) {
  const Block *body = f->e->body;
  ValueList reads = {0};
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(f->e, body->ops.at[i]);
    f->position[op->id] = (int)i;
    if (op->kind == OP_STORE) f->store[op->attr[AT_GLOBAL].i] = op;
    if (op->kind == OP_LOAD) f->loaded[op->attr[AT_GLOBAL].i] = (int)i;
    plan_reads(f->a, f->e, op, &reads);
    for (uint32_t k = 0; k < reads.n; k++) {
      f->uses[reads.at[k]]++;
      f->last[f->root[reads.at[k]]] = (int)i;
    }
  }
}

/* The backward pass is the only one that reads the stack, slice by slice. */
static bool read_by_slices(const LoopFinder *f, const Op *backward, ValueId stack) {
  uint32_t n = 0;
  for (int j = scan_carries(backward); j < backward->noperands; j++)
    n += backward->operands[j] == stack;
  return n && n == f->uses[stack];
}

/* Values from outside that the loop reads must be live and unchanged when it is recomputed: a store
   to a state is delayed until then. It cannot be delayed if the new value is loaded. */
static bool reads_last(const LoopFinder *f, LoopPair *p) {
  const Op *forward = p->forward, *backward = p->backward;
  ValueList reads = {0};
  plan_reads(f->a, f->e, forward, &reads);
  p->late = ARENA_ARRAY(f->a, const Op *, reads.n + 1);
  for (uint32_t k = 0; k < reads.n; k++) {
    const Op *def = value_def(f->e, f->root[reads.at[k]]);
    const Op *store = def && def->kind == OP_LOAD ? f->store[def->attr[AT_GLOBAL].i] : NULL;
    if (!store || f->position[store->id] > f->position[backward->id]) continue;
    if (f->loaded[def->attr[AT_GLOBAL].i] > f->position[store->id]) return false;
    bool twice = false;
    for (int i = 0; i < p->nlate; i++) twice |= p->late[i] == store;
    if (!twice) p->late[p->nlate++] = store;
  }
  for (int k = 0; k < scan_carries(forward); k++) /* stacks are row-major */
    if (value_at(f->e, forward->results[k])->layout) return false;
  return true;
}

/* Bytes that the pair may drop; 0: it is none. */
static double worth(const LoopFinder *f, const Op *forward, const Op *backward) {
  LoopPair pair = {.forward = forward, .backward = backward};
  double bytes = 0;
  if (forward->attr[AT_EXTENT].str) return 0; /* blocks of iterations are of a static number */
  bool turns = !forward->attr[AT_REVERSE].i != !backward->attr[AT_REVERSE].i;
  if (scan_trips(forward) != scan_trips(backward) || !turns || scan_trips(forward) < 2) return 0;
  for (int k = scan_carries(forward); k < forward->nresults; k++)
    if (read_by_slices(f, backward, forward->results[k]))
      bytes += loop_bytes_of(f->e, forward->results[k]);
  return bytes > 0 && reads_last(f, &pair) ? bytes : 0;
}

static LoopPair pair_of(const LoopFinder *f, const Op *forward, const Op *backward) {
  LoopPair p = {.forward = forward, .backward = backward};
  (void)reads_last(f, &p);
  p.forward_end = plan_yield(f->e, forward);
  p.backward_end = plan_yield(f->e, backward);
  p.droppable = ARENA_ARRAY(f->a, bool, forward->nresults);
  p.alive = ARENA_ARRAY(f->a, bool, forward->nresults);
  for (int k = scan_carries(forward); k < forward->nresults; k++) {
    p.droppable[k] = read_by_slices(f, backward, forward->results[k]);
    p.alive[k] = !p.droppable[k] && f->last[forward->results[k]] >= f->position[backward->id];
  }
  return p;
}

typedef struct LoopCandidate {
  const Op *forward, *backward;
  double worth;
} LoopCandidate;

static int by_worth(const void *x, const void *y) {
  const LoopCandidate *a = x, *b = y;
  if (a->worth != b->worth) return a->worth < b->worth ? 1 : -1;
  return a->backward->id < b->backward->id ? -1 : a->backward->id > b->backward->id;
}

/* Each loop is of one pair at most: of the one that is worth most. */
static void find_pairs(const LoopFinder *f, LoopFrontier *l) {
  const Block *body = f->e->body;
  VEC(LoopCandidate) found = {0};
  OpId *asked = ARENA_ARRAY(f->a, OpId, f->e->ops.n + 1); /* by loop: 1 + the backward pass */
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *backward = op_at(f->e, body->ops.at[i]);
    for (int j = 0; backward->kind == OP_SCAN && j < backward->noperands; j++) {
      const Op *forward = value_def(f->e, backward->operands[j]);
      if (!forward || forward->kind != OP_SCAN || asked[forward->id] == backward->id + 1) continue;
      asked[forward->id] = backward->id + 1;
      LoopCandidate x = {forward, backward, worth(f, forward, backward)};
      if (x.worth > 0) vec_push(f->a, &found, x);
    }
  }
  if (found.n) qsort(found.at, found.n, sizeof *found.at, by_worth);
  bool *taken = ARENA_ARRAY(f->a, bool, f->e->ops.n + 1);
  l->pair = ARENA_ARRAY(f->a, LoopPair, found.n + 1);
  for (uint32_t i = 0; i < found.n; i++) {
    const Op *forward = found.at[i].forward, *backward = found.at[i].backward;
    if (taken[forward->id] || taken[backward->id]) continue;
    taken[forward->id] = taken[backward->id] = true;
    l->pair[l->npairs++] = pair_of(f, forward, backward);
  }
}

/* ---- the frontier ---- */

/* At most POINTS of them, the last one too. */
static void thin_out(LoopFrontier *l) {
  if (l->npoints <= POINTS) return;
  for (int k = 0; k < POINTS; k++) l->point[k] = l->point[(k + 1) * l->npoints / POINTS - 1];
  l->npoints = POINTS;
}

static LoopPoint higher(Arena *a, const LoopFrontier *l, const LoopPoint *from, int pair,
                        const LoopSchedule *schedule) {
  LoopPoint r = {.schedule = ARENA_ARRAY(a, const LoopSchedule *, l->npairs)};
  for (int i = 0; i < l->npairs; i++) {
    r.schedule[i] = i == pair ? schedule : from ? from->schedule[i] : NULL;
    r.flops += r.schedule[i] ? r.schedule[i]->flops : 0;
    r.cost += r.schedule[i] ? r.schedule[i]->cost : 0;
  }
  return r;
}

static void build_frontier(const LoopFinder *f, LoopFrontier *l) {
  LoopSchedules *schedules = ARENA_ARRAY(f->a, LoopSchedules, l->npairs);
  uint32_t *at = ARENA_ARRAY(f->a, uint32_t, l->npairs), all = 0;
  for (int i = 0; i < l->npairs; i++) {
    schedules[i] = loop_schedules_of(f, &l->pair[i]);
    all += schedules[i].n;
  }
  l->point = ARENA_ARRAY(f->a, LoopPoint, all + 1);
  for (int best = 0; best >= 0;) {
    const LoopPoint *from = l->npoints ? &l->point[l->npoints - 1] : NULL;
    double max = -1;
    best = -1;
    for (int i = 0; i < l->npairs; i++) {
      if (at[i] == schedules[i].n) continue;
      const LoopSchedule *now = from ? from->schedule[i] : NULL, *next = &schedules[i].at[at[i]];
      double bytes = 0;
      for (int k = 0; !now && k < l->pair[i].forward->nresults; k++)
        if (l->pair[i].droppable[k]) bytes += loop_bytes_of(f->e, l->pair[i].forward->results[k]);
      bytes = (now ? now->bytes : bytes) - next->bytes;
      double ratio = bytes / (next->cost - (now ? now->cost : 0) + 1);
      if (ratio <= max) continue;
      max = ratio;
      best = i;
    }
    if (best < 0) continue;
    l->point[l->npoints] = higher(f->a, l, from, best, &schedules[best].at[at[best]]);
    l->npoints++;
    at[best]++;
  }
  thin_out(l);
}

LoopFrontier remat_loop_frontier(Arena *a, const Entry *e) {
  LoopFrontier l = {0};
  LoopFinder f = {.a = a, .e = e};
  f.position = ARENA_ARRAY(a, int, e->ops.n);
  f.root = plan_viewed(a, e);
  f.uses = ARENA_ARRAY(a, uint32_t, e->values.n);
  f.last = ARENA_ARRAY(a, int, e->values.n);
  f.store = ARENA_ARRAY(a, const Op *, e->module->globals.n + 1);
  f.loaded = ARENA_ARRAY(a, int, e->module->globals.n + 1);
  find_uses(&f);
  find_pairs(&f, &l);
  if (l.npairs) build_frontier(&f, &l);
  return l;
}
