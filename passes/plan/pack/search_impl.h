/* The state of the exact search, for search.c, conflict.c, nogood.c and restarts.c. */
#ifndef GC_PASSES_SEARCH_IMPL_H
#define GC_PASSES_SEARCH_IMPL_H
#include "passes/plan/pack/pack_impl.h"

typedef enum Found { FAILED, FITS, GAVE_UP } Found;

typedef enum Stage { ENTER, LOWEST, PARTS } Stage;

/* Why a state of the search failed: the capacity does not hold these buffers at their least offsets
   or higher. An exact one is already placed, and it is so only while it lies there. */
typedef struct Conflict {
  int32_t *min; /* by buffer; -1: it has no part in it */
  bool *exact;
  int *in, n; /* those that have */
} Conflict;

/* Buffer i lies at `min` or higher. */
typedef struct NogoodLiteral {
  int i;
  int32_t min;
} NogoodLiteral;

typedef struct Nogoods Nogoods; /* nogood.c */

/* A frame of the search, on a stack of its own: its depth is the number of buffers. */
typedef struct Frame {
  Stage stage;
  int at, k;               /* its unplaced buffers: order[at .. at+k) */
  int lo, hi;              /* sections whose top is out of date */
  int mark, inner, states; /* heights of the stacks */
  int pick;                /* the buffer it branches on */
  int32_t support;         /* its least offset if it does not lie lowest */
  bool splits;             /* it may fall apart */
  bool lifts_nothing;      /* it lifts nothing unplaced: it may as well stay there */
  int parts, part, base, begin;
} Frame;

typedef struct Change {
  int i;
  bool placed; /* it was; else its least offset was raised: from what */
  int32_t was;
} Change;

/* A state that was entered, and the side of its branch that failed. */
typedef struct State {
  int mark; /* height of the trail at which the state is restored */
  int pick; /* the buffer that does not lie lowest; -1: none yet */
  int why;  /* height of the stack of reasons: why not, from here */
} State;

typedef struct Reason {
  int i;
  int32_t min;
  bool exact;
} Reason;

typedef bool PileFn(PackSearch *s, const Frame *f, const int *o);

struct PackSearch {
  Pack *p;
  uint64_t unit;    /* bytes of a unit: the greatest common divisor of all sizes */
  int32_t capacity; /* in units, as all that follows */
  int32_t *size, *low, *found, *top;
  int *rank, *ranked; /* ranked[rank[i]] = i */
  int *order, *tmp, *cover;
  uint64_t *key;         /* two for every buffer, for sorting */
  int32_t *crossing;     /* by section: unplaced buffers that also live in the section before */
  bool *placed;          /* its `low` is where */
  int64_t nodes, limit;  /* of this attempt */
  PileFn *over_capacity; /* sets `top` of the stale sections, until one is too high */
  int over;              /* a section that is */
  Nogoods *nogoods;
  const NogoodLiteral *held; /* of a nogood that holds in the state at hand; NULL: none is known */
  int nheld;
  Conflict why; /* of the failure at hand */
  VEC(Change) trail;
  VEC(State) states; /* on the way */
  VEC(Reason) reasons;
  VEC(int) ends;
  VEC(Frame) stack;
  int64_t round, step; /* of the restarts */
  struct Score *score;
};

/* ---- search.c ---- */

/* Searches out s->capacity, from s->order with the least offsets s->low and the sections' counts
   s->crossing, within s->limit nodes. FITS: s->found has the offsets. */
Found search_run(PackSearch *s);
/* The function over_capacity that suits the processor. */
PileFn *search_pile(void);
/* Buffer i crosses n more borders of sections, unplaced. */
void search_cross(PackSearch *s, int i, int n);
static inline bool search_meet(const Pack *p, int i, int j) {
  return p->from[i] < p->to[j] && p->from[j] < p->to[i];
}

/* ---- conflict.c ---- */

/* Section s->over is above the capacity. */
void conflict_of_section(PackSearch *s, const int *o, int k);
/* A nogood holds. */
void conflict_of_nogood(PackSearch *s, const NogoodLiteral *held);
/* All that is unplaced: where a reason depends on what is placed now, but was not in this state. */
void conflict_of_state(PackSearch *s, const int *o, int k);
/* The buffer that was placed is not any more. True if the reason needs that it was; then it is kept
   as the reason why that buffer must lie higher. */
bool conflict_keep(PackSearch *s, int pick);
/* Both sides of a state's branch failed: s->why becomes the reason of both. */
void conflict_join(PackSearch *s, const State *t);

/* ---- nogood.c ---- */

Nogoods *nogoods_new(Arena *a, int n);
/* Between two attempts: forgets the older half of very many. */
void nogoods_trim(Nogoods *g);
/* Keeps a conflict that does not hold any more, now that one of its buffers has a lower `low`. */
void nogoods_learn(Nogoods *g, const Conflict *c, int32_t capacity, const int32_t *low);
/* Buffer i was raised. The needs of a nogood that holds now, if there is one. */
const NogoodLiteral *nogoods_raised(Nogoods *g, int i, int32_t capacity, const int32_t *low, int *n,
                                    int64_t *work);
#endif
