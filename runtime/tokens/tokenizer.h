/* Tokenizers as tokenizer.json describes them: text to numbers of tokens and back.
   Contract: the steps and their order are those of the package tokenizers; what a file asks for and
   is not known here is an error when it is read, so that no text is cut differently. A tokenizer
   serves one thread. */
#ifndef GCRT_TOKENIZER_H
#define GCRT_TOKENIZER_H
#include "runtime/tokens/vocab.h"

typedef struct Tokenizer Tokenizer;
/* NULL after an error. */
Tokenizer *tokenizer_read(const char *path, Err *e);
void tokenizer_free(Tokenizer *t);

/* Appends the tokens of a text; `around`: with those that the tokenizer puts before and behind it.
   False: it is not UTF-8, or there is no memory. */
bool tokenizer_encode(Tokenizer *t, Slice text, bool around, Ids *out, Err *e);
/* The same with the tokens around it, `most` at most, which those are fewer than: the text's own
   are cut at its end. *cut: they were. */
bool tokenizer_encode_part(Tokenizer *t, Slice text, uint64_t most, Ids *out, bool *cut, Err *e);
uint64_t tokenizer_around(const Tokenizer *t); /* how many tokens it puts around a text */
/* Appends the text of tokens, without special ones. */
bool tokenizer_decode(Tokenizer *t, const uint32_t *ids, uint64_t n, Text *out, Err *e);

uint32_t tokenizer_id(const Tokenizer *t, Slice token); /* NO_TOKEN: there is none */
uint32_t tokenizer_size(const Tokenizer *t);            /* all numbers are below */
#endif
