/* Text that grows, slices of text, and UTF-8. Contract: what returns false had no memory. */
#ifndef GCRT_TEXT_H
#define GCRT_TEXT_H
#include "runtime/base/rt.h"
#include "runtime/base/utf8.h"
#include <string.h>

typedef struct Slice { /* no zero byte at its end */
  const char *s;
  uint64_t n;
} Slice;
typedef struct Text {
  char *s;
  uint64_t n, room;
} Text;

static inline Slice slice_of(const char *s) { return (Slice){s, strlen(s)}; }
static inline Slice text_slice(const Text *t) { return (Slice){t->s, t->n}; }
static inline Slice slice_part(Slice s, uint64_t from, uint64_t to) {
  return (Slice){s.s + from, to - from};
}
static inline bool slice_is(Slice a, Slice b) {
  return a.n == b.n && (!a.n || memcmp(a.s, b.s, a.n) == 0);
}
bool text_add(Text *t, const char *s, uint64_t n);
bool text_add_char(Text *t, uint32_t c);
void text_free(Text *t);
/* Room for `n` elements of `size` bytes and more, at least twice what there was; false: no memory,
   and *p stays. */
bool grow(void *p, uint64_t *room, uint64_t n, uint64_t size);

/* The code point at s.s[*at], of valid UTF-8; *at is moved behind it. */
static inline uint32_t utf8_next(Slice s, uint64_t *at) {
  const unsigned char *p = (const unsigned char *)s.s + *at;
  if (p[0] < 0x80) return ++*at, p[0];
  if (p[0] < 0xE0) return *at += 2, (uint32_t)(p[0] & 31) << 6 | (p[1] & 63);
  if (p[0] < 0xF0)
    return *at += 3, (uint32_t)(p[0] & 15) << 12 | (uint32_t)(p[1] & 63) << 6 | (p[2] & 63);
  return *at += 4, (uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 63) << 12 |
                       (uint32_t)(p[2] & 63) << 6 | (p[3] & 63);
}
/* Where the code point before s.s[at] begins; at > 0. */
static inline uint64_t utf8_before(Slice s, uint64_t at) {
  do at--;
  while (at && ((unsigned char)s.s[at] & 0xC0) == 0x80);
  return at;
}
/* Bytes at the beginning that are valid UTF-8: all of them, or up to the first that is not. */
uint64_t utf8_valid(Slice s);
/* Appends the text with U+FFFD in place of each longest part that is not valid. */
bool utf8_mend(Text *to, Slice s);
#endif
