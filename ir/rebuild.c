/* Copying ops between entries and rebuilding an entry op by op, the way every pass changes the IR.
   Contract: old values are mapped before they are used. Values and ops of a rebuilt entry are
   dense, in the order of the text. A pure op is live if an effect or a terminator depends on it. */
#include "ir.h"

/* ---- copying ---- */

static ValueId mapped(const Builder *b, const Entry *from, const Op *op, ValueId v,
                      const ValueId *map) {
  if (map[v] == NO_ID)
    gc_bug(b->m->ctx, "%s at %s is copied before its operand %s", op_info[op->kind].name,
           loc_str(b->m->ctx, op->loc), value_str(from, v));
  return map[v];
}

static void rebuild_op(Builder *b, const Entry *old, const Op *op, ValueId *map) {
  builder_like(b, op); /* ops that replace it keep its location */
  b->name = NULL;
  b->each(b, old, op, map, b->data);
}

static void copy_block(Builder *b, const Entry *from, const Block *old, Block *into, ValueId *map) {
  Block *outer = b->b;
  builder_at(b, into);
  for (uint32_t i = 0; i < old->args.n; i++) {
    map[old->args.at[i]] = block_add_arg(b->e, into, *value_at(from, old->args.at[i]));
  }
  for (uint32_t i = 0; i < old->ops.n; i++) {
    const Op *op = op_at(from, old->ops.at[i]);
    if (b->each && old->op->kind == OP_SCAN)
      rebuild_op(b, from, op, map);
    else
      build_copy(b, from, op, map);
  }
  builder_at(b, outer);
}

static bool plain(const Entry *from, const Op *op) {
  const OpInfo *info = &op_info[op->kind];
  return op->nresults == 1 && op->nblocks == 0 && info->shape && !(info->flags & OPF_EFFECT) &&
         (op->kind == OP_LOAD || !value_at(from, op->results[0])->layout);
}

void build_copy(Builder *b, const Entry *from, const Op *op, ValueId *map) {
  ValueId small[SMALL_OPERANDS];
  ValueId *x =
      op->noperands <= SMALL_OPERANDS ? small : ARENA_ARRAY(b->m->arena, ValueId, op->noperands);
  for (int i = 0; i < op->noperands; i++) x[i] = mapped(b, from, op, op->operands[i], map);
  Loc loc = b->loc;
  const char *scope = b->scope;
  bool backward = b->backward;
  builder_like(b, op);
  if (plain(from, op)) {
    const Value *old = value_at(from, op->results[0]);
    b->name = old->name;
    ValueId v = build(b, op->kind, x, op->noperands, op->attr, old->type);
    if (op->kind == OP_LOAD) value_at(b->e, v)->layout = old->layout;
    map[op->results[0]] = v;
  } else {
    const Type **types = ARENA_ARRAY(b->m->arena, const Type *, op->nresults);
    for (int i = 0; i < op->nresults; i++) types[i] = value_type(from, op->results[i]);
    b->name = NULL;
    Op *copy = build_op(b, op->kind, x, op->noperands, op->attr, types, op->nresults);
    for (int i = 0; i < op->nresults; i++) {
      const Value *old = value_at(from, op->results[i]);
      Value *value = value_at(b->e, copy->results[i]);
      value->name = old->name;
      value->layout = old->layout;
      map[op->results[i]] = copy->results[i];
    }
    for (int i = 0; i < op->nblocks; i++) copy_block(b, from, op->blocks[i], copy->blocks[i], map);
  }
  b->loc = loc;
  b->scope = scope;
  b->backward = backward;
}

/* ---- dead ops ---- */

typedef struct Marker {
  const Entry *e;
  bool *live;  /* by op */
  OpId *stack; /* live ops whose operands are still to be looked at; each op is pushed once */
  uint32_t n;
} Marker;

static void mark(Marker *m, OpId id) {
  if (id == NO_ID || m->live[id]) return;
  m->live[id] = true;
  m->stack[m->n++] = id;
}

static void mark_effects(Marker *m, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++)
    if (op_info[op_at(m->e, b->ops.at[i])->kind].flags & OPF_EFFECT) mark(m, b->ops.at[i]);
}

/* The ops in a block are visited if its parent op is live. */
static bool *mark_live(const Entry *e, Arena *scratch) {
  Marker m = {.e = e,
              .live = ARENA_ARRAY(scratch, bool, e->ops.n),
              .stack = ARENA_ARRAY(scratch, OpId, e->ops.n)};
  mark_effects(&m, e->body);
  while (m.n) {
    const Op *op = op_at(e, m.stack[--m.n]);
    for (int i = 0; i < op->noperands; i++) mark(&m, value_at(e, op->operands[i])->def);
    for (int i = 0; i < op->nblocks; i++) mark_effects(&m, op->blocks[i]);
  }
  return m.live;
}

