/* The table of operators, and why some have no counterpart. */
#include "lang/onnx/graph.h"

#include <limits.h>

enum { MANY = INT_MAX };
static const Operator operators[] = {
#define OPERATOR(name, fn, least, most) {name, fn, least, most},
#include "lang/onnx/operators.def"
#undef OPERATOR
};

static const Operator contribs[] = {
#define OPERATOR(name, fn, least, most) {name, fn, least, most},
#include "lang/onnx/contrib.def"
#undef OPERATOR
};

bool is_contrib(const char *domain) { return strcmp(domain, "com.microsoft") == 0; }

const Operator *operator_named(const char *domain, const char *name) {
  const bool contrib = is_contrib(domain);
  const Operator *at = contrib ? contribs : operators;
  const size_t n =
      contrib ? sizeof contribs / sizeof *contribs : sizeof operators / sizeof *operators;
  for (size_t i = 0; i < n; i++)
    if (strcmp(at[i].name, name) == 0) return &at[i];
  return NULL;
}

static const struct {
  const char *why, *names;
} missing[] = {
    {.why = "control flow with bodies of its own", .names = " If "},
    {.why = "strings, and files of images",
     .names = " StringConcat StringNormalizer StringSplit RegexFullMatch LabelEncoder "
              "TfIdfVectorizer ImageDecoder "},
};

/* The row of the operator; -1: there is none. */
static int row_of(const char *name) {
  for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
    const char *at = strstr(missing[i].names, name);
    if (at && at > missing[i].names && *name && at[-1] == ' ' && at[strlen(name)] == ' ')
      return (int)i;
  }
  return -1;
}

bool takes_lists(const char *name) {
  return strncmp(name, "Sequence", 8) == 0 || strncmp(name, "Optional", 8) == 0 ||
         strcmp(name, "ConcatFromSequence") == 0 || strcmp(name, "Identity") == 0;
}

const char *operator_missing(const char *name) {
  int row = row_of(name);
  return row < 0 ? "it has no counterpart" : missing[row].why;
}

const char *operator_hint(const char *why) {
  static const char counted[] = "rows whose number the data decide";
  return strncmp(why, counted, sizeof counted - 1) == 0
             ? "end the model in front of it, by onnx.utils.extract_model, and go on from the "
               "outputs"
             : NULL;
}
