/* The mean and the variance over the batch, as batch norm takes them, of each rank's own: no pass
   over x waits for the mean of all. Contract: sum((x - mean)^2), where the mean is sum(x) over a
   count, is found by its form; values are those of two all-reduces within rounding.
   Method: each rank has the mean m of its n rows, and the squares M around it. sum((x - mean)^2) is
   the sum of M + n (m - mean)^2 over the ranks, which cancels nothing (Chan, Golub and LeVeque,
   Updating formulae and a pairwise algorithm for computing sample variances, 1979). If rows wait
   for the result the ranks gather m and M by one message. Else, as for running averages alone, two
   all-reduces join those of other layers. */
#include "ir/op/op.h"
#include "passes/distribute/build_impl.h"
#include <math.h>

static const Op *def_of(const Entry *e, ValueId v, OpKind kind) {
  const Op *op = value_def(e, v);
  return op && op->kind == kind ? op : NULL;
}

/* sum(x) along the axes of `squares`, or NULL. */
static const Op *sum_of(const Entry *e, ValueId v, ValueId x, const Op *squares) {
  const Op *sum = def_of(e, v, OP_SUM);
  bool same =
      sum && sum->operands[0] == x && sum->attr[AT_AXES].ints == squares->attr[AT_AXES].ints;
  return same ? sum : NULL;
}

/* Numbers of a type that is broadcast to x's are each subtracted from what it is the mean of. */
static bool meets_summands(const Type *from, const Type *x, uint32_t summed) {
  for (int i = 0, k = from->rank - x->rank; i < x->rank; i++, k++)
    if ((k < 0 ? 1 : from->dim[k]) != (summed >> i & 1 ? 1 : x->dim[i])) return false;
  return true;
}

/* A product of constants and of extents of these axes of x, which are taken out of `axes`, at the
   bounds; 0: it is none. */
static double product_of_extents(const Entry *e, ValueId v, const Type *x, uint32_t *axes) {
  const Op *op = value_def(e, v);
  Attr value;
  if (value_const(e, v, &value))
    return dtype_is_float(value_type(e, v)->dtype) ? value.f : (double)value.i;
  if (!op) return 0;
  if (op->kind == OP_BROADCAST || op->kind == OP_CONVERT)
    return product_of_extents(e, op->operands[0], x, axes);
  if (op->kind == OP_MUL) { /* a factor that is none ends it, or squares of squares would not end */
    const double factor = product_of_extents(e, op->operands[0], x, axes);
    return factor == 0 ? 0 : factor * product_of_extents(e, op->operands[1], x, axes);
  }
  for (int i = 0; op->kind == OP_EXTENT && i < x->rank; i++) {
    const Extent *n = *axes >> i & 1 ? type_extent(x, i) : NULL;
    if (!n || n->name != op->attr[AT_NAME].str) continue;
    *axes &= ~(1u << i);
    return (double)op->attr[AT_BOUND].i;
  }
  return 0;
}

/* A sum along these axes of x times or over v is their mean. */
static bool makes_mean(const Entry *e, OpKind kind, ValueId v, const Type *x, uint32_t axes) {
  uint32_t left = axes;
  double count = 1, factor = product_of_extents(e, v, x, &left);
  for (int i = 0; i < x->rank; i++) {
    if (axes >> i & 1) count *= (double)x->dim[i];
    if (left >> i & 1 && type_extent(x, i)) return false;
  }
  return fabs((kind == OP_DIV ? factor / count : factor * count) - 1) < 1e-6;
}

