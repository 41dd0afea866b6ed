/* Builds what each rank runs: ops on the rank's rows, and a collective where an op wants another
   placement than a value has. Contract: placements are those of placements.c. A value is brought to
   a placement once; what a loop wants of values outside of it is made in front of the loop. */
#include "passes/distribute/build_impl.h"

static void rule_of(const Build *c, const Op *op, Placement *want, Placement *get) {
  Placement *have = ARENA_ARRAY(c->d->a, Placement, op->noperands + 1);
  for (int i = 0; i < op->noperands; i++) have[i] = c->d->at[op->operands[i]];
  placement_rule(c->d, op, have, want, get);
}

/* A param in slices is gathered in front of its first reader; what it is then stays in its copy, of
   which it has the bytes. */
static void emit_copy(Build *c, const Op *load) {
  int copy = load->kind == OP_LOAD && c->d->copy ? c->d->copy[load->attr[AT_GLOBAL].i] : -1;
  if (copy >= 0) build_store(c->b, copy, build_whole_of(c, load->results[0]));
}

/* to_local and from_local: the value is what it was, or the rank's summand of a mean. */
static void emit_local(Build *c, const Op *op, ValueId x, Placement get) {
  ValueId v = op->results[0];
  if (get.kind == PARTIAL && c->d->at[op->operands[0]].kind == REPLICATED)
    x = build_by_share(c, x, false);
  Value *value = value_at(c->b->e, x);
  if (!value->name) value->name = value_at(c->old, v)->name;
  c->map[v] = build_reduced(c, v, x, get);
}

static void emit_op(Build *c, const Op *op) {
  int n = op->noperands;
  Arena *a = c->d->a;
  Placement *want = ARENA_ARRAY(a, Placement, n + 1);
  Placement *get = ARENA_ARRAY(a, Placement, op->nresults + 1);
  ValueId *x = ARENA_ARRAY(a, ValueId, n + 1);
  Attr attr[MAX_ATTRS];
  memcpy(attr, op->attr, sizeof attr);
  if (op->kind == OP_EXTENT && c->extent && attr[AT_NAME].str == c->extent->name) {
    c->map[op->results[0]] = c->rows;
    return;
  }
  rule_of(c, op, want, get);
  builder_like(c->b, op);
  c->b->name = NULL;
  for (int i = 0; i < n; i++) x[i] = build_at_placement(c, op->operands[i], want[i]);
  if (op->kind == OP_TO_LOCAL || op->kind == OP_FROM_LOCAL) {
    emit_local(c, op, x[0], get[0]);
    return;
  }
  if (op->kind == OP_SUM && want[0].kind == SLICED) {
    attr[AT_AXES].ints = intern_ints(ctx_of(c), (const int64_t[]){0}, 1);
    x[0] = slice_zero_behind(c->b, x[0], value_type(c->old, op->operands[0]), c->d->ranks);
  }
  if (op->nresults != 1) {
    const Op *made = op->nresults ? build_several(c->b, op->kind, x, n, attr)
                                  : build_op(c->b, op->kind, x, n, attr, NULL, 0);
    for (int i = 0; i < op->nresults; i++) {
      value_at(c->b->e, made->results[i])->name = value_at(c->old, op->results[i])->name;
      c->map[op->results[i]] = build_reduced(c, op->results[i], made->results[i], get[i]);
    }
    return;
  }
  ValueId v = op->results[0];
  bool rows =
      get[0].kind == REPLICATED && c->d->at[v].kind == SHARDED; /* of what is the same on all */
  if (rows && placement_is_free(c->d, v, c->d->at[v])) {
    c->map[v] = build_free(c, v, c->d->at[v]);
    return;
  }
  const Type *t = part_type(c, value_type(c->old, v), get[0]);
  if (op->kind == OP_DROPOUT && get[0].kind == SHARDED)
    attr[AT_ROW_ELEMENTS].i = t->numel / part_rows(c->d);
  c->b->name = value_at(c->old, v)->name;
  ValueId made = build(c->b, op->kind, x, n, attr, t);
  c->map[v] = rows ? build_own_rows(c, made, value_type(c->old, v), c->d->at[v])
                   : build_reduced(c, v, made, get[0]);
  emit_copy(c, op);
}

/* ---- loops ---- */

static void emit_block(Build *c, const Block *b);

/* The collectives that bring v to another placement. */
static void make_whole(Build *c, ValueId v, Placement want) {
  if (!placement_is_free(c->d, v, want)) {
    (void)build_whole_of(c, v);
    return;
  }
  const Op *op = value_def(c->old, v);
  if (op->kind == OP_BROADCAST)
    (void)build_whole_of(c, op->operands[0]);
  else if (op->noperands)
    make_whole(c, op->operands[0], want);
}

