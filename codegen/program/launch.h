/* The launches of an entry in order: which function, which addresses, what must be waited for. */
#ifndef GC_CODEGEN_LAUNCH_H
#define GC_CODEGEN_LAUNCH_H
#include "codegen/program/gen.h"
#include "passes/plan.h"

typedef struct Address {
  PlanRegion region;
  uint64_t offset, bytes;
  const int64_t *stride; /* as a Place's */
  uint64_t reach;        /* end of what all iterations of the loops around touch */
} Address;

typedef struct DeadRange {
  uint64_t offset, bytes;
} DeadRange;
typedef VEC(DeadRange) DeadRanges;

typedef struct Launch {
  const Op *op;
  Kernel *kernel;
  Address *args; /* kernel->nargs */
  int barrier;   /* as GcStep's: 0, 1, or units that must divide evenly */
  int step;      /* of the plan */
  int stream;
  bool ends;           /* the op's collective, which another launch has begun */
  VEC(uint32_t) after; /* as GcStep's */
  DeadRanges dead;
  uint64_t flops, bytes;        /* of all iterations of the loops around */
  const struct Launch *members; /* the kernel->mixed launches that it is, or NULL */
} Launch;

/* Launches [first, end) run `trips` times; loops stand in the order in which they begin, outer ones
   before those in them. */
typedef struct LaunchLoop {
  const Op *scan;
  uint32_t first, end;
  int depth;       /* loops around it */
  DeadRanges dead; /* after its last iteration */
} LaunchLoop;

typedef struct Launches {
  VEC(Launch) at;
  VEC(LaunchLoop) loops; /* those with launches */
  int depth;             /* of the deepest: as long are all strides */
  int streams;
  uint64_t under_way; /* bytes of collectives that have begun and not ended, at most */
  uint32_t ahead;     /* so many, the first ones, are of the entry's preparation */
} Launches;

/* Small launches that do not depend on each other become one: batch.c. */
void launches_batch(Gen *g, const Entry *e, Launches *l);
/* ... and such as depend on each other block by block, or of which each block computes all of the
   first: stack.c. */
void launches_stack(Gen *g, const Entry *e, Launches *l);
/* They cannot change places. */
bool launches_conflict(const Launch *a, const Launch *b);
/* The launches of a planned entry. */
void launches_of(Gen *g, const Entry *e, const GlobalsPlan *gp, Launches *out);
/* ahead.c: the same behind those of its preparation; and what both use of the inputs. */
InputUses *launches_with_ahead(Gen *g, const Entry *e, const GlobalsPlan *gp, Launches *out);
/* launch_order.c: sets the barriers, and of several streams what launches come after. */
void launches_barriers(Gen *g, Launches *l);
void launches_streams(Gen *g, const Plan *p, Launches *l);
bool address_overlap(const Address *a, const Address *b);
/* In one iteration the two are at the same address, and in two iterations apart, or the same. */
bool address_moves_alike(const Address *a, const Address *b, int depth);
/* Where a value of the entry's body lies. */
Address address_of(const Entry *e, ValueId v);
/* ahead.c: of what lies in an input that the preparation makes, where the preparation has it: in
   its arena, or as a view of another input in that one. Others stay. */
Address address_made(const Entry *e, Address at);
/* Bytes of collectives that have begun and not ended, at most, by the plan. */
uint64_t entry_under_way(const Entry *e);
#endif
