/* Order: a schedule of least peak, of the bodies of loops and then of what is around them. Also
   makes the program fit to run in place: what would read a global's old value after its store gets
   a copy, carries that begin with one constant get one each, and stores come after all readers of
   the old value. Contract: needs no grad; leaves the ops of every entry in the order of execution,
   never worse than the given one. List scheduling by memory pressure (Goodman and Hsu, 1988):
   several orders are built, and those of an entry's body are improved where they hold most
   (order_improve.c); another one goes from goal to goal (order_goals.c). All are planned with
   in-place decisions, and the one with the least peak is kept; the earlier one if equal, but the
   given one gives way to itself with what frees bytes put first. */
#include "passes/manager/pass_list.h"
#include "passes/remat/remat_impl.h"
#include "passes/schedule/order_impl.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- copies ---- */

/* The load or input of which v is a view, or v itself. */
static ValueId source_of(const Entry *e, ValueId v) {
  for (const Op *op = value_def(e, v); op && plan_is_view(e, op); op = value_def(e, v))
    v = op->operands[0];
  return v;
}

typedef struct Stores {
  bool *stored;   /* by global */
  uint32_t *uses; /* by value: how often ops have it as an operand */
} Stores;

/* A carry begins in the bytes of its first value, which a constant has for one carry alone. */
static bool shares_constant(const Entry *e, const Stores *s, const Op *op, int i) {
  if (op->kind != OP_SCAN || i >= op->attr[AT_CARRIES].i || s->uses[op->operands[i]] < 2)
    return false;
  const Op *def = value_def(e, op->operands[i]);
  return def && def->kind == OP_CONST;
}

/* The yield of a loop brings each value to its carry, where it must not find another carry's. */
static bool moves_carry(const Entry *e, const Op *yield, int i) {
  const Op *scan = yield->parent->op;
  if (!scan || scan->kind != OP_SCAN || i >= scan->attr[AT_CARRIES].i) return false;
  ValueId v = source_of(e, yield->operands[i]);
  const Value *x = value_at(e, v);
  return x->block == scan->blocks[0] && x->index <= scan->attr[AT_CARRIES].i && x->index > 0 &&
         x->index != (uint32_t)i + 1;
}

/* Reading the operand at the end, or after other stores, would find a new value in its bytes. */
static bool needs_copy(const Entry *e, const Stores *s, const Op *op, int i) {
  if (op->kind == OP_YIELD) return moves_carry(e, op, i);
  const Op *def = value_def(e, source_of(e, op->operands[i]));
  if (!def || def->kind != OP_LOAD || !s->stored[def->attr[AT_GLOBAL].i]) return false;
  if (op->kind == OP_RETURN) return true;
  return op->kind == OP_STORE && op->attr[AT_GLOBAL].i != def->attr[AT_GLOBAL].i;
}

/* Each of the loop's carries begins with a constant of its own. */
static void copy_scan(Builder *b, const Entry *old, const Stores *s, const Op *op, ValueId *map) {
  int carries = (int)op->attr[AT_CARRIES].i;
  ValueId *own = ARENA_ARRAY(b->m->arena, ValueId, carries + 1);
  for (int i = 0; i < carries; i++) {
    own[i] = map[op->operands[i]];
    if (!shares_constant(old, s, op, i)) continue;
    const Value *v = value_at(old, op->operands[i]);
    own[i] = build_op(b, OP_CONST, NULL, 0, op_at(old, v->def)->attr, &v->type, 1)->results[0];
    value_at(b->e, own[i])->layout = v->layout;
  }
  build_copy(b, old, op, map);
  if (!carries) return;
  ValueId *operands = (ValueId *)value_def(b->e, map[op->results[0]])->operands; /* built here */
  memcpy(operands, own, sizeof *own * (size_t)carries);
}

static void rebuild_with_copies(Builder *b, const Entry *old, const Op *op, ValueId *map,
                                void *data) {
  const Stores *s = data;
  ValueId *was = NULL;
  for (int i = 0; i < op->noperands; i++) {
    if (!needs_copy(old, s, op, i)) continue;
    if (!was) { /* what op reads is mapped to the copy for this op alone */
      was = ARENA_ARRAY(b->m->arena, ValueId, op->noperands);
      for (int k = 0; k < op->noperands; k++) was[k] = map[op->operands[k]];
    }
    b->loc = op->loc;
    b->scope = op->scope;
    ValueId x = was[i];
    if (map[op->operands[i]] != x) continue; /* the same operand twice: one copy */
    ValueId copy = build_op(b, OP_COPY, &x, 1, NULL, &b->e->values.at[x].type, 1)->results[0];
    value_at(b->e, copy)->layout = value_at(b->e, x)->layout;
    map[op->operands[i]] = copy;
  }
  if (op->kind == OP_SCAN)
    copy_scan(b, old, s, op, map);
  else
    build_copy(b, old, op, map);
  for (int i = 0; was && i < op->noperands; i++) map[op->operands[i]] = was[i];
}

