/* Packs buffers with fixed lives into one arena (dynamic storage allocation): a portfolio of greedy
   orders, then an exact search and random changes of the best order in turn. Contract: the same
   offsets for the same buffers wherever work is the limit, not time; offsets are sums of buffers'
   bytes, so they keep their common alignment. */
#define _POSIX_C_SOURCE 200809L
#include "ir/support/clock.h"
#include "ir/support/search.h"
#include "passes/plan/pack/pack_impl.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- sections ---- */

static int by_time(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The first section that starts at t or later. */
static int section_at(const int64_t *start, int n, int64_t t) {
  int i;
  SEARCH_FIRST(i, n, start[i] >= t);
  return i;
}

/* The largest load over each life, from the largest over every run of 2^k sections. */
static void find_max(Pack *p) {
  uint64_t *run[32] = {p->load};
  for (int k = 1; INT64_C(1) << k <= p->sections; k++) {
    int half = 1 << (k - 1);
    run[k] = ARENA_ARRAY(p->a, uint64_t, p->sections);
    for (int s = 0; s + 2 * half <= p->sections; s++) {
      uint64_t a = run[k - 1][s], b = run[k - 1][s + half];
      run[k][s] = a > b ? a : b;
    }
  }
  p->max = ARENA_ARRAY(p->a, uint64_t, p->n);
  for (int i = 0; i < p->n; i++) {
    int k = 0, from = p->from[i], to = p->to[i];
    while (INT64_C(2) << k <= to - from) k++;
    uint64_t a = run[k][from], b = run[k][to - (1 << k)];
    p->max[i] = a > b ? a : b;
  }
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
  for (int i = 0; i < p->n; i++) p->spans += p->to[i] - p->from[i];
  find_max(p);
}

void pack_keep(Pack *p) {
  uint64_t end = 0;
  for (int i = 0; i < p->n; i++)
    if (p->offset[i] + p->b->at[i].bytes > end) end = p->offset[i] + p->b->at[i].bytes;
  if (end >= p->arena) return;
  p->arena = end;
  for (int i = 0; i < p->n; i++) p->b->at[i].offset = p->offset[i];
}

/* ---------------------------------------------------------------- tools ---- */

double pack_random(Pack *p) {
  p->random += 0x9E3779B97F4A7C15u;
  return (double)(pack_mix(p->random) >> 11) * 0x1p-53;
}

/* Steps from one look at the clock to the next: about a quarter of a millisecond. */
enum { LOOK_EVERY = 1 << 18 };

bool pack_late(Pack *p) {
  if (p->late || p->deadline == 0 || p->work > p->look) return p->late;
  p->look = p->work - LOOK_EVERY;
  p->late = clock_seconds() > p->deadline;
  return p->late;
}

bool pack_out_of_time(Pack *p) { return p->work <= 0 || pack_late(p); }

bool pack_done(const Pack *p, const PackLimit *limit) {
  return p->arena <= p->proven || (limit->capacity && p->arena <= limit->capacity);
}

/* ---------------------------------------------------------------- the plan ---- */

/* Of the work, what goes into new orders where the search can descend; the search is far stronger
   there. Where a descent may take more than its share of the work that was given, nothing else is
   left. A capacity is met by the first descent that comes to its end, and such a one takes a
   quarter of that; so may the bound be, where the orders came as near as a hundredth, as in a net
   of many like steps. */
enum {
  SEARCH_SHARE = 8,
  DESCENTS = 2,
  STRAIGHT = 4,
  NEAR = 100,
  WORK_A_SECOND = 1500 * 1000 * 1000
};

static bool can_descend(const Pack *p, const PackLimit *limit) {
  double descent = 0.25 * p->n * ((double)p->n + (double)p->spans);
  double work = limit->seconds > 0 ? WORK_A_SECOND * limit->seconds : (double)limit->work;
  bool straight = limit->capacity || p->arena - p->proven <= p->proven / NEAR;
  return (straight ? descent / STRAIGHT : descent * DESCENTS) < work;
}

static void improve(Pack *p, Greedy *g, const PackLimit *limit) {
  PackSearch *s = can_descend(p, limit) ? search_new(p) : NULL;
  int64_t searched = 0, changed = 0, left = p->work;
  while (!pack_done(p, limit) && !pack_out_of_time(p)) {
    bool search = s && searched <= SEARCH_SHARE * changed;
    if (search && !search_attempt(s, limit)) return;
    if (!search) greedy_improve(g);
    *(search ? &searched : &changed) += left - p->work;
    left = p->work;
  }
}

/* By boxes, in a time that never matters: what there is where even one order takes too long. */
static void pack_by_pool(Pack *p) {
  Buffers b = {.at = ARENA_ARRAY(p->a, Buffer, p->n), .n = p->n, .steps = p->sections};
  for (int i = 0; i < p->n; i++)
    b.at[i] = (Buffer){.bytes = p->b->at[i].bytes, .first = p->from[i], .last = p->to[i] - 1};
  pool_search(p->a, &b, -1);
  for (int i = 0; i < p->n; i++) p->offset[i] = b.at[i].offset;
  pack_keep(p);
}

PackResult pack_plan(Arena *scratch, Buffers *b, const PackLimit *limit) {
  if (b->n == 0) return (PackResult){0};
  Pack p = {.a = scratch, .b = b, .n = b->n, .arena = UINT64_MAX};
  p.offset = ARENA_ARRAY(scratch, uint64_t, b->n);
  p.work = p.look = limit->work;
  p.random = limit->seed;
  if (limit->seconds > 0) p.deadline = clock_seconds() + limit->seconds;
  make_sections(&p);
  if (p.deadline > 0) pack_by_pool(&p);
  Greedy *g = greedy_new(&p, limit);
  improve(&p, g, limit);
  return (PackResult){.arena = p.arena, .proven = p.proven, .work = limit->work - p.work + p.given};
}
