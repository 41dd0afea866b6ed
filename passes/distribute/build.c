/* Builds what each rank runs: ops on the rank's rows, and a collective where an op wants another
   placement than a value has. Contract: placements are those of placements.c. A value is brought to
   a placement once; what a loop wants of values outside of it is made in front of the loop. */
#include "passes/distribute/distribute_impl.h"

typedef struct Made { /* of an old value: all of it, on every rank */
  ValueId v;
  const Block *in;
} Made;

typedef struct Build {
  const Distribution *d;
  Builder *b;
  const Entry *old;
  ValueId *map;         /* by old value: what a rank has */
  Made *whole;          /* by old value */
  const Extent *extent; /* of a rank's rows; NULL: they are static */
  bool done;
} Build;

static Ctx *ctx_of(const Build *c) { return c->b->m->ctx; }

/* Of the batch that a rank has, at most. */
static int64_t part_rows(const Distribution *d) { return (d->batch + d->ranks - 1) / d->ranks; }

/* What a rank has of a value of type t. Of a batch with an extent the rank has an extent of its
   own; what is replicated has all rows up to the bound. */
static const Type *part_type(const Build *c, const Type *t, Placement p) {
  const Distribution *d = c->d;
  int64_t *axis = ARENA_ARRAY(d->a, int64_t, t->rank + 1);
  if (p.kind == SLICED) return slice_type(ctx_of(c), t, d->ranks);
  for (int i = 0; i < t->rank; i++) {
    bool here = p.kind == SHARDED && p.axis == i;
    axis[i] = type_axis(t, i);
    if (d->extent && type_extent(t, i) == d->extent)
      axis[i] = here ? axis_of_extent(c->extent, t->dim[i] / d->batch) : t->dim[i];
    else if (here)
      axis[i] = t->dim[i] / d->ranks;
  }
  return type_get(ctx_of(c), t->dtype, t->rank, axis);
}

/* ---- to another placement ---- */

/* Of a partial sum: all of it, or the rank's slice. Halves are summed as floats. */
static ValueId sum_over_ranks(Build *c, ValueId x, bool slice) {
  Dtype dt = value_type(c->b->e, x)->dtype;
  if (dtype_is_half(dt)) x = build_convert(c->b, x, DT_F32);
  x = slice ? slice_sum(c->b, x, c->d->ranks) : build1(c->b, OP_ALL_REDUCE, x);
  return dtype_is_half(dt) ? build_convert(c->b, x, dt) : x;
}

/* x times the share of the rank's rows in the batch, or over it. */
static ValueId by_share(Build *c, ValueId x, bool over) {
  Builder *b = c->b;
  const Dtype dt = value_type(b->e, x)->dtype;
  const Type *t = type_scalar(ctx_of(c), dtype_sum(dt));
  ValueId share = build_const(b, t, over ? (double)c->d->ranks : 1.0 / c->d->ranks);
  if (c->extent) {
    ValueId rows = build_extent(b, c->extent), all = build1(b, OP_ALL_REDUCE, rows);
    rows = build_convert(b, rows, t->dtype);
    all = build_convert(b, all, t->dtype);
    share = over ? build2(b, OP_DIV, all, rows) : build2(b, OP_DIV, rows, all);
  }
  x = build_convert(b, x, t->dtype);
  x = build2(b, OP_MUL, x, build_broadcast(b, share, value_type(b->e, x)));
  return build_convert(b, x, dt);
}

/* What an op has made as v: reduced, if that is where it is. */
static ValueId reduced(Build *c, ValueId v, ValueId x, Placement made) {
  if (made.kind == PARTIAL && made.local) return by_share(c, x, true);
  bool slice = c->d->at[v].kind == SLICED;
  if (made.kind != PARTIAL || (!c->d->reduce[v] && !slice)) return x;
  c->b->name = value_at(c->old, v)->name;
  x = sum_over_ranks(c, x, slice);
  c->b->name = NULL;
  return x;
}

/* [outer, rows, inner] of a value of type t whose axis holds the batch; `part`: of a rank's rows.
 */
