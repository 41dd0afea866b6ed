/* A reshape that moves elements works in its operand's bytes if nothing reads that operand behind
   it: other readers go in front of it. Contract: the order stays one that the graph allows. */
#include "passes/schedule/order_impl.h"

static bool precedes(const Graph *g, int node, int later) {
  const IntList *after = &g->after[node];
  for (uint32_t k = 0; k < after->n; k++)
    if (after->at[k] == later) return true;
  return false;
}

/* The reader at `at` needs something that is made from place `from` on and does not go with it. */
static bool waits(const Graph *g, const int *order, const bool *goes, int from, int at) {
  for (int i = from; i < at; i++)
    if (!goes[order[i]] && precedes(g, order[i], order[at])) return true;
  return false;
}

/* Of the reshape at place `from`: all readers of its operand that are behind it; how many. */
static int find_readers(const Graph *g, const int *order, int from, bool *goes) {
  const IntList *readers = &g->readers[g->op[order[from]]->operands[0]];
  int n = 0;
  memset(goes, 0, sizeof *goes * (size_t)g->n);
  for (uint32_t k = 0; k < readers->n; k++) goes[readers->at[k]] = true;
  goes[order[from]] = false;
  for (int i = from + 1; i < g->n; i++) {
    if (!goes[order[i]]) continue;
    if (waits(g, order, goes, from, i)) return 0;
    n++;
  }
  return n;
}

/* It could work in its operand's bytes: elements move, and the operand is all that lies there. */
static bool may_work_in_place(const Graph *g, const Target *t, const Op *op) {
  if (op->kind != OP_RESHAPE || plan_is_view(g->e, op)) return false;
  const ValueId x = op->operands[0], of = order_source(g->e, x);
  return !g->external[x] && !g->external[of] &&
         value_type(g->e, of)->numel == value_type(g->e, x)->numel &&
         op_inplace_ok(t, g->e, op, 0, 0);
}

bool order_readers(const Graph *g, const Target *t, int *order, int from) {
  if (!may_work_in_place(g, t, g->op[order[from]])) return false;
  bool *goes = ARENA_ARRAY(g->a, bool, g->n + 1);
  if (!find_readers(g, order, from, goes)) return false;
  int *rest = ARENA_ARRAY(g->a, int, g->n + 1), first = from, others = 0;
  for (int i = from; i < g->n; i++) {
    if (goes[order[i]])
      order[first++] = order[i];
    else
      rest[others++] = order[i];
  }
  memcpy(order + first, rest, sizeof *rest * (size_t)others);
  return true;
}
