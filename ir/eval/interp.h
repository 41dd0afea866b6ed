/* The reference interpreter: evaluates any entry; the oracle of numeric tests.
   Contract: every element is a Scalar, f for floats, i for integers and bool. INTERP_F64 computes
   floats in double whatever their dtype (for finite differences); INTERP_DTYPE rounds every result
   to its declared dtype. Element-wise functions come from libm, in double. */
#ifndef GC_IR_INTERP_H
#define GC_IR_INTERP_H
#include "ir/ir.h"

typedef union Scalar {
  double f;
  int64_t i;
} Scalar;

typedef struct Tensor {
  const Type *type;
  Scalar *at; /* row-major, type->numel */
} Tensor;

typedef enum InterpMode { INTERP_F64, INTERP_DTYPE } InterpMode;

typedef struct Interp {
  Module *m;
  Arena *arena; /* globals and results live here */
  InterpMode mode;
  uint64_t seed, step; /* of the random ops */
  Tensor *globals;   /* by index; hypers included; zero until the init entry ran or they are set */
  int rank;          /* this interpreter's number among the ranks of its group */
  int64_t first_row; /* of the batch that it has */
  struct RankGroup *group; /* that it runs in; NULL: it is alone */
  char why[256];           /* after a failed run: "label 12 at row 3 is not below 10" */
} Interp;

Interp *interp_new(Module *m, InterpMode mode, uint64_t seed);
void interp_free(Interp *it);
/* Runs an entry: inputs by position, outputs (as many as it returns) are set to tensors of the
   interpreter's arena. Stores take effect at the end. False and `why` on a fault in the data. */
bool interp_run(Interp *it, const Entry *e, const Tensor *inputs, Tensor *outputs);

/* ---- ranks.c: a data-parallel program on virtual ranks ---- */
/* Runs the entry on n interpreters of one module at the same time, each on a thread of its own;
   inputs and outputs by rank, as interp_run has them. Collectives combine in the order of the
   ranks. False if any failed: its `why` says it, the others' that a rank ended. */
bool interp_run_ranks(Interp *const *it, int n, const Entry *e, const Tensor *const *inputs,
                      Tensor *const *outputs);

/* ---- for eval functions ---- */
struct EvalCtx {
  Interp *it;
  const Entry *e;
  Tensor *value;  /* by value id */
  Tensor *stored; /* by global: its new value, which takes effect at the end; at NULL: none */
  Arena *scratch;
};
Tensor *eval_in(EvalCtx *c, const Op *op, int i);
Tensor *eval_out(EvalCtx *c, const Op *op); /* result 0, allocated */
Tensor *eval_out_of(EvalCtx *c, const Op *op, int result);
/* Rounds a float to y's dtype and stores it; rounds all elements in place. */
void eval_set(EvalCtx *c, Tensor *y, int64_t i, double v);
void eval_round(EvalCtx *c, Tensor *y);
/* Evaluates a nested block's ops, terminator included; its arguments are already bound. */
void eval_block(EvalCtx *c, const Block *b);
/* Waits until every rank of the group is here; the tensors of all, by rank, until ranks_leave.
   NULL: one of them has ended with a fault. */
const Tensor *const *ranks_meet(EvalCtx *c, const Tensor *mine);
void ranks_leave(EvalCtx *c);
int ranks_of(const EvalCtx *c); /* how many there are */
/* A fault of the data: the run ends after this op. The first reason is kept. */
void eval_fault(EvalCtx *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Rounds to nearest even, overflows to infinity; wraps integers; makes bool 0 or 1. */
Scalar scalar_round(Scalar s, Dtype dt, InterpMode mode);
/* An element-wise op of one operand on a number, in f64; the op is defined for floats. */
double element_of_number(OpKind k, double x);

/* Random numbers: Philox4x32-10 (Salmon et al., SC 2011), key = seed ^ random_key(of the op),
   counter = {p, p >> 32, step, step >> 32} with p = position / 4; the word is position % 4.
   Uniform: (w >> 8) 2^-24. Normal: Box-Muller on the pair of words the position falls in, sqrt(-2
   log(((w0 >> 8) + 1) 2^-24)) times cos, or sin for the odd position, of 2 pi (w1 >> 8) 2^-24. */
uint64_t random_hash(const char *key);             /* FNV-1a, 64 bits */
uint64_t random_key(uint64_t hash, uint64_t draw); /* number `draw` of splitmix64 from there */
void philox4x32(uint64_t key, const uint32_t counter[4], uint32_t out[4]);
#endif
