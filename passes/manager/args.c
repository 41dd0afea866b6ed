/* The arguments of a pass: "match=16" of "share{match=16}".
   Contract: they were checked against the pass's row when the pipeline was read. */
#include "passes/manager/manager_impl.h"

#include <stdlib.h>

const char *manager_trim(Arena *a, const char *s, size_t n) {
  while (n && (*s == ' ' || *s == '\n' || *s == '\t')) s++, n--;
  while (n && (s[n - 1] == ' ' || s[n - 1] == '\n' || s[n - 1] == '\t')) n--;
  char *out = arena_alloc(a, n + 1);
  memcpy(out, s, n);
  return out;
}

static const char *arg_find(const PassRun *r, const char *key, size_t *len) {
  size_t n = strlen(key);
  for (const char *s = r->args; *s;) {
    s += strspn(s, " \t\n");
    size_t k = strcspn(s, ",");
    if (k > n && strncmp(s, key, n) == 0 && s[n] == '=') {
      *len = k - n - 1;
      return s + n + 1;
    }
    s += k + (s[k] == ',');
  }
  return NULL;
}

int64_t pass_arg_int(const PassRun *r, const char *key, int64_t otherwise) {
  size_t n;
  const char *s = arg_find(r, key, &n);
  return s ? strtoll(s, NULL, 10) : otherwise;
}

const char *pass_arg_str(const PassRun *r, const char *key, const char *otherwise) {
  size_t n;
  const char *s = arg_find(r, key, &n);
  return s ? manager_trim(r->scratch, s, n) : otherwise;
}
