/* Starts of a search for recomputation: segments, and eviction step by step.
   Contract: each leaves a state whose steps may still exceed the limit. Segments are those of Chen
   et al. 2016, cut at narrow places; eviction is that of Kirisame et al. 2021, run as a planner. */
#include "passes/remat/remat_impl.h"

#include <math.h>
#include <stdlib.h>

static int by_number(const void *a, const void *b) {
  return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* From step `turnaround` on, a value that is not kept is recomputed before its first reader, with
   everything that this needs, and stays live from there. */
static void recompute_after(RematState *s, int turnaround, bool *there) {
  const StepGraph *p = s->p;
  VEC(int) stack = {0};
  for (int t = turnaround; t < p->nsteps; t++) {
    RematAgain *again = &s->again[t];
    for (int o = t;;) {
      for (int k = 0; k < p->step[o].nin; k++) {
        int v = p->step[o].in[k], maker = p->storage[v].maker;
        if (there[v] || !remat_may_rerun(p, maker, t)) continue;
        vec_push(s->a, &stack, maker);
        for (int j = 0; j < p->step[maker].nout; j++) there[p->step[maker].out[j]] = true;
      }
      if (!stack.n) break;
      o = stack.at[--stack.n];
      vec_push(s->a, again, o);
    }
    if (again->n) qsort(again->at, again->n, sizeof(int), by_number);
  }
  remat_rebuild(s);
}

/* Cuts the steps before the peak into segments of `length` units or up to a third more, each at its
   narrowest place. Values that cross a cut, or are made after the last one, are kept; other values
   with readers after the peak are dropped. */
void remat_segments(RematState *s, int turnaround, double length) {
  const StepGraph *p = s->p;
  int best = -1, last = -1;
  int64_t *cross = ARENA_ARRAY(s->a, int64_t, p->nsteps + 2);
  bool *keep = ARENA_ARRAY(s->a, bool, p->nstorages + 1);
  double made = 0;
  remat_reset(s);
  for (int v = 0; v < p->nstorages; v++) {
    if (p->storage[v].maker >= turnaround) continue;
    int end = remat_use_after(s, v, turnaround);
    cross[p->storage[v].maker] += p->storage[v].size;
    if (end) cross[s->use[v].at[end - 1].step] -= p->storage[v].size;
  }
  for (int t = 1; t <= p->nsteps; t++) cross[t] += cross[t - 1];
  for (int t = 0; t < turnaround; t++) {
    for (int k = 0; k < p->step[t].nout; k++) made += p->storage[p->step[t].out[k]].size;
    if (made > length && (best < 0 || cross[t] < cross[best])) best = t;
    if (made <= length * 4 / 3 || best < 0) continue;
    for (int v = 0; v < p->nstorages; v++) {
      if (p->storage[v].maker > best) continue;
      int i = remat_use_after(s, v, best + 1);
      keep[v] |= i < (int)s->use[v].n && s->use[v].at[i].step < turnaround;
    }
    last = best;
    made = 0;
    for (int k = best + 1; k <= t; k++)
      for (int j = 0; j < p->step[k].nout; j++) made += p->storage[p->step[k].out[j]].size;
    best = -1;
  }
  for (int v = 0; v < p->nstorages; v++) /* the last piece is held: it would be made at once */
    keep[v] |= p->storage[v].maker > last || p->storage[v].size < s->tiny;
  recompute_after(s, turnaround, keep);
}

/* Eviction as a planner: steps run in order. When bytes are short, the storage is evicted whose
   recomputation, evicted neighbours included, costs least for its bytes and age. */
typedef struct Evict {
  RematState *s;
  const StepGraph *p;
  bool *here;    /* by storage */
  int *used;     /* by storage: time of last use */
  int *unread;   /* by storage: readers of the given order to come */
  int *in_use;   /* by storage */
  int64_t *mark; /* by storage */
  int64_t stamp;
  int clock, step;
  int64_t held, limit;
  double cost, max;
  int64_t deadline; /* of s->work */
} Evict;

enum { NEAR = 200 }; /* steps back that count as around */

static double neighbourhood(Evict *d, int v, int depth) {
  const StepNode *o = &d->p->step[d->p->storage[v].maker];
  double c = o->cost;
  d->s->work += 4;
  if (depth >= NEAR) return c;
  for (int k = 0; k < o->nin; k++) {
    int x = o->in[k];
    if (d->here[x] || d->mark[x] == d->stamp) continue;
    d->mark[x] = d->stamp;
    c += neighbourhood(d, x, depth + 1);
  }
  return c;
}

static bool evictable(const Evict *d, int v) {
  const StepStorage *x = &d->p->storage[v];
  if (!d->here[v] || d->in_use[v] || x->kept || d->p->step[x->maker].latest < 0) return false;
  return !d->unread[v] || remat_may_rerun(d->p, x->maker, d->step);
}

static bool make_room(Evict *d, int64_t want) {
  while (d->held + want > d->limit) {
    double min = INFINITY;
    int victim = -1;
    for (int v = 0; v < d->p->nstorages; v++) {
      d->s->work++;
      if (!evictable(d, v)) continue;
      d->stamp++;
      double age = d->clock - d->used[v] + 1, size = d->p->storage[v].size;
      double h = neighbourhood(d, v, 0) / (size * age);
      if (h < min) {
        min = h;
        victim = v;
      }
    }
    if (victim < 0 || d->s->work > d->deadline) return false;
    d->here[victim] = false;
    d->held -= d->p->storage[victim].size;
  }
  return true;
}

static int64_t bytes_wanted(Evict *d, const StepNode *o, bool again) {
  int64_t want = o->extra;
  for (int k = 0; k < o->nout; k++) {
    int w = o->out[k];
    bool over = false;
    if (d->here[w]) {
      d->here[w] = false;
      d->held -= d->p->storage[w].size;
    }
    for (int q = 0; q < o->npairs && !again; q++) {
      int x = o->in[o->pair[q].in];
      over |= o->pair[q].out == k && d->in_use[x] == 1 && d->unread[x] == 1;
    }
    if (!over) want += d->p->storage[w].size;
  }
  return want;
}

static bool evict_run(Evict *d, int step, int depth) {
  const StepNode *o = &d->p->step[step];
  enum { DEEPEST = 5000 }; /* of the recursion: a longer chain of reruns is no good plan */
  bool ok = depth < DEEPEST && d->cost < d->max && d->s->work < d->deadline;
  for (int k = 0; k < o->nin; k++) d->in_use[o->in[k]]++;
  for (int k = 0; k < o->nin && ok; k++) {
    int maker = d->p->storage[o->in[k]].maker;
    if (!d->here[o->in[k]])
      ok = remat_may_rerun(d->p, maker, d->step) && evict_run(d, maker, depth + 1);
  }
  if (ok && make_room(d, bytes_wanted(d, o, depth > 0))) {
    d->clock++;
    if (step != d->step) {
      RematAgain *r = &d->s->again[d->step];
      bool there = false;
      for (uint32_t k = 0; k < r->n; k++) there |= r->at[k] == step;
      if (!there) vec_push(d->s->a, r, step);
      d->cost += o->cost;
    }
    for (int k = 0; k < o->nin; k++) {
      int x = o->in[k];
      d->used[x] = d->clock;
      if (depth || --d->unread[x] || d->p->storage[x].kept) continue;
      d->here[x] = false;
      d->held -= d->p->storage[x].size;
    }
    for (int k = 0; k < o->nout; k++) {
      int x = o->out[k];
      d->used[x] = d->clock;
      if (!d->unread[x] && !d->p->storage[x].kept && !depth) continue;
      d->here[x] = true;
      d->held += d->p->storage[x].size;
    }
  } else {
    ok = false;
  }
  for (int k = 0; k < o->nin; k++) d->in_use[o->in[k]]--;
  return ok;
}

bool remat_evict(RematState *s, int64_t limit, double max, int64_t deadline) {
  int n = s->p->nstorages;
  Evict d = {.s = s, .p = s->p, .limit = limit, .max = max, .deadline = deadline};
  d.here = ARENA_ARRAY(s->a, bool, n + 1);
  d.used = ARENA_ARRAY(s->a, int, n + 1);
  d.unread = ARENA_ARRAY(s->a, int, n + 1);
  d.in_use = ARENA_ARRAY(s->a, int, n + 1);
  d.mark = ARENA_ARRAY(s->a, int64_t, n + 1);
  for (int t = 0; t <= s->p->nsteps; t++) s->again[t].n = 0;
  for (int t = 0; t < s->p->nsteps; t++)
    for (int k = 0; k < s->p->step[t].nin; k++) d.unread[s->p->step[t].in[k]]++;
  bool ok = true;
  for (d.step = 0; d.step < s->p->nsteps && ok; d.step++) ok = evict_run(&d, d.step, 0);
  if (!ok) return false;
  for (int t = 0; t < s->p->nsteps; t++)
    if (s->again[t].n) qsort(s->again[t].at, s->again[t].n, sizeof(int), by_number);
  remat_rebuild(s);
  return true;
}
