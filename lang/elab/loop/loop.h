/* Loops that are kept: the state of a scan whose body is being read, and what is known of its
   iterations. */
#ifndef GC_LANG_LOOP_H
#define GC_LANG_LOOP_H
#include "lang/elab/elab_impl.h"

/* An argument of a loop's block that stands for a value from outside while the body is read. */
typedef struct Capture {
  ValueId arg, outer;
  ValueId next;   /* what the iteration makes of it; NO_ID: nothing */
  ValueId result; /* after the loop, of what is carried */
  int global;     /* that it is the value of; -1: of a name */
  bool fixed;     /* no iteration gives the name another value */
  bool asked;     /* a grad of the body is by it */
} Capture;

/* An argument of a loop's block that stands for the draws of a path in earlier iterations. */
typedef struct DrawsBefore {
  ValueId arg;
  uint32_t key;  /* into the run's keys */
  uint64_t from; /* draws of the path before the loop */
  ValueId outer; /* the same of the loop around this one, or NO_ID */
} DrawsBefore;

/* An unnamed call in the body that declares something. */
typedef struct Repeat {
  Frame *frame;
  const char *path; /* of what it declares */
  const Actual *arg;
  int n;
} Repeat;

/* A scan whose body is being read. */
struct ScanLevel {
  ScanLevel *up;
  int64_t trips;
  Block *block, *outer;
  VEC(Capture) captures;
  VEC(ValueId) current; /* as in EntryBuilder, in this body */
  VEC(ValueId) stacked; /* what the iteration yields */
  VEC(DrawsBefore) draws;
  VEC(Repeat) repeats;
};

/* An integer that is made of counters of loops and constants alone. */
struct IndexRange {
  bool known;  /* it is such a one */
  bool linear; /* base + the sum of by[d] * counter of the loop of depth d: lo and hi are taken */
  int64_t lo, hi; /* within i32, as all that it is made of */
  int64_t base;
  int depth;   /* loops that by speaks of ... */
  int64_t *by; /* ... from the outermost on */
};

/* ---- loop/scan.c ---- */
void exec_scan(Elab *e, const Stmt *s);
/* What iterations before this one add to the number of a draw, all loops counted. */
ValueId scan_draws_before(Elab *e, uint32_t key);
/* Inside of a scan: the global's value there, at its first use. */
ValueId scan_read_global(Elab *e, int global, Loc loc);
/* The yield of a loop, through which one comes to what its iterations compute; NULL of other ops.
 */
const Op *scan_end(const Entry *en, const Op *op);
/* A grad of the body is by the value. If that is from outside, the body gets a copy of its own,
   so that what this iteration makes of it is told from what others do. */
void scan_ask(Elab *e, ValueId v);
/* ---- loop/induction.c ---- */
/* In a scan: what is known of an integer in every iteration. */
const IndexRange *index_range_of(Elab *e, ValueId v);
/* Whether it is surely outside of -n to n - 1 once, and the first such value. */
bool index_range_outside(Elab *e, const IndexRange *c, int64_t n, int64_t *which);
/* Whether a statement of the body, at any depth, gives the name a value. */
bool body_assigns(const Body *b, const char *name);
/* ---- loop/invariant_call.c ---- */
/* The arguments as they are outside of all loops: equal where they are the same values there. */
const Actual *scan_origin(Elab *e, const Actual *arg, int n);
/* What a value stands for outside of all loops. */
ValueId scan_outward(Elab *e, ValueId v);
/* Whether the body's unnamed calls are the same in each iteration; false after an error. */
bool scan_repeats(Elab *e, const ScanLevel *l);
/* ---- loop/congruent.c ---- */
/* Where nothing is trained: the unnamed call of f is the one before once more. */
bool calls_congruent(Elab *e, const Child *before, const Func *f, const Actual *arg, int n);
/* ---- loop/grad_dependence.c ---- */
/* The grads in the body of an outermost scan count what the unrolled loop would; else an error. */
void grad_check_scan(Elab *e, const Op *scan);
/* Outside of loops: false after an error, if x was carried and the loss, from which gradients reach
   the values that are set, may depend on it also as another result, or by another name. */
bool grad_check_result(Elab *e, ValueId loss, const bool *reach, ValueId x, Loc loc);
#endif
