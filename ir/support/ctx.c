/* The context: string and list interning, source texts; see ctx.h. Diagnostics are in diag.c.
   An interned thing is an entry of a table; an index finds it by its content. */
#include "ir/support/ctx_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

Ctx *ctx_new(void) {
  Arena *a = arena_new();
  Ctx *c = ARENA_NEW(a, Ctx);
  c->arena = a;
  c->stream = stderr;
  return c;
}

void ctx_free(Ctx *c) {
  if (c) arena_free(c->arena);
}

Arena *ctx_arena(Ctx *c) { return c->arena; }

const void *ctx_library(const Ctx *c) { return c->library; }

void ctx_keep_library(Ctx *c, const void *library) { c->library = library; }

typedef struct InternKey {
  InternEqual *equal;
  const void *key;
} InternKey;

static bool entry_equal(const void *table, uint32_t i, const void *key) {
  const InternTable *t = table;
  const InternKey *k = key;
  return k->equal(t->entries.at[i], k->key);
}

void **intern_entry(Ctx *c, InternTable *t, uint64_t hash, InternEqual *equal, const void *key) {
  uint32_t i = index_enter(c->arena, &t->index, hash, entry_equal, t, &(InternKey){equal, key},
                           t->entries.n);
  if (i == t->entries.n) vec_push(c->arena, &t->entries, NULL);
  return &t->entries.at[i];
}

typedef struct Bytes {
  const char *s;
  size_t n;
} Bytes;

static bool string_equal(const void *entry, const void *key) {
  const Bytes *k = key;
  return strncmp(entry, k->s, k->n) == 0 && ((const char *)entry)[k->n] == 0;
}

const char *intern_n(Ctx *c, const char *s, size_t n) {
  Bytes key = {s, n};
  void **entry = intern_entry(c, &c->strings, hash_bytes(HASH_START, s, n), string_equal, &key);
  if (!*entry) {
    char *copy = arena_alloc(c->arena, n + 1);
    memcpy(copy, s, n);
    *entry = copy;
  }
  return *entry;
}

const char *intern(Ctx *c, const char *s) { return intern_n(c, s, strlen(s)); }

const char *intern_printf(Ctx *c, const char *fmt, ...) {
  char small[256];
  va_list args, again;
  va_start(args, fmt);
  va_copy(again, args);
  int n = vsnprintf(small, sizeof small, fmt, args);
  va_end(args);
  char *text = small;
  if ((size_t)n >= sizeof small) {
    text = arena_alloc(c->arena, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, again);
  }
  va_end(again);
  return intern_n(c, text, (size_t)n);
}

static bool ints_equal(const void *entry, const void *key) {
  const Ints *a = entry, *b = key;
  return a->n == b->n && memcmp(a->at, b->at, sizeof a->at[0] * (size_t)a->n) == 0;
}

const Ints *intern_ints(Ctx *c, const int64_t *at, int n) {
  size_t bytes = sizeof(Ints) + sizeof at[0] * (size_t)n;
  Ints *key = arena_alloc(c->arena, bytes);
  key->n = n;
  if (n) memcpy(key->at, at, sizeof at[0] * (size_t)n);
  uint64_t hash = hash_bytes(HASH_START, key->at, sizeof at[0] * (size_t)n);
  void **entry = intern_entry(c, &c->ints, hash, ints_equal, key);
  if (!*entry) *entry = key;
  return *entry;
}

uint16_t ctx_add_source(Ctx *c, const char *name, const char *text, size_t len) {
  Source s = {.name = intern(c, name), .len = len};
  char *copy = arena_alloc(c->arena, len + 1);
  memcpy(copy, text, len);
  s.text = copy;
  s.lines = 1;
  for (size_t i = 0; i < len; i++) s.lines += text[i] == '\n';
  s.line = ARENA_ARRAY(c->arena, size_t, s.lines);
  for (size_t i = 0, line = 1; i < len; i++)
    if (text[i] == '\n') s.line[line++] = i + 1;
  vec_push(c->arena, &c->sources, s);
  return (uint16_t)(c->sources.n - 1);
}

static char *read_whole(const char *path, size_t *len) {
  FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  if (!f) return NULL;
  struct stat st;
  size_t cap = fstat(fileno(f), &st) == 0 && st.st_size > 0 ? (size_t)st.st_size + 1 : 1 << 16;
  char *text = malloc(cap);
  for (*len = 0; text;) {
    *len += fread(text + *len, 1, cap - *len, f);
    if (*len < cap) break;
    char *more = realloc(text, cap *= 2);
    if (!more) free(text);
    text = more;
  }
  int error = !text ? ENOMEM : ferror(f) ? errno : 0;
  fclose(f);
  if (!error) return text;
  free(text);
  errno = error;
  return NULL;
}

bool ctx_read_source(Ctx *c, const char *path, uint16_t *file) {
  size_t len;
  char *text = read_whole(path, &len);
  if (!text) return false;
  *file = ctx_add_source(c, path, text, len);
  free(text);
  return true;
}

const char *ctx_source_name(const Ctx *c, uint16_t file) {
  return file < c->sources.n ? c->sources.at[file].name : "<none>";
}

const char *ctx_source_text(const Ctx *c, uint16_t file, size_t *len) {
  if (file >= c->sources.n) return NULL;
  *len = c->sources.at[file].len;
  return c->sources.at[file].text;
}

const char *ctx_source_line(const Ctx *c, Loc loc, size_t *len) {
  if (loc.file >= c->sources.n || loc.line == 0 || loc.line > c->sources.at[loc.file].lines)
    return NULL;
  const Source *s = &c->sources.at[loc.file];
  size_t from = s->line[loc.line - 1];
  *len = (loc.line < s->lines ? s->line[loc.line] - 1 : s->len) - from;
  return s->text + from;
}

int ctx_source_count(const Ctx *c) { return (int)c->sources.n; }
