/* The verifier: checks the invariants of ir.h after any pass.
   Contract: reports every invalid op once, through diag without a location, as "after pass NAME: in
   entry E: op %12 matmul at mlp.g:4:7: …". It changes nothing, and accepts dangling ids as input.
   The rules for one op are a table in verify_rules.c; time is linear in values, ops and uses. */
#include "ir/verify.h"

/* ---- blocks ---- */

static void verify_block(Verifier *v, const Block *b, const Op *owner);

static void verify_nested(Verifier *v, const Op *op) {
  int min_depth = v->min_depth;
  uint32_t stamp = v->stamp;
  for (int i = 0; i < op->nblocks; i++) {
    if (op->kind == OP_KERNEL) v->min_depth = v->block_depth + 1;
    v->stamp = ++v->stamps;
    verify_block(v, op->blocks[i], op);
  }
  v->min_depth = min_depth;
  v->stamp = stamp;
}

static void verify_op(Verifier *v, const Block *b, uint32_t at) {
  OpId id = b->ops.at[at];
  if (id >= v->e->ops.n) {
    verify_failed(v, NULL, "a block holds op %u of %u", id, v->e->ops.n);
    return;
  }
  const Op *op = op_at(v->e, id);
  v->op_failed = false;
  if (op->id != id || (unsigned)op->kind >= OP_KINDS) {
    verify_failed(v, NULL, "op %u says that it is op %u of kind %d", id, op->id, (int)op->kind);
    return;
  }
  if (v->placed[id]) {
    verify_failed(v, op, "stands in a block twice");
    return;
  }
  v->placed[id] = true;
  bool ends = op_info[op->kind].flags & OPF_TERMINATOR, ok = true;
  if (op->parent != b)
    ok = verify_failed(v, op, "says that it is in another block");
  else if (ends && at + 1 < b->ops.n)
    ok = verify_failed(v, op, "ends its block, but ops follow it");
  else if (!ends && at + 1 == b->ops.n)
    ok = verify_failed(v, op, "is the last of its block, which must end in %s",
                       b->op ? "yield" : "return");
  else if (ends && op->kind != (b->op ? OP_YIELD : OP_RETURN))
    ok = verify_failed(v, op, "ends a block that must end in %s", b->op ? "yield" : "return");
  if (ok && verify_rules(v, op)) verify_nested(v, op);
  for (int i = 0; i < op->nresults; i++)
    if (op->results[i] < v->e->values.n) v->depth[op->results[i]] = v->block_depth;
}

static void verify_block(Verifier *v, const Block *b, const Op *owner) {
  v->block_depth++;
  if (b->op != owner) verify_failed(v, owner, "has a block that belongs to another op");
  if (b->ops.n == 0) verify_failed(v, owner, "has an empty block");
  v->op_failed = false;
  for (uint32_t i = 0; i < b->args.n; i++)
    if (verify_definition(v, owner, b->args.at[i], NO_ID, i))
      v->depth[b->args.at[i]] = v->block_depth;
  for (uint32_t i = 0; i < b->ops.n; i++) verify_op(v, b, i);
  if (owner) { /* values of a nested block are out of scope after it */
    for (uint32_t i = 0; i < b->args.n; i++)
      if (b->args.at[i] < v->e->values.n) v->depth[b->args.at[i]] = 0;
    for (uint32_t i = 0; i < b->ops.n; i++) {
      if (b->ops.at[i] >= v->e->ops.n) continue;
      const Op *op = op_at(v->e, b->ops.at[i]);
      for (int k = 0; k < op->nresults; k++)
        if (op->results[k] < v->e->values.n) v->depth[op->results[k]] = 0;
    }
  }
  v->block_depth--;
}

/* ---- entries and modules ---- */

