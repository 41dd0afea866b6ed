/* Columns of CSV files that an input takes, by name or number: "a,b..d,e", or "a=word|word" with
   the words of labels. A name or a word in quotes, as in the file, may hold what else separates
   them. */
#include "runtime/data/csv.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A piece of what the user wrote, up to one of the characters of `stops`, or to a range's dots if
   '.' is among them; *stop: which, or 0. The piece is cut off in place, without its quotes. */
static bool take(const Column *c, char **at, const char *stops, char **piece, char *stop, Err *e) {
  char *from = *at, *to = *at;
  bool quoted = *from == '"', open = quoted;
  *piece = to;
  for (from += quoted; *from; from++) {
    if (open && *from == '"' && from[1] == '"')
      from++;
    else if (open && *from == '"') {
      open = false;
      continue;
    } else if (!open && strchr(stops, *from) && (*from != '.' || from[1] == '.'))
      break;
    *to++ = *from;
  }
  if (open) {
    *to = 0;
    err_set(e, EXIT_WRONG, "%s: a quote behind its name is not closed: \"%.100s", c->text, *piece);
    return err_hint(e, "a quote within a name in quotes is written twice");
  }
  *stop = *from;
  *at = from + (*from == '.') + (*from != 0);
  *to = 0;
  return true;
}

void csv_quoted(const char *name, const char *also, char *out, size_t size) {
  bool plain = *name && *name != '"' && !strpbrk(name, also) && !strstr(name, "..");
  size_t at = 0;
  if (!plain && size > 3) out[at++] = '"';
  for (; *name && at + 4 < size; name++) {
    if (*name == '"' && !plain) out[at++] = '"';
    out[at++] = *name;
  }
  if (!plain && size > 3) out[at++] = '"';
  out[at] = 0;
}

/* "setosa|versicolor" behind the column's name. */
static bool list_words(Column *c, char *list, Err *e) {
  Words *words = &c->words;
  words->listed = true;
  for (char stop = '|', *w; stop == '|';) {
    if (!take(c, &list, "|", &w, &stop, e)) return false;
    if (!*w) continue;
    if (words_find(words, w) >= 0) {
      err_set(e, EXIT_WRONG, "%s: the word '%.200s' is listed twice", c->text, w);
      return err_hint(e, "a word has one number, its place in the list");
    }
    if (!words_add(words, w, e)) return false;
  }
  return true;
}

static void all_names(const Csv *v, char *out, size_t size) {
  char name[WORD], quoted[64];
  size_t at = 0;
  *out = 0;
  for (uint64_t i = 0; i < v->ncolumns && at + 80 < size; i++) {
    csv_quoted(csv_name(v, i, name), CSV_MARKS, quoted, sizeof quoted);
    at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "", quoted);
  }
}

static bool find_column(const Column *c, const char *name, uint64_t *out, Err *e) {
  const Csv *v = c->csv;
  char other[WORD], all[400], *end;
  uint64_t found = 0;
  for (uint64_t i = v->ncolumns; i-- > 0;)
    if (strcmp(csv_name(v, i, other), name) == 0) *out = i, found++;
  if (found == 1) return true;
  if (found > 1) {
    err_set(e, EXIT_WRONG, "%s: %" PRIu64 " columns are called '%.100s'", c->text, found, name);
    return err_hint(e, "choose by number: the first column is 1");
  }
  *out = strtoull(name, &end, 10) - 1;
  if (*name >= '0' && *name <= '9' && !*end && *out < v->ncolumns) return true;
  all_names(v, all, sizeof all);
  err_set(e, EXIT_WRONG, "%s: has no column '%.100s'", c->text, name);
  return err_hint(e, "it has %s", all);
}

void csv_cut_windows(const Column *c, char *text, Suffixes *s) {
  const Csv *v = c->csv;
  for (bool named = false; !named;) {
    const char *last = text, *dots;
    char name[WORD];
    for (const char *p = text; *p; p++)
      if (*p == ',' || *p == '=' || *p == '|') last = p + 1;
    if ((dots = strstr(last, ".."))) last = dots + 2;
    for (uint64_t i = 0; i < v->ncolumns && !named; i++)
      named = strcmp(csv_name(v, i, name), last) == 0;
    if (!named && !suffix_cut_window(text, s)) return;
  }
}

/* "a" or "b..d"; `taken` marks the columns that are chosen. */
static bool choose_range(Column *c, const char *a, const char *b, bool *taken, Err *e) {
  Csv *v = c->csv;
  char name[WORD];
  uint64_t from, to;
  if (!find_column(c, a, &from, e) || !find_column(c, b, &to, e)) return false;
  if (from > to) {
    err_set(e, EXIT_WRONG, "%s: the range %.100s..%.100s runs backwards", c->text, a, b);
    return err_hint(e, "write %.100s..%.100s: columns of a range have the order of the file", b, a);
  }
  for (; from <= to; from++) {
    if (taken[from]) {
      err_set(e, EXIT_WRONG, "%s: column %.100s is given twice", c->text, csv_name(v, from, name));
      return err_hint(e, "name each column once");
    }
    taken[from] = true, v->chosen[v->n++] = from;
  }
  return true;
}

