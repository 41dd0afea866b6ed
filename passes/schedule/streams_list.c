/* A schedule of an entry's streams within a number of bytes. Contract: a task begins if its stream
   is idle, its predecessors are over, there is room for it now, and the given order could still go
   on from there. So there is always a way out, as for Dijkstra's banker (1965). List scheduling
   over simulated time: of the ready tasks of a stream, the one with the longest path behind it
   begins, or the first of the given order. */
#include "ir/support/search.h"
#include "passes/schedule/streams_impl.h"

/* A task runs ahead of at most so many that are given before it; so many are asked whether they
   fit. */
enum { FARTHEST = 1024, ASKED = 32 };

typedef struct Simulation {
  const Tasks *w;
  StreamSchedule s;
  uint64_t max, now;    /* bytes: allowed, and in use */
  uint64_t *later;      /* by task: in use when the given order comes to it from here */
  int *left;            /* by task: how many it still waits for */
  bool *begun;          /* by task */
  int *unfinished;      /* by storage: users that are not over */
  int *not_started;     /* by storage: users that have not begun */
  double *longest_path; /* by task: the work of the longest way from its begin to the end; all 0 by
                           the rule GIVEN_ORDER */
  IntList *ready;       /* by stream: tasks that could begin, the longest way last */
  int *busy;            /* by stream: the running task, or -1 */
  int frontier;         /* the first task that has not begun */
  int nbegun;
} Simulation;

/* ---- bytes ---- */

/* By task: bytes in use if all before it are over. */
static void given_order(const Tasks *w, uint64_t *live) {
  for (int i = 0; i <= w->n; i++) live[i] = 0;
  for (int k = 0; k < w->nheld; k++) {
    const LiveBuffer *h = &w->held[k];
    live_add(live, h->users.at[0], h->kept ? w->n - 1 : h->users.at[h->users.n - 1], h->bytes);
  }
  live_sum(live, w->n);
  for (int i = 0; i < w->n; i++) live[i] += w->at[i].private_bytes;
}

uint64_t streams_peak(const Tasks *w) {
  uint64_t *live = ARENA_ARRAY(w->a, uint64_t, w->n + 1), max = 0;
  given_order(w, live);
  for (int i = 0; i < w->n; i++)
    if (live[i] > max) max = live[i];
  return max;
}

static bool is_fresh(const Simulation *r, int k) { /* no task has begun to write to it */
  return r->not_started[k] == (int)r->w->held[k].users.n;
}

static bool fits(const Simulation *r, int i) {
  const Task *t = &r->w->at[i];
  uint64_t fresh = 0, freed = 0, max = 0;
  for (uint32_t j = 0; j < t->uses.n; j++) {
    int k = t->uses.at[j];
    if (is_fresh(r, k)) fresh += r->w->held[k].bytes;
    if (r->not_started[k] == 1 && !r->w->held[k].kept) freed += r->w->held[k].bytes;
  }
  if (r->now + fresh + t->private_bytes > r->max) return false;
  if (i == r->frontier || fresh <= freed) return true;
  if (i - r->frontier > FARTHEST) return false;
  for (int p = r->frontier; p < i; p++)
    if (r->later[p] > max) max = r->later[p];
  return max + fresh - freed <= r->max;
}

/* The last user of a storage that has not begun; behind all where it is kept, before all if none.
 */
static int last_not_started(const Simulation *r, int k) {
  const LiveBuffer *h = &r->w->held[k];
  if (h->kept) return r->w->n;
  for (uint32_t u = h->users.n; u-- > 0;)
    if (!r->begun[h->users.at[u]]) return h->users.at[u];
  return -1;
}

static void begin_bytes(Simulation *r, int i) {
  const Task *t = &r->w->at[i];
  r->now += t->private_bytes;
  for (uint32_t j = 0; j < t->uses.n; j++) {
    int k = t->uses.at[j], last = last_not_started(r, k);
    uint64_t bytes = r->w->held[k].bytes;
    if (is_fresh(r, k)) {
      r->now += bytes;
      for (int p = r->frontier; p < i; p++) r->later[p] += bytes;
    }
    r->not_started[k]--;
    for (int p = last < r->frontier ? r->frontier : last + 1; p <= i; p++) r->later[p] -= bytes;
  }
}

/* ---- time ---- */

static bool is_after(const Simulation *r, int i,
                     int j) { /* i begins after j, of two that are ready */
  return r->longest_path[i] != r->longest_path[j] ? r->longest_path[i] < r->longest_path[j] : i > j;
}

