/* See map.h. Multiplicative hashing: the upper bits of an address times a large odd number. */
#include "ir/support/map.h"

static MapSlot *slot_of(const Map *m, const void *key) {
  uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
  uint32_t i = (uint32_t)(h >> 32) & (m->size - 1);
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
  enum { FIRST_SIZE = 16 };
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
