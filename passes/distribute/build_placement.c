/* Brings what a rank has of a value to another placement, by collectives and views. Contract: as of
   build.c; halves are summed as floats. */
#include "passes/distribute/build_impl.h"

/* What a rank has of a value of type t. Of a batch with an extent the rank has an extent of its
   own; what is replicated has all rows up to the bound. */
const Type *part_type(const Build *c, const Type *t, Placement p) {
  const Distribution *d = c->d;
  int64_t *axis = ARENA_ARRAY(d->a, int64_t, t->rank + 1);
  if (p.kind == SLICED) return slice_type(ctx_of(c), t, d->ranks);
  for (int i = 0; i < t->rank; i++) {
    const bool here = p.kind == SHARDED && p.axis == i;
    axis[i] = type_axis(t, i);
    if (!here && !d->extent) continue;
    const int64_t rest = axis_quotient(ctx_of(c), axis[i], batch_as_axis(d));
    if (rest) axis[i] = axis_product(ctx_of(c), rest, here ? own_rows_as_axis(c) : d->batch);
  }
  return type_get(ctx_of(c), t->dtype, t->rank, axis);
}

/* ---- to another placement ---- */

/* Of a partial sum: all of it, or the rank's slice. Halves are summed as floats. */
ValueId build_sum_over_ranks(Build *c, ValueId x, bool slice) {
  Dtype dt = value_type(c->b->e, x)->dtype;
  if (dtype_is_half(dt)) x = build_convert(c->b, x, DT_F32);
  x = slice ? slice_sum(c->b, x, c->d->ranks) : build1(c->b, OP_ALL_REDUCE, x);
  return dtype_is_half(dt) ? build_convert(c->b, x, dt) : x;
}

/* x times the share of the rank's rows in the batch, or over it. */
ValueId build_by_share(Build *c, ValueId x, bool over) {
  Builder *b = c->b;
  const Dtype dt = value_type(b->e, x)->dtype;
  const Type *t = type_scalar(ctx_of(c), dtype_sum(dt));
  ValueId share = build_const(b, t, over ? (double)c->d->ranks : 1.0 / c->d->ranks);
  if (c->extent) {
    ValueId rows = build_convert(b, build_extent(b, c->extent), t->dtype);
    ValueId all = build_convert(b, c->rows, t->dtype);
    share = over ? build2(b, OP_DIV, all, rows) : build2(b, OP_DIV, rows, all);
  }
  x = build_convert(b, x, t->dtype);
  x = build2(b, OP_MUL, x, build_broadcast(b, share, value_type(b->e, x)));
  return build_convert(b, x, dt);
}

/* What an op has made as v: reduced, if that is where it is. */
ValueId build_reduced(Build *c, ValueId v, ValueId x, Placement made) {
  if (made.kind == PARTIAL && made.local) return build_by_share(c, x, true);
  bool slice = c->d->at[v].kind == SLICED;
  Moments *m = c->d->moments ? c->d->moments[v] : NULL;
  if (made.kind != PARTIAL || (!c->d->reduce[v] && !slice && !m)) return x;
  c->b->name = value_at(c->old, v)->name;
  x = m ? build_moments(c, v, x, m) : build_sum_over_ranks(c, x, slice);
  c->b->name = NULL;
  return x;
}

/* [outer, rows, inner] of a value of type t whose axis holds the batch; `part`: of a rank's rows.
 */
static const Type *blocks_type(const Build *c, const Type *t, Placement p, bool part) {
  const Distribution *d = c->d;
  Ctx *ctx = ctx_of(c);
  int64_t outer = p.outer;
  int64_t inner =
      axis_quotient(ctx, type_axis(t, p.axis), axis_product(ctx, outer, batch_as_axis(d)));
  for (int i = 0; i < p.axis; i++) outer = axis_product(ctx, outer, type_axis(t, i));
  for (int i = p.axis + 1; i < t->rank; i++) inner = axis_product(ctx, inner, type_axis(t, i));
  int64_t dim[] = {outer, part ? own_rows_as_axis(c) : d->batch, inner};
  return type_get(ctx, t->dtype, 3, dim);
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
ValueId build_own_rows(Build *c, ValueId x, const Type *t, Placement p) {
  static const int64_t turned[] = {1, 0, 2};
  Builder *b = c->b;
  int64_t rows = own_rows_as_axis(c);
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

/* Constants and broadcasts are made as small as the part, and so is what functions of an element
   make of them: tables of angles that precision has rounded would have the rows of all ranks. */
ValueId build_free(Build *c, ValueId v, Placement p) {
  const Op *op = value_def(c->old, v);
  const Type *t = part_type(c, value_type(c->old, v), p);
  if (op->kind == OP_CONST) return build(c->b, OP_CONST, NULL, 0, op->attr, t);
  if (op->kind != OP_BROADCAST) {
    ValueId x = build_free(c, op->operands[0], p);
    return build(c->b, op->kind, &x, 1, op->attr, op_info[op->kind].flags & OPF_TYPED ? t : NULL);
  }
  ValueId x = build_whole_of(c, op->operands[0]);
  if (p.kind == SLICED)
    x = build_reshape(c->b, x, type_scalar(ctx_of(c), value_type(c->old, v)->dtype));
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

bool is_around(const Block *outer, const Block *b) {
  while (b && b != outer) b = b->op ? b->op->parent : NULL;
  return b != NULL;
}

ValueId build_whole_of(Build *c, ValueId v) {
  Placement have = c->d->at[v];
  Made *m = &c->whole[v];
  if (have.kind == REPLICATED) return c->map[v];
  if (m->v != NO_ID && is_around(m->in, c->b->b)) return m->v;
  c->b->name = value_at(c->old, v)->name;
  const Type *t = value_type(c->old, v);
  ValueId x = have.kind == PARTIAL  ? build_sum_over_ranks(c, c->map[v], false)
              : have.kind == SLICED ? slice_gather(c->b, c->map[v], t)
                                    : gather_rows(c, c->map[v], t, have);
  c->b->name = NULL;
  *m = (Made){x, c->b->b};
  return x;
}

ValueId build_at_placement(Build *c, ValueId v, Placement want) {
  Placement have = c->d->at[v];
  if (have.kind == want.kind) have.local = want.local; /* what is the same on all, too */
  if (placement_same(have, want)) return c->map[v];
  if (want.kind == REPLICATED) return build_whole_of(c, v);
  if (want.kind == PARTIAL) return as_summand(c, v, build_whole_of(c, v));
  const Type *t = value_type(c->old, v);
  if (have.kind == PARTIAL && c->whole[v].v == NO_ID) {
    if (want.kind == SLICED) return build_sum_over_ranks(c, c->map[v], true);
    if (!c->extent) return sum_rows(c, c->map[v], t, want);
  }
  if (placement_is_free(c->d, v, want)) return build_free(c, v, want);
  if (want.kind == SLICED) return slice_of(c->b, build_whole_of(c, v), c->d->ranks);
  return build_own_rows(c, build_whole_of(c, v), t, want);
}
