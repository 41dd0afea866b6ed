/* Order: a schedule of least peak, of the bodies of loops and then of the ops around them. It also
   makes the program fit to run in place: a reader of a global's old value behind its store gets a
   copy, carries that begin with one constant get one each, and stores come after all readers of the
   old value. Contract: the entry has no grad; its ops are left in the order of execution, never
   worse than the given one. List scheduling by memory pressure (Goodman and Hsu, 1988) builds
   several orders. Those of an entry's body are improved at their peaks (order_improve.c); another
   one goes from goal to goal (order_goals.c). All are planned with in-place decisions, and the one
   with the least peak is kept. Of equal ones the earlier is kept, but the given order gives way to
   itself with ops that free bytes put first. */
#include "passes/manager/pass_list.h"
#include "passes/schedule/order_impl.h"

/* The peak of the entry in its present order, in place where it can be. */
static uint64_t peak_of(Arena *a, const Entry *e, const PassRun *r, const GlobalsPlan *g) {
  Plan *p;
  if (!plan_times(a, e, r->opt->target, g, &p)) return UINT64_MAX;
  plan_inplace(a, e, p, g, r->opt->target, NULL);
  Storages s = plan_storages(a, e, p, r->opt->target->align, true);
  return buffers_bound(a, &s.b);
}

/* Where ops are recomputed, the order of the least peak need not be the one that fits with least
   work: of a recurrent net that is the one by steps, in which little crosses from one to the next.
 */
static void keep_orders(Entry *e, const OpId *best, OpId *const *tried, int n) {
  Arena *a = e->module->arena;
  size_t bytes = e->body->ops.n * sizeof(OpId);
  Orders *o = cache_change(e)->orders = ARENA_NEW(a, Orders);
  for (int k = -1; k < n; k++) {
    const OpId *order = k < 0 ? best : tried[k];
    bool known = false;
    for (uint32_t i = 0; i < o->n && !known; i++) known = !memcmp(o->at[i], order, bytes);
    if (known) continue;
    OpId *own = ARENA_ARRAY(a, OpId, e->body->ops.n);
    memcpy(own, order, bytes);
    vec_push(a, o, own);
  }
}

/* The orders by list scheduling again, each improved; one that cannot be is left out. Returns how
   many there are. The given order need not hold to the edges of updates. */
static int improve_all(PassRun *r, Entry *e, Graph *g, const GlobalsPlan *globals, int *const *node,
                       OpId **tried) {
  const Target *t = r->opt->target;
  Plan *p;
  int n = 0;
  if (!plan_times(g->a, e, t, globals, &p)) return 0;
  plan_inplace(g->a, e, p, globals, t, NULL);
  const StepGraph problem = step_graph(g->a, e, p, t);
  for (int k = ORDER_LISTED; k < ORDER_GOALS; k++)
    if (order_improve(g, &problem, node[k])) order_write(g->a, e, g, node[k], tried[n++]);
  return n;
}

void order_tries(const Entry *e, Graph *g, int **node, OpId **tried) {
  const Block *b = g->block;
  node[ORDER_GIVEN] = g->given;
  order_write(g->a, e, g, g->given, tried[ORDER_GIVEN]);
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind == OP_STORE) order_add_update(g, op);
  }
  for (int k = 0; k < ORDER_RULES; k++)
    order_write(g->a, e, g, node[ORDER_LISTED + k] = order_list(g, (OrderRule)k),
                tried[ORDER_LISTED + k]);
  order_write(g->a, e, g, node[ORDER_GOALS] = order_by_goals(g), tried[ORDER_GOALS]);
}

bool order_is_chosen(int k, uint64_t peak, uint64_t min) {
  return k == 0 || peak < min || (k == ORDER_LISTED && peak == min);
}

int64_t order_moved(const OpId *best, const OpId *given, uint32_t n) {
  int64_t moved = 0;
  for (uint32_t i = 0; i < n; i++) moved += best[i] != given[i];
  return moved;
}

/* Readers of what a reshape moves go in front of it, where the peak stays as low. */
static void free_reshapes(PassRun *r, Entry *e, const Graph *g, const GlobalsPlan *globals,
                          uint64_t min, OpId *best) {
  Block *block = e->body;
  const size_t bytes = block->ops.n * sizeof *best;
  int *order = ARENA_ARRAY(g->a, int, g->n + 1), *other = ARENA_ARRAY(g->a, int, g->n + 1), n = 0;
  for (uint32_t i = 0; i < block->ops.n; i++)
    if (g->node_of[best[i]] >= 0) order[n++] = g->node_of[best[i]];
  for (int from = 0; from < n; from++) {
    memcpy(other, order, sizeof *other * (size_t)n);
    if (!order_readers(g, r->opt->target, other, from)) continue;
    order_write(g->a, e, g, other, block->ops.at);
    const uint64_t peak = peak_of(g->a, e, r, globals);
    if (peak > min) continue;
    min = peak;
    memcpy(order, other, sizeof *other * (size_t)n);
    memcpy(best, block->ops.at, bytes);
  }
  memcpy(block->ops.at, best, bytes);
}

static int64_t order_body(PassRun *r, Entry *e, const GlobalsPlan *globals) {
  Block *block = e->body;
  Arena *a = arena_new();
  Graph g = order_graph(a, e, block);
  uint32_t n = block->ops.n;
  size_t bytes = n * sizeof(OpId);
  OpId *best = ARENA_ARRAY(a, OpId, n), *given = ARENA_ARRAY(a, OpId, n), *tried[ORDER_TRIED];
  int *node[ORDER_IMPROVED], orders = ORDER_IMPROVED;
  for (int k = 0; k < ORDER_TRIED; k++) tried[k] = ARENA_ARRAY(a, OpId, n);
  memcpy(given, block->ops.at, bytes);
  order_tries(e, &g, node, tried);
  uint64_t min = UINT64_MAX;
  for (int k = 0; k < orders; k++) {
    memcpy(block->ops.at, tried[k], bytes);
    uint64_t peak = peak_of(a, e, r, globals);
    if (order_is_chosen(k, peak, min)) {
      min = peak;
      memcpy(best, tried[k], bytes);
    }
    if (k == ORDER_IMPROVED - 1) {
      memcpy(block->ops.at, best, bytes);
      orders += improve_all(r, e, &g, globals, node, tried + ORDER_IMPROVED);
    }
  }
  memcpy(block->ops.at, best, bytes);
  free_reshapes(r, e, &g, globals, min, best);
  keep_orders(e, best, tried, ORDER_IMPROVED);
  int64_t changes = order_moved(best, given, n);
  arena_free(a);
  return changes;
}

static int64_t order_entry(PassRun *r, Entry *e) {
  if (!e->differentiated) windows_note_least(e); /* IR that is read back */
  int64_t changes = order_copies(r->scratch, e);
  GlobalsPlan globals = plan_globals(r->m, r->opt->target->align);
  changes += order_loops(r, e, &globals);
  return changes + order_body(r, e, &globals);
}

bool pass_order(PassRun *r) {
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) r->changes += order_entry(r, e);
  return true;
}
