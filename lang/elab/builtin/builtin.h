/* The handlers of builtins.def. A handler gets its arguments checked against their kinds, in order;
   BuiltinCall.v[i].kind is VAL_NONE for an argument that is optional and not given. */
#ifndef GC_LANG_ELAB_BUILTIN_H
#define GC_LANG_ELAB_BUILTIN_H
#include "lang/elab/elab_impl.h"

/* compute.c */
Handler builtin_elementwise, builtin_where, builtin_clamp, builtin_reduce, builtin_mean,
    builtin_extreme, builtin_arg_extreme, builtin_rows, builtin_pair_op, builtin_unary_op;
/* shape.c */
Handler builtin_reshape, builtin_transpose, builtin_broadcast, builtin_pad, builtin_concat,
    builtin_stack, builtin_split, builtin_reverse, builtin_shape, builtin_dim, builtin_len,
    builtin_list, builtin_pair, builtin_known;
/* conv.c */
Handler builtin_conv, builtin_conv_transpose, builtin_pool, builtin_batch_norm;
/* sequence.c */
Handler builtin_norm, builtin_attention, builtin_dropout;
/* indexing.c */
Handler builtin_dynamic_slice, builtin_dynamic_update, builtin_scatter_add;
/* sort.c */
Handler builtin_cumsum, builtin_take_along, builtin_sort, builtin_topk;
/* x with this axis and the last one exchanged; x itself for the last. */
ValueId swap_last(Elab *e, ValueId x, int64_t axis);
/* einsum.c */
Handler builtin_einsum;
/* creation.c */
Handler builtin_iota, builtin_full, builtin_constant, builtin_one_hot, builtin_causal,
    builtin_uniform, builtin_normal, builtin_bernoulli;
/* ../grad.c */
Handler builtin_grad;
#endif
