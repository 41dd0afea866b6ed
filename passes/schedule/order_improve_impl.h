/* Improving an order: its state, which the search and its moves share.
   Contract: order, pos, last, within and live agree, from improve_start on. */
#ifndef GC_PASSES_ORDER_IMPROVE_IMPL_H
#define GC_PASSES_ORDER_IMPROVE_IMPL_H
#include "passes/schedule/order_impl.h"

enum {
  MAX_ALONG = 64, /* nodes that move together */
  SCAN_SHARE = 2  /* looking through all steps costs as much as so many of them */
};

typedef struct Lived { /* of a storage */
  int size;
  int last;         /* position of the last reader, n if it is kept */
  int left;         /* readers in the window tried that are still to come, */
  uint32_t counted; /* if this is the number of that window */
} Lived;

typedef struct Improve {
  const Graph *g;
  const StepGraph *p;
  Arena *a;
  const StepNode **step;  /* by node; NULL: a view, which takes nothing */
  IntList *comes_first;   /* by node */
  IntList *readers;       /* by storage: nodes */
  int *maker;             /* by storage: node */
  int *order, *pos;       /* by position: node; by node: position */
  Lived *lived;           /* by storage */
  int64_t *within, *live; /* by position: the most while it runs, what is held before it */
  bool *taken;            /* by node: it moves */
  IntList moved;
  int *window;      /* the order tried, from its first position on */
  uint32_t windows; /* that were tried */
  int64_t effort;
  uint64_t seed;
} Improve;

/* ---- order_move.c ---- */

/* Takes this order of all nodes as the one that is improved. */
void improve_start(Improve *w, const int *order);
void improve_take(Improve *w, int node); /* it moves */
void improve_drop(Improve *w);           /* nothing moves any more */
/* How far those that move can go: before the first that must follow, behind the last that must come
   first. */
int improve_farthest(const Improve *w, bool later);
/* The steps from..to with those that move at one end of them; done where that is better, or by
   force. */
bool improve_window(Improve *w, int from, int to, bool later, bool force);
/* Moves the set to the other side of a position, next to it or as far as it goes. */
bool improve_set(Improve *w, int at, bool later);
#endif
