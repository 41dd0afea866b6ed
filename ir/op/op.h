/* The parts of the op table: shape rules, gradients and evaluations, named by the rows of ops.def
   and defined in the file of the op's kind beside this one; ir/op_table.c puts them together. */
#ifndef GC_IR_OP_OP_H
#define GC_IR_OP_OP_H
#include "ir/eval/interp.h"
#include "ir/ir.h"

#include "ir/op/rules.h" /* made of ops.def: a prototype of each function that a row names */

/* ---- shared by the files of this folder ---- */

/* Writes one line for the user to in->why, after the op's mnemonic and a space; returns NULL. */
const Type *shape_wrong(const ShapeIn *in, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Room for the dims of a result: the caller's own array up to SMALL_RANK, the context's above. */
int64_t *shape_dims(const ShapeIn *in, int64_t small[SMALL_RANK], int rank);
/* NULL, with the overflow as reason, if the dims are more than a type can hold. */
const Type *shape_make(const ShapeIn *in, Dtype dt, int rank, const int64_t *dim);
/* Both operands have one dtype and one shape; otherwise the reason is written. */
bool shape_equal(const ShapeIn *in, int i, int j);
const char *shape_str(const ShapeIn *in, const Type *t); /* type_text */
/* The result's type t, if the last operand, the accumulator, has it, too. */
const Type *shape_accumulator(const ShapeIn *in, const Type *t);
/* Floats, with at least one along the last axis; otherwise the reason is written. */
bool shape_has_rows(const ShapeIn *in, const Type *t);
/* An attribute list; NULL counts as empty. */
static inline int ints_n(const Ints *l) { return l ? l->n : 0; }
/* The result's type, which the op's rule has given at the bounds, with its bounded axes; NULL after
   a reason if the op needs a static extent. */
const Type *shape_bounded(const ShapeIn *in, const Type *y);
/* The number of elements along these axes, i64[]: of a bounded axis at run time. */
ValueId build_count(Builder *b, const Type *t, const int64_t *axes, int n);
/* The list is ascending, without repeats, of axes of a tensor of this rank. */
bool shape_axes(const ShapeIn *in, const Ints *axes, int rank);

/* grad_needs, and the operand is of a float dtype: nothing else has a gradient. */
bool grad_wants(const GradCtx *g, const Op *op, int operand);
ValueId grad_const(GradCtx *g, ValueId like, double k); /* of the type of `like` */
/* v, a reduction over `axes` of a tensor of t's shape, broadcast to that shape; v's dtype stays. */
ValueId build_unreduce(Builder *b, ValueId v, const Type *t, const Ints *axes);
ValueId grad_unreduce(GradCtx *g, ValueId v, const Type *t, const Ints *axes);
/* The sum along the last axis; a value of each row broadcast to all rows of t. */
ValueId grad_sum_last(GradCtx *g, ValueId v);
ValueId grad_over_last(GradCtx *g, ValueId v, const Type *t);

/* An iterator over a tensor's elements in row-major order, with a second offset, base + sum
   index[i] stride[i], into another tensor:
   for (StridedIter w = strided_new(…); strided_more(&w); strided_next(&w)). */
typedef struct StridedIter {
  const Type *type;
  const int64_t *stride; /* elements; may be 0 or negative */
  int64_t *index;
  int64_t from, to; /* offset into the tensor, and into the other */
} StridedIter;
StridedIter strided_new(Arena *a, const Type *t, int64_t base, const int64_t *stride);
static inline bool strided_more(const StridedIter *w) { return w->from < w->type->numel; }
void strided_next(StridedIter *w);
/* Row-major strides of a type, in elements. */
int64_t *row_major_strides(Arena *a, const Type *t);
/* The same of a reduction over `axes` of a t, by the axes of t: 0 for those that are reduced. */
int64_t *reduced_strides(Arena *a, const Type *t, const Type *reduced, const Ints *axes);

#endif
