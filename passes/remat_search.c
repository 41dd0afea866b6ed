/* The search for a cheap schedule within a limit. Contract: deterministic; work is counted, not
   timed. Several starts (nothing dropped; a looser limit first; segments of sqrt(n) kind; eviction
   step by step, as DTR does at run time) are each completed by a greedy descent on excess bytes x
   steps removed per cost added, pruned, and the best is improved by ruin and recreate (Schrimpf et
   al. 2000): hold what a window of steps dropped, repair it with noise, keep what is cheaper. */
#include "passes/remat_impl.h"

#include <math.h>
#include <stdlib.h>

typedef struct Candidate {
  double score;
  double luck; /* a factor of the score */
  int storage, step;
} Candidate;

typedef struct Search {
  RematState *s;
  Arena *a;
  VEC(Candidate) heap;
  VEC(Candidate) list;
  double noise;     /* of scores: 0 none */
  double most;      /* added cost beyond which a start is given up */
  int64_t deadline; /* of s->work */
  uint64_t seed;
  int peak_step, peak; /* of the plan in which nothing runs again */
  double made;         /* units made up to peak_step */
  int *over;           /* by step: how many before it exceed the limit */
} Search;

static double random01(Search *w) { /* xorshift64 */
  w->seed ^= w->seed << 13;
  w->seed ^= w->seed >> 7;
  w->seed ^= w->seed << 17;
  return (double)(w->seed >> 11) * 0x1p-53;
}

static double jitter(Search *w) { return w->noise > 0 ? exp(w->noise * (random01(w) - 0.5)) : 1; }

static bool out_of_time(const Search *w) {
  return w->s->work > w->deadline || w->s->cost > w->most;
}

/* ---------------------------------------------------------------- a heap of moves ---- */

static void heap_push(Search *w, Candidate c) {
  vec_push(w->a, &w->heap, c);
  uint32_t i = w->heap.n - 1;
  for (; i && w->heap.at[(i - 1) / 2].score < c.score; i = (i - 1) / 2)
    w->heap.at[i] = w->heap.at[(i - 1) / 2];
  w->heap.at[i] = c;
}

static Candidate heap_pop(Search *w) {
  Candidate first = w->heap.at[0], last = w->heap.at[--w->heap.n];
  uint32_t i = 0;
  for (uint32_t c = 1; c < w->heap.n; c = 2 * i + 1) {
    if (c + 1 < w->heap.n && w->heap.at[c + 1].score > w->heap.at[c].score) c++;
    if (w->heap.at[c].score <= last.score) break;
    w->heap.at[i] = w->heap.at[c];
    i = c;
  }
  w->heap.at[i] = last;
  return first;
}

/* What dropping the gap before touch i removes of the excess, per cost of its maker, other results
   of which may go with it; 0 where it cannot be dropped. A guess from above: what the rerun reads
   may have to be held or made again, too. */
static double hope(Search *w, int v, int i) {
  RematState *s = w->s;
  if (!remat_droppable(s, v, i)) return 0;
  const RematTouch *t = &s->touch[v].at[i];
  int64_t gain = 0, size = s->p->storage[v].size;
  for (int k = t[-1].step; k <= t->step; k++) {
    int64_t over = s->live[k] - s->limit;
    if (over > 0) gain += over < size ? over : size;
  }
  s->work += t->step - t[-1].step + 1;
  return (double)gain / (s->p->step[s->p->storage[v].maker].cost + 1);
}

static void offer(Search *w, int v, int i) {
  double score = hope(w, v, i), luck = jitter(w);
  if (score > 0) heap_push(w, (Candidate){score * luck, luck, v, w->s->touch[v].at[i].step});
}

/* ---------------------------------------------------------------- greedy ---- */

/* Makes the move; returns the excess removed per cost added. */
static double attempt(Search *w, Candidate c, bool by_price) {
  RematState *s = w->s;
  double cost = s->cost;
  int64_t excess = s->excess;
  s->by_price = by_price;
  remat_drop(s, c.storage, remat_touch_at(s, c.storage, c.step));
  remat_settle(s);
  if (excess <= s->excess) return -1;
  return s->cost <= cost ? INFINITY : (double)(excess - s->excess) / (s->cost - cost);
}

