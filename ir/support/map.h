/* Hash tables: a map from addresses or ids to numbers, and an index of items by their content.
   Contract: a table is empty when zeroed; nothing is removed; its memory is the arena's. Open
   addressing, at most half full. */
#ifndef GC_IR_MAP_H
#define GC_IR_MAP_H
#include "ir/support/arena.h"
#include "ir/support/hash.h"

#include <stdbool.h>

/* ---- map: keys are compared by address and never NULL ---- */

typedef struct MapSlot {
  const void *key;
  uint32_t value;
} MapSlot;

typedef struct Map {
  MapSlot *slot;
  uint32_t n, size; /* size: 0 or a power of two */
} Map;

bool map_get(const Map *m, const void *key, uint32_t *value); /* false: key is not there */
void map_put(Arena *a, Map *m, const void *key, uint32_t value);

/* The key of an id. */
static inline const void *map_id(uint32_t id) { return (const void *)((uintptr_t)id + 1); }

/* ---- index: items are numbered by their owner, who compares them ---- */

typedef struct HashIndex {
  struct {
    uint32_t hash;
    uint32_t item; /* its number + 1; 0: free */
  } * slot;
  uint32_t n, size; /* size: 0 or a power of two */
} HashIndex;

typedef bool HashEqual(const void *items, uint32_t item, const void *key);

/* The item that equals the key. If there is none, the key's item is entered with the number
   `fresh`, which is returned: the caller makes it. */
uint32_t index_enter(Arena *a, HashIndex *x, uint64_t hash, HashEqual *equal, const void *items,
                     const void *key, uint32_t fresh);
#endif
