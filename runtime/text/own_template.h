/* The chat template that published weights have beside their tokenizer. Contract: a template that
   uses what is not known here (jinja.h) is not taken, and *why says what; a conversation is
   rendered whole for each turn, as the model was trained. */
#ifndef GCRT_OWN_TEMPLATE_H
#define GCRT_OWN_TEMPLATE_H
#include "runtime/text/jinja.h"

typedef struct OwnTemplate {
  Text source; /* empty: there is none */
  Text bos, eos;
  JinjaMessage *message; /* the conversation; contents are malloc'ed */
  uint64_t n, room;
} OwnTemplate;
/* chat_template.jinja of a tokenizer's folder, or the chat_template of its tokenizer_config.json.
   One that cannot write a first turn is not taken, and a note says why unless `quiet`; system: it
   has instructions. */
bool own_template_read(OwnTemplate *t, const char *tokenizer, bool system, bool quiet, Err *e);
bool own_template_add(OwnTemplate *t, const char *role, Slice content, Err *e);
/* The text of the conversation so far, behind which an answer stands if `answer`. */
bool own_template_text(const OwnTemplate *t, bool answer, Text *out, Err *e);
/* Begins another conversation. */
void own_template_clear(OwnTemplate *t);
void own_template_free(OwnTemplate *t);
#endif
