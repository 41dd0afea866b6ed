/* The text of CSV files: records and fields by RFC 4180. Fields in double quotes may hold
   separators, line ends and doubled quotes. Contract: a place in the text is a CsvReader; messages
   name line and column; a signal is heard between lines. */
#include "runtime/data/csv.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool ends_in(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n > m && strcasecmp(path + n - m, end) == 0;
}

bool csv_has_tabs(const char *path) { return ends_in(path, ".tsv") || ends_in(path, ".tsv.gz"); }

bool csv_is(const char *path) {
  return csv_has_tabs(path) || ends_in(path, ".csv") || ends_in(path, ".csv.gz");
}

/* ---- records ---- */
static bool misquoted(CsvReader *r, const char *what) {
  err_set(r->e, EXIT_WRONG, "%s: line %" PRIu64 ": %s", r->c->text, r->begun, what);
  return err_hint(r->e, "a quote within a field in quotes is written twice");
}

static bool field(CsvReader *r, Field *f) {
  const Csv *v = r->c->csv;
  const char *s = v->text, *end = s + v->size, *p = s + r->at;
  *f = (Field){.p = p, .quoted = p < end && *p == '"'};
  if (f->quoted) {
    for (f->p = ++p; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
      if (*p == '"') p++;
      if (*p == '\n') r->line++;
    }
    if (p >= end) return misquoted(r, "a quote is not closed");
    f->n = (uint64_t)(p++ - f->p);
    if (p < end && *p != v->separator && *p != '\n' && *p != '\r')
      return misquoted(r, "text follows the quote that ends a field");
  } else {
    while (p < end && *p != v->separator && *p != '\n' && *p != '\r') p++;
    f->n = (uint64_t)(p - f->p);
  }
  r->at = (uint64_t)(p - s);
  return true;
}

static bool is_end(const CsvReader *r) {
  const Csv *v = r->c->csv;
  uint64_t at = r->at;
  while (at < v->size && (v->text[at] == '\n' || v->text[at] == '\r')) at++;
  return at == v->size;
}

/* The next record, up to `most` fields; *n 0: there is none. A blank line is no record, but for an
   empty field of a file of one column, unless only such lines follow. */
