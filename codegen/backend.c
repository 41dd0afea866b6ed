/* The table of targets; see codegen.h. */
#include "codegen/codegen.h"

#include <string.h>

#define BACKEND(id, emit) extern const Backend backend_##id;
#include "codegen/backends.def"
#undef BACKEND

const Backend *const backends[] = {
#define BACKEND(id, emit) &backend_##id,
#include "codegen/backends.def"
#undef BACKEND
};

const Backend *backend_host(void) { return backends[0]; }

const Backend *backend_named(const char *name, size_t n) {
  for (int i = 0; i < BACKENDS; i++)
    if (strlen(backends[i]->name) == n && strncmp(backends[i]->name, name, n) == 0)
      return backends[i];
  return NULL;
}

const Backend *backend_of_ranks(const char *how) {
  for (int i = 0; i < BACKENDS; i++)
    if (strcmp(backends[i]->ranks_by, how) == 0) return backends[i];
  return NULL;
}

const Backend *backend_of_form(const char *emit, const BackendForm **form) {
  for (int i = 0; i < BACKENDS; i++)
    for (const BackendForm *f = backends[i]->forms; f->name; f++)
      if (strcmp(f->name, emit) == 0) {
        *form = f;
        return backends[i];
      }
  return NULL;
}
