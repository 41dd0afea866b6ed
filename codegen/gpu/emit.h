/* A program for the GPU, printed: its CUDA C source, and its tables, which wait for the images that
   NVRTC makes of the source. */
#ifndef GC_CODEGEN_CUDA_EMIT_H
#define GC_CODEGEN_CUDA_EMIT_H
#include "codegen/gpu/cuda/nvrtc.h"
#include "codegen/gpu/gpu.h"
#include "codegen/program/tables.h"

typedef struct CudaFunction {
  const Kernel *kernel; /* of the first launch */
  int launches;
  const char *entries; /* "train,test": whose launches they are */
  const Entry *entry;  /* of the first launch: whose, and of which op */
  const Op *op;
  const char *name, *what; /* "k12", "matmul add relu : f32[64, 256]" */
  const char *head,
      *body; /* the declaration, up to its brace, and what follows, but for the last */
  const char *marked, *form; /* the body with its constants marked, of the first launch, and without
                                their values: text/constant.h */
  Constants constants;       /* of the first launch */
  bool differs[MOST_CONSTANTS]; /* in another launch: the constant is a parameter */
  int nargs, block, shared;
  bool sm90a;                         /* it has code of its own for sm_90a */
  int64_t grid;                       /* blocks */
  uint8_t *rights;                    /* of each argument: 1 read, 2 write */
  uint64_t *bytes;                    /* of each argument: all that a launch may touch */
  const struct CudaFunction *one;     /* of several launches in one: that of each; else NULL */
  const struct CudaFunction *members; /* kernel->mixed of them: of several kernels in one launch */
} CudaFunction;

/* A launch in a step of an entry. */
typedef struct CudaStep {
  const Entry *entry;
  int function;
  int step;      /* of the entry's plan */
  int64_t times; /* of all iterations of the loops around */
  const Kernel *kernel;
  bool sm90a; /* it is launched with code for sm_90a */
  Constants constants;
} CudaStep;

typedef struct CudaProgram {
  Gen g;
  VEC(CudaFunction) functions;
  VEC(CudaStep) steps;
  Tables tables;
  CudaNotes notes;
} CudaProgram;

/* "p0 read 4096, p1 write 64, env read 16, fault both 32": what the function may touch. */
const char *cuda_buffers(Arena *a, const CudaFunction *f);
/* The number of the function that the launch calls, which may be new; and the launch's constants.
 */
int cuda_function(CudaProgram *p, const Entry *e, const Launch *l, bool sm90a, Constants *out);
/* All launches are known: constants that differ become parameters. */
void cuda_take_constants(CudaProgram *p);
/* The tables of the launches, which those of the program name. */
const char *cuda_launches(CudaProgram *p);
/* The code that kernels stand on, from the files in text/ and in shared/. */
const Sections *cuda_library(Arena *a);
/* In the arena given. */
CudaProgram *cuda_program(Module *m, const Target *t, const CodegenOptions *o, Arena *a);
/* Its CUDA C source, with function i where only[i], or with all of them. */
const char *cuda_source(const CudaProgram *p, const bool *only);
/* That of a part, whole. */
bool cuda_write_source(const CodegenPart *part, const CodegenOptions *o, FILE *f);
/* Its schedules, a line for each function. */
bool cuda_schedules(const CodegenPart *part, const CodegenOptions *o, FILE *f);
/* The time of its launches on a device of the model of time: `device` is a name of
   time/devices.def. */
bool cuda_times(const CodegenPart *part, const CodegenOptions *o, const char *device, FILE *f);
/* A cubin for each architecture, then PTX for the highest; PTX for a "compute_80", and then for no
   other: *nout images, at most n + 1. False after a diagnostic. */
bool cuda_images(CudaProgram *p, const char *const *arch, int n, CudaImage *out, int *nout,
                 int *code);
/* Writes the images, and a C file of the program's tables that includes them, into dir; the names
   of all of them are added to *files, that of the C file first. symbol and next: as of CodegenPart.
 */
bool cuda_unit(CudaProgram *p, const CudaImage *image, int n, const char *symbol, const char *next,
               const char *dir, const char **files, int *nfiles, int *code);
#endif
