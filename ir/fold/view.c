/* Folding rules for ops that move or reduce elements.
   Contract: that of fold.c; in addition, a rule never builds a view whose index arithmetic could
   overflow.
   The table of the rules is at the end of fold.c. */
#include "ir/eval/interp.h"
#include "ir/fold/fold.h"

#include <math.h>

static const Type *type_of(const Fold *f, int i) { return value_type(f->e, f->x[i]); }

static int64_t *ints_new(const Fold *f, int n) {
  return ARENA_ARRAY(f->b->m->arena, int64_t, n + 1);
}

static const Ints *list(const Fold *f, const int64_t *at, int n) {
  return intern_ints(f->b->m->ctx, at, n);
}

/* ---- any view ---- */

/* view(c) → constant */
ValueId view_of_const(const Fold *f) {
  Attr c;
  return fold_const(f, 0, &c) ? fold_make(f, c) : NO_ID;
}

/* reshape, broadcast, slice, pad, convert to the type that x has → x: nothing moves, since a slice
   of all begins at 0, and padding without room for it is none */
ValueId view_identity(const Fold *f) { return type_of(f, 0) == f->type ? f->x[0] : NO_ID; }

/* ---- reshape, broadcast ---- */

/* reshape(reshape(x)) → reshape(x) */
ValueId reshape_of_reshape(const Fold *f) {
  const Op *r = fold_def(f, 0, OP_RESHAPE);
  return r ? build_reshape(f->b, r->operands[0], f->type) : NO_ID;
}

/* t is u behind some leading axes of 1. */
static bool only_leads(const Type *t, const Type *u) {
  int lead = t->rank - u->rank;
  if (lead < 0) return false;
  for (int i = 0; i < t->rank; i++)
    if (t->dim[i] != (i < lead ? 1 : u->dim[i - lead])) return false;
  return true;
}

/* broadcast(broadcast(x)) → broadcast(x);  the same through a reshape that puts axes of 1 in front
 */
ValueId broadcast_of_broadcast(const Fold *f) {
  const Op *in = fold_def(f, 0, OP_BROADCAST);
  if (!in) {
    in = fold_def(f, 0, OP_RESHAPE);
    if (!in || !only_leads(type_of(f, 0), value_type(f->e, in->operands[0]))) return NO_ID;
  }
  return build_broadcast(f->b, in->operands[0], f->type);
}

/* broadcast(x) → reshape(x) where nothing repeats */
ValueId broadcast_as_reshape(const Fold *f) {
  return only_leads(f->type, type_of(f, 0)) ? build_reshape(f->b, f->x[0], f->type) : NO_ID;
}

/* Only the outermost axis is bounded. */
static bool bounded_outside(const Type *t) {
  for (int i = 1; i < t->rank; i++)
    if (type_extent(t, i)) return false;
  return t->rank && type_extent(t, 0);
}

/* One number, or numbers along the last axes, which both types have: what they are in rows of y
   they are in rows of x. */
static bool repeats_in_rows(const Type *v, const Type *x, const Type *y) {
  if (v->rank > x->rank || v->rank > y->rank) return false;
  for (int i = 1; i <= v->rank; i++) {
    int64_t dim = x->dim[x->rank - i];
    if (dim != y->dim[y->rank - i] || (v->dim[v->rank - i] != dim && v->dim[v->rank - i] != 1))
      return false;
    if (type_extent(x, x->rank - i) || type_extent(y, y->rank - i)) return false;
  }
  return true;
}

/* Operand i has the same numbers in the rows before the reshape, which are of type t. */
static bool has_rows_before(const Fold *f, int i, const Type *t) {
  const Type *y = type_of(f, i), *own = type_with_dtype(f->b->m->ctx, t, y->dtype);
  const Op *r = fold_def(f, i, OP_RESHAPE), *spread = fold_def(f, i, OP_BROADCAST);
  Attr c;
  if (r) return value_type(f->e, r->operands[0]) == own;
  return fold_const(f, i, &c) ||
         (spread && repeats_in_rows(value_type(f->e, spread->operands[0]), own, y));
}

/* It is made of those. */
static ValueId before_reshape(const Fold *f, int i, const Type *t) {
  const Type *own = type_with_dtype(f->b->m->ctx, t, type_of(f, i)->dtype);
  const Op *r = fold_def(f, i, OP_RESHAPE);
  Attr c;
  if (r) return r->operands[0];
  if (fold_const(f, i, &c))
    return build(f->b, OP_CONST, NULL, 0, (Attr[MAX_ATTRS]){[AT_VALUE] = c}, own);
  return build_broadcast(f->b, fold_def(f, i, OP_BROADCAST)->operands[0], own);
}

