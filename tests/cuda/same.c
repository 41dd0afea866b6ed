/* Is a text of PTX another one but for what says for which architecture it is?
   Contract: true only where every kernel is the same to the letter. Left out are comments, empty
   lines, .version, .target, griddepcontrol, which sm_80 has not, and a variable that nothing in its
   text names again: NVRTC declares one for sm_90 and later. */
#define _GNU_SOURCE
#include "tests/cuda/device.h"

#include <ctype.h>
#include <string.h>

typedef struct Line {
  const char *at;
  size_t n; /* 0: there is none left */
} Line;

static bool starts(Line l, const char *with) {
  return l.n >= strlen(with) && memcmp(l.at, with, strlen(with)) == 0;
}

/* ".global .align 1 .u8 NAME;" of a NAME that stands nowhere else */
static bool is_unused(const char *text, Line l) {
  if (!starts(l, ".global") || l.at[l.n - 1] != ';') return false;
  const char *end = l.at + l.n - 1, *from = end;
  while (from > l.at && (isalnum((unsigned char)from[-1]) || strchr("_$%", from[-1]))) from--;
  size_t n = (size_t)(end - from);
  if (!n) return false;
  const char *first = memmem(text, strlen(text), from, n);
  return first == from && !memmem(end, strlen(end), from, n);
}

static Line next_line(const char *text, const char **at) {
  for (;;) {
    Line l = {*at, strcspn(*at, "\n")};
    if (!**at) return (Line){*at, 0};
    *at += l.n + (l.at[l.n] == '\n');
    if (l.n && !starts(l, "//") && !starts(l, ".version") && !starts(l, ".target") &&
        !starts(l, "griddepcontrol") && !is_unused(text, l))
      return l;
  }
}

bool ptx_same(const char *a, const char *b) {
  for (const char *s = a, *t = b;;) {
    Line x = next_line(a, &s), y = next_line(b, &t);
    if (x.n != y.n || memcmp(x.at, y.at, x.n) != 0) return false;
    if (!x.n) return true;
  }
}
