/* From C source to an executable or a library: writes the source to a directory of its own, runs
   the C compiler on several files at a time, takes those from the cache that have been compiled
   before, links, and moves the result into place, so that `out` is whole or untouched. Contract:
   libc, libm and nothing else is needed at run time: libgcrt.a holds the runtime and zlib,
   libgcimages.a the decoders of images and libgctokens.a the tokenizers, for programs that ask for
   them.
   The same program gives the same bytes: no build id, no paths of this machine in the output. */
#define _GNU_SOURCE
#include "codegen/build/cache.h"
#include "codegen/build/library.h"
#include "codegen/build/output.h"
#include "codegen/build/process.h"
#include "codegen/build/temporary.h"
#include "codegen/codegen.h"
#include "ir/support/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that is compiled. */
typedef struct Unit {
  const char *source, *object;
  const char *march; /* "-march=native", or NULL */
  bool mpi;          /* includes the header of MPI */
  Hash key;          /* in the cache */
  bool cached;       /* may be: what it includes is known */
} Unit;

typedef VEC(const char *) Words;

typedef struct Build {
  Ctx *c;
  Arena *a;
  CodegenOptions *o;
  const char *out, *binary;
  const char *api;         /* the source of a library's functions; NULL of an executable */
  const char *dir;         /* for what is in between */
  int lock;                /* of it */
  VEC(const char *) files; /* in it */
  VEC(Unit) units;         /* in the order in which they are linked */
  Cache cache;
  char cache_path[CACHE_PATH];
  Words mpi;          /* of the link line of MPI, behind the compiler's name */
  Hash compiler;      /* with its options and what all files include */
  ProcessGuard guard; /* from begin to end */
  int *code;
} Build;

static bool environment_error(Build *b, const char *what, const char *path) {
  diag(b->c, SEV_ERROR, (Loc){0}, "%s '%s': %s", what, path, strerror(errno));
  *b->code = 3;
  return false;
}

/* The name of a file between sources and output. */
static const char *file_in(Build *b, const char *name) {
  const char *path = intern_printf(b->c, "%s/%s", b->dir, name);
  vec_push(b->a, &b->files, path);
  return path;
}

static bool close_whole(Build *b, FILE *f, const char *path) {
  errno = 0;
  bool whole = fflush(f) == 0 && !ferror(f);
  int error = errno;
  whole = fclose(f) == 0 && whole;
  if (error) errno = error;
  return whole || environment_error(b, "cannot write", path);
}

static bool write_text(Build *b, const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  if (!f) return environment_error(b, "cannot write", path);
  fputs(text, f);
  return close_whole(b, f, path);
}

/* A part's source in one file, for people. */
static bool write_source(Build *b, const CodegenPart *p, const char *path) {
  FILE *f = fopen(path, "w");
  if (!f) return environment_error(b, "cannot write", path);
  bool ok = p->backend->source(p, b->o, f);
  if (!ok) *b->code = 1;
  return close_whole(b, f, path) && ok;
}

/* A place that cannot be written is told before the C compiler runs. */
static bool can_write(Build *b) {
  return output_can_replace(b->out) || environment_error(b, "cannot write", b->out);
}

static void end(Build *b);

/* ---- the C compiler ---- */

/* The compiler, which may be several words, and what every call of it says. */
static Words compiler_words(Build *b) {
  Words w = {0};
  codegen_cc_words(b->a, b->o->cc, &w.at, &w.n);
  w.cap = w.n;
  const char *const options[] = {
      "-std=gnu17",           b->o->level > 0 ? "-O3" : "-O1",
      "-ffp-contract=off",    "-fno-math-errno",
      "-fno-trapping-math",   "-fwrapv",
      "-fno-strict-aliasing", "-w",
  };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) vec_push(b->a, &w, options[i]);
  /* gcc's copies of tiles for constant arguments take a quarter of its time; clang has no such
   * option */
  if (b->o->cc_macros && !strstr(b->o->cc_macros, "#define __clang__ "))
    vec_push(b->a, &w, "-fno-ipa-cp-clone");
  vec_push(b->a, &w, b->api ? "-fPIC" : "-fPIE");
  if (b->api) vec_push(b->a, &w, "-fvisibility=hidden"); /* its functions are all that it exports */
  return w;
}

