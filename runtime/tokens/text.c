/* Growing text, and UTF-8 that is checked or mended. Contract: see text.h. Source: the Unicode
   standard, table 3-7 (well-formed byte sequences) and section 3.9 (maximal subparts). */
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

int utf8_put(char to[4], uint32_t c) {
  int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (int i = n - 1; i > 0; i--, c >>= 6) to[i] = (char)(0x80 | (c & 63));
  to[0] = (char)(first[n] | c);
  return n;
}

/* Bytes of the sequence at p, of `left` that there are, up to where it stops being valid; whole: it
   is complete. */
static uint64_t sequence(const unsigned char *p, uint64_t left, bool *whole) {
  uint64_t n = p[0] < 0x80                   ? 1
               : p[0] >= 0xC2 && p[0] < 0xE0 ? 2
               : p[0] >= 0xE0 && p[0] < 0xF0 ? 3
               : p[0] >= 0xF0 && p[0] < 0xF5 ? 4
                                             : 0;
  *whole = false;
  if (!n) return 1;
  unsigned low = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
  unsigned high = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
  for (uint64_t i = 1; i < n; i++, low = 0x80, high = 0xBF)
    if (i == left || p[i] < low || p[i] > high) return i;
  *whole = true;
  return n;
}

uint64_t utf8_valid(Slice s) {
  uint64_t at = 0;
  bool whole = true;
  while (at < s.n) {
    uint64_t n = sequence((const unsigned char *)s.s + at, s.n - at, &whole);
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
    at += sequence((const unsigned char *)s.s + at, s.n - at, &whole);
    if (!text_add_char(to, 0xFFFD)) return false;
  }
  return true;
}
