/* The parts of the op table: shape rules, gradients and evaluations, declared here and defined in
   the file of the op's kind beside this one; ir/op_table.c puts them together with ops.def. */
#ifndef GC_IR_OP_OP_H
#define GC_IR_OP_OP_H
#include "ir/eval/interp.h"
#include "ir/ir.h"

ShapeFn shape_given, shape_iota, shape_random, shape_arith, shape_float, shape_single, shape_logic,
    shape_convert, shape_compare, shape_where, shape_reshape, shape_transpose, shape_broadcast,
    shape_slice, shape_reverse, shape_pad, shape_concat, shape_copy, shape_reduce, shape_arg,
    shape_matmul, shape_gather, shape_gather_grad, shape_one_hot, shape_row, shape_xent,
    shape_xent_grad, shape_norm, shape_norm_grad, shape_conv, shape_conv_input_grad,
    shape_conv_filter_grad, shape_pool, shape_max_pool_index, shape_max_pool_take,
    shape_max_pool_grad, shape_avg_pool_grad, shape_variance, shape_batch_norm, shape_dropout,
    shape_dynamic_update, shape_cumsum, shape_argsort, shape_attention, shape_attention_grad;

GradFn grad_neg, grad_abs, grad_exp, grad_expm1, grad_log, grad_log1p, grad_sqrt, grad_rsqrt,
    grad_sin, grad_cos, grad_tanh, grad_sigmoid, grad_erf, grad_relu, grad_convert, grad_add,
    grad_sub, grad_mul, grad_div, grad_mod, grad_pow, grad_min, grad_max, grad_where,
    grad_relu_grad, grad_sigmoid_grad, grad_tanh_grad, grad_reshape, grad_transpose, grad_broadcast,
    grad_slice, grad_reverse, grad_pad, grad_concat, grad_copy, grad_sum, grad_prod,
    grad_reduce_max, grad_reduce_min, grad_matmul, grad_gather, grad_gather_grad, grad_softmax,
    grad_log_softmax, grad_softmax_grad, grad_log_softmax_grad, grad_xent, grad_xent_grad,
    grad_layer_norm, grad_rms_norm, grad_layer_norm_grad, grad_rms_norm_grad, grad_conv,
    grad_conv_input_grad, grad_conv_filter_grad, grad_max_pool, grad_max_pool_take,
    grad_max_pool_grad, grad_avg_pool, grad_avg_pool_grad, grad_variance, grad_batch_norm,
    grad_scan, grad_dropout, grad_dynamic_update, grad_cumsum, grad_attention, grad_attention_grad;

EvalFn eval_element, eval_const, eval_iota, eval_random, eval_load, eval_store, eval_reshape,
    eval_transpose, eval_broadcast, eval_slice, eval_reverse, eval_pad, eval_concat, eval_copy,
    eval_reduce, eval_arg, eval_matmul, eval_gather, eval_gather_grad, eval_one_hot, eval_softmax,
    eval_log_softmax, eval_softmax_grad, eval_log_softmax_grad, eval_xent, eval_xent_grad,
    eval_norm, eval_norm_grad, eval_kernel, eval_scan, eval_yield, eval_conv, eval_pool,
    eval_variance, eval_batch_norm, eval_dropout, eval_dynamic_update, eval_cumsum, eval_argsort,
    eval_attention, eval_attention_grad;

ExpandFn expand_variance, expand_batch_norm;

/* ---- shared by the files of this folder ---- */

/* Writes one line for the user to in->why, after the op's mnemonic and a space; returns NULL. */
const Type *shape_wrong(const ShapeIn *in, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Room for the dims of a result: the caller's own array up to SMALL_RANK, the context's above. */
enum { SMALL_RANK = 8 };
int64_t *shape_dims(const ShapeIn *in, int64_t small[SMALL_RANK], int rank);
/* NULL, with the overflow as reason, if the dims are more than a type can hold. */
const Type *shape_make(const ShapeIn *in, Dtype dt, int rank, const int64_t *dim);
/* Both operands have one dtype and one shape; otherwise the reason is written. */
bool shape_equal(const ShapeIn *in, int i, int j);
const char *shape_str(const ShapeIn *in, const Type *t); /* type_str */
/* The result's type t, if the last operand, what has been added up so far, has it, too. */
const Type *shape_start(const ShapeIn *in, const Type *t);
/* Floats, with at least one along the last axis; otherwise the reason is written. */
bool shape_has_rows(const ShapeIn *in, const Type *t);
/* An attribute list; NULL counts as empty. */
static inline int ints_n(const Ints *l) { return l ? l->n : 0; }
/* The list is ascending, without repeats, of axes of a tensor of this rank. */
bool shape_axes(const ShapeIn *in, const Ints *axes, int rank);

/* grad_needs, and the operand is of a float dtype: nothing else has a gradient. */
bool grad_wants(const GradCtx *g, const Op *op, int operand);
ValueId grad_const(GradCtx *g, ValueId like, double k); /* of the type of `like` */
/* Puts back the axes that a reduction of a t dropped and repeats v along them. */
ValueId grad_spread(GradCtx *g, ValueId v, const Type *t, const Ints *axes);

/* Visits a tensor's elements in row-major order and keeps a second offset, base + sum index[i]
   stride[i], into another tensor. for (Walk w = walk_new(…); walk_more(&w); walk_next(&w)). */
typedef struct Walk {
  const Type *type;
  const int64_t *stride; /* elements; may be 0 or negative */
  int64_t *index;
  int64_t from, to; /* position in the walked tensor; the offset into the other */
} Walk;
Walk walk_new(Arena *a, const Type *t, int64_t base, const int64_t *stride);
static inline bool walk_more(const Walk *w) { return w->from < w->type->numel; }
void walk_next(Walk *w);
/* Row-major strides of a type, in elements. */
int64_t *walk_strides(Arena *a, const Type *t);

#endif
