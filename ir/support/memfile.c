/* See memfile.h. */
#include "ir/support/memfile.h"

#include <stdlib.h>

FILE *memfile_open(MemFile *m) {
  *m = (MemFile){0};
  m->f = open_memstream(&m->text, &m->n);
  if (!m->f) out_of_memory();
  return m->f;
}

void memfile_close(MemFile *m) {
  bool whole = !ferror(m->f);
  if (fclose(m->f) != 0 || !whole) out_of_memory();
  m->f = NULL;
}

void memfile_free(MemFile *m) { free(m->text); }

const char *memfile_intern(Ctx *c, MemFile *m) {
  memfile_close(m);
  const char *s = intern_n(c, m->text, m->n);
  memfile_free(m);
  return s;
}
