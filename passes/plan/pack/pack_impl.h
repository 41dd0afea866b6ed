/* The inside of the packer, for pack.c and its searches alone. */
#ifndef GC_PASSES_PACK_IMPL_H
#define GC_PASSES_PACK_IMPL_H
#include "passes/plan/plan_impl.h"

/* A section is the span of time between two consecutive distinct starts: the set of live buffers
   only grows at a start, so every largest live set is alive at the beginning of some section. */
typedef struct Pack {
  Arena *a;
  Buffers *b; /* offsets: the best packing so far */
  int n, sections;
  int *from, *to;   /* life of each buffer in sections, half open */
  uint64_t *load;   /* by section: live bytes */
  uint64_t *max;    /* by buffer: largest load over its life */
  int64_t spans;    /* sum of all lives in sections */
  int peak;         /* section of the largest load */
  uint64_t bound;   /* that load: no packing is smaller */
  uint64_t proven;  /* at least bound, raised by exhausted searches */
  uint64_t arena;   /* of the best packing; UINT64_MAX: none yet */
  uint64_t *offset; /* of the attempt at hand */
  int64_t work;     /* elementary steps that are left */
  int64_t given;    /* those of the portfolio of orders, which the limit of work does not count */
  double deadline;  /* seconds of the monotonic clock; 0: none */
  int64_t look;     /* the clock is looked at again when so much work is left */
  bool late;        /* the deadline is over */
  uint64_t random;  /* state of the generator */
} Pack;

static inline int64_t pack_life(const Pack *p, int i) {
  return p->b->at[i].last - p->b->at[i].first + 1;
}

/* Takes the offsets of the attempt at hand if its arena is smaller. */
void pack_keep(Pack *p);
/* True if the best packing needs no improvement under this limit. */
bool pack_done(const Pack *p, const PackLimit *limit);
/* The deadline is over: every order that is being tried ends at once. */
bool pack_late(Pack *p);
/* That, or no work is left. */
bool pack_out_of_time(Pack *p);
/* In [0, 1). */
double pack_random(Pack *p);
static inline uint64_t pack_mix(uint64_t x) { /* splitmix64's finaliser */
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* ---- greedy.c ---- */

typedef struct Greedy Greedy;
/* A portfolio of orders. */
Greedy *greedy_new(Pack *p, const PackLimit *limit);
/* One more order, near the best one so far. */
void greedy_improve(Greedy *g);

/* ---- restarts.c ---- */

typedef struct PackSearch PackSearch;
/* NULL where sizes are beyond it. */
PackSearch *search_new(Pack *p);
/* One attempt at a capacity. False: the limit's capacity is refuted. */
bool search_attempt(PackSearch *s, const PackLimit *limit);
#endif
