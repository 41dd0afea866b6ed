/* Random programs: valid modules of any ops, dtypes and shapes, the same for the same seed, on
   which tests compare one way of running a program with another. Contract: nothing is folded or
   merged; every run of every entry succeeds on random_inputs (ids are brought into range by the
   program itself); values may be inf or NaN unless `smooth`. */
#ifndef GC_TESTS_RANDOM_PROGRAM_H
#define GC_TESTS_RANDOM_PROGRAM_H
#include "ir/eval/interp.h"
#include "ir/ir.h"
#include "passes/target.h"

typedef struct RandomOptions {
  int ops;        /* about so many before gradients; 0: 5 to 40 by the seed */
  int64_t numel;  /* elements of a tensor at most; 0: 120 */
  int entries;    /* 0: 1 */
  int late;       /* so many values are read once more at the end, one after the other */
  int trips;      /* of a loop at most; 0: 4 */
  bool recurrent; /* begins with loops and gradients behind them */
  bool attends;   /* attention has every form; begins with some and gradients behind it */
  bool grads;     /* losses and grad ops, grads of grads included */
  bool stores;    /* params and states are updated at the end */
  bool narrow;    /* f16, bf16, i64 and u8, too */
  bool doubles;   /* every float is f64 */
  bool smooth;    /* functions are kept in domains where finite differences mean something; no
                     random op, no stop_gradient */
} RandomOptions;

/* One entry "e0", "e1", …, and init if there are params. Outputs are "o0", "o1", …; loss k is an
   output "loss<k>", its gradient by input i or global i is "d<k>_in<i>" or "d<k>_g<i>", that by the
   i-th operand of its grad op, if that is a value on the way, "d<k>_v<i>". */
Module *random_program(Ctx *c, uint64_t seed, RandomOptions o);
/* Values for the entry's inputs, at small distances from 0. */
Tensor *random_inputs(Arena *a, const Entry *e, uint64_t seed);
/* The bytes that refusals of a memory limit name as the least found, the most of all entries; 0 if
   none does. */
uint64_t random_least(const char *refusals);
/* Whether the errors refuse a memory limit, every one of them, and name a least. */
bool random_refused(const char *errors);
/* The passes of a level, of which remat, where it is one, searches little: programs as small as
   these need no more. */
#define RANDOM_REMAT "remat{effort=2}"
const char *random_pipeline(Arena *a, int level);
uint64_t random_next(uint64_t *state);            /* splitmix64 */
int64_t random_below(uint64_t *state, int64_t n); /* 0 … n-1 */
extern const Target random_target;                /* to plan for: panels, scratch, slack */
#endif
