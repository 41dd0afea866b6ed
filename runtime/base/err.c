/* One message for an error: what was wrong, what was found, what was needed, and a hint on its own
   line. Contract: the first error of a chain stays; text that came from files is escaped on the way
   out, since a file name or a tensor name may hold terminal control sequences. */
#include "runtime/base/rt.h"
#include <stdarg.h>
#include <stdio.h>

bool err_set(Err *e, int code, const char *fmt, ...) {
  if (e->code) return false;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(e->msg, sizeof e->msg, fmt, ap);
  va_end(ap);
  e->code = code;
  e->hint[0] = 0;
  return false;
}

bool err_hint(Err *e, const char *fmt, ...) {
  if (e->hint[0]) return false;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(e->hint, sizeof e->hint, fmt, ap);
  va_end(ap);
  return false;
}

/* Length of the valid UTF-8 sequence of 2 to 4 bytes at s, or 0. U+0080..U+009F are controls. */
static int utf8_length(const unsigned char *s, uint64_t n) {
  int len = s[0] >= 0xF0 && s[0] < 0xF5 ? 4 : s[0] >= 0xE0 ? 3 : s[0] >= 0xC2 ? 2 : 0;
  if (!len || s[0] >= 0xF5 || (uint64_t)len > n) return 0;
  for (int i = 1; i < len; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  if (s[0] == 0xC2 && s[1] < 0xA0) return 0;
  if (s[0] == 0xE0 && s[1] < 0xA0) return 0;
  if (s[0] == 0xF0 && s[1] < 0x90) return 0;
  return len;
}

void text_print(void *file, const char *text, uint64_t n, bool keep_newlines) {
  const unsigned char *s = (const unsigned char *)text;
  FILE *f = file;
  for (uint64_t i = 0; i < n; i++) {
    int len = s[i] >= 0x80 ? utf8_length(s + i, n - i) : 0;
    bool plain = (s[i] >= 0x20 && s[i] < 0x7F) || (keep_newlines && (s[i] == '\n' || s[i] == '\t'));
    if (len) {
      fwrite(s + i, 1, (size_t)len, f);
      i += (uint64_t)len - 1;
    } else if (plain) {
      fputc(s[i], f);
    } else {
      fprintf(f, "\\x%02x", s[i]);
    }
  }
}

static void put(const char *s) {
  uint64_t n = 0;
  while (s[n]) n++;
  text_print(stderr, s, n, false);
}

void err_print(const char *program, const Err *e) {
  fflush(stdout);
  put(program);
  fputs(": error: ", stderr);
  put(e->msg);
  fputc('\n', stderr);
  if (e->hint[0]) {
    fputs("  hint: ", stderr);
    put(e->hint);
    fputc('\n', stderr);
  }
}
