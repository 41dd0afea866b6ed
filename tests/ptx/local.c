/* A thread's local memory. The words of a warp's lanes lie side by side, word by word, since loops
 * over a thread's array have one address in all lanes: such an access is a copy of whole vectors.
 * Which bytes have been written is kept by byte, as lanes. */
#include "exec.h"
#include <stdlib.h>

bool local_start(Warp *w) {
  const size_t n = (w->x->k->local + 3) & ~(size_t)3;
  w->local = calloc(n / 4 + 1, LANES * sizeof *w->local);
  w->local_init = calloc(n + 1, sizeof *w->local_init);
  return w->local && w->local_init;
}

void local_cta(Warp *w) { memset(w->local_init, 0, w->x->k->local * sizeof *w->local_init); }

void local_free(Warp *w) {
  free(w->local);
  free(w->local_init);
}

static uint32_t *word_of(const Warp *w, uint64_t at) { return w->local + at / 4 * LANES; }

static char *byte_of(const Warp *w, int lane, uint64_t at) {
  return (char *)&word_of(w, at)[lane] + at % 4;
}

/* ---- one lane ---- */
bool local_read(const Warp *w, int lane, uint64_t at, size_t size, char *to) {
  uint32_t known = ~0u;
  for (size_t i = 0; i < size; i++) known &= w->local_init[at + i];
  if (size % 4 == 0)
    for (size_t i = 0; i < size; i += 4) memcpy(to + i, byte_of(w, lane, at + i), 4);
  else
    for (size_t i = 0; i < size; i++) to[i] = *byte_of(w, lane, at + i);
  return known >> lane & 1;
}

void local_write(Warp *w, int lane, uint64_t at, size_t size, const char *value, bool known) {
  for (size_t i = 0; i < size; i++) {
    *byte_of(w, lane, at + i) = value[i];
    w->local_init[at + i] &= ~(1u << lane);
    w->local_init[at + i] |= (uint32_t)known << lane;
  }
}

/* ---- all lanes, in whole words ---- */

/* Where all lanes have the same aligned address within their memory. */
static bool together(const Warp *w, const Opd *addr, uint32_t mask, size_t size, uint64_t *at) {
  const size_t n = w->x->k->local;
  uint64_t differ = 0;
  if (addr->cls != SLOT_64) return false;
  const uint64_t *from = slot64(w, addr), one = from[__builtin_ctz(mask)];
  if (mask == ~0u)
    for (int l = 0; l < LANES; l++) differ |= from[l] ^ one;
  else
    for (int l = 0; l < LANES; l++) differ |= mask >> l & 1 ? from[l] ^ one : 0;
  *at = one + (uint64_t)addr->offset;
  return !differ && !(*at & (size - 1)) && size <= n && *at <= n - size;
}

static void copy_words(uint32_t *to, const uint32_t *from, uint32_t mask) {
  if (mask == ~0u)
    memcpy(to, from, LANES * sizeof *to);
  else
    for (int l = 0; l < LANES; l++) to[l] = mask >> l & 1 ? from[l] : to[l];
}

bool local_load(Warp *w, const Ins *i, uint32_t mask) {
  const unsigned n = i->vec;
  uint64_t at;
  uint32_t known = ~0u;
  if (!together(w, &i->opd[n], mask, 4 * (size_t)n, &at)) return false;
  for (size_t b = 0; b < 4 * n; b++) known &= w->local_init[at + b];
  for (unsigned v = 0; v < n; v++) {
    if (i->opd[v].cls == SLOT_32) copy_words(slot32(w, &i->opd[v]), word_of(w, at + 4 * v), mask);
    opd_define(w, &i->opd[v], mask, known);
  }
  return true;
}

bool local_store(Warp *w, const Ins *i, uint32_t mask, uint32_t known) {
  const unsigned n = i->vec;
  uint64_t at;
  if (!together(w, &i->opd[0], mask, 4 * (size_t)n, &at)) return false;
  for (unsigned v = 0; v < n; v++)
    copy_words(word_of(w, at + 4 * v), slot32(w, &i->opd[1 + v]), mask);
  for (size_t b = 0; b < 4 * n; b++)
    w->local_init[at + b] = (w->local_init[at + b] & ~mask) | (known & mask);
  return true;
}
