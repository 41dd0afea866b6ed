/* The command line, parsed. Contract: options_parse reports what is wrong in one message with the
   remedy and returns false (exit code 2); every value has been checked against its choices. */
#ifndef GC_LANG_OPTIONS_H
#define GC_LANG_OPTIONS_H
#include "ir/support/ctx.h"

typedef enum OptionId {
#define GROUP(title)
#define OPTION(id, ...) OPT_##id,
#include "lang/driver/options.def"
#undef GROUP
#undef OPTION
  OPTIONS
} OptionId;

typedef struct Define { /* -D NAME=V */
  const char *name, *value;
  bool bound;     /* -D 'NAME<=V' */
  int64_t times;  /* -D 'K*NAME<=V'; else 1 */
  bool of_config; /* of --config: for a let of the name, if there is one */
} Define;

typedef struct Options {
  const char *value[OPTIONS]; /* NULL: not given; "" where the value is optional and missing */
  VEC(Define) defines;
  VEC(const char *) configs; /* files of --config, in order */
  const char *input;         /* NULL: none */
  const char *entry;         /* of --emit=onnx; NULL: not named */
} Options;

/* Says "gc: error: ..." and returns 2, the exit code of a wrong command line. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

bool options_parse(Ctx *c, int argc, char **argv, Options *out);
static inline bool option_given(const Options *o, OptionId id) { return o->value[id] != NULL; }
/* The value, or otherwise where it is not given or empty. */
const char *option_value(const Options *o, OptionId id, const char *otherwise);

void options_help(FILE *f);     /* gc --help */
void options_markdown(FILE *f); /* the table of docs/cli.md */
/* The given options as words of a shell, but for the input, its kind, -D and -o. */
void options_print(FILE *f, const Options *o);
#endif
