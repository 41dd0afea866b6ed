/* Philox4x32-10, a random function of a counter and a key, and unbiased integers drawn from it.
   Contract: pure; the same on every machine and thread. Source: Salmon, Moraes, Dror, Shaw:
   Parallel random numbers: as easy as 1, 2, 3 (SC11); bounded integers after Lemire (2019). */
#include "runtime/base/rt.h"

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0],
           k1 = key[1];
  for (int round = 0; round < 10; round++) {
    uint64_t a = (uint64_t)c0 * 0xD2511F53U, b = (uint64_t)c2 * 0xCD9E8D57U;
    uint32_t n0 = (uint32_t)(b >> 32) ^ c1 ^ k0, n2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)b, c3 = (uint32_t)a, c0 = n0, c2 = n2;
    k0 += 0x9E3779B9U, k1 += 0xBB67AE85U;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

static uint64_t draw(uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream,
                         (uint32_t)(stream >> 32)};
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, out[4];
  philox4x32(counter, key, out);
  return out[0] | (uint64_t)out[1] << 32;
}

uint64_t philox_below(uint64_t seed, uint64_t stream, uint64_t *index, uint64_t bound) {
  uint64_t reject = (0 - bound) % bound; /* 2^64 mod bound low parts would be too frequent */
  for (;;) {
    __uint128_t m = (__uint128_t)draw(seed, stream, (*index)++) * bound;
    if ((uint64_t)m >= reject) return (uint64_t)(m >> 64);
  }
}
