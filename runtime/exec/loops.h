/* The steps of an entry in the order in which they run: loops are gone through as often as they
   say. Contract: `at` holds the iteration of each loop around a step, by depth. For every executor,
   of any device. */
#ifndef GCRT_LOOPS_H
#define GCRT_LOOPS_H
#include "runtime/gcrt.h"

/* Called for a step, with loop -1, and after the last iteration of a loop, with step -1. False ends
   the walk. */
typedef bool LoopVisit(void *arg, int step, int loop, const int64_t *at);

typedef struct LoopWalk {
  const GcEntry *entry;
  LoopVisit *visit;
  void *arg;
  int64_t *at;            /* entry->depth of them */
  const int32_t *extents; /* of the run */
  int first, end;         /* of the steps that are gone through; no loop is cut */
} LoopWalk;

/* Steps [from, to), where `loop` is the first loop that can begin there. */
static inline bool loops_steps(const LoopWalk *w, int from, int to, int loop) {
  const GcEntry *e = w->entry;
  while (from < to) {
    const GcLoop *l = loop < e->nloops ? &e->loops[loop] : NULL;
    if (!l || l->first != from) {
      if (!w->visit(w->arg, from++, -1, w->at)) return false;
      continue;
    }
    int trips = l->trips;
    if (l->extent) trips = trips / (int)e->extents[l->extent - 1].bound * w->extents[l->extent - 1];
    for (int k = 0; k < trips; k++) {
      w->at[l->depth] = l->reverse ? trips - 1 - k : k;
      if (!loops_steps(w, from, l->end, loop + 1)) return false;
    }
    if (!w->visit(w->arg, -1, loop, w->at)) return false;
    from = l->end;
    while (loop < e->nloops && e->loops[loop].first < from) loop++;
  }
  return true;
}

static inline bool loops_walk(const LoopWalk *w) {
  int loop = 0;
  while (loop < w->entry->nloops && w->entry->loops[loop].first < w->first) loop++;
  return loops_steps(w, w->first, w->end, loop);
}

/* The outermost loop around a step, or NULL. */
static inline const GcLoop *loops_outermost(const GcEntry *e, int step) {
  for (int l = 0; l < e->nloops; l++)
    if (e->loops[l].depth == 0 && e->loops[l].first <= step && step < e->loops[l].end)
      return &e->loops[l];
  return NULL;
}

/* What an argument has moved by. */
static inline int64_t loops_shift(const GcArg *a, const int64_t *at, int depth) {
  int64_t by = 0;
  for (int d = 0; a->stride && d < depth; d++) by += a->stride[d] ? a->stride[d] * at[d] : 0;
  return by;
}

static inline bool loops_moves(const GcStep *s) {
  for (int a = 0; a < s->nargs; a++)
    if (s->args[a].stride) return true;
  return false;
}
#endif
