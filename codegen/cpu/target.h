/* What the CPU target knows of the machine that the program is compiled for. */
#ifndef GC_CODEGEN_CPU_TARGET_H
#define GC_CODEGEN_CPU_TARGET_H
#include "codegen/codegen.h"

typedef struct CpuTarget {
  Target t;             /* first: a Target * of name "cpu" is a CpuTarget * */
  int vector;           /* bytes of a vector register */
  int vectors;          /* a row of the product's tile, in registers: 4 with 32 registers, else 2 */
  int rows;             /* rows of that tile: 6 */
  const char *features; /* what the program checks at start: "sse3,…,fma,avx,avx2", "" */
} CpuTarget;

static inline const CpuTarget *cpu_target(const Target *t) {
  return (const CpuTarget *)(const void *)t;
}
#endif