/* The better of both ways to find what the rerun reads is left done. */
static double attempt_both(Search *w, Candidate c) {
  RematState *s = w->s;
  uint32_t mark = s->log.n;
  s->choices = 0;
  double priced = attempt(w, c, true);
  if (!s->choices || isinf(priced)) return priced;
  remat_undo(s, mark);
  double again = attempt(w, c, false);
  if (again > priced) return again;
  remat_undo(s, mark);
  return attempt(w, c, true);
}

/* Gaps that a move opened or closed have new scores. */
static void offer_changed(Search *w, uint32_t from) {
  RematState *s = w->s;
  for (uint32_t k = from, end = s->log.n; k < end; k++) {
    const RematChange *g = &s->log.at[k];
    if (g->kind != TOUCH_IN && g->kind != TOUCH_HELD) continue;
    int v = g->a, i = remat_touch_at(s, v, g->b);
    if (i < 0) continue;
    offer(w, v, i);
    if (i + 1 < (int)s->touch[v].n) offer(w, v, i + 1);
  }
}

static void offer_all(Search *w) {
  RematState *s = w->s;
  int *over = w->over;
  for (int t = 0; t <= s->p->nsteps; t++) over[t + 1] = over[t] + (s->live[t] > s->limit);
  w->heap.n = 0;
  for (int v = 0; v < s->p->nstorages; v++)
    for (int i = 1; i < (int)s->touch[v].n; i++) {
      const RematTouch *t = &s->touch[v].at[i];
      if (over[t->step + 1] > over[t[-1].step]) offer(w, v, i);
    }
}

/* Drops gaps, the best first, until nothing exceeds the limit. A popped move is measured exactly
   and taken if it still beats the bound of the next one. */
static bool greedy(Search *w) {
  RematState *s = w->s;
  for (bool moved = true; s->excess > 0 && moved && !out_of_time(w);) {
    moved = false;
    offer_all(w);
    if (w->heap.n) s->price = w->heap.at[0].score;
    while (s->excess > 0 && w->heap.n && !out_of_time(w)) {
      Candidate c = heap_pop(w);
      int i = remat_touch_at(s, c.storage, c.step);
      double now = i < 0 ? 0 : hope(w, c.storage, i) * c.luck;
      if (now <= 0) continue;
      if (now < c.score) c.score = now; /* what was done since took some of it */
      if (w->heap.n && c.score < w->heap.at[0].score * 0.95) {
        heap_push(w, c);
        continue;
      }
      if (s->price > c.score) s->price = c.score;
      uint32_t mark = s->log.n;
      double score = attempt_both(w, c), noisy = score * c.luck;
      if (score <= 0 || (w->heap.n && noisy < w->heap.at[0].score * 0.95)) {
        remat_undo(s, mark);
        if (score > 0) heap_push(w, (Candidate){noisy, c.luck, c.storage, c.step});
        continue;
      }
      s->price = score;
      moved = true;
      offer_changed(w, mark);
    }
  }
  return s->excess == 0;
}

/* ---------------------------------------------------------------- holding again ---- */

static int by_score(const void *pa, const void *pb) {
  const Candidate *a = pa, *b = pb;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  return (a->storage > b->storage) - (a->storage < b->storage);
}

/* Gaps that are dropped and end at steps lo to hi, dearest first; with share < 1 some, in any
 * order.
 */
static void list_dropped(Search *w, int lo, int hi, double share) {
  RematState *s = w->s;
  w->list.n = 0;
  for (int v = 0; v < s->p->nstorages; v++)
    for (int i = 1; i < (int)s->touch[v].n; i++) {
      const RematTouch *t = &s->touch[v].at[i];
      if (t->held || t->step < lo || t->step > hi) continue;
      if (share < 1 && random01(w) >= share) continue;
      double score = share < 1 ? random01(w) : s->p->step[s->p->storage[v].maker].cost;
      vec_push(w->a, &w->list, (Candidate){score, 1, v, t->step});
    }
  s->work += s->p->nstorages;
  if (w->list.n) qsort(w->list.at, w->list.n, sizeof *w->list.at, by_score);
}

