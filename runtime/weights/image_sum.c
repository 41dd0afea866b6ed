/* The sum of an image's bytes, on all threads: it reads all of them at each start. On a machine of
   several nodes a file's page gets memory of the node whose processor reads it first, so each
   thread reads the part of each weight that it will read in products (gcrt.h). Contract: the sum is
   the same for any number of threads. Algorithm: pieces are hashed with the place where they lie,
   and their hashes, which may come in any order, are joined by exclusive or. */
#include "runtime/weights/image_sum.h"
#include <stdatomic.h>
#include <string.h>

enum { PIECE = 1 << 22 };

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

/* Pieces of weights in which no thread's part fills one take turns. */
int image_reader(const GcProgram *p, uint64_t begin, uint64_t bytes, uint64_t i, int nt) {
  const uint64_t threads = (uint64_t)nt, at = begin + bytes / 2;
  for (const GcGlobal *g = p->globals; g < p->globals + p->nglobals; g++)
    if (at >= g->t.offset && at - g->t.offset < g->t.bytes && g->t.bytes / PIECE >= threads)
      return (int)((at - g->t.offset) / (g->t.bytes / threads + 1));
  return (int)(i % threads);
}

typedef struct SumJob {
  const GcProgram *program;
  uint64_t begin, bytes;
  const uint8_t *data;
  bool mapped;
  _Atomic uint64_t sum;
} SumJob;

static void sum_part(void *arg, int t, int nt) {
  SumJob *j = arg;
  uint64_t sum = 0;
  for (uint64_t at = 0, n; at < j->bytes; at += n) {
    n = j->bytes - at < PIECE ? j->bytes - at : PIECE;
    if (image_reader(j->program, j->begin + at, n, at / PIECE, nt) != t) continue;
    sum ^= image_hash(j->begin + at, j->data + at, n);
    if (j->mapped) file_forget(j->data + at, n);
  }
  atomic_fetch_xor(&j->sum, sum);
}

uint64_t image_sum(const ImageOf *of, uint64_t begin, const uint8_t *data, uint64_t bytes,
                   bool mapped) {
  SumJob j = {
      .program = of->program, .begin = begin, .bytes = bytes, .data = data, .mapped = mapped};
  if (of->run && bytes > PIECE)
    of->run(of->threads, sum_part, &j);
  else
    sum_part(&j, 0, 1);
  return j.sum;
}
