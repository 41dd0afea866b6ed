/* The faces of a model as a library: its header with the functions that the header declares, and
   the Python module that calls them. */
#ifndef GC_CODEGEN_LIBRARY_H
#define GC_CODEGEN_LIBRARY_H
#include "codegen/build/library_functions.h"
#include "codegen/codegen.h"

/* Begins the header and the source of the functions: gc knows them by it (mark.c). */
#define LIBRARY_MARK "/* Made by gc "
void library_print_header(const Library *l, FILE *f);
void library_print_source(const Library *l, FILE *f); /* includes the header as "model.h" */

/* Of a Python module, and of the files for pkg-config and CMake. */
#define SCRIPT_MARK "# Made by gc "
/* What stands beside a library. */
typedef struct LibraryFace {
  const char *what, *suffix; /* suffix: behind NAME */
  void (*print)(const Library *l, FILE *f);
} LibraryFace;
extern const LibraryFace library_faces[CODEGEN_FACES];

/* A module that loads l->file from its own folder. */
void python_print(const Library *l, FILE *f);
/* A module of this name can be imported, and hides none that it imports itself. */
bool python_can_import(const char *name);

#define WHEEL_MARK "Generator: gc "
/* Of its file, DIR/NAME-VERSION-py3-none-PLATFORM.whl, which says all that an installer asks. */
typedef struct Wheel {
  const char *name, *version, *platform;
} Wheel;
/* False: `out` is no such name, or NAME is no module that can be imported. */
bool wheel_named(Ctx *c, const char *out, Wheel *w);
bool wheel_is_for(const Wheel *w, const char *processor); /* by the end of its platform */
/* A wheel of the package NAME, of the files `module` and `library`, as the file `to`. False with
   errno set. */
bool wheel_write(const Library *l, const Wheel *w, const char *library, const char *module,
                 const char *to);
#endif
