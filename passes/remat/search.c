/* The search for a cheap schedule within a limit. Contract: deterministic; work is counted, not
   timed. Several starts (nothing dropped; a looser limit first; segments of sqrt(n) kind; eviction
   step by step, as DTR does at run time) are each completed by a greedy descent on excess bytes x
   steps removed per cost added, pruned, and the best is improved by ruin and recreate (Schrimpf et
   al. 2000): hold what a window of steps dropped, repair it with noise, keep what is cheaper. A
   start of many steps needs most of the effort, and one that fits little: see best_start. */
#include "ir/support/heap.h"
#include "passes/analysis/search_math.h"
#include "passes/remat/remat_impl.h"

#include <math.h>
#include <stdlib.h>

typedef struct Move {
  double score;
  double factor; /* a factor of the score */
  int storage, step;
} Move;

typedef struct RematSearch {
  RematState *s;
  Arena *a;
  VEC(Move) heap;
  VEC(Move) list;
  RematSaved best;   /* the best start */
  double noise;      /* of scores: 0 none */
  double max;        /* added cost beyond which a start is given up */
  double incumbent;  /* added cost of a plan that is there already */
  double all;        /* excess where nothing is recomputed */
  int64_t deadline;  /* of s->work */
  int64_t extension; /* beyond it: see out_of_time */
  uint64_t seed;
  int peak_step, peak; /* of the plan in which nothing is recomputed */
  double made;         /* units made up to peak_step */
  int *over;           /* by step: how many before it exceed the limit */
} RematSearch;

static double random01(RematSearch *w) { return (double)(search_random(&w->seed) >> 11) * 0x1p-53; }

static double jitter(RematSearch *w) {
  return w->noise > 0 ? search_exp(w->noise * (random01(w) - 0.5)) : 1;
}

enum { NEARLY_DONE = 8 }; /* of the excess, one part in so many */

/* A start that is almost complete when its effort ends continues: resuming it later would cost as
   much. */
static bool out_of_time(RematSearch *w) {
  const RematState *s = w->s;
  if (s->work > w->deadline && (double)s->excess * NEARLY_DONE < w->all) {
    w->deadline += w->extension;
    w->extension = 0;
  }
  return s->work > w->deadline || s->cost > w->max;
}

/* ---------------------------------------------------------------- moves by score ---- */

static bool is_better(const void *a, const void *b) {
  return ((const Move *)a)->score > ((const Move *)b)->score;
}

static void push_move(RematSearch *w, Move c) { HEAP_PUSH(w->a, &w->heap, is_better, c); }

static Move pop_move(RematSearch *w) {
  Move first = w->heap.at[0];
  HEAP_POP(&w->heap, is_better);
  return first;
}

/* Excess that dropping the gap before use i removes, per cost of recomputing its op, whose other
   results may be dropped with it; 0 if it cannot be dropped. An upper bound: operands of the
   recomputed op may have to be held or recomputed, too. */
static double optimistic_score(RematSearch *w, int v, int i) {
  RematState *s = w->s;
  if (!remat_droppable(s, v, i)) return 0;
  const RematUse *t = &s->use[v].at[i];
  int64_t gain = -remat_rise(s, t[-1].step, t->step, -s->p->storage[v].size);
  return (double)gain / (s->p->step[s->p->storage[v].maker].cost + 1);
}

enum { TO_OFFER = 20, TO_POP = 100 }; /* nanoseconds, about */

static void offer(RematSearch *w, int v, int i) {
  double score = optimistic_score(w, v, i), factor = jitter(w);
  w->s->work += TO_OFFER;
  if (score > 0) push_move(w, (Move){score * factor, factor, v, w->s->use[v].at[i].step});
}

/* ---------------------------------------------------------------- greedy ---- */

/* Makes the move; returns the excess removed per cost added. */
static double attempt(RematSearch *w, Move c, bool by_price) {
  RematState *s = w->s;
  double cost = s->cost;
  int64_t excess = s->excess;
  s->by_price = by_price;
  remat_drop(s, c.storage, remat_use_at(s, c.storage, c.step));
  remat_settle(s);
  if (excess <= s->excess) return -1;
  return s->cost <= cost ? INFINITY : (double)(excess - s->excess) / (s->cost - cost);
}

