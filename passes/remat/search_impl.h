/* What the files of the search within a limit share: search.c (starts, and the best of them),
   descend.c (the moves from a start on). */
#ifndef GC_PASSES_REMAT_SEARCH_IMPL_H
#define GC_PASSES_REMAT_SEARCH_IMPL_H
#include "passes/remat/remat_impl.h"

enum { NEARLY_DONE = 8 }; /* of the excess, one part in so many */

typedef struct Move {
  double score;
  double factor; /* a factor of the score */
  int storage, step;
} Move;

typedef struct RematSearch {
  RematState *s;
  Arena *a;
  VEC(Move) heap;
  VEC(Move) list;
  RematSaved best;   /* the best start */
  double noise;      /* of scores: 0 none */
  double max;        /* added cost beyond which a start is given up */
  double incumbent;  /* added cost of a plan that is there already */
  double all;        /* excess where nothing is recomputed */
  int64_t deadline;  /* of s->work */
  int64_t extension; /* beyond it: see is_late in descend.c */
  uint64_t seed;
  int peak_step, peak; /* of the plan in which nothing is recomputed */
  double made;         /* units made up to peak_step */
  int *over;           /* by step: how many before it exceed the limit */
} RematSearch;

/* ---- descend.c ---- */
/* Drops gaps, the best first, until nothing exceeds the limit. A popped move is measured exactly
   and taken if it still beats the bound of the next one. */
bool search_greedy(RematSearch *w);
/* Holds again what fits. */
void search_prune(RematSearch *w);
/* Holds what a window of steps dropped, repairs that with noise, and keeps what is cheaper. */
void search_ruin_and_recreate(RematSearch *w);
/* Greedily, then by holding and dropping around the peak; true: nothing exceeds the limit. */
bool search_descend(RematSearch *w);
#endif
