/* See listed.h. */
#include "tests/cuda/listed.h"

#include <string.h>

const char *kernel_kind(Arena *a, const CudaFunction *f) {
  const Kernel *k = f->kernel;
  const char *schedule = "elements";
  if (k->schedule_kind) schedule = schedule_text(a, k->schedule_kind, k->schedule);
  return arena_printf(a, "%s %s", op_info[k->op->kind].name, schedule);
}

static const char *next_word(const char *s) {
  s += strcspn(s, " ");
  return s + strspn(s, " ");
}

bool words_are(const char *kind, const char *row) {
  for (; *kind && *row; kind = next_word(kind)) {
    size_t n = strcspn(row, " ");
    if (strcspn(kind, " ") == n && memcmp(kind, row, n) == 0) row = next_word(row);
  }
  return !*row;
}

bool kernel_is(Arena *a, const CudaFunction *f, const char *row) {
  return words_are(kernel_kind(a, f), row);
}
