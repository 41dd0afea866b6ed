/* A case of the conformance test: one op of one dtype on random operands. */
#ifndef GC_TESTS_CONFORMANCE_H
#define GC_TESTS_CONFORMANCE_H
#include "tests/num/harness.h"

typedef enum Rule {
  EXACT,      /* equal in every bit; NaN is NaN */
  ROUNDED,    /* `limit` units in the last place of the result; subnormal results may be 0 */
  MAGNITUDES, /* `limit` + terms roundings of the same op on magnitudes */
  ROWS        /* `limit` + terms roundings of the operands' largest magnitude */
} Rule;

typedef struct Row Row;
typedef struct Case {
  Ctx *ctx;
  Module *m;
  Builder *b;
  uint64_t seed; /* splitmix64 */
  const Row *row;
  OpKind kind;
  Dtype dt;
  int size;   /* 0: rank 0 or least; 1, 2: small; 3: beyond what one thread does alone; 4: special
                 values */
  bool minus; /* every real element is -0: sums of them are of the sign of the reference's */
  int n;
  Tensor x[8];
  int64_t limit[8]; /* of integer operands that are indices; 0: any value */
  Attr attr[MAX_ATTRS];
  const Type *given;
  int results;
  int64_t terms; /* added up for one element */
  int global;    /* stored and loaded; -1: none */
  Entry *e;
} Case;

struct Row {
  void (*make)(Case *c);
  Rule rule;
  double limit;
  double lo, hi;      /* magnitudes of random elements; 0, 0: 0 to 2 */
  double special_max; /* finite special values above are left out; 0: none are */
};

extern const Row conformance_rows[OP_KINDS];

/* A random element of operand `limit` stands beside: an index below it, or any value if it is 0. */
Scalar conformance_element(Case *c, Dtype dt, int64_t limit);
/* Runs the case's entry by the reference (`wide` computes in f64) and by the program, on one thread
   and on three. False, with a line on the screen, where they differ by more than the row's rule
   allows. */
bool conformance_check(Case *c, Interp *it, Interp *wide, Compiled *p, uint64_t seed);
#endif
