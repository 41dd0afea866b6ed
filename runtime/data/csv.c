/* CSV: a file of text with one row per line, whose columns an input takes by name. A first line
   without any number is the header. Contract: csv_open reads the text, settles columns, rows and
   words, and keeps it; csv_read makes elements of the input's own type (f32 for bf16); csv_free
   gives the text back. Sizes are the file's. */
#include "runtime/data/csv.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WORDS = 1000 };

/* ---- words ---- */
/* A column of integers that begins with a word holds words, numbered in their order. 1,234 is none.
 */
static bool collect_words(Column *c, Err *e) {
  Csv *v = c->csv;
  char word[WORD];
  int64_t number;
  bool there = true;
  Words *words = &c->words;
  if (words->listed || v->n != 1 || elem_info[c->t->dtype].cls == ELEM_FLOATS) return true;
  const Words *known = c->request ? labels_find(c->request->labels, c->t->name) : NULL;
  for (CsvReader r = csv_body(c, e); there;) {
    if (!csv_row(&r, v->fields, &there)) return false;
    if (!there) break;
    const Field *f = &v->fields[v->chosen[0]];
    if (!csv_plain(f, word)) return csv_no_word(&r, v->chosen[0], f);
    if (!words->n &&
        (!*word || csv_whole(word, &number) || csv_real(word, &(double){0}) || csv_grouped(word)))
      return true; /* what is wrong about it is said when it is read */
    if (known) return words_copy(words, known, e);
    if (!*word) return csv_no_number(&r, v->chosen[0], word);
    if (csv_whole(word, &number)) return csv_no_number(&r, v->chosen[0], word);
    if (words_find(words, word) >= 0) continue;
    if (words->n == WORDS)
      return csv_wrong_field(&r, v->chosen[0], "it has more than 1000 words",
                             "choose the column of the labels with FILE:NAME");
    if (!words_add(words, word, e)) return false;
  }
  (void)csv_name(v, v->chosen[0], words->name);
  words_sort(words);
  return true;
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

/* Text in units of two bytes, as spreadsheets save "Unicode text": it begins with a byte order
   mark, or with a character of ASCII, whose other byte is 0. The name for iconv; NULL: it is none.
 */
static const char *utf16_of(const char *s, uint64_t n) {
  if (n < 2) return NULL;
  if (memcmp(s, "\xFF\xFE", 2) == 0 || memcmp(s, "\xFE\xFF", 2) == 0) return "UTF-16";
  return !s[0] == !s[1] ? NULL : s[0] ? "UTF-16LE" : "UTF-16BE";
}

static bool read_header(Column *c, Err *e) {
  Csv *v = c->csv;
  CsvReader r = {.c = c, .line = 1, .e = e};
  char word[WORD];
  double number;
  uint64_t n;
  bool numbers = false;
  const char *utf16 = utf16_of(v->text, v->size);
  if (utf16) {
    err_set(e, EXIT_WRONG, "%s: is UTF-16; tables are read as UTF-8", c->text);
    return err_hint(e, "save it as UTF-8, or convert it: iconv -f %s -t UTF-8 %s >new.csv", utf16,
                    c->text);
  }
  if (v->size >= 3 && memcmp(v->text, "\xEF\xBB\xBF", 3) == 0) r.at = 3;
  for (; r.at < v->size && (v->text[r.at] == '\n' || v->text[r.at] == '\r'); r.at++)
    r.line += v->text[r.at] == '\n';
  v->separator = csv_has_tabs(c->text) ? '\t' : csv_separator(v->text + r.at, v->text + v->size);
  v->body = r.at, v->first_line = r.line;
  v->fields = calloc(FIELDS, sizeof *v->fields);
  if (!v->fields) return err_set(e, EXIT_ENV, "no memory for the columns of %s", c->text);
  if (!csv_record(&r, v->fields, FIELDS, &n)) return false;
  v->ncolumns = n;
  for (uint64_t i = 0; i < v->ncolumns; i++)
    numbers = numbers || (csv_plain(&v->fields[i], word) && csv_real(word, &number));
  CsvHeader wanted = c->request ? c->request->header : HEADER_GUESSED;
  v->unsure = wanted == HEADER_GUESSED;
  if (wanted == HEADER_NO || (numbers && wanted != HEADER_YES) || !v->ncolumns) return true;
  v->body = r.at, v->first_line = r.line;
  v->header = malloc(v->ncolumns * sizeof *v->header);
  if (!v->header) return err_set(e, EXIT_ENV, "no memory for the columns of %s", c->text);
  memcpy(v->header, v->fields, v->ncolumns * sizeof *v->header);
  if (v->unsure && !csv_record(&r, v->fields, FIELDS, &n)) return false;
  v->unsure = v->unsure && n > 0;
  for (uint64_t i = 0; i < n && v->unsure; i++) /* a line of words may be a row as well */
    v->unsure = !csv_plain(&v->fields[i], word) || !csv_real(word, &number);
  return true;
}

bool csv_note(const Column *c, char *out, size_t size) {
  const Csv *v = c->parts ? c->parts[0].csv : c->csv;
  if (!v || !v->unsure) return false;
  if (v->header)
    snprintf(out, size,
             "%s: its first line is taken as a header; --csv-header no reads it as a row", c->text);
  else
    snprintf(out, size,
             "%s: has no header, since its first line holds numbers; --csv-header yes reads it as "
             "one",
             c->text);
  return true;
}

static bool count_rows(Column *c, Err *e) {
  bool there = true;
  for (CsvReader r = csv_body(c, e); there; c->all_rows += there)
    if (!csv_row(&r, c->csv->fields, &there)) return false;
  return true;
}

/* Of an input without a batch: the rows and columns of a table are its axes, as those of an array
   are, or its first one and all others; or all elements stand in one row or column. */
static bool settle_whole(Column *c, Err *e) {
  const uint64_t n = c->csv->n, dims[] = {c->all_rows, n};
  uint64_t axes[RUN_RANK];
  const bool line = n == 1 || c->all_rows == 1, same = !line && column_axes(c, 2, dims, axes);
  if (c->extents && !(same ? column_settle_dims(c, c->extents, c->t->rank, axes, e)
                           : column_settle_count(c, c->extents, c->total, e)))
    return false;
  const bool fits = line || same || n == tensor_row_elems(c->t);
  return (fits && c->total == c->row_elems) || csv_misfit(c, e);
}

static bool settle_rows(Column *c, Err *e) {
  if (c->extents && !column_settle_count(c, c->extents, c->csv->n, e)) return false;
  return c->csv->n == c->row_elems || csv_misfit(c, e);
}

bool csv_is_of_lines(const GcTensor *t, uint64_t n) {
  uint64_t inner = 1;
  for (int i = t->rank; inner < n && i-- > 1;) inner *= (uint64_t)t->dims[i];
  return inner == n;
}

/* Rows are windows of lines: from line k on, s lines apart, or side by side. */
static bool settle_windows(Column *c, const Suffixes *s, Err *e) {
  const uint64_t n = c->csv->n;
  uint64_t step = 0, offset = 0;
  if (c->extents) column_at_bounds(c, c->extents);
  if (c->fixed) {
    err_set(e, EXIT_WRONG, "%s: windows are rows, and the input %s has no batch axis", c->text,
            c->t->name);
    return err_hint(e, "leave +k and ~s out");
  }
  if (!csv_is_of_lines(c->t, n)) {
    err_set(e, EXIT_WRONG,
            "%s: a line has %" PRIu64 " column%s, but the last axis of the input %s is %" PRId64,
            c->text, n, n == 1 ? "" : "s", c->t->name, c->t->dims[c->t->rank - 1]);
    return err_hint(e, "choose the columns of a line: %s:NAME,NAME…~1", c->text);
  }
  c->line = n;
  if (!checked_mul(s->step ? s->s : c->row_elems / n, n, &step) ||
      (s->offset && !checked_mul(s->k, n, &offset)))
    step = 0;
  c->step = step ? step : c->total + 1;
  c->offset = step ? offset : c->total;
  c->all_rows = 0;
  if (c->total >= c->offset && c->total - c->offset >= c->row_elems)
    c->all_rows = (c->total - c->offset - c->row_elems) / c->step + 1;
  return true;
}

bool csv_open(Column *c, const Suffixes *given, char *columns, Err *e) {
  Suffixes s = *given;
  Csv *v = c->csv = calloc(1, sizeof *v);
  if (!v) return err_set(e, EXIT_ENV, "no memory to read %s", c->text);
  v->any_float = c->request && c->request->of_output;
  c->type = c->t->dtype == GC_BF16 || c->t->dtype == GC_F16 ? ELEM_F32 : (Elem)c->t->dtype;
  if (!read_text(c, e) || !read_header(c, e)) return false;
  if (columns) csv_cut_windows(c, columns, &s);
  if (columns && !*columns) columns = NULL; /* FILE:~1 is FILE~1 */
  if (!csv_choose(c, columns, e) || !count_rows(c, e)) return false;
  c->total = c->all_rows * v->n;
  if (s.offset || s.step) return settle_windows(c, &s, e) && collect_words(c, e);
  if (!(c->fixed ? settle_whole : settle_rows)(c, e)) return false;
  if (!collect_words(c, e)) return false;
  c->step = c->row_elems;
  if (c->fixed)
    c->all_rows = 1;
  else
    c->line = v->n;
  return true;
}

/* As a table that a program wrote has it. */
static bool not_finite(const char *s, double *v) {
  static const char *const words[] = {"nan", "-nan", "inf", "-inf"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(s, words[i]) == 0) {
      *v = strtod(s, NULL);
      return true;
    }
  return false;
}

/* A number that the input's type does not hold. */
static bool beyond(const CsvReader *r, uint64_t column, const char *number) {
  char what[400];
  snprintf(what, sizeof what, "%.200s is beyond the %s %s (%s)", number, column_side(r->c),
           r->c->t->name, elem_info[r->c->t->dtype].name);
  return csv_wrong_field(r, column, what,
                         "correct the file, or declare the input with a wider type");
}

/* It would be infinite in the input's own type, which may be narrower than what is read. */
static bool overflows(Elem to, double real) {
  const double least = 65520; /* of f16; the others hold more */
  if (fabs(real) < least || isinf(real)) return false;
  uint8_t kept[sizeof real];
  double back;
  elem_convert(kept, to, &real, ELEM_F64, 1);
  elem_convert(&back, ELEM_F64, kept, to, 1);
  return isinf(back);
}

static bool element(const CsvReader *r, uint64_t column, const char *s, void *to, uint64_t at) {
  const Column *c = r->c;
  uint64_t size = (uint64_t)elem_info[c->type].size, bad;
  uint8_t *place = (uint8_t *)to + at * size;
  double real;
  int64_t whole;
  char what[400];
  if (elem_info[c->type].cls == ELEM_FLOATS) {
    if (!csv_real(s, &real) && !(c->csv->any_float && not_finite(s, &real)))
      return csv_no_number(r, column, s);
    if (overflows((Elem)c->t->dtype, real)) return beyond(r, column, s);
    elem_convert(place, c->type, &real, ELEM_F64, 1);
    return true;
  }
  if (c->words.n || c->words.listed) {
    whole = words_find(&c->words, s);
    if (whole < 0) {
      if (c->words.from) {
        snprintf(what, sizeof what, "'%.100s' is none of the words that %.150s has for %.60s", s,
                 c->words.from, c->t->name);
        (void)csv_wrong_field(r, column, what, "");
        r->e->hint[0] = 0;
        return words_hint(&c->words, r->e);
      }
      snprintf(what, sizeof what, "'%.200s' is none of the words that were listed", s);
      return csv_wrong_field(r, column, what, "list all words: FILE:NAME=WORD|WORD");
    }
  } else if (!csv_whole(s, &whole)) {
    return csv_no_number(r, column, s);
  }
  if (!elem_check(c->type, &whole, ELEM_I64, 1, &bad)) {
    snprintf(what, sizeof what, "%" PRId64, whole);
    return beyond(r, column, what);
  }
  elem_convert(place, c->type, &whole, ELEM_I64, 1);
  return true;
}

bool csv_read(const Column *c, uint64_t first, uint64_t rows, void *to, Err *e) {
  const Csv *v = c->csv;
  CsvReader r = csv_body(c, e);
  char s[WORD];
  bool there;
  for (uint64_t i = 0; i < first + rows; i++) {
    if (!csv_row(&r, v->fields, &there)) return false;
    for (uint64_t k = 0; k < v->n && i >= first; k++) {
      const Field *f = &v->fields[v->chosen[k]];
      if (!csv_plain(f, s)) return csv_no_word(&r, v->chosen[k], f);
      if (!element(&r, v->chosen[k], s, to, (i - first) * v->n + k)) return false;
    }
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
