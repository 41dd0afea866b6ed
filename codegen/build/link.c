/* From C source to an executable or a library: writes the source to a directory of its own, runs
   the C compiler, and moves the result into place, so that `out` is whole or untouched. Contract:
   libc, libm and nothing else is needed at run time: libgcrt.a holds the runtime, libgomp and zlib.
   The same program gives the same bytes: no build id, no paths of this machine in the output. */
#define _GNU_SOURCE
#include "codegen/build/library.h"
#include "codegen/build/process.h"
#include "codegen/codegen.h"

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
  const char *api;  /* the source of a library's functions; NULL of an executable */
  const char **gpu; /* files of the GPU's part: the C source, then what it includes */
  int ngpu;
  char *dir;          /* for what is in between */
  ProcessGuard guard; /* from begin to end */
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
  if (!ok || !written) unlink(path);
  errno = error;
  if (!written) return environment_error(b, "cannot write", path);
  if (!ok) *b->code = 1;
  return ok;
}

static bool write_cuda(Build *b, const char *path) {
  FILE *f = fopen(path, "w");
  bool ok = f && codegen_cuda(b->o->gpu->m, b->o->gpu->target, b->o, f) && fflush(f) == 0;
  if (f && fclose(f) != 0) ok = false;
  return ok || environment_error(b, "cannot write", path);
}

/* A place that cannot be written is told before the C compiler runs. */
static bool can_write(Build *b) {
  FILE *f = fopen(b->binary, "w");
  if (f) return fclose(f) == 0;
  return environment_error(b, "cannot write", b->out);
}

static void end(Build *b, bool ok);

static bool compile(Build *b, const Target *t) {
  const char *library = intern_printf(b->c, "%s/libgcrt.a", b->o->runtime_dir);
  if (access(library, R_OK) != 0) return environment_error(b, "cannot read gc's runtime", library);
  VEC(const char *) argv = {0};
  const char *const common[] = {
      b->o->cc,
      "-std=gnu17",
      b->o->level > 0 ? "-O3" : "-O1",
      intern_printf(b->c, "-march=%s", b->o->march ? b->o->march : "native"),
      "-ffp-contract=off",
      "-fno-math-errno",
      "-fno-trapping-math",
      "-fwrapv",
      "-fno-strict-aliasing",
      "-w",
      "-Wl,-z,relro,-z,now",
      "-Wl,--build-id=none",
      "-s",
      intern_printf(b->c, "-I%s", b->o->runtime_dir),
      b->source,
      "-o",
      b->binary};
  const char *const executable[] = {"-fPIE", "-pie"};
  const char *name = strrchr(b->out, '/');
  const char *const shared[] = {/* the model's functions are all that it exports */
                                "-fPIC",
                                "-shared",
                                "-fvisibility=hidden",
                                "-Wl,--exclude-libs,ALL",
                                "-Wl,--gc-sections",
                                "-Wl,-z,defs",
                                "-Xlinker",
                                "-soname",
                                "-Xlinker",
                                name ? name + 1 : b->out,
                                b->api};
  const char *const libraries[] = {library, "-lm", "-pthread"};
#define ADD(list)                                                                                  \
  for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++) vec_push(b->a, &argv, list[i])
  ADD(common);
  if (b->api)
    ADD(shared);
  else
    ADD(executable);
  if (b->ngpu) vec_push(b->a, &argv, b->gpu[0]);
  ADD(libraries);
#undef ADD
  vec_push(b->a, &argv, NULL);
  if (b->o->verbose) {
    for (uint32_t i = 0; argv.at[i]; i++) fprintf(stderr, "%s%s", i ? " " : "", argv.at[i]);
    fputc('\n', stderr);
  }
  double start = now();
  char *output;
  int status = process_run(argv.at, b->a, &output);
  b->o->cc_seconds += now() - start;
  if (status == 0) return true;
  if (status < 0) return environment_error(b, "cannot run the C compiler", b->o->cc);
  if (process_interrupted()) return false;
  bool large = strstr(output, "File too large") != NULL;
  if (large || strstr(output, "No space left") || strstr(output, "final close failed")) {
    errno = large ? EFBIG : ENOSPC;
    return environment_error(b, "cannot write", b->binary);
  }
  fputs(output, stderr);
  if (status > 128 || strstr(output, "signal terminated program")) {
    diag(b->c, SEV_ERROR, (Loc){0}, "the C compiler '%s' was killed; is there enough memory?",
         b->o->cc);
    *b->code = 3;
    return false;
  }
  end(b, false);
  gc_bug(b->c, "the C compiler '%s' rejects the generated source", b->o->cc);
}

