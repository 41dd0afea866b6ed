/* A context for the next text, of a fuzzer that elaborates programs: one serves many texts, which
   share the parsed prelude, so that a run's time goes to the texts. Its errors count from 0. */
#ifndef GC_TESTS_FUZZ_CONTEXT_H
#define GC_TESTS_FUZZ_CONTEXT_H
#include "ir/support/ctx.h"

typedef struct FuzzContext {
  Ctx *c;
  Attempt before; /* any text */
  int texts;      /* that had it */
} FuzzContext;

Ctx *fuzz_context_begin(FuzzContext *f, FILE *stream);
void fuzz_context_end(FuzzContext *f);
#endif
