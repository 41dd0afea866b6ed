/* Maximum flow through a network, and the minimum cut that it proves. Contract: capacities are not
   negative and may be INFINITY; everything lies in the arena that is handed in. */
#ifndef GC_PASSES_MAX_FLOW_H
#define GC_PASSES_MAX_FLOW_H
#include "ir/support/arena.h"

#include <stdbool.h>

typedef struct Arc {
  int to, back; /* back: the arc the other way */
  double capacity;
} Arc;

typedef struct FlowNet {
  Arena *a;
  VEC(Arc) arc;
  VEC(int) next; /* by arc: of the same node */
  int *first;    /* by node */
  int *level, *current, *queue, *path;
  int nodes;
} FlowNet;

FlowNet flow_net(Arena *a, int nodes);
void flow_arc(FlowNet *g, int from, int to, double capacity);
/* INFINITY where a path has no end to what it carries. Rooms up to `min` count as none: what
   rounding leaves over. */
double flow_max(FlowNet *g, int source, int sink, double min);
/* After that: is the node on the sink's side of the least cut? */
bool flow_is_cut_off(const FlowNet *g, int node);
#endif
