/* The arena as it is taken by one buffer after the other: spans of bytes in order, each with the
   last buffer that lay there. Contract: buffers are laid in the order in which their lives begin.
 */
#include "ir/support/search.h"
#include "passes/plan/plan_impl.h"

typedef struct Span {
  uint64_t from; /* to the next span's from */
  int holder;    /* -1: none yet */
} Span;

struct ArenaOccupancy {
  Arena *a;
  const Buffers *b;
  Span *at;
  int n;
};

ArenaOccupancy *occupancy_new(Arena *a, const Buffers *b) {
  ArenaOccupancy *g = ARENA_NEW(a, ArenaOccupancy);
  *g = (ArenaOccupancy){.a = a, .b = b, .at = ARENA_ARRAY(a, Span, 2 * (size_t)b->n + 4), .n = 1};
  g->at[0] = (Span){0, -1};
  return g;
}

static int span_at(const ArenaOccupancy *g, uint64_t from) { /* the span that holds this byte */
  int i;
  SEARCH_FIRST(i, g->n, g->at[i].from > from);
  return i - 1;
}

int occupancy_add(ArenaOccupancy *g, int i, IntList *below) {
  uint64_t from = g->b->at[i].offset, to = from + g->b->at[i].bytes, max = 0;
  int lo = span_at(g, from), hi = lo, who = -1;
  for (; hi < g->n && g->at[hi].from < to; hi++) {
    uint64_t f = g->at[hi].from > from ? g->at[hi].from : from;
    uint64_t t = hi + 1 < g->n && g->at[hi + 1].from < to ? g->at[hi + 1].from : to;
    if (g->at[hi].holder < 0) continue;
    if (below) vec_push(g->a, below, g->at[hi].holder);
    if (t - f > max) {
      max = t - f;
      who = g->at[hi].holder;
    }
  }
  Span fresh[3];
  int k = 0;
  if (g->at[lo].from < from) fresh[k++] = g->at[lo];
  fresh[k++] = (Span){from, i};
  if (hi == g->n || g->at[hi].from > to) fresh[k++] = (Span){to, g->at[hi - 1].holder};
  memmove(g->at + lo + k, g->at + hi, sizeof(Span) * (size_t)(g->n - hi));
  memcpy(g->at + lo, fresh, sizeof(Span) * (size_t)k);
  g->n += k - (hi - lo);
  return who;
}
