/* Divides the kernels of a program into C files that are compiled at the same time. */
#ifndef GC_CODEGEN_CPU_UNITS_H
#define GC_CODEGEN_CPU_UNITS_H
#include "codegen/program/gen.h"
#include "codegen/text/hash.h"

/* A kernel's function. */
typedef struct KernelFunction {
  const char *body, *name; /* interned; of the tables and of the one file: "k3_matmul_relu" */
  const char *symbol;      /* where it is a file's: follows from the body alone */
  const char *comment;     /* where it comes from: a line */
  Hash hash;               /* of the body */
  const Kernel *kernel;    /* of the first launch */
  int launches;
  uint64_t flops, bytes; /* of all launches: as of a Launch */
  const char *entries;   /* "train,test": whose launches they are */
} KernelFunction;
typedef VEC(KernelFunction) KernelFunctions;

/* After a name. */
#define KERNEL_PARAMETERS "(void *const *p, const GcEnv *env, int t, int nt)"

/* The files' texts, each of the kernels in it and of what they call; all begin by including the
   file `common`. A file's text follows from its kernels' bodies alone, not from where they stand
   in the program: most stay as they were when the program changes a little. */
typedef VEC(const char *) UnitTexts;
UnitTexts units_of(Gen *g, const KernelFunctions *functions, const char *common);
#endif
