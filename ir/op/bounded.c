/* Bounded dimensions: which axes of an op may be known only at run time, and what its result's axes
   then are. Contract: the op's own rule has accepted the operands at their bounds; what is not
   listed here is refused, with one line for the user. A target that prints an op finds no bounded
   axis where this file allows none. */
#include "ir/op/op.h"

static bool has_bounded(const ShapeIn *in) {
  for (int i = 0; i < in->n; i++)
    if (in->type[i]->extent) return true;
  if (in->given) return in->given->extent;
  bool takes = in->kind == OP_PAD || in->kind == OP_GATHER_GRAD;
  return takes && in->wanted && in->wanted->extent;
}

/* The first bounded axis, or -1. */
static int first_bounded(const Type *t) {
  for (int i = 0; i < t->rank; i++)
    if (type_extent(t, i)) return i;
  return -1;
}

static const Type *refused(const ShapeIn *in, const Type *t, int axis) {
  const Extent *x = type_extent(t, axis);
  return shape_wrong(in, "needs a static extent along axis %d of %s: %s is known only at run time",
                     axis, shape_str(in, t), x->name);
}

static const Type *differ(const ShapeIn *in, const Type *a, const Type *b) {
  return shape_wrong(in, "needs equal extents: %s against %s", shape_str(in, a), shape_str(in, b));
}

/* The result with these axes. */
static const Type *with_axes(const ShapeIn *in, const Type *t, const int64_t *axis) {
  return type_get(in->ctx, t->dtype, t->rank, axis);
}

/* Its first n axes are those of `of`, the others are static. */
static const Type *leading_of(const ShapeIn *in, const Type *t, const Type *of, int n) {
  int64_t small[SMALL_RANK], *axis = shape_dims(in, small, t->rank);
  for (int i = 0; i < t->rank; i++) axis[i] = i < n ? type_axis(of, i) : t->dim[i];
  return with_axes(in, t, axis);
}

/* No bounded axis but among the first n, and those are the same as in `of`. */
static bool bounded_within(const ShapeIn *in, const Type *t, const Type *of, int n) {
  for (int i = 0; i < t->rank; i++) {
    if (i < n && i < of->rank && type_axis(t, i) != type_axis(of, i))
      return differ(in, t, of), false;
    if (i >= n && type_extent(t, i)) return refused(in, t, i), false;
  }
  return true;
}

/* An element's row-major number does not depend on the extents: what is bounded is outermost. */
static bool numbered(const ShapeIn *in, const Type *t) {
  bool outermost = true;
  for (int i = 0; i < t->rank; i++) {
    if (type_extent(t, i) && !outermost) return refused(in, t, i), false;
    outermost &= t->dim[i] == 1;
  }
  return true;
}

/* ---- views ---- */

static const Type *broadcasts(const ShapeIn *in) {
  const Type *t = in->type[0], *to = in->given;
  for (int i = 0, lead = to->rank - t->rank; i < t->rank; i++)
    if (t->dim[i] != 1 && type_axis(t, i) != type_axis(to, lead + i)) return differ(in, t, to);
  return to;
}

/* Those are all elements but so many in front of them and behind them. */
static bool leaves(const ShapeIn *in, int64_t axis, int64_t rest, int64_t both) {
  return axis_is_bounded(axis) && axis_is_bounded(rest) &&
         axis_and_more(in->ctx, axis, -both) == rest;
}

/* Of a bounded axis all is taken, a part, all but some, or the first; of a static one also as many
   as an extent. */
