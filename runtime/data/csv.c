/* CSV: a file of text with one row per line, whose columns an input takes by name. RFC 4180: fields
   in double quotes may hold separators, line ends and doubled quotes; a first line without any
   number is the header. Contract: csv_open reads the text, settles columns, rows and words, and
   keeps it; csv_read makes elements of the input's own type (f32 for bf16); csv_free gives the text
   back. Sizes are the file's; a signal is heard between lines. */
#include "runtime/data/dataset.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FIELDS = 1 << 16, WORDS = 1000 };

typedef struct Field {
  const char *p;
  uint64_t n;
  bool quoted; /* without the quotes, doubled ones still doubled */
} Field;

struct Csv {
  char *text;
  uint64_t size, mapped;
  char separator;
  Field *header; /* NULL: columns are numbered */
  Field *fields; /* of the record at hand */
  uint64_t ncolumns;
  uint64_t *chosen, n; /* columns of the input */
  uint64_t body;       /* where the records begin */
  uint64_t first_line; /* of them */
};

typedef struct Reader { /* a place in the text */
  const Column *c;
  uint64_t at, line, begun; /* line of the next record and of the one at hand, from 1 */
  Err *e;
} Reader;

static bool ends_in(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n > m && strcmp(path + n - m, end) == 0;
}

static bool has_tabs(const char *path) { return ends_in(path, ".tsv") || ends_in(path, ".tsv.gz"); }

bool csv_is(const char *path) {
  return has_tabs(path) || ends_in(path, ".csv") || ends_in(path, ".csv.gz");
}

/* ---- records ---- */
static bool unclosed(Reader *r) {
  err_set(r->e, EXIT_WRONG, "%s: line %" PRIu64 ": a quote is not closed", r->c->text, r->begun);
  return err_hint(r->e, "a quote within a field in quotes is written twice");
}

static bool field(Reader *r, Field *f) {
  const Csv *v = r->c->csv;
  const char *s = v->text, *end = s + v->size, *p = s + r->at;
  *f = (Field){.p = p, .quoted = p < end && *p == '"'};
  if (f->quoted) {
    for (f->p = ++p; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
      if (*p == '"') p++;
      if (*p == '\n') r->line++;
    }
    if (p >= end) return unclosed(r);
    f->n = (uint64_t)(p++ - f->p);
    if (p < end && *p != v->separator && *p != '\n' && *p != '\r') return unclosed(r);
  } else {
    while (p < end && *p != v->separator && *p != '\n' && *p != '\r') p++;
    f->n = (uint64_t)(p - f->p);
  }
  r->at = (uint64_t)(p - s);
  return true;
}

static bool is_end(const Reader *r) {
  const Csv *v = r->c->csv;
  uint64_t at = r->at;
  while (at < v->size && (v->text[at] == '\n' || v->text[at] == '\r')) at++;
  return at == v->size;
}

/* The next record, up to `most` fields; *n 0: there is none. A blank line is no record, but for an
   empty field of a file of one column, unless only such lines follow. */
static bool record(Reader *r, Field *fields, uint64_t most, uint64_t *n) {
  const Csv *v = r->c->csv;
  *n = 0;
  while (r->at < v->size) {
    r->begun = r->line;
    if (r->line % 4096 == 0 && file_interrupted(r->c->text, r->e)) return false;
    for (bool more = true; more;) {
      if (*n == most) {
        err_set(r->e, EXIT_WRONG, "%s: line %" PRIu64 " has more than %" PRIu64 " fields",
                r->c->text, r->begun, most);
        return err_hint(r->e, "a field with a separator in it needs quotes; correct the file");
      }
      if (!field(r, &fields[(*n)++])) return false;
      more = r->at < v->size && v->text[r->at] == v->separator;
      r->at += more;
    }
    if (r->at < v->size && v->text[r->at] == '\r') r->at++;
    if (r->at < v->size && v->text[r->at] == '\n') r->at++;
    r->line++;
    if (*n > 1 || fields[0].n || fields[0].quoted) return true;
    if (v->ncolumns == 1 && !is_end(r)) return true;
    *n = 0;
  }
  return true;
}

