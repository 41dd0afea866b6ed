/* Code generation: from a planned module to C source, and from source to an executable.
   A target is one `Backend`; the parts that no target needs to know of (grouping, expression text,
   launch order, argument addresses, barriers) are in codegen/ itself, the rest in codegen/TARGET/.
 */
#ifndef GC_CODEGEN_CODEGEN_H
#define GC_CODEGEN_CODEGEN_H
#include "ir/ir.h"
#include "passes/passes.h"
#include <stdio.h>

typedef struct CodegenOptions {
  const char *march;       /* "native", "x86-64-v3", …; NULL: native, or as $CC has it if that
                              compiles for another machine */
  const char *version;     /* of gc */
  const char *runtime_dir; /* holds libgcrt.a and gcrt.h; in a folder for each other processor, too,
                              which target_cpu sets if $CC compiles for one */
  const char *cc;          /* C compiler with its own options, as words; NULL: $CC, else cc */
  const char *cc_macros;   /* set by target_cpu: what the compiler defines, so which one it is */
  const char *cc_march;    /* set by target_cpu: "-march=native", or NULL */
  bool cross;              /* set by target_cpu: $CC compiles for another processor */
  const char *fma_march; /* set by target_cpu, if march is an x86-64 without FMA: what the program's
                            code is compiled for a second time, since FMA is many times as fast as
                            what does without; else NULL */
  const char *fma_features; /* ... the instruction sets of that */
  int jobs;                 /* C compilers at the same time; 0: one for each core */
  bool no_cache;            /* of compiled kernels */
  int level;                /* 0..3, of gc */
  bool save_temps, verbose, time;
  double cc_seconds;            /* set: time spent in the C compiler and linker */
  const struct CodegenGpu *gpu; /* what an executable holds beside the CPU's program, or NULL */
  bool stats;                   /* say what the kernels take of a GPU */
  int failed;                   /* set: exit code of a target that could not be made */
  bool exact;          /* no tensor cores: a GPU's sums have the CPU's order in every dtype */
  const char *old_gpu; /* no tensor cores, either: "sm_75", of --arch, from before sm_80; or NULL */
  bool wide; /* positions of 64 bits in every kernel of a GPU, as large values take them */
} CodegenOptions;

/* The same program, planned for the CUDA target. */
typedef struct CodegenGpu {
  Module *m;
  const Target *target;
  const char *const *arch; /* "sm_80", …: a cubin each; and PTX for the highest */
  int narch;
} CodegenGpu;

/* The CPU target for an instruction set; NULL after a diagnostic, with the exit code in o->failed,
   if the compiler cannot be run (3) or does not know march (2). In the context's arena. */
const Target *target_cpu(Ctx *c, CodegenOptions *o);

/* "ccache gcc -m64" as words, cut at blanks as make does; *n of them. */
void codegen_cc_words(Arena *a, const char *cc, const char ***words, uint32_t *n);
/* The file of its first word, found in PATH; NULL: none. */
const char *codegen_cc_path(Arena *a, const char *cc);

/* False after a diagnostic where a program of these ops can differ between processors. */
bool codegen_exact(const Module *m);

/* The architecture of this machine's GPU, "sm_90"; NULL where there is none. */
const char *codegen_native_gpu(Ctx *c);
/* "NVRTC 13.0", or NULL where there is none; *knows: it compiles for the architecture, if given. */
const char *codegen_nvrtc(Ctx *c, const char *arch, bool *knows);
/* What to do where there is none. */
extern const char codegen_nvrtc_remedy[];

/* The CUDA target. In the context's arena. */
const Target *target_cuda(Ctx *c);
/* Writes the CUDA C source of a module planned for it. */
bool codegen_cuda(Module *m, const Target *t, const CodegenOptions *o, FILE *f);
/* Its cubin for arch "sm_90", or its PTX for "compute_90". False after a diagnostic, with the exit
   code in *code (3: no NVRTC). The bytes are in the context's arena. */
bool codegen_cuda_binary(Module *m, const Target *t, const CodegenOptions *o, const char *arch,
                         const char **bytes, size_t *n, int *code);
/* Writes DIR/gpu.c, the tables of o->gpu with its images in them, and the files that it includes;
   the names of all of them are added to *files, gpu.c first. */
bool codegen_cuda_unit(const CodegenOptions *o, const char *dir, const char **files, int *nfiles,
                       int *code);

/* Writes the whole C source of a planned module. */
bool codegen_c(Module *m, const Target *t, const CodegenOptions *o, FILE *f);

/* The same in several files, to be compiled at the same time. */
typedef struct CodegenFile {
  const char *text;
  const char *march; /* to be compiled for, in place of the program's; or NULL */
} CodegenFile;
typedef struct CodegenFiles {
  const char *header, *header_text; /* the name that all of them include; its text */
  VEC(CodegenFile) files;           /* of the tables, then of kernels; then both for o->fma_march */
} CodegenFiles;
bool codegen_c_files(Module *m, const Target *t, const CodegenOptions *o, Arena *a,
                     CodegenFiles *out);

/* Compiles and links to an executable; `out` appears whole or not at all. False after a diagnostic;
   exit code in *code (3: no compiler, no space). With save_temps the C source stays as out.c. */
bool codegen_exe(Module *m, const Target *t, CodegenOptions *o, const char *out, int *code);

/* The same as a shared library, with its header beside it: libNAME.so and NAME.h, both or neither.
 */
bool codegen_lib(Module *m, const Target *t, CodegenOptions *o, const char *out, int *code);
/* NAME of DIR/libNAME.so; NULL if `out` is not named so. */
const char *codegen_lib_name(Ctx *c, const char *out);
/* The files that are written beside `out`: a library's header, and with save_temps the sources. */
typedef enum CodegenBeside { BESIDE_HEADER, BESIDE_C, BESIDE_CUDA, BESIDE_API } CodegenBeside;
const char *codegen_beside(Ctx *c, const char *out, CodegenBeside which);
#endif
