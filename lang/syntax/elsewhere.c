/* What people write out of habit from other libraries: elsewhere.def. */
#include "lang/syntax/elsewhere.h"

#include <stddef.h>
#include <string.h>

typedef struct Known {
  const char *name, *here;
} Known;

#define ELSEWHERE(name, expr)
#define SAY(name, words)
#define ARGUMENT(name, here)
#define KEYWORD(word, hint)

static const Known elsewhere[] = {
#undef ELSEWHERE
#undef SAY
#define ELSEWHERE(name, expr) {name, "write " expr},
#define SAY(name, words) {name, "write " words},
#include "lang/syntax/elsewhere.def"
#undef ELSEWHERE
#undef SAY
#define ELSEWHERE(name, expr)
#define SAY(name, words)
};

static const Known arguments[] = {
#undef ARGUMENT
#define ARGUMENT(name, here) {name, here},
#include "lang/syntax/elsewhere.def"
#undef ARGUMENT
#define ARGUMENT(name, here)
};

static const Known keywords[] = {
#undef KEYWORD
#define KEYWORD(word, hint) {word, hint},
#include "lang/syntax/elsewhere.def"
};

const char *known_elsewhere(const char *name) {
  for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
    if (strcmp(elsewhere[i].name, name) == 0) return elsewhere[i].here;
  return NULL;
}

const char *known_argument(const char *name, const char *const *names, int n) {
  for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++)
    for (int k = 0; k < n && strcmp(arguments[i].name, name) == 0; k++)
      if (strcmp(names[k], arguments[i].here) == 0) return names[k];
  return NULL;
}

const char *known_keyword(const char *word) {
  for (size_t i = 0; word && i < sizeof keywords / sizeof keywords[0]; i++)
    if (strcmp(keywords[i].name, word) == 0) return keywords[i].here;
  return NULL;
}