static void make_ready(Simulation *r, int i) {
  IntList *l = &r->ready[r->w->at[i].stream];
  vec_push(r->w->a, l, i);
  uint32_t k;
  SEARCH_FIRST(k, l->n - 1, is_after(r, i, l->at[k]));
  memmove(l->at + k + 1, l->at + k, (l->n - 1 - k) * sizeof *l->at);
  l->at[k] = i;
}

static void begin(Simulation *r, int i, double now) {
  const Task *t = &r->w->at[i];
  r->begun[i] = true;
  begin_bytes(r, i);
  r->s.begin[i] = now;
  r->s.end[i] = now + t->work;
  r->s.order[r->nbegun++] = i;
  r->busy[t->stream] = i;
  IntList *l = &r->ready[t->stream];
  uint32_t k = l->n - 1;
  while (l->at[k] != i) k--;
  memmove(l->at + k, l->at + k + 1, (--l->n - k) * sizeof *l->at);
  while (r->frontier < r->w->n && r->begun[r->frontier]) r->frontier++;
}

static void finish(Simulation *r, int i) {
  const Task *t = &r->w->at[i];
  r->busy[t->stream] = -1;
  r->now -= t->private_bytes;
  for (uint32_t j = 0; j < t->uses.n; j++) {
    int k = t->uses.at[j];
    if (--r->unfinished[k] == 0 && !r->w->held[k].kept) r->now -= r->w->held[k].bytes;
  }
  for (uint32_t j = 0; j < t->after.n; j++)
    if (--r->left[t->after.at[j]] == 0) make_ready(r, t->after.at[j]);
}

/* What may begin now, or -1. Of what begins at one time collectives are first: in a program that
   begins them between its steps they would have to wait for one. */
static int choose(const Simulation *r) {
  bool idle = true;
  for (int k = 0; k < r->w->streams; k++) {
    int s = r->w->talks ? r->w->streams - 1 - k : k;
    const IntList *l = &r->ready[s];
    idle &= r->busy[s] < 0;
    for (uint32_t i = 0; r->busy[s] < 0 && i < l->n && i < ASKED; i++)
      if (fits(r, l->at[l->n - 1 - i])) return l->at[l->n - 1 - i];
  }
  return idle ? r->frontier : -1;
}

static double earliest(const Simulation *r) {
  double t = -1;
  for (int s = 0; s < r->w->streams; s++)
    if (r->busy[s] >= 0 && (t < 0 || r->s.end[r->busy[s]] < t)) t = r->s.end[r->busy[s]];
  return t;
}

StreamSchedule streams_schedule(const Tasks *w, StreamRule rule, uint64_t max) {
  Arena *a = w->a;
  size_t n = (size_t)w->n + 1;
  Simulation r = {.w = w, .max = max};
  r.s = (StreamSchedule){ARENA_ARRAY(a, int, n), ARENA_ARRAY(a, double, n),
                         ARENA_ARRAY(a, double, n)};
  r.later = ARENA_ARRAY(a, uint64_t, n);
  r.left = ARENA_ARRAY(a, int, n);
  r.begun = ARENA_ARRAY(a, bool, n);
  r.longest_path = ARENA_ARRAY(a, double, n);
  r.unfinished = ARENA_ARRAY(a, int, w->nheld);
  r.not_started = ARENA_ARRAY(a, int, w->nheld);
  r.ready = ARENA_ARRAY(a, IntList, w->streams);
  r.busy = ARENA_ARRAY(a, int, w->streams);
  given_order(w, r.later);
  for (int k = 0; k < w->nheld; k++) r.unfinished[k] = r.not_started[k] = (int)w->held[k].users.n;
  for (int s = 0; s < w->streams; s++) r.busy[s] = -1;
  for (int i = w->n; i-- > 0;) {
    const IntList *after = &w->at[i].after;
    for (uint32_t k = 0; k < after->n; k++)
      if (r.longest_path[after->at[k]] > r.longest_path[i])
        r.longest_path[i] = r.longest_path[after->at[k]];
    if (rule == LONGEST_PATH) r.longest_path[i] += w->at[i].work;
    r.left[i] = w->at[i].nbefore;
    if (r.left[i] == 0) make_ready(&r, i);
  }
  for (double now = 0; r.nbegun < w->n;) {
    int i = choose(&r);
    if (i >= 0) {
      begin(&r, i, now);
      continue;
    }
    now = earliest(&r);
    for (int s = 0; s < w->streams; s++)
      if (r.busy[s] >= 0 && r.s.end[r.busy[s]] <= now) finish(&r, r.busy[s]);
  }
  return r.s;
}
