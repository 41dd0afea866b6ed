/* Chat templates of published models: a part of Jinja, enough for turns of a conversation.
   Contract: what a template does and is not known here is an error that names it, at the line of
   the template; parts that are not reached, such as those of tools, are not looked at. Results are
   those of the package jinja2 as the package transformers calls it: blocks take their line, and the
   rest of the line before and behind them. Time and memory are bounded, whatever the template.
   Source: the documentation of Jinja, "Template Designer Documentation". */
#ifndef GCRT_JINJA_H
#define GCRT_JINJA_H
#include "runtime/tokens/text.h"

typedef struct JinjaMessage {
  const char *role; /* "system", "user", "assistant" */
  Slice content;
} JinjaMessage;
typedef struct JinjaInput {
  const JinjaMessage *message;
  int n;
  Slice bos, eos; /* bos_token, eos_token */
  bool answer;    /* add_generation_prompt: an answer follows */
} JinjaInput;
/* Appends the text of the messages. */
bool jinja_render(Slice source, const JinjaInput *in, Text *out, Err *e);
#endif