static const Type *slices(const ShapeIn *in) {
  const Type *t = in->type[0], *to = in->given;
  for (int i = 0; i < t->rank; i++) {
    if (!type_extent(t, i) && !type_extent(to, i)) continue;
    int64_t start = in->attr[AT_STARTS].ints->at[i], at = 0;
    bool first = !type_extent(to, i) && to->dim[i] &&
                 !axis_may_lack(in->ctx, type_axis(t, i), start + to->dim[i]); /* always there */
    bool part = axis_is_part(in->ctx, type_axis(t, i), type_axis(to, i), &at);
    int64_t both = t->dim[i] - to->dim[i];
    if (start <= both && leaves(in, type_axis(t, i), type_axis(to, i), both))
      at = start, part = true;
    bool fits = !type_extent(t, i) || part || first;
    if (!fits || (type_extent(t, i) && !first && start != at) ||
        in->attr[AT_STEPS].ints->at[i] != 1)
      return type_extent(t, i) ? refused(in, t, i) : refused(in, to, i);
  }
  return to;
}

/* Padding stands behind what a run has of an axis, up to the bound: that is static. The given type
   says so where no room is added, that a first element becomes a bounded axis, or a part the axis
   that it is of, and that a bounded axis has so many elements more. */
static const Type *pads(const ShapeIn *in, const Type *y) {
  const Type *t = in->type[0], *to = in->wanted;
  int64_t small[SMALL_RANK], *axis = shape_dims(in, small, t->rank);
  bool given = to && to->rank == y->rank && to->numel == y->numel;
  for (int i = 0; i < t->rank; i++) {
    int64_t lo = in->attr[AT_LO].ints->at[i], gap = in->attr[AT_INTERIOR].ints->at[i];
    bool whole = !lo && !in->attr[AT_HI].ints->at[i] && !gap;
    if (type_extent(t, i) && gap) return refused(in, t, i);
    axis[i] = type_extent(t, i) && whole ? type_axis(t, i) : y->dim[i];
    if (!given || type_axis(to, i) == axis[i] || to->dim[i] != y->dim[i]) continue;
    int64_t at, both = to->dim[i] - t->dim[i];
    bool part = axis_is_part(in->ctx, type_axis(to, i), type_axis(t, i), &at) && at == lo;
    part |= leaves(in, type_axis(to, i), type_axis(t, i), both) ||
            leaves(in, type_axis(t, i), type_axis(to, i), -both);
    if (type_extent(to, i) && !part &&
        (type_extent(t, i) || axis_may_lack(in->ctx, type_axis(to, i), lo + t->dim[i])))
      return refused(in, to, i);
    axis[i] = type_axis(to, i);
  }
  return with_axes(in, y, axis);
}

static const Type *concats(const ShapeIn *in, const Type *y) {
  int along = (int)in->attr[AT_AXIS].i;
  int64_t small[SMALL_RANK], *axis = shape_dims(in, small, y->rank);
  for (int k = 0; k < in->n; k++) {
    if (type_extent(in->type[k], along)) return refused(in, in->type[k], along);
    for (int i = 0; i < y->rank; i++)
      if (i != along && type_axis(in->type[k], i) != type_axis(in->type[0], i))
        return differ(in, in->type[0], in->type[k]);
  }
  for (int i = 0; i < y->rank; i++) axis[i] = i == along ? y->dim[i] : type_axis(in->type[0], i);
  return with_axes(in, y, axis);
}

static const Type *permutes(const ShapeIn *in, const Type *y) {
  int64_t small[SMALL_RANK], *axis = shape_dims(in, small, y->rank);
  for (int i = 0; i < y->rank; i++)
    axis[i] = type_axis(in->type[0], (int)in->attr[AT_PERM].ints->at[i]);
  return with_axes(in, y, axis);
}

static const Type *reverses(const ShapeIn *in, const Type *y) {
  const Ints *axes = in->attr[AT_AXES].ints;
  for (int i = 0; i < ints_n(axes); i++)
    if (type_extent(y, (int)axes->at[i])) return refused(in, y, (int)axes->at[i]);
  return y;
}

/* ---- reductions, products ---- */