/* The better of both ways to find what the rerun reads is left done. */
static double attempt_both(RematSearch *w, Move c) {
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
static void offer_changed(RematSearch *w, uint32_t from) {
  RematState *s = w->s;
  for (uint32_t k = from, end = s->log.n; k < end; k++) {
    const RematChange *g = &s->log.at[k];
    if (g->kind != USE_IN && g->kind != USE_HELD) continue;
    int v = g->a, i = remat_use_at(s, v, g->b);
    if (i < 0) continue;
    offer(w, v, i);
    if (i + 1 < (int)s->use[v].n) offer(w, v, i + 1);
  }
}

static void offer_all(RematSearch *w) {
  RematState *s = w->s;
  int *over = w->over;
  for (int t = 0; t <= s->p->nsteps; t++) over[t + 1] = over[t] + (remat_live(s, t) > s->limit);
  w->heap.n = 0;
  for (int v = 0; v < s->p->nstorages; v++)
    for (int i = 1; i < (int)s->use[v].n; i++) {
      const RematUse *t = &s->use[v].at[i];
      if (over[t->step + 1] > over[t[-1].step]) offer(w, v, i);
    }
}

/* Share of the next move's score: always waiting for a better move costs more than it gains, and
   taking a much worse one ruins the order. */
static const double good_enough = 0.95;

/* Drops gaps, the best first, until nothing exceeds the limit. A popped move is measured exactly
   and taken if it still beats the bound of the next one. */
static bool greedy_descent(RematSearch *w) {
  RematState *s = w->s;
  for (bool moved = true; s->excess > 0 && moved && !out_of_time(w);) {
    moved = false;
    offer_all(w);
    if (w->heap.n) s->price = w->heap.at[0].score;
    while (s->excess > 0 && w->heap.n && !out_of_time(w)) {
      Move c = pop_move(w);
      s->work += TO_POP;
      int i = remat_use_at(s, c.storage, c.step);
      double now = i < 0 ? 0 : optimistic_score(w, c.storage, i) * c.factor;
      if (now <= 0) continue;
      if (now < c.score) c.score = now; /* what was done since took some of it */
      if (w->heap.n && c.score < w->heap.at[0].score * good_enough) {
        push_move(w, c);
        continue;
      }
      if (s->price > c.score) s->price = c.score;
      uint32_t mark = s->log.n;
      double score = attempt_both(w, c), noisy = score * c.factor;
      if (score <= 0 || (w->heap.n && noisy < w->heap.at[0].score * good_enough)) {
        remat_undo(s, mark);
        if (score > 0) push_move(w, (Move){noisy, c.factor, c.storage, c.step});
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

static int moves_by_score(const void *pa, const void *pb) {
  const Move *a = pa, *b = pb;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  return (a->storage > b->storage) - (a->storage < b->storage);
}

/* Gaps that are dropped and end at steps lo to hi, most expensive first; with share < 1 some, in
   any order.
 */
static void list_dropped(RematSearch *w, int lo, int hi, double share) {
  RematState *s = w->s;
  w->list.n = 0;
  for (int v = 0; v < s->p->nstorages; v++)
    for (int i = 1; i < (int)s->use[v].n; i++) {
      const RematUse *t = &s->use[v].at[i];
      if (t->held || t->step < lo || t->step > hi) continue;
      if (share < 1 && random01(w) >= share) continue;
      double score = share < 1 ? random01(w) : s->p->step[s->p->storage[v].maker].cost;
      vec_push(w->a, &w->list, (Move){score, 1, v, t->step});
    }
  s->work += s->p->nstorages;
  if (w->list.n) qsort(w->list.at, w->list.n, sizeof *w->list.at, moves_by_score);
}

static bool fits_held(const RematState *s, int v, int i) {
  const RematUse *t = &s->use[v].at[i];
  return remat_room(s, t[-1].step + 1, t->step - 1, s->p->storage[v].size);
}

static bool prune_once(RematSearch *w) {
  RematState *s = w->s;
  bool changed = false;
  list_dropped(w, 0, s->p->nsteps, 1);
  s->by_price = false;
  for (uint32_t k = 0; k < w->list.n && s->work < w->deadline; k++) {
    Move c = w->list.at[k];
    int i = remat_use_at(s, c.storage, c.step);
    s->work++;
    if (i < 1 || s->use[c.storage].at[i].held || !fits_held(s, c.storage, i)) continue;
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

static void prune(RematSearch *w) {
  while (prune_once(w) && w->s->work < w->deadline) {
  }
}

enum {
  IDLE_ROUNDS = 1000, /* without gain: enough is enough */
  IDLE_REPAIRS = 40,
  MAX_HELD = 40, /* gaps that a round holds again */
  MIN_REACH = 4  /* steps on either side of its centre */
};
static const double max_noise = 1.5; /* of scores, as a power of e */

/* Holds again some of what was dropped up to steps around the centre. */
static void ruin(RematSearch *w, int centre) {
  RematState *s = w->s;
  double far = random01(w), share = 0.1 + 0.9 * random01(w);
  int reach = MIN_REACH + (int)(far * far * far * s->p->nsteps / 3);
  uint32_t max = 1 + (uint32_t)(MAX_HELD * random01(w));
  list_dropped(w, centre - reach, centre + reach, share < 1 ? share : 0.99);
  s->by_price = false;
  for (uint32_t k = 0; k < w->list.n && k < max; k++) {
    Move c = w->list.at[k];
    int i = remat_use_at(s, c.storage, c.step);
    if (i > 0 && !s->use[c.storage].at[i].held) remat_hold(s, c.storage, i);
  }
  remat_settle(s);
}

static bool recreate(RematSearch *w) {
  w->noise = max_noise * random01(w);
  bool ok = greedy_descent(w);
  w->noise = 0;
  return ok;
}

static void ruin_and_recreate(RematSearch *w) {
  RematState *s = w->s;
  for (int idle = 0; idle < IDLE_ROUNDS && s->work < w->deadline && s->cost > 0; idle++) {
    s->log.n = 0;
    double cost = s->cost;
    ruin(w, (int)(random01(w) * s->p->nsteps));
    bool ok = recreate(w);
    if (ok) prune(w);
    if (ok && s->cost < cost * (1 - 1e-6)) idle = 0;
    if (!ok || s->cost > cost) remat_undo(s, 0);
  }
}

/* No single move reduces the excess any more: recomputed values there hinder each other. Repeats
   the repair around the step that exceeds the limit most. */
static bool repair(RematSearch *w) {
  RematState *s = w->s;
  for (int idle = 0; idle < IDLE_REPAIRS && s->excess > 0 && !out_of_time(w); idle++) {
    s->log.n = 0;
    int64_t excess = s->excess;
    int at;
    (void)remat_peak(s, &at);
    ruin(w, at);
    (void)recreate(w);
    if (s->excess < excess)
      idle = 0;
    else
      remat_undo(s, 0);
  }
  return s->excess == 0;
}

static bool descend(RematSearch *w) { return greedy_descent(w) || (!out_of_time(w) && repair(w)); }

/* ---------------------------------------------------------------- the whole ---- */

enum { LOOSER = 4, SEGMENTS = 24, EVICTIONS = 10, STARTS = 1 + LOOSER + SEGMENTS + EVICTIONS };

static const double looser_by = 0.15;  /* of the limit, each */
static const double longest = 0.7;     /* segment, of what is made on the way to the peak */
static const double shorter = 0.75;    /* is each segment than the one before */
static const double tightest = 0.85;   /* limit of eviction, of the one asked for */
static const double eviction_by = 0.1; /* of the limit, each */

/* A looser limit first, tightened step by step. */
static void start_looser(RematSearch *w, int limit, int steps) {
  RematState *s = w->s;
  remat_reset(s);
  for (int j = steps; j > 0; j--) {
    double looser = limit * (1 + looser_by * j);
    if (looser >= w->peak) continue;
    remat_set_limit(s, (int)looser);
    if (greedy_descent(w)) prune(w);
  }
}

typedef enum Outcome { FITS, FAILS, LATE } Outcome; /* LATE: with more effort it might fit */

static Outcome start(RematSearch *w, int limit, int k, int64_t effort) {
  RematState *s = w->s;
  w->deadline = s->work > INT64_MAX - effort ? INT64_MAX : s->work + effort;
  s->limit = limit;
  if (k <= LOOSER) {
    start_looser(w, limit, k);
  } else if (k <= LOOSER + SEGMENTS) {
    double length = w->made * longest;
    for (int i = LOOSER + 1; i < k; i++) length *= shorter;
    remat_segments(s, w->peak_step, length);
  } else {
    double lower = limit * (tightest + eviction_by * (k - LOOSER - SEGMENTS - 1));
    if (lower > w->peak) return FAILS;
    if (!remat_evict(s, (int64_t)lower, w->max, w->deadline))
      return s->work > w->deadline ? LATE : FAILS;
  }
  s->log.n = 0;
  remat_set_limit(s, limit);
  if (s->excess > 0 && s->cost > w->max) return FAILS;
  bool ok = descend(w);
  if (ok) prune(w);
  s->log.n = 0;
  if (ok && s->excess == 0) return FITS;
  return s->work > w->deadline ? LATE : FAILS;
}

static RematSearch search_here(RematState *s) {
  RematSearch w = {
      .s = s, .a = s->a, .incumbent = INFINITY, .max = INFINITY, .seed = 88172645463325252u};
  w.over = ARENA_ARRAY(s->a, int, s->p->nsteps + 2);
  return w;
}

static RematSearch search_new(RematState *s) {
  RematSearch w = search_here(s);
  s->limit = INT32_MAX;
  remat_reset(s);
  w.peak = remat_peak(s, &w.peak_step);
  for (int t = 0; t < w.peak_step; t++)
    for (int k = 0; k < s->p->step[t].nout; k++) w.made += s->p->storage[s->p->step[t].out[k]].size;
  return w;
}

typedef struct Start {
  double excess, cost; /* when its effort was used up */
  int rounds;          /* that it had */
  bool ended;
} Start;

/* The next start of a round: while none fits, the one with the least excess. Then the one with the
   least expected cost, if its remaining excess costs as much as that already removed. A start that
   is almost complete comes before one that has hardly begun, whose cost is unknown. -1: none. */
static int next_start(const Start *of, int round, double cheapest, double all) {
  int best = -1;
  double min = 0;
  bool fits = isfinite(cheapest);
  for (int k = 0; k < STARTS; k++) {
    if (of[k].ended || of[k].rounds > round) continue;
    double done = all > of[k].excess ? 1 - of[k].excess / all : 0;
    double key = !fits ? of[k].excess : done > 0 ? of[k].cost / done : INFINITY;
    if (fits && key < cheapest && of[k].excess * NEARLY_DONE < all) key -= cheapest;
    if (best >= 0 && key >= min) continue;
    best = k;
    min = key;
  }
  return best;
}

/* Every start gets a small share of the effort first. Of those that need more, the most promising
   get a larger share, then the rest of the effort. A start is abandoned if it recomputes more than
   half of the program, or costs too much more than the best for later steps to make up. Leaves the
   state at the best start; with any = true at the first one that fits. */
static const double tolerance = 1.3, tolerance_of_program = 0.02;

static bool best_start(RematSearch *w, int limit, int64_t effort, bool any) {
  enum { ROUNDS = 3 };
  static const int share[ROUNDS] = {256, 16, 1}, share_once_fit[ROUNDS] = {256, 2, 1};
  static const double too_much = 1.5;
  RematState *s = w->s;
  Start of[STARTS] = {0};
  double min = INFINITY;
  int64_t end = s->work + effort;
  remat_set_limit(s, limit); /* of the state in which nothing is recomputed */
  w->all = (double)s->excess;
  for (int round = 0; round < ROUNDS; round++)
    for (int k; s->work < end && (k = next_start(of, round, min, w->all)) >= 0;) {
      double bar = min < w->incumbent ? min : w->incumbent;
      w->max =
          isinf(bar) ? too_much * s->p->cost : tolerance * bar + tolerance_of_program * s->p->cost;
      int64_t max = effort / (isinf(bar) ? share : share_once_fit)[round], rest = end - s->work;
      if (max > rest) max = rest;
      w->extension = round ? (max < rest - max ? max : rest - max) : 0;
      s->excess = INT64_MAX; /* unless the start comes to its descent */
      Outcome got = start(w, limit, k, max);
      of[k] = (Start){(double)s->excess, s->cost, round + 1, got != LATE};
      if (got != FITS || s->cost >= min) continue;
      if (any) return true;
      min = s->cost;
      remat_save(s, &w->best);
    }
  w->max = INFINITY;
  w->extension = 0;
  if (isinf(min)) return false;
  remat_restore(s, &w->best, limit);
  return true;
}

static RematPlan result(const RematState *s, bool fits) {
  int at;
  return (RematPlan){fits, remat_peak(s, &at), s->flops, s->cost};
}

static bool some_step_needs_more(const RematState *s, int limit) {
  for (int t = 0; t < s->p->nsteps; t++)
    if (s->within[t] > limit) return true;
  return false;
}

RematPlan remat_search(RematState *s, int limit, int64_t effort, double incumbent, double near) {
  RematSearch w = search_new(s);
  int64_t end = s->work + effort;
  w.incumbent = incumbent;
  if (some_step_needs_more(s, limit)) return (RematPlan){0};
  bool fits = best_start(&w, limit, effort / 4 * 3, false);
  if (fits) {
    w.deadline = s->flops <= near ? s->work + effort / 4 : end;
    ruin_and_recreate(&w);
    s->log.n = 0;
  }
  return result(s, fits);
}

RematPlan remat_tighten(RematState *s, int limit, int64_t effort) {
  RematSearch w = search_here(s);
  w.deadline = s->work + effort / 2;
  s->log.n = 0;
  remat_set_limit(s, limit);
  bool fits = descend(&w);
  if (fits) {
    prune(&w);
    w.deadline = s->work + effort / 2;
    ruin_and_recreate(&w);
  }
  s->log.n = 0;
  return result(s, fits);
}

int remat_min(RematState *s, int floor, int ceiling, int64_t effort) {
  enum { PRECISION = 400 }; /* of the peak */
  int at;
  RematSearch w = search_new(s);
  RematSaved min = {0};
  int precision = w.peak / PRECISION + 1;
  remat_save(s, &min);
  for (int lo = floor; ceiling - lo > precision;) {
    int m = lo + (ceiling - lo) / 2;
    if (best_start(&w, m, effort, true)) {
      ceiling = remat_peak(s, &at);
      remat_save(s, &min);
    } else {
      lo = m + 1;
    }
  }
  remat_restore(s, &min, ceiling);
  return ceiling;
}

int remat_shrink(RematState *s, int floor, int64_t effort) {
  enum { FIRST = 64, LAST = 400, SHARE = 4 }; /* steps, of what is left; effort of one */
  int at, min = remat_peak(s, &at);
  int64_t end = s->work + effort;
  RematSaved saved = {0};
  remat_save(s, &saved);
  for (int step = min / FIRST + 1; step > min / LAST && min > floor && s->work < end;) {
    RematSearch w = search_here(s);
    w.deadline = s->work + effort / SHARE < end ? s->work + effort / SHARE : end;
    s->log.n = 0;
    remat_set_limit(s, min - step > floor ? min - step : floor);
    if (descend(&w)) {
      min = remat_peak(s, &at);
      remat_save(s, &saved);
      step *= 2;
    } else {
      remat_restore(s, &saved, min);
      step /= 4;
    }
  }
  remat_restore(s, &saved, min);
  return min;
}
