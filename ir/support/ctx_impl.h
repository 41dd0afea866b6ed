/* The inside of a context, for ctx.c, diag.c and type.c alone. */
#ifndef GC_IR_CTX_IMPL_H
#define GC_IR_CTX_IMPL_H
#include "ir/support/ctx.h"

typedef struct InternTable {
  struct {
    uint32_t hash;
    void *entry;
  } * slot;
  uint32_t n, size; /* size is a power of two */
} InternTable;

typedef bool InternEqual(const void *entry, const void *key);
void **intern_slot(InternTable *t, uint32_t hash, InternEqual *equal, const void *key);
uint32_t hash_bytes(const void *data, size_t n);

typedef struct Source {
  const char *name, *text; /* text is NUL-terminated */
  size_t len;              /* bytes */
  size_t *line;            /* where each begins */
  uint32_t lines;
} Source;

struct Ctx {
  Arena *arena;
  InternTable strings, ints, types, layouts;
  VEC(Source) sources;
  FILE *stream;
  int errors;
  bool muted; /* the last error was not printed: its notes are not either */
  void (*bug_hook)(void *);
  void *bug_data;
};
#endif
