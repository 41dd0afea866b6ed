/* Scans: the state of an open scan, its captures, and the ranges of its induction variables. */
#ifndef GC_LANG_LOOP_H
#define GC_LANG_LOOP_H
#include "lang/elab/elab_impl.h"

/* A value from outside that the body of a loop uses. While the body is read, an argument of its
   block stands for it. */
typedef struct Capture {
  ValueId arg, outer;
  ValueId next;        /* of a carry: its value at the end of the iteration; else NO_ID */
  ValueId result;      /* of a carry: its value after the loop */
  int global;          /* the captured global; -1: a name */
  bool fixed;          /* the body does not assign the name */
  bool is_grad_target; /* a grad of the body differentiates by it */
} Capture;

/* An argument of a loop's block: the draws of a path in earlier iterations. */
typedef struct DrawOffset {
  ValueId arg;
  uint32_t key;  /* into the run's keys */
  uint64_t from; /* draws of the path before the loop */
  ValueId outer; /* the offset of the loop around this one, or NO_ID */
} DrawOffset;

/* An unnamed call in the body that declares variables, so it must be the same in each iteration. */
typedef struct InvariantCall {
  Frame *frame;
  const char *path; /* of the first variable */
  const Actual *arg;
  int n;
} InvariantCall;

/* An open scan: its body is being read. */
struct ScanLevel {
  ScanLevel *up;
  int64_t from, trips;  /* the first index; trips: at the bound of the extent */
  const Extent *extent; /* that they are a multiple of; NULL: they are static */
  Block *block, *outer;
  VEC(Capture) captures;
  Map capture_at;       /* from an argument to its capture */
  VEC(ValueId) current; /* as in EntryBuilder, in this body */
  VEC(ValueId) stacked; /* yielded by the iteration */
  VEC(DrawOffset) draws;
  VEC(InvariantCall) calls;
};

/* An integer that is computed from loop counters and constants only. */
struct IndexRange {
  bool known;     /* it is such an integer */
  bool linear;    /* affine: base + the sum of by[d] * counter of the loop of depth d; the bounds lo
                     and    hi are reached */
  int64_t lo, hi; /* within i32, like all its operands */
  int64_t base;
  int depth;   /* loops that `by` has a factor for */
  int64_t *by; /* from the outermost on */
};

/* ---- loop/scan.c, loop/draws.c ---- */
void exec_scan(Elab *e, const Stmt *s);
/* The draws of earlier iterations of all loops, which are added to the number of a draw. */
ValueId scan_draw_offset(Elab *e, uint32_t key);
/* The offsets of the loop's draws, by its counter: by[argument] is the value of each. */
void scan_define_draws(Elab *e, ScanLevel *l, int64_t trips, ValueId *by);
/* In a scan: captures a global at its first use. */
ValueId scan_read_global(Elab *e, int global, Loc loc);
/* What a value of the scan `from`, NULL: of the entry, is in the body of the scan l within it. */
ValueId scan_capture(Elab *e, ScanLevel *l, const ScanLevel *from, ValueId v);
/* The yield of a scan; NULL for other ops. */
const Op *scan_end(const Entry *en, const Op *op);
/* Marks a value that a grad of the body differentiates by. If it comes from outside, the body gets
   a copy of it, so that the uses of this iteration are told from those of others. */
void scan_grad_target(Elab *e, ValueId v);
/* A new argument of the body that stands for the value. */
ValueId scan_capture_value(Elab *e, ScanLevel *l, ValueId outer, int global, bool fixed);
/* ---- loop/names.c ---- */
/* The value with every tensor in it captured. */
Val scan_capture_names(Elab *e, ScanLevel *l, Val v, bool fixed);
/* Compares a name's value at the body's begin and end: a tensor that changed becomes a carry. */
void scan_carries_of(Elab *e, ScanLevel *l, const char *name, Val was, Val now, Loc loc);
/* The value after the loop: the results of carries, the values from before for the rest. */
Val scan_restore(Elab *e, ScanLevel *l, Val inside, Val before);
/* ---- loop/induction.c ---- */
/* The range of an integer over all iterations of the open scans. */
const IndexRange *index_range_of(Elab *e, ValueId v);
/* The integer leaves -n to n - 1 in some iteration; *which: the first value that does. */
bool index_range_outside(Elab *e, const IndexRange *c, int64_t n, int64_t *which);
/* After an error: says where the loop ends, if ending earlier keeps the index in its axis. */
void hint_end_of_loop(Elab *e, const IndexRange *c, int64_t n);
/* Where a statement of the body, at any depth, assigns the name; NULL: none does. */
const Ident *body_assigns(const Body *b, const char *name);
Capture *capture_of(const ScanLevel *l, ValueId arg); /* NULL: it is no capture's argument */
/* ---- loop/invariant_call.c ---- */
/* The arguments with captured values replaced by the values outside of all loops. */
const Actual *args_resolve(Elab *e, const Actual *arg, int n);
/* The value outside of all loops that a captured value stands for; other values stay. */
ValueId capture_resolve(Elab *e, ValueId v);
/* The body's unnamed calls are the same in each iteration; false after an error. */
bool scan_check_calls(Elab *e, const ScanLevel *l);
/* ---- loop/congruent.c ---- */
/* A call of f has the arguments of the one before. */
bool args_congruent(Elab *e, const InstanceRecord *before, const Func *f, const Actual *arg, int n);
/* In an entry that trains nothing: the unnamed call of f repeats the one before. */
bool calls_congruent(Elab *e, const InstanceRecord *before, const Func *f, const Actual *arg,
                     int n);
/* ---- loop/grad_dependence.c ---- */
/* The grads in the body of an outermost scan are those of the unrolled loop; else an error. */
void grad_check_scan(Elab *e, const Op *scan);
/* Outside of loops: false after an error, if x is a carry's result and the loss may also depend on
   it through another result or an alias. reach: the values that the loss depends on. */
bool grad_check_result(Elab *e, ValueId loss, const bool *reach, ValueId x, Loc loc);
#endif
