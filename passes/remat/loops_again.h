/* What the files share that recompute loops: loops_build.c (the entry), loops_copy.c (values and
   bodies of new loops), loops_each.c and loops_blocks.c (the two ways). */
#ifndef GC_PASSES_REMAT_LOOPS_AGAIN_H
#define GC_PASSES_REMAT_LOOPS_AGAIN_H
#include "passes/manager/pass_list.h"
#include "passes/remat/remat_impl.h"

typedef VEC(const Type *) Types;

typedef struct Again { /* of a pair, from its forward pass to its backward pass; values of the new
                          entry */
  const LoopPair *p;
  const LoopSchedule *schedule;
  ValueId *carry; /* by carry: its stack, before each block or iteration */
  ValueId *stack; /* by result of `forward`: what the iterations behind the blocks dropped */
  bool done;      /* the backward pass has been built */
} Again;

typedef struct Climb {
  Arena *a;
  Again *again;
  int n;
  Builder *b;
  const Entry *old;
  ValueId *map;
} Climb;

/* ---- loops_copy.c ---- */
bool again_is_stacked(const Again *g, int result);
/* The result of `forward` that the backward pass can read the value from; -1: none. */
int again_stack_of(const Again *g, ValueId v);
/* The dropped result that operand j of the backward pass slices; -1: none. */
int again_dropped_at(const Again *g, int j);
const Type *again_counts_type(Climb *w, int64_t n);
ValueId again_row_at(Climb *w, ValueId table, ValueId number);
ValueId again_with_row(Climb *w, ValueId table, ValueId row, ValueId number);
void again_names_of(Climb *w, const Op *op);
ValueId again_named(Climb *w, ValueId old, ValueId now);
/* From here on `now` stands for the old value, and has its name. */
void again_set(Climb *w, ValueId old, ValueId now);
/* A loop with its arguments, in which building goes on. Operand and argument of a carry are alike.
 */
Op *again_loop_begin(Climb *w, const Op *like, int64_t trips, const ValueList *carries,
                     const ValueList *slices, const Types *stacks);
void again_body_end(Climb *w, const Op *op, const ValueList *yield);
ValueId again_arg_at(const Op *loop, uint32_t k);
void again_add_results(Climb *w, ValueList *out, const Op *op, int n);
void again_add_args(Climb *w, ValueList *out, const Op *loop, uint32_t n);
/* The carries of an old loop: their first values, or what its body gives. */
void again_add_mapped(Climb *w, ValueList *out, const ValueId *old, int n);
/* The ops of an old body, its arguments mapped. Of values with a stack, `from` has what stands for
   them. */
void again_copy_body(Climb *w, const Again *g, const Op *scan, const ValueId *from);

/* ---- loops_each.c ---- */
void again_forward_each(Climb *w, Again *g);
void again_backward_each(Climb *w, Again *g);

/* ---- loops_blocks.c ---- */
void again_forward_blocks(Climb *w, Again *g);
void again_backward_blocks(Climb *w, Again *g);
#endif
