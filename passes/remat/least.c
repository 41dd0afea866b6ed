/* The least bytes that an entry fits into. Algorithm: plans are shrunk as far as they go, then
   limits below are tried like any other. */
#include "passes/remat/tries.h"

static uint64_t bytes_of(const Remat *w, int units) { return (uint64_t)units * w->p.unit; }

/* No schedule takes less: a step alone needs it. */
static int floor_of(Remat *w) {
  int floor = 0;
  remat_reset(&w->s);
  for (int t = 0; t < w->p.nsteps; t++)
    if (w->s.within[t] > floor) floor = w->s.within[t];
  return floor;
}

/* Shrinks the plan of the try that takes least, and of those that may come below it. */
static Remat *shrink_nearest(Tries *x, int *min, const int *floor) {
  enum { NEAREST = 3 };
  Remat *best = NULL;
  bool *done = ARENA_ARRAY(x->at[0].a, bool, x->n + 1);
  for (int j = 0; j < NEAREST; j++) {
    int next = -1;
    for (int k = 0; k < x->n; k++)
      if (min[k] >= 0 && !done[k] &&
          (next < 0 || bytes_of(&x->at[k], min[k]) < bytes_of(&x->at[next], min[next])))
        next = k;
    if (next < 0) break;
    Remat *w = &x->at[next];
    done[next] = true;
    min[next] = remat_shrink(&w->s, floor[next], remat_effort(w, 100) / 4);
    if (!best || bytes_of(w, min[next]) < bytes_of(best, min[best - x->at])) best = w;
  }
  return best;
}

/* What was found at the least so far. */
typedef struct Least {
  Tries *x;
  Remat *best; /* one of them */
  Entry fitted;
  RematSaved saved; /* what is recomputed */
  RematPlan *found;
  uint64_t *arena;
} Least;

static void keep_min(Least *l, Remat *w, const RematPlan *plan, uint64_t bytes) {
  l->best = w;
  l->fitted = *w->e;
  l->saved = (RematSaved){0};
  remat_save(&w->s, &l->saved);
  *l->found = *plan;
  *l->arena = bytes;
}

/* Tries limits below the least one, as if the user had given them, in growing steps while there is
   a plan. The limits tried do not depend on the user's limit. So the least limit that one refusal
   names can be met, and no other refusal names a larger one. */
static void probe_below(Least *l) {
  enum { PROBES = 5, FIRST = 32, NEAR = 100 }; /* the first step; the least is known to so much */
  uint64_t step = *l->arena / FIRST, failed = 0;
  for (int k = 0; k < PROBES && step > *l->arena / NEAR; k++) {
    uint64_t arena = *l->arena, bytes;
    uint64_t limit = arena > step && arena - step > failed ? arena - step : failed + 1;
    RematPlan plan;
    Remat *w = tries_fit(l->x, limit, 0, remat_effort(&l->x->at[0], 100), &plan, &bytes);
    if (!w) {
      failed = limit;
      step = (arena - limit) / 2;
      continue;
    }
    keep_min(l, w, &plan, bytes);
    if (bytes <= failed) failed = 0; /* what is far below its limit */
    step = failed ? (bytes - failed) / 2 : 2 * step;
  }
}

/* Tries the limit one unit below the least one by itself, independent of other tries, until there
   is no plan: so a user who asks for it gets a refusal, too. While there is a plan, steps grow. */
static bool find_end(Least *l) {
  uint64_t unit = (uint64_t)l->x->at[0].t->align, step = unit;
  while (*l->arena > step) {
    Remat *first = &l->x->at[0];
    Tries own;
    RematPlan plan;
    uint64_t bytes;
    remat_as_given(first);
    if (!tries_new(l->x->a, first->r, first->e, first->g, &own)) return false;
    Remat *w = tries_fit(&own, *l->arena - step, 0, remat_effort(&own.at[0], 100), &plan, &bytes);
    if (w) {
      tries_free(l->x);
      *l->x = own;
      keep_min(l, w, &plan, bytes);
      step *= 2;
      continue;
    }
    tries_free(&own);
    if (step == unit) return true;
    step = unit;
  }
  return true;
}

static Remat *shrink(Tries *x, RematPlan *found, uint64_t *arena) {
  int *min = ARENA_ARRAY(x->at[0].a, int, x->n + 1),
      *floor = ARENA_ARRAY(x->at[0].a, int, x->n + 1);
  int at;
  for (int k = 0; k < x->n; k++) {
    Remat *w = tries_at(x, k);
    min[k] = -1;
    if (!w) continue;
    floor[k] = floor_of(w);
    min[k] = remat_min(&w->s, floor[k], remat_peak(&w->s, &at), remat_effort(w, 100) / MIN_SHARE);
  }
  Remat *best = shrink_nearest(x, min, floor);
  remat_as_given(best);
  *found = remat_added(
      best, remat_tighten(&best->s, remat_peak(&best->s, &at), remat_effort(best, 100) / 4));
  remat_rewrite(best);
  *arena = remat_arena(best, 0);
  return best;
}

/* Whatever the limit is, so what is known of the entry under none is done again. */
static Remat *shrink_once(Tries *x, RematPlan *found, uint64_t *arena) {
  Remat *first = &x->at[0];
  remat_as_given(first);
  RematKnown *known = remat_known(first->r, first->e, 0);
  if (known->chosen >= 0) {
    *found = known->found;
    *arena = known->arena;
    return tries_again(x, known->chosen, &known->again);
  }
  Remat *best = shrink(x, found, arena);
  remat_keep(first->r, known, x, best, found, *arena);
  return best;
}

Remat *tries_min(Tries *x, bool probe, RematPlan *found, uint64_t *arena) {
  Remat *best = shrink_once(x, found, arena);
  int at;
  if (!probe) return best;
  Least l = {.x = x, .found = found, .arena = arena};
  keep_min(&l, best, found, *arena);
  probe_below(&l);
  if (!find_end(&l)) return NULL;
  *l.best->e = l.fitted;
  remat_restore(&l.best->s, &l.saved, INT32_MAX / 2);
  remat_set_limit(&l.best->s, remat_peak(&l.best->s, &at));
  return l.best;
}
