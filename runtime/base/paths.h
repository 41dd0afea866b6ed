/* Paths of params and states, as in "net.block.0.w", and patterns of them. The one header that the
   compiler shares with the runtime: what a program takes at compile time and what its options take
   at run time follow one rule. */
#ifndef GCRT_PATHS_H
#define GCRT_PATHS_H
#include <stdbool.h>
#include <string.h>

/* Whether the path is `at` or lies below it; at "" lies everything. A name in `at` that is * stands
   for one name or more. */
static inline bool path_is_below(const char *path, const char *at) {
  size_t n = strcspn(at, ".");
  bool any = n == 1 && *at == '*';
  while (*at) {
    size_t k = strcspn(path, ".");
    if (!any && (k != n || memcmp(path, at, n) != 0)) return false;
    if (!at[n]) return true;
    if (!path[k]) return false;
    if (path_is_below(path + k + 1, at + n + 1)) return true;
    if (!any) return false;
    path += k + 1;
  }
  return true;
}
#endif
