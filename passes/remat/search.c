/* The search for a cheap schedule within a limit. Contract: deterministic; work is counted, not
   timed. Several starts (nothing dropped; a looser limit first; segments of sqrt(n) kind; eviction
   step by step, as DTR does at run time) are each completed by a greedy descent on excess bytes x
   steps removed per cost added, pruned, and the best is improved by ruin and recreate (Schrimpf et
   al. 2000): hold what a window of steps dropped, repair it with noise, keep what is cheaper. A
   start of many steps needs most of the effort, and one that fits little: see best_start. */
#include "passes/remat/search_impl.h"

#include <math.h>

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
    if (search_greedy(w)) search_prune(w);
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
  bool ok = search_descend(w);
  if (ok) search_prune(w);
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
    search_ruin_and_recreate(&w);
    s->log.n = 0;
  }
  return result(s, fits);
}

RematPlan remat_tighten(RematState *s, int limit, int64_t effort) {
  RematSearch w = search_here(s);
  w.deadline = s->work + effort / 2;
  s->log.n = 0;
  remat_set_limit(s, limit);
  bool fits = search_descend(&w);
  if (fits) {
    search_prune(&w);
    w.deadline = s->work + effort / 2;
    search_ruin_and_recreate(&w);
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
    if (search_descend(&w)) {
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