static bool fits_held(const RematState *s, int v, int i) {
  const RematTouch *t = &s->touch[v].at[i];
  for (int k = t[-1].step + 1; k < t->step; k++)
    if (s->live[k] + s->p->storage[v].size > s->limit) return false;
  return true;
}

static bool prune_once(Search *w) {
  RematState *s = w->s;
  bool changed = false;
  list_dropped(w, 0, s->p->nsteps, 1);
  s->by_price = false;
  for (uint32_t k = 0; k < w->list.n; k++) {
    Candidate c = w->list.at[k];
    int i = remat_touch_at(s, c.storage, c.step);
    if (i < 1 || s->touch[c.storage].at[i].held || !fits_held(s, c.storage, i)) continue;
    double cost = s->cost;
    int64_t excess = s->excess;
    uint32_t mark = s->log.n;
    remat_hold(s, c.storage, i);
    remat_settle(s);
    if (s->excess > excess || s->cost >= cost)
      remat_undo(s, mark);
    else
      changed = true;
  }
  return changed;
}

static void prune(Search *w) {
  while (prune_once(w) && w->s->work < w->deadline) {
  }
}

enum { IDLE_ROUNDS = 1000 }; /* without gain: enough is enough */

static void ruin_and_recreate(Search *w) {
  RematState *s = w->s;
  int n = s->p->nsteps;
  for (int idle = 0; idle < IDLE_ROUNDS && s->work < w->deadline && s->cost > 0; idle++) {
    s->log.n = 0;
    double cost = s->cost, far = random01(w), share = 0.1 + 0.9 * random01(w);
    int centre = (int)(random01(w) * n), reach = 4 + (int)(far * far * far * n / 3);
    uint32_t most = 1 + (uint32_t)(40 * random01(w));
    list_dropped(w, centre - reach, centre + reach, share < 1 ? share : 0.99);
    s->by_price = false;
    for (uint32_t k = 0; k < w->list.n && k < most; k++) {
      Candidate c = w->list.at[k];
      int i = remat_touch_at(s, c.storage, c.step);
      if (i > 0 && !s->touch[c.storage].at[i].held) remat_hold(s, c.storage, i);
    }
    remat_settle(s);
    w->noise = 1.5 * random01(w);
    bool ok = greedy(w);
    w->noise = 0;
    if (ok) prune(w);
    if (ok && s->cost < cost * (1 - 1e-6)) idle = 0;
    if (!ok || s->cost > cost) remat_undo(s, 0);
  }
}

/* ---------------------------------------------------------------- starts ---- */

/* Cuts the way to the peak at its narrowest place each time `length` units were made; holds what
   crosses a cut, drops the rest that is read behind the peak. */
static void start_segments(Search *w, double length) {
  RematState *s = w->s;
  const RematProblem *p = s->p;
  int turn = w->peak_step, best = -1;
  int64_t *cross = ARENA_ARRAY(w->a, int64_t, p->nsteps + 2);
  bool *keep = ARENA_ARRAY(w->a, bool, p->nstorages + 1);
  double made = 0;
  remat_reset(s);
  for (int v = 0; v < p->nstorages; v++) {
    if (p->storage[v].maker >= turn) continue;
    int end = remat_touch_after(s, v, turn);
    cross[p->storage[v].maker] += p->storage[v].size;
    if (end) cross[s->touch[v].at[end - 1].step] -= p->storage[v].size;
  }
  for (int t = 1; t <= p->nsteps; t++) cross[t] += cross[t - 1];
  for (int t = 0; t < turn; t++) {
    for (int k = 0; k < p->step[t].nout; k++) made += p->storage[p->step[t].out[k]].size;
    if (made > length && (best < 0 || cross[t] < cross[best])) best = t;
    if (made <= length * 1.3 || best < 0) continue;
    for (int v = 0; v < p->nstorages; v++) {
      if (p->storage[v].maker > best) continue;
      int i = remat_touch_after(s, v, best + 1);
      keep[v] |= i < (int)s->touch[v].n && s->touch[v].at[i].step < turn;
    }
    made = 0;
    for (int k = best + 1; k <= t; k++)
      for (int j = 0; j < p->step[k].nout; j++) made += p->storage[p->step[k].out[j]].size;
    best = -1;
  }
  s->by_price = false;
  s->keep = keep;
  for (int v = 0; v < p->nstorages; v++) {
    if (keep[v] || p->storage[v].maker >= turn) continue;
    int i = remat_touch_after(s, v, turn);
    if (i > 0 && i < (int)s->touch[v].n && remat_droppable(s, v, i)) remat_drop(s, v, i);
  }
  remat_settle(s);
  s->keep = NULL;
  s->log.n = 0;
}

