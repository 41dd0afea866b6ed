/* The weights of an output that has none in itself. Contract: it is weak, so that an output's own
   ones replace it; a weak symbol that is nowhere defined would not be at NULL for each linker. */
#include "runtime/base/rt.h"

const GcWeights gc_weights __attribute__((weak)) = {NULL, NULL};
