/* Who touched what since when: the shadow of shared and global memory.
 * A cell covers one granule: the narrowest access of the kernel to that space. Stamps order
 * accesses within a CTA by vector clocks (see check.c); CTAs are ordered by atomics after a fence
 * only. */
#ifndef PTXI_CHECK_H
#define PTXI_CHECK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t Stamp; /* 0: never; clock << 11 | atomic << 10 | tid */
enum { STAMP_TID = 1023, STAMP_ATOMIC = 1024, STAMP_SHIFT = 11, CLOCK_MAX = (1 << 20) - 2 };

typedef struct Cell {
  uint32_t write_cta, read_cta; /* index + 1; READ_MANY: several CTAs; unused in shared memory */
  Stamp write, read[2];
  uint32_t async; /* thread + 1 whose cp.async will write here; shared memory only */
  bool valid;     /* has been written; shared memory only */
} Cell;
enum { READ_MANY = UINT32_MAX };

typedef struct Page { /* cells of PAGE_BYTES of global memory */
  uint64_t base;
  Cell *cells;
} Page;
enum { PAGE_BYTES = 4096 };

/* Which CTAs have released through an atomic's address, as a bit set; the same for what a CTA has
 * seen. */
typedef struct Release {
  uint64_t address;
  uint64_t *ctas;
} Release;

typedef struct Check {
  bool race, init;
  unsigned shared_granule, global_granule; /* powers of two */
  unsigned shared_shift;
  Cell *shared; /* static cells, then dynamic ones */
  size_t shared_cells, dynamic_at;
  Page *pages; /* open addressing */
  size_t npages, pages_cap, last_page;
  Release *releases;
  size_t nreleases, releases_cap;
  uint64_t *seen;    /* of the running CTA */
  uint64_t *pending; /* learned from atomics, seen after the next fence */
  size_t set_words;
  bool fenced, any_pending;
} Check;

struct Warp;
struct Exec;
/* Memory for the shadow; false: there is none. */
bool check_start(struct Exec *x, size_t dynamic_shared);
void check_cta(struct Exec *x); /* a new CTA begins */
void check_free(struct Exec *x);
/* An access to `size` bytes; `same` says that a write changes nothing. */
void check_shared(struct Warp *w, int lane, uint64_t address, size_t size, int access, bool same);
void check_global(struct Warp *w, int lane, uint64_t address, size_t size, int access, bool same);
/* A cp.async is on its way to shared memory, or has landed. */
void check_async(struct Warp *w, int lane, uint64_t address, size_t size, bool landed);
void check_fence(struct Exec *x);
/* Clocks: a warp-wide synchronisation; see barrier.c for the CTA's. */
void check_warp_sync(struct Warp *w);
uint32_t check_tick(struct Exec *x);
#endif
