/* State of a running launch. A warp's registers are blocks of 32 lanes; `defined` has a bit for
 * each lane whose value follows from defined values only. Quarters of a slot are known apart, since
 * NVRTC packs a pair of which only one half was ever set and takes that half out again, gives dp2a
 * a register of whose bytes only those are set that it reads, and puts four bytes, one after the
 * other, into a register that was never set. */
#ifndef PTXI_EXEC_H
#define PTXI_EXEC_H
#include "check.h"
#include "module.h"
#include <string.h>

typedef struct Exec Exec;
typedef enum Wait { WAIT_NOT, WAIT_WARP, WAIT_BARRIER, WAIT_PROGRESS } Wait;

typedef struct Group { /* lanes of a warp that stand at the same instruction */
  int pc;
  uint32_t mask;
  Wait wait;
  uint32_t need; /* WAIT_WARP: the lanes that must come; WAIT_PROGRESS: Exec.progress so far */
  int barrier;   /* WAIT_BARRIER */
} Group;

typedef struct AsyncCopy { /* a cp.async that has not landed */
  uint64_t shared;
  const char *from;
  uint32_t size, fill; /* bytes copied; bytes in all, the rest zero */
  uint32_t group;
  int lane;
} AsyncCopy;

/* Lanes by quarters of a slot: of the lowest, above them of the next; and of the other two. */
typedef struct Quarters {
  uint64_t low, high;
} Quarters;

struct Warp {
  Exec *x;
  int index;              /* in the cluster */
  int cta;                /* its rank in the cluster */
  uint32_t live, started; /* lanes that have not exited; that the CTA has */
  char *regs;
  struct Quarters *defined; /* by slot */
  Group group[LANES];
  int ngroups;
  const Ins *at;   /* being executed, for findings */
  uint32_t *seen;  /* vector clock: seen[w] is how far warp w's accesses are ordered before now */
  uint32_t synced; /* the clock from which on the warp's own lanes are not ordered */
  /* Local memory, words of the lanes side by side: see local.c; by byte, the lanes that wrote it */
  uint32_t *local, *local_init;
  char passing[64]; /* what a lane reads there, or writes */
  AsyncCopy *copies;
  size_t ncopies, copies_cap;
  uint32_t copy_group[LANES]; /* groups committed so far */
  /* wgmma.c: those not done; groups committed and fences so far; what has run, as a number */
  struct Wgmma *wgmma;
  size_t nwgmma, wgmma_cap;
  uint32_t wgmma_group, wgmma_fences;
  uint64_t wgmma_hash;
  uint32_t *touched;           /* by slot: 1 + wgmma_fences when another instruction last used it */
  uint8_t *busy;               /* by slot: it belongs to a wgmma that has not been waited for */
  uint32_t bulk_group[LANES];  /* the same of bulk copies */
  uint32_t cluster_due[LANES]; /* barrier.cluster: the phase that the lane waits for; 0: none */
  unsigned registers;          /* a thread's, by setmaxnreg */
  uint32_t grid_waited;        /* lanes that griddepcontrol.wait let go on */
  unsigned tries;              /* waits for an mbarrier that were answered or made to wait */
};

typedef struct Barrier {
  unsigned arrived; /* threads that only announced themselves (bar.arrive) */
  uint32_t *clock;  /* joined clocks of those, one a warp */
  uint32_t *know;   /* what they told (order.c), or NULL */
} Barrier;
enum { BARRIERS = 16 };

typedef struct Cta { /* of the cluster that runs: one, unless the kernel asks for more */
  unsigned id[3];
  char *shared_static, *shared_dynamic;
  Barrier barrier[BARRIERS];
} Cta;
enum { CLUSTER_CTAS = 8, CLUSTER_WARPS = 64, MBARRIERS = 128 };

