/* Builds ops: one by one, as copies, and an entry anew.
   Contract: operands fit; callers with user input ask op_shape first. */
#ifndef GC_IR_BUILDER_H
#define GC_IR_BUILDER_H
#include "ir/module.h"

/* Appends ops to a block. Pure ops are folded (fold.c) and hash-consed as they are built, so equal
   ops are one op and constants never pile up; with fold = false both are off (-O0, reader). */
struct Builder {
  Module *m;
  Entry *e;
  Block *b;
  Loc loc; /* of the next ops … */
  const char *scope;
  bool backward;
  const char *name; /* wanted name of the next result, cleared by it */
  bool fold;
  struct ConsTable *cons; /* per builder; NULL at first */
  RebuildFn *each;        /* while an entry is rebuilt: also of the ops in the bodies of loops */
  void *data;
};

Builder *builder_new(Entry *e, Block *b); /* in the module's arena */
/* The next ops are appended to the block; hash-consing is within that block. */
void builder_at(Builder *b, Block *block);
/* The next ops get the op's location, scope and direction. */
void builder_like(Builder *b, const Op *op);

/* The general way; of several results the first. attr may be NULL. type: the wanted result, which
   OPF_TYPED ops need and where a pad takes which axes are bounded from; or NULL. A shape that does
   not fit is an internal error here: callers with user input call op_shape first. */
ValueId build(Builder *b, OpKind k, const ValueId *operands, int n, const Attr *attr,
              const Type *type);
/* For ops with several results or blocks: results' types are given, blocks are attached by the
   caller. Never folded or merged. */
Op *build_op(Builder *b, OpKind k, const ValueId *operands, int n, const Attr *attr,
             const Type *const *types, int nresults);
/* The same, with the types that the op's shape rule gives. */
Op *build_several(Builder *b, OpKind k, const ValueId *operands, int n, const Attr *attr);
/* Shape of an op on these operand types; NULL and a reason in why (WHY_BYTES) if they do not fit.
   op_shape_of: of one of several results. */
const Type *op_shape(Ctx *c, OpKind k, const Type *const *types, int n, const Attr *attr,
                     const Type *given, char *why);
const Type *op_shape_of(Ctx *c, OpKind k, int result, const Type *const *types, int n,
                        const Attr *attr, const Type *given, char *why);

ValueId build1(Builder *b, OpKind k, ValueId x);
ValueId build2(Builder *b, OpKind k, ValueId x, ValueId y); /* same shape and dtype */
ValueId build3(Builder *b, OpKind k, ValueId x, ValueId y, ValueId z);
ValueId build_const(Builder *b, const Type *t,
                    double v); /* every element v, rounded to the dtype */
ValueId build_const_int(Builder *b, const Type *t, int64_t v);
ValueId build_convert(Builder *b, ValueId x, Dtype dt);        /* x itself if it is of that dtype */
ValueId build_broadcast(Builder *b, ValueId x, const Type *t); /* numpy's rule; dtype must agree */
/* A reshape between these types moves elements of bounded axes, so that it is no view. */
bool reshape_moves(const Type *from, const Type *to);
ValueId build_reshape(Builder *b, ValueId x, const Type *t);
/* n elements of an axis; zeros before and behind the elements of an axis. */
ValueId build_slice(Builder *b, ValueId x, int axis, int64_t from, int64_t n);
ValueId build_pad(Builder *b, ValueId x, int axis, int64_t before, int64_t behind);
/* Writes a part at a place of a whole that has so many elements along the axis, as type_get takes
   them. The first part, at 0, makes the whole: `whole` is NO_ID, and the rest of it is zeros. */
ValueId build_part(Builder *b, ValueId whole, ValueId part, int axis, int64_t at, int64_t extent);
ValueId build_transpose(Builder *b, ValueId x, const int64_t *perm);
ValueId build_reduce(Builder *b, OpKind k, ValueId x, const int64_t *axes,
                     int n); /* axes dropped */
/* The same, but reduced axes stay with extent 1. */
ValueId build_reduce_keep(Builder *b, OpKind k, ValueId x, const int64_t *axes, int n);
/* Sums x down to type t, the inverse of broadcasting t to x's type. */
ValueId build_unbroadcast(Builder *b, ValueId x, const Type *t);
/* x with zeros, or with this value of its dtype, behind what a run has of a bounded axis, which is
   static then. */
ValueId build_at_bound(Builder *b, ValueId x, int axis);
ValueId build_filled(Builder *b, ValueId x, int axis, Attr value);
/* Along axes that may be bounded: the elements of an axis in the other order; so many elements, as
   type_get takes them, from `from` times the axis' extent on; tensors one after the other, whose
   dims `axis_joined` adds up. */
ValueId build_reversed(Builder *b, ValueId x, int axis);
ValueId build_part_of(Builder *b, ValueId x, int axis, int64_t from, int64_t n);
ValueId build_joined(Builder *b, const ValueId *x, int n, int axis);
/* Bounded columns of y are multiplied at their bound. */
ValueId build_matmul(Builder *b, ValueId x, ValueId y, bool ta, bool tb);
/* The same with the sums in f32 as the result, of half precisions; f32 operands are from tf32 ops.
 */
ValueId build_matmul_narrow(Builder *b, ValueId x, ValueId y, bool ta, bool tb);
/* The scaled_matmul op of these operands, as the quantized_matmul of the left one's floats; `to`:
   its type, to which the result is not yet converted. */
ValueId build_with_left_dequantized(Builder *b, const Op *op, const Type *to, const ValueId *x);
ValueId build_extent(Builder *b, const Extent *x); /* i32[] */
ValueId build_load(Builder *b, int global);
void build_store(Builder *b, int global, ValueId v);
void build_return(Builder *b, const ValueId *v, const char *const *names, int n);
/* The number of outputs; *values and *names (interned), unless these are NULL, in the order of the
   return's operands. */
int entry_outputs(const Entry *e, const ValueId **values, const char *const **names);

/* A constant's value: true and *out if v is a const op. */
bool value_const(const Entry *e, ValueId v, Attr *out);

/* Copies an op of one entry into a builder (same module, perhaps another entry), its operands
   mapped through map[old value] -> new value; sets map for its results; nested blocks are copied
   deeply. Pure single-result ops go through folding and hash-consing. Keeps names, locations and
   scopes. */
void build_copy(Builder *b, const Entry *from, const Op *op, ValueId *map);
/* Rebuilds an entry op by op: `each` may copy the op (build_copy), replace it or leave it out. The
   ops of a loop's body come up one by one while the loop is copied; those of a kernel do not.
   Values and ops are dense again afterwards; dead pure ops are dropped if drop_dead. The entry
   pointer stays. */
void entry_rebuild(Entry *e, RebuildFn *each, void *data, bool fold, bool drop_dead);
/* Copies all ops to new blocks, with ids in the order of the text. A copy of *e from before stays
   valid. */
void entry_copy(Entry *e);

#endif
