/* Compiled files by the content that they were made from, in the user's cache folder.
   Contract: a failure of the cache is never an error of gc: what cannot be read is compiled, and
   what cannot be kept is not. Several gc may use it at the same time. A damaged entry is removed.
 */
#ifndef GC_CODEGEN_CACHE_H
#define GC_CODEGEN_CACHE_H
#include "codegen/text/hash.h"

#include <stdbool.h>

typedef struct Cache {
  const char *dir; /* NULL: there is none */
  uint64_t limit;  /* bytes; beyond it the entries go that were not used for the longest time */
} Cache;

/* $XDG_CACHE_HOME/gc or ~/.cache/gc, made if there is none; path: CACHE_PATH bytes. */
enum { CACHE_PATH = 4096 };
Cache cache_open(char *path);
/* The entry's content, to be freed, and its size; NULL where there is none. */
void *cache_read(const Cache *c, Hash key, size_t *n);
void cache_keep(const Cache *c, Hash key, const void *bytes, size_t n);
/* Writes the entry's content to the file; false where there is none. */
bool cache_get(const Cache *c, Hash key, const char *file);
/* Keeps the content of the file. */
void cache_put(const Cache *c, Hash key, const char *file);
/* Removes the entries beyond the limit, and what killed runs left. */
void cache_trim(const Cache *c);
#endif
