/* Races and uninitialised shared memory, exact per granule.
 * Within a CTA an access happens before another if the same thread made both, or if the later one's
 * warp has, by a barrier, seen the earlier warp's clock (vector clocks, as in FastTrack; one clock
 * a warp, since lanes of a warp are ordered by bar.warp.sync alone). Two concurrent readers are
 * kept a cell: any writer conflicts with one of them. Between CTAs only a fence and an atomic on
 * one side, and an atomic and a fence on the other, order accesses. */
#include "exec.h"
#include <stdlib.h>

bool check_start(Exec *x, size_t dynamic_shared) {
  Check *c = &x->check;
  c->race = x->l->checks & PTX_CHECK_RACE;
  c->init = x->l->checks & PTX_CHECK_INIT;
  c->shared_granule = x->k->shared_granule;
  c->global_granule = x->k->global_granule;
  c->shared_shift = (unsigned)__builtin_ctz(c->shared_granule);
  c->dynamic_at = (x->k->shared + c->shared_granule - 1) / c->shared_granule;
  c->shared_cells = c->dynamic_at + (dynamic_shared + c->shared_granule - 1) / c->shared_granule;
  c->shared = calloc(c->shared_cells + 1, sizeof *c->shared);
  size_t ctas = (size_t)x->l->grid[0] * x->l->grid[1] * x->l->grid[2];
  c->set_words = (ctas + 63) / 64;
  c->seen = calloc(c->set_words, sizeof *c->seen);
  c->pending = calloc(c->set_words, sizeof *c->pending);
  return c->shared && c->seen && c->pending;
}

void check_cta(Exec *x) {
  Check *c = &x->check;
  memset(c->shared, 0, c->shared_cells * sizeof *c->shared);
  if (c->nreleases) { /* else nothing was ever learned */
    memset(c->seen, 0, c->set_words * sizeof *c->seen);
    memset(c->pending, 0, c->set_words * sizeof *c->pending);
  }
  c->fenced = c->any_pending = false;
}

void check_free(Exec *x) {
  Check *c = &x->check;
  for (size_t i = 0; i < c->pages_cap; i++) free(c->pages[i].cells);
  for (size_t i = 0; i < c->nreleases; i++) free(c->releases[i].ctas);
  free(c->pages);
  free(c->releases);
  free(c->shared);
  free(c->seen);
  free(c->pending);
}

/* ---- order ---- */
uint32_t check_tick(Exec *x) {
  if (x->clock >= CLOCK_MAX) give_up(x, "a CTA synchronises more than %d times", CLOCK_MAX);
  return ++x->clock;
}

void check_warp_sync(Warp *w) { w->seen[w->index] = check_tick(w->x); }

static bool before(const Warp *w, unsigned tid, Stamp s) {
  unsigned other = s & STAMP_TID;
  uint32_t clock = s >> STAMP_SHIFT;
  if (!s || other == tid) return true;
  int warp = (int)(other / LANES);
  return warp == w->index ? clock < w->seen[warp] : clock <= w->seen[warp];
}

static bool cta_before(const Check *c, const Exec *x, uint32_t cta_plus_one) {
  if (!cta_plus_one || cta_plus_one == x->cta_index + 1) return true;
  if (cta_plus_one == READ_MANY) return false;
  uint32_t cta = cta_plus_one - 1;
  return c->seen[cta / 64] >> (cta % 64) & 1;
}

static const char *verb(int access) {
  return access == ACCESS_READ ? "reads" : access == ACCESS_WRITE ? "writes" : "updates";
}

/* ---- a cell ---- */
static void conflict(Warp *w, int lane, bool shared, uint64_t address, int access,
                     const char *other_verb, Stamp other) {
  unsigned t[3];
  thread_of(w->x, other & STAMP_TID, t);
  report(w, lane, shared ? PTX_RACE_SHARED : PTX_RACE_GLOBAL, address,
         "%s what thread (%u,%u,%u) of the same CTA %s with no barrier between", verb(access), t[0],
         t[1], t[2], other_verb);
}

static void conflict_cta(Warp *w, int lane, uint64_t address, int access, const char *other_verb) {
  report(w, lane, PTX_RACE_GLOBAL, address, "%s what another CTA %s", verb(access), other_verb);
}

