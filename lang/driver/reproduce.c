/* What an internal error leaves behind: a file with the module, or with a source that cannot be
   read again, and the command that runs into the error again. Contract: the bug hook of the
   context; never returns to the broken run's data, but reads the input once more in a context of
   its own, so it cannot make matters worse. */
#define _GNU_SOURCE
#include "lang/driver/command.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void print_define(const Define *d) {
  fputs(" -D '", stderr);
  if (d->times > 1) fprintf(stderr, "%lld*", (long long)d->times);
  fprintf(stderr, "%s%s=%s'", d->name, d->bound ? "<" : "", d->value);
}

/* A file that was not there: nobody's link is followed in a directory that others may write to. */
static FILE *open_new(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (fd >= 0 && !f) close(fd);
  return f;
}

/* Opens NAME here, or where that cannot be written, in the directory for temporary files. */
static FILE *open_somewhere(Ctx *c, const char *name, const char **path) {
  *path = name;
  FILE *f = open_new(*path);
  if (f) return f;
  const char *dir = getenv("TMPDIR");
  *path = intern_printf(c, "%s/%s", dir && *dir ? dir : "/tmp", name);
  return open_new(*path);
}

static const char *kind_word(const Options *o) {
  return input_kind(o) == INPUT_ONNX ? "onnx" : option_value(o, OPT_LANGUAGE, "g");
}

/* The text that came from the standard input, as a file, since it cannot be read again. */
static const char *keep_input(const Front *broken, Ctx *c) {
  const Options *o = broken->o;
  const char *path = o->input;
  size_t n = 0;
  const char *text = NULL;
  for (int i = 0; i < ctx_source_count(broken->c) && !text; i++)
    if (strcmp(ctx_source_name(broken->c, (uint16_t)i), o->input) == 0)
      text = ctx_source_text(broken->c, (uint16_t)i, &n);
  FILE *f = text ? open_somewhere(
                       c, intern_printf(c, "gc-bug-%ld.%s", (long)getpid(), kind_word(o)), &path)
                 : NULL;
  if (!f) return o->input;
  fwrite(text, 1, n, f);
  fclose(f);
  return path;
}

void reproduce(void *data) {
  const Front *broken = data;
  const Options *o = broken->o;
  if (!o->input) return;
  Ctx *c = ctx_new();
  ctx_set_stream(c, NULL);
  Front again = {.c = c, .o = o};
  int code;
  const bool kept = strcmp(o->input, "-") == 0;
  Module *m = broken->elaborated && !kept ? front_module(&again, &code) : NULL;
  const char *path = NULL;
  if (m) {
    FILE *f = open_somewhere(c, intern_printf(c, "gc-bug-%ld.ir", (long)getpid()), &path);
    if (f) {
      module_print(f, m, &(PrintOptions){.locs = true});
      fclose(f);
    }
  }
  fputs("gc: this is a mistake in gc, not in your program; please report it with what this needs:\n"
        "gc:   gc",
        stderr);
  options_print(stderr, o);
  if (m && path) {
    fprintf(stderr, " -x ir %s\n", path);
  } else {
    for (uint32_t i = 0; i < o->defines.n; i++)
      if (!o->defines.at[i].of_config) print_define(&o->defines.at[i]);
    fprintf(stderr, " -x %s %s\n", kind_word(o), kept ? keep_input(broken, c) : o->input);
  }
  ctx_free(c);
}
