/* A region of rows as a loop: an iteration does a chunk of them. Contract: the region is closed
   (see row_tiles_region.c). Results are the same to the last bit if a chunk has as many rows as a
   chain of a product. A product over rows adds up chains, and a sum of columns adds up shorter runs
   of rows. These sums are carried from chunk to chunk. Where the rows are bounded the loop is
   unrolled: a chunk is a part of them, of which a run may have a few rows, or none. */
#include "passes/shrink/row_tiles_impl.h"

typedef struct Loop {
  Region *g;
  Builder *b;
  const Entry *old;
  ValueId *map;   /* by old value: the new one outside of the loop */
  ValueId *inner; /* by old value: what an iteration has of it, or NO_ID */
  ValueId *next;  /* by old value: the sum so far, this iteration included */
  Block *body;
  ValueList sums, slices, stacks; /* old values */
  VEC(OpId) waiting;              /* ops that stand before the loop and read what it gives */
  int64_t k;                      /* number of the chunk, where the loop is unrolled */
  bool done;
} Loop;

/* [lead…, rest…] as [first, rest…], or behind another axis in front. */
static const Type *with_rows(const Loop *l, const Type *t, int64_t outer, int64_t rows) {
  int lead = region_lead(l->g, t), n = 0;
  int64_t *dim = ARENA_ARRAY(l->g->a, int64_t, t->rank + 2);
  if (outer) dim[n++] = outer;
  dim[n++] = rows;
  for (int i = lead; i < t->rank; i++) dim[n++] = t->dim[i];
  return type_get(l->b->m->ctx, t->dtype, n, dim);
}

static bool is_unrolled(const Loop *l) { return axis_is_bounded(l->g->axis); }

/* The dim of n rows of the chunk at hand, from `at` on. */
static int64_t axis_within(const Loop *l, int64_t at, int64_t n) {
  if (!is_unrolled(l)) return n;
  return axis_part(l->b->m->ctx, l->g->axis, l->k * l->g->chunk + at, n);
}

static const Type *chunk_type(const Loop *l, ValueId v) {
  return with_rows(l, value_type(l->old, v), 0, axis_within(l, 0, l->g->chunk));
}

static void at_op(Loop *l, const Op *op) {
  builder_like(l->b, op);
  l->b->name = op->nresults == 1 ? value_at(l->old, op->results[0])->name : NULL;
}

/* ---- what an iteration reads ---- */

static void emit_chunk_op(Loop *l, const Op *op);

/* A broadcast of what all rows share. */
static bool same_in_rows(const Loop *l, const Op *op) {
  const Type *x = value_type(l->old, op->operands[0]), *y = value_type(l->old, op->results[0]);
  int lead = region_lead(l->g, y), skip = y->rank - x->rank;
  if (x->extent) return false;
  for (int i = 0; i < x->rank; i++)
    if (skip + i < lead && x->dim[i] != 1) return false;
  return lead > 0;
}

static ValueId spread(Loop *l, const Op *op) {
  ValueId x = l->map[op->operands[0]];
  const Type *from = value_type(l->b->e, x), *to = chunk_type(l, op->results[0]);
  int extra = from->rank - (to->rank - 1);
  if (extra > 0)
    x = build_reshape(l->b, x,
                      type_get(l->b->m->ctx, from->dtype, from->rank - extra, from->dim + extra));
  return build_broadcast(l->b, x, to);
}

static ValueId slice(Loop *l, ValueId v) {
  if (is_unrolled(l)) {
    l->b->name = NULL;
    ValueId rows =
        build_reshape(l->b, l->map[v], with_rows(l, value_type(l->old, v), 0, l->g->axis));
    return rows_slice(l->b, rows, l->k * l->g->chunk, axis_within(l, 0, l->g->chunk), 1);
  }
  vec_push(l->g->a, &l->slices, v);
  Value like = {.type = chunk_type(l, v), .name = value_at(l->old, v)->name};
  return block_add_arg(l->b->e, l->body, like);
}

