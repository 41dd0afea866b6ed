/* What the files of CSV share: a text, its records and fields, and the columns of an input. */
#ifndef GCRT_CSV_H
#define GCRT_CSV_H
#include "runtime/data/binding.h"

enum { FIELDS = 1 << 16 /* of a record, at most */ };

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
  uint64_t *chosen, n;  /* columns of the input */
  uint64_t body;        /* where the records begin */
  uint64_t first_line;  /* of them */
  bool unsure;          /* whether the first line is a header */
  const Words *renamed; /* other names that the columns had in the training; NULL: none */
  bool any_float;       /* nan and inf are numbers */
};

typedef struct CsvReader { /* a place in the text */
  const Column *c;
  uint64_t at, line, begun; /* line of the next record and of the one at hand, from 1 */
  Err *e;
} CsvReader;

/* ---- csv_text.c ---- */
/* Of a first line: a comma, else a semicolon, else a tab, as there is one outside of quotes. */
char csv_separator(const char *line, const char *end);
CsvReader csv_body(const Column *c, Err *e);
/* The next record, up to `most` fields; *n 0: there is none. */
bool csv_record(CsvReader *r, Field *fields, uint64_t most, uint64_t *n);
/* One with as many fields as the first. */
bool csv_row(CsvReader *r, Field *fields, bool *there);
/* Without blanks around, as a string; false: it is too long for a number or a word, or no text. */
bool csv_plain(const Field *f, char out[WORD]);
bool csv_real(const char *s, double *v);
bool csv_whole(const char *s, int64_t *v);
/* A number with separators of thousands: 1,234. */
bool csv_grouped(const char *s);
const char *csv_name(const Csv *v, uint64_t column, char out[WORD]);
/* Errors at a field of the record at hand; false. */
bool csv_wrong_field(const CsvReader *r, uint64_t column, const char *what, const char *hint);
bool csv_no_word(const CsvReader *r, uint64_t column, const Field *f);
bool csv_no_number(const CsvReader *r, uint64_t column, const char *s);

/* ---- csv_columns.c ---- */
#define CSV_MARKS ",=" /* what separates names of columns, beside ".." */
/* A name or a word as the user writes it: in quotes if one of the marks is in it. */
void csv_quoted(const char *name, const char *marks, char *out, size_t size);
/* Cuts +k and ~s off what stands behind the columns, unless a column has that name. */
void csv_cut_windows(const Column *c, char *text, Suffixes *s);
/* "a,b..d,e" or, of labels, "a=word|word"; NULL: all. */
bool csv_choose(Column *c, char *text, Err *e);
/* A row is lines of n elements, which are what its last axes have. */
bool csv_is_of_lines(const GcTensor *t, uint64_t n);
bool csv_misfit(const Column *c, Err *e); /* the chosen ones are not as many as a row has */
#endif
