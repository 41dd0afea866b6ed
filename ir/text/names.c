/* Unique names of values: the user's name where there is one, digits elsewhere, a suffix on a
   clash. Contract: a value's text is stable while the names of the values before it are; value_str
   keeps what it found in Entry.names and starts again when a name was changed under it. A hash
   table from interned name to its next suffix; each new name costs amortised O(1). */
#include "ir/text/names.h"
#include "ir/support/ctx_impl.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct NameSlot {
  const char *name; /* interned; NULL: free */
  uint32_t next;    /* suffix to try when the name is wanted again */
} NameSlot;

struct Names {
  Ctx *c;
  Arena *arena;
  NameSlot *slot;
  uint32_t n, size; /* size is a power of two */
  /* of value_str: by value id, the text and the name that it was made for */
  VEC(const char *) text;
  VEC(const char *) made_for;
};

Names *names_new(Ctx *c, Arena *a) {
  Names *n = ARENA_NEW(a, Names);
  n->c = c;
  n->arena = a;
  return n;
}

static uint32_t pointer_hash(const char *p) {
  return (uint32_t)(((uint64_t)(uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static NameSlot *name_slot(const Names *n, const char *name) {
  uint32_t i = pointer_hash(name) & (n->size - 1);
  while (n->slot[i].name && n->slot[i].name != name) i = (i + 1) & (n->size - 1);
  return &n->slot[i];
}

static void make_room(Names *n) {
  enum { FIRST_SIZE = 64 };
  if (n->n * 2 < n->size) return;
  NameSlot *old = n->slot;
  uint32_t size = n->size;
  n->size = size ? size * 2 : FIRST_SIZE;
  n->slot = ARENA_ARRAY(n->arena, NameSlot, n->size);
  for (uint32_t i = 0; i < size; i++)
    if (old[i].name) *name_slot(n, old[i].name) = old[i];
}

const char *names_peek(Names *n, const char *base) {
  make_room(n);
  base = intern(n->c, base);
  NameSlot *s = name_slot(n, base);
  if (!s->name) return base;
  for (;; s->next++) { /* what was taken stays taken, so the search never goes back */
    const char *name = intern_printf(n->c, "%s.%u", base, s->next);
    if (!name_slot(n, name)->name) return name;
  }
}

const char *names_take(Names *n, const char *base) {
  const char *name = names_peek(n, base);
  *name_slot(n, name) = (NameSlot){name, 1};
  n->n++;
  return name;
}

const char *names_of_id(Ctx *c, ValueId v) { return intern_printf(c, "%u", v); }

/* ---- writing ---- */

bool names_is_plain(const char *s) {
  if (!*s) return false;
  for (; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_' && *s != '.') return false;
  return true;
}

void names_print_string(FILE *f, const char *s) {
  fputc('"', f);
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      fprintf(f, "\\%c", c);
    else if (c == '\n')
      fputs("\\n", f);
    else if (c < 32 || c == 127)
      fprintf(f, "\\x%02x", c);
    else
      fputc(c, f);
  }
  fputc('"', f);
}

void names_print(FILE *f, char sigil, const char *name) {
  fputc(sigil, f);
  if (names_is_plain(name))
    fputs(name, f);
  else
    names_print_string(f, name);
}

/* ---- names on demand ---- */

static const char *with_sigil(Ctx *c, const char *name) {
  if (names_is_plain(name)) return intern_printf(c, "%%%s", name);
  char *text = NULL;
  size_t len;
  FILE *f = open_memstream(&text, &len);
  if (!f) gc_bug(c, "out of memory for a name of %zu bytes", strlen(name));
  names_print(f, '%', name);
  fclose(f);
  const char *s = intern_n(c, text, len);
  free(text);
  return s;
}

const char *value_str(const Entry *e, ValueId v) {
  Ctx *c = e->module->ctx;
  if (v >= e->values.n) return intern_printf(c, "%%<%u of %u>", v, e->values.n);
  Names *n = e->names;
  if (!n || (v < n->made_for.n && n->made_for.at[v] != value_at(e, v)->name))
    n = ((Entry *)e)->names = names_new(c, e->module->arena);
  while (n->text.n <= v) {
    const char *name = value_at(e, n->text.n)->name;
    const char *text = names_take(n, name ? name : names_of_id(c, n->text.n));
    vec_push(n->arena, &n->text, with_sigil(c, text));
    vec_push(n->arena, &n->made_for, name);
  }
  return n->text.at[v];
}
