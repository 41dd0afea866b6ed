/* The C compiler: compiles several files at a time, takes those from the cache that have been
   compiled before, and links. Contract: libc, libm and nothing else is needed at run time:
   libgcrt.a holds the runtime and zlib, libgcimages.a the decoders of images, libgctokens.a the
   tokenizers and libgcranks.a the way in which ranks of GPUs meet, for programs that ask for them.
   The same program gives the same bytes: no build id, no paths of this machine in the output. */
#include "codegen/build/build.h"
#include "ir/support/clock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

Words build_compiler(Build *b) {
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
  Words w = build_compiler(b);
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

static const char *tokens_library(const Build *b) {
  return intern_printf(b->c, "%s/libgctokens.a", b->o->runtime_dir);
}

static const char *ranks_library(const Build *b) {
  return intern_printf(b->c, "%s/libgcranks.a", b->o->runtime_dir);
}

/* Ranks that meet by themselves, not by MPI. */
static bool links_ranks(const Build *b) { return b->o->ranks && !b->mpi.n && !b->api; }

static const char *const *link_words(Build *b, const char *library) {
  Words w = build_compiler(b);
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
    vec_push(b->a, &w, tokens_library(b));
  }
  if (links_ranks(b)) {
    vec_push(b->a, &w, "-Wl,-u,gcrt_comm_open");
    vec_push(b->a, &w, ranks_library(b));
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

/* Nothing to say of a tool that succeeded. */
static bool judge(Build *b, const ProcessJob *job, const char *path) {
  if (job->status == 0) return true;
  if (process_interrupted()) return false;
  if (job->status < 0) return build_error(b, "cannot run the C compiler", b->o->cc);
  const char *output = job->output ? job->output : "";
  bool large = strstr(output, "File too large") != NULL;
  if (large || strstr(output, "No space left") || strstr(output, "final close failed")) {
    errno = large ? EFBIG : ENOSPC;
    return build_error(b, "cannot write", path);
  }
  fputs(output, stderr);
  if (job->status > 128 || strstr(output, "signal terminated program")) {
    diag(b->c, SEV_ERROR, (Loc){0}, "the C compiler '%s' was killed; is there enough memory?",
         b->o->cc);
    *b->code = 3;
    return false;
  }
  build_end(b);
  gc_bug(b->c, "the C compiler '%s' rejects the generated source", b->o->cc);
}

static void say_compiled(void *build, int ended, int n) {
  const Build *b = build;
  codegen_progress(b->o, "compiling kernels: %d of %d files", ended, n);
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
  const int most = b->o->jobs ? b->o->jobs : process_cores();
  process_run_all(job, (int)todo.n, most, (ProcessWatch){say_compiled, b}, b->a);
  int error = errno;
  codegen_progress_end(b->o);
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

/* A library that the program links; in a build tree a target makes each. */
static bool find_library(Build *b, const char *library, const char *target) {
  if (access(library, R_OK) == 0) return true;
  (void)build_error(b, "cannot read gc's runtime", library);
  if (b->o->cross)
    diag(b->c, SEV_NOTE, (Loc){0},
         "'%s' compiles for another machine: build gc with -DGC_CROSS=PREFIX for PREFIX-gcc",
         b->o->cc);
  else
    diag(b->c, SEV_HINT, (Loc){0},
         "the target %s of gc's build makes it: cmake --build BUILD --target %s; "
         "an installation has it from cmake --install",
         target, target);
  return false;
}

bool build_link(Build *b) {
  const char *library = intern_printf(b->c, "%s/libgcrt.a", b->o->runtime_dir);
  if (!find_library(b, library, "gcrt") ||
      (b->o->tokens && !find_library(b, tokens_library(b), "gctokens")) ||
      (links_ranks(b) && !find_library(b, ranks_library(b), "gcranks")))
    return false;
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
    process_run_all(&job, 1, 1, (ProcessWatch){0}, b->a);
    ok = judge(b, &job, b->binary);
  }
  b->o->cc_seconds += clock_seconds() - start;
  return ok;
}
