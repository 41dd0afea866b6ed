/* Sizes that come from files and programs: every product and sum of them goes through here.
   Contract: unsigned 64-bit; a function returns false on overflow and leaves *out untouched.
   The runtime is linked into users' programs, so it shares no header with the compiler. */
#ifndef GCRT_CHECKED_H
#define GCRT_CHECKED_H
#include <stdbool.h>
#include <stdint.h>

static inline bool checked_add(uint64_t a, uint64_t b, uint64_t *out) {
  uint64_t r;
  if (__builtin_add_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}

static inline bool checked_mul(uint64_t a, uint64_t b, uint64_t *out) {
  uint64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}

static inline uint64_t align_up(uint64_t a, uint64_t align) {
  return (a + align - 1) & ~(align - 1);
}

static inline uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }
#endif
