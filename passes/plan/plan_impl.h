/* Shared by the planning passes: times, storages and the strategies that give them bytes.
   A storage is a set of values that hold the same bytes one after the other: a value, the results
   computed in place over it, and their reshapes. Nothing here is used by verify/verify.c. */
#ifndef GC_PASSES_PLAN_IMPL_H
#define GC_PASSES_PLAN_IMPL_H
#include "passes/passes.h"

/* ---- analysis: reads.c, views.c, strides.c, cost.c, globals.c; report/text.c ---- */

/* What an op reads: its operands, then what its nested blocks read from outside of it. A value may
   occur more than once. */
typedef VEC(ValueId) ValueList;

/* Orders of an entry's body, each of all of its ops, the chosen one first. */
typedef struct Orders {
  OpId **at;
  uint32_t n, cap;
} Orders;
void plan_reads(Arena *a, const Entry *e, const Op *op, ValueList *out);
void plan_captured(Arena *a, const Entry *e, const Op *op, ValueList *out);

/* The yield of a region op. */
const Op *plan_yield(const Entry *e, const Op *op);

/* What v always is another name of: the operand of a view, the input of a slice, the result of a
   carry; NO_ID: it has bytes of its own. */
ValueId plan_same(const Entry *e, ValueId v);

/* By value: what it is a view of at the bottom, through the views of the entry's body. */
ValueId *plan_viewed(Arena *a, const Entry *e);

/* Bytes from where the first value that v is another name of begins to where v does. */
uint64_t plan_shift(const Entry *e, ValueId v);

/* Sets the strides of all places; after every decision about whose bytes a value has. */
void plan_strides(Arena *a, const Entry *e, Plan *p);

/* Rows at a multiple of so many bytes lie where every target may find a tensor. */
enum { PLAN_ROW_ALIGN = 256 };
/* So many rows are little more than all of them but one. */
enum { PLAN_MANY_ROWS = 8 };

/* The result is always the operand's bytes, or some of them: a reshape of a row-major value to a
   row-major value, all of its rows but the first or the last. */
bool plan_is_view(const Entry *e, const Op *op);

/* A kernel's own name, else the mnemonic. */
const char *plan_op_name(const Op *op);

/* As people say it, "448 bytes", "24.5 KB", "1.25 MB" (2^20 bytes); buf holds at least 32. */
const char *plan_size(char *buf, uint64_t n);

/* As JSON writes it, quotes included. */
void plan_put_string(FILE *f, const char *s);

/* Bytes behind the last buffer of a region that a kernel may read past its end. */
uint64_t plan_slack(const Target *t);

/* ---- analysis: least_extents.c ---- */
/* Notes with which extents images have room for the windows. */
void windows_note_least(Entry *e);

/* ---- analysis: live_ranges.c; cost.c ---- */

/* A new plan with the steps, sizes and lives of the entry in its present order; inputs, loads and
   views are placed. False after a diagnostic where a size overflows. */
bool plan_times(Arena *a, const Entry *e, const Target *t, const GlobalsPlan *g, Plan **out);

/* Steps [*begin, *end] are the op of the entry's body to which step t belongs: a loop is many. */
void plan_task(const Plan *p, int t, int *begin, int *end);

/* Flops, and bytes that are moved, of a step in all its iterations, as flops of f32. Bytes are
   slow: a processor does about as many flops in the time that a byte takes. */
#define FLOPS_A_BYTE 8.0
double op_slow_flops(const Target *t, const Entry *e,
                     const Op *op); /* of f32, which take as long as the op's */
double plan_work(const Target *t, const Entry *e, const Plan *p, const Op *op);
/* Seconds that a collective takes on so many ranks; bytes: of the whole. */
double link_seconds_of(const Link *l, OpKind kind, int ranks, double bytes);
/* The user's link, or the target's. */
Link link_of(const PassOptions *o);
/* Of a collective what plan_work is of other steps. */
double link_work(const PassOptions *o, const Entry *e, const Op *op);

/* ---- inplace.c ---- */

/* Adds the in-place decisions to a plan that has times. With r, reports them as remarks. */
void plan_inplace(Arena *scratch, const Entry *e, Plan *p, const GlobalsPlan *g, const Target *t,
                  PassRun *r);

/* ---- storages and strategies: share.c, pool.c, pack.c ---- */

typedef struct Buffer {
  uint64_t bytes;      /* rounded up to the alignment; never 0 */
  uint64_t offset;     /* the answer */
  int64_t first, last; /* times at which it is in use, both included */
  uint32_t owner;      /* whose it is: the planner's own affair */
} Buffer;