/* Numbers the values and ops of the entry again in the order of the text, without the dead ones. */
typedef struct Renumber {
  Entry *e;
  const bool *live;
  ValueId *value; /* old -> new */
  Value *values;
  uint32_t nvalues;
  Op **ops;
  uint32_t nops;
} Renumber;

static void renumber_value(Renumber *r, ValueId *v, OpId def) {
  Value copy = *value_at(r->e, *v);
  copy.def = def;
  r->value[*v] = r->nvalues;
  *v = r->nvalues;
  r->values[r->nvalues++] = copy;
}

static void renumber_block(Renumber *r, Block *b) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < b->args.n; i++) renumber_value(r, &b->args.at[i], NO_ID);
  for (uint32_t i = 0; i < b->ops.n; i++) {
    Op *op = op_at(r->e, b->ops.at[i]);
    if (!r->live[op->id]) continue;
    op->id = r->nops;
    r->ops[r->nops++] = op;
    b->ops.at[kept++] = op->id;
    /* the lists were made by this rebuild, so they may be changed in place */
    ValueId *x = (ValueId *)op->operands, *y = (ValueId *)op->results;
    for (int k = 0; k < op->noperands; k++) x[k] = r->value[x[k]];
    for (int k = 0; k < op->nresults; k++) renumber_value(r, &y[k], op->id);
    for (int k = 0; k < op->nblocks; k++) renumber_block(r, op->blocks[k]);
  }
  b->ops.n = kept;
}

static void compact(Entry *e, const bool *live, Arena *scratch) {
  Arena *a = e->module->arena;
  Renumber r = {.e = e,
                .live = live,
                .value = ARENA_ARRAY(scratch, ValueId, e->values.n),
                .values = ARENA_ARRAY(a, Value, e->values.n + 1),
                .ops = ARENA_ARRAY(a, Op *, e->ops.n + 1)};
  uint32_t vcap = e->values.n + 1, ocap = e->ops.n + 1;
  renumber_block(&r, e->body);
  e->values.at = r.values;
  e->values.n = r.nvalues;
  e->values.cap = vcap;
  e->ops.at = r.ops;
  e->ops.n = r.nops;
  e->ops.cap = ocap;
}

/* ---- rebuilding ---- */

void entry_rebuild(Entry *e, RebuildFn *each, void *data, bool fold, bool drop_dead) {
  Entry old = *e;
  Arena *a = e->module->arena;
  Arena *scratch = arena_new();
  ValueId *map = ARENA_ARRAY(scratch, ValueId, old.values.n);
  for (uint32_t i = 0; i < old.values.n; i++) map[i] = NO_ID;
  e->ops.n = e->values.n = 0; /* as many will come, or few more: room at once, not by doubling */
  e->ops.cap = old.ops.n + old.ops.n / 8;
  e->values.cap = old.values.n + old.values.n / 8;
  e->ops.at = arena_alloc(a, e->ops.cap * sizeof *e->ops.at);
  e->values.at = arena_alloc(a, e->values.cap * sizeof *e->values.at);
  e->cache = NULL;
  e->names = NULL;
  e->body = ARENA_NEW(a, Block);
  for (uint32_t i = 0; i < old.body->args.n; i++) {
    const Value *v = value_at(&old, old.body->args.at[i]);
    ValueId id = entry_add_input(e, v->name, v->type);
    value_at(e, id)->layout = v->layout;
    map[old.body->args.at[i]] = id;
  }
  Builder *b = builder_new(e, e->body);
  b->fold = fold;
  b->each = each;
  b->data = data;
  for (uint32_t i = 0; i < old.body->ops.n; i++)
    rebuild_op(b, &old, op_at(&old, old.body->ops.at[i]), map);
  if (drop_dead) {
    bool *live = mark_live(e, scratch);
    uint32_t dead = 0;
    for (uint32_t i = 0; i < e->ops.n; i++) dead += !live[i];
    if (dead) compact(e, live, scratch);
  }
  arena_free(scratch);
}

static void copy_op(Builder *b, const Entry *old, const Op *op, ValueId *map, void *unused) {
  (void)unused;
  build_copy(b, old, op, map);
}

void entry_copy(Entry *e) { entry_rebuild(e, copy_op, NULL, false, false); }