/* The chunk of a value that has rows. What is as wide as the product is made in the iteration, if
   it can be. */
static ValueId chunk_of(Loop *l, ValueId v) {
  if (l->inner[v] != NO_ID) return l->inner[v];
  const Op *op = value_def(l->old, v);
  if (op && op->parent != l->old->body) op = NULL;
  if (op && op->kind == OP_CONST) {
    at_op(l, op);
    l->inner[v] = build(l->b, OP_CONST, NULL, 0, op->attr, chunk_type(l, v));
  } else if (op && op->kind == OP_BROADCAST && same_in_rows(l, op)) {
    at_op(l, op);
    l->inner[v] = spread(l, op);
  } else if (op && op->nresults == 1 && region_is_row_op(l->g, op) &&
             op_info[op->kind].cls != CLASS_CONTRACT &&
             region_width(l->g, value_type(l->old, v)) >= l->g->wide) {
    emit_chunk_op(l, op);
  } else {
    l->inner[v] = slice(l, v);
  }
  return l->inner[v];
}

/* ---- its ops ---- */

static void emit_row_op(Loop *l, const Op *op) {
  int n = op->noperands;
  ValueId *x = ARENA_ARRAY(l->g->a, ValueId, n);
  Attr attr[MAX_ATTRS];
  memcpy(attr, op->attr, sizeof attr);
  for (int i = 0; i < n; i++)
    x[i] = op->kind == OP_MATMUL && i == 1 ? l->map[op->operands[1]] : chunk_of(l, op->operands[i]);
  at_op(l, op);
  int lead = region_lead(l->g, value_type(l->old, op->operands[0]));
  if (op->kind == OP_ARGMAX || op->kind == OP_ARGMIN) {
    attr[AT_AXIS].i += 1 - lead;
  } else if (op_info[op->kind].cls == CLASS_REDUCE) {
    const Ints *axes = op->attr[AT_AXES].ints;
    int64_t *moved = ARENA_ARRAY(l->g->a, int64_t, axes->n);
    for (int i = 0; i < axes->n; i++) moved[i] = axes->at[i] + 1 - lead;
    attr[AT_AXES].ints = intern_ints(l->b->m->ctx, moved, axes->n);
  }
  if (op->nresults > 1) {
    const Op *made = build_several(l->b, op->kind, x, n, attr);
    for (int i = 0; i < op->nresults; i++) l->inner[op->results[i]] = made->results[i];
  } else if (op->kind == OP_RESHAPE) {
    l->inner[op->results[0]] = build_reshape(l->b, x[0], chunk_type(l, op->results[0]));
  } else {
    l->inner[op->results[0]] = build(l->b, op->kind, x, n, attr, chunk_type(l, op->results[0]));
  }
}

/* Chain after chain of a chunk that has several. */
static ValueId add_product(Loop *l, const Op *op, ValueId sum) {
  ValueId x[] = {chunk_of(l, op->operands[0]), chunk_of(l, op->operands[1])};
  int64_t chunk = l->g->chunk, chain = chunk % SUM_CHAIN ? chunk : SUM_CHAIN;
  at_op(l, op);
  l->b->name = NULL;
  for (int64_t at = 0; at < chunk; at += chain) {
    ValueId of[2];
    for (int i = 0; i < 2; i++) of[i] = rows_slice(l->b, x[i], at, axis_within(l, at, chain), 1);
    sum = build2(l->b, OP_ADD, sum, build(l->b, OP_MATMUL, of, 2, op->attr, NULL));
  }
  return sum;
}

