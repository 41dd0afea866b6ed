/* The memory plan of an entry: where every value lies, from which step to which, and why.
   A step is one op in its final order, loads and the return left out (they move no bytes);
   reshapes and other pure aliases are steps without a launch. Time is the step's index. A scan is
   several steps: itself, which brings the first values to the carries, the ops of its body, and the
   body's yield, which brings the next values there; so its values live in the same time as all
   others. What a body reads from outside lives until the yield.
   Steps of one stream run in order; a step of another stream may run beside them unless an edge
   orders the two. A loop is in one stream, and edges lead to its first step and from its last.
   Ownership: the module's arena. Filled in turn by liveness (times), inplace (aliases) and share
   (offsets); proven by plan-verify, which shares no code with them. */
#ifndef GC_PASSES_PLAN_H
#define GC_PASSES_PLAN_H
#include "passes/target.h"
#include <stdio.h>

typedef enum PlanRegion {
  PLAN_ARENA,
  PLAN_GLOBALS,
  PLAN_INPUTS,
  PLAN_HYPERS,
  PLAN_COUNTS, /* the numbers 0, 1, 2 … as i32: iteration k of a loop finds its own at 4 k, and part
                  k of a bounded axis, too */
  PLAN_PREPARED, /* in code alone: the arena of a preparation, of which each batch has one; a place
                 there is in the arena of the preparation, and of what it makes in the entry's
                 inputs */
  PLAN_REGIONS
} PlanRegion;

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
  uint64_t offset; /* bytes in the region; of a place that moves, where it begins */
  /* What a slice of a stacked tensor moves by, bytes, with the number of the iteration of each loop
     around it, outermost first; NULL: it does not move. */
  const int64_t *stride;
  uint64_t bytes;  /* of the storage: layout padding included, alignment not */
  int first, last; /* steps: defined at first, last read or returned at last; inputs: first = -1 */
  int until;       /* with streams: the last step that may begin before its readers are over */
  int stream;      /* of the step that makes it */
  int global;      /* region GLOBALS or HYPERS: which; else -1 */
} Place;

typedef struct PlanEdge { /* step `to` begins when step `from`, an earlier one, is over */
  int from, to;
} PlanEdge;

/* What of an op's result is moved when it runs. */
typedef enum PlanMoves {
  MOVES_ALL,
  MOVES_NOTHING, /* its bytes are the operand's: a reshape, rows that are read where they lie, a
                    store of what lies in the global's bytes */
  MOVES_PART /* the part of a dynamic_update, rows of a gather_grad with an accumulator; all else
                lies in its place */
} PlanMoves;

typedef struct Plan Plan;
/* What runs of an entry need of an extent, and for which windows: "conv at net.g:4:7". */
typedef struct LeastExtent {
  const Extent *x;
  int64_t n; /* 2 or more */
  const char *window;
} LeastExtent;

/* Of this extent; NULL: runs may have 1. */
const LeastExtent *entry_least(const Entry *e, const Extent *x);
Plan *plan_of(const Entry *e); /* NULL before the planning passes */
/* What dumps show: entry k, each with its preparation behind it. NULL behind the end. */
static inline Entry *plan_listed(const Module *m, uint32_t k) {
  for (uint32_t i = 0; i < m->entries.n; i++) {
    if (k-- == 0) return m->entries.at[i];
    if (m->entries.at[i]->ahead && k-- == 0) return m->entries.at[i]->ahead;
  }
  return NULL;
}

struct Plan {
  const Op **steps; /* the order of execution */
  int nsteps;
  int depth;             /* of the deepest loop: so long is every `stride` */
  uint64_t counts_bytes; /* of the region of counts */
  Place *place;          /* by value id */
  Place *scratch;        /* by op id; bytes = 0: none */
  const char *strategy;  /* that decided: "pack" … */
  uint64_t arena_bytes, naive_bytes, inplace_bytes, pool_bytes, lower_bound_bytes;
  uint64_t proven_bytes; /* no arena of this order is smaller: the lower bound, or what a search
                            proved */
  uint64_t inputs_bytes, outputs_bytes;
  uint64_t flops, recompute_flops;
  int streams;
  int comm;                /* the stream of collectives, the last one; -1: they have none */
  double seconds, waiting; /* with collectives: of a run, and in it for them; by a model */
  int *stream;             /* by step; NULL: there is one */
  int *latest_concurrent;  /* by step: the last that is planned to begin before it is over; NULL:
                              itself */
  PlanEdge *edges;         /* between streams, by `to`; none follows from the others */
  int nedges;
  int *finished_before; /* with streams, by step, then stream: the last step that is over when it
                           begins */
  double average_parallelism; /* streams on the average: the work of all steps over that of the
                                 longest way */
  unsigned char *moves; /* by op id: a PlanMoves, as plan-verify proved it; NULL: it has not run */
  bool optimal;         /* arena_bytes = lower_bound_bytes, or proven by search */
};

