/* Streams the text of tokens: the text of a window of tokens, without that of those which are out.
   The window begins at a token that is out, so that decoders which treat the first token otherwise
   see one before. Contract: see answer.h. */
#include "runtime/text/answer.h"

void answer_begin(Answer *a) { a->shown = a->begin = 0, a->pending.n = 0; }

static bool ends_within_character(const Text *t) {
  return t->n >= 3 && memcmp(t->s + t->n - 3, "\xEF\xBF\xBD", 3) == 0;
}

/* Decodes what is new; all: also if it ends within a character. */
static bool decode(Answer *a, const Ids *tokens, uint64_t first, bool all, Err *e) {
  uint64_t n = tokens->n - first;
  const uint32_t *ids = tokens->at + first;
  a->before.n = a->now.n = 0;
  if (!tokenizer_decode(a->tokenizer, ids + a->begin, a->shown - a->begin, &a->before, e) ||
      !tokenizer_decode(a->tokenizer, ids + a->begin, n - a->begin, &a->now, e))
    return false;
  if (a->now.n <= a->before.n || (!all && ends_within_character(&a->now))) return true;
  a->begin = a->shown, a->shown = n;
  return text_add(&a->pending, a->now.s + a->before.n, a->now.n - a->before.n) ||
         err_set(e, EXIT_ENV, "no memory for the answer");
}

static uint64_t find(const Text *t, const char *stop) {
  uint64_t n = strlen(stop);
  for (uint64_t i = 0; n && i + n <= t->n; i++)
    if (memcmp(t->s + i, stop, n) == 0) return i;
  return UINT64_MAX;
}

/* Bytes at the end that a stop begins with. */
static uint64_t begun(const Text *t, const char *stop) {
  uint64_t n = strlen(stop);
  for (uint64_t k = n < t->n ? n : t->n; k; k--)
    if (memcmp(t->s + t->n - k, stop, k) == 0) return k;
  return 0;
}

bool answer_more(Answer *a, const Ids *tokens, uint64_t first, Text *out, bool *stopped, Err *e) {
  uint64_t held = 0, at = UINT64_MAX;
  if (!decode(a, tokens, first, false, e)) return false;
  for (uint64_t i = 0; i < a->nstops; i++) {
    uint64_t here = find(&a->pending, a->stops[i]), k = begun(&a->pending, a->stops[i]);
    if (here < at) at = here;
    if (k > held) held = k;
  }
  *stopped = at != UINT64_MAX;
  uint64_t show = *stopped ? at : a->pending.n - held;
  if (!text_add(out, a->pending.s, show)) return err_set(e, EXIT_ENV, "no memory for the answer");
  if (*stopped) {
    a->pending.n = 0;
  } else if (show) {
    memmove(a->pending.s, a->pending.s + show, held);
    a->pending.n = held;
  }
  return true;
}

bool answer_end(Answer *a, const Ids *tokens, uint64_t first, Text *out, Err *e) {
  if (!decode(a, tokens, first, true, e)) return false;
  bool ok = text_add(out, a->pending.s, a->pending.n);
  a->pending.n = 0;
  return ok || err_set(e, EXIT_ENV, "no memory for the answer");
}

void answer_free(Answer *a) {
  text_free(&a->pending);
  text_free(&a->before);
  text_free(&a->now);
}