static const Type *blocks_type(const Build *c, const Type *t, Placement p, bool part) {
  const Distribution *d = c->d;
  int64_t outer = p.outer, inner = t->dim[p.axis] / (p.outer * d->batch);
  for (int i = 0; i < p.axis; i++) outer *= t->dim[i];
  for (int i = p.axis + 1; i < t->rank; i++) inner *= t->dim[i];
  int64_t rows = !part ? d->batch : c->extent ? axis_of_extent(c->extent, 1) : part_rows(d);
  int64_t dim[] = {outer, rows, inner};
  return type_get(ctx_of(c), t->dtype, 3, dim);
}

static ValueId gather_rows(Build *c, ValueId x, const Type *t, Placement p) {
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = 1}};
  x = build_reshape(c->b, x, blocks_type(c, t, p, true));
  x = build(c->b, OP_ALL_GATHER, &x, 1, attr, blocks_type(c, t, p, false));
  return build_reshape(c->b, x, t);
}

/* The rank's rows of a partial sum. */
static ValueId sum_rows(Build *c, ValueId x, const Type *t, Placement p) {
  static const int64_t turned[] = {1, 0, 2};
  Dtype dt = t->dtype;
  if (dtype_is_half(dt)) x = build_convert(c->b, x, DT_F32);
  x = build_reshape(
      c->b, x,
      type_with_dtype(ctx_of(c), blocks_type(c, t, p, false), value_type(c->b->e, x)->dtype));
  x = build_transpose(c->b, x, turned);
  const Type *all = value_type(c->b->e, x);
  int64_t dim[] = {part_rows(c->d), all->dim[1], all->dim[2]};
  x = build(c->b, OP_REDUCE_SCATTER, &x, 1, NULL, type_get(ctx_of(c), all->dtype, 3, dim));
  x = build_transpose(c->b, x, turned);
  if (dtype_is_half(dt)) x = build_convert(c->b, x, dt);
  return build_reshape(c->b, x, part_type(c, t, p));
}

/* The rank's rows of what every rank has. */
static ValueId own_rows(Build *c, ValueId x, const Type *t, Placement p) {
  static const int64_t turned[] = {1, 0, 2};
  Builder *b = c->b;
  int64_t rows = c->extent ? axis_of_extent(c->extent, 1) : part_rows(c->d);
  const Type *ids = type_get(ctx_of(c), DT_I32, 1, &rows);
  Attr along[MAX_ATTRS] = {[AT_AXIS] = {.i = 0}};
  ValueId from = build(b, OP_FIRST_ROW, NULL, 0, NULL, type_scalar(ctx_of(c), DT_I32));
  ValueId id =
      build2(b, OP_ADD, build(b, OP_IOTA, NULL, 0, along, ids), build_broadcast(b, from, ids));
  if (c->extent) /* at the bound of its extent the last rank's rows may end behind the batch */
    id = build2(b, OP_MIN, id, build_const_int(b, ids, c->d->batch - 1));
  x = build_reshape(b, x, blocks_type(c, t, p, false));
  x = build_transpose(b, x, turned);
  x = build(b, OP_GATHER, (ValueId[]){x, id}, 2, NULL, NULL);
  x = build_transpose(b, x, turned);
  return build_reshape(b, x, part_type(c, t, p));
}

static ValueId whole_of(Build *c, ValueId v);

/* Constants and broadcasts are made as small as the part, and so is what functions of an element
   make of them: tables of angles that precision has rounded would have the rows of all ranks. */