/* Run after run of rows, as a sum of columns does it. */
static ValueId add_columns(Loop *l, const Op *op, ValueId sum) {
  ValueId x = chunk_of(l, op->operands[0]);
  const Type *t = value_type(l->old, op->operands[0]), *y = value_type(l->old, op->results[0]);
  int64_t chunk = l->g->chunk, run = chunk % SUM_COLUMN ? chunk : SUM_COLUMN, runs = chunk / run;
  at_op(l, op);
  l->b->name = NULL;
  for (int64_t i = 0; is_unrolled(l) && i < runs; i++) {
    ValueId part = rows_slice(l->b, x, i * run, axis_within(l, i * run, run), 1);
    sum = build2(l->b, OP_ADD, sum, build_reduce(l->b, OP_SUM, part, &(int64_t){0}, 1));
  }
  if (is_unrolled(l)) return sum;
  x = build_reshape(l->b, x, with_rows(l, t, runs, run));
  x = build_reduce(l->b, OP_SUM, x, &(int64_t){1}, 1);
  for (int64_t i = 0; i < runs; i++) {
    ValueId row = rows_slice(l->b, x, i, 1, 1);
    sum = build2(l->b, OP_ADD, sum, build_reshape(l->b, row, y));
  }
  return sum;
}

static void emit_chunk_op(Loop *l, const Op *op) {
  ValueId v = op->results[0];
  if (!l->g->summed[v]) {
    emit_row_op(l, op);
    return;
  }
  ValueId sum = l->inner[v];
  l->next[v] = op->kind == OP_MATMUL ? add_product(l, op, sum) : add_columns(l, op, sum);
}

/* ---- the loop ---- */

static void build_body(Loop *l) {
  Builder *b = l->b;
  const Region *g = l->g;
  Value counter = {.type = type_scalar(b->m->ctx, DT_I32)};
  (void)block_add_arg(b->e, l->body, counter);
  const Block *ops = l->old->body;
  for (uint32_t i = 0; i < ops->ops.n; i++) {
    const Op *op = op_at(l->old, ops->ops.at[i]);
    if (!g->in[op->id] || !g->summed[op->results[0]]) continue;
    Value like = {.type = value_type(l->old, op->results[0])};
    vec_push(g->a, &l->sums, op->results[0]);
    l->inner[op->results[0]] = block_add_arg(b->e, l->body, like);
  }
  for (uint32_t i = 0; i < ops->ops.n; i++) {
    const Op *op = op_at(l->old, ops->ops.at[i]);
    if (!g->in[op->id]) continue;
    emit_chunk_op(l, op);
    for (int k = 0; k < op->nresults; k++)
      if (g->given[op->results[k]] && g->by_row[op->results[k]])
        vec_push(g->a, &l->stacks, op->results[k]);
  }
  ValueList yield = {0};
  for (uint32_t i = 0; i < l->sums.n; i++) vec_push(g->a, &yield, l->next[l->sums.at[i]]);
  for (uint32_t i = 0; i < l->stacks.n; i++) vec_push(g->a, &yield, l->inner[l->stacks.at[i]]);
  build_op(b, OP_YIELD, yield.at, (int)yield.n, NULL, NULL, 0);
}

/* Minus zero leaves every number as it is that is added to it. */
static ValueId start_of(Loop *l, ValueId sum) {
  return build_const(l->b, value_type(l->old, sum), -0.0);
}

