/* Folding rules for truth values, and for where and relu_grad, which choose by them; their contract
   is in fold.c. */
#include "ir/fold/fold.h"
#include "ir/op/op.h"

/* not (not x) → x */
ValueId not_of_not(const Fold *f) {
  const Op *n = fold_def(f, 0, OP_NOT);
  return n ? n->operands[0] : NO_ID;
}

/* not (x == y) → x != y;  not (x < y) → x >= y for integers: as floats, NaN is neither */
ValueId not_of_compare(const Fold *f) {
  static const OpKind opposite[OP_KINDS] = {[OP_EQ] = OP_NE, [OP_NE] = OP_EQ, [OP_LT] = OP_GE,
                                            [OP_LE] = OP_GT, [OP_GT] = OP_LE, [OP_GE] = OP_LT};
  const Op *c = value_def(f->e, f->x[0]);
  if (!c || !opposite[c->kind]) return NO_ID;
  bool floats = dtype_is_float(value_type(f->e, c->operands[0])->dtype);
  if (floats && c->kind != OP_EQ && c->kind != OP_NE) return NO_ID;
  return build2(f->b, opposite[c->kind], c->operands[0], c->operands[1]);
}

/* x and true → x;  x and false → false;  x or false → x;  x or true → true */
ValueId logic_const(const Fold *f) {
  Attr c;
  if (!fold_const(f, 1, &c)) return NO_ID;
  return (c.i != 0) == (f->kind == OP_AND) ? f->x[0] : f->x[1];
}

/* x < x → false;  x == x → true for integers: as floats, NaN is not equal to itself */
ValueId compare_self(const Fold *f) {
  if (f->x[0] != f->x[1]) return NO_ID;
  if (f->kind == OP_LT || f->kind == OP_GT) return fold_num(f, 0);
  if (fold_is_float(f)) return NO_ID;
  return fold_num(f, f->kind != OP_NE);
}

/* where(true, x, y) → x;  where(false, x, y) → y */
ValueId where_const(const Fold *f) {
  Attr c;
  return fold_const(f, 0, &c) ? f->x[c.i ? 1 : 2] : NO_ID;
}

/* where(c, x, x) → x */
ValueId where_same(const Fold *f) { return f->x[1] == f->x[2] ? f->x[1] : NO_ID; }

/* where(not c, x, y) → where(c, y, x) */
ValueId where_not(const Fold *f) {
  const Op *n = fold_def(f, 0, OP_NOT);
  return n ? build3(f->b, OP_WHERE, n->operands[0], f->x[2], f->x[1]) : NO_ID;
}

/* where(c, true, false) → c;  where(c, false, true) → not c */
ValueId where_bool(const Fold *f) {
  if (f->type->dtype != DT_BOOL) return NO_ID;
  if (fold_is(f, 1, 1) && fold_is(f, 2, 0)) return f->x[0];
  return fold_is(f, 1, 0) && fold_is(f, 2, 1) ? build1(f->b, OP_NOT, f->x[0]) : NO_ID;
}

/* where(c, where(c, x, y), z) → where(c, x, z);  where(c, x, where(c, y, z)) → where(c, x, z) */
ValueId where_of_where(const Fold *f) {
  const Op *x = fold_def(f, 1, OP_WHERE), *y = fold_def(f, 2, OP_WHERE);
  if (x && x->operands[0] == f->x[0])
    return build3(f->b, OP_WHERE, f->x[0], x->operands[1], f->x[2]);
  if (y && y->operands[0] == f->x[0])
    return build3(f->b, OP_WHERE, f->x[0], f->x[1], y->operands[2]);
  return NO_ID;
}

/* relu_grad(0, y) → 0;  relu_grad(dy, c) → dy or 0 */
ValueId relu_grad_const(const Fold *f) {
  Attr c;
  if (fold_is(f, 0, 0)) return f->x[0];
  if (!fold_const(f, 1, &c)) return NO_ID;
  return (fold_is_float(f) ? c.f > 0 : c.i > 0) ? f->x[0] : fold_num(f, 0);
}

/* The halves that operand i is, in more bits, or NO_ID. */
static ValueId half_of(const Fold *f, int i) {
  const Op *wide = fold_def(f, i, OP_CONVERT);
  const Dtype to = value_type(f->e, f->x[i])->dtype;
  if (!wide || (to != DT_F32 && to != DT_F64)) return NO_ID;
  return dtype_is_half(value_type(f->e, wide->operands[0])->dtype) ? wide->operands[0] : NO_ID;
}

/* max_pool_index(convert(x)) → max_pool_index(x), where the conversion keeps every value */
ValueId index_of_widened(const Fold *f) {
  const ValueId x = half_of(f, 0);
  return x == NO_ID ? NO_ID : build(f->b, OP_MAX_POOL_INDEX, &x, 1, f->attr, NULL);
}

/* relu_grad(max_pool_grad(dy, max_pool_index(x)), x) → max_pool_grad(relu_grad(dy, max_pool(x)),
   max_pool_index(x)): a pixel that is named is the largest of its window, so both ask the same of
   the same number, and x, the larger image, may die. The index may be that of the halves that x
   has in more bits. */
ValueId relu_grad_of_pool(const Fold *f) {
  const Op *back = fold_def(f, 0, OP_MAX_POOL_GRAD);
  const Op *index = back ? value_def(f->e, back->operands[1]) : NULL;
  if (!index || index->kind != OP_MAX_POOL_INDEX) return NO_ID;
  const ValueId x = index->operands[0];
  if (x != f->x[1] && x != half_of(f, 1)) return NO_ID;
  for (int i = 0; i < MAX_ATTRS; i++)
    if (index->attr[i].i != back->attr[i].i) return NO_ID;
  ValueId y = build(f->b, OP_MAX_POOL, &x, 1, back->attr, NULL);
  y = build_convert(f->b, y, value_type(f->e, f->x[1])->dtype);
  ValueId dy = build2(f->b, OP_RELU_GRAD, back->operands[0], y);
  return build(f->b, OP_MAX_POOL_GRAD, (ValueId[]){dy, back->operands[1]}, 2, back->attr, f->type);
}
