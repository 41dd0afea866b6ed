/* The table of operators, and why some have no counterpart. */
#include "lang/onnx/graph.h"

#include <limits.h>

enum { MANY = INT_MAX };
static const Operator operators[] = {
#define OPERATOR(name, fn, least, most) {name, fn, least, most},
#include "lang/onnx/operators.def"
#undef OPERATOR
};

const Operator *operator_named(const char *name) {
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (strcmp(operators[i].name, name) == 0) return &operators[i];
  return NULL;
}

static const struct {
  const char *why, *names;
} missing[] = {
    {"random numbers",
     " Bernoulli RandomNormal RandomNormalLike RandomUniform RandomUniformLike Multinomial "},
    {"a shape that depends on data", " Compress NonZero Unique NonMaxSuppression "},
    {"control flow with bodies of its own", " If SequenceMap "},
    {"strings, sequences and optional values",
     " StringConcat StringNormalizer StringSplit RegexFullMatch SequenceInsert SequenceAt "
     "SequenceConstruct "
     "SequenceEmpty SequenceErase SequenceLength ConcatFromSequence SplitToSequence Optional "
     "OptionalGetElement "
     "OptionalHasElement LabelEncoder TfIdfVectorizer ImageDecoder "},
    {"bits of integers", " BitShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitCast "},
};

const char *operator_missing(const char *name) {
  for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
    const char *at = strstr(missing[i].names, name);
    if (*name && at && at[-1] == ' ' && at[strlen(name)] == ' ') return missing[i].why;
  }
  return "it has no counterpart";
}