static const Type *reduces(const ShapeIn *in, const Type *y) {
  const Type *t = in->type[0];
  bool arg = in->kind == OP_ARGMAX || in->kind == OP_ARGMIN;
  const Ints *axes = arg ? NULL : in->attr[AT_AXES].ints;
  int64_t small[SMALL_RANK], *axis = shape_dims(in, small, y->rank);
  for (int i = 0, n = 0; i < t->rank; i++) {
    bool reduced = arg && in->attr[AT_AXIS].i == i;
    for (int k = 0; k < ints_n(axes); k++) reduced |= axes->at[k] == i;
    if (!reduced) axis[n++] = type_axis(t, i);
  }
  y = with_axes(in, y, axis);
  return in->n > 1 ? shape_accumulator(in, y) : y;
}

static const Type *multiplies(const ShapeIn *in, const Type *y) {
  const Type *a = in->type[0], *b = in->type[1];
  bool ta = in->attr[AT_TA].i, tb = in->attr[AT_TB].i;
  int r = y->rank;
  int64_t small[SMALL_RANK], *axis = shape_dims(in, small, r);
  bool outermost = true;
  for (int i = 0; i < r - 2; i++) {
    axis[i] = type_axis(a, i);
    if (axis[i] != type_axis(b, i)) return differ(in, a, b);
    if (type_extent(a, i) && !outermost) return refused(in, a, i);
    outermost &= a->dim[i] == 1;
  }
  if (type_axis(a, ta ? r - 2 : r - 1) != type_axis(b, tb ? r - 1 : r - 2)) return differ(in, a, b);
  axis[r - 2] = type_axis(a, ta ? r - 1 : r - 2);
  axis[r - 1] = y->dim[r - 1];
  if (type_extent(b, tb ? r - 2 : r - 1)) return refused(in, b, tb ? r - 2 : r - 1); /* columns */
  return with_axes(in, y, axis);
}

/* The rows of x are, and of its scales, if it has any; the depth, which groups divide, is static,
   as the matrix is. */
static const Type *multiplies_quantized(const ShapeIn *in, const Type *y) {
  const Type *x = in->type[0];
  bool scaled = in->kind == OP_SCALED_MATMUL;
  for (int k = 0; k < in->n; k++)
    for (int i = k == 0 || (k == 2 && scaled); i < in->type[k]->rank; i++)
      if (type_extent(in->type[k], i)) return refused(in, in->type[k], i);
  if (scaled && type_axis(in->type[2], 0) != type_axis(x, 0)) return differ(in, x, in->type[2]);
  y = leading_of(in, y, x, 1);
  return in->given && y != in->given ? differ(in, y, in->given) : y;
}

/* The axis of the groups is static; the others are those of x, or of the tensor that is asked for.
 */
static const Type *quantizes(const ShapeIn *in, const Type *y) {
  const Type *of = in->given ? in->given : in->type[0];
  int along = (int)in->attr[AT_AXIS].i;
  if (type_extent(of, along)) return refused(in, of, along);
  int64_t small[SMALL_RANK], *axis = shape_dims(in, small, y->rank);
  for (int i = 0; i < y->rank; i++) {
    for (int k = 0; k < in->n && i != along; k++)
      if (type_axis(in->type[k], i) != type_axis(of, i)) return differ(in, of, in->type[k]);
    axis[i] = i == along ? y->dim[i] : type_axis(of, i);
  }
  return with_axes(in, y, axis);
}

/* ---- images: the batch, and the axes that windows slide along, as ir/op/window.c says ---- */

static const Type *images(const ShapeIn *in, const Type *y) {
  bool filters = in->kind == OP_CONV_FILTER_GRAD, second = filters;
  second |= in->kind == OP_MAX_POOL_TAKE || in->kind == OP_MAX_POOL_GRAD;
  for (int k = 0; k < in->n; k++) {
    const Type *t = in->type[k];
    const bool image = k == 0 || (k == 1 && second);
    for (int i = 0; i < t->rank; i++)
      if (type_extent(t, i) && (!image || i == 1)) return refused(in, t, i);
    if (image && type_axis(t, 0) != type_axis(in->type[0], 0)) return differ(in, t, in->type[0]);
  }
  if (!filters && type_axis(y, 0) != type_axis(in->type[0], 0)) return differ(in, y, in->type[0]);
  return y;
}

