/* Chooses the next token from its logits. Contract: temperature 0 takes the likeliest one, the
   first of equals; else the draw depends on the seed and the number of draws before it alone. */
#ifndef GCRT_SAMPLE_H
#define GCRT_SAMPLE_H
#include "runtime/tokens/vocab.h"

typedef struct Sampling {
  double temperature, top_p, min_p, penalty;
  uint64_t top_k; /* 0: all */
  uint64_t seed;
  uint64_t draws; /* so far */
  struct Choice *choice;
  uint64_t room;
} Sampling;
/* seen: the tokens so far, whose logits the penalty lowers. Changes the logits. */
bool sample(Sampling *s, float *logits, uint32_t n, const Ids *seen, uint32_t *out);
void sampling_free(Sampling *s);
#endif
