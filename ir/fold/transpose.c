/* Folding rules for transpositions.
   Contract: that of fold.c and view.c. */
#include "ir/fold/fold.h"

static const Type *type_of(const Fold *f, int i) { return value_type(f->e, f->x[i]); }

static int64_t *ints_new(const Fold *f, int n) {
  return ARENA_ARRAY(f->b->m->arena, int64_t, n + 1);
}

/* transpose(transpose(x, p), q) → transpose(x, p after q) */
ValueId transpose_of_transpose(const Fold *f) {
  const Op *t = fold_def(f, 0, OP_TRANSPOSE);
  if (!t) return NO_ID;
  const Ints *p = t->attr[AT_PERM].ints, *q = f->attr[AT_PERM].ints;
  int64_t *both = ints_new(f, f->type->rank);
  for (int i = 0; i < f->type->rank; i++) both[i] = p->at[q->at[i]];
  return build_transpose(f->b, t->operands[0], both);
}

/* Gradients are still to come, and are added up value by value: what axes of one element make
   superfluous stays until then, so that their order is that of the program whose axes are longer.
 */
static bool keeps_ones(const Fold *f) { return !f->e->differentiated && !f->b->backward; }

static bool keeps_order(const Ints *perm) {
  for (int i = 0; i < perm->n; i++)
    if (perm->at[i] != i) return false;
  return true;
}

/* transpose(x, p) → reshape(x), or x, where the axes longer than 1 keep their order */
ValueId transpose_as_reshape(const Fold *f) {
  if (keeps_ones(f) && !keeps_order(f->attr[AT_PERM].ints)) return NO_ID;
  const Type *t = type_of(f, 0);
  int64_t last = -1;
  for (int i = 0; i < t->rank; i++) {
    int64_t p = f->attr[AT_PERM].ints->at[i];
    if (t->dim[p] == 1) continue;
    if (p < last) return NO_ID;
    last = p;
  }
  return build_reshape(f->b, f->x[0], f->type);
}

/* ---- through a reshape ---- */

/* Axes [x, xend) of one type whose elements are those of axes [y, yend) of another, in order. */
typedef struct AxisBlock {
  int x, xend, y, yend;
} AxisBlock;

static bool has_extent(const Type *t, int from, int end) {
  for (int i = from; i < end; i++)
    if (type_extent(t, i)) return true;
  return false;
}

/* The smallest such blocks of x and y, as many as there are; 0 if a bounded axis is divided, joined
   or moved. */
static int axis_blocks(const Type *x, const Type *y, AxisBlock *block) {
  int n = 0;
  for (int i = 0, j = 0; i < x->rank && j < y->rank; n++) {
    AxisBlock b = {.x = i, .y = j};
    int64_t left = x->dim[i++], right = y->dim[j++];
    while (left != right)
      if (left < right && i < x->rank)
        left *= x->dim[i++];
      else if (right < left && j < y->rank)
        right *= y->dim[j++];
      else
        return 0;
    while (i == x->rank && j < y->rank) j++; /* axes of 1 behind all others */
    while (j == y->rank && i < x->rank) i++;
    b.xend = i;
    b.yend = j;
    const bool same =
        b.xend - b.x == 1 && b.yend - b.y == 1 && type_axis(x, b.x) == type_axis(y, b.y);
    if (!same && (has_extent(x, b.x, b.xend) || has_extent(y, b.y, b.yend))) return 0;
    block[n] = b;
  }
  return n;
}

/* Products read operands whose last two axes are exchanged. */
static bool swaps_last(const Ints *p) {
  for (int i = 0; i < p->n - 2; i++)
    if (p->at[i] != i) return false;
  return true;
}

/* transpose(reshape(x), p) → reshape(transpose(x)), if axes that the reshape makes of one
   stay side by side: fewer and longer axes move, such as the channels of images */
ValueId transpose_of_reshape(const Fold *f) {
  const Op *r = fold_def(f, 0, OP_RESHAPE);
  const Ints *p = f->attr[AT_PERM].ints;
  if (!r || keeps_ones(f) || swaps_last(p)) return NO_ID;
  const Type *x = value_type(f->e, r->operands[0]), *y = type_of(f, 0);
  AxisBlock *block = ARENA_ARRAY(f->b->m->arena, AxisBlock, x->rank + 1);
  const bool apart = x->numel && x->rank < y->rank && !value_at(f->e, r->operands[0])->layout;
  const int n = apart ? axis_blocks(x, y, block) : 0;
  int64_t *perm = ints_new(f, x->rank);
  int at = 0, axes = 0;
  for (int done = 0; done < n; done++) { /* the block whose axes come next */
    const AxisBlock *b = block;
    while (b < block + n && b->y != p->at[at]) b++;
    if (b == block + n) return NO_ID;
    for (int j = b->y; j < b->yend; j++)
      if (p->at[at++] != j) return NO_ID;
    for (int i = b->x; i < b->xend; i++) perm[axes++] = i;
  }
  return n ? build_reshape(f->b, build_transpose(f->b, r->operands[0], perm), f->type) : NO_ID;
}

/* Of one axis of x each, the last one of several: [b, h, t, d] becomes [b, h, t, 2, d / 2]. */
static bool divides_rows(const Type *x, const Type *y, const AxisBlock *block, int n) {
  if (n != x->rank || y->rank == x->rank) return false;
  for (int i = 0; i < n; i++)
    if (block[i].xend - block[i].x != 1) return false;
  return x->dim[n - 1] > y->dim[y->rank - 1] && y->dim[y->rank - 1] > 1;
}

/* reshape(transpose(reshape(x), p)) → transpose(reshape(x), q), if the outer reshape divides each
   axis for itself: what reads parts of rows, such as both halves of a head, reads them where they
   lie. Its operand is a reshape, so the rule above, which goes the other way, does not undo it. */
ValueId reshape_of_transpose(const Fold *f) {
  const Op *t = fold_def(f, 0, OP_TRANSPOSE);
  const Op *r = t ? value_def(f->e, t->operands[0]) : NULL;
  if (!r || r->kind != OP_RESHAPE || value_at(f->e, f->x[0])->layout) return NO_ID;
  const Type *x = type_of(f, 0), *y = f->type;
  AxisBlock *block = ARENA_ARRAY(f->b->m->arena, AxisBlock, x->rank + 1);
  if (!x->numel || !divides_rows(x, y, block, axis_blocks(x, y, block))) return NO_ID;
  const Ints *p = t->attr[AT_PERM].ints;
  int64_t *axis = ints_new(f, y->rank), *perm = ints_new(f, y->rank);
  for (int i = 0, n = 0; i < x->rank; i++) { /* axes of the transpose's operand, in order */
    int at = 0;
    while (p->at[at] != i) at++;
    for (int k = block[at].y; k < block[at].yend; k++) {
      perm[k] = n;
      axis[n++] = type_axis(y, k);
    }
  }
  const Type *before = type_get(f->b->m->ctx, y->dtype, y->rank, axis);
  return build_transpose(f->b, build_reshape(f->b, t->operands[0], before), perm);
}
