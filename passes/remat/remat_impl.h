/* Shared by the parts of recomputation. A problem is an entry's step graph. A schedule says, for
   every step, which earlier ops are recomputed in front of it, in the given order (a subset of a
   topological order is one), and for every gap between two uses of a storage whether its bytes are
   held. Sizes are in units of the problem. Ownership: everything lies in the arena that is handed
   in. Sources: Chen et al. 2016 (segments), Kirisame et al. 2021 (evicting by cost, size and age),
   Jain et al. 2020 (the same states as an integer program). */
#ifndef GC_PASSES_REMAT_IMPL_H
#define GC_PASSES_REMAT_IMPL_H
#include "passes/analysis/step_graph.h"

/* ---- the state of a search: rebuild.c ---- */

typedef struct RematUse {
  int step;
  int readers; /* ops of the step that read the storage */
  bool held;   /* since the use before; else it is recomputed here */
} RematUse;

typedef VEC(RematUse) RematUses;
typedef VEC(int) RematAgain; /* steps whose ops are recomputed, in their order */

typedef struct RematChange { /* one entry of the log, with what undoes it */
  enum { USE_IN, USE_OUT, USE_READERS, USE_HELD, BYTES, RERUN_IN, RERUN_OUT, STEP_BYTES } kind;
  int a, b, c, d;
} RematChange;

typedef struct RematTask { /* what a change asks for: state.c */
  int kind, a, b;
} RematTask;

enum { REMAT_BLOCK = 64 }; /* steps side by side */

typedef struct RematBlock {
  int add;      /* to all of its steps */
  int min, max; /* of its steps, without that */
} RematBlock;

/* Every primitive change is logged with its inverse: a move is tried by making it, and rolled back.
   What is live is exact after remat_settle: storages held over step s, and the peak within it. The
   step after the last one is the end, where results are read. */
typedef struct RematState {
  Arena *a;
  const StepGraph *p;
  RematUses *use;    /* by storage */
  RematAgain *again; /* by step */
  int *live;         /* by step, without what its block has: see remat_live */
  RematBlock *block; /* by step / REMAT_BLOCK */
  int *within;       /* by step: of live, the peak of what the step itself uses */
  int limit;
  int64_t excess;     /* sum of what live has above the limit */
  double flops, cost; /* added */
  VEC(RematChange) log;
  VEC(RematTask) tasks;
  int *queue, nqueue; /* steps whose peak must be found again */
  bool *queued;
  int *left, *at, *mark, clock; /* by storage, for one step */
  bool *taken;                  /* by pair of one step */
  int tiny;                     /* storages below this are never dropped */
  /* Whether a storage that is missing is held longer or recomputed: by price, or always again. */
  bool by_price;
  double price; /* excess that a unit of cost must remove */
  int choices;  /* that the price made */
  int64_t work; /* so far, in about nanoseconds: searches are limited by this, not by time */
} RematState;

RematState remat_state(Arena *a, const StepGraph *p);
/* Nothing is recomputed; every step as in the plan. */
void remat_reset(RematState *s);
/* The uses that follow from s->again, which holds what is recomputed; nothing else is held. */
void remat_rebuild(RematState *s);
typedef struct RematRerun {
  int at, step; /* an op is recomputed in front of a step */
} RematRerun;

/* What is recomputed, which is all that there is to a state. */
typedef VEC(RematRerun) RematSaved;
void remat_save(const RematState *s, RematSaved *out);
void remat_restore(RematState *s, const RematSaved *x, int limit);

/* ---- one step: step.c ---- */

/* Op j of a step: those that are recomputed, then its own. */
const StepNode *remat_op_of(const RematState *s, int step, int j);
/* The peaks within the steps whose ops or uses changed. */
void remat_settle(RematState *s);
/* Calls each op of a step in turn with the index of its StepNode: what is recomputed, then the
   step's own. made[k] says that result k is a new instance that later readers mean. */
typedef void RematEmit(void *data, int step, const bool *made);
void remat_step_ops(RematState *s, int step, RematEmit *emit, void *data);

/* ---- what is live: live.c ---- */

static inline int remat_live(const RematState *s, int step) {
  return s->live[step] + s->block[step / REMAT_BLOCK].add;
}
/* What the excess would rise by if steps a to b held d more; and to hold it. */
int64_t remat_rise(RematState *s, int a, int b, int d);
void remat_add(RematState *s, int a, int b, int d);
bool remat_room(const RematState *s, int a, int b, int d); /* for d more, below the limit */
void remat_set_live(RematState *s);                        /* live was written */
void remat_set_limit(RematState *s, int limit);
int remat_peak(const RematState *s, int *at); /* and the first step that has it */