static const char *const *compile_words(Build *b, const Unit *u) {
  Words w = compiler_words(b);
  if (u->march) vec_push(b->a, &w, u->march);
  for (uint32_t i = 0; u->mpi && i < b->mpi.n; i++) vec_push(b->a, &w, b->mpi.at[i]);
  const char *const more[] = {
      intern_printf(b->c, "-I%s", b->o->runtime_dir), "-c", u->source, "-o", u->object, NULL};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) vec_push(b->a, &w, more[i]);
  return w.at;
}

static const char *decoders(const Build *b) {
  return intern_printf(b->c, "%s/libgcimages.a", b->o->runtime_dir);
}

static const char *const *link_words(Build *b, const char *library) {
  Words w = compiler_words(b);
  const char *name = strrchr(b->out, '/');
  const char *const executable[] = {"-pie", NULL};
  const char *const shared[] = {"-shared",
                                "-Wl,--exclude-libs,ALL",
                                "-Wl,--gc-sections",
                                "-Wl,-z,defs",
                                "-Xlinker",
                                "-soname",
                                "-Xlinker",
                                name ? name + 1 : b->out,
                                NULL};
  const char *const always[] = {"-Wl,-z,relro,-z,now", "-Wl,--build-id=none", "-s", NULL};
  const char *const end[] = {library, "-lm", "-pthread", "-o", b->binary, NULL};
  for (const char *const *s = b->api ? shared : executable; *s; s++) vec_push(b->a, &w, *s);
  for (const char *const *s = always; *s; s++) vec_push(b->a, &w, *s);
  for (uint32_t i = 0; i < b->units.n; i++) vec_push(b->a, &w, b->units.at[i].object);
  /* whose tables nothing else asks for by more than a weak symbol */
  if (b->o->images) {
    vec_push(b->a, &w, "-Wl,-u,gcrt_image_formats");
    vec_push(b->a, &w, decoders(b));
  }
  if (b->o->tokens) {
    vec_push(b->a, &w, "-Wl,-u,gcrt_tools");
    vec_push(b->a, &w, intern_printf(b->c, "%s/libgctokens.a", b->o->runtime_dir));
  }
  for (uint32_t i = 0; i < b->mpi.n; i++) vec_push(b->a, &w, b->mpi.at[i]);
  for (const char *const *s = end; *s; s++) vec_push(b->a, &w, *s);
  vec_push(b->a, &w, NULL);
  return w.at;
}

static void say(const Build *b, const char *const *argv) {
  if (!b->o->verbose) return;
  for (int i = 0; argv[i]; i++) fprintf(stderr, "%s%s", i ? " " : "", argv[i]);
  fputc('\n', stderr);
}

static void end(Build *b);

/* Nothing to say of a tool that succeeded. */
static bool judge(Build *b, const ProcessJob *job, const char *path) {
  if (job->status == 0) return true;
  if (process_interrupted()) return false;
  if (job->status < 0) return environment_error(b, "cannot run the C compiler", b->o->cc);
  const char *output = job->output ? job->output : "";
  bool large = strstr(output, "File too large") != NULL;
  if (large || strstr(output, "No space left") || strstr(output, "final close failed")) {
    errno = large ? EFBIG : ENOSPC;
    return environment_error(b, "cannot write", path);
  }
  fputs(output, stderr);
  if (job->status > 128 || strstr(output, "signal terminated program")) {
    diag(b->c, SEV_ERROR, (Loc){0}, "the C compiler '%s' was killed; is there enough memory?",
         b->o->cc);
    *b->code = 3;
    return false;
  }
  end(b);
  gc_bug(b->c, "the C compiler '%s' rejects the generated source", b->o->cc);
}

/* Compiles what is not in the cache, the longest sources first, and keeps it there. */
static bool compile(Build *b) {
  VEC(const Unit *) todo = {0};
  for (uint32_t i = 0; i < b->units.n; i++) {
    const Unit *u = &b->units.at[i];
    if (!u->cached || !cache_get(&b->cache, u->key, u->object)) vec_push(b->a, &todo, u);
  }
  if (b->o->verbose)
    fprintf(stderr, "gc: %u of %u files were compiled before\n", b->units.n - todo.n, b->units.n);
  ProcessJob *job = ARENA_ARRAY(b->a, ProcessJob, todo.n + 1);
  for (uint32_t i = 0; i < todo.n; i++) {
    job[i].argv = compile_words(b, todo.at[i]);
    say(b, job[i].argv);
  }
  process_run_all(job, (int)todo.n, b->o->jobs ? b->o->jobs : process_cores(), b->a);
  int error = errno;
  bool kept = false;
  for (uint32_t i = 0; i < todo.n; i++) {
    if (job[i].status || !todo.at[i]->cached) continue;
    cache_put(&b->cache, todo.at[i]->key, todo.at[i]->object);
    kept = true;
  }
  if (kept) cache_trim(&b->cache);
  errno = error;
  for (uint32_t i = 0; i < todo.n; i++)
    if (job[i].status != PROCESS_NOT_RUN && !judge(b, &job[i], todo.at[i]->object)) return false;
  return !process_interrupted();
}

