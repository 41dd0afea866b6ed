/* main() of every generated program: a command, its error, its exit code. */
#include "runtime/program/command.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  /* A line goes out whole: ranks write to one terminal. */
  static char lines[4096];
  setvbuf(stderr, lines, _IOLBF, sizeof lines);
  Command cmd = {.name = argc > 0 ? argv[0] : "program",
                 .validation = {.best = NAN},
                 .save = {.fd = -1},
                 .checkpoint = {.fd = -1},
                 .profile = {.fd = -1},
                 .plot = {.fd = -1}};
  const char *slash = strrchr(cmd.name, '/');
  if (slash) cmd.name = slash + 1;
  int code = command_run(&cmd, argc, argv);
  ranks_let_first(&cmd);
  if (cmd.err.code && !cmd.mute) err_print(cmd.name, &cmd.err);
  command_free(&cmd);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    Err e = {0};
    err_set(&e, EXIT_ENV, "the output could not be written to its end");
    err_print(cmd.name, &e);
    if (code == 0) code = EXIT_ENV;
  }
  ranks_close(&cmd, code);
  return code;
}
