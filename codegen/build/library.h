/* The C face of a model: its header, and the functions that the header declares. */
#ifndef GC_CODEGEN_LIBRARY_H
#define GC_CODEGEN_LIBRARY_H
#include "codegen/codegen.h"

/* Begins the header and the source of the functions: gc knows them by it (mark.c). */
#define LIBRARY_MARK "/* Made by gc "
/* `name`: of the library `out` without lib and .so. The source includes the header as "model.h". */
void library_print(const Module *m, const CodegenOptions *o, const char *name, const char *out,
                   FILE *header, FILE *source);
#endif
