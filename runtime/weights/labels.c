/* The words of labels in files of weights and checkpoints, as metadata: "gc.words.INPUT" is the
   words of an input in the order of their numbers, a line each, and "gc.columns.INPUT" the names of
   the columns of a table that it was read from. Contract: what a file has there is
   read without its tensors; a damaged file has none, which whoever reads its tensors then says. */
#include "runtime/weights/source.h"
#include "runtime/weights/weights.h"
#include <stdlib.h>
#include <string.h>

#define WORDS_KEY "gc.words."
#define COLUMNS_KEY "gc.columns."

static bool read_lines(Words *w, const SafeMeta *m, Err *e) {
  const char *s = m->value.s, *end = s + m->value.n;
  bool ok = true;
  while (ok && s < end) {
    char word[WORD];
    const char *line = memchr(s, '\n', (size_t)(end - s));
    size_t n = (size_t)((line ? line : end) - s);
    if (n >= WORD) return true; /* no words of gc */
    memcpy(word, s, n);
    word[n] = 0;
    ok = words_add(w, word, e);
    s += n + 1;
  }
  return ok;
}

/* What stands behind the prefix of a key; false: it has another one. */
static bool input_of(const SafeMeta *m, const char *prefix, char input[WORD]) {
  const size_t before = strlen(prefix), n = m->key.n - before;
  if (m->key.n <= before || n >= WORD || memcmp(m->key.s, prefix, before) != 0) return false;
  memcpy(input, m->key.s + before, n);
  input[n] = 0;
  return true;
}

static bool add_all(Labels *l, const SafeTable *t, const char *from, Err *e) {
  bool ok = true;
  for (uint64_t i = 0; ok && i < t->nmeta; i++) {
    const SafeMeta *m = &t->meta[i];
    char input[WORD];
    Words w = {.from = from};
    const bool words = input_of(m, WORDS_KEY, input);
    if (!words && !input_of(m, COLUMNS_KEY, input)) continue;
    ok = read_lines(&w, m, e) && labels_set(l, input, words ? &w : NULL, words ? NULL : &w, e);
    words_free(&w);
  }
  return ok;
}

bool labels_read(Labels *l, const char *path, Err *e) {
  File f;
  SafeTable t;
  Err none = {0};
  bool ok = true;
  if (!file_open(&f, path, &none)) return true;
  if (safe_open(&t, &f, &none)) {
    ok = add_all(l, &t, path, e);
    safe_free(&t);
  }
  file_close(&f);
  return ok;
}

bool labels_read_own(Labels *l, Err *e) {
  WeightsSource s;
  Err none = {0};
  if (!weights_are_own() || !weights_open_own(&s, &none)) return true;
  bool ok = add_all(l, &s.part[0].table, "the program's own weights", e);
  weights_close(&s);
  return ok;
}

static bool is_plain(const Words *w) {
  for (int i = 0; i < w->n; i++)
    for (const char *s = w->at[i]; *s; s++)
      if (*s == '\n') return false;
  return true;
}

/* A string of JSON holds UTF-8. */
static bool is_utf8(const char *s) {
  for (const unsigned char *p = (const unsigned char *)s; *p;) {
    int more = *p < 0x80                 ? 0
               : *p >= 0xC2 && *p < 0xE0 ? 1
               : *p >= 0xE0 && *p < 0xF0 ? 2
               : *p >= 0xF0 && *p < 0xF5 ? 3
                                         : -1;
    if (more < 0 || (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] >= 0xA0) ||
        (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] >= 0x90))
      return false;
    for (p++; more; more--, p++)
      if ((*p & 0xC0) != 0x80) return false;
  }
  return true;
}

bool labels_storable(const Words *w) {
  bool ok = is_plain(w);
  for (int i = 0; ok && i < w->n; i++) ok = is_utf8(w->at[i]);
  return ok;
}

static char *put(char *to, const char *s) {
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      *to++ = '\\', *to++ = (char)c;
    else if (c < 0x20)
      to += sprintf(to, "\\u%04x", c);
    else
      *to++ = (char)c;
  }
  return to;
}

static size_t length_of(const Words *w) {
  size_t n = 0;
  for (int k = 0; k < w->n; k++) n += 2 + 6 * strlen(w->at[k]);
  return n;
}

static char *put_all(char *to, const char *key, const char *input, const Words *w) {
  if (!w->n || !labels_storable(w)) return to;
  to += sprintf(to, ",\"%s", key);
  to = put(to, input);
  to += sprintf(to, "\":\"");
  for (int k = 0; k < w->n; k++) {
    if (k) *to++ = '\\', *to++ = 'n';
    to = put(to, w->at[k]);
  }
  *to++ = '"';
  return to;
}

bool labels_text(const Labels *l, char **text, Err *e) {
  size_t n = 1;
  for (int i = 0; i < l->n; i++)
    n += 2 * (32 + 6 * strlen(l->at[i].input)) + length_of(&l->at[i].words) +
         length_of(&l->at[i].columns);
  char *to = *text = malloc(n);
  if (!to) return err_set(e, EXIT_ENV, "no memory for the words of the labels");
  for (int i = 0; i < l->n; i++) {
    to = put_all(to, WORDS_KEY, l->at[i].input, &l->at[i].words);
    to = put_all(to, COLUMNS_KEY, l->at[i].input, &l->at[i].columns);
  }
  *to = 0;
  return true;
}
