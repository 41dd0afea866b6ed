/* From a start to a schedule within the limit, and on to a cheaper one; see search.c. Contract:
   every change goes through the state, which undoes it; work is counted. */
#include "ir/support/heap.h"
#include "passes/analysis/search_math.h"
#include "passes/remat/search_impl.h"

#include <math.h>
#include <stdlib.h>

static double random01(RematSearch *w) { return (double)(search_random(&w->seed) >> 11) * 0x1p-53; }

static double jitter(RematSearch *w) {
  return w->noise > 0 ? search_exp(w->noise * (random01(w) - 0.5)) : 1;
}

/* A start that is almost complete when its effort ends continues: resuming it later would cost as
   much. */
static bool is_late(RematSearch *w) {
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

bool search_greedy(RematSearch *w) {
  RematState *s = w->s;
  for (bool moved = true; s->excess > 0 && moved && !is_late(w);) {
    moved = false;
    offer_all(w);
    if (w->heap.n) s->price = w->heap.at[0].score;
    while (s->excess > 0 && w->heap.n && !is_late(w)) {
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

void search_prune(RematSearch *w) {
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
  bool ok = search_greedy(w);
  w->noise = 0;
  return ok;
}

void search_ruin_and_recreate(RematSearch *w) {
  RematState *s = w->s;
  for (int idle = 0; idle < IDLE_ROUNDS && s->work < w->deadline && s->cost > 0; idle++) {
    s->log.n = 0;
    double cost = s->cost;
    ruin(w, (int)(random01(w) * s->p->nsteps));
    bool ok = recreate(w);
    if (ok) search_prune(w);
    if (ok && s->cost < cost * (1 - 1e-6)) idle = 0;
    if (!ok || s->cost > cost) remat_undo(s, 0);
  }
}

/* No single move reduces the excess any more: recomputed values there hinder each other. Repeats
   the repair around the step that exceeds the limit most. */
static bool repair(RematSearch *w) {
  RematState *s = w->s;
  for (int idle = 0; idle < IDLE_REPAIRS && s->excess > 0 && !is_late(w); idle++) {
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

bool search_descend(RematSearch *w) { return search_greedy(w) || (!is_late(w) && repair(w)); }
