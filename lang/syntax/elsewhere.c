/* What people write out of habit from other libraries: elsewhere.def. */
#include "lang/syntax/elsewhere.h"

#include <stddef.h>
#include <string.h>

static const struct {
  const char *name, *here;
} elsewhere[] =
    {
#define ELSEWHERE(name, expr) {name, "write " expr},
#define SAY(name, words) {name, "write " words},
#define ARGUMENT(name, here)
#include "lang/syntax/elsewhere.def"
#undef ELSEWHERE
#undef SAY
#undef ARGUMENT
},
  arguments[] = {
#define ELSEWHERE(name, expr)
#define SAY(name, words)
#define ARGUMENT(name, here) {name, here},
#include "lang/syntax/elsewhere.def"
#undef ELSEWHERE
#undef SAY
#undef ARGUMENT
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
