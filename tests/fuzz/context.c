/* See context.h. A context keeps what its texts interned, so it is freed after some of them; the
   number is small enough to meet, in a run of any length, texts that a context has first and last.
 */
#include "tests/fuzz/context.h"

enum { TEXTS_A_CONTEXT = 50 };

Ctx *fuzz_context_begin(FuzzContext *f, FILE *stream) {
  if (!f->c) f->c = ctx_new();
  f->before = ctx_attempt(f->c);
  ctx_set_stream(f->c, stream);
  return f->c;
}

void fuzz_context_end(FuzzContext *f) {
  ctx_attempt_end(f->c, &f->before);
  if (++f->texts < TEXTS_A_CONTEXT) return;
  ctx_free(f->c);
  *f = (FuzzContext){0};
}
