/* The forms of kernels: the shapes of a fused group on which the pass that fuses and the targets
   that print agree. A raw op outside a group has a form of its own, so both go through one door.
   Contract: the forms are about shapes only; no target is named here. */
#ifndef GC_PASSES_KERNEL_FORM_H
#define GC_PASSES_KERNEL_FORM_H
#include "ir/ir.h"

typedef enum Form {
  FORM_NONE, /* no launch: load, store, return, yield, an alias */
  FORM_MAP,  /* every yield has the domain's shape; each element is computed alone, from elements of
                the inputs at positions that are a function of its own */
  FORM_ROWS, /* domain [outer…, C]: element-wise at full and at row level [outer…], reductions over
                C */
  FORM_COLS, /* one reduction over leading axes [R…, kept…], element-wise before it on the full
                shape and after it on the kept shape */
  FORM_REDUCE, /* a reduction over any axes, element-wise before it; after it on the kept shape */
  FORM_MATMUL, /* one matmul and element-wise work on its result's shape, and on one other shape
                  that a reshape gives it with the last axis kept */
  FORM_WINDOW, /* a convolution or a pool, and element-wise work on its result's shape */
  FORM_ATTENTION, /* attention or its gradient, alone or with views of its operands, and with
                     transposes of its results and their concatenation: strided_view.h */
  FORM_UPDATE,    /* a dynamic_update and the element-wise work on what it writes, perhaps behind
                     reshapes; the domain is that of the work */
  FORM_SINGLE     /* an op that stands alone: concat, pad, gather_grad, … */
} Form;

/* The group an op is: the members in order, the inner values that stand for its operands, and the
   inner values that are its results. For a raw op the inner values are the entry's own. */
typedef struct Group {
  const Entry *e;
  const Op *op; /* in the entry's body: what is launched */
  Form form;
  int nops;
  const Op *const *ops; /* without the yield */
  int nin, nout;
  const ValueId *in, *out;    /* operands and results of op, of the entry */
  const ValueId *arg, *yield; /* the same, as the members name them */
  const Type *domain;         /* shape of the loops: see Form; dtype is of no meaning */
  const Type *matrix; /* MATMUL: the product's own shape, if members have another; else NULL */
  const Op *
      root; /* the matmul, the window op, the reduction, or the lone op; NULL where there is none */
} Group;

/* In the arena given. An op without a launch has FORM_NONE and no members. */
Group *group_of(Arena *a, const Entry *e, const Op *op);
const char *form_name(Form f);
/* First argument of the group that is inner value v, or -1. */
int group_arg(const Group *g, ValueId v);

/* Where an axis of a value is read: start + step * coordinate; coord < 0: start alone. What the
   coordinates are is the caller's affair. */
typedef struct Axis {
  int coord;
  int64_t start, step;
} Axis;
/* Each axis at the coordinate of its number; axes of extent 1 at 0. In the arena. */
const Axis *axes_identity(Arena *a, const Type *t);
/* Where a view's operand is read when its result is read at map; NULL if the op is not a view that
   reads one element for one: pad, concat, or a reshape that does more than add or drop extents
   of 1. */
const Axis *axes_through(Arena *a, const Entry *e, const Op *op, const Axis *map);

/* Same elements in the same row-major order, and the last axis is the same: [M, N] and [B, T, N].
 */
bool type_same_rows(const Type *a, const Type *b);
/* f32 of a half precision: a load could as well do it. */
bool op_is_widening(const Entry *e, const Op *op);
/* The op decides the form of its group and reads its operands whole, from memory: a product, a
   convolution, a pool. */
bool op_reads_memory(const Op *op);
/* A reduction, or an op along rows. */
bool op_is_reduction(const Op *op);
static inline bool op_is_norm(const Op *op) {
  return op->kind == OP_LAYER_NORM || op->kind == OP_RMS_NORM;
}
static inline bool op_is_norm_grad(const Op *op) {
  return op->kind == OP_LAYER_NORM_GRAD || op->kind == OP_RMS_NORM_GRAD;
}
/* The operand of such an op that has the full shape. */
int op_full_operand(const Op *op);
/* A ROWS of one float sum of images over their rows and columns, with element-wise work on sums
   alone: it can be computed pixel by pixel, channels side by side, in the same order. */
bool group_sums_images(const Group *g);
/* Axes before these, if these are the last ones (of extents other than 1); else -1. */
int axes_before(const Type *t, const Ints *axes);
/* The same of the axes that the op reduces. */
int op_outer_axes(const Entry *e, const Op *op);
/* A scalar of extents and constants alone, of few ops, as a count of elements is. Groups that read
   it compute it themselves: as a member of one it would keep others from being one with what comes
   before that. */
bool op_is_count(const Entry *e, const Op *op);
/* The same of a function of extents that may be those of all ranks' rows together. */
bool op_is_count_of_ranks(const Entry *e, const Op *op);
#endif
