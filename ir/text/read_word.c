/* The words of the IR's text form: blanks, names, strings, numbers and places; see read.c
   for the grammar. Contract: nothing is read beyond the text's end; a failure was reported with its
   location; a word that may belong to the next construct is not consumed. */
#include "ir/text/read.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* ---- errors and characters ---- */

Loc read_loc(const Reader *r, const char *p, size_t len) {
  return (Loc){r->line, (uint32_t)(p - r->line_start) + 1, r->file,
               (uint16_t)(len < 1            ? 1
                          : len > UINT16_MAX ? UINT16_MAX
                                             : len)};
}

void read_blanks(Reader *r) {
  for (; r->p < r->end; r->p++) {
    if (*r->p == ';')
      while (r->p < r->end && *r->p != '\n') r->p++;
    if (r->p == r->end) return;
    if (*r->p == '\n') {
      r->line++;
      r->line_start = r->p + 1;
    } else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r') {
      return;
    }
  }
}

bool read_next_is(Reader *r, char c) {
  read_blanks(r);
  return r->p < r->end && *r->p == c;
}

bool read_take(Reader *r, char c) {
  if (!read_next_is(r, c)) return false;
  r->p++;
  return true;
}

const char *read_found(Reader *r) {
  read_blanks(r);
  if (r->p == r->end) return "the end of the text";
  size_t n = 0;
  while (r->p + n < r->end && n < 40 && (isalnum((unsigned char)r->p[n]) || r->p[n] == '_')) n++;
  if (n) return intern_printf(r->c, "'%.*s'", (int)n, r->p);
  unsigned char c = (unsigned char)*r->p;
  return isprint(c) ? intern_printf(r->c, "'%c'", c) : intern_printf(r->c, "the byte 0x%02x", c);
}

bool read_expect(Reader *r, char c, const char *after) {
  if (read_take(r, c)) return true;
  return FAIL(r, read_loc(r, r->p, 1), "'%c' is expected %s, not %s", c, after, read_found(r));
}

static bool is_word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

bool read_word(Reader *r, Span *out) {
  read_blanks(r);
  const char *p = r->p;
  if (p == r->end || !(isalpha((unsigned char)*p) || *p == '_')) return false;
  while (p < r->end && is_word_char(*p)) p++;
  *out = (Span){r->p, (size_t)(p - r->p), read_loc(r, r->p, (size_t)(p - r->p))};
  r->p = p;
  return true;
}

