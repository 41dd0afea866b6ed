/* The command line of a tool: options by name, then files. Contract: a table says what there is; a
   value that is not of its kind, a name that is not known and an option given twice are errors of
   exit code 2. */
#ifndef GCRT_ARGUMENTS_H
#define GCRT_ARGUMENTS_H
#include "runtime/base/rt.h"

typedef enum ArgumentKind { ARG_FLAG, ARG_TEXT, ARG_COUNT, ARG_REAL, ARG_LIST } ArgumentKind;
typedef struct Argument {
  const char *name, *metavar; /* "--output", "FILE" */
  ArgumentKind kind;
  double least, most; /* of a count or a real */
  const char *help;
  bool needed;
  /* what is read: */
  bool given;
  const char *text;
  double number;
  uint64_t count; /* of a count; of a list, how many there are */
  const char *list[16];
} Argument;

typedef struct Arguments {
  const char *tool, *usage;
  Argument *at; /* ends with a name of NULL */
  char **files; /* what is no option, in order; these are argv's */
  int nfiles;
} Arguments;
/* False: *code is the exit code; it is 0 after --help, which is printed. */
bool arguments_read(Arguments *a, const char *program, int argc, char **argv, int *code, Err *e);
/* The option of a list, and what was given; missing: where nothing was. */
const Argument *argument_in(const Argument *list, const char *name);
double argument_real(const Argument *list, const char *name, double missing);
uint64_t argument_count(const Argument *list, const char *name, uint64_t missing);
const char *argument_text(const Argument *list, const char *name); /* NULL: none */
#endif
