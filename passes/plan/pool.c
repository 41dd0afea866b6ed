/* The pool strategy: a counter for every buffer and boxes that dead buffers leave behind.
   Contract: fills offsets; a box is as large as its largest tenant, and boxes lie side by side.
   The simulation of MXNet 0.7 (graph_memory_allocator.cc) and nnvm (plan_memory.cc): a request
   takes the smallest free box in [size, match*size], else the largest in [size/match, size), else a
   new one; what an op reads is given back only after its results have their boxes. */
#include "ir/support/search.h"
#include "passes/plan/plan_impl.h"

#include <stdlib.h>

typedef struct Box {
  uint64_t bytes, offset;
} Box;

typedef struct Pool {
  Box *box; /* all that exist */
  int nbox;
  int *free; /* free boxes by size; equal ones in order of their return */
  int nfree;
} Pool;

/* First free box of at least that many bytes. */
static int lower(const Pool *p, uint64_t bytes) {
  int i;
  SEARCH_FIRST(i, p->nfree, p->box[p->free[i]].bytes >= bytes);
  return i;
}

static int request(Pool *p, uint64_t bytes, int match) {
  int at = lower(p, bytes), found = -1;
  uint64_t ratio = (uint64_t)match;
  if (match > 0 && at < p->nfree && p->box[p->free[at]].bytes / ratio <= bytes)
    found = at;
  else if (match > 0 && at > 0 && p->box[p->free[at - 1]].bytes >= bytes / ratio)
    found = at - 1;
  if (found < 0) {
    p->box[p->nbox] = (Box){.bytes = bytes};
    return p->nbox++;
  }
  int box = p->free[found];
  memmove(p->free + found, p->free + found + 1, sizeof(int) * (size_t)(p->nfree - found - 1));
  p->nfree--;
  if (p->box[box].bytes < bytes) p->box[box].bytes = bytes;
  return box;
}

static void give_back(Pool *p, int box) {
  int at = lower(p, p->box[box].bytes + 1);
  memmove(p->free + at + 1, p->free + at, sizeof(int) * (size_t)(p->nfree - at));
  p->free[at] = box;
  p->nfree++;
}

/* By first use; of one op the largest first. */
typedef struct ByFirst {
  int64_t first;
  uint64_t bytes;
  int i;
} ByFirst;

static int by_first(const void *pa, const void *pb) {
  const ByFirst *a = pa, *b = pb;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return a->i < b->i ? -1 : a->i > b->i;
}

uint64_t pool_plan(Arena *scratch, Buffers *b, int match) {
  size_t n = (size_t)b->n;
  Pool p = {.box = ARENA_ARRAY(scratch, Box, n), .free = ARENA_ARRAY(scratch, int, n)};
  ByFirst *order = ARENA_ARRAY(scratch, ByFirst, n);
  int *box_of = ARENA_ARRAY(scratch, int, n), *next = ARENA_ARRAY(scratch, int, n);
  int *ends = ARENA_ARRAY(scratch, int, b->steps + 1); /* chains of buffers by last step, from 1 */
  for (int i = 0; i < b->n; i++) order[i] = (ByFirst){b->at[i].first, b->at[i].bytes, i};
  qsort(order, n, sizeof *order, by_first);
  int64_t now = 0; /* everything that ended before is given back */
  for (int k = 0; k < b->n; k++) {
    int i = order[k].i;
    for (; now < b->at[i].first; now++)
      for (int j = ends[now]; j; j = next[j - 1]) give_back(&p, box_of[j - 1]);
    box_of[i] = request(&p, b->at[i].bytes, match);
    next[i] = ends[b->at[i].last];
    ends[b->at[i].last] = i + 1;
  }
  uint64_t total = 0;
  for (int k = 0; k < p.nbox; k++) {
    p.box[k].offset = total;
    if (!checked_add(total, p.box[k].bytes, &total)) return UINT64_MAX;
  }
  for (int i = 0; i < b->n; i++) b->at[i].offset = p.box[box_of[i]].offset;
  return total;
}

uint64_t pool_search(Arena *scratch, Buffers *b, int match) {
  static const int ranges[] = {1, 2, 4, 8, 16};
  if (match >= 0) return pool_plan(scratch, b, match);
  uint64_t best = UINT64_MAX;
  int with = 1;
  for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
    uint64_t total = pool_plan(scratch, b, ranges[k]);
    if (total < best) {
      best = total;
      with = ranges[k];
    }
  }
  return pool_plan(scratch, b, with);
}
