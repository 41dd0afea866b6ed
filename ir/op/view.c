/* Views, which move elements; their gradients are the inverse views.
   Contract: a view is an affine map of indices, from the result to the operand or back, so one
   strided iterator evaluates each of them. */
#include "ir/op/op.h"

/* ---- shapes ---- */

/* A list with one entry for every axis of the operand, none below `min`. */
static bool per_axis(const ShapeIn *in, const char *what, const Ints *l, int64_t min) {
  const Type *t = in->type[0];
  if (ints_n(l) != t->rank)
    return shape_wrong(in, "needs as many %s as %s has axes, not %d", what, shape_str(in, t),
                       ints_n(l));
  for (int i = 0; i < t->rank; i++)
    if (l->at[i] < min)
      return shape_wrong(in, "needs %s of at least %lld, not %lld, on axis %d", what,
                         (long long)min, (long long)l->at[i], i);
  return true;
}

static bool keeps_dtype(const ShapeIn *in) {
  if (!in->given) return shape_given(in) != NULL;
  if (in->given->dtype == in->type[0]->dtype) return true;
  return shape_wrong(in, "keeps the dtype: %s cannot become %s", shape_str(in, in->type[0]),
                     shape_str(in, in->given));
}

const Type *shape_reshape(const ShapeIn *in) {
  const Type *t = in->type[0];
  if (!keeps_dtype(in)) return NULL;
  if (t->numel != in->given->numel)
    return shape_wrong(in, "keeps the number of elements: %s has %lld, %s has %lld",
                       shape_str(in, t), (long long)t->numel, shape_str(in, in->given),
                       (long long)in->given->numel);
  return in->given;
}

const Type *shape_transpose(const ShapeIn *in) {
  const Type *t = in->type[0];
  const Ints *perm = in->attr[AT_PERM].ints;
  if (ints_n(perm) != t->rank)
    return shape_wrong(in, "needs a permutation of the %d axes of %s, not %d numbers", t->rank,
                       shape_str(in, t), ints_n(perm));
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, t->rank);
  for (int i = 0; i < t->rank; i++) {
    int64_t p = perm->at[i];
    if (p < 0 || p >= t->rank)
      return shape_wrong(in, "has no axis %lld in %s", (long long)p, shape_str(in, t));
    for (int j = 0; j < i; j++)
      if (perm->at[j] == p) return shape_wrong(in, "names axis %lld twice", (long long)p);
    dim[i] = t->dim[p];
  }
  return shape_make(in, t->dtype, t->rank, dim);
}

const Type *shape_broadcast(const ShapeIn *in) {
  const Type *t = in->type[0], *to = in->given;
  if (!keeps_dtype(in)) return NULL;
  int lead = to->rank - t->rank;
  bool fits = lead >= 0;
  for (int i = 0; fits && i < t->rank; i++) fits = t->dim[i] == 1 || t->dim[i] == to->dim[lead + i];
  if (!fits)
    return shape_wrong(in,
                       "cannot make %s into %s: axes are aligned at the right and extent 1 "
                       "repeats",
                       shape_str(in, t), shape_str(in, to));
  return to;
}

const Type *shape_slice(const ShapeIn *in) {
  const Type *t = in->type[0], *to = in->given;
  const Ints *starts = in->attr[AT_STARTS].ints, *steps = in->attr[AT_STEPS].ints;
  if (!keeps_dtype(in) || !per_axis(in, "starts", starts, 0) || !per_axis(in, "steps", steps, 1))
    return NULL;
  if (to->rank != t->rank)
    return shape_wrong(in, "keeps the rank: %s cannot become %s", shape_str(in, t),
                       shape_str(in, to));
  for (int i = 0; i < t->rank; i++) {
    int64_t last = starts->at[i];
    if (to->dim[i] == 0
            ? last > t->dim[i]
            : __builtin_mul_overflow(to->dim[i] - 1, steps->at[i], &last) ||
                  __builtin_add_overflow(last, starts->at[i], &last) || last >= t->dim[i])
      return shape_wrong(in, "of %lld elements from %lld by %lld leaves axis %d of %s",
                         (long long)to->dim[i], (long long)starts->at[i], (long long)steps->at[i],
                         i, shape_str(in, t));
  }
  return to;
}

const Type *shape_reverse(const ShapeIn *in) {
  const Type *t = in->type[0];
  return shape_axes(in, in->attr[AT_AXES].ints, t->rank) ? t : NULL;
}

const Type *shape_pad(const ShapeIn *in) {
  const Type *t = in->type[0];
  const Ints *lo = in->attr[AT_LO].ints, *hi = in->attr[AT_HI].ints;
  const Ints *inner = in->attr[AT_INTERIOR].ints;
  if (!per_axis(in, "lo counts", lo, 0) || !per_axis(in, "hi counts", hi, 0) ||
      !per_axis(in, "interior counts", inner, 0))
    return NULL;
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, t->rank);
  for (int i = 0; i < t->rank; i++) {
    int64_t gaps = t->dim[i] > 0 ? t->dim[i] - 1 : 0, n;
    if (__builtin_mul_overflow(gaps, inner->at[i], &n) ||
        __builtin_add_overflow(n, t->dim[i], &n) || __builtin_add_overflow(n, lo->at[i], &n) ||
        __builtin_add_overflow(n, hi->at[i], &n))
      return shape_wrong(in, "makes axis %d of %s too long", i, shape_str(in, t));
    dim[i] = n;
  }
  return shape_make(in, t->dtype, t->rank, dim);
}

