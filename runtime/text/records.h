/* Instruction data, JSON lines, as tokens and marks of those that a model is to learn.
   Contract: a record is {"prompt": …, "completion": …} or {"messages": [{"role": …, "content": …},
   …]} with the roles system (first), user and assistant in turn; other keys are not read. Its
   tokens are those that `chat` gives the model and gets from it: turns are written by the template,
   and what stands between two answers is encoded as one text. Learned are answers and the token
   that ends each. A folder's own template has to write a conversation that goes on behind what it
   wrote before, and answers as they are, or without the blanks around them. */
#ifndef GCRT_RECORDS_H
#define GCRT_RECORDS_H
#include "runtime/text/own_template.h"
#include "runtime/text/template.h"
#include "runtime/tokens/tokenizer.h"

typedef struct Learned { /* tokens, and for each 1 if it is learned, else 0 */
  Ids ids;
  uint8_t *mark;
  uint64_t room;
} Learned;

typedef struct Records {
  Tokenizer *tokenizer;
  const Template *template;
  OwnTemplate own; /* of the folder, in the place of the template; or empty */
  uint32_t end;    /* ends an answer where the template has no token of its own; or NO_TOKEN */
  uint32_t pad;    /* behind a record that is shorter than the length */
  uint64_t length; /* of each record: longer ones are cut; 0: each has its own */
  uint64_t n, cut; /* records so far, and those that were longer */
} Records;

/* The template's token that ends an answer is in the tokenizer. */
bool records_check(const Records *r, Err *e);
/* Appends all records of a file's text; path: for messages. */
bool records_add(Records *r, const char *path, Slice text, Learned *out, Err *e);
void learned_free(Learned *l);
#endif
