/* Hints for names and syntax of other libraries and languages: the rows of hints.def. */
#include "lang/syntax/hints.h"
#include "lang/syntax/parse.tab.h"
#include "lang/syntax/parse_impl.h"

typedef enum HintKind {
  HINT_CALL,
  HINT_NAME,
  HINT_TYPE,
  HINT_ARGUMENT,
  HINT_LACKING,
  HINT_LOSS,
  HINT_STEP,
  HINT_LAYER,
  HINT_MODULE,
  HINT_RESERVED,
  HINT_KEYWORD,
  HINT_SYMBOL
} HintKind;

typedef struct Hint {
  HintKind kind;
  const char *word;
  int token; /* HINT_SYMBOL */
  const char *say;
} Hint;

/* A hint for a function or name is said whole: "write …". */
#define CALL_HINT(text) "write " text
#define NAME_HINT(text) "write " text
#define TYPE_HINT(text) text
#define ARGUMENT_HINT(text) text
#define LACKING_HINT(text) text
#define LOSS_HINT(text) text
#define STEP_HINT(text) "it is one step of a loop, from h = zeros([n, 64]) on: " text
#define LAYER_HINT(text) "its layer declares parameters: " text
#define MODULE_HINT(text) text
#define RESERVED_HINT(text) "write " text
#define KEYWORD_HINT(text) text

static const Hint hints[] = {
#define HINT(KIND, WORD, SAY) {HINT_##KIND, WORD, 0, KIND##_HINT(SAY)},
#define SYMBOL(TEXT, TOKEN, SAY) {HINT_SYMBOL, TEXT, TOKEN, SAY},
#include "lang/syntax/hints.def"
#undef HINT
#undef SYMBOL
};
enum { HINTS = sizeof hints / sizeof *hints };

/* The first row of the kinds a to b from row i on that is of the word; HINTS: none. */
static int find(int i, HintKind a, HintKind b, const char *word) {
  while (i < HINTS && (hints[i].kind < a || hints[i].kind > b || strcmp(hints[i].word, word) != 0))
    i++;
  return i;
}

static const char *said(int i) { return i < HINTS ? hints[i].say : NULL; }

const char *hint_for_name(const char *name) { return said(find(0, HINT_CALL, HINT_NAME, name)); }

const char *hint_for_call(const char *name) { return said(find(0, HINT_CALL, HINT_CALL, name)); }

const char *hint_for_type(const char *name) { return said(find(0, HINT_TYPE, HINT_TYPE, name)); }

const char *hint_for_argument(const char *name, const char *const *names, int n) {
  for (int i = 0; (i = find(i, HINT_ARGUMENT, HINT_ARGUMENT, name)) < HINTS; i++)
    for (int k = 0; k < n; k++)
      if (strcmp(names[k], hints[i].say) == 0) return names[k];
  return NULL;
}

const char *hint_for_any_argument(const char *name) {
  return said(find(0, HINT_ARGUMENT, HINT_ARGUMENT, name));
}

const char *hint_for_lacking(const char *name, const char *const *names, int n) {
  bool loss = false;
  for (int k = 0; k < n; k++)
    loss |= strcmp(names[k], "labels") == 0 || strcmp(names[k], "target") == 0;
  return said(find(0, HINT_LACKING, loss ? HINT_LOSS : HINT_LACKING, name));
}

const char *hint_for_step(const char *name) { return said(find(0, HINT_STEP, HINT_STEP, name)); }

const char *hint_for_layer(const char *name) { return said(find(0, HINT_LAYER, HINT_LAYER, name)); }

const char *hint_for_module(const char *name) {
  return said(find(0, HINT_MODULE, HINT_MODULE, name));
}

const char *hint_for_reserved(const char *word) {
  return said(find(0, HINT_RESERVED, HINT_RESERVED, word));
}

const char *hint_for_keyword(const char *word) {
  return word ? said(find(0, HINT_KEYWORD, HINT_KEYWORD, word)) : NULL;
}

const char *hint_for_symbol(const char *text, int *token) {
  int i = find(0, HINT_SYMBOL, HINT_SYMBOL, text);
  *token = i < HINTS ? hints[i].token : 0;
  return said(i);
}