/* sum((x - views(sum(x) / n))^2) */
static bool is_form(const Entry *e, const Op *squares, const int *readers, Moments *m) {
  const Op *mul = squares->kind == OP_SUM ? def_of(e, squares->operands[0], OP_MUL) : NULL;
  if (!mul || mul->operands[0] != mul->operands[1]) return false;
  const Op *sub = def_of(e, mul->operands[0], OP_SUB), *view;
  const Type *t = value_type(e, squares->results[0]);
  if (!sub || !dtype_is_float(t->dtype) || dtype_is_half(t->dtype)) return false;
  *m = (Moments){.x = sub->operands[0], .squares = squares, .own = NO_ID};
  m->gathers = readers[sub->results[0]] > 2; /* by more than their product */
  ValueId v = sub->operands[1];
  for (; (view = value_def(e, v)) && (view->kind == OP_RESHAPE || view->kind == OP_BROADCAST);
       v = view->operands[0]) {
    if (m->views == MOMENT_VIEWS) return false;
    if (m->views && value_type(e, v)->numel != t->numel) return false; /* one makes all rows */
    m->view[m->views++] = view;
  }
  const Op *mean = value_def(e, v);
  m->mean = v;
  if (!m->views || !mean || (mean->kind != OP_DIV && mean->kind != OP_MUL)) return false;
  int of = 0;
  const Op *sum = sum_of(e, mean->operands[0], m->x, squares);
  if (!sum && mean->kind == OP_MUL) sum = sum_of(e, mean->operands[of = 1], m->x, squares);
  m->sum = sum ? sum->results[0] : NO_ID;
  const Type *x = value_type(e, m->x);
  const Ints *axes = squares->attr[AT_AXES].ints;
  uint32_t summed = 0;
  for (int i = 0; i < axes->n; i++) summed |= 1u << axes->at[i];
  return sum && makes_mean(e, mean->kind, mean->operands[!of], x, summed) &&
         m->view[0]->kind == OP_BROADCAST &&
         meets_summands(value_type(e, m->view[0]->operands[0]), x, summed) &&
         readers[sum->results[0]] == 1 && value_type(e, v) == t &&
         mean->parent == squares->parent && sum->parent == squares->parent;
}

static void count_readers(const Entry *e, int *readers) {
  for (uint32_t i = 0; i < e->ops.n; i++)
    for (int k = 0; k < op_at(e, i)->noperands; k++) readers[op_at(e, i)->operands[k]]++;
}

/* The gathered bytes grow with the ranks. */
static bool is_worth(const Link *l, const Type *t, int ranks) {
  double bytes = (double)t->bytes;
  if (l->bandwidth <= 0) return true; /* of no known target */
  return link_seconds_of(l, OP_ALL_GATHER, ranks, 2 * ranks * bytes) <=
         2 * link_seconds_of(l, OP_ALL_REDUCE, ranks, bytes);
}

static void copy_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  (void)data;
  build_copy(b, old, op, map);
}

static bool has_squares(const Entry *e) {
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *mul =
        op_at(e, i)->kind == OP_SUM ? def_of(e, op_at(e, i)->operands[0], OP_MUL) : NULL;
    if (mul && mul->operands[0] == mul->operands[1]) return true;
  }
  return false;
}

Moments **moments_find(Arena *a, Entry *e, const Link *link, int ranks) {
  if (!has_squares(e)) return NULL;
  entry_rebuild(e, copy_each, NULL, true, true); /* a mean that is taken twice becomes one */
  Moments **of = ARENA_ARRAY(a, Moments *, e->values.n + 1), now;
  int *readers = ARENA_ARRAY(a, int, e->values.n + 1);
  count_readers(e, readers);
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    if (!is_form(e, op, readers, &now) || of[now.mean]) continue;
    Moments *m = ARENA_NEW(a, Moments);
    *m = now;
    m->gathers &= is_worth(link, value_type(e, op->results[0]), ranks);
    of[m->mean] = of[op->results[0]] = m;
  }
  return of;
}

/* ---- building ---- */

static ValueId flat(Builder *b, ValueId x) {
  const Type *t = value_type(b->e, x);
  return build_reshape(b, x, type_get(b->m->ctx, t->dtype, 1, &t->numel));
}

static ValueId over_ranks(Builder *b, ValueId x, const Type *to) {
  static const int64_t first[] = {0};
  return build_reshape(b, build_reduce(b, OP_SUM, x, first, 1), to);
}

/* The squares of x, the rank's rows, around their mean. */
static void moments_own(Builder *b, const Entry *old, Moments *m, ValueId x, ValueId mean) {
  m->own = mean;
  for (int i = m->views; i-- > 0;) {
    const Type *t = i ? value_type(old, m->view[i]->results[0]) : value_type(b->e, x);
    mean = build(b, m->view[i]->kind, &mean, 1, m->view[i]->attr, t);
  }
  ValueId c = build2(b, OP_SUB, x, mean);
  const Ints *axes = m->squares->attr[AT_AXES].ints;
  m->within = build_reduce(b, OP_SUM, build2(b, OP_MUL, c, c), axes->at, axes->n);
}

