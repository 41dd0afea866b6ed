/* Builds the program with its batch in parts. Contract: roles are chosen (microbatch_roles.c). Ops
   that depend on no part run once, before the first part's ops that read them. Then the ops that
   are cut and the sums over the batch follow, in the order of the text, once for each part. An op
   that needs the whole batch runs as soon as the last part has made its operands. A value that an
   op reads whole is written in place, part after part. */
#include "passes/shrink/microbatch_impl.h"
#include "passes/target.h"

typedef struct MicrobatchBuild {
  const Micro *m;
  Builder *b;
  const Entry *old;
  ValueId *map;  /* by old value: the new one; of a sum or of what is whole, as far as it is made */
  ValueId *part; /* by old value: the part at hand */
  int64_t k;     /* its number */
  bool done;
} MicrobatchBuild;

static void at_op(MicrobatchBuild *c, const Op *op) {
  builder_like(c->b, op);
  c->b->name = NULL;
}

static const Type *part_type(MicrobatchBuild *c, ValueId v) {
  const Type *t = value_type(c->old, v);
  return type_with_extent(c->b->m->ctx, t, 0, micro_part(c->m, t, c->k));
}

/* ---- parts ---- */

/* Of what is whole. Constants and broadcasts are made as small as the part. */
static ValueId make_part(MicrobatchBuild *c, ValueId v) {
  const Op *op = value_def(c->old, v);
  const Type *t = part_type(c, v);
  bool outer = !op || op->parent != c->old->body || c->m->role[op->id] != MICRO_ONCE;
  if (!outer && op->kind == OP_CONST) {
    at_op(c, op);
    return build(c->b, OP_CONST, NULL, 0, op->attr, t);
  }
  if (!outer && op->kind == OP_BROADCAST) {
    ValueId x = c->map[op->operands[0]];
    const Type *from = value_type(c->b->e, x);
    at_op(c, op);
    if (from->rank < t->rank || from->dim[0] == 1) return build_broadcast(c->b, x, t);
  }
  return rows_slice(c->b, c->map[v], c->k * t->dim[0], type_axis(t, 0), 1);
}

static ValueId part_of(MicrobatchBuild *c, ValueId v) {
  if (c->part[v] == NO_ID) c->part[v] = make_part(c, v);
  return c->part[v];
}

/* The part at its place of the whole. */
static void put_part(MicrobatchBuild *c, ValueId v) {
  const Type *t = value_type(c->old, v);
  int64_t rows = t->dim[0] / c->m->parts;
  c->b->name = c->k + 1 == c->m->parts ? value_at(c->old, v)->name : NULL;
  ValueId whole = c->k ? c->map[v] : NO_ID;
  c->map[v] = build_part(c->b, whole, c->part[v], 0, c->k * rows, type_axis(t, 0));
}

/* Over the batch, and no op between one and its slice. */
static bool is_sum(const MicrobatchBuild *c, const Op *op) {
  const MicroRole role = c->m->role[op->id];
  if (role != MICRO_OWN) return role == MICRO_SUM;
  const Op *from = value_def(c->old, op->operands[0]);
  return !from || from->parent != c->old->body || c->m->role[from->id] != MICRO_OWN;
}

static ValueId *operands_of(MicrobatchBuild *c, const Op *op, int more) {
  ValueId *x = ARENA_ARRAY(c->m->a, ValueId, op->noperands + more);
  bool sum = is_sum(c, op); /* of products, say, of which both sides have parts */
  for (int i = 0; i < op->noperands; i++) {
    bool by_part = sum || micro_by_part(c->old, op, i);
    x[i] = by_part ? part_of(c, op->operands[i]) : c->map[op->operands[i]];
  }
  at_op(c, op);
  return x;
}

static void emit_cut(MicrobatchBuild *c, const Op *op) {
  ValueId *x = operands_of(c, op, 0);
  if (op->nresults > 1) {
    const Op *made = build_several(c->b, op->kind, x, op->noperands, op->attr);
    for (int i = 0; i < op->nresults; i++) c->part[op->results[i]] = made->results[i];
  } else {
    ValueId v = op->results[0];
    c->b->name = value_at(c->old, v)->name;
    c->part[v] = build(c->b, op->kind, x, op->noperands, op->attr, part_type(c, v));
  }
  for (int i = 0; i < op->nresults; i++)
    if (c->m->whole[op->results[i]]) put_part(c, op->results[i]);
}

