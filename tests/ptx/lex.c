/* Scans PTX text into tokens.
 * Needs no terminating zero; never reads past the end; any byte is accepted and a wrong one is
 * TOK_BAD. A mnemonic is one word with its dots, since `.` never stands alone in PTX. */
#include "lex.h"
#include <stdlib.h>
#include <string.h>

static bool is_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) { return is_start(c) || is_digit(c); }

static int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void lex_start(Lexer *lx, const char *text, size_t size) {
  *lx = (Lexer){.at = text, .end = text + size, .line = 1};
  ptx_lex_next(lx);
}

static void skip_blank(Lexer *lx) {
  while (lx->at < lx->end) {
    char c = *lx->at;
    if (c == '\n') lx->line++;
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      lx->at++;
    } else if (c == '/' && lx->end - lx->at > 1 && lx->at[1] == '/') {
      while (lx->at < lx->end && *lx->at != '\n') lx->at++;
    } else if (c == '/' && lx->end - lx->at > 1 && lx->at[1] == '*') {
      lx->at += 2;
      while (lx->at < lx->end && !(*lx->at == '/' && lx->at[-1] == '*')) {
        if (*lx->at == '\n') lx->line++;
        lx->at++;
      }
      if (lx->at < lx->end) lx->at++;
    } else {
      return;
    }
  }
}

/* Digits of a number in the given base; the value wraps at 64 bits as the tools do. */
static uint64_t digits(const char **p, const char *end, int base) {
  uint64_t v = 0;
  for (; *p < end; (*p)++) {
    int d = hex_value(**p);
    if (d < 0 || d >= base) break;
    v = v * (uint64_t)base + (uint64_t)d;
  }
  return v;
}

static void scan_decimal_float(Tok *t, const char **p, const char *end) {
  char buf[64];
  size_t n = 0;
  const char *q = t->text;
  while (q < end && n + 1 < sizeof buf &&
         (is_digit(*q) || *q == '.' || *q == 'e' || *q == 'E' ||
          ((*q == '-' || *q == '+') && n && (buf[n - 1] == 'e' || buf[n - 1] == 'E'))))
    buf[n++] = *q++;
  buf[n] = 0;
  double d = strtod(buf, NULL);
  memcpy(&t->bits, &d, 8);
  t->kind = TOK_F64;
  *p = q;
}

static void scan_number(Lexer *lx, Tok *t) {
  const char *p = lx->at;
  char next = lx->end - p > 1 ? p[1] : 0;
  t->kind = TOK_INT;
  if (*p == '0' && (next == 'f' || next == 'F' || next == 'd' || next == 'D')) {
    p += 2;
    t->bits = digits(&p, lx->end, 16);
    t->kind = next == 'f' || next == 'F' ? TOK_F32 : TOK_F64;
  } else if (*p == '0' && (next == 'x' || next == 'X')) {
    p += 2;
    t->bits = digits(&p, lx->end, 16);
  } else if (*p == '0' && (next == 'b' || next == 'B')) {
    p += 2;
    t->bits = digits(&p, lx->end, 2);
  } else {
    t->bits = digits(&p, lx->end, *p == '0' ? 8 : 10);
    if (p < lx->end && (*p == '.' || *p == 'e' || *p == 'E')) {
      scan_decimal_float(t, &p, lx->end);
    }
  }
  if (t->kind == TOK_INT && p < lx->end && *p == 'U') p++;
  lx->at = p;
  t->size = (size_t)(p - t->text);
}

void ptx_lex_next(Lexer *lx) {
  skip_blank(lx);
  Tok *t = &lx->tok;
  *t = (Tok){.text = lx->at, .line = lx->line, .size = 1};
  if (lx->at >= lx->end) {
    t->kind = TOK_END;
    t->size = 0;
    return;
  }
  char c = *lx->at;
  if (is_digit(c)) {
    scan_number(lx, t);
    return;
  }
  if (is_start(c) || c == '.') {
    lx->at++;
    /* '::' joins a qualifier's parts: cp.async.cg.shared.global.L2::128B, shared::cta */
    while (lx->at < lx->end &&
           (is_word(*lx->at) || (c != '.' && *lx->at == '.') ||
            (*lx->at == ':' && lx->end - lx->at > 2 && lx->at[1] == ':' && is_word(lx->at[2])))) {
      lx->at += *lx->at == ':' ? 2 : 1;
    }
    t->size = (size_t)(lx->at - t->text);
    t->kind = c == '.' ? TOK_DOT : TOK_WORD;
    return;
  }
  lx->at++;
  if (c == '"') {
    while (lx->at < lx->end && *lx->at != '"' && *lx->at != '\n') lx->at++;
    t->kind = lx->at < lx->end && *lx->at == '"' ? TOK_STRING : TOK_BAD;
    if (t->kind == TOK_STRING) lx->at++;
    t->size = (size_t)(lx->at - t->text);
    return;
  }
  t->kind = memchr(",;:[]{}()<>@!|+-=", c, 17) ? TOK_PUNCT : TOK_BAD;
}

bool tok_is(const Tok *t, char punct) { return t->kind == TOK_PUNCT && *t->text == punct; }

bool tok_eq(const Tok *t, const char *word) {
  return (t->kind == TOK_WORD || t->kind == TOK_DOT) && strlen(word) == t->size &&
         !memcmp(t->text, word, t->size);
}
