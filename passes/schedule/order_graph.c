/* A block as a graph of its ops, and the ops of a block by an order of the graph's nodes. Contract:
   see Graph in order_impl.h. */
#include "passes/schedule/order_impl.h"

ValueId order_source(const Entry *e, ValueId v) {
  for (const Op *op = value_def(e, v); op && plan_is_view(e, op); op = value_def(e, v))
    v = op->operands[0];
  return v;
}

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

void order_add_update(Graph *g, const Op *store) {
  const Op *def = value_def(g->e, order_source(g->e, store->operands[0]));
  int node = def ? g->node_of[def->id] : -1;
  ValueId load = g->load_of[store->attr[AT_GLOBAL].i];
  if (node < 0 || load == NO_ID) return;
  const IntList *r = &g->readers[load];
  for (uint32_t k = 0; k < r->n; k++)
    if (r->at[k] < node) add_edge(g, r->at[k], node);
}

static bool is_end(const Op *op) { return op_info[op->kind].flags & OPF_TERMINATOR; }

/* By op id: what it makes is read by the block's end, or by what leads to it, or by none. */
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

Graph order_graph(Arena *a, const Entry *e, Block *b) {
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

/* The ops of the block as they are written, each load in front of what reads it first. */
typedef struct Written {
  OpId *op;
  uint32_t n;
  bool *has; /* by global: its load */
} Written;

static void write_load(Written *w, int64_t global, OpId load) {
  if (w->has[global]) return;
  w->has[global] = true;
  w->op[w->n++] = load;
}

static void write_store(const Entry *e, const OpId *load, OpId store, Written *w) {
  const Op *op = op_at(e, store), *def = value_def(e, op->operands[0]);
  const int64_t own = op->attr[AT_GLOBAL].i;
  if (def && def->kind == OP_LOAD) write_load(w, def->attr[AT_GLOBAL].i, def->id);
  if (load[own] != NO_ID) write_load(w, own, load[own]);
  w->op[w->n++] = store;
}

/* A store stands behind what makes its value and behind the last reader of the old one. */
void order_write(Arena *a, const Entry *e, const Graph *g, const int *order, OpId *out) {
  const Block *b = g->block;
  uint32_t globals = e->module->globals.n;
  int *last =
      ARENA_ARRAY(a, int, globals); /* by global: position + 1 of the last reader of its load */
  int *at = ARENA_ARRAY(a, int, e->ops.n); /* by op id: its position, views' sources included */
  OpId *load = ARENA_ARRAY(a, OpId, globals), *first = ARENA_ARRAY(a, OpId, g->n + 1);
  OpId *chain = ARENA_ARRAY(a, OpId, e->ops.n); /* stores by position, linked */
  Written w = {.op = out, .has = ARENA_ARRAY(a, bool, globals)};
  OpId ret = NO_ID;
  for (uint32_t i = 0; i < globals; i++) load[i] = NO_ID;
  for (int k = 0; k <= g->n; k++) first[k] = NO_ID;
  for (int k = 0; k < g->n; k++) {
    const Op *op = g->op[order[k]];
    at[op->id] = k + 1;
    for (uint32_t j = 0; j < g->reads[order[k]].n; j++) {
      const Op *def = value_def(e, order_source(e, g->reads[order[k]].at[j]));
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
        if (def && def->kind == OP_LOAD && def->parent == b)
          write_load(&w, def->attr[AT_GLOBAL].i, def->id);
      }
      w.op[w.n++] = g->op[order[k - 1]]->id;
    }
    for (OpId s = first[k]; s != NO_ID; s = chain[s]) write_store(e, load, s, &w);
  }
  for (uint32_t i = 0; i < globals; i++)
    if (load[i] != NO_ID) write_load(&w, i, load[i]);
  if (ret != NO_ID) w.op[w.n++] = ret;
}