/* A directory for the sources; false after a diagnostic. */
static bool begin(Build *b) {
  const char *tmp = getenv("TMPDIR");
  b->dir = arena_printf(b->a, "%s/gc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  process_guard_begin(&b->guard);
  if (!mkdtemp(b->dir)) {
    environment_error(b, "cannot make a directory for the generated source like", b->dir);
    diag(b->c, SEV_HINT, (Loc){0},
         tmp && *tmp ? "that is TMPDIR: set it to a directory that you may write to, or unset it"
                     : "set TMPDIR to a directory that you may write to");
    process_guard_end(&b->guard);
    return false;
  }
  b->source = intern_printf(b->c, "%s/program.c", b->dir);
  b->binary = intern_printf(b->c, "%s.tmp%ld", b->out, (long)getpid());
  return true;
}

static bool make(Build *b, Module *m, const Target *t) {
  bool ok = can_write(b) && write_source(b, m, t, b->source);
  if (ok && b->o->save_temps) ok = write_source(b, m, t, intern_printf(b->c, "%s.c", b->out));
  if (ok && b->o->gpu) {
    b->gpu = ARENA_ARRAY(b->a, const char *, b->o->gpu->narch + 2);
    ok = codegen_cuda_unit(b->o, b->dir, b->gpu, &b->ngpu, b->code);
    if (ok && b->o->save_temps) ok = write_cuda(b, intern_printf(b->c, "%s.cu", b->out));
  }
  return ok && compile(b, t);
}

static bool move(Build *b, const char *from, const char *to) {
  return rename(from, to) == 0 || environment_error(b, "cannot write", to);
}

static void end(Build *b, bool ok) {
  if (!ok) unlink(b->binary);
  unlink(b->source);
  for (int i = 0; i < b->ngpu; i++) unlink(b->gpu[i]);
  rmdir(b->dir);
  process_guard_end(&b->guard); /* does not come back where gc was interrupted */
}

bool codegen_exe(Module *m, const Target *t, CodegenOptions *o, const char *out, int *code) {
  Build b = {.c = m->ctx, .a = ctx_arena(m->ctx), .o = o, .out = out, .code = code};
  if (!begin(&b)) return false;
  bool ok = make(&b, m, t) && move(&b, b.binary, out);
  end(&b, ok);
  return ok;
}

/* ---- libraries ---- */

const char *codegen_lib_name(Ctx *c, const char *out) {
  const char *slash = strrchr(out, '/'), *s = slash ? slash + 1 : out;
  size_t n = strlen(s);
  if (n < 4 || strcmp(s + n - 3, ".so") != 0) return NULL;
  bool lib = n > 6 && strncmp(s, "lib", 3) == 0;
  return intern_printf(c, "%.*s", (int)(n - 3 - (lib ? 3 : 0)), lib ? s + 3 : s);
}

/* A header that gc did not make is somebody's own. */
static bool may_replace(Build *b, const char *header) {
  char mark[sizeof LIBRARY_MARK] = {0};
  FILE *f = fopen(header, "r");
  if (!f) return errno == ENOENT || environment_error(b, "cannot read", header);
  size_t n = fread(mark, 1, sizeof mark - 1, f);
  fclose(f);
  if (n == 0 || strcmp(mark, LIBRARY_MARK) == 0) return true;
  diag(b->c, SEV_ERROR, (Loc){0},
       "'%s' was not made by gc: move it away, or give the library another name with -o", header);
  *b->code = 3;
  return false;
}

static bool close_whole(Build *b, FILE *f, const char *path) {
  bool whole = fflush(f) == 0 && !ferror(f);
  int error = errno;
  whole = fclose(f) == 0 && whole;
  if (error) errno = error;
  return whole || environment_error(b, "cannot write", path);
}

/* The header and the functions, into these files. */
static bool write_api(Build *b, const Module *m, const char *name, const char *header,
                      const char *api) {
  FILE *h = fopen(header, "w");
  if (!h) return environment_error(b, "cannot write", header);
  FILE *f = fopen(api, "w");
  if (!f) {
    fclose(h);
    return environment_error(b, "cannot write", api);
  }
  library_print(m, b->o, name, b->out, h, f);
  bool ok = close_whole(b, h, header);
  return close_whole(b, f, api) && ok;
}

bool codegen_lib(Module *m, const Target *t, CodegenOptions *o, const char *out, int *code) {
  Build b = {.c = m->ctx, .a = ctx_arena(m->ctx), .o = o, .out = out, .code = code};
  const char *name = codegen_lib_name(b.c, out), *slash = strrchr(out, '/');
  const char *header =
      intern_printf(b.c, "%.*s%s.h", slash ? (int)(slash + 1 - out) : 0, out, name);
  const char *placed = intern_printf(b.c, "%s.tmp%ld", header, (long)getpid());
  if (!may_replace(&b, header) || !begin(&b)) return false;
  const char *model = intern_printf(b.c, "%s/model.h", b.dir);
  b.api = intern_printf(b.c, "%s/api.c", b.dir);
  bool ok = write_api(&b, m, name, model, b.api) && make(&b, m, t) &&
            write_api(&b, m, name, placed, b.api) && move(&b, placed, header) &&
            move(&b, b.binary, out);
  if (ok && o->save_temps) ok = write_api(&b, m, name, model, intern_printf(b.c, "%s.api.c", out));
  if (!ok) unlink(placed);
  unlink(model);
  unlink(b.api);
  end(&b, ok);
  return ok;
}
