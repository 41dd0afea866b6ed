/* Hash-consing, of the builder. */
#ifndef GC_IR_CONS_H
#define GC_IR_CONS_H
#include "ir/ir.h"

struct ConsTable {
  Block *block;            /* whose ops are in the table */
  struct ConsTable *outer; /* of a block around it: still good when the builder comes back */
  uint32_t entered;        /* ops of the block that have been looked at: the first ones */
  HashIndex index;         /* of ops by their ids */
};

/* An op, built or not. */
typedef struct ConsKey {
  OpKind kind;
  const ValueId *x;
  int n;
  const Attr *attr;
  const Type *type; /* of the result */
} ConsKey;

/* Equal ops of this kind may be one. */
bool cons_merges(OpKind k);
/* The table of the builder's block, with every op that has been appended to it by any way. */
struct ConsTable *cons_table(Builder *b);
/* The op that equals the key; `fresh` if there is none: the op that is appended next, which
   `entered` then counts. */
OpId cons_enter(const Builder *b, struct ConsTable *t, const ConsKey *k, OpId fresh);
#endif
