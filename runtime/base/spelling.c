/* The nearest of several names to one that is none. Contract: capitals count as small letters, and
   _ as -. */
#include "runtime/base/rt.h"
#include <string.h>

enum { NAME = 60 }; /* bytes of a name; longer ones are like none */

static char plain(char c) {
  return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int spelling_distance(const char *a, const char *b) { /* Levenshtein, one row */
  size_t n = strlen(a), m = strlen(b);
  if (n > NAME || m > NAME) return NAME;
  int row[NAME + 1];
  for (size_t j = 0; j <= m; j++) row[j] = (int)j;
  for (size_t i = 1; i <= n; i++) {
    int diag = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= m; j++) {
      int best = diag + (plain(a[i - 1]) != plain(b[j - 1]));
      diag = row[j];
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
    }
  }
  return row[m];
}

/* About half of a short name may be wrong: beyond that a suggestion is a guess. */
Near near_begin(const char *want) {
  int half = (int)strnlen(want, 6) / 2;
  return (Near){.want = want, .d = half + 1};
}

void near_try(Near *n, const char *name) {
  int d = spelling_distance(n->want, name);
  if (d < n->d) n->d = d, n->best = name;
}
