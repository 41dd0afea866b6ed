/* Builds the program with images in blocks: an op that reads an image which is never whole gets it
   block after block, and its results are put together. Contract: image_tiles.c has chosen the
   images. Ops that read the same image run side by side, block after block, as soon as all their
   operands are there; a block is made once for each axis by which it is cut. */
#include "passes/shrink/image_tiles_impl.h"

typedef struct TileBuild {
  const Blocks *of;
  Builder *b;
  const Entry *old;
  ValueId *map;
  ValueId **block[BLOCK_AXES]; /* by old value: its blocks, as far as they are made */
  bool *done;                  /* by op */
  bool *ready;                 /* by value that is gone: is_ready has said so of its op */
} TileBuild;

static void at_op(TileBuild *c, const Op *op) {
  builder_like(c->b, op);
  c->b->name = NULL;
}

static int64_t start_of(const Type *t, int axis, int64_t k) {
  return k * t->dim[axis] / blocks_count(t, axis);
}

/* The dim of block k, as type_get takes it. */
static int64_t axis_of_block(const TileBuild *c, const Type *t, int axis, int64_t k) {
  int64_t from = start_of(t, axis, k), n = start_of(t, axis, k + 1) - from;
  return type_extent(t, axis) ? axis_part(c->b->m->ctx, type_axis(t, axis), from, n) : n;
}

/* ---- blocks ---- */

static ValueId block_of(TileBuild *c, ValueId v, int axis, int64_t k);

static bool is_in_body(const TileBuild *c, const Op *op) {
  return op && op->parent == c->old->body;
}

/* Of a broadcast: what is broadcast, cut if it has the axis. */
static ValueId spread(TileBuild *c, const Op *op, int axis, int64_t from, int64_t n,
                      const Type *to) {
  ValueId x = c->map[op->operands[0]];
  const Type *t = value_type(c->b->e, x);
  int i = axis - (to->rank - t->rank);
  if (i >= 0 && t->dim[i] != 1) x = build_slice(c->b, x, i, from, n);
  return build_broadcast(c->b, x, to);
}

/* The op, of blocks of what it reads by this axis, and of filters and other images as they are. */
static ValueId op_of_blocks(TileBuild *c, const Op *op, int axis, int64_t k, const Type *to) {
  ValueId *x = ARENA_ARRAY(c->of->a, ValueId, op->noperands);
  for (int i = 0; i < op->noperands; i++) {
    bool whole = i > 0 && !blocks_is_apart(op);
    x[i] = whole ? c->map[op->operands[i]] : block_of(c, op->operands[i], axis, k);
  }
  at_op(c, op);
  return build(c->b, op->kind, x, op->noperands, op->attr, to);
}

static ValueId make_block(TileBuild *c, ValueId v, int axis, int64_t k) {
  const Op *op = value_def(c->old, v);
  const Type *t = value_type(c->old, v);
  int64_t from = start_of(t, axis, k), n = axis_of_block(c, t, axis, k);
  const Type *to = type_with_extent(c->b->m->ctx, t, axis, n);
  if (c->of->gone[v]) return op_of_blocks(c, op, axis, k, to);
  if (is_in_body(c, op) && op->kind == OP_CONST) {
    at_op(c, op);
    return build(c->b, OP_CONST, NULL, 0, op->attr, to);
  }
  if (is_in_body(c, op) && op->kind == OP_BROADCAST) {
    at_op(c, op);
    return spread(c, op, axis, from, n, to);
  }
  return build_slice(c->b, c->map[v], axis, from, n);
}

static ValueId block_of(TileBuild *c, ValueId v, int axis, int64_t k) {
  ValueId **made = &c->block[axis][v];
  int64_t count = blocks_count(value_type(c->old, v), axis);
  if (!*made) {
    *made = ARENA_ARRAY(c->of->a, ValueId, count);
    for (int64_t i = 0; i < count; i++) (*made)[i] = NO_ID;
  }
  if ((*made)[k] == NO_ID) (*made)[k] = make_block(c, v, axis, k);
  return (*made)[k];
}

/* ---- ops that read blocks ---- */

/* What an op that is there makes of its blocks, so far. */
typedef struct Reader {
  const Op *op;
  ValueId whole;
  ValueId *part;
} Reader;

typedef VEC(Reader) Readers;

