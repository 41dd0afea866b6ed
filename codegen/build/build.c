/* From a program's parts to an executable: writes the sources to a directory of its own, has them
   compiled and linked, and moves the result into place, so that `out` is whole or untouched. */
#define _GNU_SOURCE
#include "codegen/build/build.h"
#include "codegen/build/output.h"
#include "codegen/build/temporary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool build_error(Build *b, const char *what, const char *path) {
  const bool writes = strcmp(what, "cannot write") == 0;
  const int folder = writes ? (int)output_missing_folder(path) : 0;
  diag(b->c, SEV_ERROR, (Loc){0}, "%s '%s': %s", what, path, strerror(errno));
  if (folder) diag(b->c, SEV_HINT, (Loc){0}, "make its folder first: mkdir -p %.*s", folder, path);
  *b->code = 3;
  return false;
}

const char *build_file(Build *b, const char *name) {
  const char *path = intern_printf(b->c, "%s/%s", b->dir, name);
  vec_push(b->a, &b->files, path);
  return path;
}

bool build_close(Build *b, FILE *f, const char *path) {
  errno = 0;
  bool whole = fflush(f) == 0 && !ferror(f);
  int error = errno;
  whole = fclose(f) == 0 && whole;
  if (error) errno = error;
  return whole || build_error(b, "cannot write", path);
}

static bool build_write(Build *b, const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  if (!f) return build_error(b, "cannot write", path);
  fputs(text, f);
  return build_close(b, f, path);
}

/* A part's source in one file, for people. */
static bool write_source(Build *b, const CodegenPart *p, const char *path) {
  FILE *f = fopen(path, "w");
  if (!f) return build_error(b, "cannot write", path);
  bool ok = p->backend->source(p, b->o, f);
  if (!ok) *b->code = 1;
  return build_close(b, f, path) && ok;
}

/* A place that cannot be written is told before the C compiler runs. */
static bool can_write(Build *b) {
  return output_can_replace(b->out) || build_error(b, "cannot write", b->out);
}

/* ---- what is compiled ---- */

/* `text`: of the source, where that and the header are all that is compiled; else NULL. */
static void add_unit(Build *b, const char *source, const char *text, const char *march) {
  const char *object = build_file(b, intern_printf(b->c, "%u.o", b->units.n));
  Unit u = {source, object, march, .cached = text && b->cache.dir};
  if (u.cached) u.key = hash_with_text(b->compiler, text);
  if (u.cached && march) u.key = hash_with_text(u.key, march);
  vec_push(b->a, &b->units, u);
}

/* Adds what a header of the runtime says; false if it cannot be read. */
static bool add_header(const Build *b, const char *name, Hash *h) {
  char *text = NULL;
  size_t n = 0;
  FILE *f = fopen(intern_printf(b->c, "%s/%s", b->o->runtime_dir, name), "r");
  bool ok = f && getdelim(&text, &n, 0, f) > 0;
  if (ok) *h = hash_with_text(*h, text);
  free(text);
  if (f) fclose(f);
  return ok;
}

/* Which compiler, with which options, and what all files of a part include; false if that cannot be
   known. */
static bool know_compiler(Build *b, const CodegenFiles *files) {
  Words w = build_compiler(b);
  struct stat st;
  const char *program = codegen_cc_path(b->a, b->o->cc);
  if (!program || stat(program, &st) != 0 || !files->macros) return false;
  int64_t of[] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
  Hash h = hash_of(of, sizeof of);
  h = hash_with_text(h, program);
  h = hash_with_text(h, files->macros);
  for (uint32_t i = 0; i < w.n; i++) h = hash_with_text(h, w.at[i]);
  if (!add_header(b, "gcrt.h", &h) || !add_header(b, "gcrt_ranks.h", &h)) return false;
  b->compiler = hash_with_text(h, files->header_text);
  return true;
}

static bool write_part(Build *b, const CodegenPart *p) {
  CodegenFiles files;
  bool ok = p->backend->files(p, b->o, b->dir, b->a, &files, b->code);
  for (uint32_t i = 0; i < files.written.n; i++) vec_push(b->a, &b->files, files.written.at[i]);
  if (!ok) return false;
  if (files.header) {
    b->cache = b->o->no_cache ? (Cache){0} : cache_open(b->cache_path);
    if (!know_compiler(b, &files)) b->cache.dir = NULL;
    if (!build_write(b, build_file(b, files.header), files.header_text)) return false;
  }
  for (uint32_t i = 0; i < files.files.n; i++) {
    const CodegenFile *x = &files.files.at[i];
    const char *path = x->path;
    if (!path) {
      path = build_file(b, b->units.n ? intern_printf(b->c, "unit%u.c", b->units.n) : "program.c");
      if (!build_write(b, path, x->text)) return false;
    }
    add_unit(b, path, x->text, files.march);
  }
  return true;
}