/* ---- sums ---- */

static ValueId chain_of(Builder *b, ValueId x, int64_t at) {
  int64_t axis = type_axis(value_type(b->e, x), 0);
  bool bounded = axis_is_bounded(axis);
  return rows_slice(b, x, at, bounded ? axis_part(b->m->ctx, axis, at, SUM_CHAIN) : SUM_CHAIN, 1);
}

/* A product over its rows, chain by chain: each chain is a product of its own, to which the sum of
   all chains before it is added. */
static ValueId emit_chains(MicrobatchBuild *c, const Op *op, const ValueId *x, ValueId sum) {
  int64_t rows = value_type(c->b->e, x[0])->dim[0];
  for (int64_t at = 0; at < rows; at += SUM_CHAIN) {
    ValueId of[2];
    for (int i = 0; i < 2; i++) of[i] = chain_of(c->b, x[i], at);
    ValueId y = build(c->b, op->kind, of, 2, op->attr, NULL);
    sum = sum == NO_ID ? y : build2(c->b, OP_ADD, y, sum);
  }
  return sum;
}

static void emit_sum(MicrobatchBuild *c, const Op *op) {
  ValueId v = op->results[0], *x = operands_of(c, op, 1), before = NO_ID, y;
  if (c->k && c->m->role[op->id] == MICRO_SUM) before = c->map[v];
  int n = op->noperands;
  if (before != NO_ID && op->kind != OP_MATMUL) x[n++] = before;
  if (op->kind == OP_MATMUL && c->m->role[op->id] == MICRO_SUM)
    y = emit_chains(c, op, x, before);
  else
    y = build(c->b, op->kind, x, n, op->attr, value_type(c->old, v));
  const char *name = value_at(c->old, v)->name;
  if (c->k + 1 < c->m->parts) name = intern_printf(c->b->m->ctx, "partial.%s", name ? name : "sum");
  value_at(c->b->e, y)->name = name;
  c->map[v] = y;
}

/* Of a part: the sum over the ranks, of which this one has its slice. */
static void emit_slice(MicrobatchBuild *c, const Op *op) {
  ValueId v = op->results[0], before = c->k ? c->map[v] : NO_ID;
  build_copy(c->b, c->old, op, c->map);
  if (before == NO_ID) return;
  at_op(c, op);
  c->b->name = value_at(c->old, v)->name;
  c->map[v] = build2(c->b, OP_ADD, before, c->map[v]);
}

/* ---- the whole program ---- */

static void emit_part(MicrobatchBuild *c, const Op *op) {
  switch (c->m->role[op->id]) {
  case MICRO_ONCE:
    if (c->k == 0) build_copy(c->b, c->old, op, c->map);
    break;
  case MICRO_CUT: emit_cut(c, op); break;
  case MICRO_SUM: emit_sum(c, op); break;
  case MICRO_OWN:
    if (is_sum(c, op))
      emit_sum(c, op);
    else
      build_copy(c->b, c->old, op, c->map);
    break;
  case MICRO_SLICE: emit_slice(c, op); break;
  case MICRO_LAST:
    if (c->k + 1 == c->m->parts) build_copy(c->b, c->old, op, c->map);
    break;
  }
}

/* All at the first op: text order is followed once for each part. */
static void microbatch_op(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  MicrobatchBuild *c = data;
  if (op->parent != old->body) { /* of a loop that is copied */
    build_copy(b, old, op, map);
    return;
  }
  if (c->done) return;
  c->done = true;
  c->b = b;
  c->old = old;
  c->map = map;
  for (c->k = 0; c->k < c->m->parts; c->k++) {
    for (ValueId v = 0; v < old->values.n; v++) c->part[v] = NO_ID;
    for (uint32_t i = 0; i < old->body->ops.n; i++) emit_part(c, op_at(old, old->body->ops.at[i]));
  }
}

void micro_build(const Micro *m, Entry *e) {
  MicrobatchBuild c = {.m = m, .part = ARENA_ARRAY(m->a, ValueId, e->values.n)};
  entry_rebuild(e, microbatch_op, &c, false, true);
}
