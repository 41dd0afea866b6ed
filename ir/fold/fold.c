/* Algebraic simplification and constant folding, one op at a time, while the IR is built.

   Contract of the rules. The builder has an op with its operands and result type, which is not in
   the IR yet. It tries the rules of that kind in the order of the table at the end of this file;
   the first result other than NO_ID is taken. A rule

   - returns a value of exactly the result's type, or NO_ID and has built nothing;
   - never changes a bit of any result, beyond the payload and sign of a NaN: floats are not
     reassociated, x + 0 stays (it turns -0 into 0), x * 0 stays (infinities), and a function whose
     last bit depends on the target (exp, log, tanh, …) is not evaluated here;
   - is monotonic: the result has fewer ops, or ops of less work, and no rule is the inverse of
     another, so folding terminates;
   - reads the definitions of its operands, never their other uses, and builds through the builder,
     so its ops are folded and hash-consed in turn;
   - keeps the gradient: x, seen by the autodiff pass, has the derivative that the op had, up to
     points where it was not defined.

   Operands with a layout are not folded. A constant is one number for all elements, so a folded
   constant costs nothing. The constant operand of a commutative op is the second one.

   To add a rule: its law as a comment, its function, its place in the table, and in
   tests/unit/ir_fold.c one program where it fires and one where it must not. */
#include "ir/fold/fold.h"
#include "ir/eval/interp.h"
#include "ir/op/op.h"

#include <math.h>

enum { MAX_RULES = 10 };

/* ---- queries of the rules ---- */

const Op *fold_def(const Fold *f, int i, OpKind k) {
  const Op *op = value_def(f->e, f->x[i]);
  return op && op->kind == k ? op : NULL;
}

bool fold_const(const Fold *f, int i, Attr *out) { return value_const(f->e, f->x[i], out); }

bool fold_is(const Fold *f, int i, double v) {
  Attr have, want;
  if (!fold_const(f, i, &have)) return false;
  if (dtype_is_float(value_type(f->e, f->x[i])->dtype))
    want.f = v;
  else if (v == trunc(v) && !(v == 0 && signbit(v)) && fabs(v) < 0x1p62)
    want.i = (int64_t)v;
  else
    return false;
  return have.i == want.i;
}

ValueId fold_make(const Fold *f, Attr v) {
  return build(f->b, OP_CONST, NULL, 0, (Attr[MAX_ATTRS]){[AT_VALUE] = v}, f->type);
}

ValueId fold_num(const Fold *f, double v) {
  return dtype_is_float(f->type->dtype) ? fold_make(f, (Attr){.f = v})
                                        : fold_make(f, (Attr){.i = (int64_t)v});
}

bool fold_is_float(const Fold *f) { return dtype_is_float(value_type(f->e, f->x[0])->dtype); }

bool fold_commutes(OpKind k, const Type *operand) {
  if (!(op_info[k].flags & OPF_COMMUTATIVE)) return false;
  /* min(0, -0) is its second operand */
  return !((k == OP_MIN || k == OP_MAX) && dtype_is_float(operand->dtype));
}

bool op_commutes(const Entry *e, const Op *op) {
  return op->noperands == 2 && fold_commutes(op->kind, value_type(e, op->operands[0]));
}

/* ---- constants ---- */

/* A conversion through f32, as kernels make it, gives the same as one that rounds once. */
static bool converts_exactly(Attr v, Dtype from, Dtype to) {
  if (to == DT_F32 || to == DT_F64 || !dtype_is_float(to)) return true;
  if (dtype_is_float(from)) return v.f != v.f || (double)(float)v.f == v.f;
  return v.i >= -(1 << 24) && v.i <= 1 << 24;
}

/* Ops that IEEE 754 or integer arithmetic determines to the last bit. Products of few bits in f16
   and bf16 are computed in f32, which has more than twice theirs, and so round as if once. */
