/* How a turn of a chat is written for a model: what stands before and behind a user's text. */
#ifndef GCRT_TEMPLATE_H
#define GCRT_TEMPLATE_H
#include "runtime/tokens/text.h"

typedef struct Template {
  const char *name;
  const char *system, *system_end; /* around the instructions of the first turn */
  const char *user, *user_end;     /* around the user's text; the answer follows */
  const char *answer_end;          /* behind an answer */
  const char *stop;                /* the token that ends an answer; "" : the model's own alone */
  bool nested;                     /* the instructions stand within the user's text */
} Template;
const Template *template_find(const char *name); /* NULL: there is none */
void template_names(char *out, size_t size);
/* Appends a turn; system: of the first one, or NULL. first: nothing stands before. */
bool template_turn(const Template *t, const char *system, bool first, Slice user, Text *out);
#endif
