/* Names and strings of the user's in generated source; see text.h. */
#include "codegen/text/text.h"

#include <ctype.h>

const char *text_quoted(Arena *a, const char *s) {
  Text x = text_new(a, 0);
  text_add(&x, "\"");
  for (; s && *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c < 32 || c == '"' || c == '\\' || c == '?' || c > 126)
      text_add(&x, "\\%03o", c);
    else
      text_add(&x, "%c", c);
  }
  text_add(&x, "\"");
  return text_str(&x);
}

const char *text_mangled(Arena *a, const char *s) {
  Text x = text_new(a, 0);
  for (; s && *s; s++)
    text_add(&x, "%c", isalnum((unsigned char)*s) && (unsigned char)*s < 128 ? *s : '_');
  return text_str(&x);
}

const char *text_comment(Arena *a, const char *s) {
  Text x = text_new(a, 0);
  for (; s && *s; s++)
    text_add(&x, "%c", (unsigned char)*s < 32 || *s == '*' || *s == '\\' ? '.' : *s);
  return text_str(&x);
}
