/* Hashes of bytes (FNV-1a, 64 bits) and of words. A hash continues from the one before; the first
   continues from HASH_START. Files and random streams hold hashes of bytes, so these never change.
 */
#ifndef GC_IR_HASH_H
#define GC_IR_HASH_H
#include <stddef.h>
#include <stdint.h>

static const uint64_t HASH_START = UINT64_C(0xcbf29ce484222325);

static inline uint64_t hash_bytes(uint64_t h, const void *data, size_t n) {
  const unsigned char *p = data;
  for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
  return h;
}

/* Faster than by bytes; its upper bits are the better ones. */
static inline uint64_t hash_word(uint64_t h, uint64_t word) {
  h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 32;
}
#endif
