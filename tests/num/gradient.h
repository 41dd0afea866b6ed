/* A case of the gradient tests: random operands for one op. */
#ifndef GC_TESTS_GRADIENT_H
#define GC_TESTS_GRADIENT_H
#include "tests/unit/rig.h"

enum { ROUNDS = 16 };

typedef struct Case {
  Rig *r;
  uint64_t seed; /* splitmix64 */
  int round;     /* of ROUNDS with this op; whose bits may say what form it has */
  int n;
  Tensor x[8];
  Attr attr[MAX_ATTRS];
  const Type *given;
  const struct Row *row;
} Case;

typedef struct Row {
  void (*make)(Case *c);
  double lo, hi; /* magnitudes of the elements */
} Row;

/* Of every op with a gradient rule. */
extern const Row gradient_rows[OP_KINDS];

/* Another operand of the case; elements of floats are random. */
Tensor *gradient_operand(Case *c, Dtype dt, int rank, const int64_t *dim);
#endif
