/* Library functions of arrays, that compute several vectors side by side (text/vmath.h): which of
   them the element-wise work of a group calls, round by round. A round has the arguments of all its
   calls in arrays, array0 and on, which its calls replace by results. */
#ifndef GC_CODEGEN_CPU_CALLS_H
#define GC_CODEGEN_CPU_CALLS_H
#include "codegen/cpu/cpu.h"

/* round[i]: of a group's op i, those calls before its own that its argument waits for, counted
   along the longest way; -1 where it is none. */
typedef struct Calls {
  int *round, rounds, n;
} Calls;

/* Those whose results have the whole shape of the domain. */
Calls calls_of(Gen *g, const Group *gr);
/* Calls of earlier rounds: the number of the round's first array. */
int calls_before(const Calls *c, const Group *gr, int round);
/* The calls of a round, for `count` elements. */
void calls_print(Text *x, const Group *gr, const Calls *c, int round, const char *count);
#endif
