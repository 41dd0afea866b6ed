/* The sum of an image's bytes, which each start reads. Contract: it is the same for any number of
   threads. Algorithm: pieces are hashed with the place where they lie, and their hashes, which may
   come in any order, are joined by exclusive or. */
#include "runtime/weights/image_sum.h"
#include "runtime/weights/image_pieces.h"
#include <stdatomic.h>
#include <string.h>

uint64_t image_hash(uint64_t h, const void *data, uint64_t n) {
  const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
  uint64_t lane[4] = {h, h ^ 1, h ^ 2, h ^ 3}, word[4];
  const uint8_t *p = data;
  for (uint64_t left = n; left; left -= left < 32 ? left : 32, p += 32) {
    if (left < 32) memset(word, 0, sizeof word);
    memcpy(word, p, left < 32 ? left : 32);
    for (int i = 0; i < 4; i++) lane[i] = (lane[i] ^ word[i]) * odd, lane[i] ^= lane[i] >> 32;
  }
  h ^= n;
  for (int i = 0; i < 4; i++) h = (h ^ lane[i]) * odd, h ^= h >> 29;
  return h;
}

typedef struct Sum {
  uint64_t begin;
  const uint8_t *data;
  bool mapped;
  _Atomic uint64_t sum;
} Sum;

static void sum_piece(void *arg, uint64_t at, uint64_t n) {
  Sum *s = arg;
  const uint8_t *data = s->data + (at - s->begin);
  atomic_fetch_xor(&s->sum, image_hash(at, data, n));
  if (s->mapped) file_forget(data, n);
}

uint64_t image_sum(const ImageOf *of, uint64_t begin, const uint8_t *data, uint64_t bytes,
                   bool mapped) {
  Sum s = {.begin = begin, .data = data, .mapped = mapped};
  image_pieces(of, begin, bytes, sum_piece, &s);
  return s.sum;
}