const Type *shape_concat(const ShapeIn *in) {
  int64_t axis = in->attr[AT_AXIS].i, n = 0;
  if (in->n == 0) return shape_wrong(in, "needs at least one operand");
  const Type *t = in->type[0];
  if (axis < 0 || axis >= t->rank)
    return shape_wrong(in, "has no axis %lld in %s", (long long)axis, shape_str(in, t));
  for (int k = 0; k < in->n; k++) {
    const Type *u = in->type[k];
    bool fits = u->rank == t->rank && u->dtype == t->dtype;
    for (int i = 0; fits && i < t->rank; i++) fits = i == axis || u->dim[i] == t->dim[i];
    if (!fits)
      return shape_wrong(in, "along axis %lld needs operands that agree elsewhere: %s against %s",
                         (long long)axis, shape_str(in, t), shape_str(in, u));
    if (__builtin_add_overflow(n, u->dim[axis], &n))
      return shape_wrong(in, "makes axis %lld of %s too long", (long long)axis, shape_str(in, t));
  }
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, t->rank);
  for (int i = 0; i < t->rank; i++) dim[i] = i == axis ? n : t->dim[i];
  return shape_make(in, t->dtype, t->rank, dim);
}

const Type *shape_copy(const ShapeIn *in) { return in->type[0]; }

/* ---- gradients ---- */

/* A list to fill and intern: one number for every axis of t. */
static int64_t *list(GradCtx *g, const Type *t) {
  return ARENA_ARRAY(g->e->module->arena, int64_t, t->rank + 1);
}

static Attr interned(GradCtx *g, const Type *t, const int64_t *l) {
  return (Attr){.ints = intern_ints(g->e->module->ctx, l, t->rank)};
}

static const Type *operand_type(GradCtx *g, const Op *op, int i) {
  return value_type(g->e, op->operands[i]);
}

void grad_reshape(GradCtx *g, const Op *op, ValueId dy) {
  grad_to(g, op, 0, build_reshape(g->b, dy, operand_type(g, op, 0)));
}

void grad_copy(GradCtx *g, const Op *op, ValueId dy) { grad_to(g, op, 0, dy); }

void grad_transpose(GradCtx *g, const Op *op, ValueId dy) {
  const Type *t = operand_type(g, op, 0);
  int64_t *inverse = list(g, t);
  for (int i = 0; i < t->rank; i++) inverse[op->attr[AT_PERM].ints->at[i]] = i;
  grad_to(g, op, 0, build_transpose(g->b, dy, inverse));
}

void grad_broadcast(GradCtx *g, const Op *op, ValueId dy) {
  grad_to(g, op, 0, build_unbroadcast(g->b, dy, operand_type(g, op, 0)));
}

void grad_reverse(GradCtx *g, const Op *op, ValueId dy) {
  grad_to(g, op, 0, build(g->b, OP_REVERSE, &dy, 1, op->attr, NULL));
}

/* Zeros where the slice did not reach. */
void grad_slice(GradCtx *g, const Op *op, ValueId dy) {
  const Type *t = operand_type(g, op, 0), *part = value_type(g->e, dy);
  int64_t *lo = list(g, t), *hi = list(g, t), *inner = list(g, t);
  for (int i = 0; i < t->rank; i++) {
    int64_t start = op->attr[AT_STARTS].ints->at[i], step = op->attr[AT_STEPS].ints->at[i];
    int64_t n = part->dim[i], reach = n ? (n - 1) * step + 1 : 0;
    lo[i] = start;
    inner[i] = step - 1;
    hi[i] = t->dim[i] - start - reach;
  }
  Attr attr[MAX_ATTRS] = {[AT_LO] = interned(g, t, lo),
                          [AT_HI] = interned(g, t, hi),
                          [AT_INTERIOR] = interned(g, t, inner)};
  const Type *whole = type_with_dtype(g->e->module->ctx, t, part->dtype);
  bool bounded = t->extent || part->extent;
  grad_to(g, op, 0, build(g->b, OP_PAD, &dy, 1, attr, bounded ? whole : NULL));
}

static ValueId slice_to(GradCtx *g, ValueId x, const Type *t, const int64_t *starts,
                        const int64_t *steps) {
  Attr attr[MAX_ATTRS] = {[AT_STARTS] = interned(g, t, starts), [AT_STEPS] = interned(g, t, steps)};
  return build(g->b, OP_SLICE, &x, 1, attr, t);
}