/* ---- moves: state.c ---- */

void remat_undo(RematState *s, uint32_t to);                     /* back to a length of the log */
int remat_use_at(const RematState *s, int storage, int step);    /* index or -1 */
int remat_use_after(const RematState *s, int storage, int step); /* the first one not before */
/* May the bytes not be held up to use i, the op be recomputed there? */
bool remat_droppable(const RematState *s, int storage, int i);
void remat_drop(RematState *s, int storage, int i); /* settle afterwards */
void remat_hold(RematState *s, int storage, int i);
bool remat_may_rerun(const StepGraph *p, int step, int before);
void remat_unsettle(RematState *s, int step); /* its bytes change */

/* ---- where to begin: starts.c ---- */

/* Cuts the path to step `turnaround` each time `length` units were made; holds what crosses a cut
   and what is made behind the last one, makes the rest again behind. */
void remat_segments(RematState *s, int turnaround, double length);
/* Runs the steps in order and evicts what is cheapest to recompute for its size and age. False
   where that does not fit, costs more than `max`, or takes the work beyond the deadline. */
bool remat_evict(RematState *s, int64_t limit, double max, int64_t deadline);

/* ---- the search: search.c ---- */

typedef struct RematPlan {
  bool fits;
  int peak; /* units */
  double flops, cost;
} RematPlan;

/* Fits the problem into limit units with little added cost; leaves the state at the best plan
   found. Effort: nanoseconds, about; a quarter of it goes into making what fits cheaper, and all
   that is left where it adds more arithmetic than `near`. A plan that costs much more than
   `incumbent` is not looked for: one of that cost is there already, or INFINITY. */
RematPlan remat_search(RematState *s, int limit, int64_t effort, double incumbent, double near);
/* Goes on from the state, a plan for a limit that is a little looser. */
RematPlan remat_tighten(RematState *s, int limit, int64_t effort);
/* The least limit that the search meets, between floor and ceiling; leaves the state there. Effort:
   of each try. */
int remat_min(RematState *s, int floor, int ceiling, int64_t effort);
/* Goes on from the state to limits below, step by step, as long as the effort lasts; returns the
   peak of what it leaves the state at. */
int remat_shrink(RematState *s, int floor, int64_t effort);

/* ---- loops: loops.c, loops_build.c ---- */

/* A loop and the one in the other direction that reads its stacks in the backward pass. */
typedef struct LoopPair {
  const Op *forward, *backward;
  const Op *forward_end, *backward_end; /* their yields */
  bool *droppable; /* by result of `forward`: a stack that only `backward` reads */
  bool *alive;     /* by result of `forward`: another stack, held up to `backward` anyway */
  const Op *
      *late; /* stores over operands of `forward`: they wait for `backward`, if it is recomputed */
  int nlate;
} LoopPair;

/* How a pair runs with less memory. The first `blocks` times `block` iterations stack what they
   drop only when the backward pass has come to their block, which then is recomputed from the
   carries that were kept at its beginning. The iterations behind the blocks keep their stacks. With
   a block of 1 each iteration is recomputed in the body of the backward pass, and none is behind
   the blocks. */
typedef struct LoopSchedule {
  int64_t block, blocks;
  const bool *dropped; /* by result of `forward` */
  double bytes;        /* about what is held for the backward pass, of what differs between ways */
  double flops, cost;  /* added */
  uint32_t found;      /* its number: of equal ones the first */
} LoopSchedule;

typedef struct LoopPoint {
  const LoopSchedule **schedule; /* by pair; NULL: as it is */
  double flops, cost;            /* added */
} LoopPoint;

/* The ways of all pairs of an entry, one step after the other from the least added work to the
   least bytes. No pair: no point. */
typedef struct LoopFrontier {
  LoopPair *pair;
  int npairs;
  LoopPoint *point;
  int npoints;
} LoopFrontier;
LoopFrontier remat_loop_frontier(Arena *a, const Entry *e);
/* Rebuilds the entry of the frontier by the schedules of the point; it stays in order. */
void remat_apply_loops(Arena *a, Entry *e, const LoopFrontier *l, const LoopPoint *r);

/* ---- the bound: bound.c ---- */

/* No schedule that keeps the given order of first runs and fits into limit adds less than this many
   flops: the linear relaxation at the steps that leave least room. INFINITY: no schedule fits. */
double remat_bound(Arena *a, const StepGraph *p, int limit);
/* The same at two such steps at once: never less, often more, and slower. */
double remat_bound_joint(Arena *a, const StepGraph *p, int limit);
#endif
