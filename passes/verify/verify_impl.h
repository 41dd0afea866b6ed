/* The parts of the independent checker of a plan (verify.c): contents of memory, places of values,
   loops, the first and the last state, streams, and the rule of overwriting. Contract: nothing here
   is shared with the planner. */
#ifndef GC_PASSES_VERIFY_IMPL_H
#define GC_PASSES_VERIFY_IMPL_H
#include "passes/passes.h"

/* ---- memory.c ---- */

/* What bytes hold: nothing known, the scratch of a step, or the bytes of a value. Views of a value,
   and the value that a load names, share one content. A global that no load names has a content of
   its own: the number of values plus its index. */
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
/* The bytes hold this content from its byte `at` on. If not, *other is a cell that does not. */
bool memory_holds(const Memory *m, uint64_t from, uint64_t bytes, ValueId content, uint64_t at,
                  const Cell **other);

/* ---- verify.c ---- */

typedef struct StreamCheck StreamCheck;

typedef struct Check {
  const Entry *e;
  const Plan *p;
  FILE *f;
  Arena *a;
  const Target *target;
  Memory region[PLAN_REGIONS];
  uint64_t size[PLAN_REGIONS];
  GlobalsPlan globals;
  ValueId *content;     /* by value: the first value of which it has the bytes */
  uint64_t *from;       /* by value: at which of them it begins */
  bool *defined;        /* by value: a place that was written or is external */
  ValueId *initial;     /* by global: the content of its bytes at entry */
  unsigned char *moves; /* by op id: a PlanMoves */
  StreamCheck *streams; /* NULL: there is one */
  int step;             /* of the op at hand */
  bool failed;
} Check;

void verify_fail(Check *c, const Op *op, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The op's results lie where a step may write them. */
bool verify_results(Check *c, const Op *op, int step);

/* ---- places.c ---- */

/* What an op can touch through a place: its bytes in one iteration, or, for a slice that moves, all
   that the iterations of the loops around touch. */
typedef struct Range {
  PlanRegion region;
  uint64_t from, bytes;
} Range;

extern const char *const verify_region[PLAN_REGIONS]; /* "the arena" … */
/* No place moves backwards, by a loop that is not around it, or further than can be addressed: the
   functions below do not overflow. */
bool verify_strides(Check *c);
int verify_level(const Block *b); /* loops around what stands in the block */
Range verify_range_in(const Place *x, const Block *b);
Range verify_range(const Check *c, ValueId v);
bool verify_overlap(Range a, Range b);
int64_t verify_stride(const Place *x, int depth);
/* At the same address in every iteration. */
bool verify_same_place(const Check *c, const Place *x, const Place *y);
bool verify_place(Check *c, const Op *op, const char *what, const Place *x, uint64_t bytes,
                  const Block *b);
bool verify_bytes(const Check *c, ValueId v, uint64_t *out);
bool verify_value(Check *c, const Op *op, ValueId v);
/* A reshape, or a slice of rows, whose bytes are its operand's: nothing moves. */
bool verify_moves_nothing(const Check *c, const Op *op);
/* Bytes from where the op's operand begins to where its result, that is rows of it, does. */
uint64_t verify_rows_before(const Check *c, const Op *op);
/* The op finds in the value's bytes what it means. */
void verify_read(Check *c, const Op *op, ValueId v, int step);
/* What a copy of the value holds, from its first byte on. */
ValueId verify_copied(const Check *c, ValueId v);
void verify_write(Check *c, Range r, Kind kind, ValueId content);
bool verify_holds(const Check *c, Range r, ValueId content);

/* ---- loops.c ---- */

void verify_loop_begin(Check *c, const Op *scan); /* c->step is the scan's */
void verify_loop_round(Check *c, const Op *yield);
void verify_loop_end(Check *c, const Op *scan);

/* ---- boundary.c: before the first step and after the last ---- */

void verify_begin(Check *c);
void verify_end(Check *c, const Op *ret);

/* ---- streams.c ---- */

void verify_streams_begin(Check *c);
/* The op at c->step reads or writes these bytes. */
void verify_touch(Check *c, const Op *op, Range r, bool write);

/* ---- overwrite.c ---- */

/* The op may write the result over exactly the bytes of the operand. */
bool verify_overwrite(const Target *t, const Entry *e, const Op *op, int result, int operand);
#endif