/* M + n (m - mean)^2, all of one shape. */
static ValueId around(Builder *b, ValueId within, ValueId own, ValueId mean, ValueId n) {
  ValueId off = build2(b, OP_SUB, own, mean);
  return build2(b, OP_ADD, within, build2(b, OP_MUL, build2(b, OP_MUL, off, off), n));
}

/* The rank's summand of the squares of all rows around their mean, from n elements, a scalar. */
static ValueId moments_around(Builder *b, const Moments *m, ValueId mean, ValueId n) {
  return around(b, m->within, m->own, mean, build_broadcast(b, n, value_type(b->e, mean)));
}

/* By one message, the mean, of which the rank has a part … */
static ValueId moments_gather(Builder *b, Moments *m, ValueId part, ValueId n, int ranks) {
  Ctx *c = b->m->ctx;
  const Type *t = value_type(b->e, part);
  const int64_t width = 2 * t->numel, length = ranks * (width + 1), dim[] = {ranks, width + 1};
  ValueId send[] = {flat(b, part), flat(b, m->within), flat(b, n)};
  Attr along[MAX_ATTRS] = {[AT_AXIS] = {.i = 0}};
  ValueId all = build(b, OP_CONCAT, send, 3, along, NULL);
  all = build(b, OP_ALL_GATHER, &all, 1, along, type_get(c, t->dtype, 1, &length));
  m->all = build_reshape(b, all, type_get(c, t->dtype, 2, dim));
  return over_ranks(b, build_slice(b, m->all, 1, 0, t->numel), t);
}

/* … and the squares of all rows around it. */
static ValueId moments_of_all(Builder *b, const Moments *m, ValueId mean) {
  const Type *t = value_type(b->e, mean), *one = type_get(b->m->ctx, t->dtype, 1, (int64_t[]){1});
  ValueId part = build_slice(b, m->all, 1, 0, t->numel);
  ValueId within = build_slice(b, m->all, 1, t->numel, t->numel);
  ValueId n = build_slice(b, m->all, 1, 2 * t->numel, 1);
  const Type *rows = value_type(b->e, part), *column = value_type(b->e, n);
  ValueId sum = build_broadcast(b, over_ranks(b, n, one), column);
  ValueId own = build2(b, OP_MUL, part, build_broadcast(b, build2(b, OP_DIV, sum, n), rows));
  mean = build_broadcast(b, flat(b, mean), rows);
  return over_ranks(b, around(b, within, own, mean, build_broadcast(b, n, rows)), t);
}

/* How many elements of x the rank's rows have for each of the mean. */
static ValueId elements_of_mean(Build *c, const Moments *m) {
  const Ints *axes = m->squares->attr[AT_AXES].ints;
  const Type *x = value_type(c->b->e, c->map[m->x]);
  return build_convert(c->b, build_count(c->b, x, axes->at, axes->n),
                       value_type(c->old, m->mean)->dtype);
}

/* x is the rank's part of a mean or of a sum of squares over the batch. */
ValueId build_moments(Build *c, ValueId v, ValueId x, Moments *m) {
  if (v == m->mean) {
    const Op *mean = value_def(c->old, v);
    ValueId of[2]; /* what it is of the rank's rows alone */
    for (int i = 0; i < 2; i++)
      of[i] = mean->operands[i] == m->sum ? build_by_share(c, c->map[m->sum], true)
                                          : build_whole_of(c, mean->operands[i]);
    moments_own(c->b, c->old, m, c->map[m->x], build(c->b, mean->kind, of, 2, mean->attr, NULL));
    return m->gathers ? moments_gather(c->b, m, x, elements_of_mean(c, m), c->d->ranks)
                      : build_sum_over_ranks(c, x, false);
  }
  if (m->own == NO_ID) return build_sum_over_ranks(c, x, false);
  if (m->gathers) return moments_of_all(c->b, m, c->map[m->mean]);
  x = moments_around(c->b, m, c->map[m->mean], elements_of_mean(c, m));
  return build_sum_over_ranks(c, x, false);
}