static ValueId small_leaf(Build *c, ValueId v, Placement p) {
  const Op *op = value_def(c->old, v);
  const Type *t = part_type(c, value_type(c->old, v), p);
  if (op && op->kind == OP_CONST) return build(c->b, OP_CONST, NULL, 0, op->attr, t);
  const unsigned flags = op ? op_info[op->kind].flags : 0;
  if (op && op_info[op->kind].cls == CLASS_ELEMENT && op->noperands == 1 &&
      !(flags & OPF_POSITION) && c->d->at[op->operands[0]].kind == REPLICATED) {
    ValueId x = small_leaf(c, op->operands[0], p);
    if (x == NO_ID) return NO_ID;
    return build(c->b, op->kind, &x, 1, op->attr, flags & OPF_TYPED ? t : NULL);
  }
  if (!op || op->kind != OP_BROADCAST) return NO_ID;
  const Type *from = value_type(c->old, op->operands[0]);
  const PlacementKind have = c->d->at[op->operands[0]].kind;
  if (have != REPLICATED && have != SLICED) return NO_ID;
  int axis = p.axis - (t->rank - from->rank);
  bool same = p.kind == SLICED ? from->numel == 1 : axis < 0 || from->dim[axis] == 1;
  if (!same) return NO_ID; /* along the batch, or of a slice, which has no axes */
  ValueId x = whole_of(c, op->operands[0]);
  if (p.kind == SLICED) x = build_reshape(c->b, x, type_scalar(ctx_of(c), from->dtype));
  return build_broadcast(c->b, x, t);
}

/* The rank with the first row alone adds the value to the sum. */
static ValueId as_summand(Build *c, ValueId v, ValueId x) {
  Attr value;
  const Type *t = value_type(c->old, v), *scalar = type_scalar(ctx_of(c), DT_I32);
  if (value_const(c->b->e, x, &value) && value.i == 0) return x;
  ValueId row = build(c->b, OP_FIRST_ROW, NULL, 0, NULL, scalar);
  ValueId here = build2(c->b, OP_EQ, row, build_const_int(c->b, scalar, 0));
  here = build_broadcast(c->b, here, type_with_dtype(ctx_of(c), t, DT_BOOL));
  return build3(c->b, OP_WHERE, here, x, build_const(c->b, t, 0));
}

static bool is_around(const Block *outer, const Block *b) {
  while (b && b != outer) b = b->op ? b->op->parent : NULL;
  return b != NULL;
}

static ValueId whole_of(Build *c, ValueId v) {
  Placement have = c->d->at[v];
  Made *m = &c->whole[v];
  if (have.kind == REPLICATED) return c->map[v];
  if (m->v != NO_ID && is_around(m->in, c->b->b)) return m->v;
  c->b->name = value_at(c->old, v)->name;
  const Type *t = value_type(c->old, v);
  ValueId x = have.kind == PARTIAL  ? sum_over_ranks(c, c->map[v], false)
              : have.kind == SLICED ? slice_gather(c->b, c->map[v], t)
                                    : gather_rows(c, c->map[v], t, have);
  c->b->name = NULL;
  *m = (Made){x, c->b->b};
  return x;
}

static ValueId at_placement(Build *c, ValueId v, Placement want) {
  Placement have = c->d->at[v];
  if (have.kind == want.kind) have.local = want.local; /* what is the same on all, too */
  if (placement_same(have, want)) return c->map[v];
  if (want.kind == REPLICATED) return whole_of(c, v);
  if (want.kind == PARTIAL) return as_summand(c, v, whole_of(c, v));
  const Type *t = value_type(c->old, v);
  if (have.kind == PARTIAL && c->whole[v].v == NO_ID) {
    if (want.kind == SLICED) return sum_over_ranks(c, c->map[v], true);
    if (!c->extent) return sum_rows(c, c->map[v], t, want);
  }
  ValueId leaf = have.kind == REPLICATED ? small_leaf(c, v, want) : NO_ID;
  if (leaf != NO_ID) return leaf;
  if (want.kind == SLICED) return slice_of(c->b, whole_of(c, v), c->d->ranks);
  return own_rows(c, whole_of(c, v), t, want);
}

/* ---- ops ---- */

static void rule_of(const Build *c, const Op *op, Placement *want, Placement *get) {
  Placement *have = ARENA_ARRAY(c->d->a, Placement, op->noperands + 1);
  for (int i = 0; i < op->noperands; i++) have[i] = c->d->at[op->operands[i]];
  placement_rule(c->d, op, have, want, get);
}

