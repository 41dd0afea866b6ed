/* Sections of library code; see sections.h. A section uses only earlier ones, so one walk from the
   last to the first finds all that are used through others. */
#include "codegen/text/sections.h"

#include <ctype.h>
#include <stdlib.h>

#define MARK "/* section "

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Behind a comment or literal that begins at s; s itself: none does. */
static const char *skip(const char *s) {
  const char *end = s;
  if (s[0] == '/' && s[1] == '*') {
    end = strstr(s + 2, "*/");
    return end ? end + 2 : s + strlen(s);
  }
  if (s[0] != '"' && s[0] != '\'') return s;
  for (end = s + 1; *end && *end != *s; end++)
    if (*end == '\\' && end[1]) end++;
  return *end ? end + 1 : end;
}

const char *sections_next_name(const char **s, size_t *n) {
  for (const char *at = *s; *at;) {
    const char *end = skip(at);
    if (end == at) {
      while (in_name(*end)) end++;
      if (end > at && !isdigit((unsigned char)*at)) {
        *s = end;
        *n = (size_t)(end - at);
        return at;
      }
      if (end == at) end++;
    }
    at = end;
  }
  return NULL;
}

static int compare(const char *a, size_t na, const char *b, size_t nb) {
  int order = memcmp(a, b, na < nb ? na : nb);
  return order ? order : (na > nb) - (na < nb);
}

static int by_name(const void *a, const void *b) {
  const SectionName *x = a, *y = b;
  return compare(x->at, x->n, y->at, y->n);
}

Section *sections_find(const Sections *s, const char *name, size_t n) {
  uint32_t lo = 0, hi = s->names.n;
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    const SectionName *at = &s->names.at[mid];
    int order = compare(name, n, at->at, at->n);
    if (order == 0) return &s->list.at[at->section];
    if (order < 0)
      hi = mid;
    else
      lo = mid + 1;
  }
  return NULL;
}

static const char *cut(Arena *a, const char *from, const char *to) {
  return arena_printf(a, "%.*s", (int)(to - from), from);
}

static const char *mark_after(const char *s) {
  const char *next = strstr(s, "\n" MARK);
  return next ? next + 1 : s + strlen(s);
}

static void add_text(Sections *s, Arena *a, const char *text) {
  const char *end = strncmp(text, MARK, strlen(MARK)) == 0 ? text : mark_after(text);
  uint32_t title = s->list.n;
  vec_push(a, &s->list, (Section){"", "", cut(a, text, end), title, false});
  while (*end) {
    const char *head = end + strlen(MARK), *close = strstr(head, "*/"),
               *body = strchr(close, '\n') + 1;
    const char *colon = memchr(head, ':', (size_t)(close - head));
    end = mark_after(body - 1);
    vec_push(a, &s->list,
             (Section){cut(a, head, colon ? colon : close), colon ? cut(a, colon + 1, close) : "",
                       cut(a, body, end), title, false});
  }
}

Sections *sections_of(Arena *a, const char *const *texts) {
  Sections *s = ARENA_NEW(a, Sections);
  for (; *texts; texts++) add_text(s, a, *texts);
  for (uint32_t i = 0; i < s->list.n; i++) {
    SectionName name = {.section = i};
    for (const char *at = s->list.at[i].names; (name.at = sections_next_name(&at, &name.n));)
      vec_push(a, &s->names, name);
  }
  if (s->names.n) qsort(s->names.at, s->names.n, sizeof *s->names.at, by_name);
  return s;
}

void sections_use(const Sections *s, const char *source) {
  size_t n;
  for (const char *name; (name = sections_next_name(&source, &n));) {
    Section *x = sections_find(s, name, n);
    if (x) x->used = true;
  }
}

const char *sections_base(const Sections *s) { return s->list.at[0].text; }

void sections_print(const Sections *s, Text *x) {
  for (uint32_t i = s->list.n; i-- > 0;) {
    Section *at = &s->list.at[i];
    if (!at->used) continue;
    sections_use(s, at->needs);
    sections_use(s, at->text);
    if (at->title) s->list.at[at->title].used = true;
  }
  for (uint32_t i = 1; i < s->list.n; i++) {
    if (s->list.at[i].used) text_add(x, "%s", s->list.at[i].text);
    s->list.at[i].used = false;
  }
}
