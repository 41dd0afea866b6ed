/* A text that functions print into memory, as into any FILE.
   Contract: opened, printed to, closed; the text lives until it is freed, or was interned.
   Exhausted memory ends the process, as an arena's does. */
#ifndef GC_IR_MEMFILE_H
#define GC_IR_MEMFILE_H
#include "ir/support/ctx.h"

typedef struct MemFile {
  FILE *f;
  char *text; /* after memfile_close; ends in a zero byte that n does not count */
  size_t n;
} MemFile;

FILE *memfile_open(MemFile *m);
void memfile_close(MemFile *m);
void memfile_free(MemFile *m);
const char *memfile_intern(Ctx *c, MemFile *m); /* closes and frees */
#endif
