/* UTF-8, one code point at a time. Source: the Unicode standard, table 3-7 (well-formed byte
   sequences) and section 3.9 (maximal subparts). */
#ifndef GCRT_UTF8_H
#define GCRT_UTF8_H
#include <stdbool.h>
#include <stdint.h>

/* How many bytes. */
static inline int utf8_put(char to[4], uint32_t c) {
  int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (int i = n - 1; i > 0; i--, c >>= 6) to[i] = (char)(0x80 | (c & 63));
  to[0] = (char)(first[n] | c);
  return n;
}

/* Bytes of the sequence at p, of `left` that there are, up to where it stops being valid; whole: it
   is complete. */
static inline uint64_t utf8_sequence(const char *s, uint64_t left, bool *whole) {
  const unsigned char *p = (const unsigned char *)s;
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
#endif