/* Eviction as a planner: steps run in order, and when bytes are short the storage goes that costs
   least to make again (with what else is gone around it) for its bytes and age. */
typedef struct Evict {
  Search *w;
  const RematProblem *p;
  bool *here;    /* by storage */
  int *used;     /* by storage: time of last use */
  int *unread;   /* by storage: readers of the given order to come */
  int *pinned;   /* by storage */
  int64_t *mark; /* by storage */
  int64_t stamp;
  int clock, step;
  int64_t held, limit;
  double cost;
} Evict;

static double neighbourhood(Evict *d, int v, int depth) {
  const RematStep *o = &d->p->step[d->p->storage[v].maker];
  double c = o->cost;
  d->w->s->work++;
  if (depth >= 200) return c;
  for (int k = 0; k < o->nin; k++) {
    int x = o->in[k];
    if (d->here[x] || d->mark[x] == d->stamp) continue;
    d->mark[x] = d->stamp;
    c += neighbourhood(d, x, depth + 1);
  }
  return c;
}

static bool evictable(const Evict *d, int v) {
  const RematStorage *x = &d->p->storage[v];
  if (!d->here[v] || d->pinned[v] || x->kept || d->p->step[x->maker].latest < 0) return false;
  return !d->unread[v] || remat_may_rerun(d->p, x->maker, d->step);
}

static bool make_room(Evict *d, int64_t want) {
  while (d->held + want > d->limit) {
    double least = INFINITY;
    int victim = -1;
    for (int v = 0; v < d->p->nstorages; v++) {
      d->w->s->work++;
      if (!evictable(d, v)) continue;
      d->stamp++;
      double age = d->clock - d->used[v] + 1, size = d->p->storage[v].size;
      double h = neighbourhood(d, v, 0) / (size * age);
      if (h < least) {
        least = h;
        victim = v;
      }
    }
    if (victim < 0 || d->w->s->work > d->w->deadline) return false;
    d->here[victim] = false;
    d->held -= d->p->storage[victim].size;
  }
  return true;
}

static int64_t bytes_wanted(Evict *d, const RematStep *o, bool again) {
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
      over |= o->pair[q].out == k && d->pinned[x] == 1 && d->unread[x] == 1;
    }
    if (!over) want += d->p->storage[w].size;
  }
  return want;
}