static void cell_access(Warp *w, int lane, Cell *c, bool shared, uint64_t address, int access,
                        bool same) {
  Exec *x = w->x;
  const Check *k = &x->check;
  unsigned tid = (unsigned)(w->index * LANES + lane);
  uint32_t cta = x->cta_index + 1;
  Stamp now = w->seen[w->index] << STAMP_SHIFT | tid |
              (access == ACCESS_ATOMIC ? (uint32_t)STAMP_ATOMIC : 0);
  if (access == ACCESS_READ && c->read[0] == now && (shared || c->read_cta == cta))
    return; /* again: whoever wrote since has been told */
  bool atomics = access == ACCESS_ATOMIC && c->write & STAMP_ATOMIC;
  bool harmless = access == ACCESS_WRITE && same; /* stores what is there already */
  if (c->write && !atomics && !harmless) {
    if (shared || c->write_cta == cta) {
      if (!before(w, tid, c->write)) conflict(w, lane, shared, address, access, "wrote", c->write);
    } else if (!cta_before(k, x, c->write_cta)) {
      conflict_cta(w, lane, address, access, "wrote");
    }
  }
  bool read_here = shared || c->read_cta == cta;
  if (access == ACCESS_READ) {
    if (!read_here) {
      c->read_cta = c->read_cta && !cta_before(k, x, c->read_cta) ? READ_MANY : cta;
      c->read[0] = c->read[1] = 0;
    }
    int slot = !c->read[0] || before(w, tid, c->read[0])   ? 0
               : !c->read[1] || before(w, tid, c->read[1]) ? 1
                                                           : -1;
    if (slot >= 0) c->read[slot] = now;
    return;
  }
  if (read_here && !harmless) {
    for (int i = 0; i < 2; i++)
      if (c->read[i] && !before(w, tid, c->read[i])) {
        conflict(w, lane, shared, address, access, "read", c->read[i]);
        break;
      }
  } else if (!shared && !harmless && !cta_before(k, x, c->read_cta)) {
    conflict_cta(w, lane, address, access, "read");
  }
  c->write = now;
  c->write_cta = cta;
}

/* ---- shared ---- */
static Cell *shared_cell(Check *c, uint64_t address, size_t *cells, size_t size) {
  uint64_t first = address, base = 0;
  if (address >= SHARED_DYNAMIC) {
    first -= SHARED_DYNAMIC;
    base = c->dynamic_at;
  }
  uint64_t from = first >> c->shared_shift, to = (first + size - 1) >> c->shared_shift;
  *cells = (size_t)(to - from + 1);
  return &c->shared[base + from];
}

/* A read that can tell nothing new: the thread has read the cell since it last synchronised, or two
 * other lanes of its warp have, and were told about the write, which is not of this warp. */
static bool quiet_read(const Warp *w, int lane, const Cell *c, int access) {
  uint32_t clock = w->seen[w->index] << STAMP_SHIFT, mine = (unsigned)w->index * LANES;
  uint32_t warp = clock | mine, lanes = STAMP_ATOMIC | (LANES - 1);
  if (access != ACCESS_READ || !c->valid || c->async) return false;
  if (c->read[0] == (warp | (unsigned)lane)) return true;
  return (c->read[0] & ~lanes) == warp && (c->read[1] & ~lanes) == warp &&
         (c->write & STAMP_TID) / LANES != (unsigned)w->index;
}

void check_shared(Warp *w, int lane, uint64_t address, size_t size, int access, bool same) {
  Check *c = &w->x->check;
  size_t n;
  Cell *cell = shared_cell(c, address, &n, size);
  bool unwritten = false;
  for (size_t i = 0; i < n; i++) {
    if (quiet_read(w, lane, &cell[i], access)) continue;
    if (cell[i].async) {
      unsigned t[3];
      thread_of(w->x, cell[i].async - 1, t);
      report(w, lane, PTX_ASYNC, address,
             "%s shared memory that a cp.async of thread (%u,%u,%u) is still to fill", verb(access),
             t[0], t[1], t[2]);
    } else {
      unwritten |= access != ACCESS_WRITE && !cell[i].valid;
    }
    if (c->race)
      cell_access(w, lane, &cell[i], true, address + i * c->shared_granule, access, same);
    cell[i].valid = cell[i].valid || access != ACCESS_READ;
  }
  if (unwritten && c->init)
    report(w, lane, PTX_UNINIT, address, "%s shared memory that nobody wrote", verb(access));
}

