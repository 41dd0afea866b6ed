/* The memory plan of an entry: where every value lies, from which step to which, and why.
   A step is one op of the entry's body in its final order, loads and the return left out (they move
   no bytes); reshapes and other pure aliases are steps without a launch. Time is the step's index.
   Ownership: the module's arena. Filled in turn by liveness (times), inplace (aliases) and share
   (offsets); proven by plan-verify, which shares no code with them. */
#ifndef GC_PASSES_PLAN_H
#define GC_PASSES_PLAN_H
#include "passes/target.h"
#include <stdio.h>

typedef enum PlanRegion { PLAN_ARENA, PLAN_GLOBALS, PLAN_INPUTS, PLAN_HYPERS } PlanRegion;

typedef enum How {
  HOW_NEW,     /* bytes that nothing before it used */
  HOW_INPLACE, /* takes the bytes of operand `of`, which dies here, or is the same value elsewhere
                */
  HOW_REUSE,   /* bytes of values that died before; `of` names the one it shares most with */
  HOW_EXTERNAL /* an input, or a global's own bytes */
} How;

typedef struct Place {
  PlanRegion region;
  How how;
  ValueId of;      /* NO_ID where there is none */
  uint64_t offset; /* bytes in the region */
  uint64_t bytes;  /* of the storage: layout padding included, alignment not */
  int first, last; /* steps: defined at first, last read or returned at last; inputs: first = -1 */
  int stream;
  int global; /* region GLOBALS or HYPERS: which; else -1 */
} Place;

typedef struct Plan {
  const Op **steps; /* the order of execution */
  int nsteps;
  Place *place;         /* by value id */
  Place *scratch;       /* by op id; bytes = 0: none */
  const char *strategy; /* that decided: "pack" … */
  uint64_t arena_bytes, naive_bytes, inplace_bytes, pool_bytes, lower_bound_bytes;
  uint64_t inputs_bytes, outputs_bytes;
  uint64_t flops, recompute_flops;
  int streams;
  bool optimal; /* arena_bytes = lower_bound_bytes, or proven by search */
} Plan;

/* Offsets of globals in their region and of hypers (4 bytes each, in order), common to all entries.
 */
typedef struct GlobalsPlan {
  uint64_t bytes;   /* of the region */
  uint64_t *offset; /* by global index */
} GlobalsPlan;
GlobalsPlan plan_globals(const Module *m, int align);

/* An op that moves no bytes: its result is its operand's bytes under another type (a reshape of a
   row-major value, a store of a value that already lies in the global's bytes). */
bool plan_is_alias(const Entry *e, const Op *op);

/* Result `result` may be written over operand `operand` of this op, element by element (the op
   reads an element there before it writes it, and nowhere else): the rule of the op or kernel
   alone, without lives. The same rule serves planning and is what code generation must keep. */
bool op_inplace_ok(const Entry *e, const Op *op, int result, int operand);

/* Arithmetic of one execution of an op: contractions 2MNK, element-wise 1 an element. */
uint64_t op_flops(const Entry *e, const Op *op);

/* The independent checker: walks the final program and proves that every read sees the write it
   means, and that ops have the scratch that the target's kernels use. False after printing what is
   wrong. */
bool plan_verify(const Entry *e, const Target *target, FILE *f);

/* --dump-plan */
void plan_print_table(FILE *f, const Module *m, const char *target);
void plan_print_json(FILE *f, const Module *m, const char *target, const char *version);
void plan_print_csv(FILE *f, const Module *m);
/* For module_print: "; ws+0x4000 live 12..31 in place of %7" after each op. */
void plan_note(FILE *f, const Entry *e, const Op *op, void *unused);
#endif
