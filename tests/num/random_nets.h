/* Random small nets with gradients that have what only nets have and passes look for: rows of a
   table under a product, wide logits of which a loss is left, images that are concatenated,
   convolved and pooled. Contract: the same for the same seed. */
#ifndef GC_TESTS_NUM_RANDOM_NETS_H
#define GC_TESTS_NUM_RANDOM_NETS_H
#include "ir/ir.h"

Module *random_net(Ctx *c, uint64_t seed);
#endif
