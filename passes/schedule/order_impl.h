/* What the files of scheduling share: a block as a graph of its ops. */
#ifndef GC_PASSES_ORDER_IMPL_H
#define GC_PASSES_ORDER_IMPL_H
#include "passes/plan/plan_impl.h"

/* The graph to schedule: nodes are the ops of a block without loads, stores and its end, in the
   given order, but what serves stores alone comes last: nothing else needs it. A store moves
   nothing when all is well: it is put where it may stand first, after the order is known. */
typedef struct Graph {
  Arena *a;
  const Entry *e;
  Block *block;
  int n;
  const Op **op;    /* by node */
  int *given;       /* nodes in the given order */
  ValueList *reads; /* by node, each value once */
  IntList *after;   /* by node: nodes that must follow */
  int *before;      /* by node: how many must come first */
  IntList *readers; /* by value: nodes, each once */
  int *node_of;     /* by op id, or -1 */
  ValueId *load_of; /* by global: what its load gives, or NO_ID */
  bool *external;   /* by value: inputs, loads, and what is kept to the end */
  bool *leaf;       /* by node: made where it is first read */
} Graph;

/* ---- order_goals.c ---- */

/* The nodes goal by goal; a goal is what nobody reads. */
int *order_by_goals(Graph *g);

/* ---- order_improve.c ---- */

/* Changes an order of the nodes of an entry's body for a lower peak; false: it finds nothing. The
   problem is of the same ops, in whatever order. */
struct RematProblem;
bool order_improve(const Graph *g, const struct RematProblem *p, int *order);
#endif
