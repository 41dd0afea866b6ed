/* Restarts of the exact search (search.c), aimed in turn at the bound and between it and the best
   packing. Contract: keeps the best packing found, raises `proven` where a capacity was searched
   out. Lengths of attempts are Luby's (Luby, Sinclair, Zuckerman, 1993); orders differ. */
#include "passes/analysis/search_math.h"
#include "passes/plan/pack/search_impl.h"

#include <stdlib.h>

typedef struct Score {
  double score;
  int i;
} Score;

static int by_score(const void *pa, const void *pb) {
  const Score *a = pa, *b = pb;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->i - b->i;
}

static int64_t luby(int64_t r) {
  for (;;) {
    int64_t p = 1;
    while ((INT64_C(1) << p) - 1 < r) p++;
    if ((INT64_C(1) << p) - 1 == r) return INT64_C(1) << (p - 1);
    r -= (INT64_C(1) << (p - 1)) - 1;
  }
}

/* A static order for ties: by life, by load and area, by load and life; noise after the first
 * three. */
static void make_ranks(PackSearch *s, int64_t round) {
  Pack *p = s->p;
  Score *score = s->score;
  double noise = round <= 3 ? 0 : 0.2 * pack_random(s->p);
  for (int i = 0; i < p->n; i++) {
    double life = search_log((double)pack_life(p, i));
    double area = life + search_log((double)p->b->at[i].bytes + 1);
    double load = 20 * (double)p->max[i] / (double)p->bound, r = -2;
    double base = round % 3 == 0   ? life + 0.01 * area
                  : round % 3 == 1 ? load + area
                                   : load + life + 0.01 * area;
    if (noise > 0)
      for (int k = 0; k < 4; k++) r += pack_random(s->p);
    score[i] = (Score){base + (noise > 0 ? 2 * noise * r : 0), i};
  }
  qsort(score, (size_t)p->n, sizeof *score, by_score);
  for (int k = 0; k < p->n; k++) {
    s->order[k] = s->ranked[k] = score[k].i;
    s->rank[score[k].i] = k;
  }
}

static bool prepare(PackSearch *s) {
  Pack *p = s->p;
  size_t n = (size_t)p->n;
  s->score = ARENA_ARRAY(p->a, Score, n);
  for (int i = 0; i < p->n; i++)
    for (uint64_t a = p->b->at[i].bytes, b = s->unit;;) {
      if (b == 0) {
        s->unit = a;
        break;
      }
      uint64_t t = a % b;
      a = b;
      b = t;
    }
  if (!s->unit) return false;                                  /* no bytes to place */
  if (p->arena / s->unit >= (UINT64_C(1) << 30)) return false; /* heights are 32-bit units */
  s->size = ARENA_ARRAY(p->a, int32_t, n);
  s->low = ARENA_ARRAY(p->a, int32_t, n);
  s->found = ARENA_ARRAY(p->a, int32_t, n);
  s->top = ARENA_ARRAY(p->a, int32_t, p->sections);
  s->rank = ARENA_ARRAY(p->a, int, n);
  s->ranked = ARENA_ARRAY(p->a, int, n);
  s->order = ARENA_ARRAY(p->a, int, n);
  s->key = ARENA_ARRAY(p->a, uint64_t, 2 * n);
  s->tmp = ARENA_ARRAY(p->a, int, n);
  s->cover = ARENA_ARRAY(p->a, int, p->sections + 2);
  s->crossing = ARENA_ARRAY(p->a, int32_t, p->sections + 1);
  s->placed = ARENA_ARRAY(p->a, bool, n);
  s->why = (Conflict){.min = ARENA_ARRAY(p->a, int32_t, n),
                      .exact = ARENA_ARRAY(p->a, bool, n),
                      .in = ARENA_ARRAY(p->a, int, n)};
  s->nogoods = nogoods_new(p->a, p->n);
  s->over_capacity = search_pile();
  for (int i = 0; i < p->n; i++) {
    s->size[i] = (int32_t)(p->b->at[i].bytes / s->unit);
    s->why.min[i] = -1;
  }
  return true;
}

/* A full descent and some more nodes before the first restart: what was learnt outlives it. */
enum { NODES = 2000 };

static Found attempt(PackSearch *s, int32_t capacity, int64_t round) {
  int64_t n = s->p->n;
  make_ranks(s, round);
  memset(s->low, 0, (size_t)n * sizeof *s->low);
  memset(s->crossing, 0, (size_t)s->p->sections * sizeof *s->crossing);
  memset(s->placed, 0, (size_t)n * sizeof *s->placed);
  for (int i = 0; i < s->p->n; i++) search_cross(s, i, 1);
  s->trail.n = s->states.n = s->reasons.n = s->ends.n = s->stack.n = 0;
  nogoods_trim(s->nogoods);
  s->held = NULL;
  s->capacity = capacity;
  s->nodes = 0;
  s->limit = (NODES + 2 * n) * luby(round);
  return search_run(s);
}

PackSearch *search_new(Pack *p) {
  PackSearch *s = ARENA_NEW(p->a, PackSearch);
  s->p = p;
  s->round = 1;
  return prepare(s) ? s : NULL;
}

bool search_attempt(PackSearch *s, const PackLimit *limit) {
  /* Of the way from what is proven to what was found: half of the first are at the bound. */
  enum { BOLD = 16 };
  static const double part[2][4] = {{0, 0.5, 0, 0.9}, {0.95, 0.9, 0.95, 0.5}};
  Pack *p = s->p;
  uint64_t min = (p->proven + s->unit - 1) / s->unit, max = p->arena / s->unit - 1, aim;
  if (limit->capacity)
    aim = limit->capacity / s->unit < max ? limit->capacity / s->unit : max;
  else
    aim = min + (uint64_t)((double)(max - min) * part[s->step >= BOLD][s->step & 3]);
  Found found = attempt(s, (int32_t)aim, s->round);
  if (found == FITS) {
    for (int i = 0; i < p->n; i++) p->offset[i] = (uint64_t)s->found[i] * s->unit;
    pack_keep(p);
  } else if (found == FAILED) {
    p->proven = (aim + 1) * s->unit;
    if (limit->capacity && p->proven > limit->capacity) return false;
  }
  if (limit->capacity || s->step >= BOLD || (s->step & 1)) s->round++;
  s->step++;
  return true;
}