static bool add_copies(Arena *scratch, Entry *e) {
  Stores s = {ARENA_ARRAY(scratch, bool, e->module->globals.n),
              ARENA_ARRAY(scratch, uint32_t, e->values.n)};
  bool needed = false;
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    if (op->kind == OP_STORE) s.stored[op->attr[AT_GLOBAL].i] = true;
  }
  for (uint32_t i = 0; i < e->ops.n; i++)
    for (int k = 0; k < op_at(e, i)->noperands; k++) s.uses[op_at(e, i)->operands[k]]++;
  for (uint32_t i = 0; i < e->ops.n; i++)
    for (int k = 0; k < op_at(e, i)->noperands; k++)
      needed |= needs_copy(e, &s, op_at(e, i), k) || shares_constant(e, &s, op_at(e, i), k);
  if (needed) entry_rebuild(e, rebuild_with_copies, &s, false, true);
  return needed;
}

/* ---------------------------------------------------------------- dependences ---- */

static void add_edge(Graph *g, int from, int to) {
  vec_push(g->a, &g->after[from], to);
  g->before[to]++;
}

static void add_reads(Graph *g, int node, uint32_t *stamp) {
  ValueList all = {0};
  plan_reads(g->a, g->e, g->op[node], &all);
  for (uint32_t k = 0; k < all.n; k++) {
    ValueId v = all.at[k];
    if (stamp[v] == (uint32_t)node + 1) continue;
    stamp[v] = (uint32_t)node + 1;
    vec_push(g->a, &g->reads[node], v);
    vec_push(g->a, &g->readers[v], node);
    const Op *def = value_def(g->e, v);
    if (def && g->node_of[def->id] >= 0) add_edge(g, g->node_of[def->id], node);
  }
}

/* The op that makes a global's new value comes after all others that read the old one, as far as
   the nodes' own order has them before it: then it can work in the global's bytes, and no cycle
   comes. */
static void add_update_edges(Graph *g, const Op *store) {
  const Op *def = value_def(g->e, source_of(g->e, store->operands[0]));
  int node = def ? g->node_of[def->id] : -1;
  ValueId load = g->load_of[store->attr[AT_GLOBAL].i];
  if (node < 0 || load == NO_ID) return;
  const IntList *r = &g->readers[load];
  for (uint32_t k = 0; k < r->n; k++)
    if (r->at[k] < node) add_edge(g, r->at[k], node);
}

static bool is_end(const Op *op) { return op_info[op->kind].flags & OPF_TERMINATOR; }

/* By op id: what it makes is read by the block's end, or by what leads to it, or by nobody. */
static bool *find_outputs(Arena *a, const Entry *e, const Block *b) {
  bool *out = ARENA_ARRAY(a, bool, e->ops.n), *read = ARENA_ARRAY(a, bool, e->values.n);
  bool *wanted = ARENA_ARRAY(a, bool, e->values.n);
  ValueList reads = {0};
  for (uint32_t i = b->ops.n; i-- > 0;) {
    const Op *op = op_at(e, b->ops.at[i]);
    out[op->id] = is_end(op);
    for (int k = 0; k < op->nresults; k++)
      out[op->id] |= wanted[op->results[k]] || !read[op->results[k]];
    plan_reads(a, e, op, &reads);
    for (uint32_t k = 0; k < reads.n; k++) {
      read[reads.at[k]] = true;
      wanted[reads.at[k]] |= out[op->id];
    }
  }
  return out;
}

static bool is_node(const Op *op) {
  return op->kind != OP_LOAD && op->kind != OP_STORE && !is_end(op);
}

