/* Random recurrences with gradients, whose states are stacked before and after each iteration, and
   slices of all rows but the first or the last. Contract: the same for the same seed. */
#ifndef GC_TESTS_NUM_RANDOM_HISTORY_H
#define GC_TESTS_NUM_RANDOM_HISTORY_H
#include "ir/ir.h"

Module *random_history(Ctx *c, uint64_t seed);
#endif
