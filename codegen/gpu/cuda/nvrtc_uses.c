/* Reads NVRTC's log: what ptxas, by its option -v, says of every kernel of a cubin. */
#define _GNU_SOURCE
#include "codegen/gpu/cuda/nvrtc.h"

#include <stdlib.h>
#include <string.h>

/* The number before `what` in a line, or 0. */
static int number_before(const char *line, const char *end, const char *what) {
  const char *at = memmem(line, (size_t)(end - line), what, strlen(what));
  if (!at) return 0;
  while (at > line && at[-1] == ' ') at--;
  while (at > line && at[-1] >= '0' && at[-1] <= '9') at--;
  return (int)strtol(at, NULL, 10);
}

void nvrtc_uses(const CudaImage *image, Arena *a, CudaUses *out) {
  for (const char *s = image->log; s && *s;) {
    const char *end = strchr(s, '\n');
    if (!end) end = s + strlen(s);
    const char *entry = memmem(s, (size_t)(end - s), "Compiling entry function '", 26);
    CudaUse *u = out->at.n ? &out->at.at[out->at.n - 1] : NULL;
    if (entry) {
      const char *name = entry + 26, *quote = memchr(name, '\'', (size_t)(end - name));
      if (quote)
        vec_push(a, &out->at,
                 (CudaUse){.kernel = arena_printf(a, "%.*s", (int)(quote - name), name)});
    } else if (u && memmem(s, (size_t)(end - s), "stack frame", 11)) {
      u->stack = number_before(s, end, "bytes stack frame");
      u->spill =
          number_before(s, end, "bytes spill stores") + number_before(s, end, "bytes spill loads");
    } else if (u && memmem(s, (size_t)(end - s), ": Used ", 7)) {
      u->registers = number_before(s, end, "registers");
      u->shared = number_before(s, end, "bytes smem");
    }
    s = *end ? end + 1 : end;
  }
}
