/* A bump arena in chunks that double up to 1 MiB; see arena.h for the contract.
   Under AddressSanitizer a freed arena's chunks are really freed, so stale pointers are found. */
#include "ir/support/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CHUNK = 4096, LAST_CHUNK = 1 << 20, ALIGN = 16 };

typedef struct Chunk {
  struct Chunk *next;
  size_t used, size; /* bytes, of the data behind this head */
  _Alignas(ALIGN) unsigned char data[];
} Chunk;

struct Arena {
  Chunk *chunks; /* newest first */
};

void out_of_memory(void) {
  fputs("gc: error: out of memory\n", stderr);
  exit(3);
}

static void *system_alloc(size_t bytes) {
  void *p = calloc(1, bytes);
  if (!p) out_of_memory();
  return p;
}

Arena *arena_new(void) { return system_alloc(sizeof(Arena)); }

void arena_free(Arena *a) {
  if (!a) return;
  for (Chunk *c = a->chunks, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  free(a);
}

void *arena_alloc(Arena *a, size_t bytes) {
  size_t need = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  Chunk *c = a->chunks;
  if (!c || c->size - c->used < need) {
    size_t size = c ? c->size * 2 : FIRST_CHUNK;
    if (size > LAST_CHUNK) size = LAST_CHUNK;
    if (size < need) size = need;
    c = system_alloc(sizeof(Chunk) + size);
    c->size = size;
    c->next = a->chunks;
    a->chunks = c;
  }
  void *p = c->data + c->used;
  c->used += need;
  return p;
}

void *arena_grow(Arena *a, const void *old, uint32_t n, uint32_t *cap, size_t size) {
  uint32_t grown = *cap ? *cap * 2 : 8;
  void *p = arena_alloc(a, size * grown);
  if (n) memcpy(p, old, size * n);
  *cap = grown;
  return p;
}

char *arena_strdup(Arena *a, const char *s) {
  size_t n = strlen(s) + 1;
  return memcpy(arena_alloc(a, n), s, n);
}

/* Printed into what is left of the chunk; where it does not fit there, nothing comes there any
 * more.
 */
char *arena_printf(Arena *a, const char *fmt, ...) {
  const Chunk *c = a->chunks;
  const size_t left = c ? c->size - c->used : 0;
  va_list args, again;
  va_start(args, fmt);
  va_copy(again, args);
  const int n = vsnprintf(left ? (char *)c->data + c->used : NULL, left, fmt, args);
  va_end(args);
  char *p = arena_alloc(a, (size_t)n + 1);
  if ((size_t)n >= left) vsnprintf(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return p;
}
