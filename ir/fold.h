/* Folding, as the builder calls it; the rules and their contract stand in fold.c. */
#ifndef GC_IR_FOLD_H
#define GC_IR_FOLD_H
#include "ir.h"

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
#endif
