/* Greedy packing: an order of the buffers, then each into the lowest gap, or the tightest, among
   those that were placed before and live with it. Contract: keeps the best packing. A portfolio of
   orders, as in Sekiyama et al., "Profile-guided memory optimization", 2018, and Lee et al.,
   "On-device neural net inference", 2019; then random changes of the keys of the best order, kept
   where the arena does not grow (hill climbing over orders). */
#include "ir/support/search.h"
#include "passes/analysis/search_math.h"
#include "passes/plan/pack/pack_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- one order ---- */

typedef struct Placed {
  uint64_t offset, top;
  int from, to;
} Placed;

typedef VEC(Placed) PlacedList;

/* Placed buffers lie in one list, sorted by offset, for every block of time that they touch. */
typedef struct Rank {
  bool first;   /* before all others */
  double key;   /* larger first */
  int64_t life; /* among equal keys: longer first */
  int i;
} Rank;

struct Greedy {
  Pack *p;
  PlacedList *list;
  int blocks;
  int *block_of; /* by section */
  /* for buffers that touch many blocks: all that they meet, sorted, and the list that sorting fills
   */
  PlacedList wide, merged;
  uint32_t *run_end; /* by block */
  Rank *rank;
  double *key;    /* by buffer, of the best order of the kind that improve() changes */
  uint64_t arena; /* of that order */
  bool tight;
  int round;
};

/* A query merges this many lists as it goes; above, it gathers all first. */
enum { MERGED = 4 };

/* Blocks of about two thirds of a mean life: a buffer touches few, and a list holds little else. */
static void make_blocks(Greedy *g) {
  const Pack *p = g->p;
  double blocks = p->n < 2000 ? 1 : (double)p->sections * p->n / ((double)p->spans + 1) / 1.5;
  g->blocks = blocks < 1 ? 1 : blocks > 4096 ? 4096 : (int)blocks;
  g->block_of = ARENA_ARRAY(p->a, int, p->sections + 1);
  for (int s = 0; s < p->sections; s++)
    g->block_of[s] = (int)((int64_t)s * g->blocks / p->sections);
  g->list = ARENA_ARRAY(p->a, PlacedList, g->blocks);
  g->run_end = ARENA_ARRAY(p->a, uint32_t, g->blocks);
}

static void insert(Arena *a, PlacedList *l, Placed q) {
  vec_push(a, l, q);
  uint32_t i;
  SEARCH_FIRST(i, l->n - 1, l->at[i].offset > q.offset);
  memmove(l->at + i + 1, l->at + i, (l->n - 1 - i) * sizeof *l->at);
  l->at[i] = q;
}

