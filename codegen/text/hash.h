/* Content hashes (XXH3, 128 bits): two texts of one hash are taken for equal. */
#ifndef GC_CODEGEN_HASH_H
#define GC_CODEGEN_HASH_H
#include <stddef.h>
#include <stdint.h>

typedef struct Hash {
  uint64_t high, low;
} Hash;
Hash hash_of(const void *bytes, size_t n);
/* Of a sequence: each part counts with its end, "ab" "c" is not "a" "bc". */
Hash hash_with_text(Hash before, const char *s);
static inline int hash_compare(Hash a, Hash b) {
  return a.high != b.high ? (a.high < b.high ? -1 : 1)
         : a.low != b.low ? (a.low < b.low ? -1 : 1)
                          : 0;
}
#endif
