/* A binary heap over an array of any items: at[0] is one that no other comes before. Contract:
   `before` is a strict weak order; which of several equal items comes first is the same on every
   machine. */
#ifndef GC_HEAP_H
#define GC_HEAP_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef bool HeapOrder(const void *a, const void *b); /* a comes before b */

/* Moves the last of n items up; the items before it are a heap. */
static inline void heap_pushed(void *items, uint32_t n, size_t size, HeapOrder *before) {
  char *at = items;
  char x[64];
  uint32_t i = n - 1;
  memcpy(x, at + i * size, size);
  for (; i && before(x, at + (i - 1) / 2 * size); i = (i - 1) / 2)
    memcpy(at + i * size, at + (i - 1) / 2 * size, size);
  memcpy(at + i * size, x, size);
}

/* Takes the first of n items away: the n - 1 others are a heap. */
static inline void heap_popped(void *items, uint32_t n, size_t size, HeapOrder *before) {
  char *at = items;
  const char *last = at + (n - 1) * size;
  char x[64];
  uint32_t i = 0;
  memcpy(x, last, size);
  n--;
  for (uint32_t c = 1; c < n; c = 2 * i + 1) {
    if (c + 1 < n && before(at + (c + 1) * size, at + c * size)) c++;
    if (!before(at + c * size, x)) break;
    memcpy(at + i * size, at + c * size, size);
    i = c;
  }
  if (n) memcpy(at + i * size, x, size);
}

/* The same of a VEC; items are at most 64 bytes. */
#define HEAP_PUSH(arena, heap, before, ...)                                                        \
  do {                                                                                             \
    _Static_assert(sizeof *(heap)->at <= 64, "an item of a heap is small");                        \
    vec_push(arena, heap, __VA_ARGS__);                                                            \
    heap_pushed((heap)->at, (heap)->n, sizeof *(heap)->at, before);                                \
  } while (0)
#define HEAP_POP(heap, before)                                                                     \
  do {                                                                                             \
    heap_popped((heap)->at, (heap)->n, sizeof *(heap)->at, before);                                \
    (heap)->n--;                                                                                   \
  } while (0)
#endif
