/* The words of a source as they are written, for what works on the text: the formatter and
   completion. Contract: tokens and comments cover all of the text but for white space; texts point
   into the source and are not terminated. What is not part of the language is reported through
   diag, as by the parser. */
#ifndef GC_LANG_TOKENS_H
#define GC_LANG_TOKENS_H
#include "ir/support/ctx.h"

typedef enum TokenClass {
  TOKEN_NAME,
  TOKEN_RESERVED, /* "let"; dtypes, true, false and inf are TOKEN_VALUE */
  TOKEN_VALUE,    /* a number, a string, a word that stands for a value */
  TOKEN_SIGN,     /* an operator, a bracket, punctuation */
  TOKEN_COMMENT,  /* from "#" to the last byte of the line that is no white space */
  TOKEN_NEWLINE,  /* whether it counts or not */
} TokenClass;

typedef struct SourceToken {
  TokenClass cls;
  const char *text;
  int n; /* bytes */
  Loc loc;
  bool goes_on; /* a newline behind it does not end the statement */
} SourceToken;

typedef struct SourceTokens {
  SourceToken *at;
  uint32_t n, cap;
} SourceTokens;

/* In the context's arena. */
SourceTokens source_tokens(Ctx *c, uint16_t file);
bool token_is(const SourceToken *t, const char *text);
#endif