/* *list: what stands behind "=", or NULL. */
static bool choose_listed(Column *c, char *text, char **list, Err *e) {
  bool *taken = calloc(c->csv->ncolumns + 1, sizeof *taken), ok = true;
  if (!taken) return err_set(e, EXIT_ENV, "no memory for the columns of %s", c->text);
  char stop = ',';
  while (ok && stop == ',') {
    const bool none = strchr(CSV_MARKS, *text); /* or the end; an empty name stands in quotes */
    char *name, *last;
    ok = take(c, &text, ",=.", &name, &stop, e);
    last = name;
    if (ok && stop == '.') ok = take(c, &text, ",=", &last, &stop, e);
    if (ok && !none) ok = choose_range(c, name, last, taken, e);
  }
  *list = stop == '=' ? text : NULL;
  free(taken);
  return ok;
}

/* The columns of these names; false: not all of them are there, or one is twice. */
static bool choose_known(const Column *c, const Words *names) {
  Csv *v = c->csv;
  Err none = {0};
  if ((uint64_t)names->n > v->ncolumns) return false;
  for (int i = 0; i < names->n; i++) {
    uint64_t at = 0;
    char name[WORD];
    if (!find_column(c, names->at[i], &at, &none)) return false;
    if (strcmp(csv_name(v, at, name), names->at[i]) != 0) return false; /* by its number */
    v->chosen[i] = at;
  }
  v->n = (uint64_t)names->n;
  return true;
}

/* The columns that are chosen have these names; several may have one. */
static bool has_names(const Column *c, const Words *names) {
  const Csv *v = c->csv;
  char name[WORD];
  bool same = v->n == (uint64_t)names->n;
  for (uint64_t i = 0; same && i < v->n; i++)
    same = strcmp(csv_name(v, v->chosen[i], name), names->at[i]) == 0;
  return same;
}

/* The names are those that are known, in another order. */
static bool is_permuted(const Column *c, const Words *names) {
  const Csv *v = c->csv;
  char name[WORD];
  if (v->n != (uint64_t)names->n) return false;
  for (uint64_t i = 0; i < v->n; i++)
    if (words_find(names, csv_name(v, v->chosen[i], name)) < 0) return false;
  return !has_names(c, names);
}

/* As a user chooses them; their length, beyond the size if not all of them are there. */
static size_t list_names(const Words *names, char *list, size_t size) {
  char quoted[2 * WORD];
  size_t at = 0;
  for (int i = 0; i < names->n && at < size; i++) {
    csv_quoted(names->at[i], CSV_MARKS, quoted, sizeof quoted);
    at += (size_t)snprintf(list + at, size - at, "%s%s", i ? "," : "", quoted);
  }
  return at;
}

bool csv_place_note(const Column *c, char *out, size_t size) {
  const Csv *v = c->parts ? c->parts[0].csv : c->csv;
  char list[400];
  if (!v || !v->renamed) return false;
  const bool all = list_names(v->renamed, list, sizeof list) < sizeof list;
  snprintf(out, size,
           "%s: columns of the input %s are read by place, since they have other names than those "
           "of %s, %s%s; %s:NAME,NAME… chooses columns",
           c->text, c->t->name, v->renamed->from, list, all ? "" : "…", c->text);
  return true;
}

static bool wrong_order(const Column *c, const Words *names, Err *e) {
  char name[WORD], list[400];
  const size_t at = list_names(names, list, sizeof list);
  for (uint64_t i = 0; i < c->csv->n; i++)
    if (strcmp(csv_name(c->csv, c->csv->chosen[i], name), names->at[i]) != 0) {
      err_set(e, EXIT_WRONG, "%s: %.100s is the column %d of the %s %s, where %.150s has %.100s",
              c->text, name, (int)i + 1, column_side(c), c->t->name, names->from, names->at[i]);
      break;
    }
  if (at >= sizeof list) return err_hint(e, "leave the names out: columns are found by them");
  return err_hint(e, "leave the names out, or choose %s:%s", c->text, list);
}

static bool keep_names(Column *c, Err *e) {
  const Csv *v = c->csv;
  enum { MOST = 1000 };
  char name[WORD];
  for (uint64_t i = 0; v->header && v->n > 1 && v->n <= MOST && i < v->n; i++)
    if (!words_add(&c->columns, csv_name(v, v->chosen[i], name), e)) return false;
  c->columns.from = c->text;
  return true;
}

/* The table has all of these columns. */
static bool has_columns(const Csv *v, const Words *names) {
  bool all = names->n > 0;
  for (int i = 0; all && i < names->n; i++) {
    char name[WORD];
    uint64_t k = 0;
    while (k < v->ncolumns && strcmp(csv_name(v, k, name), names->at[i]) != 0) k++;
    all = k < v->ncolumns;
  }
  return all;
}

/* Names that weights have for the input's columns; else those of an input of another name, if they
   are as many as a row has and the table has them all: another entry may call the same rows
   otherwise. */