static bool determined(const Fold *f) {
  static const bool table[OP_KINDS] = {
      [OP_NEG] = true,   [OP_ABS] = true,       [OP_SIGN] = true, [OP_SQRT] = true,
      [OP_RELU] = true,  [OP_FLOOR] = true,     [OP_CEIL] = true, [OP_ROUND] = true,
      [OP_NOT] = true,   [OP_CONVERT] = true,   [OP_ADD] = true,  [OP_SUB] = true,
      [OP_MUL] = true,   [OP_DIV] = true,       [OP_MIN] = true,  [OP_MAX] = true,
      [OP_EQ] = true,    [OP_NE] = true,        [OP_LT] = true,   [OP_LE] = true,
      [OP_GT] = true,    [OP_GE] = true,        [OP_AND] = true,  [OP_OR] = true,
      [OP_WHERE] = true, [OP_RELU_GRAD] = true, [OP_TF32] = true};
  if (f->kind == OP_MOD || f->kind == OP_QUOTIENT) return !dtype_is_float(f->type->dtype);
  return table[f->kind];
}

/* op(c, …) → constant, computed by the interpreter on one element. */
static ValueId element_of_consts(const Fold *f) {
  enum { MAX_OPERANDS = 3 };
  Tensor tensor[MAX_OPERANDS + 1] = {0};
  Value value[MAX_OPERANDS + 1] = {0};
  Scalar at[MAX_OPERANDS];
  ValueId ids[MAX_OPERANDS + 1];
  Ctx *c = f->b->m->ctx;
  if (f->n > MAX_OPERANDS || !determined(f)) return NO_ID;
  for (int i = 0; i < f->n; i++) {
    Attr v;
    if (!fold_const(f, i, &v)) return NO_ID;
    Dtype dt = value_type(f->e, f->x[i])->dtype;
    if (f->kind == OP_CONVERT && !converts_exactly(v, dt, f->type->dtype)) return NO_ID;
    at[i].i = v.i;
    ids[i] = (ValueId)i;
    value[i].type = type_scalar(c, dt);
    tensor[i] = (Tensor){value[i].type, &at[i]};
  }
  ids[f->n] = (ValueId)f->n;
  value[f->n].type = type_scalar(c, f->type->dtype);
  Entry entry = {.module = f->b->m, .values = {.at = value, .n = (uint32_t)f->n + 1}};
  Interp it = {.m = f->b->m, .arena = f->b->m->arena, .mode = INTERP_DTYPE};
  EvalCtx eval = {.it = &it, .e = &entry, .value = tensor, .scratch = f->b->m->arena};
  Op op = {
      .kind = f->kind, .noperands = f->n, .nresults = 1, .operands = ids, .results = ids + f->n};
  memcpy(op.attr, f->attr, sizeof op.attr);
  eval_element(&eval, &op);
  return fold_make(f, (Attr){.i = tensor[f->n].at[0].i});
}

/* ---- the table: rules by kind, in the order in which they are tried ---- */

#define VIEW view_identity, view_of_const