bool csv_record(CsvReader *r, Field *fields, uint64_t most, uint64_t *n) {
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

char csv_separator(const char *line, const char *end) {
  static const char all[] = ",;\t";
  uint64_t found[sizeof all] = {0};
  bool quoted = false, begins = true; /* a quote in the midst of a field is one of its bytes */
  for (; line < end && (quoted || *line != '\n'); line++) {
    if (quoted && *line == '"' && line + 1 < end && line[1] == '"')
      line++;
    else if (quoted || (begins && *line == '"'))
      quoted = !quoted || *line != '"';
    const char *which = *line && !quoted ? strchr(all, *line) : NULL;
    if (which) found[which - all]++;
    begins = which != NULL;
  }
  for (int i = 0; all[i]; i++)
    if (found[i]) return all[i];
  return ',';
}

CsvReader csv_body(const Column *c, Err *e) {
  const Csv *v = c->csv;
  return (CsvReader){.c = c, .at = v->body, .line = v->first_line, .e = e};
}

/* One with as many fields as the first. */
bool csv_row(CsvReader *r, Field *fields, bool *there) {
  const Csv *v = r->c->csv;
  uint64_t n;
  if (!csv_record(r, fields, FIELDS, &n)) return false;
  *there = n > 0;
  if (!n || n == v->ncolumns) return true;
  err_set(r->e, EXIT_WRONG, "%s: line %" PRIu64 " has %" PRIu64 " field%s, but the first %" PRIu64,
          r->c->text, r->begun, n, n == 1 ? "" : "s", v->ncolumns);
  if (v->separator == ',' && n == 2 * v->ncolumns)
    return err_hint(r->e, "commas separate fields: write numbers with decimal points, or put what "
                          "has a comma in it in quotes");
  return err_hint(r->e, "a field with a separator in it needs quotes; correct the file");
}

/* ---- fields ---- */

/* Without blanks around, as a string; false: it is too long for a number or a word, or no text. */
bool csv_plain(const Field *f, char out[WORD]) {
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

bool csv_real(const char *s, double *v) {
  char *end;
  if (!*s || strspn(s, "+-.0123456789eE") != strlen(s)) return false;
  *v = strtod(s, &end);
  return end != s && !*end && isfinite(*v);
}

bool csv_whole(const char *s, int64_t *v) {
  char *end;
  double d;
  if (!csv_real(s, &d)) return false;
  errno = 0;
  *v = strtoll(s, &end, 10);
  if (!*end && errno == 0) return true;
  if (!(fabs(d) < 0x1p53) || d != trunc(d)) return false;
  *v = (int64_t)d;
  return true;
}

const char *csv_name(const Csv *v, uint64_t column, char out[WORD]) {
  if (!v->header || !csv_plain(&v->header[column], out))
    snprintf(out, WORD, "%" PRIu64, column + 1);
  return out;
}

bool csv_wrong_field(const CsvReader *r, uint64_t column, const char *what, const char *hint) {
  char name[WORD];
  err_set(r->e, EXIT_WRONG, "%s: line %" PRIu64 ", column %.100s: %.300s", r->c->text, r->begun,
          csv_name(r->c->csv, column, name), what);
  return err_hint(r->e, "%s", hint);
}

bool csv_no_word(const CsvReader *r, uint64_t column, const Field *f) {
  if (memchr(f->p, 0, f->n))
    return csv_wrong_field(r, column, "the field has a byte 0 in it",
                           "save the file as UTF-8 text");
  return csv_wrong_field(r, column, "the field has more than 255 bytes",
                         "choose columns of numbers or labels with FILE:NAME,NAME");
}

/* The number with a point in the place of the mark at `point`, NULL if it has none, and without
   the marks of one kind that separate groups of three digits; false: it is none. */
static bool as_written_here(const char *s, const char *point, char out[WORD]) {
  const char *first = s + strspn(s, "+-"), *mark = NULL;
  size_t n = 0;
  double real;
  for (const char *p = s; *p; p++) {
    if (p == point || (*p != ',' && *p != '.')) {
      out[n++] = p == point ? '.' : *p;
      continue;
    }
    if (point && (p > point || *p == *point)) return false;
    if (mark ? *mark != *p : p == first || p > first + 3) return false;
    if (strspn(p + 1, "0123456789") != 3) return false;
    mark = p;
  }
  out[n] = 0;
  return csv_real(out, &real);
}

/* The bytes of a blank or a sign of currency at p; 0: there is none. */
static size_t mark_at(const char *p, bool blank) {
  static const char *const blanks[] = {" ", "\u00a0", "\u202f", "'"}, *const signs[] = {
                                                                          "$", "\u20ac", "\u00a3",
                                                                          "\u00a5"};
  for (int i = 0; i < 4; i++) {
    const char *mark = blank ? blanks[i] : signs[i];
    if (strncmp(p, mark, strlen(mark)) == 0) return strlen(mark);
  }
  return 0;
}

/* Without a sign of currency at either end and without blanks, or apostrophes, between groups of
   three digits; false: it has neither. */
static bool without_marks(const char *s, char out[WORD]) {
  const size_t sign = strspn(s, "+-");
  size_t n = 0, mark;
  bool any = false;
  if (strlen(s) >= WORD) return false;
  for (const char *p = s; *p; p += mark ? mark : 1) {
    const bool front = p == s + sign, digit = p > s && p[-1] >= '0' && p[-1] <= '9';
    if ((mark = mark_at(p, false)) && (front || !p[mark])) {
      any = true;
      while (mark_at(p + mark, true)) mark += mark_at(p + mark, true);
    } else if ((mark = mark_at(p, true)) &&
               ((digit && strspn(p + mark, "0123456789") == 3) ||
                (mark_at(p + mark, false) && !p[mark + mark_at(p + mark, false)]))) {
      any = true;
    } else {
      mark = 0;
      out[n++] = *p;
    }
  }
  out[n] = 0;
  return any;
}

bool csv_grouped(const char *s) {
  char bare[WORD], plain[WORD];
  double real;
  if (without_marks(s, bare)) return csv_real(bare, &real) || as_written_here(bare, NULL, plain);
  return strpbrk(s, ",.") && strlen(s) < WORD && as_written_here(s, NULL, plain);
}

/* Of a number with a sign of currency or with blanks in it: how to write it. */
static bool marks_hint(const char *s, char *hint, size_t size) {
  const char *last = NULL;
  char bare[WORD], plain[WORD];
  double real;
  if (!without_marks(s, bare)) return false;
  for (const char *p = bare; (p = strpbrk(p, ",.")); p++) last = p;
  if (!csv_real(bare, &real) && !as_written_here(bare, NULL, plain) &&
      !(last && as_written_here(bare, last, plain)))
    return false;
  snprintf(hint, size,
           "numbers have no signs of currency and no separators of thousands: write %.200s",
           csv_real(bare, &real) ? bare : plain);
  return true;
}

/* Of a number with decimal commas or separators of thousands: how to write it. */
static bool notation_hint(const char *s, bool floats, char *hint, size_t size) {
  const char *last = NULL;
  char point[WORD], none[WORD];
  for (const char *p = s; (p = strpbrk(p, ",.")); p++) last = p;
  double real;
  if (!last || strlen(s) >= WORD || csv_real(s, &real)) return false;
  const bool decimal = as_written_here(s, last, point), whole = as_written_here(s, NULL, none);
  if (decimal && whole && floats)
    snprintf(hint, size,
             "write %.100s if the comma is a decimal point, %.100s if it separates thousands",
             point, none);
  else if (decimal && !whole && last == strpbrk(s, ",."))
    snprintf(hint, size,
             "numbers have decimal points: write %.200s; of a file with semicolons or tabs between "
             "fields, sed 's/,/./g' does it",
             point);
  else if (decimal || whole)
    snprintf(hint, size, "numbers have decimal points and no separators of thousands: write %.200s",
             whole ? none : point);
  return decimal || whole;
}

static bool is_missing(const char *s) {
  static const char *const words[] = {"na", "n/a", "nan", "null", "none", "?", "-"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcasecmp(s, words[i]) == 0) return true;
  return false;
}

bool csv_no_number(const CsvReader *r, uint64_t column, const char *s) {
  char what[400];
  if (!*s)
    return csv_wrong_field(r, column, "the field is empty", "fill it in, or leave the line out");
  bool floats = elem_info[r->c->t->dtype].cls == ELEM_FLOATS;
  int64_t whole;
  double real;
  if (!floats && csv_whole(s, &whole)) {
    snprintf(what, sizeof what, "'%.200s' is a number among words", s);
    return csv_wrong_field(r, column, what, "a column of labels holds words alone, or numbers");
  }
  snprintf(what, sizeof what, "'%.200s' is no %snumber", s, floats ? "" : "whole ");
  char hint[400];
  if (marks_hint(s, hint, sizeof hint) || notation_hint(s, floats, hint, sizeof hint))
    return csv_wrong_field(r, column, what, hint);
  if (floats && is_missing(s))
    return csv_wrong_field(r, column, what,
                           "correct the file: a missing value needs a number, as the mean of its "
                           "column, or the line is left out");
  return csv_wrong_field(r, column, what,
                         floats ? "correct the file, or choose other columns with FILE:NAME,NAME; "
                                  "words are numbered in an input of integers"
                         : csv_real(s, &real)
                             ? "correct the file, or declare the input with a type of floats"
                         : r->c->csv->n > 1 ? "words are numbered in an input of one column"
                                            : "numbers and words are mixed in this column");
}