/* op(reshape(x), broadcast(v)) → reshape(op(x, broadcast(v))), where the rows of x lie side by side
   and those of its reshape do not: so what is done to rows of a product joins it, and the elements
   move once. Not before gradients are there: they are added up value by value, in the order of the
   program without bounds. */
ValueId element_of_moved(const Fold *f) {
  const Type *t = NULL;
  ValueId x[3];
  if (!f->e->differentiated || op_info[f->kind].flags & OPF_POSITION || f->n > 3) return NO_ID;
  for (int i = 0; i < f->n; i++) {
    const Op *r = fold_def(f, i, OP_RESHAPE);
    const Type *from = r ? value_type(f->e, r->operands[0]) : NULL;
    if (!from || !bounded_outside(from) || !reshape_moves(from, type_of(f, i))) continue;
    if (dtype_size(f->type->dtype) <= dtype_size(from->dtype)) t = from;
  }
  if (!t) return NO_ID;
  for (int i = 0; i < f->n; i++)
    if (!has_rows_before(f, i, t)) return NO_ID;
  for (int i = 0; i < f->n; i++) x[i] = before_reshape(f, i, t);
  const Type *own = type_with_dtype(f->b->m->ctx, t, f->type->dtype);
  ValueId y = build(f->b, f->kind, x, f->n, f->attr, f->kind == OP_CONVERT ? own : NULL);
  return build_reshape(f->b, y, f->type);
}

/* ---- slice, reverse, pad, concat ---- */

/* slice(slice(x)) → slice(x) */
ValueId slice_of_slice(const Fold *f) {
  const Op *s = fold_def(f, 0, OP_SLICE);
  if (!s) return NO_ID;
  int rank = f->type->rank;
  int64_t *start = ints_new(f, rank), *step = ints_new(f, rank);
  for (int i = 0; i < rank; i++) {
    int64_t inner = s->attr[AT_STEPS].ints->at[i];
    if (__builtin_mul_overflow(f->attr[AT_STARTS].ints->at[i], inner, &start[i]) ||
        __builtin_add_overflow(start[i], s->attr[AT_STARTS].ints->at[i], &start[i]) ||
        __builtin_mul_overflow(f->attr[AT_STEPS].ints->at[i], inner, &step[i]))
      return NO_ID;
    if (f->type->dim[i] == 0) start[i] = 0; /* an empty slice may start at the end, not beyond */
  }
  Attr attr[MAX_ATTRS] = {
      [AT_STARTS] = {.ints = list(f, start, rank)}, [AT_STEPS] = {.ints = list(f, step, rank)}};
  return build(f->b, OP_SLICE, s->operands, 1, attr, f->type);
}

/* slice(concat(…, x, …)) → slice(x) where it takes from x alone */
ValueId slice_of_concat(const Fold *f) {
  const Op *c = fold_def(f, 0, OP_CONCAT);
  if (!c || f->type->numel == 0) return NO_ID;
  int64_t axis = c->attr[AT_AXIS].i, base = 0;
  int64_t first = f->attr[AT_STARTS].ints->at[axis];
  int64_t last = first + (f->type->dim[axis] - 1) * f->attr[AT_STEPS].ints->at[axis];
  for (int k = 0; k < c->noperands; k++) {
    int64_t n = value_type(f->e, c->operands[k])->dim[axis];
    if (first >= base && last < base + n) {
      int64_t *start = ints_new(f, f->type->rank);
      memcpy(start, f->attr[AT_STARTS].ints->at, sizeof start[0] * (size_t)f->type->rank);
      start[axis] -= base;
      Attr attr[MAX_ATTRS] = {
          [AT_STARTS] = {.ints = list(f, start, f->type->rank)}, [AT_STEPS] = f->attr[AT_STEPS]};
      return build(f->b, OP_SLICE, &c->operands[k], 1, attr, f->type);
    }
    base += n;
  }
  return NO_ID;
}

/* reverse(x) → x where every named axis has at most one element */
ValueId reverse_of_one(const Fold *f) {
  const Ints *axes = f->attr[AT_AXES].ints;
  for (int i = 0; axes && i < axes->n; i++)
    if (f->type->dim[axes->at[i]] > 1) return NO_ID;
  return f->x[0];
}

/* reverse(reverse(x)) → x, on the same axes */
ValueId reverse_of_reverse(const Fold *f) {
  const Op *r = fold_def(f, 0, OP_REVERSE);
  return r && r->attr[AT_AXES].ints == f->attr[AT_AXES].ints ? r->operands[0] : NO_ID;
}

