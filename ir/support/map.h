/* A map from pointers, such as interned names, to numbers.
   Contract: it is empty when zeroed; keys are compared by address and never NULL; nothing is
   removed. Its memory is the arena's. Open addressing, at most half full. */
#ifndef GC_IR_MAP_H
#define GC_IR_MAP_H
#include "ir/support/arena.h"

#include <stdbool.h>

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
#endif
