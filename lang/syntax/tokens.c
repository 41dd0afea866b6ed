/* The words of a source for what works on its text: the scanner's, with comments between them; see
   tokens.h. */
#include "lang/syntax/tokens.h"
#include "lang/syntax/parse.tab.h"
#include "lang/syntax/parse_impl.h"

bool token_is(const SourceToken *t, const char *text) {
  return (size_t)t->n == strlen(text) && memcmp(t->text, text, (size_t)t->n) == 0;
}

static TokenClass class_of(int kind) {
  switch (kind) {
  case NAME: return TOKEN_NAME;
  case INTEGER:
  case FLOAT:
  case BOOLEAN:
  case STRING:
  case DTYPE: return TOKEN_VALUE;
  case RAW_NEWLINE: return TOKEN_NEWLINE;
  default: return token_is_reserved(kind) ? TOKEN_RESERVED : TOKEN_SIGN;
  }
}

/* Between two tokens stand white space and at most one comment, which ends its line. */
static void add_comment(Ctx *c, SourceTokens *out, const char *from, const char *to, Loc loc) {
  const char *hash = memchr(from, '#', (size_t)(to - from));
  if (!hash) return;
  while (to > hash && strchr(" \t\r\f\v\n", to[-1])) to--;
  loc.col += (uint32_t)(hash - from);
  vec_push(ctx_arena(c), out, (SourceToken){TOKEN_COMMENT, hash, (int)(to - hash), loc, false});
}

SourceTokens source_tokens(Ctx *c, uint16_t file) {
  SourceTokens out = {0};
  ProgramReader reader = {.c = c};
  Parser ps = {.c = c, .arena = ctx_arena(c), .reader = &reader, .file = file, .line = 1, .col = 1};
  Scan scan;
  if (!scan_open(&ps, &scan)) return out;
  size_t len;
  const char *text = ctx_source_text(c, file, &len), *end = text + len, *from = text;
  Loc loc, before = {.line = 1, .col = 1, .file = file, .len = 1};
  for (;;) {
    TokenValue val;
    int kind = parse_scan(&val, &loc, scan.scanner);
    const char *line = ctx_source_line(c, loc, &len);
    const char *at = kind == END || !line ? end : line + (loc.col - 1);
    add_comment(c, &out, from, at, before);
    if (kind == END) break;
    int n = kind == RAW_NEWLINE ? 1 : (int)(ps.col - loc.col);
    bool goes_on = kind == NEWLINE || kind == RAW_NEWLINE ? false : token_goes_on(kind);
    vec_push(ctx_arena(c), &out, (SourceToken){class_of(kind), at, n, loc, goes_on});
    from = at + n;
    before = (Loc){.line = ps.line, .col = ps.col, .file = file, .len = 1};
  }
  scan_close(&scan);
  return out;
}
