/* Convolutions of integers that floats hold: sums of their products are exact up to 2^24, as long
   as the convolution is direct. Winograd's method has quarters of them, and so loses two bits. */
#include "passes/layout/layout_impl.h"

#include <math.h>

/* Values that are looked at for one tensor: an expression with more is not that of an integer. */
enum { MOST_STEPS = 64 };

/* What `v` is outside of the kernel whose operand or result it is. */
static ValueId outside(const Entry *e, ValueId v) {
  for (;;) {
    const Value *x = value_at(e, v);
    if (x->def == NO_ID) {
      const Op *kernel = x->block ? x->block->op : NULL;
      if (!kernel || kernel->kind != OP_KERNEL) return v;
      v = kernel->operands[x->index];
    } else {
      const Op *op = op_at(e, x->def);
      if (op->kind != OP_KERNEL) return v;
      const Block *body = op->blocks[0];
      v = op_at(e, body->ops.at[body->ops.n - 1])->operands[x->index];
    }
  }
}

/* Every element is an integer. */
static bool is_whole(const Entry *e, ValueId v, int *steps) {
  v = outside(e, v);
  const Op *op = value_def(e, v);
  if (!op || ++*steps > MOST_STEPS) return false;
  switch ((int)op->kind) {
  case OP_CONVERT: {
    const Dtype from = value_type(e, op->operands[0])->dtype;
    return !dtype_is_float(from) || is_whole(e, op->operands[0], steps);
  }
  case OP_CONST: {
    const double x = op->attr[AT_VALUE].f;
    return !dtype_is_float(value_type(e, v)->dtype) || x == rint(x);
  }
  case OP_ROUND:
  case OP_FLOOR: return true;
  case OP_ADD:
  case OP_SUB:
  case OP_MUL:
  case OP_MIN:
  case OP_MAX:
  case OP_RESHAPE:
  case OP_TRANSPOSE:
  case OP_BROADCAST:
  case OP_SLICE:
  case OP_REVERSE:
  case OP_CONCAT:
  case OP_COPY:
    for (int i = 0; i < op->noperands; i++)
      if (!is_whole(e, op->operands[i], steps)) return false;
    return true;
  }
  return false;
}

bool layout_multiplies_integers(const Entry *e, const Op *conv) {
  int steps = 0;
  return is_whole(e, conv->operands[1], &steps) && is_whole(e, conv->operands[0], &steps);
}