static void number_nodes(Graph *g) {
  const Block *b = g->block;
  bool *output = find_outputs(g->a, g->e, b);
  for (int last = 0; last < 2; last++)
    for (uint32_t i = 0; i < b->ops.n; i++) {
      const Op *op = op_at(g->e, b->ops.at[i]);
      if (!is_node(op) || output[op->id] == (last == 1)) continue;
      g->leaf[g->n] = op->noperands == 0 && op->nblocks == 0;
      g->node_of[op->id] = g->n;
      g->op[g->n++] = op;
    }
  int k = 0;
  for (uint32_t i = 0; i < b->ops.n; i++)
    if (is_node(op_at(g->e, b->ops.at[i]))) g->given[k++] = g->node_of[b->ops.at[i]];
}

static Graph graph_new(Arena *a, const Entry *e, Block *b) {
  Graph g = {.a = a, .e = e, .block = b};
  g.op = ARENA_ARRAY(a, const Op *, b->ops.n);
  g.given = ARENA_ARRAY(a, int, b->ops.n);
  g.reads = ARENA_ARRAY(a, ValueList, b->ops.n);
  g.after = ARENA_ARRAY(a, IntList, b->ops.n);
  g.before = ARENA_ARRAY(a, int, b->ops.n);
  g.leaf = ARENA_ARRAY(a, bool, b->ops.n);
  g.readers = ARENA_ARRAY(a, IntList, e->values.n);
  g.external = ARENA_ARRAY(a, bool, e->values.n);
  g.node_of = ARENA_ARRAY(a, int, e->ops.n);
  uint32_t *stamp = ARENA_ARRAY(a, uint32_t, e->values.n);
  g.load_of = ARENA_ARRAY(a, ValueId, e->module->globals.n);
  for (uint32_t i = 0; i < e->ops.n; i++) g.node_of[i] = -1;
  for (uint32_t i = 0; i < e->module->globals.n; i++) g.load_of[i] = NO_ID;
  for (uint32_t i = 0; i < b->args.n; i++) g.external[b->args.at[i]] = true;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind == OP_LOAD) {
      g.external[op->results[0]] = true;
      g.load_of[op->attr[AT_GLOBAL].i] = op->results[0];
    }
    if (op->kind == OP_STORE || is_end(op))
      for (int k = 0; k < op->noperands; k++) g.external[op->operands[k]] = true;
  }
  number_nodes(&g);
  for (int k = 0; k < g.n; k++) add_reads(&g, k, stamp);
  return g;
}

/* ---------------------------------------------------------------- list scheduling ---- */

typedef enum Rule {
  SHRINKERS, /* the nodes' order, but first whatever frees as much as it takes */
  PRESSURE,  /* always what adds least */
  RULES
} Rule;

typedef struct Ready {
  int64_t delta; /* bytes that it adds */
  int node;
} Ready;

typedef struct Heap {
  VEC(Ready) v;
} Heap;

/* A schedule in the making. Ready nodes are in both heaps; stale entries are skipped when they come
 * up. */
typedef struct Schedule {
  Graph *g;
  Rule rule;
  int *left;      /* by node: what must still come first */
  int *unread;    /* by value: readers that are not scheduled */
  int64_t *delta; /* by node, as last pushed */
  bool *done;
  Heap ready;   /* by delta, then place */
  Heap in_turn; /* by place */
  int *order;
  int n;
} Schedule;

static bool heap_less(const Ready *a, const Ready *b) {
  return a->delta != b->delta ? a->delta < b->delta : a->node < b->node;
}

static void heap_push(Arena *a, Heap *h, Ready r) {
  vec_push(a, &h->v, r);
  uint32_t i = h->v.n - 1;
  for (; i && heap_less(&r, &h->v.at[(i - 1) / 2]); i = (i - 1) / 2)
    h->v.at[i] = h->v.at[(i - 1) / 2];
  h->v.at[i] = r;
}

static void heap_pop(Heap *h) {
  Ready last = h->v.at[--h->v.n];
  uint32_t i = 0;
  for (uint32_t c = 1; c < h->v.n; c = 2 * i + 1) {
    if (c + 1 < h->v.n && heap_less(&h->v.at[c + 1], &h->v.at[c])) c++;
    if (!heap_less(&h->v.at[c], &last)) break;
    h->v.at[i] = h->v.at[c];
    i = c;
  }
  if (h->v.n) h->v.at[i] = last;
}

static int64_t bytes_of(const Graph *g, ValueId v) { return (int64_t)value_type(g->e, v)->bytes; }

/* Bytes that a node adds: its results, and those of its leaves, without what it reads last. Stored
   results cost nothing: they lie in their global. */