struct Exec {
  const PtxKernel *k;
  const PtxLaunch *l;
  PtxResult *r;
  Warp *warps;
  int nwarps, cta_warps; /* of the cluster; of a CTA */
  unsigned threads;      /* of a CTA */
  Cta ctas[CLUSTER_CTAS];
  int nctas;
  uint32_t cluster_index; /* in order of execution */
  const char *params;
  Check check;
  uint64_t rng;
  uint32_t clock;    /* ticks at each synchronisation of the cluster */
  uint32_t progress; /* ticks when something happened that a wait may have waited for */
  size_t last_buf;   /* hint for memory_find */
  uint64_t max_steps;
  unsigned max_reports;
  PtxBuf *bufs; /* the launch's and the module's variables */
  size_t nbufs;
  bool *raced;    /* by buffer: somebody may write to its bytes */
  bool read_only; /* the load that runs is by the read-only path */
  bool any_tag;   /* the access is by a tensor map, which names no argument */
  bool copied;    /* what the access reads is copied, written or not */
  unsigned agent; /* whose reads of global memory run, if not the thread's; 0: they are its own */
  /* order.c: rows of a thread: seen, fenced; NULL: the kernel has nothing asynchronous */
  uint32_t *know;
  size_t nknown; /* agents */
  struct Mbarrier *mbarriers;
  int nmbarriers;
  struct Bulk *bulk; /* copies that have not landed, in the order of their issue */
  size_t nbulk, bulk_cap;
  struct ClusterBarrier {
    uint32_t phase;
    unsigned arrived;     /* threads, in this phase */
    uint32_t *now, *done; /* told by those that arrived in this phase; in phases before */
  } cluster;
  jmp_buf stop;
};