static Reader body_of(const Column *c, Err *e) {
  const Csv *v = c->csv;
  return (Reader){.c = c, .at = v->body, .line = v->first_line, .e = e};
}

/* One with as many fields as the first. */
static bool row(Reader *r, Field *fields, bool *there) {
  const Csv *v = r->c->csv;
  uint64_t n;
  if (!record(r, fields, FIELDS, &n)) return false;
  *there = n > 0;
  if (!n || n == v->ncolumns) return true;
  err_set(r->e, EXIT_WRONG, "%s: line %" PRIu64 " has %" PRIu64 " field%s, but the first %" PRIu64,
          r->c->text, r->begun, n, n == 1 ? "" : "s", v->ncolumns);
  return err_hint(r->e, "a field with a separator in it needs quotes; correct the file");
}

/* ---- fields ---- */

/* Without blanks around, as a string; false: it is too long for a number or a word, or no text. */
static bool plain(const Field *f, char out[WORD]) {
  uint64_t n = 0, from = 0, to = f->n;
  while (!f->quoted && from < to && (f->p[from] == ' ' || f->p[from] == '\t')) from++;
  while (!f->quoted && to > from && (f->p[to - 1] == ' ' || f->p[to - 1] == '\t')) to--;
  for (uint64_t i = from; i < to; i++) {
    if (n + 1 >= WORD || !f->p[i]) return false;
    out[n++] = f->p[i];
    if (f->quoted && f->p[i] == '"') i++;
  }
  out[n] = 0;
  return true;
}

static bool real_of(const char *s, double *v) {
  char *end;
  if (!*s || strspn(s, "+-.0123456789eE") != strlen(s)) return false;
  *v = strtod(s, &end);
  return end != s && !*end && isfinite(*v);
}

static bool whole_of(const char *s, int64_t *v) {
  char *end;
  double d;
  if (!real_of(s, &d)) return false;
  errno = 0;
  *v = strtoll(s, &end, 10);
  if (!*end && errno == 0) return true;
  if (!(fabs(d) < 0x1p53) || d != trunc(d)) return false;
  *v = (int64_t)d;
  return true;
}

static const char *name_of(const Csv *v, uint64_t column, char out[WORD]) {
  if (!v->header || !plain(&v->header[column], out)) snprintf(out, WORD, "%" PRIu64, column + 1);
  return out;
}

static bool wrong_field(const Reader *r, uint64_t column, const char *what, const char *hint) {
  char name[WORD];
  err_set(r->e, EXIT_WRONG, "%s: line %" PRIu64 ", column %.100s: %.300s", r->c->text, r->begun,
          name_of(r->c->csv, column, name), what);
  return err_hint(r->e, "%s", hint);
}

static bool no_word(const Reader *r, uint64_t column, const Field *f) {
  if (memchr(f->p, 0, f->n))
    return wrong_field(r, column, "the field has a byte 0 in it", "save the file as UTF-8 text");
  return wrong_field(r, column, "the field has more than 255 bytes",
                     "choose columns of numbers or labels with FILE:NAME,NAME");
}

static bool no_number(const Reader *r, uint64_t column, const char *s) {
  char what[400];
  if (!*s) return wrong_field(r, column, "the field is empty", "fill it in, or leave the line out");
  bool floats = elem_info[r->c->t->dtype].cls == ELEM_FLOATS;
  snprintf(what, sizeof what, "'%.200s' is no %snumber", s, floats ? "" : "whole ");
  return wrong_field(r, column, what,
                     floats ? "correct the file, or choose other columns with FILE:NAME,NAME; "
                              "words are numbered in an input of integers"
                     : r->c->csv->n > 1 ? "words are numbered in an input of one column"
                                        : "numbers and words are mixed in this column");
}

