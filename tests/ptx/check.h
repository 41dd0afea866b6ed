/* Who touched what since when: the shadow of shared and global memory.
 * A cell covers one granule: the narrowest access of the kernel to that space. Stamps order
 * accesses within a CTA by vector clocks; CTAs are ordered by fences and atomics (see check.c). */
#ifndef PTXI_CHECK_H
#define PTXI_CHECK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0: never; clock << 13 | atomic << 12 | tid. Numbers behind those of the cluster's threads are
 * agents that run beside them: see order.c. */
typedef uint32_t Stamp;
enum { STAMP_TID = 4095, STAMP_ATOMIC = 4096, STAMP_SHIFT = 13, CLOCK_MAX = (1 << 19) - 2 };

typedef struct Cell {
  Stamp write, read[2];
  uint32_t late;    /* the clock of the last of ... */
  uint64_t more;    /* ... the warps of further concurrent readers */
  uint16_t async;   /* thread + 1 whose copy will write here; shared memory only */
  uint16_t reads;   /* copies and wgmma that still read here; shared memory only */
  uint8_t mbarrier; /* 1 + the number of the one that lies here; shared memory only */
  bool valid;       /* has been written; shared memory only */
  bool brought;     /* … by a bulk copy of what nobody wrote, so it is not valid */
  bool read_only;   /* has been read by the read-only path; global memory only */
} Cell;
typedef struct GlobalCell {
  Cell c;
  uint32_t write_cta, read_cta;     /* index + 1; READ_MANY: several CTAs */
  uint32_t write_phase, read_phase; /* fences of the CTA before */
} GlobalCell;
enum { READ_MANY = UINT32_MAX };

typedef struct Page { /* cells of PAGE_BYTES of global memory */
  uint64_t base;
  GlobalCell *cells;
} Page;
enum { PAGE_BYTES = 4096 };

/* What a thread may tell other CTAs by an atomic after a fence: what it did before the fence, or
 * was ordered before it in its CTA, or had learned from others by then. */
typedef struct Known {
  uint32_t fence;
  uint32_t tid; /* whose fence; in Fence.learned: whose knowledge, or ANY_THREAD of the warp */
} Known;
enum { ANY_THREAD = UINT32_MAX };
typedef struct Learned {
  Known known;
  uint32_t by;
} Learned;

typedef struct Fence { /* one instruction of a warp */
  uint32_t cta, phase; /* index + 1; fences of the CTA before this one */
  int warp;
  uint32_t synced, *seen; /* the warp's clocks */
  Learned *learned;
  size_t nlearned;
  bool told; /* by some atomic */
} Fence;

typedef struct Release { /* an atomic's address, and what has been told there */
  uint64_t address;
  Known *at;
  size_t n, cap;
} Release;

typedef struct Pending { /* read by an atomic, learned at the thread's next fence */
  uint32_t tid;
  size_t release, n;
} Pending;

typedef struct Acquired {
  Known known;
  uint32_t tid; /* who learned it, */
  Stamp at;     /* ... and when */
} Acquired;

typedef struct Check {
  bool race, init;
  int warps;                               /* of a cluster */
  unsigned shared_granule, global_granule; /* powers of two */
  unsigned shared_shift;
  Cell *shared;                    /* of each CTA: static cells, then dynamic ones */
  size_t shared_cells, dynamic_at; /* of a CTA */
  /* where threads' knowledge is kept (order.c), by cell and warp: the clock of the last read by the
     warp's threads, and by its copies and wgmma; in place of Cell.more */
  uint32_t *readers;
  Page *pages; /* open addressing */
  size_t npages, pages_cap, last_page;
  Release *releases;
  size_t nreleases, releases_cap;
  Fence *fences;
  size_t nfences, fences_cap, first_fence; /* of the running CTA */
  uint32_t phase;                          /* the running CTA's fences so far */
  uint32_t *fence_of;                      /* by thread: its last fence + 1 */
  Pending *pending;
  size_t npending, pending_cap;
  Acquired *acquired; /* by the running CTA */
  size_t nacquired, acquired_cap;
  size_t facts; /* learned in all */
} Check;

struct Warp;
struct Exec;
/* Memory for the shadow; false: there is none. */
bool check_start(struct Exec *x, size_t dynamic_shared);
void check_cta(struct Exec *x); /* a new CTA begins */
void check_free(struct Exec *x);
/* An access to `size` bytes; `same` says that a write changes nothing; `cta` has the memory. */
void check_shared(struct Warp *w, int lane, int cta, uint64_t address, size_t size, int access,
                  bool same);
/* The same of reads of the warp's own CTA by these lanes, within one variable and aligned. A third
 * lane at the same address is not looked at: two lanes of a warp stand for all, since whoever may
 * not write beside a third lane may not beside one of the two. */
void check_shared_reads(struct Warp *w, uint32_t mask, const uint64_t *address, size_t size);
void check_global(struct Warp *w, int lane, uint64_t address, size_t size, int access, bool same);
/* A cp.async or a bulk copy is on its way to shared memory, or has landed. */
void check_async(struct Warp *w, int lane, int cta, uint64_t address, size_t size, bool landed);
/* As check_async for what a bulk copy has brought, which is known to those who wait for `agent`.
   written: by byte, whether somebody wrote what it has read. */
void check_landed(struct Exec *x, int cta, uint64_t address, size_t size, unsigned agent,
                  uint32_t written);
/* A bulk copy or a wgmma of the thread reads shared memory from now on, at `clock`, or has done.
   passes_on: to read what a copy brought and nobody wrote is no finding. Returns whether it did. */
bool check_reads(struct Warp *w, int lane, int cta, uint64_t address, size_t size, uint32_t clock,
                 bool passes_on);
/* Which of these bytes were brought so, by bit. */
uint32_t check_brought(struct Exec *x, int cta, uint64_t address, size_t size);
void check_reads_done(struct Exec *x, int cta, uint64_t address, size_t size);
/* The cells of an mbarrier; 0: none. */
void check_mbarrier(struct Exec *x, int cta, uint64_t address, unsigned number);
/* What happened at the stamp is before now in the thread. */
bool check_before(const struct Warp *w, unsigned tid, Stamp s);
void check_fence(struct Warp *w, uint32_t mask);
/* Clocks: a warp-wide synchronisation; see barrier.c for the CTA's. */
void check_warp_sync(struct Warp *w);
uint32_t check_tick(struct Exec *x);
#endif