void grad_pad(GradCtx *g, const Op *op, ValueId dy) {
  const Type *t = operand_type(g, op, 0);
  int64_t *steps = list(g, t);
  for (int i = 0; i < t->rank; i++) steps[i] = op->attr[AT_INTERIOR].ints->at[i] + 1;
  const int64_t *lo = t->rank ? op->attr[AT_LO].ints->at : steps;
  grad_to(g, op, 0, slice_to(g, dy, t, lo, steps));
}

void grad_concat(GradCtx *g, const Op *op, ValueId dy) {
  int64_t axis = op->attr[AT_AXIS].i;
  int64_t *starts = list(g, value_type(g->e, dy)), *steps = list(g, value_type(g->e, dy));
  for (int i = 0; i < value_type(g->e, dy)->rank; i++) steps[i] = 1;
  for (int k = 0; k < op->noperands; k++) {
    const Type *t = operand_type(g, op, k);
    if (grad_wants(g, op, k)) grad_to(g, op, k, slice_to(g, dy, t, starts, steps));
    starts[axis] += t->dim[axis];
  }
}

/* ---- evaluation ---- */

/* The same elements in the same order: a tensor is never written after it is made. */
void eval_reshape(EvalCtx *c, const Op *op) {
  ValueId y = op->results[0];
  c->value[y] = (Tensor){.type = value_type(c->e, y), .at = eval_in(c, op, 0)->at};
}

void eval_copy(EvalCtx *c, const Op *op) { eval_reshape(c, op); }

/* Each result element is the operand's at base + sum index[i] stride[i]. */
static void gather_strided(EvalCtx *c, const Op *op, int64_t base, const int64_t *stride) {
  const Tensor *x = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op);
  for (StridedIter w = strided_new(c->scratch, y->type, base, stride); strided_more(&w);
       strided_next(&w))
    y->at[w.from] = x->at[w.to];
}

/* Each operand element goes to the result's at base + sum index[i] stride[i]. */
static void scatter_strided(EvalCtx *c, const Tensor *x, Tensor *y, int64_t base,
                            const int64_t *stride) {
  for (StridedIter w = strided_new(c->scratch, x->type, base, stride); strided_more(&w);
       strided_next(&w))
    y->at[w.to] = x->at[w.from];
}

void eval_transpose(EvalCtx *c, const Op *op) {
  const Type *t = eval_in(c, op, 0)->type;
  int64_t *from = row_major_strides(c->scratch, t), *stride = row_major_strides(c->scratch, t);
  for (int i = 0; i < t->rank; i++) stride[i] = from[op->attr[AT_PERM].ints->at[i]];
  gather_strided(c, op, 0, stride);
}

void eval_broadcast(EvalCtx *c, const Op *op) {
  const Type *t = eval_in(c, op, 0)->type, *to = value_type(c->e, op->results[0]);
  int64_t *from = row_major_strides(c->scratch, t);
  int64_t *stride = ARENA_ARRAY(c->scratch, int64_t, to->rank + 1);
  for (int i = 0, lead = to->rank - t->rank; i < t->rank; i++)
    stride[lead + i] = t->dim[i] == 1 ? 0 : from[i];
  gather_strided(c, op, 0, stride);
}

void eval_slice(EvalCtx *c, const Op *op) {
  const Type *t = eval_in(c, op, 0)->type;
  int64_t *stride = row_major_strides(c->scratch, t), base = 0;
  for (int i = 0; i < t->rank; i++) {
    base += op->attr[AT_STARTS].ints->at[i] * stride[i];
    stride[i] *= op->attr[AT_STEPS].ints->at[i];
  }
  gather_strided(c, op, base, stride);
}

void eval_reverse(EvalCtx *c, const Op *op) {
  const Type *t = eval_in(c, op, 0)->type;
  int64_t *stride = row_major_strides(c->scratch, t), base = 0;
  for (int k = 0; k < ints_n(op->attr[AT_AXES].ints); k++) {
    int64_t i = op->attr[AT_AXES].ints->at[k];
    base += (t->dim[i] - 1) * stride[i];
    stride[i] = -stride[i];
  }
  gather_strided(c, op, base, stride);
}

void eval_pad(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op);
  Scalar fill = scalar_round((Scalar){.i = op->attr[AT_VALUE].i}, y->type->dtype, c->it->mode);
  for (int64_t i = 0; i < y->type->numel; i++) y->at[i] = fill;
  int64_t *stride = row_major_strides(c->scratch, y->type), base = 0;
  for (int i = 0; i < y->type->rank; i++) {
    base += op->attr[AT_LO].ints->at[i] * stride[i];
    stride[i] *= op->attr[AT_INTERIOR].ints->at[i] + 1;
  }
  scatter_strided(c, x, y, base, stride);
}

void eval_concat(EvalCtx *c, const Op *op) {
  Tensor *y = eval_out(c, op);
  int64_t axis = op->attr[AT_AXIS].i, base = 0;
  const int64_t *stride = row_major_strides(c->scratch, y->type);
  for (int k = 0; k < op->noperands; k++) {
    const Tensor *x = eval_in(c, op, k);
    scatter_strided(c, x, y, base, stride);
    base += x->type->dim[axis] * stride[axis];
  }
}
