/* Shared by the printers of the CPU. */
#ifndef GC_CODEGEN_CPU_CPU_H
#define GC_CODEGEN_CPU_CPU_H
#include "codegen/print/printer.h"

/* The order in which loops over the domain go: that of the first result. */
const Layout *cpu_domain_layout(const Group *gr);
/* Says that a unit touches only its slice of every argument of the domain's shape that is read
   position by position, and of every result of that shape, as far as they lie as l says, in whose
   order the units go; in elements; rows = 0: nothing is said. */
void cpu_split_full(Kernel *k, const Group *gr, const Layout *l, int64_t rows, int64_t stride,
                    int64_t width);
#endif
