/* What planted errors are planted in: a planned program, its source and PTX, its results. */
#ifndef GC_TESTS_CUDA_MUTANTS_H
#define GC_TESTS_CUDA_MUTANTS_H
#include "tests/cuda/device.h"

typedef struct Count {
  int made, broken, same, caught, missed; /* broken: NVRTC rejects it; same: nothing changed */
} Count;

typedef struct Outcome {
  Tensor *out;
  unsigned char *globals; /* afterwards */
  const char *fault;      /* what ended it, or "" */
} Outcome;

typedef struct Subject {
  struct Nvrtc *nvrtc;
  Ctx *c;
  Arena *a;
  Module *m;
  const Target *t;
  CodegenOptions o;
  CudaProgram *p;
  CudaImage image;       /* PTX */
  Compiled *whole;       /* on the interpreter */
  int every, every_plan; /* of so many edits, and of so many plans, one is tried */
  Outcome (*outcome)[2]; /* by entry, without an edit: of ordinary inputs, and of odd ones */
  const char *arch;      /* of the PTX */
  bool taken[18];        /* texts that a kernel was edited with */
  int vain;              /* rows of mutants.def that name what is there without an edit */
} Subject;

typedef struct Part { /* of the source that is edited */
  const char *from, *to;
} Part;

/* A kernel by itself. */
typedef struct Alone {
  const char *source, *name; /* what comes before all kernels, and one of them */
  int entry;                 /* the first one that launches it */
  char *ptx[2];              /* before any edit, in whole and of less; NULL: none was tried yet */
  const char *body;
  Part part[10];
  int parts;
} Alone;

/* Does the entry do anything else than before the edit, in order or backwards? */
bool subject_differs(const Subject *s, Compiled *c, int entry);
/* mutants_kernel.c; false: only init launches it */
bool take_kernel(Subject *s, int i, Alone *k);
/* mutants_ptx.c: can NVRTC optimise less? */
bool subject_can_be_less(const Subject *s);
/* PTX of the source, by NVRTC that optimises less or in whole, to free; NULL where it does not
   compile */
char *subject_ptx(const Subject *s, const char *source, bool less, bool quiet);
/* mutants_plan.c; false after printing a plan with an overlap that plan-verify takes */
bool overlap_plans(Subject *s, Count *n);
/* Leaves steps out, one at a time; returns how often the finding was that nobody wrote what is read
 */
int leave_out_steps(Subject *s, Count *n);
#endif
