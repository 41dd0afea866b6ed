/* Packs buffers with fixed lives into one arena: a portfolio of greedy orders, then an exact
   search. Contract: deterministic; offsets are sums of buffers' bytes, so they keep their common
   alignment. Dynamic storage allocation; greedy best fit by several orders, as in Sekiyama et al.,
   "Profile-guided memory optimization", 2018, and Lee et al., "On-device neural net inference",
   2019. */
#include "passes/pack_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- sections ---- */

static int by_time(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The first section that starts at t or later. */
static int section_at(const int64_t *start, int n, int64_t t) {
  int a = 0, b = n;
  while (a < b) {
    int m = (a + b) / 2;
    if (start[m] < t)
      a = m + 1;
    else
      b = m;
  }
  return a;
}

static void make_sections(Pack *p) {
  const Buffer *b = p->b->at;
  int64_t *start = ARENA_ARRAY(p->a, int64_t, p->n);
  for (int i = 0; i < p->n; i++) start[i] = b[i].first;
  qsort(start, (size_t)p->n, sizeof *start, by_time);
  for (int i = 0; i < p->n; i++)
    if (!i || start[i] != start[i - 1]) start[p->sections++] = start[i];
  p->from = ARENA_ARRAY(p->a, int, p->n);
  p->to = ARENA_ARRAY(p->a, int, p->n);
  p->load = ARENA_ARRAY(p->a, uint64_t, p->sections + 1);
  for (int i = 0; i < p->n; i++) {
    p->from[i] = section_at(start, p->sections, b[i].first);
    p->to[i] = section_at(start, p->sections, b[i].last + 1);
    p->load[p->from[i]] += b[i].bytes; /* unsigned: a difference may pass below 0 on the way */
    p->load[p->to[i]] -= b[i].bytes;
  }
  for (int s = 1; s < p->sections; s++) p->load[s] += p->load[s - 1];
  for (int s = 0; s < p->sections; s++)
    if (p->load[s] > p->bound) {
      p->bound = p->load[s];
      p->peak = s;
    }
  p->proven = p->bound;
}

uint64_t pack_load(const Pack *p, int i) {
  uint64_t most = 0;
  for (int s = p->from[i]; s < p->to[i]; s++)
    if (p->load[s] > most) most = p->load[s];
  return most;
}

void pack_keep(Pack *p) {
  uint64_t end = 0;
  for (int i = 0; i < p->n; i++)
    if (p->offset[i] + p->b->at[i].bytes > end) end = p->offset[i] + p->b->at[i].bytes;
  if (end >= p->arena) return;
  p->arena = end;
  for (int i = 0; i < p->n; i++) p->b->at[i].offset = p->offset[i];
}

bool pack_done(const Pack *p, const PackLimit *limit) {
  return p->arena <= p->proven || (limit->capacity && p->arena <= limit->capacity);
}

/* ---------------------------------------------------------------- greedy ---- */

typedef struct Placed {
  uint64_t offset, top;
  int from, to;
} Placed;

typedef VEC(Placed) PlacedList;

/* Placed buffers lie in one list, sorted by offset, for every block of time that they touch. */
typedef struct Greedy {
  Pack *p;
  PlacedList *list;
  int blocks;
  int *block_of;   /* by section */
  PlacedList wide; /* for buffers that touch many blocks: all that they meet, sorted */
  int *order;
} Greedy;

/* A query merges this many lists as it goes; above, it gathers and sorts. */
enum { MERGED = 4 };

/* Blocks of about two thirds of a mean life: a buffer touches few, and a list holds little else. */
static void make_blocks(Greedy *g) {
  const Pack *p = g->p;
  double spans = 1;
  for (int i = 0; i < p->n; i++) spans += p->to[i] - p->from[i];
  double blocks = p->n < 2000 ? 1 : (double)p->sections * p->n / spans / 1.5;
  g->blocks = blocks < 1 ? 1 : blocks > 4096 ? 4096 : (int)blocks;
  g->block_of = ARENA_ARRAY(p->a, int, p->sections + 1);
  for (int s = 0; s < p->sections; s++)
    g->block_of[s] = (int)((int64_t)s * g->blocks / p->sections);
  g->list = ARENA_ARRAY(p->a, PlacedList, g->blocks);
}

static void insert(Arena *a, PlacedList *l, Placed q) {
  vec_push(a, l, q);
  uint32_t lo = 0, hi = l->n - 1;
  while (lo < hi) {
    uint32_t m = (lo + hi) / 2;
    if (l->at[m].offset <= q.offset)
      lo = m + 1;
    else
      hi = m;
  }
  memmove(l->at + lo + 1, l->at + lo, (l->n - 1 - lo) * sizeof *l->at);
  l->at[lo] = q;
}

static int by_offset(const void *pa, const void *pb) {
  const Placed *a = pa, *b = pb;
  return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Everything placed that lives in [from, to), once each, sorted by offset. */
static const PlacedList *gather(Greedy *g, int b0, int b1, int from, int to) {
  g->wide.n = 0;
  for (int k = b0; k <= b1; k++)
    for (uint32_t j = 0; j < g->list[k].n; j++) {
      const Placed *q = &g->list[k].at[j];
      int first = g->block_of[q->from] > b0 ? g->block_of[q->from] : b0;
      if (first == k && q->from < to && from < q->to) vec_push(g->p->a, &g->wide, *q);
    }
  if (g->wide.n) qsort(g->wide.at, g->wide.n, sizeof *g->wide.at, by_offset);
  return &g->wide;
}

/* The lowest gap among what is placed, or the tightest. */
static uint64_t find_gap(Greedy *g, int i, bool tight) {
  const Pack *p = g->p;
  int from = p->from[i], to = p->to[i], b0 = g->block_of[from], b1 = g->block_of[to - 1], k = 0;
  uint64_t size = p->b->at[i].bytes, top = 0, at = UINT64_MAX, least = UINT64_MAX;
  const Placed *cur[MERGED], *end[MERGED];
  for (int b = b0; b <= b1; b++) {
    const PlacedList *l = b1 - b0 < MERGED ? &g->list[b] : gather(g, b0, b1, from, to);
    cur[k] = l->at;
    end[k] = l->at + l->n;
    k += l->n > 0;
    if (b1 - b0 >= MERGED) break;
  }
  while (k) {
    int m = 0;
    for (int j = 1; j < k; j++)
      if (cur[j]->offset < cur[m]->offset) m = j;
    const Placed *q = cur[m]++;
    if (cur[m] == end[m]) {
      k--;
      cur[m] = cur[k];
      end[m] = end[k];
    }
    if (q->from >= to || from >= q->to) continue;
    if (q->offset >= top && q->offset - top >= size && q->offset - top < least) {
      least = q->offset - top;
      at = top;
      if (!tight || least == size) break;
    }
    if (q->top > top) top = q->top;
  }
  return at == UINT64_MAX ? top : at;
}

static void greedy(Greedy *g, bool tight) {
  Pack *p = g->p;
  for (int b = 0; b < g->blocks; b++) g->list[b].n = 0;
  for (int k = 0; k < p->n; k++) {
    int i = g->order[k];
    uint64_t at = find_gap(g, i, tight), top = at + p->b->at[i].bytes;
    p->offset[i] = at;
    if (top >= p->arena) return; /* it cannot beat the best one any more */
    Placed q = {at, top, p->from[i], p->to[i]};
    for (int b = g->block_of[q.from]; b <= g->block_of[q.to - 1]; b++) insert(p->a, &g->list[b], q);
  }
  pack_keep(p);
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
  KEYS
} Key;

typedef struct Rank {
  bool first;   /* before all others */
  double key;   /* larger first */
  int64_t life; /* among equal keys: longer first */
  int i;
} Rank;

static int by_rank(const void *pa, const void *pb) {
  const Rank *a = pa, *b = pb;
  if (a->first != b->first) return a->first ? -1 : 1;
  if (a->key != b->key) return a->key > b->key ? -1 : 1;
  if (a->life != b->life) return a->life > b->life ? -1 : 1;
  return a->i - b->i;
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
  case LOAD: r.key = (double)pack_load(p, i); break;
  case END:
  case KEYS: r.key = (double)p->b->at[i].last; break;
  }
  return r;
}

/* Above this many buffers only the three orders that did best on large instances. */
enum { MANY = 20000 };

static void greedy_portfolio(Pack *p, const PackLimit *limit) {
  static const Key many[] = {AREA, SIZE_ROOT_LIFE, LIFE};
  Greedy g = {.p = p, .order = ARENA_ARRAY(p->a, int, p->n)};
  Rank *rank = ARENA_ARRAY(p->a, Rank, p->n);
  make_blocks(&g);
  int rounds = p->n > MANY ? 3 : 2 * KEYS;
  for (int q = 0; q < rounds && !pack_done(p, limit); q++) {
    Key key = p->n > MANY ? many[q] : (Key)(q % KEYS);
    for (int i = 0; i < p->n; i++) rank[i] = rank_of(p, key, i);
    qsort(rank, (size_t)p->n, sizeof *rank, by_rank);
    for (int i = 0; i < p->n; i++) g.order[i] = rank[i].i;
    greedy(&g, q >= KEYS);
  }
}

PackResult pack_plan(Arena *scratch, Buffers *b, const PackLimit *limit) {
  if (b->n == 0) return (PackResult){0};
  Pack p = {.a = scratch, .b = b, .n = b->n, .arena = UINT64_MAX};
  p.offset = ARENA_ARRAY(scratch, uint64_t, b->n);
  make_sections(&p);
  greedy_portfolio(&p, limit);
  if (limit->work > 0 && !pack_done(&p, limit)) pack_search(&p, limit);
  return (PackResult){.arena = p.arena, .proven = p.proven};
}
