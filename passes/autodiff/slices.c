/* Gradients of a value's slices, side by side. The gradient of a slice is zeros around the gradient
   that comes in. A tensor may be split into parts, such as the gates of a recurrent cell or
   queries, keys and values of attention. Each part would then have a gradient as large as the
   tensor, and all would be added up. Contract: every element keeps its sum and the order of it,
   except for the zeros of slices that do not hold it; a gradient of -0 stays one. Method: the sum
   so far is taken apart into pieces along an axis, zeros among them, and a slice that falls into
   zeros takes their place. */
#include "passes/autodiff/autodiff_impl.h"

enum { MAX_PIECES = 64 }; /* of a concat: what comes then is added */

typedef struct Piece {
  ValueId v; /* NO_ID: zeros */
  int64_t n; /* along the axis */
} Piece;

typedef struct Pieces {
  int axis, n;
  Piece at[MAX_PIECES + 4]; /* zeros on both sides, and of the last that was placed */
} Pieces;

static void push(Pieces *p, ValueId v, int64_t n) {
  if (n) p->at[p->n++] = (Piece){v, n};
}

static bool push_concat(Pieces *p, const Entry *e, const Op *op) {
  if (op->noperands > MAX_PIECES) return false;
  for (int k = 0; k < op->noperands; k++) {
    ValueId x = op->operands[k];
    Attr c;
    bool zeros = value_const(e, x, &c) && c.i == 0;
    push(p, zeros ? NO_ID : x, value_type(e, x)->dim[p->axis]);
  }
  return true;
}

/* Zeros around the operand, along one axis, which is static. */
static bool is_margin(const Entry *e, const Op *op, int *axis) {
  if (!op || op->kind != OP_PAD || op->attr[AT_VALUE].i != 0) return false;
  const Type *x = value_type(e, op->operands[0]), *y = value_type(e, op->results[0]);
  const Ints *lo = op->attr[AT_LO].ints, *hi = op->attr[AT_HI].ints;
  int axes = 0;
  for (int i = 0; i < lo->n; i++) {
    if (op->attr[AT_INTERIOR].ints->at[i] != 0 || lo->at[i] < 0 || hi->at[i] < 0) return false;
    if (type_extent(x, i) != type_extent(y, i)) return false;
    if (!lo->at[i] && !hi->at[i]) continue;
    if (type_extent(y, i)) return false;
    *axis = i, axes++;
  }
  return axes == 1;
}

/* What is summed so far, along the axis. */
static bool take_apart(const Entry *e, ValueId sum, Pieces *p) {
  const Op *op = value_def(e, sum);
  int axis;
  if (op && op->kind == OP_CONCAT) return op->attr[AT_AXIS].i == p->axis && push_concat(p, e, op);
  if (!is_margin(e, op, &axis) || axis != p->axis) return false;
  ValueId x = op->operands[0];
  const Op *in = value_def(e, x);
  push(p, NO_ID, op->attr[AT_LO].ints->at[axis]);
  if (!in || in->kind != OP_CONCAT || in->attr[AT_AXIS].i != axis)
    push(p, x, value_type(e, x)->dim[axis]);
  else if (!push_concat(p, e, in))
    return false;
  push(p, NO_ID, op->attr[AT_HI].ints->at[axis]);
  return true;
}

/* x takes the place of zeros from `from` on; false if something is there already. */
static bool place_piece(Pieces *p, ValueId x, int64_t from, int64_t n) {
  int64_t begin = 0;
  int i = 0;
  for (; i < p->n && begin + p->at[i].n <= from; i++) begin += p->at[i].n;
  if (i == p->n || p->at[i].v != NO_ID || begin + p->at[i].n < from + n) return false;
  if (p->n > MAX_PIECES) return false;
  Pieces with = {.axis = p->axis};
  for (int k = 0; k < i; k++) with.at[with.n++] = p->at[k];
  push(&with, NO_ID, from - begin);
  push(&with, x, n);
  push(&with, NO_ID, begin + p->at[i].n - from - n);
  for (int k = i + 1; k < p->n; k++) with.at[with.n++] = p->at[k];
  *p = with;
  return true;
}

/* Zeros on both sides stay a margin. */
static ValueId put_together(Builder *b, const Type *t, const Pieces *p) {
  int first = p->at[0].v == NO_ID, last = p->n - (p->at[p->n - 1].v == NO_ID);
  ValueId x[MAX_PIECES + 4];
  for (int k = first; k < last; k++)
    x[k] = p->at[k].v != NO_ID
               ? p->at[k].v
               : build_const(b, type_with_extent(b->m->ctx, t, p->axis, p->at[k].n), 0);
  Attr concat[MAX_ATTRS] = {[AT_AXIS] = {.i = p->axis}};
  ValueId v = build(b, OP_CONCAT, x + first, last - first, concat, NULL);
  if (last - first == p->n) return v;
  return build_pad(b, v, p->axis, first ? p->at[0].n : 0, last < p->n ? p->at[last].n : 0);
}

ValueId diff_beside(Builder *b, ValueId sum, ValueId dv) {
  const Entry *e = b->e;
  const Op *op = value_def(e, dv);
  Pieces p = {0};
  if (!is_margin(e, op, &p.axis) || !take_apart(e, sum, &p)) return NO_ID;
  ValueId x = op->operands[0];
  const Type *t = value_type(e, dv);
  if (!place_piece(&p, x, op->attr[AT_LO].ints->at[p.axis], value_type(e, x)->dim[p.axis]))
    return NO_ID;
  return put_together(b, t, &p);
}
