/* The text of an answer while its tokens come: whole characters alone are shown, and nothing of a
   string that ends it. */
#ifndef GCRT_ANSWER_H
#define GCRT_ANSWER_H
#include "runtime/tokens/tokenizer.h"

typedef struct Answer {
  Tokenizer *tokenizer;
  const char *const *stops;
  uint64_t nstops;
  uint64_t shown, begin; /* tokens whose text is out; from `begin` on they are decoded together */
  Text pending;          /* text that is held back: a stop may begin in it */
  Text before, now;
} Answer;
void answer_begin(Answer *a); /* the tokens of a new answer come */
/* All tokens of the answer so far; *out gets what can be shown. *stopped: a stop has come. */
bool answer_more(Answer *a, const Ids *tokens, uint64_t first, Text *out, bool *stopped, Err *e);
bool answer_end(Answer *a, const Ids *tokens, uint64_t first, Text *out, Err *e); /* the rest */
void answer_free(Answer *a);
#endif
