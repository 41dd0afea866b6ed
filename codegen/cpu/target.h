/* What the CPU target knows of the machine that the program is compiled for. */
#ifndef GC_CODEGEN_CPU_TARGET_H
#define GC_CODEGEN_CPU_TARGET_H
#include "codegen/codegen.h"
#include "codegen/schedule/schedule.h"

/* caches.c: of a processor by its name for -march, or of one whose folder in sysfs this is */
Caches caches_of(const char *march);
Caches caches_here(const char *folder);

typedef struct CpuTarget {
  Target t; /* first: a Target * of name "cpu" is a CpuTarget * */
  VectorMachine machine;
  const char *level;     /* "native", "x86-64-v3" */
  const char *features;  /* what each program checks at start: "sse3,…,fma,avx,avx2", "" */
  const char *cc_march;  /* "-march=native"; NULL: the compiler has it of itself */
  const char *cc_macros; /* what the compiler defines with that */
  /* The level for processors with FMA, if this one is an x86-64 without, and what that checks;
     else NULL. */
  const char *fma_level, *fma_features;
} CpuTarget;

/* The target for an instruction set, or for o->march; NULL after a diagnostic, with the exit code
   in o->failed, if the compiler cannot be run (3) or does not know march (2). In the context's
   arena. */
const Target *target_cpu_level(Ctx *c, CodegenOptions *o, const char *march);
const Target *target_cpu(Ctx *c, CodegenOptions *o);
/* Backend.levels of this target. */
bool target_cpu_levels(Ctx *c, const CodegenPart *p, int n, CodegenOptions *o, int *at,
                       const char **march);
/* Writes the whole C source of a part. */
bool cpu_source(const CodegenPart *part, const CodegenOptions *o, FILE *f);

static inline const CpuTarget *cpu_target(const Target *t) {
  return (const CpuTarget *)(const void *)t;
}
#endif