static void verify_entry(Verifier *v, const Entry *e) {
  v->e = e;
  if (e->module != v->m) verify_failed(v, NULL, "the entry belongs to another module");
  if (!e->body || e->body->op) {
    verify_failed(v, NULL, "the entry has no body of its own");
    return;
  }
  v->scratch = arena_new();
  v->depth = ARENA_ARRAY(v->scratch, int, e->values.n);
  v->placed = ARENA_ARRAY(v->scratch, bool, e->ops.n);
  v->seen = ARENA_ARRAY(v->scratch, uint32_t, (size_t)v->m->globals.n * ACCESSES);
  v->stamp = v->stamps = 1;
  v->block_depth = 0;
  v->min_depth = 0;
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    ValueId x = e->body->args.at[i];
    const Type *t = x < e->values.n ? value_type(e, x) : NULL;
    for (int k = 0; t && k < t->rank; k++)
      if (type_extent(t, k) && !axis_is_of_input(v->m->ctx, type_axis(t, k)))
        verify_failed(v, NULL, "input %u has the %s %s as an axis", i,
                      t->extent[k]->whole ? "part" : "product", t->extent[k]->name);
  }
  verify_block(v, e->body, NULL);
  for (uint32_t i = 0; i < e->ops.n && v->ok; i++)
    if (!v->placed[i]) verify_failed(v, op_at(e, i), "stands in no block");
  for (uint32_t i = 0; i < e->values.n && v->ok; i++) {
    const Value *x = value_at(e, i);
    if (x->def != NO_ID && x->def >= e->ops.n)
      verify_failed(v, NULL, "value %u is defined by op %u of %u", i, x->def, e->ops.n);
  }
  arena_free(v->scratch);
  v->e = NULL;
}

bool entry_verify(const Entry *e, const char *after) {
  Verifier v = {.m = e->module, .after = after, .ok = true};
  verify_entry(&v, e);
  return v.ok;
}

static void verify_globals(Verifier *v) {
  const Module *m = v->m;
  Ctx *c = m->ctx;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    uint64_t bytes;
    if (!g->path || !g->type) {
      verify_failed(v, NULL, "global %u has no path or no type", i);
      continue;
    }
    if (module_find_global(m, g->path) != (int)i)
      verify_failed(v, NULL, "@%s is declared twice", g->path);
    if (g->kind == GLOBAL_HYPER && !hyper_is_type(g->type))
      verify_failed(v, NULL, "the hyperparameter @%s is %s, not f32[], i32[] or bool[]", g->path,
                    type_str(c, g->type));
    else if (g->kind == GLOBAL_HYPER && !hyper_holds(g->type, g->value))
      verify_failed(v, NULL, "the hyperparameter @%s holds %g, which is not of %s", g->path,
                    g->value, type_str(c, g->type));
    int master = g->master ? module_find_global(m, g->master) : -1;
    if (g->master && (master < 0 || !global_is_copy(g, &m->globals.at[master])))
      verify_failed(v, NULL, "@%s is no copy of a param @%s", g->path, g->master);
    if (g->table && (g->kind != GLOBAL_STATE || !g->transient))
      verify_failed(v, NULL, "the table @%s is no transient state", g->path);
    if (!layout_fits(g->type, g->layout) || !layout_bytes(g->type, g->layout, &bytes))
      verify_failed(v, NULL, "@%s of type %s has a layout that does not fit it", g->path,
                    type_str(c, g->type));
  }
}

/* An entry stores a copy when it stores its master, and only then. Of all ranks' runs an entry that
   trains has no copy but the one that it makes, and `gather` stores every one. */
static void verify_copies(Verifier *v, const Entry *e, const bool *loaded, const bool *stored) {
  const Module *m = v->m;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    if (!g->master) continue;
    if (global_gathered(m, (int)i) >= 0) {
      v->e = e;
      if (e->training && loaded[i])
        verify_failed(v, NULL, "@%s is loaded where @%s trains", g->path, g->master);
      if (e == m->gather && !stored[i]) verify_failed(v, NULL, "gather does not set @%s", g->path);
      continue;
    }
    bool of = stored[module_find_global(m, g->master)];
    if (of != stored[i])
      v->e = e, verify_failed(v, NULL, "@%s is stored without @%s", of ? g->master : g->path,
                              of ? g->path : g->master);
  }
}

