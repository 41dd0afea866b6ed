/* Tokens of PTX. The scanner keeps no copy: a token points into the text, which outlives it. */
#ifndef PTXI_LEX_H
#define PTXI_LEX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum TokKind {
  TOK_END,
  TOK_WORD, /* identifier, register, label or mnemonic with its dots: add.s32, %r1, $L__BB0_1 */
  TOK_DOT,  /* a directive or type: .reg, .u32 */
  TOK_INT,  /* value in bits */
  TOK_F32,  /* 0fXXXXXXXX, bits */
  TOK_F64,  /* 0dXXXXXXXXXXXXXXXX or a decimal float, bits */
  TOK_STRING,
  TOK_PUNCT, /* one character, in text[0] */
  TOK_BAD,
} TokKind;

typedef struct Tok {
  TokKind kind;
  const char *text;
  size_t size;
  int line;
  uint64_t bits;
} Tok;

typedef struct Lexer {
  const char *at, *end;
  int line;
  Tok tok; /* the current token */
} Lexer;

void lex_start(Lexer *lx, const char *text, size_t size);
void ptx_lex_next(Lexer *lx);
bool tok_is(const Tok *t, char punct);
bool tok_eq(const Tok *t, const char *word);
#endif
