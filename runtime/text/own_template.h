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
/* chat_template.jinja of a folder, or the chat_template of its tokenizer_config.json. */
bool own_template_read(OwnTemplate *t, const char *folder, Err *e);
/* Whether a first turn can be written, else why not. */
bool own_template_works(const OwnTemplate *t, bool system, Err *why);
bool own_template_add(OwnTemplate *t, const char *role, Slice content, Err *e);
/* The text of the conversation so far, behind which an answer stands. */
bool own_template_text(const OwnTemplate *t, Text *out, Err *e);
void own_template_free(OwnTemplate *t);
#endif
