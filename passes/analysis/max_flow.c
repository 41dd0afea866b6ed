/* Maximum flow by Dinic (1970): paths of least length, all of one length at a time. */
#include "passes/analysis/max_flow.h"

#include <math.h>
#include <string.h>

enum { NOWHERE = -1 };

FlowNet flow_net(Arena *a, int nodes) {
  FlowNet g = {.a = a, .nodes = nodes};
  g.first = ARENA_ARRAY(a, int, nodes);
  g.level = ARENA_ARRAY(a, int, nodes);
  g.current = ARENA_ARRAY(a, int, nodes);
  g.queue = ARENA_ARRAY(a, int, nodes);
  g.path = ARENA_ARRAY(a, int, nodes);
  for (int v = 0; v < nodes; v++) g.first[v] = NOWHERE;
  return g;
}

void flow_arc(FlowNet *g, int from, int to, double capacity) {
  int i = (int)g->arc.n;
  vec_push(g->a, &g->arc, (Arc){to, i + 1, capacity});
  vec_push(g->a, &g->next, g->first[from]);
  g->first[from] = i;
  vec_push(g->a, &g->arc, (Arc){from, i, 0});
  vec_push(g->a, &g->next, g->first[to]);
  g->first[to] = i + 1;
}

static bool find_levels(FlowNet *g, int source, int sink, double min) {
  int head = 0, tail = 0;
  for (int v = 0; v < g->nodes; v++) g->level[v] = NOWHERE;
  g->level[source] = 0;
  g->queue[tail++] = source;
  while (head < tail) {
    int v = g->queue[head++];
    for (int i = g->first[v]; i != NOWHERE; i = g->next.at[i]) {
      const Arc *x = &g->arc.at[i];
      if (x->capacity <= min || g->level[x->to] != NOWHERE) continue;
      g->level[x->to] = g->level[v] + 1;
      g->queue[tail++] = x->to;
    }
  }
  return g->level[sink] != NOWHERE;
}

/* One path of the level graph; returns what it carries, 0 where there is none left. */
static double push_path(FlowNet *g, int source, int sink, double min) {
  int depth = 0, v = source;
  while (v != sink) {
    int i = g->current[v];
    while (i != NOWHERE &&
           (g->arc.at[i].capacity <= min || g->level[g->arc.at[i].to] != g->level[v] + 1))
      i = g->next.at[i];
    g->current[v] = i;
    if (i != NOWHERE) {
      g->path[depth++] = i;
      v = g->arc.at[i].to;
    } else {
      if (v == source) return 0;
      g->level[v] = NOWHERE; /* a dead end */
      v = g->arc.at[g->arc.at[g->path[--depth]].back].to;
    }
  }
  double max = INFINITY;
  for (int k = 0; k < depth; k++)
    if (g->arc.at[g->path[k]].capacity < max) max = g->arc.at[g->path[k]].capacity;
  if (isinf(max)) return INFINITY;
  for (int k = 0; k < depth; k++) {
    Arc *x = &g->arc.at[g->path[k]];
    x->capacity -= max;
    g->arc.at[x->back].capacity += max;
  }
  return max;
}

double flow_max(FlowNet *g, int source, int sink, double min) {
  double sum = 0;
  while (find_levels(g, source, sink, min)) { /* at last those that the source still reaches */
    memcpy(g->current, g->first, sizeof *g->first * (size_t)g->nodes);
    for (double more; (more = push_path(g, source, sink, min)) > 0; sum += more)
      if (isinf(more)) return INFINITY;
  }
  return sum;
}

bool flow_is_cut_off(const FlowNet *g, int node) { return g->level[node] == NOWHERE; }