static const Words *known_columns(const Column *c) {
  const Csv *v = c->csv;
  const Labels *l = c->request && v->header ? c->request->labels : NULL;
  const Words *known = l ? labels_columns(l, c->t->name) : NULL;
  for (int i = 0; l && !known && i < l->n; i++)
    if ((uint64_t)l->at[i].columns.n == c->row_elems && has_columns(v, &l->at[i].columns))
      known = &l->at[i].columns;
  return known;
}

/* "a,b..d,e" or, of labels, "a=word|word". */
bool csv_choose(Column *c, char *text, Err *e) {
  Csv *v = c->csv;
  v->chosen = calloc(v->ncolumns + 1, sizeof *v->chosen);
  if (!v->chosen) return err_set(e, EXIT_ENV, "no memory for the columns of %s", c->text);
  const Words *known = known_columns(c);
  if (!text && !(known && choose_known(c, known))) {
    for (v->n = 0; v->n < v->ncolumns; v->n++) v->chosen[v->n] = v->n;
    if (known && !has_names(c, known)) v->renamed = known;
  }
  char *list = NULL;
  if (text && !choose_listed(c, text, &list, e)) return false;
  if (known && is_permuted(c, known)) return wrong_order(c, known, e);
  if (!keep_names(c, e)) return false;
  if (list && v->n == 1 && elem_info[c->t->dtype].cls != ELEM_FLOATS) return list_words(c, list, e);
  if (!list) return true;
  err_set(e, EXIT_WRONG, "%s: words stand for whole numbers, in an input of one column", c->text);
  return err_hint(e, "the %s %s is not one: leave '=%.100s' out", column_side(c), c->t->name, list);
}

/* A column of the input begins with the name of an image. */
static bool lists_images(const Column *c, Err *e, char name[WORD]) {
  const Csv *v = c->csv;
  CsvReader r = csv_body(c, e);
  bool there, found = false;
  char field[WORD];
  if (!csv_row(&r, v->fields, &there) || !there) return false;
  for (uint64_t i = 0; i < v->n && !found; i++) {
    found = csv_plain(&v->fields[v->chosen[i]], field) && images_have_name(field);
    (void)csv_name(v, v->chosen[i], name);
  }
  return found;
}

/* A row of the input has axes within, of which a line could be the last, as a window of lines. */
static bool hint_windows(const Column *c, uint64_t a_line, const char *all, Err *e) {
  const uint64_t lines = c->row_elems / a_line;
  return err_hint(e,
                  "windows of %" PRIu64 " lines are %s:NAME,NAME…~%" PRIu64
                  ", or ~1 where each begins a line after the one before, with %" PRIu64
                  " of the columns %s; else a row needs %" PRIu64 " columns",
                  lines, c->text, lines, a_line, all, c->row_elems);
}

bool csv_misfit(const Column *c, Err *e) {
  const Csv *v = c->csv;
  char all[400], need[200], name[WORD];
  all_names(v, all, sizeof all);
  column_shapes_text(c, need, sizeof need);
  if (c->fixed) {
    err_set(e, EXIT_WRONG, "%s: %" PRIu64 " row%s of %" PRIu64 " are chosen, but the %s %s is %s",
            c->text, c->all_rows, c->all_rows == 1 ? "" : "s", v->n, column_side(c), c->t->name,
            need);
    return err_hint(e, "give a table of that shape, or one column or row of all elements");
  }
  err_set(e, EXIT_WRONG, "%s: %" PRIu64 " column%s %s chosen, but the %s %s is %s", c->text, v->n,
          v->n == 1 ? "" : "s", v->n == 1 ? "is" : "are", column_side(c), c->t->name, need);
  if (lists_images(c, e, name))
    return err_hint(
        e,
        "the column %.100s names images; a program compiled with gc --images takes their "
        "folder, FOLDER/CLASS/NAME.png",
        name);
  const uint64_t last = c->t->rank > 2 ? (uint64_t)c->t->dims[c->t->rank - 1] : 0;
  if (last > 0 && !csv_is_of_lines(c->t, v->n) && !c->line) return hint_windows(c, last, all, e);
  if (v->n && c->row_elems % v->n == 0 && c->row_elems > v->n && !c->line)
    return err_hint(e,
                    "windows of %" PRIu64 " lines are %s:NAME,NAME…~%" PRIu64
                    ", or ~1 where each begins a line after the one before; else a row needs "
                    "%" PRIu64 " columns",
                    c->row_elems / v->n, c->text, c->row_elems / v->n, c->row_elems);
  return err_hint(e, "a row needs %" PRIu64 ": %s:NAME,NAME… chooses of %s", c->row_elems, c->text,
                  all);
}

bool csv_same_columns(const Column *a, const Column *b, Err *e) {
  const Csv *x = a->csv, *y = b->csv;
  char one[WORD], other[WORD];
  for (uint64_t i = 0; i < x->n; i++) {
    if (strcmp(csv_name(x, x->chosen[i], one), csv_name(y, y->chosen[i], other)) == 0) continue;
    err_set(e, EXIT_WRONG, "%s: has the column %.100s where %s has %.100s", b->text, other, a->text,
            one);
    return err_hint(
        e, "files of a pattern have the same columns; choose them by name, FILE:NAME,NAME");
  }
  return true;
}