/* ---- words ---- */
/* A column of integers that begins with a word holds words, numbered in their order. */
static bool collect_words(Column *c, Err *e) {
  Csv *v = c->csv;
  char word[WORD];
  int64_t number;
  bool there = true;
  Words *words = &c->words;
  if (words->listed || v->n != 1 || elem_info[c->t->dtype].cls == ELEM_FLOATS) return true;
  for (Reader r = body_of(c, e); there;) {
    if (!row(&r, v->fields, &there)) return false;
    if (!there) break;
    const Field *f = &v->fields[v->chosen[0]];
    if (!plain(f, word)) return no_word(&r, v->chosen[0], f);
    if (!words->n && (!*word || whole_of(word, &number) || real_of(word, &(double){0})))
      return true; /* what is wrong about it is said when it is read */
    if (!*word) return no_number(&r, v->chosen[0], word);
    if (whole_of(word, &number)) return no_number(&r, v->chosen[0], word);
    if (words_find(words, word) >= 0) continue;
    if (words->n == WORDS)
      return wrong_field(&r, v->chosen[0], "it has more than 1000 words",
                         "choose the column of the labels with FILE:NAME");
    if (!words_add(words, word, e)) return false;
  }
  (void)name_of(v, v->chosen[0], words->name);
  words_sort(words);
  return true;
}

/* "setosa|versicolor" behind the column's name. */
static bool list_words(Words *words, char *list, Err *e) {
  words->listed = true;
  for (char *save = NULL, *w = strtok_r(list, "|", &save); w; w = strtok_r(NULL, "|", &save))
    if (!words_add(words, w, e)) return false;
  return true;
}

/* ---- columns ---- */
static void all_names(const Csv *v, char *out, size_t size) {
  char name[WORD];
  size_t at = 0;
  *out = 0;
  for (uint64_t i = 0; i < v->ncolumns && at + 80 < size; i++)
    at += (size_t)snprintf(out + at, size - at, "%s%.60s", i ? ", " : "", name_of(v, i, name));
}