/* Merges two sorted runs, from[0..n) and from[n..m), into `to`. */
static void merge(Placed *to, const Placed *from, uint32_t n, uint32_t m) {
  const Placed *a = from, *a_end = from + n, *b = a_end, *b_end = from + m;
  while (a < a_end && b < b_end) {
    bool second = b->offset < a->offset;
    *to++ = second ? *b : *a;
    a += !second;
    b += second;
  }
  memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
  memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

/* Everything placed that lives in [from, to), once each, sorted by offset: a run of every block,
   then neighbours merged until one run is left. */
static const PlacedList *gather(Greedy *g, int b0, int b1, int from, int to) {
  PlacedList *w = &g->wide;
  uint32_t *end = g->run_end, runs = 0;
  w->n = 0;
  for (int k = b0; k <= b1; k++) {
    for (uint32_t j = 0; j < g->list[k].n; j++) {
      const Placed *q = &g->list[k].at[j];
      int first = g->block_of[q->from] > b0 ? g->block_of[q->from] : b0;
      if (first == k && q->from < to && from < q->to) vec_push(g->p->a, w, *q);
    }
    if (w->n > (runs ? end[runs - 1] : 0)) end[runs++] = w->n;
  }
  PlacedList *into = &g->merged;
  while (into->cap < w->n)
    into->at = arena_grow(g->p->a, into->at, 0, &into->cap, sizeof *into->at);
  while (runs > 1) {
    uint32_t left = 0, at = 0;
    for (uint32_t k = 0; k < runs; k += 2) {
      uint32_t middle = end[k], right = k + 1 < runs ? end[k + 1] : middle;
      merge(into->at + at, w->at + at, middle - at, right - at);
      end[left++] = at = right;
    }
    into->n = w->n;
    PlacedList result = *into;
    *into = *w;
    *w = result;
    runs = left;
  }
  return w;
}

/* Elementary steps that the look at one placed buffer takes. */
enum { LOOK = 6 };

/* The lowest gap among what is placed, or the tightest. */
typedef struct Gap {
  int from, to; /* the life of the buffer that needs it */
  uint64_t size;
  bool tight;
  uint64_t top, at, min; /* top of all met so far; the best gap and its size */
  int64_t looks;
} Gap;

/* Meets the next placed buffer above. True once no better gap can follow. What lives with what is
   as good as random to the processor: hence no branch but for the few gaps. */
static inline bool meet(Gap *g, const Placed *q) {
  bool with = (q->from < g->to) & (g->from < q->to);
  uint64_t top = g->top, gap = q->offset - top;
  g->looks++;
  g->top = (with & (q->top > top)) ? q->top : top;
  if (!(with & (q->offset >= top) & (gap >= g->size) & (gap < g->min))) return false;
  g->min = gap;
  g->at = top;
  return !g->tight || gap == g->size;
}

/* Meets k lists, merged by offset. */
static void meet_all(Gap *g, const Placed **cur, const Placed **end, int k) {
  while (k > 2) {
    int m = 0;
    for (int j = 1; j < k; j++)
      if (cur[j]->offset < cur[m]->offset) m = j;
    if (meet(g, cur[m]++)) return;
    if (cur[m] < end[m]) continue;
    k--;
    cur[m] = cur[k];
    end[m] = end[k];
  }
  const Placed *a = k ? cur[0] : NULL, *a_end = k ? end[0] : NULL;
  if (k == 2) {
    const Placed *b = cur[1], *b_end = end[1];
    while (a < a_end && b < b_end) {
      bool second = b->offset < a->offset;
      const Placed *q = second ? b : a;
      a += !second;
      b += second;
      if (meet(g, q)) return;
    }
    if (a == a_end) a = b, a_end = b_end;
  }
  for (; a < a_end; a++)
    if (meet(g, a)) return;
}

/* The lowest gap among what is placed, or the tightest. */
static uint64_t find_gap(Greedy *g, int i, bool tight) {
  const Pack *p = g->p;
  int from = p->from[i], to = p->to[i], b0 = g->block_of[from], b1 = g->block_of[to - 1], k = 0;
  const Placed *cur[MERGED], *end[MERGED];
  for (int b = b0; b <= b1; b++) {
    const PlacedList *l = b1 - b0 < MERGED ? &g->list[b] : gather(g, b0, b1, from, to);
    if (l->n) {
      cur[k] = l->at;
      end[k++] = l->at + l->n;
    }
    if (b1 - b0 >= MERGED) break;
  }
  Gap gap = {from, to, p->b->at[i].bytes, tight, 0, UINT64_MAX, UINT64_MAX, 0};
  meet_all(&gap, cur, end, k);
  g->p->work -= LOOK * gap.looks;
  return gap.at == UINT64_MAX ? gap.top : gap.at;
}

static int by_rank(const void *pa, const void *pb) {
  const Rank *a = pa, *b = pb;
  if (a->first != b->first) return a->first ? -1 : 1;
  if (a->key != b->key) return a->key > b->key ? -1 : 1;
  if (a->life != b->life) return a->life > b->life ? -1 : 1;
  return a->i - b->i;
}

/* Places all in the order of their ranks. Returns the arena, or UINT64_MAX once it exceeds `max`
   or the deadline is over. */
static uint64_t greedy(Greedy *g, bool tight, uint64_t max) {
  Pack *p = g->p;
  uint64_t end = 0;
  qsort(g->rank, (size_t)p->n, sizeof *g->rank, by_rank);
  p->work -= LOOK * (int64_t)p->n;
  for (int b = 0; b < g->blocks; b++) g->list[b].n = 0;
  for (int k = 0; k < p->n; k++) {
    int i = g->rank[k].i;
    uint64_t at = find_gap(g, i, tight), top = at + p->b->at[i].bytes;
    p->offset[i] = at;
    if (top > end) end = top;
    if (end > max || pack_late(p)) return UINT64_MAX;
    Placed q = {at, top, p->from[i], p->to[i]};
    for (int b = g->block_of[q.from]; b <= g->block_of[q.to - 1]; b++) insert(p->a, &g->list[b], q);
  }
  pack_keep(p);
  return end;
}

/* ---------------------------------------------------------------- orders ---- */

/* PEAK_*: the buffers alive at the peak first, so that they lie without a gap. */
typedef enum Key {
  PEAK_SIZE,
  PYRAMID,
  PEAK_LIFE,
  AREA,
  SIZE_ROOT_LIFE,
  LIFE,
  SIZE,
  LOAD,
  END,
  STEEP, /* largest load over the life; size and life beside it */
  STEEPER,
  KEYS
} Key;

/* How much a load as large as the bound counts, in natural logarithms of size. */
enum { STEEP_LOAD = 5, STEEPER_LOAD = 10 };

static double steep_key(const Pack *p, int load, int i) {
  return load * ((double)p->max[i] / (double)p->bound) + search_log((double)p->b->at[i].bytes) +
         0.5 * search_log((double)pack_life(p, i));
}

static Rank rank_of(const Pack *p, Key key, int i) {
  double life = (double)pack_life(p, i), size = (double)p->b->at[i].bytes;
  bool at_peak = p->from[i] <= p->peak && p->peak < p->to[i];
  Rank r = {.first = at_peak && key <= PEAK_LIFE, .life = pack_life(p, i), .i = i};
  switch (key) {
  case PEAK_SIZE: r.key = size; break;
  case PYRAMID: r.key = at_peak ? life : size * sqrt(sqrt(life)); break;
  case PEAK_LIFE: r.key = life; break;
  case AREA: r.key = size * life; break;
  case SIZE_ROOT_LIFE: r.key = size * sqrt(life); break;
  case LIFE: r.key = life; break;
  case SIZE: r.key = size; break;
  case LOAD: r.key = (double)p->max[i]; break;
  case END: r.key = (double)p->b->at[i].last; break;
  case STEEP: r.key = steep_key(p, STEEP_LOAD, i); break;
  case STEEPER:
  case KEYS: r.key = steep_key(p, STEEPER_LOAD, i); break;
  }
  return r;
}

/* Above this many buffers only the orders that did best on large instances; and no more orders
   where those before have taken so much, about a second. */
enum { MANY = 20000, PORTFOLIO = 500 * 1000 * 1000 };

Greedy *greedy_new(Pack *p, const PackLimit *limit) {
  static const Key many[] = {STEEPER, SIZE_ROOT_LIFE, STEEP};
  static const Key few[] = {PEAK_SIZE, PYRAMID, LOAD, PEAK_LIFE, AREA,   SIZE_ROOT_LIFE,
                            LIFE,      SIZE,    END,  STEEP,     STEEPER};
  Greedy *g = ARENA_NEW(p->a, Greedy);
  int64_t work = p->work;
  g->p = p;
  g->rank = ARENA_ARRAY(p->a, Rank, p->n);
  g->arena = UINT64_MAX;
  make_blocks(g);
  int rounds = p->n > MANY ? 3 : 2 * KEYS;
  int64_t max = limit->work > PORTFOLIO ? limit->work : PORTFOLIO;
  for (int q = 0; q < rounds && !pack_done(p, limit) && !pack_late(p); q++) {
    if (work - p->work > max) break;
    Key key = p->n > MANY ? many[q] : few[q / 2];
    for (int i = 0; i < p->n; i++) g->rank[i] = rank_of(p, key, i);
    greedy(g, p->n <= MANY && q % 2, p->arena - 1);
  }
  p->given = work - p->work; /* the portfolio is not counted */
  p->work += p->given;
  p->look += p->given;
  return g;
}

/* ---------------------------------------------------------------- other orders ---- */

static void improve_from(Greedy *g) {
  Pack *p = g->p;
  g->key = ARENA_ARRAY(p->a, double, p->n);
  for (int tight = 0; tight < 2; tight++)
    for (Key k = STEEP; k <= STEEPER; k++) {
      for (int i = 0; i < p->n; i++) g->rank[i] = rank_of(p, k, i);
      uint64_t end = greedy(g, tight, g->arena - 1);
      if (end >= g->arena) continue;
      g->arena = end;
      g->tight = tight;
      for (int i = 0; i < p->n; i++) g->key[i] = rank_of(p, k, i).key;
    }
}

/* The keys with noise: all a little; those that start in a span of time more; those that stick out
   of the best packing so far upwards. */
static void change_keys(Greedy *g) {
  Pack *p = g->p;
  int kind = g->round++ % 3;
  double x = pack_random(p), share = pack_random(p);
  int from = (int)(x * p->sections), to = from + (int)((0.02 + 0.08 * share) * p->sections);
  uint64_t high = p->arena - (uint64_t)((double)(p->arena - p->bound) * (0.5 + 0.5 * x));
  for (int i = 0; i < p->n; i++) {
    double noise = 0;
    const Buffer *b = &p->b->at[i];
    if (kind == 0)
      noise = (0.02 + 0.08 * share) * (pack_random(p) + pack_random(p) - 1);
    else if (kind == 1 && from <= p->from[i] && p->from[i] <= to)
      noise = 0.6 * (pack_random(p) + pack_random(p) - 1);
    else if (kind == 2 && b->offset + b->bytes > high)
      noise = 0.3 * pack_random(p);
    g->rank[i] = (Rank){.key = g->key[i] + noise, .life = pack_life(p, i), .i = i};
  }
}

void greedy_improve(Greedy *g) {
  Pack *p = g->p;
  if (!g->key) {
    improve_from(g);
    return;
  }
  change_keys(g);
  uint64_t end = greedy(g, g->tight, g->arena);
  if (end > g->arena) return;
  g->arena = end;
  for (int k = 0; k < p->n; k++) g->key[g->rank[k].i] = g->rank[k].key;
}