/* A collective of what is the same in all iterations runs once. */
static void make_outside(Build *c, const Op *scan, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(c->old, b->ops.at[i]);
    for (int k = 0; k < op->nblocks; k++) make_outside(c, scan, op->blocks[k]);
    if (op->nblocks) continue;
    Placement *want = ARENA_ARRAY(c->d->a, Placement, op->noperands + 1);
    Placement *get = ARENA_ARRAY(c->d->a, Placement, op->nresults + 1);
    rule_of(c, op, want, get);
    for (int k = 0; k < op->noperands; k++) {
      ValueId v = op->operands[k];
      const Block *home = value_block(c->old, v);
      bool outside = !is_around(scan->blocks[0], home);
      if (outside && !placement_same(want[k], c->d->at[v])) make_whole(c, v, want[k]);
    }
  }
}

static void emit_yield(Build *c, const Op *scan, const Op *yield) {
  ValueId *x = ARENA_ARRAY(c->d->a, ValueId, yield->noperands + 1);
  builder_like(c->b, yield);
  for (int i = 0; i < yield->noperands; i++) {
    ValueId v = yield->operands[i];
    Placement to = c->d->at[i < scan_carries(scan) ? scan->blocks[0]->args.at[i + 1] : v];
    if (i >= scan_carries(scan) && to.kind == SLICED) to.kind = REPLICATED;
    x[i] = build_at_placement(c, v, to);
  }
  build_op(c->b, OP_YIELD, x, yield->noperands, NULL, NULL, 0);
}

/* Result i as the loop leaves it, in front of a reduction. */
static Placement scan_gives(const Distribution *d, const Op *scan, int i) {
  return i < scan_carries(scan) ? d->at[scan->blocks[0]->args.at[i + 1]]
                                : placement_stack(d->at[plan_yield(d->e, scan)->operands[i]]);
}

static void emit_scan(Build *c, const Op *scan) {
  Arena *a = c->d->a;
  const Block *old = scan->blocks[0];
  int carries = scan_carries(scan);
  ValueId *x = ARENA_ARRAY(a, ValueId, scan->noperands + 1);
  const Type **t = ARENA_ARRAY(a, const Type *, scan->nresults + 1);
  builder_like(c->b, scan);
  c->b->name = NULL;
  make_outside(c, scan, old);
  for (int i = 0; i < scan->noperands; i++) {
    Placement arg = c->d->at[old->args.at[i + 1]];
    x[i] = build_at_placement(c, scan->operands[i], i < carries ? arg : placement_stack(arg));
  }
  for (int i = 0; i < scan->nresults; i++)
    t[i] = part_type(c, value_type(c->old, scan->results[i]), scan_gives(c->d, scan, i));
  Op *made = build_op(c->b, OP_SCAN, x, scan->noperands, scan->attr, t, scan->nresults);
  for (int i = 0; i < scan->nresults; i++)
    value_at(c->b->e, made->results[i])->name = value_at(c->old, scan->results[i])->name;
  Block *outer = c->b->b;
  builder_at(c->b, made->blocks[0]);
  for (uint32_t i = 0; i < old->args.n; i++) {
    ValueId v = old->args.at[i];
    Value like = *value_at(c->old, v);
    like.type = part_type(c, like.type, c->d->at[v]);
    c->map[v] = block_add_arg(c->b->e, made->blocks[0], like);
  }
  emit_block(c, old);
  builder_at(c->b, outer);
  builder_like(c->b, scan);
  for (int i = 0; i < scan->nresults; i++)
    c->map[scan->results[i]] =
        build_reduced(c, scan->results[i], made->results[i], scan_gives(c->d, scan, i));
}

static void emit_block(Build *c, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(c->old, b->ops.at[i]);
    if (op->kind == OP_SCAN)
      emit_scan(c, op);
    else if (op->kind == OP_YIELD)
      emit_yield(c, b->op, op);
    else
      emit_op(c, op);
  }
}

/* All of it at the first op: inputs have become smaller, and every value with them. */
static void distribute_op(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Build *c = data;
  (void)op;
  if (c->done) return;
  c->done = true;
  c->b = b;
  c->old = old;
  c->map = map;
  for (uint32_t i = 0; i < old->body->args.n; i++) {
    ValueId v = old->body->args.at[i];
    Value *input = value_at(b->e, map[v]);
    input->type = part_type(c, input->type, c->d->at[v]);
  }
  /* in front of all else, so that no op of rows waits for it */
  b->loc = old->loc;
  if (c->extent) c->rows = build1(b, OP_ALL_REDUCE, build_extent(b, c->extent));
  emit_block(c, old->body);
}

void distribute_build(const Distribution *d, Entry *e) {
  const Entry before = *e;
  Distribution own = *d;
  own.e = &before;
  Build c = {.d = &own, .whole = ARENA_ARRAY(d->a, Made, e->values.n + 1)};
  for (uint32_t i = 0; i < e->values.n; i++) c.whole[i].v = NO_ID;
  if (d->extent) c.extent = extent_get(e->module->ctx, d->extent->name, part_rows(d));
  entry_rebuild(e, distribute_op, &c, true, true);
  e->ranks = d->ranks;
}