static FoldRule *const rules[OP_KINDS][MAX_RULES] = {
    [OP_NEG] = {element_of_consts, neg_of_neg, neg_of_sub},
    [OP_ABS] = {element_of_consts, idempotent, abs_of_neg, keep_positive},
    [OP_SIGN] = {element_of_consts, idempotent},
    [OP_SQRT] = {element_of_consts},
    [OP_RELU] = {element_of_consts, idempotent, keep_positive},
    [OP_FLOOR] = {element_of_consts, round_of_whole},
    [OP_CEIL] = {element_of_consts, round_of_whole},
    [OP_ROUND] = {element_of_consts, round_of_whole},
    [OP_TF32] = {element_of_consts, idempotent},
    [OP_NOT] = {element_of_consts, not_of_not, not_of_compare},
    [OP_CONVERT] = {view_identity, element_of_consts, convert_of_convert},
    [OP_ADD] = {element_of_consts, add_zero, add_neg, associate},
    [OP_SUB] = {element_of_consts, sub_zero, sub_self, sub_from_zero, sub_neg},
    [OP_MUL] = {element_of_consts, times_one, times_minus_one, mul_zero, times_neg, associate},
    [OP_DIV] = {element_of_consts, times_one, times_minus_one, times_neg, div_by_power},
    [OP_MOD] = {element_of_consts, mod_one},
    [OP_QUOTIENT] = {element_of_consts, times_one},
    [OP_POW] = {pow_zero, pow_one, pow_two, pow_minus_one, pow_half},
    [OP_MIN] = {element_of_consts, same_operands, extreme_of_limit},
    [OP_MAX] = {element_of_consts, same_operands, extreme_of_limit},
    [OP_EQ] = {element_of_consts, compare_self},
    [OP_NE] = {element_of_consts, compare_self},
    [OP_LT] = {element_of_consts, compare_self},
    [OP_LE] = {element_of_consts, compare_self},
    [OP_GT] = {element_of_consts, compare_self},
    [OP_GE] = {element_of_consts, compare_self},
    [OP_AND] = {element_of_consts, same_operands, logic_const},
    [OP_OR] = {element_of_consts, same_operands, logic_const},
    [OP_WHERE] = {where_const, where_same, where_not, where_bool, where_of_where},
    [OP_RELU_GRAD] = {element_of_consts, relu_grad_const, relu_grad_of_pool},
    [OP_IOTA] = {iota_of_one},
    [OP_RESHAPE] = {VIEW, reshape_of_reshape, reshape_of_transpose},
    [OP_TRANSPOSE] = {view_of_const, transpose_of_transpose, transpose_as_reshape,
                      transpose_of_reshape},
    [OP_BROADCAST] = {VIEW, broadcast_of_broadcast, broadcast_as_reshape},
    [OP_SLICE] = {VIEW, slice_of_slice, slice_of_concat},
    [OP_REVERSE] = {view_of_const, reverse_of_one, reverse_of_reverse},
    [OP_PAD] = {view_identity, pad_of_same},
    [OP_CONCAT] = {concat_empty, concat_const},
    [OP_SUM] = {reduce_of_one, sum_of_const},
    [OP_PROD] = {reduce_of_one, prod_of_const},
    [OP_REDUCE_MAX] = {reduce_of_one, extreme_of_const},
    [OP_REDUCE_MIN] = {reduce_of_one, extreme_of_const},
    [OP_ARGMAX] = {arg_trivial},
    [OP_ARGMIN] = {arg_trivial},
    [OP_MATMUL] = {matmul_of_transpose, matmul_of_dequantize},
    [OP_QUANTIZED_MATMUL] = {product_of_dequantize},
    [OP_GATHER] = {gather_of_dequantize},
    [OP_MAX_POOL_INDEX] = {index_of_widened},
    [OP_STOP_GRADIENT] = {view_of_const, stop_of_stop},
};

/* A rule for all kinds of a class, tried after those of the kind. */
static FoldRule *const class_rule[CLASS_META + 1] = {[CLASS_ELEMENT] = element_of_moved};

static ValueId first_result(const Fold *f) {
  FoldRule *last = class_rule[op_info[f->kind].cls];
  for (int i = 0; i < MAX_RULES && rules[f->kind][i]; i++) {
    ValueId v = rules[f->kind][i](f);
    if (v != NO_ID) return v;
  }
  return last ? last(f) : NO_ID;
}

ValueId fold_op(const Fold *f) {
  for (int i = 0; i < f->n; i++)
    if (value_at(f->e, f->x[i])->layout) return NO_ID;
  ValueId v = first_result(f);
  if (v != NO_ID && value_type(f->e, v) != f->type)
    gc_bug(f->b->m->ctx, "folding %s gave %s, not %s", op_info[f->kind].name,
           type_str(f->b->m->ctx, value_type(f->e, v)), type_str(f->b->m->ctx, f->type));
  return v;
}
