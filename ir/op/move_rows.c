/* Elements of bounded axes at other places: parts of an axis, joined ones, and the other order are
   gathered by places that are counted at run time, so gradients are the gather's. A reshape moves
   elements if a bounded axis joins axes outside of it, as [8, t, d] becomes [8 t, d], or leaves
   them: rows lie apart by the bound in the one and by the extent in the other. Contract: both types
   have as many elements, whatever the extents. */
#include "ir/op/op.h"

/* How often the extent is a factor of the axes. */
static int uses(const Type *t, const Extent *x) {
  int n = 0;
  for (int i = 0; i < t->rank; i++)
    for (int k = 0; type_extent(t, i) && k < t->extent[i]->nfactors; k++)
      n += t->extent[i]->factor[k] == x;
  return n;
}

static bool uses_no_more(const Type *a, const Type *b) {
  for (int i = 0; i < a->rank; i++)
    for (int k = 0; type_extent(a, i) && k < a->extent[i]->nfactors; k++)
      if (uses(a, a->extent[i]->factor[k]) > uses(b, a->extent[i]->factor[k])) return false;
  return true;
}

bool reshape_moves(const Type *from, const Type *to) {
  if (from->numel != to->numel || from->numel == 0) return false;
  if (from->dtype != to->dtype || type_same_elements(from, to)) return false;
  return uses_no_more(from, to) && uses_no_more(to, from);
}

/* What a run has of axes [from, to), an i32[]. */
static ValueId count_of(Builder *b, const Type *t, int from, int to) {
  int64_t *axes = ARENA_ARRAY(b->m->arena, int64_t, to - from + 1);
  for (int i = from; i < to; i++) axes[i - from] = i;
  return build_convert(b, build_count(b, t, axes, to - from), DT_I32);
}

/* Elements of an axis by their numbers, an i32[n]. */
static ValueId picked(Builder *b, ValueId x, int axis, ValueId at) {
  const Type *t = value_type(b->e, x);
  int64_t *dim = ARENA_ARRAY(b->m->arena, int64_t, t->rank);
  for (int i = 0; i < axis; i++) dim[i] = type_axis(t, i);
  dim[axis] = type_axis(value_type(b->e, at), 0);
  const Type *ids = type_get(b->m->ctx, DT_I32, axis + 1, dim);
  ValueId in[2] = {x, build_broadcast(b, at, ids)};
  return build(b, OP_GATHER, in, 2, (Attr[MAX_ATTRS]){[AT_BATCH] = {.i = axis}}, NULL);
}

/* 0, 1, … along an axis of its own. */
static ValueId numbers(Builder *b, int64_t axis) {
  return build(b, OP_IOTA, NULL, 0, (Attr[MAX_ATTRS]){[AT_AXIS] = {.i = 0}},
               type_get(b->m->ctx, DT_I32, 1, &axis));
}

static ValueId like(Builder *b, ValueId scalar, ValueId x) {
  return build_broadcast(b, scalar, value_type(b->e, x));
}

static ValueId number(Builder *b, int64_t n) {
  return build_const_int(b, type_scalar(b->m->ctx, DT_I32), n);
}

ValueId build_reversed(Builder *b, ValueId x, int axis) {
  const Type *t = value_type(b->e, x);
  if (!type_extent(t, axis)) {
    Attr attr[MAX_ATTRS] = {[AT_AXES] = {.ints = intern_ints(b->m->ctx, (int64_t[]){axis}, 1)}};
    return build(b, OP_REVERSE, &x, 1, attr, NULL);
  }
  ValueId i = numbers(b, type_axis(t, axis));
  ValueId last = build2(b, OP_SUB, count_of(b, t, axis, axis + 1), number(b, 1));
  return picked(b, x, axis, build2(b, OP_SUB, like(b, last, i), i));
}

ValueId build_part_of(Builder *b, ValueId x, int axis, int64_t from, int64_t n) {
  ValueId i = numbers(b, n);
  if (from) {
    ValueId one = build_extent(b, type_extent(value_type(b->e, x), axis));
    i = build2(b, OP_ADD, i, like(b, build2(b, OP_MUL, one, number(b, from)), i));
  }
  return picked(b, x, axis, i);
}

