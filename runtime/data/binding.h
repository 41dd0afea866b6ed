/* How a file is bound to an input: what stands behind its name, and what it then holds. */
#ifndef GCRT_BINDING_H
#define GCRT_BINDING_H
#include "runtime/data/dataset.h"

struct Suffixes {
  bool range, offset, step, type;
  int64_t from, to; /* of [a:b], negative ones from the end */
  bool has_from, has_to;
  uint64_t k, s;
  Elem elem;
};

/* ---- suffix.c ---- */
/* Cuts the last +k or ~s of the text into *s, if it has not been given before; false: there is
   none. */
bool suffix_cut_window(char *text, Suffixes *s);
/* Cuts all suffixes off the text, unless there is a file of that name; *columns: those of CSV, in
   the text, or NULL. */
void suffixes_cut(char *text, Suffixes *s, char **columns);
/* False, with an error: no file has the whole name, but one the name in front of a suffix that is
   none. */
bool suffix_is_known(const char *text, Err *e);
/* Those of so many rows that [a:b] chooses; all without it. */
bool suffix_rows(const Suffixes *s, uint64_t all, const char *path, uint64_t *first, uint64_t *rows,
                 Err *e);

/* ---- binding.c ---- */
/* One file, whose path is the column's text. */
bool column_open_file(Column *c, const Suffixes *s, char *columns, Err *e);
/* Rows are windows of all elements, from element k on, s elements apart. */
bool column_take_windows(Column *c, const Suffixes *s, Err *e);

/* ---- parts.c: several files as one, by a pattern ---- */
bool parts_are(const char *path);
bool parts_open(Column *c, const Suffixes *s, const char *columns, Err *e);
#endif
