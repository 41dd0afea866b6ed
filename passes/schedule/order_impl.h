/* Shared by the files of ordering: a block as a graph of its ops, and the orders that are tried.
 */
#ifndef GC_PASSES_ORDER_IMPL_H
#define GC_PASSES_ORDER_IMPL_H
#include "passes/analysis/step_graph.h"
#include "passes/manager/pass_list.h"

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

/* ---- order_copies.c ---- */

/* Adds the copies without which the program cannot run in place; whether there were any. */
bool order_copies(Arena *scratch, Entry *e);

/* ---- order_graph.c ---- */

/* The load or input of which v is a view, or v itself. */
ValueId order_source(const Entry *e, ValueId v);
Graph order_graph(Arena *a, const Entry *e, Block *b);
/* The op that makes a global's new value comes after all others that read the old one, as far as
   the nodes' own order has them before it: then it can work in the global's bytes, and no cycle
   comes. */
void order_add_update(Graph *g, const Op *store);
/* The ops of the body by an order of the nodes: each load before its first reader, each store as
   early as it may stand, the return last. */
void order_write(Arena *a, const Entry *e, const Graph *g, const int *order, OpId *out);

/* ---- order_list.c ---- */

typedef enum OrderRule {
  ORDER_SHRINKERS, /* the nodes' order, but first whatever frees as much as it takes */
  ORDER_PRESSURE,  /* always what adds least */
  ORDER_RULES
} OrderRule;
int *order_list(Graph *g, OrderRule rule);

/* ---- order.c ---- */

/* The orders that are tried: the given one, those by list scheduling, one from goal to goal, and of
   an entry's body those by list scheduling improved. */
enum {
  ORDER_GIVEN,
  ORDER_LISTED,
  ORDER_GOALS = ORDER_LISTED + ORDER_RULES,
  ORDER_IMPROVED,
  ORDER_TRIED = ORDER_IMPROVED + ORDER_RULES
};
/* Those before the improved ones, as lists of nodes and of ops. Adds the edges of updates to the
   graph. */
void order_tries(const Entry *e, Graph *g, int **node, OpId **tried);
/* Of equal peaks the earlier order, but the given one gives way to the first that is listed. */
bool order_is_chosen(int k, uint64_t peak, uint64_t min);
/* Ops that are in another place than before. */
int64_t order_moved(const OpId *best, const OpId *given, uint32_t n);

/* ---- order_loops.c ---- */

/* Orders the bodies of all loops, the innermost first; how many ops moved. */
int64_t order_loops(PassRun *r, Entry *e, const GlobalsPlan *globals);

/* ---- order_goals.c ---- */

/* The nodes goal by goal; a goal is what no op reads. */
int *order_by_goals(Graph *g);

/* ---- order_readers.c ---- */

/* Is node order[from] a reshape that could work in its operand's bytes, if other readers of that
   were in front of it? Then they go there; false: none does. */
bool order_readers(const Graph *g, const Target *t, int *order, int from);

/* ---- order_improve.c ---- */

/* Changes an order of the nodes of an entry's body for a lower peak; false: it finds nothing. The
   problem is of the same ops, in whatever order. */
bool order_improve(const Graph *g, const StepGraph *p, int *order);
#endif
