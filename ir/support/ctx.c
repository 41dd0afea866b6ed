/* The context: string and list interning, source texts; see ctx.h. Diagnostics are in diag.c.
   Interning is open addressing over FNV-1a hashes; tables double at half load. */
#include "ir/support/ctx_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { FIRST_TABLE = 256 };

Ctx *ctx_new(void) {
  Arena *a = arena_new();
  Ctx *c = ARENA_NEW(a, Ctx);
  c->arena = a;
  c->stream = stderr;
  return c;
}

void ctx_free(Ctx *c) {
  if (!c) return;
  free(c->strings.slot);
  free(c->ints.slot);
  free(c->types.slot);
  free(c->layouts.slot);
  arena_free(c->arena);
}

Arena *ctx_arena(Ctx *c) { return c->arena; }

uint32_t hash_bytes(const void *data, size_t n) {
  const unsigned char *p = data;
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 16777619u;
  return h ^ h >> 15;
}

/* The slot that holds an equal entry, or the free slot where it belongs. */
void **intern_slot(InternTable *t, uint32_t hash, InternEqual *equal, const void *key) {
  if (t->n * 2 >= t->size) {
    InternTable old = *t;
    t->size = old.size ? old.size * 2 : FIRST_TABLE;
    t->slot = calloc(t->size, sizeof *t->slot);
    if (!t->slot) exit(3);
    for (uint32_t i = 0; i < old.size; i++) {
      if (!old.slot[i].entry) continue;
      uint32_t j = old.slot[i].hash & (t->size - 1);
      while (t->slot[j].entry) j = (j + 1) & (t->size - 1);
      t->slot[j] = old.slot[i];
    }
    free(old.slot);
  }
  uint32_t j = hash & (t->size - 1);
  while (t->slot[j].entry && !(t->slot[j].hash == hash && equal(t->slot[j].entry, key)))
    j = (j + 1) & (t->size - 1);
  t->slot[j].hash = hash;
  if (!t->slot[j].entry) t->n++;
  return &t->slot[j].entry;
}

typedef struct Span {
  const char *s;
  size_t n;
} Span;

static bool span_equal(const void *entry, const void *key) {
  const Span *k = key;
  return strncmp(entry, k->s, k->n) == 0 && ((const char *)entry)[k->n] == 0;
}

const char *intern_n(Ctx *c, const char *s, size_t n) {
  Span key = {s, n};
  void **slot = intern_slot(&c->strings, hash_bytes(s, n), span_equal, &key);
  if (!*slot) {
    char *copy = arena_alloc(c->arena, n + 1);
    memcpy(copy, s, n);
    *slot = copy;
  }
  return *slot;
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
  key->hash = hash_bytes(key->at, sizeof at[0] * (size_t)n);
  void **slot = intern_slot(&c->ints, key->hash, ints_equal, key);
  if (!*slot) *slot = key;
  return *slot;
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
  FILE *f = fopen(path, "rb");
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