enum { HYPER_BYTES = 4 }; /* the place of one, whatever its type */
/* Offsets of globals in their region and of hypers, in order, common to all entries. */
typedef struct GlobalsPlan {
  uint64_t bytes;   /* of the region */
  uint64_t *offset; /* by global index */
} GlobalsPlan;
GlobalsPlan plan_globals(const Module *m, int align);
/* 65536 as "65,536"; buf holds at least 32 characters. */
const char *plan_commas(char *buf, uint64_t n);
/* Bytes of the params and states that the entry never stores to. */
uint64_t plan_unwritten(const Entry *e);
/* By global: its initial value may be made of random numbers. */
bool *plan_random(const Module *m);
/* By global: entries read it by gathers alone, and none writes to it. */
bool *plan_read_by_rows(const Module *m);
/* By op id of init: the kinds of globals that are made of it, bits 1 << GlobalKind. */
const unsigned char *plan_init_uses(const Module *m);

/* The step's results, and of a scan then the arguments of its block: what has a place from here. */
int plan_nmade(const Op *op);
ValueId plan_made(const Op *op, int k);
/* How many loops are around the op. */
int plan_level(const Op *op);
/* The last byte that a place reaches in any iteration, plus one; `op` is one in its block. */
uint64_t plan_reach(const Place *x, const Block *b);
/* Where the slice lies that the yield of a scan writes for the result: its carry, or the
   iteration's slice of what is stacked. */
Place plan_target(const Entry *e, Arena *a, const Op *scan, int result);

/* An op that moves no bytes: its result is its operand's bytes under another type (a reshape of a
   row-major value, rows of it that are read where they lie, a store of a value that already lies in
   the global's bytes). */
bool plan_is_alias(const Entry *e, const Op *op);
/* A part is written over the whole in place: no other bytes move. */
bool plan_updates_part(const Entry *e, const Plan *p, const Op *op);
/* What the op moves, by the checker's proof alone: code generation relies on this, not on what the
   planner meant. The plan has been proven. */
PlanMoves plan_moves(const Entry *e, const Op *op);

/* Result `result` may be written over operand `operand` of this op, element by element (the op
   reads an element there before it writes it, and nowhere else): the rule of the op or kernel
   alone, without lives. The same rule serves planning and is what code generation must keep. */
bool op_inplace_ok(const Target *t, const Entry *e, const Op *op, int result, int operand);
/* Why not, as what is said of the operand; NULL where it may. */
const char *op_inplace_refusal(const Target *t, const Entry *e, const Op *op, int result,
                               int operand);

/* Arithmetic of one execution of an op: contractions 2MNK, element-wise 1 an element. */
uint64_t op_flops(const Entry *e, const Op *op);

/* The independent checker: walks the final program and proves that every read sees the write it
   means, and that ops have the scratch that the target's kernels use. False after printing what is
   wrong. */
bool plan_verify(const Entry *e, const Target *target, FILE *f);

/* --dump-plan */
void plan_print_table(FILE *f, const Module *m, const Target *target);
void plan_print_json(FILE *f, const Module *m, const Target *target, const char *version);
void plan_print_csv(FILE *f, const Module *m);
void plan_print_svg(FILE *f, const Module *m);
/* With the plan of the same program without a limit beside it; NULL: alone. */
void plan_print_html(FILE *f, const Module *m, const Module *before);
void plan_print_trace(FILE *f, const Module *m);
/* --memory-report: the figures of the plan, those of sharing alone, and the arena without the
   backward pass, which is that of `forward`: the same program after module_drop_updates and the
   same passes. */
void plan_report(FILE *f, const Module *m, const Module *forward, const Target *t);
void module_drop_updates(Module *m);
/* For module_print: "; ws+0x4000 live 12..31 in place of %7" after each op. */
void plan_note(FILE *f, const Entry *e, const Op *op, void *unused);
#endif