bool build_begin(Build *b) {
  const char *tmp = getenv("TMPDIR"), *parent = tmp && *tmp ? tmp : "/tmp";
  char *dir = arena_printf(b->a, "%s/gc-XXXXXX", parent);
  b->dir = dir;
  process_guard_begin(&b->guard);
  b->lock = temporary_make(parent, dir);
  if (b->lock < 0) {
    build_error(b, "cannot make a directory for the generated source like", b->dir);
    diag(b->c, SEV_HINT, (Loc){0},
         tmp && *tmp ? "that is TMPDIR: set it to a directory that you may write to, or unset it"
                     : "set TMPDIR to a directory that you may write to");
    process_guard_end(&b->guard);
    return false;
  }
  b->binary = build_file(b, "program");
  return true;
}

bool build_place(Build *b, const char *from, const char *to, bool program) {
  return output_place(from, to, program) || build_error(b, "cannot write", to);
}

/* The source of a part for --save-temps: made in the folder of this run, as all else is. */
static bool save_source(Build *b, const CodegenPart *p) {
  const char *whole = build_file(b, intern_printf(b->c, "whole%s", p->backend->suffix));
  return write_source(b, p, whole) &&
         build_place(b, whole, codegen_saved_source(b->c, b->out, p), false);
}

/* The assembler takes the file as it is, in pages of its own (Global.weights_at). Where gcc's code
   reaches 2 GB around itself, large data stands behind all else; its addresses have 64 bits. */
static const char *weights_source(Build *b, const char *file) {
  const char *macros = b->o->cc_macros ? b->o->cc_macros : "";
  bool large = strstr(macros, "#define __x86_64__ ") && !strstr(macros, "#define __clang__ ");
  const char *quoted = "";
  for (const char *p = file; *p; p++)
    quoted = intern_printf(b->c, "%s%s%c", quoted, *p == '"' || *p == '\\' ? "\\" : "", *p);
  return intern_printf(b->c,
                       ".section %s\n.balign 4096\n.skip %u\nbegin:\n.incbin \"%s\"\nend:\n"
                       ".byte 0\n"
                       ".section .data.rel.ro,\"aw\"\n.balign 8\n"
                       ".globl gc_weights\n.hidden gc_weights\ngc_weights: .quad begin, end\n"
                       ".section .note.GNU-stack,\"\",%%progbits\n",
                       large ? ".lrodata,\"al\"" : ".rodata", b->o->weights_before, quoted);
}

static bool add_weights(Build *b) {
  if (!b->o->weights) return true;
  const char *source = build_file(b, "weights.s"), *text = weights_source(b, b->o->weights);
  if (!build_write(b, source, text)) return false;
  add_unit(b, source, NULL, NULL);
  return true;
}

/* What mpicc would run, which is the same question to all implementations: "gcc -I… -L… -lmpi". */
static bool add_mpi(Build *b) {
  const char *mpicc = getenv("MPICC");
  Words w = {0};
  int status;
  char *said = NULL;
  if (!b->o->ranks || strcmp(b->o->ranks_by, "mpi") != 0) return true;
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

bool build_make(Build *b, CodegenPart *part, int n) {
  for (int i = 0; i < n; i++) {
    part[i].symbol = i ? intern_printf(b->c, "gc_program_%d", i) : "gc_program";
    if (i) part[i - 1].next = part[i].symbol;
  }
  bool ok = can_write(b) && make_part(b, &part[n - 1]);
  if (ok && b->api) add_unit(b, b->api, NULL, NULL);
  const uint32_t api = b->units.n - 1;
  for (int i = 0; i < n - 1 && ok; i++) ok = make_part(b, &part[i]);
  ok = ok && add_weights(b) && add_mpi(b);
  if (ok && b->api) b->units.at[api].mpi = b->mpi.n > 0; /* its header is MPI's, too */
  return ok && build_link(b);
}

void build_end(Build *b) {
  for (uint32_t i = 0; i < b->files.n; i++) unlink(b->files.at[i]);
  temporary_remove(b->dir, b->lock);
  process_guard_end(&b->guard); /* does not come back where gc was interrupted */
}

Build build_of(const CodegenPart *part, CodegenOptions *o, const char *out, int *code) {
  Ctx *c = part->m->ctx;
  return (Build){.c = c, .a = ctx_arena(c), .o = o, .out = out, .code = code};
}

bool codegen_exe(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code) {
  Build b = build_of(part, o, out, code);
  if (!build_begin(&b)) return false;
  bool ok = build_make(&b, part, n) && build_place(&b, b.binary, out, true);
  build_end(&b);
  return ok;
}
