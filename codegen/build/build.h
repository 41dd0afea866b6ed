/* A compilation of C source on its way to an executable or a library: a folder of its own, the
   files that are compiled, and where the result goes. Contract: between build_begin and build_end a
   signal that ends gc removes the folder; a diagnostic of a function that fails has been given, and
   the exit code is in *code. */
#ifndef GC_CODEGEN_BUILD_H
#define GC_CODEGEN_BUILD_H
#include "codegen/build/cache.h"
#include "codegen/build/process.h"
#include "codegen/codegen.h"

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

Build build_of(const CodegenPart *part, CodegenOptions *o, const char *out, int *code);
/* A directory for what is in between. */
bool build_begin(Build *b);
void build_end(Build *b);
/* What the environment refuses: "WHAT 'PATH': " and errno's words; false, with exit code 3. */
bool build_error(Build *b, const char *what, const char *path);
/* The name of a file in the directory, which build_end removes. */
const char *build_file(Build *b, const char *name);
/* Closes what was written; false if it is not whole. */
bool build_close(Build *b, FILE *f, const char *path);
/* From the directory, which is private, to where it is wanted. */
bool build_place(Build *b, const char *from, const char *to, bool program);
/* b->binary of n parts of a program, the first of which is asked first at run time. */
bool build_make(Build *b, CodegenPart *part, int n);

/* ---- link.c ---- */
/* The compiler, which may be several words, and what every call of it says. */
Words build_compiler(Build *b);
/* Compiles all units but those of the cache, and links them. */
bool build_link(Build *b);
#endif
