/* The rows of options.def, for what reads and what prints them. */
#ifndef GC_LANG_OPTION_ROWS_H
#define GC_LANG_OPTION_ROWS_H
#include "lang/driver/options.h"

typedef enum Form { FORM_FLAG, FORM_WORD, FORM_JOINED, FORM_MAYBE, FORM_LEVEL } Form;

typedef struct OptionRow {
  const char *spelling, *value, *choices, *help;
  OptionId id;
  Form form;
  int pack; /* 0: compiling, 1: --pack, 2: both */
} OptionRow;

extern const char *const before_value[];     /* by form: between an option and its value */
extern const OptionRow option_rows[OPTIONS]; /* by OptionId */

/* Groups and options in the order of the table. */
typedef struct OptionLine {
  const char *group; /* NULL: an option */
  OptionId option;
} OptionLine;
enum {
#define GROUP(title) +1
#define OPTION(id, ...) +1
  OPTION_LINES = 0
#include "lang/driver/options.def"
#undef GROUP
#undef OPTION
};
extern const OptionLine option_lines[OPTION_LINES];

typedef struct Choice {
  const char *at;
  size_t n;
} Choice;

/* Steps through a row's choices; false after the last. */
bool next_choice(const char **rest, Choice *out);
#endif
