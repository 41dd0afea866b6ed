/* Shared by the printers of the CPU. */
#ifndef GC_CODEGEN_CPU_CPU_H
#define GC_CODEGEN_CPU_CPU_H
#include "codegen/printer.h"

/* Says that a unit touches only its slice of every argument of the domain's shape that is read
   position by position, and of every result of that shape; in elements; rows = 0: nothing is said. */
void cpu_split_full(Kernel *k, const Group *gr, int64_t rows, int64_t stride, int64_t width);

/* ---- reductions ---- */
/* "0.0f", "-inf", … of the compute type */
const char *reduce_start(Gen *g, OpKind k, Dtype dt);
/* acc combined with v: "acc + v"; both names */
const char *reduce_step(Gen *g, OpKind k, const char *acc, const char *v);
/* a is to replace b as the largest or smallest so far; NaN wins, and the first */
const char *reduce_beats(Gen *g, OpKind k, Dtype dt, const char *a, const char *b);
/* Elements that a float reduction runs side by side along a row; fewer in a row: one by one. */
enum { LANES = 64 };
/* Element operations of one evaluation of the group's members on their shapes, with functions at
   their price. */
int64_t group_work(const Group *gr);
#endif