/* If there is an init entry, it stores every param and state. Modules of tests may have none. */
static void verify_init(Verifier *v, const bool *stored) {
  const Module *m = v->m;
  v->e = m->init;
  if (m->init->body->args.n) verify_failed(v, NULL, "init has inputs");
  for (uint32_t i = 0; i < m->globals.n; i++)
    if (!stored[i] && m->globals.at[i].kind != GLOBAL_HYPER && !m->globals.at[i].table &&
        global_gathered(m, (int)i) < 0)
      verify_failed(v, NULL, "init does not set @%s", m->globals.at[i].path);
}

static void verify_stores(Verifier *v) {
  const Module *m = v->m;
  Arena *scratch = arena_new();
  const Entry *e;
  for (uint32_t k = 0; (e = module_entry(m, k)); k++) {
    bool *stored = ARENA_ARRAY(scratch, bool, m->globals.n + 1);
    bool *loaded = ARENA_ARRAY(scratch, bool, m->globals.n + 1);
    for (uint32_t i = 0; i < e->body->ops.n; i++) {
      const Op *op = op_at(e, e->body->ops.at[i]);
      if (op->kind == OP_STORE) stored[op->attr[AT_GLOBAL].i] = true;
      if (op->kind == OP_LOAD) loaded[op->attr[AT_GLOBAL].i] = true;
    }
    verify_copies(v, e, loaded, stored);
    if (e == m->init) verify_init(v, stored);
    if (e == m->gather && e->body->args.n) verify_failed(v, NULL, "gather has inputs");
  }
  arena_free(scratch);
}

/* Entries are few, so pairs are compared. */
static void verify_names(Verifier *v) {
  const Module *m = v->m;
  for (uint32_t i = 0; i < m->entries.n; i++) {
    if (m->entries.at[i] == m->init) verify_failed(v, NULL, "init is among the entries");
    if (m->entries.at[i] == m->gather) verify_failed(v, NULL, "gather is among the entries");
    for (uint32_t k = 0; k < i; k++)
      if (strcmp(m->entries.at[i]->name, m->entries.at[k]->name) == 0)
        verify_failed(v, NULL, "there are two entries %s", m->entries.at[i]->name);
  }
}

/* A preparation has the entry's inputs, touches no global, and gives the inputs behind them. */
static void verify_preparation(Verifier *v, const Entry *e) {
  const Entry *p = e->ahead;
  const ValueId *made;
  const int n = entry_outputs(p, &made, NULL);
  const uint32_t given = p->body->args.n;
  v->e = p;
  bool fits = e->body->args.n == given + (uint32_t)n;
  for (uint32_t i = 0; fits && i < e->body->args.n; i++)
    fits = value_type(e, e->body->args.at[i]) ==
           value_type(p, i < given ? p->body->args.at[i] : made[i - given]);
  if (!fits) verify_failed(v, NULL, "it does not give the last inputs of %s", e->name);
  for (uint32_t i = 0; i < p->ops.n; i++)
    if (op_info[op_at(p, i)->kind].cls == CLASS_GLOBAL)
      verify_failed(v, op_at(p, i), "a preparation touches no global");
}

bool module_verify(const Module *m, const char *after) {
  Verifier v = {.m = m, .after = after, .ok = true};
  verify_globals(&v);
  verify_names(&v);
  if (!v.ok) return false;
  for (uint32_t i = 0; module_entry(m, i); i++) verify_entry(&v, module_entry(m, i));
  if (v.ok) verify_stores(&v);
  for (uint32_t i = 0; v.ok && i < m->entries.n; i++)
    if (m->entries.at[i]->ahead) verify_preparation(&v, m->entries.at[i]);
  return v.ok;
}
