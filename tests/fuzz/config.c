/* Published configurations, mutated, as values of a program's lets: fuzz_config SECONDS SEED
   FILE.json... A file is refused with one error, or the program is elaborated with its values or
   refused with errors. */
#define _GNU_SOURCE
#include "lang/driver/command.h"
#include "lang/driver/options.h"
#include "tests/fuzz/context.h"
#include "tests/fuzz/driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char program[] =
    "let hidden_size = 4\n"
    "let num_hidden_layers = 1\n"
    "let rms_norm_eps = 1e-6\n"
    "let tie_word_embeddings = false\n"
    "let hidden_act = \"gelu\"\n"
    "let layer_types = [\"full_attention\"]\n"
    "let widths = [2]\n"
    "let vocab_size = 8\n"
    "entry f(x : f32[hidden_size], ids : i32[3]) {\n"
    "  param w : f32[num_hidden_layers, hidden_size] = normal()\n"
    "  param table : f32[vocab_size, len(widths)] = normal()\n"
    "  y = x * rms_norm_eps + sum(w, axis = 0)\n"
    "  if tie_word_embeddings { y = y + sum(gather(table, ids)) }\n"
    "  if hidden_act == \"silu\" { y = y * sigmoid(y) }\n"
    "  if layer_types[0] == \"full_attention\" { y = y + f32(widths[0]) }\n"
    "  return y\n"
    "}\n";
enum { REFUSED, STOPPED, ELABORATED };
static const char *const stages[] = {"refused", "stopped", "elaborated", NULL};
static char program_path[40]; /* set once, before any child starts */

/* A file without a name that holds these bytes; its path in *path. */
static int file_of(const char *bytes, size_t n, char path[40]) {
  int fd = memfd_create("fuzz", 0);
  if (fd < 0 || write(fd, bytes, n) != (ssize_t)n) exit(2);
  snprintf(path, 40, "/proc/self/fd/%d", fd);
  return fd;
}

static int elaborated(Ctx *c, const char *path) {
  char config[60], entry[] = "gc", check[] = "--check", kind[] = "-x", g[] = "g";
  snprintf(config, sizeof config, "--config=%s", path);
  char *argv[] = {entry, program_path, config, check, kind, g, NULL};
  Options o = {0};
  Front f = {.c = c, .o = &o};
  int code = 0;
  if (!options_parse(c, 6, argv, &o)) fuzz_wrong("a sound command is refused");
  if (!config_read(c, &o)) return REFUSED;
  Module *m = front_module(&f, &code);
  if (!m) return code ? STOPPED : (fuzz_wrong("refused with success"), STOPPED);
  if (!module_verify(m, NULL)) fuzz_wrong("a module is not sound");
  module_free(m);
  return ELABORATED;
}

static int errors_in(int fd) {
  static char said[1 << 16];
  ssize_t n = pread(fd, said, sizeof said - 1, 0);
  int count = 0;
  said[n < 0 ? 0 : n] = 0;
  for (const char *p = said; (p = strstr(p, "error: ")); p++) count++;
  return count;
}

static FuzzContext context; /* of a child */

static int run(const char *text, size_t n) {
  char path[40];
  int fd = file_of(text, n, path), said = memfd_create("said", 0), before = dup(2);
  if (said < 0 || before < 0 || dup2(said, 2) < 0) exit(2);
  int stage = elaborated(fuzz_context_begin(&context, stderr), path);
  fuzz_context_end(&context);
  fflush(stderr);
  dup2(before, 2);
  int errors = errors_in(said);
  if (stage == REFUSED && errors != 1) fuzz_wrong("a file is refused with none or several errors");
  if (stage == STOPPED && !errors) fuzz_wrong("refused without a word");
  close(fd), close(said), close(before);
  return stage;
}

int main(int argc, char **argv) {
  static const char *const words[] = {"hidden_size",
                                      "num_hidden_layers",
                                      "rms_norm_eps",
                                      "tie_word_embeddings",
                                      "hidden_act",
                                      "layer_types",
                                      "widths",
                                      "vocab_size",
                                      "text_config",
                                      "true",
                                      "false",
                                      "null",
                                      "1e400",
                                      "-1",
                                      "0",
                                      "0.5",
                                      "9223372036854775808",
                                      "\"silu\"",
                                      "{",
                                      "}",
                                      "[",
                                      "]",
                                      ":",
                                      ",",
                                      "\\u0000",
                                      NULL};
  const FuzzTarget t = {
      .name = "config", .suffix = "json", .run = run, .stages = stages, .words = words};
  file_of(program, sizeof program - 1, program_path);
  return fuzz_main(&t, argc, argv);
}
