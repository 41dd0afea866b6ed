/* A module through the rest of the compiler, as the command takes it: passes, plan, C source. */
#ifndef GC_TESTS_FUZZ_THROUGH_H
#define GC_TESTS_FUZZ_THROUGH_H
#include "codegen/cpu/target.h"

typedef struct Through {
  Ctx *c; /* of the target alone; asking the C compiler once is enough */
  const Target *target;
  FILE *nothing;
} Through;

void through_open(Through *t);

/* Verifies, runs a pipeline that the text itself chooses, proves the plan, prints everything that
   can be printed. False where the program is refused with a diagnostic; frees the module. */
bool through(Through *t, Module *m, uint32_t choice);
/* The text of a .g file as far as it comes: an index of through_source_stages. */
int through_source(Through *t, const char *text, size_t n);
extern const char *const through_source_stages[];
#endif
