/* The inside of the packer, for pack.c (greedy) and pack_search.c (exact) alone. */
#ifndef GC_PASSES_PACK_IMPL_H
#define GC_PASSES_PACK_IMPL_H
#include "passes/plan_impl.h"

/* A section is the span of time between two consecutive distinct starts: the set of live buffers
   only grows at a start, so every largest live set is alive at the beginning of some section. */
typedef struct Pack {
  Arena *a;
  Buffers *b; /* offsets: the best packing so far */
  int n, sections;
  int *from, *to;   /* life of each buffer in sections, half open */
  uint64_t *load;   /* by section: live bytes */
  int peak;         /* section of the largest load */
  uint64_t bound;   /* that load: no packing is smaller */
  uint64_t proven;  /* at least bound, raised by exhausted searches */
  uint64_t arena;   /* of the best packing; UINT64_MAX: none yet */
  uint64_t *offset; /* of the attempt at hand */
} Pack;

static inline int64_t pack_life(const Pack *p, int i) {
  return p->b->at[i].last - p->b->at[i].first + 1;
}

/* Takes the offsets of the attempt at hand if its arena is smaller. */
void pack_keep(Pack *p);
/* True if the best packing needs no improvement under this limit. */
bool pack_done(const Pack *p, const PackLimit *limit);
/* Largest load over a buffer's life. */
uint64_t pack_load(const Pack *p, int i);

void pack_search(Pack *p, const PackLimit *limit);
#endif
