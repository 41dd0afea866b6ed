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
  const char *why, *names, *hint;
} missing[] = {
    {.why = "a shape that depends on data",
     .names = " NonZero Unique NonMaxSuppression ",
     .hint = "end the model in front of them, by onnx.utils.extract_model, and choose from the "
             "outputs"},
    {.why = "control flow with bodies of its own", .names = " If SequenceMap "},
    {.why = "the bits of a number as another type's", .names = " BitCast "},
    {.why = "strings, and files of images",
     .names = " StringConcat StringNormalizer StringSplit RegexFullMatch LabelEncoder "
              "TfIdfVectorizer ImageDecoder "},
};

/* The row of the operator, or of the reason; -1: there is none. */
static int row_of(const char *name, const char *why) {
  for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
    const char *at = name ? strstr(missing[i].names, name) : NULL;
    bool named = at && *name && at[-1] == ' ' && at[strlen(name)] == ' ';
    if (named || (why && strcmp(missing[i].why, why) == 0)) return (int)i;
  }
  return -1;
}

bool takes_lists(const char *name) {
  return strncmp(name, "Sequence", 8) == 0 || strncmp(name, "Optional", 8) == 0 ||
         strcmp(name, "ConcatFromSequence") == 0 || strcmp(name, "Identity") == 0;
}

const char *operator_missing(const char *name) {
  int row = row_of(name, NULL);
  return row < 0 ? "it has no counterpart" : missing[row].why;
}

const char *operator_hint(const char *why) {
  int row = row_of(NULL, why);
  return row < 0 ? NULL : missing[row].hint;
}
