/* A batch done in parts: which ops are done part by part, and how the program is built anew. See
   microbatch.c. */
#ifndef GC_PASSES_MICROBATCH_IMPL_H
#define GC_PASSES_MICROBATCH_IMPL_H
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

/* What becomes of an op of the body. */
typedef enum MicroRole {
  MICRO_ONCE,  /* it needs nothing of a part: done as it is */
  MICRO_CUT,   /* each part of its results comes of the same part of its operands */
  MICRO_SUM,   /* adds up over the batch: continued from part to part */
  MICRO_OWN,   /* a rank's slice of sums over the ranks is made of it, in each part anew … */
  MICRO_SLICE, /* … and this makes the slice, to which that of the parts before is added */
  MICRO_LAST   /* needs all parts: done with the last one */
} MicroRole;

typedef struct Micro {
  Arena *a;
  const Entry *e;
  int64_t parts;
  const Extent *extent; /* of the batch; NULL: it is static */
  bool scatter;         /* roles are MICRO_OWN and MICRO_SLICE where they can be */
  MicroRole *role;      /* by op; of the body alone */
  bool *cut;            /* by value: made part by part */
  bool *late;           /* by value: made of all parts */
  bool *whole;          /* by value that is cut: an op reads all of it */
} Micro;

/* Cuts the entry's batch, of which `batch` is the dim as type_get takes it, into so many equal
   parts: at its bound, where it is one. */
Micro micro_of(Arena *a, const Entry *e, int64_t batch, int64_t parts, bool scatter);
/* Part k of a type's first axis, as type_get takes it; 0: there is none. */
int64_t micro_part(const Micro *m, const Type *t, int64_t k);
/* The operand comes part by part where the op is cut; it is whole otherwise. */
bool micro_by_part(const Entry *e, const Op *op, int operand);
/* Why an op reads all of a value that is cut, with the op's name and place; of the first that does.
 */
const char *micro_why_whole(const Micro *m, ValueId v);
/* Builds the entry anew, one part after the other. */
void micro_build(const Micro *m, Entry *e);
#endif