/* A param in slices is gathered in front of its first reader; what it is then stays in its copy, of
   which it has the bytes. */
static void emit_copy(Build *c, const Op *load) {
  int copy = load->kind == OP_LOAD && c->d->copy ? c->d->copy[load->attr[AT_GLOBAL].i] : -1;
  if (copy >= 0) build_store(c->b, copy, whole_of(c, load->results[0]));
}

/* to_local and from_local: the value is what it was, or the rank's summand of a mean. */
static void emit_local(Build *c, const Op *op, ValueId x, Placement get) {
  ValueId v = op->results[0];
  if (get.kind == PARTIAL && c->d->at[op->operands[0]].kind == REPLICATED)
    x = by_share(c, x, false);
  Value *value = value_at(c->b->e, x);
  if (!value->name) value->name = value_at(c->old, v)->name;
  c->map[v] = reduced(c, v, x, get);
}

static void emit_op(Build *c, const Op *op) {
  int n = op->noperands;
  Arena *a = c->d->a;
  Placement *want = ARENA_ARRAY(a, Placement, n + 1);
  Placement *get = ARENA_ARRAY(a, Placement, op->nresults + 1);
  ValueId *x = ARENA_ARRAY(a, ValueId, n + 1);
  Attr attr[MAX_ATTRS];
  memcpy(attr, op->attr, sizeof attr);
  rule_of(c, op, want, get);
  builder_like(c->b, op);
  c->b->name = NULL;
  for (int i = 0; i < n; i++) x[i] = at_placement(c, op->operands[i], want[i]);
  if (op->kind == OP_TO_LOCAL || op->kind == OP_FROM_LOCAL) {
    emit_local(c, op, x[0], get[0]);
    return;
  }
  if (op->kind == OP_SUM && want[0].kind == SLICED)
    attr[AT_AXES].ints = intern_ints(ctx_of(c), (const int64_t[]){0}, 1);
  if (op->nresults != 1) {
    const Op *made = op->nresults ? build_several(c->b, op->kind, x, n, attr)
                                  : build_op(c->b, op->kind, x, n, attr, NULL, 0);
    for (int i = 0; i < op->nresults; i++) {
      value_at(c->b->e, made->results[i])->name = value_at(c->old, op->results[i])->name;
      c->map[op->results[i]] = reduced(c, op->results[i], made->results[i], get[i]);
    }
    return;
  }
  ValueId v = op->results[0];
  bool rows =
      get[0].kind == REPLICATED && c->d->at[v].kind == SHARDED; /* of what is the same on all */
  ValueId leaf = rows ? small_leaf(c, v, c->d->at[v]) : NO_ID;
  if (leaf != NO_ID) {
    c->map[v] = leaf;
    return;
  }
  const Type *t = part_type(c, value_type(c->old, v), get[0]);
  if (op->kind == OP_DROPOUT && get[0].kind == SHARDED)
    attr[AT_ROW_ELEMENTS].i = t->numel / part_rows(c->d);
  if (op->kind == OP_EXTENT && c->extent && attr[AT_NAME].str == c->extent->name) {
    attr[AT_BOUND].i = c->extent->bound; /* the ranks' rows, which are the batch's together */
    get[0].kind = PARTIAL;
  }
  c->b->name = value_at(c->old, v)->name;
  bool typed = op_info[op->kind].flags & OPF_TYPED;
  ValueId made = build(c->b, op->kind, x, n, attr, typed ? t : NULL);
  c->map[v] =
      rows ? own_rows(c, made, value_type(c->old, v), c->d->at[v]) : reduced(c, v, made, get[0]);
  emit_copy(c, op);
}

/* ---- loops ---- */

static void emit_block(Build *c, const Block *b);

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
      if (outside && !placement_same(want[k], c->d->at[v])) (void)whole_of(c, v);
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
    x[i] = at_placement(c, v, to);
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
    x[i] = at_placement(c, scan->operands[i], i < carries ? arg : placement_stack(arg));
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
        reduced(c, scan->results[i], made->results[i], scan_gives(c->d, scan, i));
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
