/* Outputs on the screen: scalars, arrays in brackets (long ones by their ends), notes.
   Contract: reads the logical order; prints with few enough digits to read, files have them all. */
#include "runtime/program/command.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { LONG = 1000, EDGE = 3 }; /* arrays of more elements show three at each end of an axis */

void note(const Command *cmd, const char *fmt, ...) {
  if (cmd->options.given[OPT_QUIET]) return;
  char line[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  fflush(stdout);
  fputs("note: ", stderr);
  text_print(stderr, line, strlen(line), false);
  fputc('\n', stderr);
}

double output_scalar(const Command *cmd, const GcTensor *t) {
  return elem_real(session_at(&cmd->session, t), (Elem)t->dtype, 0);
}

static void print_axis(const GcTensor *t, const void *storage, int axis, uint64_t first, bool brief,
                       const Words *words) {
  char cell[40];
  if (axis == t->rank) {
    uint64_t one[1];
    tensor_get(t, storage, first, 1, one);
    int64_t number = -1;
    if (words) elem_convert(&number, ELEM_I64, one, (Elem)t->dtype, 1);
    elem_format(cell, one, (Elem)t->dtype, 0);
    if (words && number >= 0 && number < words->n)
      text_print(stdout, words->at[number], strlen(words->at[number]), false);
    else
      fputs(cell, stdout);
    return;
  }
  const int64_t *dims = t->run_dims ? t->run_dims : t->dims;
  uint64_t n = (uint64_t)dims[axis], stride = 1;
  for (int i = axis + 1; i < t->rank; i++) stride *= (uint64_t)dims[i];
  fputc('[', stdout);
  for (uint64_t i = 0; i < n; i++) {
    if (i && axis + 1 < t->rank)
      printf("\n%*s", axis + 1, "");
    else if (i)
      fputc(' ', stdout);
    if (brief && n > (uint64_t)EDGE * 2 && i == EDGE) {
      fputs("...", stdout);
      i = n - EDGE - 1;
      continue;
    }
    print_axis(t, storage, axis + 1, first + i * stride, brief, words);
  }
  fputc(']', stdout);
}

void output_print(const GcTensor *t, const void *storage, const Words *words) {
  printf("%s =%s", t->name, t->rank > 1 ? "\n" : " ");
  print_axis(t, storage, 0, 0, tensor_count(t) > LONG, words);
  fputc('\n', stdout);
}
