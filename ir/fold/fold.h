/* Folding; the rules' contract is in fold.c. */
#ifndef GC_IR_FOLD_H
#define GC_IR_FOLD_H
#include "ir/ir.h"

typedef struct Fold {
  Builder *b;
  Entry *e;
  OpKind kind;
  int n;
  const ValueId *x; /* operands; a constant of a commutative op is the second */
  const Attr *attr; /* MAX_ATTRS of them */
  const Type *type; /* of the result */
} Fold;

/* A value equal to this op's result, perhaps built on the way; NO_ID where no rule fits. */
ValueId fold_op(const Fold *f);
/* The operands of op k may be exchanged without a change of any bit of the result. */
bool fold_commutes(OpKind k, const Type *operand);
bool op_commutes(const Entry *e, const Op *op);

/* ---- shared by fold.c, arith.c, logic.c and view.c ---- */

typedef ValueId FoldRule(const Fold *f);

/* The op that makes operand i, if it is of this kind; else NULL. */
const Op *fold_def(const Fold *f, int i, OpKind k);
/* Operand i is a constant: its value, of its dtype. */
bool fold_const(const Fold *f, int i, Attr *out);
/* Operand i is this constant to the bit: 0 is not -0. */
bool fold_is(const Fold *f, int i, double v);
bool fold_is_float(const Fold *f);
/* A constant of the result's type. */
ValueId fold_make(const Fold *f, Attr v);
ValueId fold_num(const Fold *f, double v);

/* Rules for arithmetic, in arith.c. */
FoldRule add_zero, add_neg, associate, sub_zero, sub_self, sub_from_zero, sub_neg, times_one,
    times_minus_one, mul_zero, times_neg, div_by_power, mod_one, pow_zero, pow_one, pow_two,
    pow_minus_one, pow_half, neg_of_neg, neg_of_sub, abs_of_neg, keep_positive, idempotent,
    round_of_whole, same_operands, extreme_of_limit, convert_of_convert;
/* Rules for truth values, and for what chooses by them, in logic.c. */
FoldRule not_of_not, not_of_compare, logic_const, compare_self, where_const, where_same, where_not,
    where_bool, where_of_where, relu_grad_const, relu_grad_of_pool, index_of_widened;
/* Rules for ops that move or reduce elements, in view.c. */
FoldRule element_of_moved, view_of_const, view_identity, reshape_of_reshape, broadcast_of_broadcast,
    broadcast_as_reshape, slice_of_slice, slice_of_concat, reverse_of_reverse, reverse_of_one,
    pad_of_same, concat_empty, concat_const, reduce_of_one, sum_of_const, prod_of_const,
    extreme_of_const, arg_trivial, iota_of_one, matmul_of_transpose, matmul_of_dequantize,
    product_of_dequantize, gather_of_dequantize, stop_of_stop;
/* Rules for transpositions, in transpose.c. */
FoldRule transpose_of_transpose, transpose_as_reshape, transpose_of_reshape, reshape_of_transpose;
#endif
