/* See map.h. A table doubles when it is half full; an index keeps each item's hash, so that growing
   compares nothing. */
#include "ir/support/map.h"

enum { FIRST_SIZE = 16 };

static MapSlot *slot_of(const Map *m, const void *key) {
  uint32_t i = (uint32_t)hash_word(0, (uintptr_t)key) & (m->size - 1);
  while (m->slot[i].key && m->slot[i].key != key) i = (i + 1) & (m->size - 1);
  return &m->slot[i];
}

bool map_get(const Map *m, const void *key, uint32_t *value) {
  if (!m->size) return false;
  const MapSlot *s = slot_of(m, key);
  if (!s->key) return false;
  *value = s->value;
  return true;
}

void map_put(Arena *a, Map *m, const void *key, uint32_t value) {
  if (m->n >= m->size / 2) {
    Map old = *m;
    m->size = old.size ? old.size * 2 : FIRST_SIZE;
    m->slot = ARENA_ARRAY(a, MapSlot, m->size);
    for (uint32_t i = 0; i < old.size; i++)
      if (old.slot[i].key) *slot_of(m, old.slot[i].key) = old.slot[i];
  }
  MapSlot *s = slot_of(m, key);
  m->n += !s->key;
  *s = (MapSlot){key, value};
}

static void index_grow(Arena *a, HashIndex *x) {
  HashIndex old = *x;
  x->size = old.size ? old.size * 2 : FIRST_SIZE;
  x->slot = arena_alloc(a, sizeof *x->slot * x->size);
  for (uint32_t i = 0; i < old.size; i++) {
    if (!old.slot[i].item) continue;
    uint32_t k = old.slot[i].hash & (x->size - 1);
    while (x->slot[k].item) k = (k + 1) & (x->size - 1);
    x->slot[k] = old.slot[i];
  }
}

uint32_t index_enter(Arena *a, HashIndex *x, uint64_t hash, HashEqual *equal, const void *items,
                     const void *key, uint32_t fresh) {
  if (x->n >= x->size / 2) index_grow(a, x);
  uint32_t h = (uint32_t)hash_word(0, hash), i = h & (x->size - 1);
  for (; x->slot[i].item; i = (i + 1) & (x->size - 1))
    if (x->slot[i].hash == h && equal(items, x->slot[i].item - 1, key)) return x->slot[i].item - 1;
  x->slot[i].hash = h;
  x->slot[i].item = fresh + 1;
  x->n++;
  return fresh;
}
