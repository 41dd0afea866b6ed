/* The memory of failed states of the packing search: which sets of unplaced buffers with which
   least offsets cannot be completed below which capacity.
   Contract: a state is kept whole and compared whole, so what is said to have failed has failed;
   old states are forgotten when the memory is full, which costs time alone. A hash table of
   references into a ring of chunks. */
#include "passes/pack_impl.h"

enum {
  CHUNK_WORDS = 1 << 18, /* 1 MiB */
  CHUNKS = 128,
  FIRST_SLOTS = 1 << 12,
  LAST_SLOTS = 1 << 20,
  HEAD = 2 /* words before a state: its capacity, its buffers */
};

typedef struct Slot {
  uint64_t hash;
  uint32_t chunk; /* counted from 1 over all that were ever filled; 0: the slot is empty */
  uint32_t at;    /* word in the chunk */
} Slot;

struct FailedStates {
  Arena *a;
  uint32_t *chunk[CHUNKS];
  uint32_t filling, used; /* the chunk that is being filled, counted from 1; its words */
  Slot *slot;
  uint64_t mask, kept;
  uint32_t *seen, turn; /* by buffer: the last comparison it took part in */
};

FailedStates *failed_new(Arena *a, int n) {
  FailedStates *f = ARENA_NEW(a, FailedStates);
  f->a = a;
  f->used = CHUNK_WORDS;
  f->mask = FIRST_SLOTS - 1;
  f->slot = ARENA_ARRAY(a, Slot, FIRST_SLOTS);
  f->seen = ARENA_ARRAY(a, uint32_t, n);
  return f;
}

static bool is_kept(const FailedStates *f, const Slot *s) {
  return s->chunk && f->filling - s->chunk < CHUNKS;
}

bool failed_has(FailedStates *f, uint64_t hash, int32_t capacity, const int *o, int k,
                const int32_t *low) {
  const Slot *s = &f->slot[hash & f->mask];
  if (s->hash != hash || !is_kept(f, s)) return false;
  const uint32_t *w = f->chunk[s->chunk % CHUNKS] + s->at;
  if (w[0] != (uint32_t)capacity || w[1] != (uint32_t)k) return false;
  if (++f->turn == 0) return false; /* the stamps went around: no comparison this time */
  for (int a = 0; a < k; a++) f->seen[o[a]] = f->turn;
  w += HEAD;
  for (int a = 0; a < k; a++, w += 2)
    if (f->seen[w[0]] != f->turn || (uint32_t)low[w[0]] != w[1]) return false;
  return true; /* as many buffers, all different: the same set */
}

static void grow(FailedStates *f) {
  const Slot *old = f->slot;
  uint64_t n = f->mask + 1;
  f->mask = 2 * n - 1;
  f->slot = ARENA_ARRAY(f->a, Slot, 2 * n);
  for (uint64_t i = 0; i < n; i++)
    if (old[i].chunk) f->slot[old[i].hash & f->mask] = old[i];
}

void failed_add(FailedStates *f, uint64_t hash, int32_t capacity, const int *o, int k,
                const int32_t *low) {
  uint32_t words = HEAD + 2 * (uint32_t)k;
  if (words > CHUNK_WORDS || f->filling == UINT32_MAX) return;
  if (f->used + words > CHUNK_WORDS) {
    uint32_t **c = &f->chunk[++f->filling % CHUNKS];
    if (!*c) *c = ARENA_ARRAY(f->a, uint32_t, CHUNK_WORDS);
    f->used = 0;
  }
  if (++f->kept > f->mask / 2 && f->mask + 1 < LAST_SLOTS) grow(f);
  uint32_t *w = f->chunk[f->filling % CHUNKS] + f->used;
  f->slot[hash & f->mask] = (Slot){hash, f->filling, f->used};
  f->used += words;
  *w++ = (uint32_t)capacity;
  *w++ = (uint32_t)k;
  for (int a = 0; a < k; a++) {
    *w++ = (uint32_t)o[a];
    *w++ = (uint32_t)low[o[a]];
  }
}
