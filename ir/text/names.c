/* Unique names of values: the user's name or the id in digits, with a suffix if it is taken.
   Contract: a value's text is stable while the names of the values before it are. value_str caches
   texts in Entry.names, and starts again when a name has changed. A map from each name to its next
   suffix makes a new name amortised O(1). */
#include "ir/text/names.h"
#include "ir/support/memfile.h"

#include <ctype.h>

struct Names {
  Ctx *c;
  Arena *arena;
  Map next; /* from a name that is taken to the suffix to try when it is wanted again */
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

const char *names_peek(Names *n, const char *base) {
  uint32_t suffix, unused;
  base = intern(n->c, base);
  if (!map_get(&n->next, base, &suffix)) return base;
  for (;; suffix++) { /* what was taken stays taken, so the search never goes back */
    const char *name = intern_printf(n->c, "%s.%u", base, suffix);
    map_put(n->arena, &n->next, base, suffix);
    if (!map_get(&n->next, name, &unused)) return name;
  }
}

const char *names_take(Names *n, const char *base) {
  const char *name = names_peek(n, base);
  map_put(n->arena, &n->next, name, 1);
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
  MemFile m;
  names_print(memfile_open(&m), '%', name);
  return memfile_intern(c, &m);
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