static bool compile_and_link(Build *b) {
  const char *library = intern_printf(b->c, "%s/libgcrt.a", b->o->runtime_dir);
  if (access(library, R_OK) != 0) {
    (void)environment_error(b, "cannot read gc's runtime", library);
    if (b->o->cross)
      diag(b->c, SEV_NOTE, (Loc){0},
           "'%s' compiles for another machine: build gc with -DGC_CROSS=PREFIX for PREFIX-gcc",
           b->o->cc);
    return false;
  }
  if (b->o->images && access(decoders(b), R_OK) != 0) {
    diag(b->c, SEV_ERROR, (Loc){0},
         "--images: this gc was built without libpng and libjpeg-turbo, or not for '%s'", b->o->cc);
    diag(b->c, SEV_HINT, (Loc){0},
         "'sh docs/install.sh' installs them (Debian: libpng-dev and libjpeg62-turbo-dev); then "
         "configure and build gc again");
    *b->code = 3;
    return false;
  }
  double start = clock_seconds();
  bool ok = compile(b);
  if (ok) {
    ProcessJob job = {.argv = link_words(b, library)};
    say(b, job.argv);
    process_run_all(&job, 1, 1, b->a);
    ok = judge(b, &job, b->binary);
  }
  b->o->cc_seconds += clock_seconds() - start;
  return ok;
}

/* ---- what is compiled ---- */

/* `text`: of the source, where that and the header are all that is compiled; else NULL. */
static void add_unit(Build *b, const char *source, const char *text, const char *march) {
  const char *object = file_in(b, intern_printf(b->c, "%u.o", b->units.n));
  Unit u = {source, object, march, .cached = text && b->cache.dir};
  if (u.cached) u.key = hash_with_text(b->compiler, text);
  if (u.cached && march) u.key = hash_with_text(u.key, march);
  vec_push(b->a, &b->units, u);
}

/* Which compiler, with which options, and what all files of a part include; false if that cannot be
   known. */
static bool know_compiler(Build *b, const CodegenFiles *files) {
  Words w = compiler_words(b);
  struct stat st;
  const char *program = codegen_cc_path(b->a, b->o->cc);
  char *text = NULL;
  size_t n = 0;
  FILE *f = fopen(intern_printf(b->c, "%s/gcrt.h", b->o->runtime_dir), "r");
  bool ok =
      program && stat(program, &st) == 0 && files->macros && f && getdelim(&text, &n, 0, f) > 0;
  if (ok) {
    int64_t of[] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
    Hash h = hash_of(of, sizeof of);
    h = hash_with_text(h, program);
    h = hash_with_text(h, files->macros);
    for (uint32_t i = 0; i < w.n; i++) h = hash_with_text(h, w.at[i]);
    h = hash_with_text(h, text);
    b->compiler = hash_with_text(h, files->header_text);
  }
  free(text);
  if (f) fclose(f);
  return ok;
}

static bool write_part(Build *b, const CodegenPart *p) {
  CodegenFiles files;
  bool ok = p->backend->files(p, b->o, b->dir, b->a, &files, b->code);
  for (uint32_t i = 0; i < files.written.n; i++) vec_push(b->a, &b->files, files.written.at[i]);
  if (!ok) return false;
  if (files.header) {
    b->cache = b->o->no_cache ? (Cache){0} : cache_open(b->cache_path);
    if (!know_compiler(b, &files)) b->cache.dir = NULL;
    if (!write_text(b, file_in(b, files.header), files.header_text)) return false;
  }
  for (uint32_t i = 0; i < files.files.n; i++) {
    const CodegenFile *x = &files.files.at[i];
    const char *path = x->path;
    if (!path) {
      path = file_in(b, b->units.n ? intern_printf(b->c, "unit%u.c", b->units.n) : "program.c");
      if (!write_text(b, path, x->text)) return false;
    }
    add_unit(b, path, x->text, files.march);
  }
  return true;
}

