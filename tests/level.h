/* What tests/run.sh tells the programs of the tests, by the environment.
   GC_TEST_LEVEL: quick, default (also if it is unset) or full.
   GC_TEST_SEED: follows from the commit. Half of all random programs come from fixed seeds and half
   from seeds counted from this one, so that each commit tries programs that nobody has tried; 0, or
   unset: only fixed ones. */
#ifndef TESTS_LEVEL_H
#define TESTS_LEVEL_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
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

/* The seeds of such cases, for those who look for what failed. */
static inline void level_say(uint64_t first, uint64_t n) {
  uint64_t half = (n + 1) / 2;
  printf("seeds %llu to %llu", (unsigned long long)first, (unsigned long long)(first + half - 1));
  if (n > half)
    printf(", and %llu to %llu", (unsigned long long)level_case(first, half, n),
           (unsigned long long)level_case(first, n - 1, n));
  printf("\n");
}

/* A number below n that the text of a case draws; another one on each commit. */
static inline uint64_t level_turn(const char *text, uint64_t n) {
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
  return (hash / 16 + level_seed() / 10000) % n;
}

/* Whether this run of the tests takes a case, known by its text, of which it takes one in n; others
   on each commit, and all at the level full. */
static inline bool level_draws(const char *text, uint64_t n) {
  return level_is_full() || level_turn(text, n) == 0;
}
#endif
