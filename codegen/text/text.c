/* Text that grows in an arena: the only way that generated source is put together.
   Contract: text_line writes whole lines at the current depth; nothing is ever cut off. */
#include "codegen/text/text.h"

#include <stdarg.h>
#include <stdio.h>

Text text_new(Arena *a, int indent) { return (Text){.a = a, .indent = indent}; }

/* Room for n more bytes. */
static char *room(Text *x, size_t n) {
  while (x->s.cap - x->s.n < n) x->s.at = arena_grow(x->a, x->s.at, x->s.n, &x->s.cap, 1);
  return x->s.at + x->s.n;
}

/* n bytes have been written into the room. */
static void grow(Text *x, size_t n) {
  if (!x->s.n) x->base = x->indent;
  x->s.n += (uint32_t)n;
}

static void put(Text *x, const char *s, size_t n) {
  if (n) memcpy(room(x, n), s, n);
  grow(x, n);
}

static void put_format(Text *x, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  const size_t left = x->s.cap - x->s.n;
  const int n = vsnprintf(left ? x->s.at + x->s.n : NULL, left, fmt, ap);
  if ((size_t)n >= left) vsnprintf(room(x, (size_t)n + 1), (size_t)n + 1, fmt, again);
  va_end(again);
  grow(x, (size_t)n);
}

void text_add(Text *x, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  put_format(x, fmt, ap);
  va_end(ap);
}

static void put_line(Text *x, const char *fmt, va_list ap) {
  for (int i = 0; i < x->indent; i++) put(x, "  ", 2);
  put_format(x, fmt, ap);
  put(x, "\n", 1);
}

void text_line(Text *x, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  put_line(x, fmt, ap);
  va_end(ap);
}

void text_open(Text *x, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  put_line(x, fmt, ap);
  va_end(ap);
  x->indent++;
}

void text_close(Text *x, const char *line) {
  x->indent--;
  text_line(x, "%s", line);
}

void text_append(Text *x, const Text *y) {
  if (!y->s.n) return;
  const char *s = y->s.at, *end = s + y->s.n;
  int shift = x->indent - y->base;
  while (s < end) {
    const char *line = memchr(s, '\n', (size_t)(end - s)), *next = line ? line + 1 : end;
    for (int i = 0; i < shift && *s != '\n'; i++) put(x, "  ", 2);
    for (int i = 0; i > shift && s + 2 <= next && s[0] == ' ' && s[1] == ' '; i--) s += 2;
    put(x, s, (size_t)(next - s));
    s = next;
  }
}

const char *text_str(Text *x) {
  char *s = arena_alloc(x->a, x->s.n + 1);
  if (x->s.n) memcpy(s, x->s.at, x->s.n);
  return s;
}

static bool is_zero(const char *x) { return strcmp(x, "0") == 0; }

const char *text_times(Arena *a, const char *x, int64_t n) {
  if (n == 0 || is_zero(x)) return "0";
  return n == 1 ? x : arena_printf(a, "%s * %lld", x, (long long)n);
}

const char *text_sum(Arena *a, const char *x, const char *y) {
  const char *sum = text_plus(a, x, y);
  return is_zero(x) || is_zero(y) ? sum : arena_printf(a, "(%s)", sum);
}

const char *text_plus(Arena *a, const char *x, const char *y) {
  if (is_zero(x)) return y;
  return is_zero(y) ? x : arena_printf(a, "%s + %s", x, y);
}

const char *text_minus(Arena *a, const char *x, const char *y) {
  return is_zero(y) ? x : arena_printf(a, "(%s - %s)", x, y);
}