static void build_loop(Loop *l) {
  Builder *b = l->b;
  Arena *a = l->g->a;
  int64_t trips = l->g->rows / l->g->chunk;
  Block *outer = b->b;
  struct ConsTable *cons = b->cons;
  l->body = ARENA_NEW(b->m->arena, Block);
  builder_at(b, l->body);
  build_body(l);
  builder_at(b, outer);
  b->cons = cons;
  at_op(l, l->g->root);
  b->name = NULL;
  b->backward = l->g->backward;
  ValueList operands = {0};
  VEC(const Type *) types = {0};
  for (uint32_t i = 0; i < l->sums.n; i++) {
    vec_push(a, &operands, start_of(l, l->sums.at[i]));
    vec_push(a, &types, value_type(l->old, l->sums.at[i]));
  }
  for (uint32_t i = 0; i < l->slices.n; i++) {
    ValueId v = l->slices.at[i];
    const Type *t = with_rows(l, value_type(l->old, v), trips, l->g->chunk);
    vec_push(a, &operands, build_reshape(b, l->map[v], t));
  }
  for (uint32_t i = 0; i < l->stacks.n; i++) {
    const Type *t = value_type(l->old, l->stacks.at[i]);
    vec_push(a, &types, with_rows(l, t, trips, l->g->chunk));
  }
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = {.i = trips}, [AT_CARRIES] = {.i = l->sums.n}};
  Op *loop = build_op(b, OP_SCAN, operands.at, (int)operands.n, attr, types.at, (int)types.n);
  loop->blocks[0] = l->body;
  l->body->op = loop;
  for (uint32_t i = 0; i < l->sums.n + l->stacks.n; i++) {
    ValueId v = i < l->sums.n ? l->sums.at[i] : l->stacks.at[i - l->sums.n];
    b->backward = value_def(l->old, v)->backward;
    l->map[v] = build_reshape(b, loop->results[i], value_type(l->old, v));
    value_at(b->e, l->map[v])->name = value_at(l->old, v)->name;
  }
}

/* The chunks, one after the other: sums are continued, rows are written at their place. */
static void build_unrolled(Loop *l) {
  Builder *b = l->b;
  const Region *g = l->g;
  const Block *ops = l->old->body;
  for (l->k = 0; l->k < g->rows / g->chunk; l->k++) {
    for (ValueId v = 0; v < l->old->values.n; v++) l->inner[v] = NO_ID;
    for (uint32_t i = 0; i < ops->ops.n; i++) {
      const Op *op = op_at(l->old, ops->ops.at[i]);
      if (!g->in[op->id] || !g->summed[op->results[0]]) continue;
      at_op(l, op);
      l->inner[op->results[0]] = l->k ? l->map[op->results[0]] : start_of(l, op->results[0]);
    }
    for (uint32_t i = 0; i < ops->ops.n; i++) {
      const Op *op = op_at(l->old, ops->ops.at[i]);
      if (!g->in[op->id]) continue;
      emit_chunk_op(l, op);
      for (int n = 0; n < op->nresults; n++) {
        ValueId v = op->results[n];
        at_op(l, op);
        b->name = NULL;
        if (g->summed[v])
          l->map[v] = l->next[v];
        else if (g->given[v])
          l->map[v] =
              build_part(b, l->k ? l->map[v] : NO_ID, l->inner[v], 0, l->k * g->chunk, g->axis);
      }
    }
  }
  for (ValueId v = 0; v < l->old->values.n; v++)
    if (g->given[v]) l->map[v] = build_reshape(b, l->map[v], value_type(l->old, v));
}

static void loop_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Loop *l = data;
  bool top = op->parent == old->body;
  if (top && l->g->waits[op->id] && !l->done) {
    vec_push(l->g->a, &l->waiting, op->id);
    return;
  }
  if (!top || !l->g->in[op->id]) {
    build_copy(b, old, op, map);
    return;
  }
  if (op->id != l->g->last) return;
  l->b = b;
  l->old = old;
  l->map = map;
  if (is_unrolled(l))
    build_unrolled(l);
  else
    build_loop(l);
  l->done = true;
  for (uint32_t i = 0; i < l->waiting.n; i++) build_copy(b, old, op_at(old, l->waiting.at[i]), map);
}

void region_to_loop(Region *g, Entry *e) {
  uint32_t n = e->values.n;
  Loop l = {.g = g, .inner = ARENA_ARRAY(g->a, ValueId, n), .next = ARENA_ARRAY(g->a, ValueId, n)};
  for (uint32_t v = 0; v < n; v++) l.inner[v] = NO_ID;
  Entry old = *e; /* its lists stay, while new ones are made */
  g->e = &old;
  entry_rebuild(e, loop_each, &l, false, true);
  g->e = e;
  entry_copy(e); /* ids in the order of the text */
}
