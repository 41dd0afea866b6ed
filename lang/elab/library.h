/* The functions of the language itself, parsed: the built-in ones' signatures and the prelude. */
#ifndef GC_LANG_LIBRARY_H
#define GC_LANG_LIBRARY_H
#include "ir/support/arena.h"
#include "ir/support/ctx.h"
#include "lang/syntax/ast.h"

typedef struct Library {
  const Program *builtins;      /* a def without a body for each row of builtins.def */
  VEC(const Program *) prelude; /* its files, whose numbers as sources follow one another */
} Library;

const Library *library_of(Ctx *c); /* parsed at the first call for this context */
#endif
