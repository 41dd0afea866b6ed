/* Parses the language's own functions. Contract: elaboration changes no syntax tree, so all
   programs of a context share one: attempts with other multiples of an extent, an imported model
   and the program that uses it. Parsing it takes longer than the elaboration of a small program. */
#include "lang/elab/library.h"
#include "lang/elab/builtin/builtin.h"

const Library *library_of(Ctx *c) {
  const Library *known = ctx_library(c);
  if (known) return known;
  Library *l = ARENA_NEW(ctx_arena(c), Library);
  l->builtins = builtin_signatures(c);
  const char *name, *text;
  for (int k = 0; (text = prelude_text(c, k, &name)) != NULL; k++) {
    const Program *p = parse_text(c, name, text, strlen(text));
    if (!p) gc_bug(c, "the prelude does not parse");
    vec_push(ctx_arena(c), &l->prelude, p);
  }
  ctx_keep_library(c, l);
  return l;
}