/* ---- rows, attention: what is bounded is the batch ---- */

static const Type *rows(const ShapeIn *in, const Type *y) {
  const Type *full = in->type[in->kind == OP_XENT_GRAD];
  for (int k = 0; k < in->n; k++)
    if (!bounded_within(in, in->type[k], full, full->rank)) return NULL;
  return leading_of(in, y, full, full->rank < y->rank ? full->rank : y->rank);
}

/* By the axis from the end; 1 if there is none. */
static int64_t axis_from_end(const Type *t, int i) {
  return i <= t->rank ? type_axis(t, t->rank - i) : 1;
}

/* Queries or keys: what is bounded are leading axes, which are those of the queries, and the rows.
 */
static bool attended(const ShapeIn *in, const Type *t, const Type *q) {
  for (int i = 0; i < t->rank; i++) {
    bool lead = i < q->rank - 3, row = i == q->rank - 2;
    if (lead && type_axis(t, i) != type_axis(q, i)) return differ(in, t, q), false;
    if (!lead && !row && type_extent(t, i)) return refused(in, t, i), false;
  }
  return true;
}

static const Type *attends(const ShapeIn *in, const Type *y) {
  bool grad = in->kind == OP_ATTENTION_GRAD;
  const Type *q = in->type[grad], *k = in->type[grad + 1], *v = in->type[grad + 2];
  int lead = q->rank > 3 ? q->rank - 3 : 0, masked = grad ? 6 : 3;
  if (!numbered(in, leading_of(in, q, q, lead))) return NULL;
  for (int i = grad; i < grad + 3; i++)
    if (!attended(in, in->type[i], q)) return NULL;
  if (axis_from_end(k, 2) != axis_from_end(v, 2)) return differ(in, k, v);
  if (in->attr[AT_CAUSAL].i && axis_from_end(q, 2) != axis_from_end(k, 2)) return differ(in, q, k);
  for (int i = 0; grad && i < masked; i += i ? 1 : 4) /* dy, and the numbers a row */
    if (!bounded_within(in, in->type[i], q, q->rank - 1)) return NULL;
  const Type *mask = in->n > masked ? in->type[masked] : NULL;
  for (int i = 1; mask && i <= mask->rank; i++) {
    int64_t axis = axis_from_end(mask, i),
            want = i == 1 ? axis_from_end(k, 2) : axis_from_end(q, i);
    if (axis != 1 && axis != want) return differ(in, mask, i == 1 ? k : q);
  }
  if (grad) return in->type[1 + in->result];
  return leading_of(in, y, q, q->rank - 1);
}

/* ---- indices ---- */

/* The part may be shorter at run time than at the bound; of a bounded axis it is one, or has fewer
   elements than each run. */
static const Type *updates(const ShapeIn *in, const Type *y) {
  const Type *x = in->type[0], *part = in->type[1];
  int along = (int)in->attr[AT_AXIS].i;
  for (int i = 0; i < x->rank; i++) {
    int64_t at;
    if (i == along && axis_is_part(in->ctx, type_axis(x, i), type_axis(part, i), &at)) continue;
    if (i == along && type_extent(x, i) &&
        (type_extent(part, i) || axis_may_lack(in->ctx, type_axis(x, i), part->dim[i])))
      return refused(in, x, i);
    if (i != along && type_axis(x, i) != type_axis(part, i)) return differ(in, x, part);
  }
  return y;
}

/* Rows of a table are moved. The first operand is the table, or the
   gradients of the rows by id; the extent of a table of gradients is given with the type, if it has
   one. */