static int64_t delta_of(const Schedule *s, int node) {
  const Graph *g = s->g;
  const Op *op = g->op[node];
  int64_t d = 0;
  if (!plan_is_view(g->e, op))
    for (int k = 0; k < op->nresults; k++) {
      bool stored = g->external[op->results[k]] && g->readers[op->results[k]].n == 0;
      d += stored ? 0 : bytes_of(g, op->results[k]);
    }
  for (uint32_t k = 0; k < g->reads[node].n; k++) {
    ValueId v = g->reads[node].at[k];
    const Op *def = value_def(g->e, v);
    if (g->external[v] || !def) continue;
    if (plan_is_view(g->e, op)) continue;
    if (s->unread[v] == 1) d -= bytes_of(g, v);
    int maker = g->node_of[def->id];
    if (g->leaf[maker] && !s->done[maker]) d += bytes_of(g, v);
  }
  return d;
}

static void offer(Schedule *s, int node) {
  s->delta[node] = delta_of(s, node);
  heap_push(s->g->a, &s->ready, (Ready){s->delta[node], node});
}

static void emit(Schedule *s, int node) {
  Graph *g = s->g;
  for (uint32_t k = 0; k < g->reads[node].n; k++) { /* leaves on demand */
    const Op *def = value_def(g->e, g->reads[node].at[k]);
    int maker = def ? g->node_of[def->id] : -1;
    if (maker >= 0 && g->leaf[maker] && !s->done[maker]) emit(s, maker);
  }
  s->done[node] = true;
  s->order[s->n++] = node;
  for (uint32_t k = 0; !g->leaf[node] && k < g->after[node].n; k++) {
    int next = g->after[node].at[k];
    if (--s->left[next] == 0 && !s->done[next] && !g->leaf[next]) {
      offer(s, next);
      heap_push(g->a, &s->in_turn, (Ready){0, next});
    }
  }
  for (uint32_t k = 0; k < g->reads[node].n; k++) { /* the last reader of each frees it now */
    ValueId v = g->reads[node].at[k];
    if (--s->unread[v] != 1) continue;
    for (uint32_t j = 0; j < g->readers[v].n; j++) {
      int r = g->readers[v].at[j];
      if (!s->done[r] && s->left[r] == 0 && !g->leaf[r]) offer(s, r);
    }
  }
}

/* The next node by the rule, or -1. */
static int choose(Schedule *s) {
  while (s->ready.v.n) {
    Ready r = s->ready.v.at[0];
    if (s->done[r.node] || r.delta != s->delta[r.node]) {
      heap_pop(&s->ready);
      continue;
    }
    if (s->rule == SHRINKERS && r.delta > 0) break;
    heap_pop(&s->ready);
    return r.node;
  }
  while (s->in_turn.v.n) {
    int node = s->in_turn.v.at[0].node;
    heap_pop(&s->in_turn);
    if (!s->done[node]) return node;
  }
  return -1;
}

static int *schedule(Graph *g, Rule rule) {
  Schedule s = {.g = g, .rule = rule};
  s.left = ARENA_ARRAY(g->a, int, g->n);
  s.unread = ARENA_ARRAY(g->a, int, g->e->values.n);
  s.delta = ARENA_ARRAY(g->a, int64_t, g->n);
  s.done = ARENA_ARRAY(g->a, bool, g->n);
  s.order = ARENA_ARRAY(g->a, int, g->n);
  for (uint32_t v = 0; v < g->e->values.n; v++) s.unread[v] = (int)g->readers[v].n;
  for (int k = 0; k < g->n; k++) s.left[k] = g->before[k];
  for (int k = 0; k < g->n; k++) /* a leaf is there whenever it is wanted */
    if (g->leaf[k])
      for (uint32_t j = 0; j < g->after[k].n; j++) s.left[g->after[k].at[j]]--;
  for (int k = 0; k < g->n; k++)
    if (s.left[k] == 0 && !g->leaf[k]) {
      offer(&s, k);
      heap_push(g->a, &s.in_turn, (Ready){0, k});
    }
  for (int node; (node = choose(&s)) >= 0;) emit(&s, node);
  for (int k = 0; k < g->n; k++) /* leaves that only the return or a store reads */
    if (!s.done[k]) {
      s.done[k] = true;
      s.order[s.n++] = k;
    }
  return s.order;
}