bool span_is(Span s, const char *text) {
  return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool read_string(Reader *r, const char **out) {
  read_blanks(r);
  Loc loc = read_loc(r, r->p, 1);
  if (!read_take(r, '"')) return FAIL(r, loc, "a string is expected, not %s", read_found(r));
  const char *close = r->p;
  while (close < r->end && *close != '"' && *close != '\n') close += *close == '\\' ? 2 : 1;
  if (close >= r->end || *close == '\n')
    return FAIL(r, loc, "this string does not end on its line");
  char *text = arena_alloc(r->scratch, (size_t)(close - r->p) + 1), *t = text;
  while (r->p < close) {
    char c = *r->p++;
    if (c == '\\') {
      char k = *r->p++;
      int hi, lo;
      if (k == 'n')
        c = '\n';
      else if (k == '"' || k == '\\')
        c = k;
      else if (k == 'x' && close - r->p >= 2 && (hi = hex_digit(r->p[0])) >= 0 &&
               (lo = hex_digit(r->p[1])) >= 0 && hi * 16 + lo > 0) {
        c = (char)(hi * 16 + lo);
        r->p += 2;
      } else {
        return FAIL(r, read_loc(r, r->p - 2, 2), "a string has no such escape");
      }
    }
    if (!c) return FAIL(r, read_loc(r, r->p - 1, 1), "a string holds no zero byte");
    *t++ = c;
  }
  r->p = close + 1;
  *out = intern_n(r->c, text, (size_t)(t - text));
  return true;
}

bool read_name(Reader *r, const char **out, Loc *loc) {
  const char *start = r->p++;
  if (r->p < r->end && *r->p == '"') {
    *loc = read_loc(r, start, 1);
    return read_string(r, out);
  }
  const char *p = r->p;
  while (p < r->end && (is_word_char(*p) || *p == '.')) p++;
  *loc = read_loc(r, start, (size_t)(p - start));
  if (p == r->p) return FAIL(r, *loc, "a name is expected after '%c'", *start);
  *out = intern_n(r->c, r->p, (size_t)(p - r->p));
  r->p = p;
  return true;
}

/* ---- numbers ---- */

bool read_number(Reader *r, const char **out, Loc *loc) {
  read_blanks(r);
  const char *p = r->p;
  while (p < r->end && (is_word_char(*p) || *p == '.' || *p == '+' || *p == '-')) p++;
  *loc = read_loc(r, r->p, (size_t)(p - r->p));
  if (p == r->p) return FAIL(r, *loc, "a number is expected, not %s", read_found(r));
  char *text = arena_alloc(r->scratch, (size_t)(p - r->p) + 1);
  memcpy(text, r->p, (size_t)(p - r->p));
  *out = text;
  r->p = p;
  return true;
}

bool read_to_int(Reader *r, const char *text, Loc loc, int64_t *out) {
  char *stop;
  errno = 0;
  *out = strtoll(text, &stop, 10);
  if (*stop) return FAIL(r, loc, "'%s' is not an integer", text);
  if (errno) return FAIL(r, loc, "%s does not fit 64 bits", text);
  return true;
}

bool read_to_float(Reader *r, const char *text, Loc loc, double *out) {
  char *stop;
  *out = strtod(text, &stop);
  if (*stop) return FAIL(r, loc, "'%s' is not a number", text);
  return true;
}

bool read_integer(Reader *r, int64_t *out) {
  const char *text;
  Loc loc;
  return read_number(r, &text, &loc) && read_to_int(r, text, loc, out);
}

bool read_integers(Reader *r, IntList *list) {
  if (read_take(r, ']')) return true;
  do {
    int64_t v;
    if (!read_integer(r, &v)) return false;
    vec_push(r->scratch, list, v);
  } while (read_take(r, ','));
  return read_expect(r, ']', "after a list");
}

/* ---- places ---- */

static bool digits(Reader *r, const char **p, uint32_t *out) {
  const char *start = *p;
  uint64_t v = 0;
  for (; *p < r->end && isdigit((unsigned char)**p); (*p)++)
    if (v <= UINT32_MAX) v = v * 10 + (uint64_t)(**p - '0');
  *out = (uint32_t)v;
  return *p > start && v <= UINT32_MAX;
}

static bool source_index(Reader *r, const char *source, uint16_t *out) {
  if (source == r->place_name) {
    *out = r->place_file;
    return true;
  }
  int n = ctx_source_count(r->c), i = 0;
  while (i < n && strcmp(ctx_source_name(r->c, (uint16_t)i), source) != 0) i++;
  if (i == n) {
    if (n >= UINT16_MAX) return FAIL(r, read_loc(r, r->p, 1), "too many source files are named");
    ctx_add_source(r->c, source, "", 0);
  }
  r->place_name = source;
  *out = r->place_file = (uint16_t)i;
  return true;
}

/* May be part of a file's bare name. */
static bool read_is_place(char c) {
  return is_word_char(c) || c == '.' || c == '/' || c == '+' || c == '-';
}

bool read_place(Reader *r, Loc *out) {
  read_blanks(r);
  const char *start = r->p, *source = NULL, *p = start;
  if (read_next_is(r, '"')) {
    if (!read_string(r, &source)) return false;
    p = r->p;
  } else {
    while (p < r->end && read_is_place(*p)) p++;
    if (p == start || p == r->end || *p != ':') return true;
    source = intern_n(r->c, start, (size_t)(p - start));
  }
  Loc loc = {.len = 1};
  bool meant = *start == '"' || isdigit((unsigned char)p[1]); /* the text ends in a zero byte */
  bool ok = p < r->end && *p == ':' && (p++, digits(r, &p, &loc.line)) && p < r->end && *p == ':' &&
            (p++, digits(r, &p, &loc.col)) && loc.line > 0 && loc.col > 0;
  if (!ok) {
    r->p = start;
    if (meant) return FAIL(r, read_loc(r, start, 1), "a location is written file:line:column");
    return true;
  }
  r->p = p;
  if (!source_index(r, source, &loc.file)) return false;
  *out = loc;
  return true;
}

/* A string right before a colon is the file of a place, not a scope. */
bool read_scope(Reader *r, const char **out) {
  if (!read_next_is(r, '"')) return true;
  const char *start = r->p;
  if (!read_string(r, out)) return false;
  if (r->p < r->end && *r->p == ':') {
    r->p = start;
    *out = intern(r->c, "");
  }
  return true;
}

/* A word that may stand before a scope or place, which may begin with the same letters. */
bool read_flag(Reader *r, const char *word) {
  Span w;
  read_blanks(r);
  const char *before = r->p;
  if (read_word(r, &w) && span_is(w, word) &&
      !(r->p < r->end && (read_is_place(*r->p) || *r->p == ':')))
    return true;
  r->p = before;
  return false;
}
