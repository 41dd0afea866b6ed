/* Content hashes; see hash.h. */
#include "codegen/text/hash.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static Hash made(XXH128_hash_t h) { return (Hash){h.high64, h.low64}; }

Hash hash_of(const void *bytes, size_t n) { return made(XXH3_128bits(bytes, n)); }

static Hash hash_with(Hash before, const void *bytes, size_t n) {
  Hash pair[2] = {before, hash_of(bytes, n)};
  return hash_of(pair, sizeof pair);
}

Hash hash_with_text(Hash before, const char *s) { return hash_with(before, s, strlen(s)); }