/* ---------------------------------------------------------------- the body ---- */

/* The ops of the body by an order of the nodes: each load before its first reader, each store as
   early as it may stand, the return last. */
static void write_body(Arena *a, const Entry *e, const Graph *g, const int *order, OpId *out) {
  const Block *b = g->block;
  uint32_t globals = e->module->globals.n, n = 0;
  int *last =
      ARENA_ARRAY(a, int, globals); /* by global: position + 1 of the last reader of its load */
  int *at = ARENA_ARRAY(a, int, e->ops.n); /* by op id: its position, views' sources included */
  OpId *load = ARENA_ARRAY(a, OpId, globals), *first = ARENA_ARRAY(a, OpId, g->n + 1);
  OpId *chain = ARENA_ARRAY(a, OpId, e->ops.n); /* stores by position, linked */
  bool *out_yet = ARENA_ARRAY(a, bool, globals);
  OpId ret = NO_ID;
  for (uint32_t i = 0; i < globals; i++) load[i] = NO_ID;
  for (int k = 0; k <= g->n; k++) first[k] = NO_ID;
  for (int k = 0; k < g->n; k++) {
    const Op *op = g->op[order[k]];
    at[op->id] = k + 1;
    for (uint32_t j = 0; j < g->reads[order[k]].n; j++) {
      const Op *def = value_def(e, source_of(e, g->reads[order[k]].at[j]));
      if (def && def->kind == OP_LOAD) last[def->attr[AT_GLOBAL].i] = k + 1;
    }
  }
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind == OP_LOAD) load[op->attr[AT_GLOBAL].i] = op->id;
    if (is_end(op)) ret = op->id;
  }
  for (uint32_t i = b->ops.n; i-- > 0;) { /* from behind: of one position the given order */
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind != OP_STORE) continue;
    const Op *def = value_def(e, op->operands[0]);
    int pos = def ? at[def->id] : 0;
    if (last[op->attr[AT_GLOBAL].i] > pos) pos = last[op->attr[AT_GLOBAL].i];
    chain[op->id] = first[pos];
    first[pos] = op->id;
  }
  for (int k = 0; k <= g->n; k++) {
    if (k > 0) {
      const ValueList *reads = &g->reads[order[k - 1]];
      for (uint32_t j = 0; j < reads->n; j++) {
        const Op *def = value_def(e, reads->at[j]);
        if (!def || def->kind != OP_LOAD || def->parent != b) continue;
        if (out_yet[def->attr[AT_GLOBAL].i]) continue;
        out_yet[def->attr[AT_GLOBAL].i] = true;
        out[n++] = def->id;
      }
      out[n++] = g->op[order[k - 1]]->id;
    }
    for (OpId s = first[k]; s != NO_ID; s = chain[s]) {
      const Op *op = op_at(e, s), *def = value_def(e, op->operands[0]);
      int64_t own = op->attr[AT_GLOBAL].i;
      if (def && def->kind == OP_LOAD && !out_yet[def->attr[AT_GLOBAL].i]) {
        out_yet[def->attr[AT_GLOBAL].i] = true;
        out[n++] = def->id;
      }
      if (load[own] != NO_ID && !out_yet[own]) {
        out_yet[own] = true;
        out[n++] = load[own];
      }
      out[n++] = s;
    }
  }
  for (uint32_t i = 0; i < globals; i++)
    if (load[i] != NO_ID && !out_yet[i]) out[n++] = load[i];
  if (ret != NO_ID) out[n++] = ret;
}

