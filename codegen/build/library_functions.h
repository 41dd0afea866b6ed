/* The public functions of a model as a library, and how each of its names is chosen; the C header
   and the Python module are printed from them. */
#ifndef GC_CODEGEN_LIBRARY_FUNCTIONS_H
#define GC_CODEGEN_LIBRARY_FUNCTIONS_H
#include "codegen/codegen.h"

/* Names of one scope: no two are equal, and none is a word that its language reserves. */
typedef struct PublicNames {
  Arena *a;
  bool (*reserved)(const char *s);
  VEC(const char *) at;
} PublicNames;
/* A name that is none yet: s, s_END, s_END_, … */
const char *public_name_new(PublicNames *n, const char *s, const char *end);
/* Letters, digits and _, not beginning with a digit or _. */
const char *public_identifier(Arena *a, const char *s);
/* Safe inside a comment or a string. */
const char *public_plain(Arena *a, const char *s);

typedef struct LibraryParam {
  const char *key;          /* in the .g file */
  const char *name, *count; /* count: the macro's name; NULL of scalars */
  const Type *type;
  bool output;
} LibraryParam;

typedef struct LibraryFunction {
  const char *name; /* with the prefix */
  const Entry *entry;
  int nparams, ninputs, nextents;
  LibraryParam *param; /* inputs, then outputs */
  const Extent *extent[ENTRY_EXTENTS];
  int64_t least[ENTRY_EXTENTS]; /* that runs may have */
  const char *extent_name[ENTRY_EXTENTS];
} LibraryFunction;

typedef struct Hyper {
  const char *name, *set, *get; /* the last two with the prefix */
  Dtype dtype;
  double value;
} Hyper;

typedef struct Library {
  Arena *a;
  const Module *m;
  const CodegenOptions *o;
  const char *prefix, *name, *source, *file; /* the last two: names without folders */
  PublicNames names;                         /* of all that is public in C */
  VEC(LibraryFunction) functions;
  VEC(Hyper) hypers;
} Library;
/* A dim as a caller reads it: "784", "n", "2 n * t", "n - 1". */
const char *library_dim(const LibraryFunction *f, Arena *a, const Type *t, int axis);
/* `name`: of the library `out`, without lib and .so. In the arena. */
Library library_functions(Arena *a, const Module *m, const CodegenOptions *o, const char *name,
                          const char *out);
#endif
