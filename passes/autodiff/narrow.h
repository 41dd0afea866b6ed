/* The narrowing of values of an entry, of which the pass precision and what is saved for the
   backward pass are made. A Narrow is filled by rebuilding: `low` grows as old values are copied.
 */
#ifndef GC_PASSES_NARROW_H
#define GC_PASSES_NARROW_H
#include "passes/autodiff/precision.h"

typedef struct Narrow {
  Precision p;
  const Target *t; /* NULL: none */
  const Entry *old;
  ValueId *low;        /* by old value: narrowed, in the new entry; NO_ID: not yet */
  const Block **where; /* ... of a view: made for the readers in this block; NULL: for all */
  bool *product;       /* by old value: a product reads it, perhaps through views */
  bool *stays;         /* by old value: a sum that keeps the axes which it sums over, as ones */
  bool *again;         /* by old value: the backward pass computes it again; NULL: none */
  int64_t made;
} Narrow;

/* The same numbers, one for one or repeated. */
static inline bool is_view(const Op *op) {
  return op && op_info[op->kind].cls == CLASS_VIEW && op->noperands == 1 && op->kind != OP_PAD &&
         op->kind != OP_COPY;
}

/* The value that these are views of. */
static inline ValueId source_of(const Entry *e, ValueId v) {
  for (const Op *def = value_def(e, v); is_view(def); def = value_def(e, v)) v = def->operands[0];
  return v;
}

static inline bool is_f32(const Entry *e, ValueId v) { return value_type(e, v)->dtype == DT_F32; }

static inline bool is_conv(const Op *op) {
  return op->kind == OP_CONV || op->kind == OP_CONV_INPUT_GRAD || op->kind == OP_CONV_FILTER_GRAD;
}

/* How many operands are narrowed, from the first on: both of a product or convolution; of attention
   in bf16 the queries, keys and values, of its gradient also dy, which precedes them; the left one
   of a product of a quantized matrix, on a target that wants it. 0: none. */
int narrow_operands(const Entry *e, const Op *op, Precision p, const Target *t);
/* The filters of the convolution are a weight, which it rounds on the way: no copy is needed. */
bool narrow_rounds_filters(const Entry *e, const Op *op);

Narrow narrow_new(Arena *a, const Entry *e, Precision p, const Target *t);
/* Of an old f32 value that is mapped. */
ValueId narrow_low(Narrow *n, Builder *b, ValueId v, const ValueId *map);
/* Narrows what is wanted so: the arguments of the block that an op begins, and what the op makes.
 */
void narrow_arguments(Narrow *n, Builder *b, const Op *op, const ValueId *map, const bool *wanted);
void narrow_results(Narrow *n, Builder *b, const Op *op, const ValueId *map, const bool *wanted);
/* Copies an op that reads those of its operands narrowed that `reads` says. */
typedef bool ReadsLow(const void *data, const Op *op, int operand);
void narrow_copy(Narrow *n, Builder *b, const Op *op, ValueId *map, ReadsLow *reads,
                 const void *data);
#endif
