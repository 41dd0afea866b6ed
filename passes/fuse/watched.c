/* What --watch of the executable is to see: values, layers and gradients of params by their paths.
   Contract: names are those that autodiff gives; the executable finds them by the same rules
   (runtime/program/inspect.c). */
#include "passes/fuse/fuse_impl.h"

/* "logits" is also what a later value of this name is called: logits.2. */
static bool is_named(const char *name, const char *path, size_t n) {
  if (!name || strncmp(name, path, n) != 0) return false;
  const char *rest = name + n;
  return !*rest || (*rest == '.' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1));
}

bool passes_watched(const Op *op, const Entry *e, const char *paths) {
  for (const char *p = paths; *p;) {
    const size_t n = strcspn(p, "+");
    if (op->scope && !op->backward && strlen(op->scope) == n && strncmp(op->scope, p, n) == 0)
      return true;
    for (int i = 0; i < op->nresults; i++) {
      const char *name = value_at(e, op->results[i])->name;
      if (is_named(name, p, n)) return true;
      if (name && strncmp(name, "d.", 2) == 0 && is_named(name + 2, p, n)) return true;
    }
    p += n + (p[n] == '+');
  }
  return false;
}

const char *passes_watches_nothing(const Module *m, const char *paths) {
  Arena *a = ctx_arena(m->ctx);
  for (const char *p = paths; *p;) {
    const size_t n = strcspn(p, "+");
    const char *path = arena_printf(a, "%.*s", (int)n, p);
    bool any = false;
    for (uint32_t i = 0; i < m->globals.n; i++) any |= strcmp(m->globals.at[i].path, path) == 0;
    const Entry *e;
    for (uint32_t k = 0; (e = pass_entry(m, k)); k++)
      for (OpId i = 0; i < e->ops.n && !any; i++)
        any = passes_watched(op_at(e, i), e, strncmp(path, "d.", 2) == 0 ? path + 2 : path);
    if (!any) return path;
    p += n + (p[n] == '+');
  }
  return NULL;
}
