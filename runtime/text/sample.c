/* Sampling: repetition penalty, temperature, top-k, top-p, min-p, in this order; a heap gives as
   many of the likeliest tokens as the bounds need. Contract: see sample.h. Sources: N. S. Keskar
   and others, CTRL, 2019 (the penalty); A. Holtzman and others, The curious case of neural text
   degeneration, 2020 (top-p). */
#include "runtime/text/sample.h"
#include <math.h>
#include <stdlib.h>

typedef struct Choice {
  float logit;
  uint32_t id;
} Choice;

/* Once for each token that was there, however often. */
static void penalise(const Sampling *s, float *logits, uint32_t n, const Ids *seen, Choice *mark) {
  for (uint32_t i = 0; i < n; i++) mark[i].id = 0;
  for (uint64_t i = 0; i < seen->n; i++) {
    uint32_t id = seen->at[i];
    if (id >= n || mark[id].id) continue;
    mark[id].id = 1;
    logits[id] = (float)(logits[id] < 0 ? logits[id] * s->penalty : logits[id] / s->penalty);
  }
}

static uint32_t likeliest(const float *logits, uint32_t n) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < n; i++)
    if (logits[i] > logits[best]) best = i;
  return best;
}

static bool comes_before(Choice a, Choice b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

static void sift(Choice *heap, uint32_t i, uint32_t n) {
  Choice x = heap[i];
  for (uint32_t k; (k = 2 * i + 1) < n; i = k) {
    if (k + 1 < n && comes_before(heap[k + 1], heap[k])) k++;
    if (!comes_before(heap[k], x)) break;
    heap[i] = heap[k];
  }
  heap[i] = x;
}

/* Uniform in [0, 1). */
static double draw(Sampling *s) {
  uint64_t index = s->draws++;
  const uint64_t bits = UINT64_C(1) << 53;
  return (double)philox_below(s->seed, UINT64_C(0x636861740000), &index, bits) / (double)bits;
}

/* The heap's best ones in order, behind its end: as many as top_k, top_p and min_p leave. *sum: of
   their probabilities, as multiples of the best one's. */
static uint32_t keep(const Sampling *s, Choice *heap, uint32_t n, double *sum) {
  double best = heap[0].logit, total = 0, before = 0;
  uint32_t kept = 0, most = s->top_k && s->top_k < n ? (uint32_t)s->top_k : n;
  for (uint32_t i = 0; i < n && most == n; i++)
    total += exp((heap[i].logit - best) / s->temperature);
  for (uint32_t left = n; kept < most; kept++) {
    Choice x = heap[0];
    double p = exp((x.logit - best) / s->temperature);
    if (kept && p < s->min_p) break;
    if (most == n && kept && s->top_p < 1 && before >= s->top_p * total) break;
    heap[0] = heap[--left];
    if (left) sift(heap, 0, left);
    heap[left] = x; /* the kept ones stand at the end, the best one last */
    before += p;
  }
  *sum = before;
  if (most == n || s->top_p >= 1) return kept;
  uint32_t among = kept; /* top_p is of what top_k has left */
  total = 0;
  for (uint32_t i = 0; i < among; i++)
    total += exp((heap[n - 1 - i].logit - best) / s->temperature);
  for (kept = 0, before = 0; kept < among && (!kept || before < s->top_p * total); kept++)
    before += exp((heap[n - 1 - kept].logit - best) / s->temperature);
  *sum = before;
  return kept;
}

bool sample(Sampling *s, float *logits, uint32_t n, const Ids *seen, uint32_t *out) {
  if (!grow(&s->choice, &s->room, (uint64_t)n + 1, sizeof *s->choice)) return false;
  Choice *heap = s->choice;
  double sum;
  if (s->penalty != 1) penalise(s, logits, n, seen, heap);
  *out = likeliest(logits, n);
  if (s->temperature == 0) return true;
  for (uint32_t i = 0; i < n; i++) heap[i] = (Choice){logits[i], i};
  for (uint32_t i = n / 2; i-- > 0;) sift(heap, i, n);
  double best = heap[0].logit;
  uint32_t kept = keep(s, heap, n, &sum);
  double at = draw(s) * sum;
  for (uint32_t i = 0; i < kept; i++) {
    *out = heap[n - 1 - i].id;
    at -= exp((heap[n - 1 - i].logit - best) / s->temperature);
    if (at < 0) break;
  }
  return true;
}

void sampling_free(Sampling *s) {
  free(s->choice);
  s->choice = NULL, s->room = 0;
}
