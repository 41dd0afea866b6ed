/* What the numbers of inputs index, and so how large they may be: data is refused before a run. */
#ifndef GC_CODEGEN_BOUNDS_H
#define GC_CODEGEN_BOUNDS_H
#include "ir/ir.h"

/* So many elements of a row, one after the other, are each in [0, limit); 0: any number is right.
 */
typedef struct InputLimit {
  int64_t count, limit;
} InputLimit;
typedef VEC(InputLimit) InputLimits; /* of a row; none: any number is right */
/* Which input an op's index is made of, and of which row each of its elements. */
typedef struct IndexTrace {
  int input;                       /* by number; -1: of none, of several, or not known */
  bool exact;                      /* its numbers are the input's own */
  int64_t first, step, run, count; /* element k is of row first + k / run % count * step; run 0: not
                                      known */
} IndexTrace;
typedef struct InputUses {
  InputLimits *limits; /* by input: found where it is only moved before it indexes */
  IndexTrace *trace;   /* by op */
} InputUses;
InputUses *input_uses(Arena *out, const Entry *e);
#endif
