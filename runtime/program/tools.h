/* Commands of a program beside its entries. They lie in an archive of their own, libgctokens.a
   (runtime/text), which only programs compiled with --tokens link.
   Contract: run returns the exit code; where it is not 0 and *e has a message, nobody has printed
   it. */
#ifndef GCRT_TOOLS_H
#define GCRT_TOOLS_H
#include "runtime/exec/session.h"

typedef struct Tool {
  const char *name, *usage; /* what is written behind the name */
  int (*run)(const char *program, int argc, char **argv, Err *e); /* arguments behind the name */
} Tool;
/* Ends with a name of NULL. Weak: of address NULL where the program links no tools. */
extern const Tool gcrt_tools[] __attribute__((weak));

const Tool *tools(void); /* gcrt_tools, or an empty list */
const Tool *
tool_find(const char *name); /* NULL: there is none; an entry of that name comes first */
#endif
