/* See json.h. */
#include "lang/editor/json.h"
#include "ir/support/arena.h"

#include <stdbool.h>
#include <stdlib.h>

/* The bytes of the UTF-8 character at s, 0: it is none. */
static int utf8_length(const unsigned char *s) {
  int n = s[0] < 0x80   ? 1
          : s[0] < 0xc2 ? 0
          : s[0] < 0xe0 ? 2
          : s[0] < 0xf0 ? 3
          : s[0] < 0xf5 ? 4
                        : 0;
  for (int i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  bool wrong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
               (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f);
  return wrong ? 0 : n;
}

json_t *json_text(const char *s) {
  static const char replacement[] = "\xef\xbf\xbd";
  char *out = malloc(3 * strlen(s) + 1), *to = out;
  if (!out) out_of_memory();
  while (*s) {
    int n = utf8_length((const unsigned char *)s);
    const char *from = n ? s : replacement;
    for (int i = 0; i < (n ? n : 3); i++) *to++ = from[i];
    s += n ? n : 1;
  }
  *to = 0;
  json_t *text = json_string(out);
  free(out);
  return text;
}