/* The peak of the entry in its present order, in place where it can be. */
static uint64_t peak_of(Arena *a, const Entry *e, const PassRun *r, const GlobalsPlan *g) {
  Plan *p;
  if (!plan_times(a, e, r->opt->target, g, &p)) return UINT64_MAX;
  plan_inplace(a, e, p, g, r->opt->target->align, NULL);
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

enum { GIVEN, LISTED, GOALS = LISTED + RULES, IMPROVED, TRIED = IMPROVED + RULES };

/* The orders by list scheduling again, each improved; one that cannot be is left out. Returns how
   many there are. The given order need not hold to the edges of updates. */
static int improve_all(PassRun *r, Entry *e, Graph *g, const GlobalsPlan *globals, int *const *node,
                       OpId **tried) {
  const Target *t = r->opt->target;
  Plan *p;
  int n = 0;
  if (!plan_times(g->a, e, t, globals, &p)) return 0;
  plan_inplace(g->a, e, p, globals, t->align, NULL);
  const RematProblem problem = remat_problem(g->a, e, p, t);
  for (int k = LISTED; k < GOALS; k++)
    if (order_improve(g, &problem, node[k])) write_body(g->a, e, g, node[k], tried[n++]);
  return n;
}

/* The given order and those by the rules, as node lists and as lists of ops. Adds the edges of
   updates to the graph. */
static void try_orders(const Entry *e, Graph *g, int **node, OpId **tried) {
  const Block *b = g->block;
  node[GIVEN] = g->given;
  write_body(g->a, e, g, g->given, tried[GIVEN]);
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind == OP_STORE) add_update_edges(g, op);
  }
  for (int k = 0; k < RULES; k++)
    write_body(g->a, e, g, node[LISTED + k] = schedule(g, (Rule)k), tried[LISTED + k]);
  write_body(g->a, e, g, node[GOALS] = order_by_goals(g), tried[GOALS]);
}

/* Of equal peaks the earlier order, but the given one gives way to the first that is listed. */
static bool is_chosen(int k, uint64_t peak, uint64_t least) {
  return k == 0 || peak < least || (k == LISTED && peak == least);
}

static int64_t count_moved(const OpId *best, const OpId *given, uint32_t n) {
  int64_t moved = 0;
  for (uint32_t i = 0; i < n; i++) moved += best[i] != given[i];
  return moved;
}

static int64_t order_body(PassRun *r, Entry *e, const GlobalsPlan *globals) {
  Block *block = e->body;
  Arena *a = arena_new();
  Graph g = graph_new(a, e, block);
  uint32_t n = block->ops.n;
  size_t bytes = n * sizeof(OpId);
  OpId *best = ARENA_ARRAY(a, OpId, n), *given = ARENA_ARRAY(a, OpId, n), *tried[TRIED];
  int *node[IMPROVED], orders = IMPROVED;
  for (int k = 0; k < TRIED; k++) tried[k] = ARENA_ARRAY(a, OpId, n);
  memcpy(given, block->ops.at, bytes);
  try_orders(e, &g, node, tried);
  uint64_t least = UINT64_MAX;
  for (int k = 0; k < orders; k++) {
    memcpy(block->ops.at, tried[k], bytes);
    uint64_t peak = peak_of(a, e, r, globals);
    if (is_chosen(k, peak, least)) {
      least = peak;
      memcpy(best, tried[k], bytes);
    }
    if (k == IMPROVED - 1) {
      memcpy(block->ops.at, best, bytes);
      orders += improve_all(r, e, &g, globals, node, tried + IMPROVED);
    }
  }
  memcpy(block->ops.at, best, bytes);
  keep_orders(e, best, tried, IMPROVED);
  int64_t changes = count_moved(best, given, n);
  arena_free(a);
  return changes;
}

/* ---------------------------------------------------------------- loops ---- */

typedef struct LoopOrders {
  Block *block;
  int depth;
  OpId *given, *tried[IMPROVED];
  uint64_t peak[IMPROVED]; /* of the steps of the body, by order */
} LoopOrders;

typedef struct Loops {
  VEC(LoopOrders) v;
  int depth; /* of the innermost */
} Loops;

static void find_loops(Arena *a, const Entry *e, const Block *b, int depth, Loops *out) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind != OP_SCAN) continue;
    vec_push(a, &out->v, (LoopOrders){.block = op->blocks[0], .depth = depth});
    if (depth > out->depth) out->depth = depth;
    find_loops(a, e, op->blocks[0], depth + 1, out);
  }
}

static void try_loop(Arena *a, const Entry *e, LoopOrders *l) {
  uint32_t n = l->block->ops.n;
  int *node[IMPROVED];
  l->given = ARENA_ARRAY(a, OpId, n);
  memcpy(l->given, l->block->ops.at, n * sizeof(OpId));
  for (int k = 0; k < IMPROVED; k++) l->tried[k] = ARENA_ARRAY(a, OpId, n);
  Arena *scratch = arena_new();
  Graph g = graph_new(scratch, e, l->block);
  try_orders(e, &g, node, l->tried);
  arena_free(scratch);
}

/* The loop among those at hand in whose body the step is; -1: in none. */
static int loop_of(const Op *step, const int *loop) {
  for (const Block *b = step->parent; b->op; b = b->op->parent)
    if (loop[b->op->id] >= 0) return loop[b->op->id];
  return -1;
}