static bool find_column(const Column *c, const char *name, uint64_t *out, Err *e) {
  const Csv *v = c->csv;
  char other[WORD], all[400], *end;
  uint64_t found = 0;
  for (uint64_t i = v->ncolumns; i-- > 0;)
    if (strcmp(name_of(v, i, other), name) == 0) *out = i, found++;
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

/* "a" or "b..d"; `taken` marks the columns that are chosen. */
static bool choose_range(Column *c, char *w, bool *taken, Err *e) {
  Csv *v = c->csv;
  char *dots = strstr(w, ".."), name[WORD];
  uint64_t from, to;
  if (dots) *dots = 0;
  if (!find_column(c, w, &from, e) || !find_column(c, dots ? dots + 2 : w, &to, e)) return false;
  if (from > to) {
    err_set(e, EXIT_WRONG, "%s: the range %.100s..%.100s runs backwards", c->text, w, dots + 2);
    return err_hint(e, "write %.100s..%.100s: columns of a range have the order of the file",
                    dots + 2, w);
  }
  for (; from <= to; from++) {
    if (taken[from]) {
      err_set(e, EXIT_WRONG, "%s: column %.100s is given twice", c->text, name_of(v, from, name));
      return err_hint(e, "name each column once");
    }
    taken[from] = true, v->chosen[v->n++] = from;
  }
  return true;
}

static bool choose_listed(Column *c, char *text, Err *e) {
  bool *taken = calloc(c->csv->ncolumns + 1, sizeof *taken), ok = true;
  if (!taken) return err_set(e, EXIT_ENV, "no memory for the columns of %s", c->text);
  for (char *save = NULL, *w = strtok_r(text, ",", &save); ok && w; w = strtok_r(NULL, ",", &save))
    ok = choose_range(c, w, taken, e);
  free(taken);
  return ok;
}

/* "a,b..d,e" or, of labels, "a=word|word". */
static bool choose(Column *c, char *text, Err *e) {
  Csv *v = c->csv;
  v->chosen = calloc(v->ncolumns + 1, sizeof *v->chosen);
  if (!v->chosen) return err_set(e, EXIT_ENV, "no memory for the columns of %s", c->text);
  if (!text)
    for (; v->n < v->ncolumns; v->n++) v->chosen[v->n] = v->n;
  char *list = text ? strchr(text, '=') : NULL;
  if (list) *list++ = 0;
  if (text && !choose_listed(c, text, e)) return false;
  if (list && v->n == 1 && elem_info[c->t->dtype].cls != ELEM_FLOATS)
    return list_words(&c->words, list, e);
  if (!list) return true;
  err_set(e, EXIT_WRONG, "%s: words stand for whole numbers, in an input of one column", c->text);
  return err_hint(e, "the input %s is not one: leave '=%.100s' out", c->t->name, list);
}

static bool misfit(const Column *c, Err *e) {
  const Csv *v = c->csv;
  char all[400], need[200];
  all_names(v, all, sizeof all);
  tensor_type_text(c->t, need, sizeof need);
  err_set(e, EXIT_WRONG, "%s: %" PRIu64 " column%s %s chosen, but the input %s is %s", c->text,
          v->n, v->n == 1 ? "" : "s", v->n == 1 ? "is" : "are", c->t->name, need);
  return err_hint(e, "a row needs %" PRIu64 ": %s:NAME,NAME… chooses of %s", c->row_elems, c->text,
                  all);
}

/* ---- open, read, free ---- */
static bool read_text(Column *c, Err *e) {
  Csv *v = c->csv;
  if (!source_measure(&c->source, UINT64_MAX, e)) return false;
  v->size = c->source.size;
  v->mapped = v->size + 1;
  v->text = pages_map(v->mapped, c->text, "split the file, or save its numbers with numpy.save", e);
  return v->text && source_read(&c->source, 0, v->text, v->size, true, e);
}

static bool read_header(Column *c, Err *e) {
  Csv *v = c->csv;
  Reader r = {.c = c, .line = 1, .e = e};
  char word[WORD];
  double number;
  uint64_t n;
  bool numbers = false;
  if (v->size >= 3 && memcmp(v->text, "\xEF\xBB\xBF", 3) == 0) r.at = 3;
  for (; r.at < v->size && (v->text[r.at] == '\n' || v->text[r.at] == '\r'); r.at++)
    r.line += v->text[r.at] == '\n';
  const char *line = v->text + r.at, *end = memchr(line, '\n', v->size - r.at);
  size_t length = end ? (size_t)(end - line) : v->size - r.at;
  v->separator = has_tabs(c->text) ? '\t' : ',';
  if (v->separator == ',' && !memchr(line, ',', length) && memchr(line, ';', length))
    v->separator = ';';
  v->body = r.at, v->first_line = r.line;
  v->fields = calloc(FIELDS, sizeof *v->fields);
  if (!v->fields) return err_set(e, EXIT_ENV, "no memory for the columns of %s", c->text);
  if (!record(&r, v->fields, FIELDS, &n)) return false;
  v->ncolumns = n;
  for (uint64_t i = 0; i < v->ncolumns; i++)
    numbers = numbers || (plain(&v->fields[i], word) && real_of(word, &number));
  if (numbers || !v->ncolumns) return true;
  v->body = r.at, v->first_line = r.line;
  v->header = malloc(v->ncolumns * sizeof *v->header);
  if (!v->header) return err_set(e, EXIT_ENV, "no memory for the columns of %s", c->text);
  memcpy(v->header, v->fields, v->ncolumns * sizeof *v->header);
  return true;
}

static bool count_rows(Column *c, Err *e) {
  bool there = true;
  for (Reader r = body_of(c, e); there; c->all_rows += there)
    if (!row(&r, c->csv->fields, &there)) return false;
  return true;
}

bool csv_open(Column *c, char *columns, Err *e) {
  Csv *v = c->csv = calloc(1, sizeof *v);
  if (!v) return err_set(e, EXIT_ENV, "no memory to read %s", c->text);
  c->type = c->t->dtype == GC_BF16 || c->t->dtype == GC_F16 ? ELEM_F32 : (Elem)c->t->dtype;
  if (!read_text(c, e) || !read_header(c, e) || !choose(c, columns, e) || !count_rows(c, e) ||
      !collect_words(c, e))
    return false;
  c->total = c->all_rows * v->n;
  if (c->extents && !column_settle_count(c, c->extents, c->fixed ? c->total : v->n, e))
    return false;
  if (c->fixed ? c->total != c->row_elems : v->n != c->row_elems) return misfit(c, e);
  c->step = c->row_elems;
  if (c->fixed) c->all_rows = 1;
  return true;
}

static bool element(const Reader *r, uint64_t column, const char *s, void *to, uint64_t at) {
  const Column *c = r->c;
  uint64_t size = (uint64_t)elem_info[c->type].size, bad;
  uint8_t *place = (uint8_t *)to + at * size;
  double real;
  int64_t whole;
  char what[400];
  if (elem_info[c->type].cls == ELEM_FLOATS) {
    if (!real_of(s, &real)) return no_number(r, column, s);
    elem_convert(place, c->type, &real, ELEM_F64, 1);
    return true;
  }
  if (c->words.n || c->words.listed) {
    whole = words_find(&c->words, s);
    if (whole < 0) {
      snprintf(what, sizeof what, "'%.200s' is none of the words that were listed", s);
      return wrong_field(r, column, what, "list all words: FILE:NAME=WORD|WORD");
    }
  } else if (!whole_of(s, &whole)) {
    return no_number(r, column, s);
  }
  if (!elem_check(c->type, &whole, ELEM_I64, 1, &bad)) {
    snprintf(what, sizeof what, "%" PRId64 " is beyond the input %s (%s)", whole, c->t->name,
             elem_info[c->type].name);
    return wrong_field(r, column, what, "correct the file, or declare the input with a wider type");
  }
  elem_convert(place, c->type, &whole, ELEM_I64, 1);
  return true;
}

bool csv_read(const Column *c, uint64_t first, uint64_t rows, void *to, Err *e) {
  const Csv *v = c->csv;
  Reader r = body_of(c, e);
  char s[WORD];
  bool there;
  for (uint64_t i = 0; i < first + rows; i++) {
    if (!row(&r, v->fields, &there)) return false;
    for (uint64_t k = 0; k < v->n && i >= first; k++) {
      const Field *f = &v->fields[v->chosen[k]];
      if (!plain(f, s)) return no_word(&r, v->chosen[k], f);
      if (!element(&r, v->chosen[k], s, to, (i - first) * v->n + k)) return false;
    }
  }
  return true;
}

bool csv_same_columns(const Column *a, const Column *b, Err *e) {
  const Csv *x = a->csv, *y = b->csv;
  char one[WORD], other[WORD];
  for (uint64_t i = 0; i < x->n; i++) {
    if (strcmp(name_of(x, x->chosen[i], one), name_of(y, y->chosen[i], other)) == 0) continue;
    err_set(e, EXIT_WRONG, "%s: has the column %.100s where %s has %.100s", b->text, other, a->text,
            one);
    return err_hint(
        e, "files of a pattern have the same columns; choose them by name, FILE:NAME,NAME");
  }
  return true;
}

uint64_t csv_columns(const Column *c) { return c->csv->n; }

void csv_close(Column *c) {
  Csv *v = c->csv;
  if (v && v->text) munmap(v->text, v->mapped);
  if (v) v->text = NULL;
}

void csv_free(Column *c) {
  Csv *v = c->csv;
  if (!v) return;
  csv_close(c);
  free(v->header);
  free(v->fields);
  free(v->chosen);
  free(v);
  c->csv = NULL;
}
