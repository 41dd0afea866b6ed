/* Finds the tools that a program has. */
#include "runtime/program/tools.h"
#include <string.h>

const Tool *tools(void) {
  static const Tool none[] = {{0}};
  const Tool *linked = gcrt_tools;
  return linked ? linked : none;
}

const Tool *tool_find(const char *name) {
  for (int i = 0; i < gc_program.nentries; i++)
    if (strcmp(gc_program.entries[i].name, name) == 0) return NULL;
  for (const Tool *t = tools(); t->name; t++)
    if (strcmp(t->name, name) == 0) return t;
  return NULL;
}