/* A directory for the sources; false after a diagnostic. */
static bool begin(Build *b) {
  const char *tmp = getenv("TMPDIR"), *parent = tmp && *tmp ? tmp : "/tmp";
  char *dir = arena_printf(b->a, "%s/gc-XXXXXX", parent);
  b->dir = dir;
  process_guard_begin(&b->guard);
  b->lock = temporary_make(parent, dir);
  if (b->lock < 0) {
    environment_error(b, "cannot make a directory for the generated source like", b->dir);
    diag(b->c, SEV_HINT, (Loc){0},
         tmp && *tmp ? "that is TMPDIR: set it to a directory that you may write to, or unset it"
                     : "set TMPDIR to a directory that you may write to");
    process_guard_end(&b->guard);
    return false;
  }
  b->binary = file_in(b, "program");
  return true;
}

/* From the folder of this run, which is private, to where it is wanted. */
static bool place(Build *b, const char *from, const char *to, bool program) {
  return output_place(from, to, program) || environment_error(b, "cannot write", to);
}

/* The source of a part for --save-temps: made in the folder of this run, as all else is. */
static bool save_source(Build *b, const CodegenPart *p) {
  const char *whole = file_in(b, intern_printf(b->c, "whole%s", p->backend->suffix));
  return write_source(b, p, whole) && place(b, whole, codegen_saved_source(b->c, b->out, p), false);
}

/* The assembler takes the file as it is. Where gcc's code reaches 2 GB around itself, large data
   stands behind all else; its addresses have 64 bits. */
static const char *weights_source(Build *b, const char *file) {
  const char *macros = b->o->cc_macros ? b->o->cc_macros : "";
  bool large = strstr(macros, "#define __x86_64__ ") && !strstr(macros, "#define __clang__ ");
  const char *quoted = "";
  for (const char *p = file; *p; p++)
    quoted = intern_printf(b->c, "%s%s%c", quoted, *p == '"' || *p == '\\' ? "\\" : "", *p);
  return intern_printf(b->c,
                       ".section %s\n.balign 64\nbegin:\n.incbin \"%s\"\nend:\n.byte 0\n"
                       ".section .data.rel.ro,\"aw\"\n.balign 8\n"
                       ".globl gc_weights\n.hidden gc_weights\ngc_weights: .quad begin, end\n"
                       ".section .note.GNU-stack,\"\",%%progbits\n",
                       large ? ".lrodata,\"al\"" : ".rodata", quoted);
}

static bool add_weights(Build *b) {
  if (!b->o->weights) return true;
  const char *source = file_in(b, "weights.s"), *text = weights_source(b, b->o->weights);
  if (!write_text(b, source, text)) return false;
  add_unit(b, source, NULL, NULL);
  return true;
}

/* What mpicc would run, which is the same question to all implementations: "gcc -I… -L… -lmpi". */
static bool add_mpi(Build *b) {
  const char *mpicc = getenv("MPICC");
  Words w = {0};
  int status;
  char *said = NULL;
  if (!b->o->mpi) return true;
  if (!mpicc || !*mpicc) mpicc = "mpicc";
  codegen_cc_words(b->a, mpicc, &w.at, &w.n);
  w.cap = w.n;
  vec_push(b->a, &w, "-show");
  vec_push(b->a, &w, NULL);
  status = process_run(w.at, b->a, &said);
  if (status != 0 || !said) {
    diag(b->c, SEV_ERROR, (Loc){0},
         "--data-parallel=mpi: '%s -show' does not say how MPI is linked", mpicc);
    diag(b->c, SEV_HINT, (Loc){0},
         "install an MPI (Debian: libopenmpi-dev or libmpich-dev), or set MPICC to its mpicc");
    *b->code = 3;
    return false;
  }
  codegen_cc_words(b->a, said, &w.at, &w.n);
  w.cap = w.n;
  for (uint32_t i = 1; i < w.n; i++) vec_push(b->a, &b->mpi, w.at[i]);
  add_unit(b, intern_printf(b->c, "%s/mpi.c", b->o->runtime_dir), NULL, NULL);
  b->units.at[b->units.n - 1].mpi = true;
  return true;
}

static bool make_part(Build *b, const CodegenPart *p) {
  return write_part(b, p) && (!b->o->save_temps || p->implied || save_source(b, p));
}