void check_async(Warp *w, int lane, uint64_t address, size_t size, bool landed) {
  Check *c = &w->x->check;
  size_t n;
  Cell *cell = shared_cell(c, address, &n, size);
  for (size_t i = 0; i < n; i++) {
    if (!landed && cell[i].async)
      report(w, lane, PTX_ASYNC, address, "a second cp.async goes where one is still on its way");
    if (landed) cell[i].async = 0;
    if (c->race)
      cell_access(w, lane, &cell[i], true, address + i * c->shared_granule, ACCESS_WRITE, false);
    if (!landed) cell[i].async = (uint32_t)(w->index * LANES + lane) + 1;
    cell[i].valid = cell[i].valid || landed;
  }
}

/* ---- global ---- */
static Page *page_slot(Page *pages, size_t cap, uint64_t base) {
  size_t h = (size_t)((base / PAGE_BYTES * 0x9E3779B97F4A7C15u) >> 20) & (cap - 1);
  while (pages[h].cells && pages[h].base != base) h = (h + 1) & (cap - 1);
  return &pages[h];
}

static Cell *page_cells(Exec *x, uint64_t base) {
  Check *c = &x->check;
  if (c->pages_cap) {
    Page *last = &c->pages[c->last_page];
    if (last->cells && last->base == base) return last->cells;
  }
  if (2 * (c->npages + 1) > c->pages_cap) {
    size_t cap = c->pages_cap ? 2 * c->pages_cap : 64;
    Page *pages = calloc(cap, sizeof *pages);
    if (!pages) give_up(x, "out of memory for the shadow of global memory");
    for (size_t i = 0; i < c->pages_cap; i++)
      if (c->pages[i].cells) *page_slot(pages, cap, c->pages[i].base) = c->pages[i];
    free(c->pages);
    c->pages = pages;
    c->pages_cap = cap;
  }
  Page *p = page_slot(c->pages, c->pages_cap, base);
  if (!p->cells) {
    p->base = base;
    p->cells = calloc(PAGE_BYTES / c->global_granule, sizeof *p->cells);
    if (!p->cells) give_up(x, "out of memory for the shadow of global memory");
    c->npages++;
  }
  c->last_page = (size_t)(p - c->pages);
  return p->cells;
}

/* An atomic after a fence tells what this CTA did and saw; any atomic learns what was told. */
static void release_acquire(Exec *x, uint64_t address) {
  Check *c = &x->check;
  size_t i = 0;
  while (i < c->nreleases && c->releases[i].address != address) i++;
  if (i == c->nreleases) {
    if (!c->fenced) return;
    if (c->nreleases == c->releases_cap) {
      size_t cap = c->releases_cap ? 2 * c->releases_cap : 8;
      Release *r = realloc(c->releases, cap * sizeof *r);
      if (!r) give_up(x, "out of memory for atomics");
      c->releases = r;
      c->releases_cap = cap;
    }
    uint64_t *ctas = calloc(c->set_words, sizeof *ctas);
    if (!ctas) give_up(x, "out of memory for atomics");
    c->releases[c->nreleases++] = (Release){address, ctas};
  }
  uint64_t *told = c->releases[i].ctas;
  for (size_t n = 0; n < c->set_words; n++) {
    c->pending[n] |= told[n];
    if (c->fenced) told[n] |= c->seen[n];
  }
  if (c->fenced) told[x->cta_index / 64] |= (uint64_t)1 << (x->cta_index % 64);
  c->any_pending = true;
}

void check_fence(Exec *x) {
  Check *c = &x->check;
  c->fenced = true;
  if (c->any_pending)
    for (size_t n = 0; n < c->set_words; n++) c->seen[n] |= c->pending[n];
  c->any_pending = false;
}

void check_global(Warp *w, int lane, uint64_t address, size_t size, int access, bool same) {
  Check *c = &w->x->check;
  if (access == ACCESS_ATOMIC) release_acquire(w->x, address);
  uint64_t end = address + size;
  for (uint64_t a = address - address % c->global_granule; a < end; a += c->global_granule) {
    uint64_t base = a & ~(uint64_t)(PAGE_BYTES - 1);
    Cell *cells = page_cells(w->x, base);
    cell_access(w, lane, &cells[(a - base) / c->global_granule], false, a, access, same);
  }
}
