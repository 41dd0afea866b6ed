/* Random numbers as a pure function of key and counter: Philox4x32-10.
   Contract: key is two words, low first; counter and result are four; see interp.h for their use.
   Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011). */
#include "ir/eval/interp.h"
#include "ir/support/hash.h"

void philox4x32(uint64_t key, const uint32_t counter[4], uint32_t out[4]) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * x0, p1 = (uint64_t)0xCD9E8D57u * x2;
    x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
    x1 = (uint32_t)p1;
    x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
    x3 = (uint32_t)p0;
    k0 += 0x9E3779B9u; /* the golden ratio */
    k1 += 0xBB67AE85u; /* sqrt(3) - 1 */
  }
  out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
}

uint64_t random_hash(const char *key) { return hash_bytes(HASH_START, key, strlen(key)); }

uint64_t random_key(uint64_t hash, uint64_t draw) {
  uint64_t h = hash + draw * 0x9e3779b97f4a7c15u; /* splitmix64's step, then its finaliser */
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}
