/* Strict JSON for safetensors headers and tokenizers: UTF-8 is checked, escapes are undone in
   place, sizes are decimal. Contract: see json.h; a lone surrogate, an overlong sequence, a control
   byte, a leading zero, a sign, a fraction or more than 64 bits is an error. Source: RFC 8259. */
#include "runtime/weights/json.h"
#include "runtime/base/utf8.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool json_fail(Json *j, const char *what) {
  err_set(j->e, EXIT_WRONG, "%s: the %s is wrong at byte %" PRIu64 ": %s", j->path,
          j->what ? j->what : "header", j->shift + (uint64_t)(j->p - j->begin), what);
  return err_hint(j->e, j->what ? "the file is damaged; fetch it again"
                                : "the file is damaged or no safetensors file; save it again");
}

static void blanks(Json *j) {
  while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r')) j->p++;
}

bool json_sees(Json *j, char c) {
  blanks(j);
  return j->p < j->end && *j->p == c;
}

bool json_take(Json *j, char c) {
  if (!json_sees(j, c)) return false;
  j->p++;
  return true;
}

bool json_expect(Json *j, char c) {
  char what[32] = "' ' was expected";
  what[1] = c;
  return json_take(j, c) ? true : json_fail(j, what);
}

static int hex4(const char *p, const char *end) {
  int v = 0;
  if (end - p < 4) return -1;
  for (int i = 0; i < 4; i++) {
    char c = p[i];
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : -1;
    if (d < 0) return -1;
    v = v << 4 | d;
  }
  return v;
}

/* After the backslash; the text never grows, so that it is written where it is read. */
static bool escape(Json *j, char **to) {
  static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
  if (j->p >= j->end) return json_fail(j, "the text ends inside a string");
  char c = *j->p++;
  const char *k = c ? strchr(from, c) : NULL;
  if (k) {
    *(*to)++ = into[k - from];
    return true;
  }
  if (c != 'u') return json_fail(j, "an unknown escape");
  int v = hex4(j->p, j->end);
  if (v < 0) return json_fail(j, "\\u needs four hexadecimal digits");
  j->p += 4;
  if (v >= 0xDC00 && v < 0xE000) return json_fail(j, "a lone surrogate");
  if (v >= 0xD800 && v < 0xDC00) {
    int low = j->end - j->p >= 6 && j->p[0] == '\\' && j->p[1] == 'u' ? hex4(j->p + 2, j->end) : -1;
    if (low < 0xDC00 || low > 0xDFFF) return json_fail(j, "a lone surrogate");
    j->p += 6;
    v = 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
  }
  if (v == 0 && !j->zeros) return json_fail(j, "a zero character in a string");
  *to += utf8_put(*to, (uint32_t)v);
  return true;
}

/* Copies one multi-byte UTF-8 character. */
static bool wide(Json *j, char **to) {
  bool whole;
  uint64_t n = utf8_sequence(j->p, (uint64_t)(j->end - j->p), &whole);
  if (!whole) return json_fail(j, "the text is not UTF-8");
  for (uint64_t i = 0; i < n; i++) *(*to)++ = *j->p++;
  return true;
}

bool json_string(Json *j, JsonText *out) {
  if (!json_expect(j, '"')) return false;
  char *to = out->s = j->p;
  for (;;) {
    if (j->p >= j->end) return json_fail(j, "the text ends inside a string");
    unsigned char c = (unsigned char)*j->p;
    if (c == '"') break;
    if (c < 0x20) return json_fail(j, "a control byte in a string");
    if (c == '\\') {
      j->p++;
      if (!escape(j, &to)) return false;
    } else if (c >= 0x80) {
      if (!wide(j, &to)) return false;
    } else {
      *to++ = *j->p++;
    }
  }
  out->n = (uint64_t)(to - out->s);
  j->p++;
  return true;
}

static bool take_size(Json *j, uint64_t *out) {
  blanks(j);
  const char *start = j->p;
  uint64_t v = 0;
  for (; j->p < j->end && *j->p >= '0' && *j->p <= '9'; j->p++)
    if (!checked_mul(v, 10, &v) || !checked_add(v, (uint64_t)(*j->p - '0'), &v))
      return json_fail(j, "a number beyond 64 bits");
  if (j->p == start) return json_fail(j, "a size was expected");
  if (*start == '0' && j->p > start + 1) return json_fail(j, "a number begins with 0");
  if (j->p < j->end && strchr(".eE+-", *j->p) && *j->p)
    return json_fail(j, "a size is a whole number");
  *out = v;
  return true;
}

static bool digits(Json *j) {
  const char *begin = j->p;
  while (j->p < j->end && *j->p >= '0' && *j->p <= '9') j->p++;
  return j->p > begin;
}

bool json_number(Json *j, double *out) {
  blanks(j);
  const char *begin = j->p;
  if (j->p < j->end && *j->p == '-') j->p++;
  const char *first = j->p;
  bool ok = digits(j);
  if (ok && *first == '0' && j->p > first + 1) return json_fail(j, "a number begins with 0");
  if (ok && j->p < j->end && *j->p == '.') j->p++, ok = digits(j);
  if (ok && j->p < j->end && (*j->p | 32) == 'e') {
    j->p++;
    if (j->p < j->end && (*j->p == '+' || *j->p == '-')) j->p++;
    ok = digits(j);
  }
  if (!ok) return json_fail(j, "a value was expected");
  *out = strtod(begin, NULL);
  return isfinite(*out) ? true : json_fail(j, "a number beyond 64 bits");
}

bool json_sizes(Json *j, uint64_t *out, int most, int *n) {
  *n = 0;
  if (!json_expect(j, '[')) return false;
  if (json_take(j, ']')) return true;
  do {
    if (*n == most) return json_fail(j, "a list of sizes is too long");
    if (!take_size(j, &out[*n])) return false;
    ++*n;
  } while (json_take(j, ','));
  return json_expect(j, ']');
}

/* Brackets are counted, and need only close in number: what is skipped means nothing here. */
bool json_skip(Json *j) {
  uint64_t depth = 0;
  do {
    JsonText text;
    blanks(j);
    if (j->p >= j->end) return json_fail(j, "the text ends inside a value");
    char c = *j->p;
    if (c == '"') {
      if (!json_string(j, &text)) return false;
    } else if (c == '{' || c == '[') {
      j->p++, depth++;
    } else if (c == '}' || c == ']') {
      if (!depth) return json_fail(j, "a value was expected");
      j->p++, depth--;
    } else if (depth && (c == ',' || c == ':')) {
      j->p++;
    } else {
      const char *begin = j->p;
      while (j->p < j->end && (isalnum((unsigned char)*j->p) || memchr("+-.", *j->p, 3))) j->p++;
      if (j->p == begin) return json_fail(j, "a value was expected");
    }
  } while (depth);
  return true;
}

bool json_end(Json *j) {
  blanks(j);
  return j->p == j->end ? true : json_fail(j, "something follows the last brace");
}