/* What is gone among the op's operands, and by what axis it is read; NO_ID: nothing. */
static ValueId gone_operand(const TileBuild *c, const Op *op, int *axis) {
  *axis = -1;
  for (int i = 0; i < op->noperands; i++) {
    *axis = blocks_axis(op, i);
    if (c->of->gone[op->operands[i]]) return op->operands[i];
  }
  return NO_ID;
}

static bool is_ready(const TileBuild *c, const Op *op) {
  for (int i = 0; i < op->noperands; i++) {
    ValueId x = op->operands[i];
    if (!c->of->gone[x] && c->map[x] == NO_ID) return false;
    if (!c->of->gone[x] || c->ready[x]) continue;
    if (!is_ready(c, value_def(c->old, x))) return false;
    c->ready[x] = true;
  }
  return true;
}

/* This one, and those that read the same by the same axis and can be done now. */
static Readers find_readers(const TileBuild *c, const Op *first) {
  const Block *body = c->old->body;
  Readers all = {0};
  int axis, other;
  ValueId v = gone_operand(c, first, &axis);
  for (uint32_t i = c->of->at[first->id]; i < body->ops.n; i++) {
    const Op *op = op_at(c->old, body->ops.at[i]);
    if (c->done[op->id] || (op->nresults == 1 && c->of->gone[op->results[0]])) continue;
    if (gone_operand(c, op, &other) != v || other != axis || !is_ready(c, op)) continue;
    vec_push(c->of->a, &all, (Reader){.op = op});
  }
  return all;
}

/* The axis of the result that the axis comes to which is cut. */
static int result_axis(const Op *op, int axis) {
  if (op->kind == OP_CONV_FILTER_GRAD) return 0;
  if (op_info[op->kind].cls == CLASS_REDUCE) return op->attr[AT_AXES].ints->at[0] == 0 ? 0 : axis;
  return axis;
}

/* What comes of images is written in place, block after block; what comes of channels is small. */
static void add_part(TileBuild *c, Reader *r, int axis, int64_t k, int64_t count,
                     const Type *like) {
  const Type *y = value_type(c->old, r->op->results[0]);
  int64_t from = start_of(like, axis, k), n = axis_of_block(c, like, axis, k);
  int to = result_axis(r->op, axis);
  const Attr along[MAX_ATTRS] = {[AT_AXIS].i = to};
  ValueId part = op_of_blocks(c, r->op, axis, k, type_with_extent(c->b->m->ctx, y, to, n));
  r->part[k] = part;
  if (axis != BLOCK_CHANNELS)
    r->whole = build_part(c->b, k ? r->whole : NO_ID, part, to, from, type_axis(y, to));
  else if (k + 1 == count)
    r->whole = build(c->b, OP_CONCAT, r->part, (int)count, along, NULL);
}

static void image_tiles_op(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  TileBuild *c = data;
  int axis;
  c->b = b;
  c->old = old;
  c->map = map;
  if (op->parent != old->body) {
    build_copy(b, old, op, map);
    return;
  }
  if (c->done[op->id] || (op->nresults == 1 && c->of->gone[op->results[0]])) return;
  ValueId v = gone_operand(c, op, &axis);
  if (v == NO_ID) {
    build_copy(b, old, op, map);
    return;
  }
  const Type *like = value_type(old, v);
  int64_t count = blocks_count(like, axis);
  Readers all = find_readers(c, op);
  for (uint32_t i = 0; i < all.n; i++) all.at[i].part = ARENA_ARRAY(c->of->a, ValueId, count);
  for (int64_t k = 0; k < count; k++)
    for (uint32_t i = 0; i < all.n; i++) add_part(c, &all.at[i], axis, k, count, like);
  for (uint32_t i = 0; i < all.n; i++) {
    const Op *done = all.at[i].op;
    c->done[done->id] = true;
    map[done->results[0]] = all.at[i].whole;
    value_at(b->e, all.at[i].whole)->name = value_at(old, done->results[0])->name;
  }
}

void blocks_build(Blocks *of, Entry *e) {
  TileBuild c = {.of = of, .done = ARENA_ARRAY(of->a, bool, e->ops.n)};
  c.ready = ARENA_ARRAY(of->a, bool, e->values.n);
  for (int i = 0; i < BLOCK_AXES; i++) c.block[i] = ARENA_ARRAY(of->a, ValueId *, e->values.n);
  entry_rebuild(e, image_tiles_op, &c, false, true);
}