static bool evict_run(Evict *d, int step, int depth) {
  const RematStep *o = &d->p->step[step];
  enum { DEEPEST = 5000 }; /* of the recursion: a longer chain of reruns is no good plan */
  bool ok = depth < DEEPEST && d->cost < d->w->most && d->w->s->work < d->w->deadline;
  for (int k = 0; k < o->nin; k++) d->pinned[o->in[k]]++;
  for (int k = 0; k < o->nin && ok; k++) {
    int maker = d->p->storage[o->in[k]].maker;
    if (!d->here[o->in[k]])
      ok = remat_may_rerun(d->p, maker, d->step) && evict_run(d, maker, depth + 1);
  }
  if (ok && make_room(d, bytes_wanted(d, o, depth > 0))) {
    d->clock++;
    if (step != d->step) {
      RematAgain *r = &d->w->s->again[d->step];
      bool there = false;
      for (uint32_t k = 0; k < r->n; k++) there |= r->at[k] == step;
      if (!there) vec_push(d->w->s->a, r, step);
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
  for (int k = 0; k < o->nin; k++) d->pinned[o->in[k]]--;
  return ok;
}

static int by_number(const void *a, const void *b) {
  return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static bool start_evicting(Search *w, int64_t limit) {
  RematState *s = w->s;
  int n = s->p->nstorages;
  Evict d = {.w = w, .p = s->p, .limit = limit};
  d.here = ARENA_ARRAY(w->a, bool, n + 1);
  d.used = ARENA_ARRAY(w->a, int, n + 1);
  d.unread = ARENA_ARRAY(w->a, int, n + 1);
  d.pinned = ARENA_ARRAY(w->a, int, n + 1);
  d.mark = ARENA_ARRAY(w->a, int64_t, n + 1);
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

/* ---------------------------------------------------------------- the whole ---- */

enum { LOOSER = 4, SEGMENTS = 12, EVICTIONS = 10, STARTS = 1 + LOOSER + SEGMENTS + EVICTIONS };

/* A looser limit first, tightened in steps of 15 %. */
static void start_looser(Search *w, int limit, int steps) {
  RematState *s = w->s;
  remat_reset(s);
  for (int j = steps; j > 0; j--) {
    double looser = limit * (1 + 0.15 * j);
    if (looser >= w->peak) continue;
    remat_set_limit(s, (int)looser);
    if (greedy(w)) prune(w);
  }
}

static bool start(Search *w, int limit, int k, int64_t effort) {
  RematState *s = w->s;
  w->deadline = s->work + effort;
  s->limit = limit;
  if (k <= LOOSER) {
    start_looser(w, limit, k);
  } else if (k <= LOOSER + SEGMENTS) {
    start_segments(w, w->made * 0.7 * pow(0.75, k - LOOSER - 1));
  } else {
    double lower = limit * (0.85 + 0.1 * (k - LOOSER - SEGMENTS - 1));
    if (lower > w->peak || !start_evicting(w, (int64_t)lower)) return false;
  }
  s->log.n = 0;
  remat_set_limit(s, limit);
  if (s->cost > w->most) return false;
  bool ok = greedy(w);
  if (ok) prune(w);
  s->log.n = 0;
  return ok && s->excess == 0;
}

static Search search_new(RematState *s) {
  Search w = {.s = s, .a = s->a, .seed = 88172645463325252u};
  w.over = ARENA_ARRAY(s->a, int, s->p->nsteps + 2);
  s->limit = INT32_MAX;
  remat_reset(s);
  w.peak = remat_peak(s, &w.peak_step);
  for (int t = 0; t < w.peak_step; t++)
    for (int k = 0; k < s->p->step[t].nout; k++) w.made += s->p->storage[s->p->step[t].out[k]].size;
  return w;
}

/* Leaves the state at the best start, which is made once more. */
static bool best_start(Search *w, int limit, int64_t effort) {
  RematState *s = w->s;
  double least = INFINITY;
  int best = -1;
  int64_t end = s->work + effort;
  for (int k = 0; k < STARTS && s->work < end; k++) {
    w->most = best < 0 ? 1.5 * s->p->cost : least * 1.3 + 0.02 * s->p->cost;
    int64_t share = best < 0 ? end - s->work : (end - s->work) / 4;
    if (!start(w, limit, k, share > 0 ? share : 1) || s->cost >= least) continue;
    least = s->cost;
    best = k;
    if (least == 0) return true;
  }
  w->most = INFINITY;
  return best >= 0 && start(w, limit, best, INT64_MAX / 4);
}

RematPlan remat_search(RematState *s, int limit, int64_t effort) {
  Search w = search_new(s);
  int at;
  RematPlan out = {0};
  for (int t = 0; t < s->p->nsteps; t++)
    if (s->within[t] > limit) return out; /* one op alone needs more */
  out.fits = best_start(&w, limit, effort / 2);
  if (out.fits) {
    w.most = 1.6 * s->p->cost;
    w.deadline = s->work + effort / 2;
    ruin_and_recreate(&w);
    s->log.n = 0;
  }
  out.peak = remat_peak(s, &at);
  out.flops = s->flops;
  out.cost = s->cost;
  return out;
}

int remat_least(RematState *s, int floor, int ceiling, int64_t effort) {
  int least = ceiling, at;
  Search w = search_new(s);
  int precision = w.peak / 400 + 1;
  for (int lo = floor; ceiling - lo > precision;) {
    int m = lo + (ceiling - lo) / 2;
    if (best_start(&w, m, effort)) {
      least = m;
      ceiling = remat_peak(s, &at);
    } else {
      lo = m + 1;
    }
  }
  return least;
}
