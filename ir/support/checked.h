/* Sizes and offsets: every product, sum and alignment of bytes or dimensions goes through here.
   Contract: values are unsigned 64-bit bytes or non-negative dims; a function returns false on
   overflow and leaves *out untouched, so that the caller reports it; nothing ever wraps. */
#ifndef GC_IR_CHECKED_H
#define GC_IR_CHECKED_H
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

/* Rounds up to a multiple of align, a power of two. */
static inline bool checked_align(uint64_t a, uint64_t align, uint64_t *out) {
  uint64_t r;
  if (!checked_add(a, align - 1, &r)) return false;
  *out = r & ~(align - 1);
  return true;
}
#endif
