/* What the parts of the verifier share; see verify.c. */
#ifndef GC_IR_VERIFY_H
#define GC_IR_VERIFY_H
#include "ir.h"

typedef struct Verifier {
  const Module *m;
  const Entry *e;
  const char *after;
  Arena *scratch;  /* of the entry at hand */
  int *depth;      /* by value: 1 + depth of the block that defines it; 0: out of scope */
  bool *placed;    /* by op: seen in a block */
  uint32_t *seen;  /* by global and by kind of access: stamp of the last block that did it */
  uint32_t stamp;  /* of the current block */
  uint32_t stamps; /* the last stamp */
  int block_depth; /* of the current block; the body has 1 */
  int min_depth;   /* of values that may be used here: kernels are isolated from above */
  bool ok, op_failed;
} Verifier;

enum { LOADED, STORED, ACCESSES };

/* Reports the first violation of an op only; gives false. */
__attribute__((format(printf, 3, 4))) bool verify_failed(Verifier *v, const Op *op, const char *fmt,
                                                         ...);
/* The op, or the block where def is NO_ID, is what defines the value, as the value says itself. */
bool verify_definition(Verifier *v, const Op *op, ValueId id, OpId def, uint32_t index);
/* The op by itself is valid: the first rule that fails is reported. */
bool verify_rules(Verifier *v, const Op *op);
#endif
