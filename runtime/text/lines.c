/* Rows of tokens of the lines of a text. Contract: see lines.h. */
#include "runtime/text/lines.h"
#include <inttypes.h>

static bool add_line(Lines *l, Slice line, Ids *out, Err *e) {
  uint64_t end = out->n + l->length;
  bool cut;
  if (!tokenizer_encode_part(l->tokenizer, line, l->length, out, &cut, e)) return false;
  while (out->n < end)
    if (!ids_add(out, l->pad)) return err_set(e, EXIT_ENV, "no memory for the tokens");
  l->n++, l->cut += cut;
  return true;
}

bool lines_add(Lines *l, const char *path, Slice text, Ids *out, Err *e) {
  uint64_t number = 0;
  for (uint64_t at = 0, next; at < text.n; at = next) {
    const char *newline = memchr(text.s + at, '\n', text.n - at);
    uint64_t to = newline ? (uint64_t)(newline - text.s) : text.n;
    Err why = {0};
    next = to + 1, number++;
    if (to > at && text.s[to - 1] == '\r') to--;
    if (!add_line(l, slice_part(text, at, to), out, &why))
      return err_set(e, why.code, "%s: line %" PRIu64 ": %s", path, number, why.msg);
  }
  return true;
}
