/* All elements of a table of text, such as --OUTPUT FILE.csv writes. Contract: rows of the file are
   rows of a tensor; the elements have the file's order and memory of their own. */
#include "runtime/data/binding.h"
#include "runtime/data/rows.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool table_is(const char *text) {
  char *name = strdup(text), *columns;
  Suffixes s;
  if (!name) return false;
  suffixes_cut(name, &s, &columns);
  const bool is = csv_is(name);
  free(name);
  return is;
}

static uint64_t bytes_of(const Table *t) { return t->count * (uint64_t)elem_info[t->type].size; }

/* Lines apart, or of several windows, are not the rows of a tensor. */
static bool is_each_once(const Column *c, Err *e) {
  if (c->step == c->row_elems) return true;
  err_set(e, EXIT_WRONG, "%s: ~s takes windows of lines, but an output has each row once", c->text);
  return err_hint(e, "leave ~s out; FILE[a:b] chooses rows");
}

bool table_load(Table *t, const GcTensor *row, const char *text, const DataRequest *q, Err *e) {
  Column c;
  bool ok = column_open(&c, row, text, 1, NULL, q, e) && is_each_once(&c, e);
  if (ok) {
    *t = (Table){.type = c.type, .count = c.rows * c.row_elems};
    t->at = pages_map(bytes_of(t), text, "compare with an array, FILE.npy", e);
    c.begin = c.offset + c.first * c.step, c.end = c.begin + (c.rows - 1) * c.step + c.row_elems;
    ok = t->at && column_load(&c, t->at, e);
  }
  column_free(&c);
  return ok;
}

void table_free(Table *t) {
  if (t->at) munmap(t->at, bytes_of(t));
  t->at = NULL;
}
