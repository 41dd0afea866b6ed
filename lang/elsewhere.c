/* What people write out of habit from other libraries: elsewhere.def. */
#include "lang/elsewhere.h"

#include <stddef.h>
#include <string.h>

static const struct {
  const char *name, *here;
} elsewhere[] = {
#define ELSEWHERE(name, expr) {name, "write " expr},
#define SAY(name, words) {name, "write " words},
#include "lang/elsewhere.def"
#undef ELSEWHERE
#undef SAY
};

const char *known_elsewhere(const char *name) {
  for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
    if (strcmp(elsewhere[i].name, name) == 0) return elsewhere[i].here;
  return NULL;
}
