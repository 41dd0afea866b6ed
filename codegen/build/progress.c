/* What gc waits for, on a terminal: one line of the standard error that the next one replaces.
   Contract: nothing is left of it when gc ends or says something else; elsewhere than on a terminal
   nothing is printed. */
#include "codegen/codegen.h"

#include <stdarg.h>
#include <unistd.h>

static bool on_terminal(const CodegenOptions *o) { return !o->verbose && isatty(STDERR_FILENO); }

void codegen_progress(const CodegenOptions *o, const char *fmt, ...) {
  if (!on_terminal(o)) return;
  fputs("\rgc: ", stderr);
  va_list args;
  va_start(args, fmt);
  vfprintf(stderr, fmt, args);
  va_end(args);
  fputs("\033[K", stderr);
  fflush(stderr);
}

void codegen_progress_end(const CodegenOptions *o) {
  if (!on_terminal(o)) return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
}
