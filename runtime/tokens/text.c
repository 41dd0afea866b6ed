/* Growing text, and UTF-8 that is checked or mended. Contract: see text.h. */
#include "runtime/tokens/text.h"
#include <stdlib.h>

bool grow(void *p, uint64_t *room, uint64_t n, uint64_t size) {
  uint64_t wanted = *room ? *room : 16, bytes;
  void *old, *more;
  if (n <= *room) return true;
  while (wanted < n)
    if (!checked_mul(wanted, 2, &wanted)) return false;
  if (!checked_mul(wanted, size, &bytes) || bytes > SIZE_MAX) return false;
  memcpy(&old, p, sizeof old);
  more = realloc(old, (size_t)bytes);
  if (!more) return false;
  memcpy(p, &more, sizeof more);
  *room = wanted;
  return true;
}

bool text_add(Text *t, const char *s, uint64_t n) {
  uint64_t all;
  if (!checked_add(t->n, n, &all) || !grow(&t->s, &t->room, all, 1)) return false;
  if (n) memcpy(t->s + t->n, s, n);
  t->n = all;
  return true;
}

bool text_add_char(Text *t, uint32_t c) {
  char bytes[4];
  return text_add(t, bytes, (uint64_t)utf8_put(bytes, c));
}

void text_free(Text *t) {
  free(t->s);
  *t = (Text){0};
}

uint64_t utf8_valid(Slice s) {
  uint64_t at = 0;
  bool whole = true;
  while (at < s.n) {
    uint64_t n = utf8_sequence(s.s + at, s.n - at, &whole);
    if (!whole) break;
    at += n;
  }
  return at;
}

bool utf8_mend(Text *to, Slice s) {
  bool whole;
  for (uint64_t at = 0; at < s.n;) {
    uint64_t good = utf8_valid(slice_part(s, at, s.n));
    if (!text_add(to, s.s + at, good)) return false;
    at += good;
    if (at == s.n) break;
    at += utf8_sequence(s.s + at, s.n - at, &whole);
    if (!text_add_char(to, 0xFFFD)) return false;
  }
  return true;
}