/* pad(c) with c → constant */
ValueId pad_of_same(const Fold *f) {
  Attr c;
  return fold_const(f, 0, &c) && c.i == f->attr[AT_VALUE].i ? fold_make(f, c) : NO_ID;
}

/* concat(x) → x;  concat without the operands that hold nothing */
ValueId concat_empty(const Fold *f) {
  int64_t axis = f->attr[AT_AXIS].i;
  ValueId *keep = ARENA_ARRAY(f->b->m->arena, ValueId, f->n + 1);
  int n = 0;
  for (int i = 0; i < f->n; i++)
    if (type_of(f, i)->dim[axis] != 0) keep[n++] = f->x[i];
  if (n == 1) return keep[0];
  if (n == 0) return f->x[0];
  return n < f->n ? build(f->b, OP_CONCAT, keep, n, f->attr, NULL) : NO_ID;
}

/* concat(c, c, …) → constant */
ValueId concat_const(const Fold *f) {
  Attr c, d;
  if (!fold_const(f, 0, &c)) return NO_ID;
  for (int i = 1; i < f->n; i++)
    if (!fold_const(f, i, &d) || d.i != c.i) return NO_ID;
  return fold_make(f, c);
}

/* ---- reductions ---- */

/* sum(x) → reshape(x) where every reduced axis has one element: a sum of one number is that number.
   sum(x, start) → start + reshape(x) */
ValueId reduce_of_one(const Fold *f) {
  const Type *t = type_of(f, 0);
  const Ints *axes = f->attr[AT_AXES].ints;
  for (int i = 0; axes && i < axes->n; i++)
    if (t->dim[axes->at[i]] != 1) return NO_ID;
  ValueId x = build_reshape(f->b, f->x[0], f->type);
  return f->n > 1 ? build2(f->b, OP_ADD, f->x[1], x) : x;
}

/* Elements behind each result; 0 where nothing is reduced to something, or so many as a run
 * decides.
 */
static int64_t reduced(const Fold *f) {
  if (type_of(f, 0)->extent) return 0;
  return f->type->numel ? type_of(f, 0)->numel / f->type->numel : 0;
}

/* sum(c) → n c, where every partial sum is exact: n times c's odd part fits the fewest bits that a
   kernel adds in. Integers wrap. */
ValueId sum_of_const(const Fold *f) {
  Attr c;
  int64_t n = reduced(f);
  Dtype dt = f->type->dtype;
  if (!fold_const(f, 0, &c) || n == 0 || f->n > 1) return NO_ID;
  if (!dtype_is_float(dt)) return fold_make(f, (Attr){.i = (int64_t)((uint64_t)c.i * (uint64_t)n)});
  if (c.f == 0) return fold_make(f, c); /* of either sign */
  if (!isfinite(c.f) || fabs(c.f) < (dt == DT_F64 ? 0x1p-1000 : 0x1p-100)) return NO_ID;
  int exponent;
  int64_t odd = (int64_t)ldexp(fabs(frexp(c.f, &exponent)), 53);
  while (odd % 2 == 0) odd /= 2;
  double total = c.f * (double)n;
  if ((double)odd * (double)n > (dt == DT_F64 ? 0x1p53 : 0x1p24)) return NO_ID;
  if (!isfinite(scalar_round((Scalar){.f = total}, dt, INTERP_DTYPE).f)) return NO_ID;
  return fold_make(f, (Attr){.f = total});
}

/* prod(1) → 1;  prod(0) → 0;  integers wrap */
ValueId prod_of_const(const Fold *f) {
  Attr c;
  int64_t n = reduced(f);
  if (!fold_const(f, 0, &c) || n == 0) return NO_ID;
  if (dtype_is_float(f->type->dtype))
    return c.f == 1 || (c.f == 0 && !signbit(c.f)) ? fold_make(f, c) : NO_ID;
  uint64_t power = 1, base = (uint64_t)c.i;
  for (; n; n /= 2, base *= base)
    if (n % 2) power *= base;
  return fold_make(f, (Attr){.i = (int64_t)power});
}

/* max(c) → c over at least one element */
ValueId extreme_of_const(const Fold *f) {
  Attr c;
  return fold_const(f, 0, &c) && reduced(f) ? fold_make(f, c) : NO_ID;
}

