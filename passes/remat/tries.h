/* Tries to fit an entry into a limit. A try is the entry in one of its orders, or with its loops in
   one of their schedules; it has its own step graph and search state. Contract: a try belongs to
   the entry that it was made of, which it rewrites. Everything lies in arenas of its own. */
#ifndef GC_PASSES_REMAT_TRIES_H
#define GC_PASSES_REMAT_TRIES_H
#include "passes/manager/pass_list.h"
#include "passes/remat/remat_impl.h"

/* A frontier of an entry, and the point at which its loops are. */
typedef struct AppliedLoops {
  Entry from;
  const LoopFrontier *frontier;
  const LoopPoint *point;
} AppliedLoops;

typedef struct Remat { /* of one order of an entry, or with its loops in one of their ways */
  PassRun *r;
  Entry *e;
  OpId *order;
  AppliedLoops loops[2]; /* one after the other; without a point loops run as they are */
  bool further;          /* with the second */
  double cost;           /* that they add */
  Entry old;             /* as it was before anything was recomputed: the problem's ids are its */
  const Target *t;
  const GlobalsPlan *g;
  Arena *a;
  StepGraph p;
  RematState s;
  uint64_t slack;
} Remat;

/* The orders, then the points of the frontier, the cheapest first, without and with a further one;
   these are prepared when they are first looked at. */
typedef struct Tries {
  Arena *a;
  Remat *at;
  int n, norders;
  LoopFrontier loops;
} Tries;

/* Of the effort of a search: one try on the way to the least, one point of a curve. */
enum { MIN_SHARE = 16 };

/* ---- try.c ---- */
/* Of the program's work: a plan that is cheaper by less is not packed for it. */
#define REMAT_LITTLE 0.001

Remat remat_new(PassRun *r, Entry *e, const GlobalsPlan *g);
/* The problem of the entry as it is, in the order. */
bool remat_prepare(Remat *w, OpId *order);
/* What is added to the program as it was given: by running loops again, too. */
RematPlan remat_added(const Remat *w, RematPlan x);
/* The entry as the state has it. */
void remat_rewrite(Remat *w);
/* Fits the entry at less cost than `incumbent`; without such a schedule the entry is unchanged.
   *missed: bytes by which packing exceeded the limit in the first schedule. If a shorter search has
   set it already, small steps are not tried again. */
bool remat_fit(Remat *w, uint64_t limit, int64_t effort, double incumbent, double near,
               uint64_t *missed, RematPlan *found, uint64_t *arena);
int64_t remat_whole_effort(const Remat *w);
/* Bytes of the packed arena of the entry as it is; with `enough` above 0 nothing smaller is looked
   for. */
uint64_t remat_arena(Remat *w, uint64_t enough);
/* The entry as it was, in the order of the try. */
void remat_as_given(Remat *w);
int remat_units(const Remat *w, uint64_t bytes);
/* What effort=N allows, but at most this per cent. */
int64_t remat_effort(const Remat *w, int max);

/* ---- tries.c ---- */
bool tries_new(Arena *a, PassRun *r, Entry *e, const GlobalsPlan *g, Tries *out);
void tries_free(Tries *x);
/* Try k with its problem; NULL: it has none. */
Remat *tries_at(Tries *x, int k);
/* Fits the entry with the least work: in one of the orders, or with loops that are recomputed. NULL
   where nothing fits, and the entry is as it was. Searches follow each other, each four times as
   long as all before it and whatever the effort is, and the best plan is kept: for one entry and
   limit, more effort never costs more work. `spent`: effort of those that were done before. */
Remat *tries_fit(Tries *x, uint64_t limit, int64_t spent, int64_t effort, RematPlan *found,
                 uint64_t *arena);
/* The entry in the way of try k with what is recomputed there. */
Remat *tries_again(Tries *x, int k, const RematSaved *again);

/* ---- least.c ---- */
/* Fits it into the least bytes that are found; with `probe` no limit below is met if it is asked
   for by as little as the alignment, and the effort is that of many limits. NULL after an error. */
Remat *tries_min(Tries *x, bool probe, RematPlan *found, uint64_t *arena);

/* ---- known.c ---- */
typedef struct RematKnown { /* about an entry under a limit */
  const char *text;         /* of the entry and its orders */
  size_t size;              /* of the text */
  uint64_t limit;
  bool brief;       /* found with little search */
  int chosen;       /* try; -1: not searched */
  RematSaved again; /* what is recomputed */
  RematPlan found;
  uint64_t arena; /* may be above the limit: the minimum found */
  struct RematKnown *next;
} RematKnown;
/* What is known about the entry as it is; a new one, of which that is nothing, is the module's.
   Limit 0: about the least bytes that it takes. */
RematKnown *remat_known(PassRun *r, const Entry *e, uint64_t limit);
void remat_keep(PassRun *r, RematKnown *known, const Tries *x, const Remat *w,
                const RematPlan *found, uint64_t arena);

/* curve.c: of entry k, with `prepared` bytes for the next batch beside the arena; prints the curve
   unless this is a trial. */
bool remat_curve(PassRun *r, uint32_t k, const GlobalsPlan *g, uint64_t prepared);
#endif