static inline uint32_t *slot32(const Warp *w, const Opd *o) {
  return (uint32_t *)(w->regs + o->at);
}
static inline uint64_t *slot64(const Warp *w, const Opd *o) {
  return (uint64_t *)(w->regs + o->at);
}
static inline uint32_t *slot_pred(const Warp *w, const Opd *o) {
  return (uint32_t *)(w->regs + o->at);
}
/* A lane's bits whatever the slot's width. */
static inline uint64_t lane_bits(const Warp *w, const Opd *o, int lane) {
  return o->cls == SLOT_64   ? slot64(w, o)[lane]
         : o->cls == SLOT_32 ? slot32(w, o)[lane]
                             : *slot_pred(w, o) >> lane & 1;
}
static inline void lane_set(const Warp *w, const Opd *o, int lane, uint64_t bits) {
  if (o->cls == SLOT_64) slot64(w, o)[lane] = bits;
  if (o->cls == SLOT_32) slot32(w, o)[lane] = (uint32_t)bits;
}
/* Lanes of two quarters, and those where all four are defined. */
static inline uint64_t twice(uint32_t lanes) { return lanes | (uint64_t)lanes << LANES; }
static inline uint32_t whole_lanes(Quarters q) {
  const uint64_t both = q.low & q.high;
  return (uint32_t)both & (uint32_t)(both >> LANES);
}
static inline Quarters opd_quarters(const Warp *w, const Opd *o) {
  return o->cls == SLOT_NONE ? (Quarters){UINT64_MAX, UINT64_MAX} : w->defined[o->slot];
}
static inline uint32_t opd_defined(const Warp *w, const Opd *o) {
  return whole_lanes(opd_quarters(w, o));
}
static inline uint32_t opd_quarter(const Warp *w, const Opd *o, int n) {
  const Quarters q = opd_quarters(w, o);
  return (uint32_t)((n < 2 ? q.low : q.high) >> (LANES * (n & 1)));
}
static inline void define(Quarters *q, uint32_t mask, uint64_t low, uint64_t high) {
  const uint64_t lanes = twice(mask);
  q->low = (q->low & ~lanes) | (low & lanes);
  q->high = (q->high & ~lanes) | (high & lanes);
}
static inline void opd_define_quarters(Warp *w, const Opd *o, uint32_t mask, const uint32_t ok[4]) {
  if (o->cls == SLOT_NONE) return;
  define(&w->defined[o->slot], mask, ok[0] | (uint64_t)ok[1] << LANES,
         ok[2] | (uint64_t)ok[3] << LANES);
}
static inline void opd_define(Warp *w, const Opd *o, uint32_t mask, uint32_t ok) {
  if (o->cls != SLOT_NONE) define(&w->defined[o->slot], mask, twice(ok), twice(ok));
}
/* Predicate as lanes, with its negation. */
static inline uint32_t pred_lanes(const Warp *w, const Opd *o) {
  uint32_t p = *slot_pred(w, o);
  return o->negated ? ~p : p;
}
#define FOR_LANES(l, mask)                                                                         \
  for (uint32_t left_##l = (mask), l = 0; left_##l && (l = (uint32_t)__builtin_ctz(left_##l), 1);  \
       left_##l &= left_##l - 1)

/* ---- order.c ---- */
static inline uint32_t *know_seen(const Exec *x, unsigned tid) {
  return x->know + (size_t)tid * 2 * x->nknown;
}
static inline uint32_t *know_fenced(const Exec *x, unsigned tid) {
  return know_seen(x, tid) + x->nknown;
}
static inline unsigned agent_of_warp(const Exec *x, int warp) {
  return (unsigned)(x->nwarps * LANES + warp);
}
static inline unsigned agent_of_mbarrier(const Exec *x, int number) {
  return (unsigned)(x->nwarps * (LANES + 1) + number);
}
bool know_start(Exec *x);
void know_cluster(Exec *x); /* a new cluster begins */
void know_free(Exec *x);
uint32_t *know_new(Exec *x); /* two empty rows, to free */
/* Adds what the lanes know and have done; the second form also ends what is told by it. */
void know_gather(const Warp *w, uint32_t mask, uint32_t *into);
void know_release(Warp *w, uint32_t mask, uint32_t *into);
void know_acquire(const Warp *w, uint32_t mask, const uint32_t *from);
void know_sync(Warp *w, uint32_t mask);  /* the lanes synchronise with each other */
void know_fence(Warp *w, uint32_t mask); /* between the proxies */
void know_agent(const Warp *w, uint32_t mask, unsigned agent, uint32_t clock);

/* ---- report.c ---- */
void report(Warp *w, int lane, PtxKind kind, uint64_t address, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
_Noreturn void give_up(Exec *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void thread_of(const Exec *x, unsigned tid, unsigned out[3]);
/* The operand's value decides something: its undefined lanes are findings. */
void need_defined(Warp *w, const Opd *o, uint32_t mask, const char *what);

/* ---- memory.c ---- */
typedef enum Access { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC } Access;
/* Address in any space to host memory, or NULL after a finding. Generic addresses name the space by
 * their top byte. `value` is what a write will store (NULL: unknown). Of local memory, which holds
 * the value then, the place is a copy; `defined` says whether the value that is written there is
 * (NULL: it is), and is cleared where a thread reads what it never wrote. */
char *memory_access(Warp *w, int lane, Space space, uint64_t address, size_t size, Access how,
                    const void *value, bool *defined);
/* The address must lie in what the launch may read. */
void memory_prefetch(Warp *w, int lane, uint64_t address);
/* Global memory that any lane may read with nothing to check or to note: bytes of one buffer that
 * no thread of the launch may write, all written before. NULL: each access is looked at. */
const char *memory_quiet(Exec *x, uint64_t address, size_t size);
/* Aligned reads of shared memory, all of one variable of the warp's CTA, from lo to hi: shown to
 * check.c, and the place of lo. NULL: it is not that, and nothing was shown. */
const char *memory_shared_reads(Warp *w, uint32_t mask, const uint64_t *address, uint64_t lo,
                                uint64_t hi, size_t size);
/* Launch-time set-up: the list of buffers with the module's variables. */
void memory_start(Exec *x);
void memory_free(Exec *x);
void memory_async(Warp *w, int lane, uint64_t shared, uint64_t global, uint32_t size,
                  uint32_t fill);
void memory_async_wait(Warp *w, uint32_t mask, uint32_t pending);
/* Where a shared address is: its place in `cta`, without the rank that it may carry; NULL after a
 * finding. */
char *memory_shared(Warp *w, int lane, uint64_t *address, size_t size, int *cta);
/* Where a global address lies, once it has been looked at. */
char *memory_place(uint64_t tagged);
/* Of a bulk copy: any bytes of one buffer. */
bool memory_bulk(Warp *w, int lane, uint64_t address, size_t size, Access how);
/* Has somebody written this byte of global memory, which a bulk copy may read? */
bool memory_byte_written(Exec *x, uint64_t address);
enum { WINDOW_SHIFT = 56, WINDOW_SHARED = 1, WINDOW_LOCAL = 2, WINDOW_PARAM = 3 };

/* ---- local.c: addresses within the local memory of a thread ---- */
bool local_start(Warp *w);
void local_cta(Warp *w); /* a new CTA begins: nobody has written */
void local_free(Warp *w);
bool local_read(const Warp *w, int lane, uint64_t at, size_t size, char *to); /* all written? */
void local_write(Warp *w, int lane, uint64_t at, size_t size, const char *value, bool known);
/* Whole words of all lanes, at one address; false: it is not that, and nothing was done. */
bool local_load(Warp *w, const Ins *i, uint32_t mask);
bool local_store(Warp *w, const Ins *i, uint32_t mask, uint32_t known);

/* ---- warp.c ---- */
typedef enum WarpState { WARP_DONE, WARP_BLOCKED, WARP_PAUSED } WarpState;
WarpState warp_run(Warp *w, uint64_t slice);
void warp_start(Warp *w, uint32_t live);
uint32_t warp_waiting(const Warp *w); /* lanes that wait for other lanes of their warp */
/* ---- mbarrier.c ---- */
bool mbarrier_start(Exec *x);
void mbarrier_cluster(Exec *x); /* a new cluster begins: there are none */
void mbarrier_free(Exec *x);
int mbarrier_number(Warp *w, int lane, uint64_t address, int *cta); /* -1: after a finding */
void mbarrier_complete(Exec *x, int number, uint32_t bytes);        /* a copy has arrived */
bool mbarrier_known(const Warp *w, int lane, int number);           /* and initialised before now */
bool mbarrier_fenced(const Exec *x, int number);                    /* ... and fenced after that */
void mbarrier_stuck(Warp *w, const Ins *i, int lane);

/* ---- exec_cluster.c ---- */
unsigned launch_registers(const Exec *x); /* of a thread */
bool cta_runs(const Exec *x, int cta);    /* some thread has not exited */
void wait_stuck(Warp *w, int lane);       /* of a group that waits for progress: tells why */

/* ---- bulk.c ---- */
void bulk_cluster(Exec *x);        /* a new cluster begins */
bool bulk_land(Exec *x, size_t n); /* the n-th of those that may; false: there are fewer */
void bulk_end(Exec *x);            /* the cluster ends: nothing may be in flight */
void bulk_free(Exec *x);

/* ---- wgmma.c ---- */
bool wgmma_start(Warp *w);
void wgmma_cta(Warp *w); /* a new CTA begins */
void wgmma_free(Warp *w);
void wgmma_watch(Warp *w, const Ins *i, uint32_t mask); /* any instruction of its kernel */
void wgmma_end(Exec *x);                                /* the cluster ends */

/* ---- exec_parts.c ---- */
/* Defines the results of an instruction with `parts` by quarters. */
void parts_define(Warp *w, const Ins *i, uint32_t mask);
/* ---- barrier.c ---- */
void barrier_start(Exec *x);
void barrier_arrive(Warp *w, const Ins *i, uint32_t mask);
bool barrier_release(Exec *x); /* wakes whoever can go on; false: nobody can */
void barrier_stuck(Exec *x);   /* tells why */
#endif
