/* What tests/run.sh tells the programs of the tests, by the environment.
   GC_TEST_LEVEL: quick, default (also if it is unset) or full.
   GC_TEST_SEED: follows from the commit. Half of all random programs come from fixed seeds and half
   from seeds counted from this one, so that each commit tries programs that nobody has tried; 0, or
   unset: only fixed ones. */
#ifndef TESTS_LEVEL_H
#define TESTS_LEVEL_H
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline bool level_is_full(void) {
  const char *level = getenv("GC_TEST_LEVEL");
  return level && strcmp(level, "full") == 0;
}

static inline uint64_t level_seed(void) {
  const char *seed = getenv("GC_TEST_SEED");
  return seed ? strtoull(seed, NULL, 10) : 0;
}

/* The seed of case i of n, counted from `first`: that itself in the first half, a new one in the
 * second. */
static inline uint64_t level_case(uint64_t first, uint64_t i, uint64_t n) {
  return first + i + (i < (n + 1) / 2 ? 0 : level_seed());
}
#endif