static bool make(Build *b, CodegenPart *part, int n) {
  for (int i = 0; i < n; i++) {
    part[i].symbol = i ? intern_printf(b->c, "gc_program_%d", i) : "gc_program";
    if (i) part[i - 1].next = part[i].symbol;
  }
  bool ok = can_write(b) && make_part(b, &part[n - 1]);
  if (ok && b->api) add_unit(b, b->api, NULL, NULL);
  for (int i = 0; i < n - 1 && ok; i++) ok = make_part(b, &part[i]);
  ok = ok && add_weights(b) && add_mpi(b);
  return ok && compile_and_link(b);
}

static void end(Build *b) {
  for (uint32_t i = 0; i < b->files.n; i++) unlink(b->files.at[i]);
  temporary_remove(b->dir, b->lock);
  process_guard_end(&b->guard); /* does not come back where gc was interrupted */
}

static Build build_of(const CodegenPart *part, CodegenOptions *o, const char *out, int *code) {
  Ctx *c = part->m->ctx;
  return (Build){.c = c, .a = ctx_arena(c), .o = o, .out = out, .code = code};
}

bool codegen_exe(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code) {
  Build b = build_of(part, o, out, code);
  if (!begin(&b)) return false;
  bool ok = make(&b, part, n) && place(&b, b.binary, out, true);
  end(&b);
  return ok;
}

/* ---- libraries ---- */

/* A file of the folder of this run, written by `print`. */
static bool write_face(Build *b, const Library *l, const char *path,
                       void (*print)(const Library *l, FILE *f)) {
  FILE *f = fopen(path, "w");
  if (!f) return environment_error(b, "cannot write", path);
  print(l, f);
  return close_whole(b, f, path);
}

static Library library_of(Build *b, const CodegenPart *last) {
  return library_functions(b->a, last->m, b->o, codegen_lib_name(b->c, b->out), b->out);
}

static bool make_library(Build *b, const Library *l, CodegenPart *part, int n) {
  b->api = file_in(b, "api.c");
  return write_face(b, l, file_in(b, "model.h"), library_print_header) &&
         write_face(b, l, b->api, library_print_source) && make(b, part, n);
}

/* Behind what stands beside it. */
static bool place_library(Build *b) {
  return place(b, b->binary, b->out, true) &&
         (!b->o->save_temps || place(b, b->api, codegen_saved_api(b->c, b->out), false));
}

bool codegen_lib(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code) {
  Build b = build_of(part, o, out, code);
  if (!begin(&b)) return false;
  Library l = library_of(&b, &part[n - 1]);
  bool ok = make_library(&b, &l, part, n);
  for (int i = 0; i < CODEGEN_FACES && ok; i++) {
    const char *face = file_in(&b, intern_printf(b.c, "face%d", i));
    ok = write_face(&b, &l, face, library_faces[i].print) &&
         place(&b, face, codegen_face(b.c, out, i), false);
  }
  ok = ok && place_library(&b);
  end(&b);
  return ok;
}

bool codegen_python(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code) {
  Build b = build_of(part, o, codegen_module_library(part->m->ctx, out), code);
  if (!begin(&b)) return false;
  Library l = library_of(&b, &part[n - 1]);
  const char *module = file_in(&b, "model.py");
  bool ok = make_library(&b, &l, part, n) && write_face(&b, &l, module, python_print) &&
            place(&b, module, out, false) && place_library(&b);
  end(&b);
  return ok;
}

bool codegen_wheel(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code) {
  Wheel w;
  Build b = build_of(part, o, NULL, code);
  if (!wheel_named(b.c, out, &w)) return false;
  if (!wheel_is_for(&w, o->processor)) {
    diag(b.c, SEV_ERROR, (Loc){0}, "'%s' is the name of a wheel for %s, but the code is for %s",
         out, w.platform, o->processor);
    diag(b.c, SEV_HINT, (Loc){0}, "name it %s-%s-py3-none-linux_%s.whl with -o", w.name, w.version,
         o->processor);
    *code = 2;
    return false;
  }
  if (!begin(&b)) return false;
  b.out = file_in(&b, intern_printf(b.c, "lib%s.so", w.name));
  Library l = library_of(&b, &part[n - 1]);
  const char *module = file_in(&b, "model.py"), *wheel = file_in(&b, "model.whl");
  bool ok = output_can_replace(out) || environment_error(&b, "cannot write", out);
  ok = ok && make_library(&b, &l, part, n) && write_face(&b, &l, module, python_print);
  ok = ok && (wheel_write(&l, &w, b.binary, module, wheel) ||
              environment_error(&b, "cannot write", wheel));
  ok = ok && place(&b, wheel, out, false);
  end(&b);
  return ok;
}
