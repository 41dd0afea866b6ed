/* The inside of a context, for ctx.c, diag.c and type.c alone. */
#ifndef GC_IR_CTX_IMPL_H
#define GC_IR_CTX_IMPL_H
#include "ir/support/ctx.h"
#include "ir/support/map.h"

typedef bool InternEqual(const void *entry, const void *key);
typedef struct InternTable {
  VEC(void *) entries;
  HashIndex index;
} InternTable;

/* The entry that equals the key, or a new one, *entry == NULL, which the caller makes. */
void **intern_entry(Ctx *c, InternTable *t, uint64_t hash, InternEqual *equal, const void *key);

typedef struct Source {
  const char *name, *text; /* text is NUL-terminated */
  size_t len;              /* bytes */
  size_t *line;            /* where each begins */
  uint32_t lines;
} Source;

struct Ctx {
  Arena *arena;
  InternTable strings, ints, types, layouts, extents;
  VEC(Source) sources;
  const void *library; /* the language's own functions, parsed; NULL: not yet */
  FILE *stream;
  DiagnosticSink *sink; /* NULL: to the stream */
  void *sink_data;
  const char *about; /* or NULL */
  int errors;
  bool unwarned; /* warnings are not printed */
  bool muted;    /* the last error or warning was not printed: its notes are not either */
  Map warnings;  /* that were printed, by place and message */
  void (*bug_hook)(void *);
  void *bug_data;
};
#endif
