/* Reductions and rows, as far as they are the same for every target: what is reduced in which pass,
   the scalar text of each step, labels, and the axes that a reduction keeps.
   Contract: the loops are a target's own; they name the row's element `c`, the row `u`. */
#ifndef GC_CODEGEN_REDUCTION_H
#define GC_CODEGEN_REDUCTION_H
#include "codegen/print/printer.h"
#include "codegen/schedule/reduce.h"

/* ---- steps ---- */
/* "(-0.0f)", "(-__builtin_inff())", … of the compute type: what n elements are combined with. A
   real sum begins at -0, since -0 + x is x in every bit and +0 + -0 is not; that of nothing is +0.
 */
const char *reduce_start(Gen *g, OpKind k, Dtype dt, int64_t n);
/* acc combined with v: "acc + v"; both names */
const char *reduce_step(Gen *g, OpKind k, const char *acc, const char *v);
/* a is to replace b as the largest or smallest so far; NaN wins, and the first */
const char *reduce_beats(Gen *g, OpKind k, Dtype dt, const char *a, const char *b);
/* Element operations of one evaluation of the group's members on their shapes, with functions at
   their price. */
int64_t group_work(const Group *gr);

/* ---- rows ---- */

typedef struct Work {
  ValueId x;    /* operand; with ROLE_SUM of a softmax_grad also y */
  OpKind kind;  /* OP_SUM, …, OP_ARGMAX: how it is combined; OP_SOFTMAX: sum of exp(x - max) */
  const Op *op; /* of a softmax_grad: its second factor; else the first op that wants it */
  int pass;
  const char *name;
  const char
      *keep; /* sum of exp: where a target keeps each addend for later passes, "r1_k[c]"; or NULL */
  const char *argument; /* ... where it wants x - max instead, and computes exps in an array itself
                         */
} Work;

typedef struct RowsPrinter {
  Gen *g;
  const Group *gr;
  Printer p;
  VEC(Work) work;
  int *ready;         /* by member: the pass in which its result can be computed */
  int npasses;        /* of reductions */
  int outer;          /* axes before the row */
  int64_t c;          /* elements of a row */
  const char *number; /* text of a row's number */
  RowsSchedule s;     /* of a target whose units are rows or chunks of them */
  const Loop *inner;  /* of the CPU: the innermost axis of rows of which an inner axis is bounded;
                         each run along it finds its place once. Else NULL */
  Text run;           /* ... the coordinates of run number `run` along the others */
} RowsPrinter;

int64_t rows_elements(const Group *gr); /* of a row */
/* Plain reductions that do not depend on each other. Results of the full shape do not depend on
   them either: each element can be written by whoever reads it. */
bool rows_independent(const Group *gr);
/* Plain reductions that do not depend on each other, whatever the results depend on. */
bool rows_one_pass(const Group *gr);
/* The same, of plain reductions and those that find a place. */
bool rows_one_search(const Group *gr);
/* Nothing of one element a row is read in the full shape behind the reductions, which results of
   the full shape may have been written over by then: the element that a label names. */
bool rows_may_wait(const Group *gr);
bool rows_has_full_results(const Group *gr);
/* Numbers that are kept of a row, at most: a largest element's place comes with the element. */
int64_t rows_reductions(const Group *gr);
/* What is to be reduced, and in which pass; g, gr, p and outer are given. */
void rows_passes(RowsPrinter *r);
/* Leaves of all that the passes and the results read. */
void rows_leaves(RowsPrinter *r, Leaves *l);
typedef struct RowLoops { /* over the axes before the row, and over those of the row */
  Loop *outer, *inner;
  int nouter, ninner;
} RowLoops;
/* The passes and the loops; r->p is a new printer. */
RowLoops rows_start(RowsPrinter *r);
/* Text of what is combined at a position, in the level of the inner loop. */
const char *rows_addend(RowsPrinter *r, const Work *w);
OpKind rows_combine(const Work *w); /* how: OP_SUM, … */
bool rows_is_arg(const Work *w);    /* argmax, argmin */
/* Where the number of a work begins among those that are kept. */
int64_t rows_slot(const RowsPrinter *r, uint32_t work);
/* Some reduction of the pass is of that kind: an argmax or argmin, or another one. */
bool rows_pass_has(const RowsPrinter *r, int pass, bool arg);
/* Names the coordinates of a row's elements for the inner loop: its variable is c. */
void rows_name(RowsPrinter *r, const Loop *loop, int n);
/* What is known of a row before pass `number`: labels, checked, and the elements that they name;
   means and scales. */
void rows_before(RowsPrinter *r, int number);

/* ---- columns: reductions over axes that are not the last ---- */

typedef struct ColsPrinter {
  Gen *g;
  const Group *gr;
  Printer p;
  int *kept, nkept, *reduced, nreduced; /* axes of the domain */
} ColsPrinter;

/* The printer of the group's reduction, with the leaves of its operand. */
ColsPrinter cols_new(Gen *g, const Group *gr, int levels, Leaves *l);
/* A value of the kept shape, axis i at the i-th kept axis of the domain. */
const Axis *cols_map(ColsPrinter *c, ValueId v);
bool cols_is_kept(const ColsPrinter *c, const Type *t);
#endif
