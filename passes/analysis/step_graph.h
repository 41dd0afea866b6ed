/* An entry as a graph of steps over storages: results and reads of each step, its cost, and whether
   it may be recomputed. Recomputation and ordering search in it. */
#ifndef GC_PASSES_STEP_GRAPH_H
#define GC_PASSES_STEP_GRAPH_H
#include "passes/plan/plan_impl.h"

/* What is live is an int: all storages, each with a second instance in the step that computes it
   again, a block's offset from its steps, and the difference of two such sums fit into one. */
enum { STEP_MAX_UNITS = 500000000 };
_Static_assert((int64_t)4 * STEP_MAX_UNITS <= INT32_MAX, "sums of units are ints");

typedef struct StepPair {
  int in, out; /* result `out` may take the bytes of operand `in`: indices into the step's lists */
} StepPair;

typedef struct StepNode {
  const Op *op;
  double flops;
  double cost; /* flops, and as much for every byte that it moves */
  int nin, nout, npairs;
  const int *in, *out; /* storages, each once */
  const StepPair *pair;
  int extra;  /* units that it needs while it runs */
  int latest; /* the last step in front of which it may be recomputed; -1: it runs once */
} StepNode;

typedef struct StepStorage {
  int size;
  int maker; /* step */
  bool kept; /* to the end: it is returned */
  ValueId value;
} StepStorage;

typedef struct StepGraph {
  const Entry *e;
  StepNode *step;
  int nsteps;
  StepStorage *storage;
  int nstorages;
  uint64_t unit; /* bytes; all storages together are at most STEP_MOST_UNITS */
  double flops, cost;
} StepGraph;

/* A byte moved costs as much as this many flops: a plan that is cheap in arithmetic alone would run
   element-wise ops again without end. */
#define STEP_FLOPS_A_BYTE 1.0

/* The entry in its present order. A storage is a value and its views; inputs, globals and what is
   computed in a global's bytes take nothing from the arena and are left out. */
StepGraph step_graph(Arena *a, const Entry *e, const Plan *p, const Target *t);
#endif
