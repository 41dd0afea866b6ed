/* Notes of passes on an entry and a module.
   Contract: results of analyses are of the entry as it is and are gone once it is rebuilt;
   decisions stay with it. Both are copied before they change, so that a copy of an entry keeps its
   own. */
#ifndef GC_PASSES_CACHE_H
#define GC_PASSES_CACHE_H
#include "passes/plan.h"

typedef struct AnalysisCache {
  Plan *plan;            /* by the planning passes; NULL before */
  struct Orders *orders; /* of the body, that the pass order tried; or NULL */
} AnalysisCache;

typedef struct EntryNotes {
  /* What runs need, of each extent once. */
  VEC(LeastExtent) least;
  uint64_t rerun_flops;  /* of ops that the pass remat recomputes */
  uint64_t memory_limit; /* of the arena, into which the pass remat has fitted it; 0: any */
  uint64_t prepared;     /* bytes beside the arena that count under a limit */
  uint64_t goal;         /* of the arena, within which the pass remat recomputes values if it can,
                            where no limit is given; 0: any */
  uint64_t left_out;     /* stages of the pipeline that leave it as it is, as bits */
  bool distributed;      /* to_local and from_local stay for the pass distribute */
  bool in_order;         /* fusion must not raise the peak of live bytes of the ops' order */
  bool overlap_free;     /* what streams overlap must not raise the arena of the ops' order */
} EntryNotes;

typedef struct ModuleNotes {
  uint64_t whole_arena;      /* bytes of the largest entry's arena with no limit, and nothing done
                                for one; 0: not searched */
  struct MemoryCurve *curve; /* what less memory costs, as far as passes know it; or NULL */
  struct RematKnown *fitted; /* what searches for recomputation have found; or NULL */
} ModuleNotes;

const AnalysisCache *cache_of(const Entry *e);
AnalysisCache *cache_change(Entry *e);
const EntryNotes *notes_of(const Entry *e);
EntryNotes *notes_change(Entry *e);
ModuleNotes *module_notes(Module *m);
#endif
