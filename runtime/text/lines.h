/* Lines of text as rows of tokens of one length, for classifiers of texts. Contract: a row has the
   tokens that the tokenizer puts around a text, and the line's own between them, cut at its end or
   followed by padding; an empty line is a row, too. */
#ifndef GCRT_LINES_H
#define GCRT_LINES_H
#include "runtime/tokens/tokenizer.h"

typedef struct Lines {
  Tokenizer *tokenizer;
  uint64_t length; /* of a row, more than the tokens around a text */
  uint32_t pad;
  uint64_t n, cut; /* rows so far, and those whose line was longer */
} Lines;
/* Appends the rows of a file's text; path: for messages. */
bool lines_add(Lines *l, const char *path, Slice text, Ids *out, Err *e);
#endif
