/* The parts of the independent checker of a plan (plan_verify.c): what memory holds, and which
   operands an op may write its result over. Contract: nothing here is shared with the planner. */
#ifndef GC_PASSES_VERIFY_IMPL_H
#define GC_PASSES_VERIFY_IMPL_H
#include "passes/plan.h"

/* ---- verify_memory.c ---- */

/* What bytes hold: nothing known, the scratch of a step, or the bytes of a value. Views of a value,
   and the value that a load names, share one content. */
typedef enum Kind { NOTHING, SCRATCH, CONTENT } Kind;

typedef struct Cell { /* from `from` up to the next cell */
  uint64_t from;
  Kind kind;
  ValueId content;
  uint64_t base; /* offset in the region at which the content begins */
} Cell;

typedef struct Memory { /* a region: cells in order, the first from 0 */
  Arena *a;
  Cell *at;
  int n, cap;
} Memory;

void memory_init(Memory *m, Arena *a); /* nothing is known of any byte */
void memory_write(Memory *m, uint64_t from, uint64_t bytes, Kind kind, ValueId content);
/* The bytes hold this content from its first byte on. If not, *other is a cell that does not. */
bool memory_holds(const Memory *m, uint64_t from, uint64_t bytes, ValueId content,
                  const Cell **other);

/* ---- verify_overwrite.c ---- */

/* The op may write the result over exactly the bytes of the operand. */
bool verify_overwrite(const Entry *e, const Op *op, int result, int operand);
#endif