/* argmax(x) → 0 where the axis has one element, or all are equal */
ValueId arg_trivial(const Fold *f) {
  Attr c;
  int64_t n = type_of(f, 0)->dim[f->attr[AT_AXIS].i];
  return n == 1 || (n > 1 && fold_const(f, 0, &c)) ? fold_make(f, (Attr){0}) : NO_ID;
}

/* iota → 0 along an axis of one element */
ValueId iota_of_one(const Fold *f) {
  return f->type->dim[f->attr[AT_AXIS].i] == 1 ? fold_make(f, (Attr){0}) : NO_ID;
}

/* ---- others ---- */

/* The op swaps the last two axes and keeps the others. */
static bool swaps_last(const Op *t) {
  const Ints *p = t->attr[AT_PERM].ints;
  if (!p || p->n < 2) return false;
  for (int i = 0; i < p->n - 2; i++)
    if (p->at[i] != i) return false;
  return p->at[p->n - 1] == p->n - 2;
}

/* matmul(x', y) → matmul(x, y) {ta}, and the same for y: the same products in the same order */
ValueId matmul_of_transpose(const Fold *f) {
  for (int i = 0; i < 2; i++) {
    const Op *t = fold_def(f, i, OP_TRANSPOSE);
    if (!t || !swaps_last(t)) continue;
    ValueId x = i == 0 ? t->operands[0] : f->x[0], y = i == 1 ? t->operands[0] : f->x[1];
    Attr attr[MAX_ATTRS];
    memcpy(attr, f->attr, sizeof attr);
    attr[i == 0 ? AT_TA : AT_TB].i ^= 1;
    return build(f->b, OP_MATMUL, (ValueId[]){x, y}, 2, attr, NULL);
  }
  return NO_ID;
}

/* matmul(x, dequantize(q, s)) → quantized_matmul(x, q, s), where groups are along the depth: the
   same products in the same order */
ValueId matmul_of_dequantize(const Fold *f) {
  const Op *d = fold_def(f, 1, OP_DEQUANTIZE);
  if (!d || f->attr[AT_TA].i || f->attr[AT_WIDE].i || f->attr[AT_TF32].i) return NO_ID;
  if (f->type->rank != 2 || type_of(f, 1)->extent || type_extent(type_of(f, 0), 1)) return NO_ID;
  if (d->attr[AT_AXIS].i != f->attr[AT_TB].i) return NO_ID;
  const ValueId x[] = {f->x[0], d->operands[0], d->operands[1]};
  return build(f->b, OP_QUANTIZED_MATMUL, x, 3, d->attr, NULL);
}

/* quantized_matmul(dequantize(x, r), q, s) → scaled_matmul(x, q, r, s), where x is of 8 or 16 bits,
   and in the groups of q: the same products, summed in integers */
ValueId product_of_dequantize(const Fold *f) {
  const Op *d = fold_def(f, 0, OP_DEQUANTIZE);
  if (!d || f->type->dtype != DT_F32 || f->attr[AT_WIDE_PRODUCT].i || d->attr[AT_AXIS].i != 1 ||
      d->attr[AT_BITS].i == 4 || d->attr[AT_GROUP].i != f->attr[AT_GROUP].i)
    return NO_ID;
  const ValueId x[] = {d->operands[0], f->x[1], d->operands[1], f->x[2]};
  Attr attr[MAX_ATTRS];
  memcpy(attr, f->attr, sizeof attr);
  attr[AT_LEFT_BITS].i = d->attr[AT_BITS].i;
  return build(f->b, OP_SCALED_MATMUL, x, 4, attr, f->type);
}

/* gather(dequantize(q, s), ids) → dequantize(gather(q, ids), gather(s, ids)), where no group has
   elements of several rows */
ValueId gather_of_dequantize(const Fold *f) {
  const Op *d = fold_def(f, 0, OP_DEQUANTIZE);
  if (!d || f->attr[AT_BATCH].i || d->attr[AT_AXIS].i == 0 || type_of(f, 0)->extent) return NO_ID;
  ValueId x[2];
  for (int i = 0; i < 2; i++)
    x[i] = build(f->b, OP_GATHER, (ValueId[]){d->operands[i], f->x[1]}, 2, f->attr, NULL);
  Attr attr[MAX_ATTRS];
  memcpy(attr, d->attr, sizeof attr);
  attr[AT_AXIS].i += type_of(f, 1)->rank - 1;
  return build(f->b, OP_DEQUANTIZE, x, 2, attr, f->type);
}

/* stop_gradient(stop_gradient(x)) → stop_gradient(x) */
ValueId stop_of_stop(const Fold *f) { return fold_def(f, 0, OP_STOP_GRADIENT) ? f->x[0] : NO_ID; }