/* The only tensor that is bounded along the axis, if there is one; else -1. */
static int only_bounded(const Builder *b, const ValueId *x, int n, int axis) {
  int at = -1, bounded = 0;
  for (int k = 0; k < n; k++)
    if (type_extent(value_type(b->e, x[k]), axis)) at = k, bounded++;
  return bounded == 1 ? at : -1;
}

/* y of so many elements more along the axis, before and behind its own. */
static ValueId with_room(Builder *b, ValueId y, int axis, int64_t before, int64_t behind,
                         int64_t all) {
  Arena *a = b->m->arena;
  Ctx *c = b->m->ctx;
  const Type *t = value_type(b->e, y);
  int64_t *dim = ARENA_ARRAY(a, int64_t, t->rank);
  int64_t *none = ARENA_ARRAY(a, int64_t, t->rank), *lo = ARENA_ARRAY(a, int64_t, t->rank),
          *hi = ARENA_ARRAY(a, int64_t, t->rank);
  lo[axis] = before, hi[axis] = behind;
  type_axes(t, dim);
  dim[axis] = all;
  Attr attr[MAX_ATTRS] = {[AT_LO] = {.ints = intern_ints(c, lo, t->rank)},
                          [AT_HI] = {.ints = intern_ints(c, hi, t->rank)},
                          [AT_INTERIOR] = {.ints = intern_ints(c, none, t->rank)}};
  return build(b, OP_PAD, &y, 1, attr, type_get(c, t->dtype, t->rank, dim));
}

/* Static tensors are written into the room that the bounded one gets: a cache and its next row. */
static ValueId around(Builder *b, const ValueId *x, int n, int axis, int bounded, int64_t all) {
  int64_t before = 0, behind = 0;
  for (int k = 0; k < n; k++)
    if (k != bounded) *(k < bounded ? &before : &behind) += value_type(b->e, x[k])->dim[axis];
  ValueId count = count_of(b, value_type(b->e, x[bounded]), axis, axis + 1);
  ValueId y = with_room(b, x[bounded], axis, before, behind, all);
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = axis}};
  int64_t at = 0; /* without what a run has of the bounded one */
  for (int k = 0; k < n; k++) {
    if (k == bounded) continue;
    ValueId start = number(b, at), in[3] = {y, x[k], start};
    if (k > bounded) in[2] = build2(b, OP_ADD, count, start);
    y = build(b, OP_DYNAMIC_UPDATE, in, 3, attr, NULL);
    at += value_type(b->e, x[k])->dim[axis];
  }
  return y;
}

/* Several bounded tensors at their bounds are a table: behind each its numbers go on by what the
   bound is above what a run has. */
ValueId build_joined(Builder *b, const ValueId *x, int n, int axis) {
  ValueId *at_bound = ARENA_ARRAY(b->m->arena, ValueId, n);
  int64_t *parts = ARENA_ARRAY(b->m->arena, int64_t, n);
  for (int k = 0; k < n; k++) parts[k] = type_axis(value_type(b->e, x[k]), axis);
  const int64_t all = axis_joined(b->m->ctx, parts, n);
  const int only = only_bounded(b, x, n, axis);
  if (only >= 0) return around(b, x, n, axis, only, all);
  ValueId i = numbers(b, all), at = i, end = number(b, 0);
  for (int k = 0; k < n; k++) at_bound[k] = build_at_bound(b, x[k], axis);
  for (int k = 0; k + 1 < n; k++) {
    const Type *t = value_type(b->e, x[k]);
    ValueId count = count_of(b, t, axis, axis + 1);
    end = build2(b, OP_ADD, end, count);
    if (!type_extent(t, axis)) continue;
    ValueId by = build2(b, OP_SUB, number(b, t->dim[axis]), count);
    ValueId behind = build2(b, OP_GE, i, like(b, end, i));
    at = build2(b, OP_ADD, at,
                build3(b, OP_WHERE, behind, like(b, by, i), like(b, number(b, 0), i)));
  }
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = axis}};
  return picked(b, build(b, OP_CONCAT, at_bound, n, attr, NULL), axis, at);
}