static const Type *rows_by_id(const ShapeIn *in, const Type *y, bool grad) {
  const Type *moved = in->type[0], *ids = in->type[1];
  int batch = (int)in->attr[AT_BATCH].i, before = grad ? ids->rank : batch;
  int64_t small[SMALL_RANK], *axis = shape_dims(in, small, y->rank);
  for (int i = 0; i < before; i++)
    if (type_axis(moved, i) != type_axis(ids, i)) return differ(in, moved, ids);
  int row = before + !grad, to = grad ? batch + 1 : ids->rank;
  for (int i = 0; i < y->rank; i++)
    axis[i] = i >= to                          ? type_axis(moved, row + i - to)
              : i < (grad ? batch : ids->rank) ? type_axis(ids, i)
                                               : y->dim[i];
  const Type *to_rows = !grad ? NULL : in->n > 2 ? in->type[2] : in->wanted;
  if (to_rows && to_rows->rank == y->rank && to_rows->dim[batch] == y->dim[batch])
    axis[batch] = type_axis(to_rows, batch);
  y = with_axes(in, y, axis);
  return grad && in->n > 2 ? shape_accumulator(in, y) : y;
}

static const Type *one_hots(const ShapeIn *in) {
  const Type *y = leading_of(in, in->given, in->type[0], in->type[0]->rank);
  return y == in->given ? y : differ(in, y, in->given);
}

const Type *shape_bounded(const ShapeIn *in, const Type *y) {
  if (!has_bounded(in)) return y;
  switch ((int)op_info[in->kind].cls) {
  case CLASS_ELEMENT: return op_info[in->kind].flags & OPF_POSITION && !numbered(in, y) ? NULL : y;
  case CLASS_WINDOW: return images(in, y);
  case CLASS_ROWS: return rows(in, y);
  case CLASS_ATTENTION: return attends(in, y);
  default: break;
  }
  switch ((int)in->kind) {
  case OP_CONST:
  case OP_IOTA:
  case OP_COPY:
  case OP_STOP_GRADIENT:
  case OP_TO_LOCAL:
  case OP_FROM_LOCAL:
  case OP_BATCH_NORM: return y;
  case OP_RANDOM_UNIFORM:
  case OP_RANDOM_NORMAL: return numbered(in, y) ? y : NULL;
  case OP_RESHAPE:
    if (type_same_elements(in->type[0], in->given) || reshape_moves(in->type[0], in->given))
      return y;
    return shape_wrong(in,
                       "cannot make %s into %s: they have as many elements at their bounds alone",
                       shape_str(in, in->type[0]), shape_str(in, in->given));
  case OP_TRANSPOSE: return permutes(in, y);
  case OP_BROADCAST: return broadcasts(in);
  case OP_SLICE: return slices(in);
  case OP_REVERSE: return reverses(in, y);
  case OP_PAD: return pads(in, y);
  case OP_CONCAT: return concats(in, y);
  case OP_SUM:
  case OP_PROD:
  case OP_REDUCE_MAX:
  case OP_REDUCE_MIN:
  case OP_ARGMAX:
  case OP_ARGMIN:
  case OP_VARIANCE: return reduces(in, y);
  case OP_MATMUL: return multiplies(in, y);
  case OP_QUANTIZE_SCALE:
  case OP_QUANTIZE:
  case OP_DEQUANTIZE: return quantizes(in, y);
  case OP_QUANTIZED_MATMUL:
  case OP_SCALED_MATMUL: return multiplies_quantized(in, y);
  case OP_GATHER: return rows_by_id(in, y, false);
  case OP_GATHER_GRAD: return rows_by_id(in, y, true);
  case OP_ONE_HOT: return one_hots(in);
  case OP_DYNAMIC_UPDATE: return updates(in, y);
  case OP_CUMSUM: return y;
  case OP_ARGSORT: return leading_of(in, y, in->type[0], y->rank);
  default: break;
  }
  for (int k = 0; k < in->n; k++)
    if (in->type[k]->extent) return refused(in, in->type[k], first_bounded(in->type[k]));
  return refused(in, in->given, first_bounded(in->given));
}
