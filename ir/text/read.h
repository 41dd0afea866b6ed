/* Between the parts of the reader of IR text: read_word.c reads words, numbers and places,
   read_type.c types, read_op.c values and ops, read.c blocks, entries and globals. Every function
   that returns bool has reported why when it fails. */
#ifndef GC_IR_READ_H
#define GC_IR_READ_H
#include "ir/text/names.h"

typedef struct Span {
  const char *at;
  size_t len;
  Loc loc;
} Span;

typedef struct Reader {
  Ctx *c;
  Module *m;
  Arena *scratch;
  const char *p, *end, *line_start;
  uint32_t line;
  uint16_t file;
  const char *place_name; /* of the last place read, interned, and its index */
  uint16_t place_file;
  /* of the entry that is read */
  Entry *e;
  Builder *b;
  Names *names;
  Map values; /* by the interned name that its text has */
  int depth;
  bool failed;
} Reader;

/* Reports the first error only: what follows from it is noise. The value is false. */
#define FAIL(R, LOC, ...)                                                                          \
  ((R)->failed ? (void)0 : diag((R)->c, SEV_ERROR, LOC, __VA_ARGS__), (R)->failed = true, false)

/* ---- characters and words ---- */
Loc read_loc(const Reader *r, const char *p, size_t len);
void read_blanks(Reader *r); /* and comments */
bool read_next_is(Reader *r, char c);
bool read_take(Reader *r, char c); /* reads c if it is next */
bool read_expect(Reader *r, char c, const char *after);
/* What stands here, for messages: a word, or one character. */
const char *read_found(Reader *r);
/* A word of letters, digits and _, if one stands here; reports nothing. */
bool read_word(Reader *r, Span *out);
bool span_is(Span s, const char *text);
bool read_string(Reader *r, const char **out); /* interned */
/* The name behind a sigil, which the caller has seen; interned. */
bool read_name(Reader *r, const char **out, Loc *loc);

/* ---- numbers ---- */
/* Text of a number, copied so that it ends in a zero byte. */
bool read_number(Reader *r, const char **out, Loc *loc);
bool read_to_int(Reader *r, const char *text, Loc loc, int64_t *out);
bool read_to_float(Reader *r, const char *text, Loc loc, double *out);
bool read_integer(Reader *r, int64_t *out);
/* Integers up to the closing bracket; the opening one is read. */
typedef VEC(int64_t) IntList;
bool read_integers(Reader *r, IntList *list);

/* ---- read_type.c ---- */
bool read_type(Reader *r, const Type **out, const Layout **layout);

/* ---- places ---- */
/* A place, if one stands here; nothing is read if not. */
bool read_place(Reader *r, Loc *out);
/* A scope, if one stands here. */
bool read_scope(Reader *r, const char **out);
/* Whether this word stands here, and then reads it. */
bool read_flag(Reader *r, const char *word);

/* ---- read_op.c ---- */
/* Gives a value the name from which the printer makes this text, and enters it. */
bool read_define(Reader *r, const char *text, Loc loc, ValueId v);
bool read_op(Reader *r, OpKind *kind); /* with its blocks */

/* ---- read.c ---- */
bool read_arguments(Reader *r, Block *b);
bool read_block(Reader *r, Block *b, bool nested);
#endif