/* Peaks of the steps in each loop at hand, in the order that they have now, and of all other steps.
   All are UINT64_MAX where a size overflows. */
static uint64_t peaks_of(Arena *a, const Entry *e, const PassRun *r, const GlobalsPlan *g,
                         const int *loop, Loops *all, int k) {
  Plan *p;
  uint64_t *live = NULL, outside = 0;
  if (plan_times(a, e, r->opt->target, g, &p)) {
    plan_inplace(a, e, p, g, r->opt->target->align, NULL);
    Storages s = plan_storages(a, e, p, r->opt->target->align, true);
    live = buffers_live(a, &s.b);
  }
  for (uint32_t i = 0; i < all->v.n; i++) all->v.at[i].peak[k] = live ? 0 : UINT64_MAX;
  for (int t = 0; live && t < p->nsteps; t++) {
    int i = loop_of(p->steps[t], loop);
    uint64_t *peak = i < 0 ? &outside : &all->v.at[i].peak[k];
    if (live[t] > *peak) *peak = live[t];
  }
  return live ? outside : UINT64_MAX;
}

/* Orders the bodies of all loops of one depth. Bodies do not overlap in time, so that one plan of
   the entry for each rule gives the peaks of all of them: the whole is linear in the number of
   loops. A loop whose peak is below that of the rest stays as it would be alone. */
static int64_t order_depth(PassRun *r, Entry *e, const GlobalsPlan *globals, Loops *all,
                           int depth) {
  Arena *a = arena_new();
  int *loop = ARENA_ARRAY(a, int, e->ops.n);
  int64_t changes = 0;
  uint64_t rest = 0;
  for (uint32_t i = 0; i < e->ops.n; i++) loop[i] = -1;
  for (uint32_t i = 0; i < all->v.n; i++) {
    LoopOrders *l = &all->v.at[i];
    if (l->depth != depth) continue;
    loop[l->block->op->id] = (int)i;
    try_loop(a, e, l);
  }
  for (int k = 0; k < IMPROVED; k++) {
    Arena *scratch = arena_new();
    for (uint32_t i = 0; i < all->v.n; i++) {
      const LoopOrders *l = &all->v.at[i];
      if (l->depth == depth) memcpy(l->block->ops.at, l->tried[k], l->block->ops.n * sizeof(OpId));
    }
    uint64_t outside = peaks_of(scratch, e, r, globals, loop, all, k);
    if (k == GIVEN) rest = outside;
    arena_free(scratch);
  }
  /* What the loops behind each one hold as they were given; those before it are chosen. */
  uint64_t *behind = ARENA_ARRAY(a, uint64_t, all->v.n + 1);
  for (uint32_t i = all->v.n; i-- > 0;) {
    const LoopOrders *l = &all->v.at[i];
    uint64_t peak = l->depth == depth ? l->peak[GIVEN] : 0;
    behind[i] = peak > behind[i + 1] ? peak : behind[i + 1];
  }
  for (uint32_t i = 0; i < all->v.n; i++) {
    const LoopOrders *l = &all->v.at[i];
    uint64_t others = rest > behind[i + 1] ? rest : behind[i + 1], least = UINT64_MAX;
    int best = GIVEN;
    if (l->depth != depth) continue;
    for (int k = 0; k < IMPROVED; k++) {
      uint64_t peak = l->peak[k] > others ? l->peak[k] : others;
      if (!is_chosen(k, peak, least)) continue;
      least = peak;
      best = k;
    }
    if (l->peak[best] > rest) rest = l->peak[best];
    uint32_t n = l->block->ops.n;
    memcpy(l->block->ops.at, l->tried[best], n * sizeof(OpId));
    changes += count_moved(l->tried[best], l->given, n);
  }
  arena_free(a);
  return changes;
}

static int64_t order_entry(PassRun *r, Entry *e) {
  int64_t changes = add_copies(r->scratch, e);
  GlobalsPlan globals = plan_globals(r->m, r->opt->target->align);
  Loops loops = {0};
  find_loops(r->scratch, e, e->body, 1, &loops);
  for (int depth = loops.depth; depth > 0; depth--)
    changes += order_depth(r, e, &globals, &loops, depth);
  return changes + order_body(r, e, &globals);
}

bool pass_order(PassRun *r) {
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) r->changes += order_entry(r, e);
  return true;
}
