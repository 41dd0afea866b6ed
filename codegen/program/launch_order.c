/* What launches wait for: barriers from hazards, and launches of other streams.
   Contract: between two launches of a stream that touch the same bytes, one of them writing, there
   is a barrier unless each thread touches only its own part in both. A thread's parts are equal
   where the slices are the same and are divided into as many units, or into numbers of units that
   the threads divide evenly: then the barrier depends on their number. */
#include "codegen/program/launch.h"

/* ---- barriers ---- */

typedef struct PendingAccess { /* an argument of a launch that no barrier has followed yet */
  Address at;
  Access access;
  int64_t units;
} PendingAccess;

typedef struct PendingAccesses {
  VEC(PendingAccess) at;
} PendingAccesses;

bool address_overlap(const Address *a, const Address *b) {
  return a->region == b->region && a->offset < b->reach && b->offset < a->reach;
}

bool address_moves_alike(const Address *a, const Address *b, int depth) {
  if (!a->stride || !b->stride) return a->stride == b->stride;
  return memcmp(a->stride, b->stride, sizeof *a->stride * (size_t)depth) == 0;
}

/* Barrier between two accesses: as in GcStep. */
static int64_t hazard(const PendingAccess *a, const PendingAccess *b, int depth) {
  if (!address_overlap(&a->at, &b->at)) return 0;
  if (!a->access.write && !b->access.write) return 0;
  if (!(a->access.write || a->access.read) || !(b->access.write || b->access.read)) return 0;
  const Access *x = &a->access, *y = &b->access;
  bool same = x->rows > 0 && x->rows == y->rows && x->width == y->width &&
              (x->rows == 1 || x->stride == y->stride) &&
              a->at.offset + x->offset == b->at.offset + y->offset && a->units > 1 &&
              b->units > 1 && address_moves_alike(&a->at, &b->at, depth);
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

void launches_barriers(Gen *g, Launches *l) {
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
void launches_streams(Gen *g, const Plan *p, Launches *l) {
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
