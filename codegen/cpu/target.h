/* What the CPU target knows of the machine that the program is compiled for. */
#ifndef GC_CODEGEN_CPU_TARGET_H
#define GC_CODEGEN_CPU_TARGET_H
#include "codegen/codegen.h"
#include "codegen/schedule/schedule.h"

typedef struct CpuTarget {
  Target t; /* first: a Target * of name "cpu" is a CpuTarget * */
  VectorMachine machine;
  const char *features; /* what the program checks at start: "sse3,…,fma,avx,avx2", "" */
} CpuTarget;

/* The target for an instruction set; NULL after a diagnostic, with the exit code in o->failed,
   if the compiler cannot be run (3) or does not know march (2). In the context's arena. */
const Target *target_cpu(Ctx *c, CodegenOptions *o);
/* Writes the whole C source of a part. */
bool cpu_source(const CodegenPart *part, const CodegenOptions *o, FILE *f);

static inline const CpuTarget *cpu_target(const Target *t) {
  return (const CpuTarget *)(const void *)t;
}
#endif
