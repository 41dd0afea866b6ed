/* Labels that a file has as words, and the numbers that an input gets for them: those of a column
   of CSV, or the names of the folders that images lie in. Contract: words are unique and stand in
   the order of their numbers; what a note says of them can be written on a command line. */
#include "runtime/data/csv.h"
#include <stdlib.h>
#include <string.h>

static int by_word(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

void words_sort(Words *w) {
  if (w->n) qsort(w->at, (size_t)w->n, sizeof *w->at, by_word);
}

int words_find(const Words *w, const char *word) {
  for (int i = 0; i < w->n; i++)
    if (strcmp(w->at[i], word) == 0) return i;
  return -1;
}

bool words_add(Words *w, const char *word, Err *e) {
  if ((w->n & (w->n - 1)) == 0) { /* room for the next power of two */
    char **more = realloc(w->at, (w->n ? 2 * (size_t)w->n : 1) * sizeof *more);
    if (!more) return err_set(e, EXIT_ENV, "no memory for the words of the labels");
    w->at = more;
  }
  w->at[w->n] = strdup(word);
  return w->at[w->n++] || err_set(e, EXIT_ENV, "no memory for the words of the labels");
}

bool words_copy(Words *to, const Words *from, Err *e) {
  to->listed = from->listed, to->from = from->from, to->of_data = from->of_data;
  memcpy(to->name, from->name, WORD);
  for (int i = 0; i < from->n; i++)
    if (!words_add(to, from->at[i], e)) return false;
  return true;
}

void words_free(Words *w) {
  for (int i = 0; i < w->n; i++) free(w->at[i]);
  free(w->at);
  w->at = NULL, w->n = 0;
}

/* The words that fit in so many bytes: "a = 0, b = 1"; how many they are. */
static int name_words(const Words *w, char *out, size_t size) {
  char number[20];
  size_t at = 0;
  *out = 0;
  for (int i = 0; i < w->n; i++) {
    size_t tail = (size_t)snprintf(number, sizeof number, " = %d", i), n = strlen(w->at[i]);
    size_t comma = i ? 2 : 0;
    if (at + comma + n + tail >= size) return i;
    memcpy(out + at, ", ", comma), at += comma;
    memcpy(out + at, w->at[i], n), at += n;
    memcpy(out + at, number, tail + 1), at += tail;
  }
  return w->n;
}

static bool join_words(const Words *w, char *out, size_t size) {
  size_t at = 0;
  char word[2 * WORD];
  for (int i = 0; i < w->n && at < size; i++) {
    csv_quoted(w->at[i], "|", word, sizeof word);
    at += (size_t)snprintf(out + at, size - at, "%s%s", i ? "|" : "", word);
  }
  return at < size;
}

bool words_hint(const Words *w, Err *e) {
  char some[400];
  int n = name_words(w, some, sizeof some);
  return err_hint(e, "it has %s%s%s", some, n < w->n ? " …" : "",
                  w->of_data ? "; a validation has the training's numbers"
                             : "; with ,scope=PATH its words are not taken over");
}

bool words_note(const Column *c, char *out, size_t size) {
  const Words *w = &c->words;
  char some[400], all[400], name[2 * WORD];
  if (!w->n || w->listed || w->from) return false;
  csv_quoted(w->name, CSV_MARKS, name, sizeof name);
  int n = name_words(w, some, sizeof some);
  bool whole = n == w->n;
  if (c->images)
    snprintf(out, size, "%s: %s is %s%s", c->text, w->name, some, whole ? "" : " …");
  else if (whole && join_words(w, all, sizeof all))
    snprintf(out, size, "%s: %.100s is %s; elsewhere: FILE:%.100s=%s", c->text, w->name, some, name,
             all);
  else
    snprintf(out, size,
             "%s: %.100s is %s%s and %d more in alphabetical order; elsewhere, list all of them: "
             "FILE:%.100s=WORD|WORD",
             c->text, w->name, some, n ? " …" : "", w->n - n, name);
  return true;
}

bool words_same(const Words *a, const Words *b) {
  if (!a->n || !b->n) return true;
  bool same = a->n == b->n;
  for (int i = 0; same && i < a->n; i++) same = strcmp(a->at[i], b->at[i]) == 0;
  return same;
}

/* ---- of all inputs ---- */
static const struct InputWords *entry_of(const Labels *l, const char *input) {
  for (int i = 0; l && i < l->n; i++)
    if (strcmp(l->at[i].input, input) == 0) return &l->at[i];
  return NULL;
}

const Words *labels_find(const Labels *l, const char *input) {
  const struct InputWords *x = entry_of(l, input);
  return x && x->words.n ? &x->words : NULL;
}

const Words *labels_columns(const Labels *l, const char *input) {
  const struct InputWords *x = entry_of(l, input);
  return x && x->columns.n ? &x->columns : NULL;
}

static bool replace(Words *to, const Words *from, Err *e) {
  if (!from || !from->n) return true;
  words_free(to);
  return words_copy(to, from, e);
}

bool labels_set(Labels *l, const char *input, const Words *words, const Words *columns, Err *e) {
  int i = 0; /* by name, so that files have one order, however the words came */
  if (!(words && words->n) && !(columns && columns->n)) return true;
  while (i < l->n && strcmp(l->at[i].input, input) < 0) i++;
  if (i == l->n || strcmp(l->at[i].input, input) != 0) {
    char *name = strdup(input);
    struct InputWords *more = name ? realloc(l->at, ((size_t)l->n + 1) * sizeof *more) : NULL;
    if (!more) {
      free(name);
      return err_set(e, EXIT_ENV, "no memory for the words of the labels");
    }
    l->at = more;
    memmove(more + i + 1, more + i, (size_t)(l->n++ - i) * sizeof *more);
    more[i] = (struct InputWords){.input = name};
  }
  return replace(&l->at[i].words, words, e) && replace(&l->at[i].columns, columns, e);
}

void labels_free(Labels *l) {
  for (int i = 0; i < l->n; i++) {
    free(l->at[i].input);
    words_free(&l->at[i].words);
    words_free(&l->at[i].columns);
  }
  free(l->at);
  *l = (Labels){0};
}
