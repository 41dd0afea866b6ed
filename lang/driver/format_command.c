/* gc --format: the program in one style, on the standard output, into a file, or compared with what
   it is. Contract: a file is replaced whole, and only by a program without errors. */
#include "codegen/build/output.h"
#include "ir/support/memfile.h"
#include "lang/driver/command.h"
#include "lang/editor/editor.h"

/* The first line that differs, from 1. */
static unsigned first_change(const char *a, size_t an, const char *b, size_t bn) {
  unsigned line = 1;
  for (size_t i = 0; i < an && i < bn && a[i] == b[i]; i++) line += a[i] == '\n';
  return line;
}

static int compare(Front *f, uint16_t file, const MemFile *m) {
  size_t n;
  const char *text = ctx_source_text(f->c, file, &n);
  if (n == m->n && memcmp(text, m->text, n) == 0) return EXIT_DONE;
  Loc loc = {.line = first_change(text, n, m->text, m->n), .col = 1, .file = file, .len = 1};
  diag(f->c, SEV_ERROR, loc, "the program is not formatted, from this line on");
  diag(f->c, SEV_HINT, (Loc){0}, "gc --format %s -o %s", f->o->input, f->o->input);
  return EXIT_PROGRAM;
}

/* The output may be the input; else it must be no file that gc did not write. */
static int check_output(const Options *o, const char *output) {
  if (!output || strcmp(output, "-") == 0 || output_is_same(o->input, output)) return EXIT_DONE;
  const FileUse use[] = {{.option = "the input", .path = o->input},
                         {.option = "the output", .path = output, .writes = true}};
  return files_check(use, 2);
}

int format_command(Front *f) {
  int code;
  const char *output = option_value(f->o, OPT_OUTPUT, NULL);
  bool check = option_value(f->o, OPT_FORMAT, NULL) != NULL;
  if (check && output) return usage_error("--format=check writes nothing: leave out -o");
  if ((code = check_output(f->o, output))) return code;
  const Program *prog = front_parse(f, &code);
  if (!prog) return code;
  MemFile m;
  format_source(memfile_open(&m), f->c, prog->file);
  memfile_close(&m);
  code = check                               ? compare(f, prog->file, &m)
         : output_write(output, m.text, m.n) ? EXIT_DONE
                                             : EXIT_ENVIRONMENT;
  memfile_free(&m);
  return code;
}
