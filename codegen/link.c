/* From C source to an executable: writes the source to a directory of its own, runs the C compiler,
   and moves the result into place, so that `out` is whole or untouched.
   Contract: libc, libm and nothing else is needed at run time: libgcrt.a holds the runtime, libgomp and
   zlib. The same program gives the same bytes: no build id, no paths of this machine in the output. */
#define _GNU_SOURCE
#include "codegen/codegen.h"
#include "codegen/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct Build {
  Ctx *c;
  Arena *a;
  CodegenOptions *o;
  const char *out, *source, *binary;
  int *code;
} Build;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool environment_error(Build *b, const char *what, const char *path) {
  diag(b->c, SEV_ERROR, (Loc){0}, "%s '%s': %s", what, path, strerror(errno));
  *b->code = 3;
  return false;
}

static bool write_source(Build *b, Module *m, const Target *t, const char *path) {
  FILE *f = fopen(path, "w");
  if (!f) return environment_error(b, "cannot write", path);
  bool ok = codegen_c(m, t, b->o, f);
  bool written = fflush(f) == 0 && !ferror(f);
  int error = errno;
  fclose(f);
  if (!ok) {
    *b->code = 1;
    return false;
  }
  errno = error;
  return written || environment_error(b, "cannot write", path);
}

/* A place that cannot be written is told before the C compiler runs. */
static bool can_write(Build *b) {
  FILE *f = fopen(b->binary, "w");
  if (f) return fclose(f) == 0;
  return environment_error(b, "cannot write", b->out);
}

static bool compile(Build *b, const Target *t) {
  const char *library = intern_printf(b->c, "%s/libgcrt.a", b->o->runtime_dir);
  if (access(library, R_OK) != 0) return environment_error(b, "cannot read gc's runtime", library);
  const char *argv[] = {
      b->o->cc, "-std=gnu17", b->o->level > 0 ? "-O3" : "-O1",
      intern_printf(b->c, "-march=%s", b->o->march ? b->o->march : "native"),
      "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv", "-fno-strict-aliasing", "-w", "-fPIE", "-pie",
      "-Wl,-z,relro,-z,now", "-Wl,--build-id=none", "-s",
      intern_printf(b->c, "-I%s", b->o->runtime_dir), b->source, "-o", b->binary, library,
      "-lm", "-pthread", NULL};
  if (b->o->verbose) {
    for (int i = 0; argv[i]; i++) fprintf(stderr, "%s%s", i ? " " : "", argv[i]);
    fputc('\n', stderr);
  }
  double start = now();
  char *output;
  int status = process_run(argv, b->a, &output);
  b->o->cc_seconds += now() - start;
  if (status == 0) return true;
  if (status < 0) return environment_error(b, "cannot run the C compiler", b->o->cc);
  if (strstr(output, "No space left") || strstr(output, "final close failed")) {
    errno = ENOSPC;
    return environment_error(b, "cannot write", b->binary);
  }
  fputs(output, stderr);
  gc_bug(b->c, "the C compiler '%s' rejects the generated source", b->o->cc);
}

bool codegen_exe(Module *m, const Target *t, CodegenOptions *o, const char *out, int *code) {
  Build b = {.c = m->ctx, .a = ctx_arena(m->ctx), .o = o, .out = out, .code = code};
  const char *tmp = getenv("TMPDIR");
  char *dir = arena_printf(b.a, "%s/gc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(dir)) return environment_error(&b, "cannot make a directory like", dir);
  b.source = intern_printf(b.c, "%s/program.c", dir);
  b.binary = intern_printf(b.c, "%s.tmp%ld", out, (long)getpid());
  bool ok = can_write(&b) && write_source(&b, m, t, b.source);
  if (ok && o->save_temps) ok = write_source(&b, m, t, intern_printf(b.c, "%s.c", out));
  ok = ok && compile(&b, t);
  if (ok && rename(b.binary, out) != 0) ok = environment_error(&b, "cannot write", out);
  if (!ok) unlink(b.binary);
  unlink(b.source);
  rmdir(dir);
  return ok;
}