typedef struct Buffers {
  Buffer *at;
  int n;
  int64_t steps; /* every time is below */
} Buffers;

/* Sums over steps by differences: live_add adds bytes at steps [first, last], and once all are
   added, live_sum leaves the sum at each of n steps. There is room for n + 1; unsigned differences
   wrap and come back. */
static inline void live_add(uint64_t *live, int64_t first, int64_t last, uint64_t bytes) {
  live[first] += bytes;
  live[last + 1] -= bytes;
}
static inline void live_sum(uint64_t *live, int64_t n) {
  for (int64_t t = 1; t < n; t++) live[t] += live[t - 1];
}

/* Bytes in use at each time; NULL where a sum overflows. */
uint64_t *buffers_live(Arena *a, const Buffers *b);
/* The largest sum of bytes in use at one time: no arena is smaller. Saturates. */
uint64_t buffers_bound(Arena *scratch, const Buffers *b);
/* Every buffer at bytes of its own. Returns the end of the last one; saturates at UINT64_MAX. */
uint64_t buffers_stack(Buffers *b);
uint64_t buffers_end(const Buffers *b);

/* The storages of a plan with times: in place where the plan says so, or each value on its own.
   storage[v] is the index of the buffer that holds value v, -1 where no bytes of the arena do;
   scratch space follows the storages, scratch[op] its buffer or -1. */
typedef struct Storages {
  Buffers b;
  int *storage, *scratch;
  uint64_t *within; /* by value: bytes from where its buffer begins to where its storage does */
} Storages;
Storages plan_storages(Arena *a, const Entry *e, const Plan *p, int align, bool inplace);

/* Bytes of the arena that the strategy pack gives a plan with times and in-place decisions, in so
   many seconds of searching. With `enough` above 0 nothing smaller is looked for; what is returned
   where the lower bound is above that is the bound. */
uint64_t plan_arena(const PassRun *r, const Entry *e, Plan *p, double seconds, uint64_t enough);

/* Reference counts and boxes; match is the largest ratio between a box and its tenant, 0: no reuse.
   Returns the bytes of all boxes. */
uint64_t pool_plan(Arena *scratch, Buffers *b, int match);
/* The best of match = 1, 2, 4, 8, 16, or of the one that is given (match >= 0). */
uint64_t pool_search(Arena *scratch, Buffers *b, int match);

/* Colours of the conflict graph. Returns the bytes of all colours. */
uint64_t color_plan(Arena *scratch, Buffers *b);

typedef struct PackLimit {
  uint64_t capacity; /* stop at the first packing of at most this; 0: the least that is found */
  double seconds;    /* in all, of everything; 0: no limit of time */
  int64_t work;      /* elementary steps, 0.5 to 2 10^9 a second; 0: the greedy orders alone */
  uint64_t seed;     /* of what is random in the search */
} PackLimit;

typedef struct PackResult {
  uint64_t arena;  /* bytes of the packing in the buffers' offsets */
  uint64_t proven; /* no packing is smaller than this */
  int64_t work;    /* elementary steps that it took, the greedy orders included */
} PackResult;
/* Offsets in one arena. Deterministic unless seconds is given. */
PackResult pack_plan(Arena *scratch, Buffers *b, const PackLimit *limit);

typedef VEC(int) IntList;

/* ---- occupancy.c: who lay there before ---- */

typedef struct ArenaOccupancy ArenaOccupancy;
ArenaOccupancy *occupancy_new(Arena *a, const Buffers *b);
/* Lays buffer i over those that were laid before, in the order of their lives. Returns the one that
   held most of its bytes, or -1; `below`, if given, gets all that held some. */
int occupancy_add(ArenaOccupancy *g, int i, IntList *below);

/* ---- analysis/accesses.c: what a step touches ---- */

typedef struct StepAccess {
  int object; /* a buffer of the storages, or their number plus a global */
  bool write;
  bool moves; /* false: it only names the bytes */
} StepAccess;
typedef VEC(StepAccess) StepAccessList;
void plan_accesses(Arena *a, const Entry *e, const Plan *p, const Storages *s, const Op *op,
                   StepAccessList *out);

/* ---- edges.c ---- */

/* Sets the edges of a plan with streams and offsets: between any two steps that touch the same
   bytes, one writing, and that nothing orders yet. */
void plan_edges(PassRun *r, const Entry *e, Plan *p, const Storages *s);

/* ---- overlap.c ---- */

/* The plan's seconds by the target's speed and the link. Remarks: for each collective who waits for
   it, and how long. */
void overlap_find(PassRun *r, const Entry *e);
#endif
