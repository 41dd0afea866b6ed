/* Shared by the printers of the CPU. */
#ifndef GC_CODEGEN_CPU_CPU_H
#define GC_CODEGEN_CPU_CPU_H
#include "codegen/printer.h"

/* Says that a unit touches only its slice of every argument of the domain's shape that is read
   position by position, and of every result of that shape; in elements; rows = 0: nothing is said.
 */
void cpu_split_full(Kernel *k, const Group *gr, int64_t rows, int64_t stride, int64_t width);
#endif
