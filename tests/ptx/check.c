/* Races and uninitialised shared memory, per granule.
 * Within a CTA an access happens before another if the same thread made both, or if the later one's
 * warp has, by a barrier, seen the earlier warp's clock (vector clocks, as in FastTrack; one clock
 * a warp, and a mark from which on its own lanes are not ordered). Barriers and bar.warp.sync that
 * a part of a warp takes part in order nothing. Two concurrent readers are kept a cell exactly,
 * further ones as a set of warps with the clock of the last: enough for every race, and for a
 * report too many where named barriers order some readers earlier than others.
 * Between CTAs a thread tells, by an atomic after a fence of its own, what was done before that
 * fence; another thread learns it by an atomic at the same address and a fence of its own, and only
 * what follows that is ordered. Loads and stores with .acquire and .release order nothing here.
 * Sound, then: what races in the order of the run is found; CTAs run one after another, so that a
 * race which needs another outcome of an atomic needs another order of CTAs to be seen. */
#include "exec.h"
#include <stdlib.h>

bool check_start(Exec *x, size_t dynamic_shared) {
  Check *c = &x->check;
  c->warps = x->nwarps;
  c->race = x->l->checks & PTX_CHECK_RACE;
  c->init = x->l->checks & PTX_CHECK_INIT;
  c->shared_granule = x->k->shared_granule;
  c->global_granule = x->k->global_granule;
  c->shared_shift = (unsigned)__builtin_ctz(c->shared_granule);
  c->dynamic_at = (x->k->shared + c->shared_granule - 1) / c->shared_granule;
  size_t dynamic = dynamic_shared + SHARED_ALIGN; /* wherever it begins */
  c->shared_cells = c->dynamic_at + (dynamic + c->shared_granule - 1) / c->shared_granule;
  size_t cells = c->shared_cells * (size_t)x->nctas + 1;
  c->shared = calloc(cells, sizeof *c->shared);
  if (x->know) c->readers = calloc(cells * 2 * (size_t)x->nwarps, sizeof *c->readers);
  if (x->know && !c->readers) return false;
  c->fence_of = calloc((size_t)x->nwarps * LANES, sizeof *c->fence_of);
  return c->shared && c->fence_of;
}

static void fence_drop(Check *c) { /* the last one */
  const Fence *f = &c->fences[--c->nfences];
  free(f->seen);
  free(f->learned);
}

void check_cta(Exec *x) {
  Check *c = &x->check;
  size_t cells = c->shared_cells * (size_t)x->nctas;
  memset(c->shared, 0, cells * sizeof *c->shared);
  if (c->readers) memset(c->readers, 0, cells * 2 * (size_t)x->nwarps * sizeof *c->readers);
  c->npending = 0;
  if (!c->phase) return; /* no fence, so nothing was told or learned */
  while (c->nfences > c->first_fence && !c->fences[c->nfences - 1].told) fence_drop(c);
  memset(c->fence_of, 0, (size_t)x->nwarps * LANES * sizeof *c->fence_of);
  c->first_fence = c->nfences;
  c->phase = 0;
  c->nacquired = 0;
}

void check_free(Exec *x) {
  Check *c = &x->check;
  for (size_t i = 0; i < c->pages_cap; i++) free(c->pages[i].cells);
  for (size_t i = 0; i < c->nreleases; i++) free(c->releases[i].at);
  while (c->nfences) fence_drop(c);
  free(c->pages);
  free(c->releases);
  free(c->fences);
  free(c->fence_of);
  free(c->pending);
  free(c->acquired);
  free(c->shared);
  free(c->readers);
}

/* ---- order ---- */
uint32_t check_tick(Exec *x) {
  if (x->clock >= CLOCK_MAX) give_up(x, "a CTA synchronises more than %d times", CLOCK_MAX);
  return ++x->clock;
}

void check_warp_sync(Warp *w) { w->synced = w->seen[w->index] = check_tick(w->x); }

static inline bool before(const Warp *w, unsigned tid, Stamp s) {
  unsigned other = s & STAMP_TID;
  uint32_t clock = s >> STAMP_SHIFT;
  if (!s || other == tid) return true;
  int warp = (int)(other / LANES);
  if (warp < w->x->nwarps && (warp == w->index ? clock < w->synced : clock <= w->seen[warp]))
    return true;
  return w->x->know && know_seen(w->x, tid)[other] >= clock;
}

bool check_before(const Warp *w, unsigned tid, Stamp s) { return before(w, tid, s); }

/* The same of an access of another CTA, and of a fence there. */
static bool before_fence(const Check *c, Known k, uint32_t cta, Stamp s, uint32_t phase) {
  const Fence *f = &c->fences[k.fence];
  unsigned other = s & STAMP_TID;
  uint32_t clock = s >> STAMP_SHIFT;
  if (f->cta != cta || phase > f->phase) return false;
  if (other == k.tid) return true;
  int warp = (int)(other / LANES);
  if (warp >= c->warps) return false;
  return warp == f->warp ? clock < f->synced : clock <= f->seen[warp];
}

/* What the thread has learned orders the access before now. */
static bool cta_before(const Warp *w, unsigned tid, uint32_t cta, Stamp s, uint32_t phase) {
  const Check *c = &w->x->check;
  if (!cta || !s) return true;
  for (size_t i = 0; cta != READ_MANY && i < c->nacquired; i++) {
    const Acquired *a = &c->acquired[i];
    if (a->tid != tid && !before(w, tid, a->at)) continue;
    if (before_fence(c, a->known, cta, s, phase)) return true;
    const Fence *f = &c->fences[a->known.fence];
    for (size_t n = 0; n < f->nlearned; n++)
      if ((f->learned[n].by == ANY_THREAD || f->learned[n].by == a->known.tid) &&
          before_fence(c, f->learned[n].known, cta, s, phase))
        return true;
  }
  return false;
}

/* The reader of a cell that is not ordered before now, as a stamp; 0: there is none. */
static Stamp reader_beside(const Warp *w, unsigned tid, const Cell *c, bool here) {
  const GlobalCell *g = here ? NULL : (const GlobalCell *)c;
  for (int i = 0; i < 2; i++)
    if (c->read[i] && !(here ? before(w, tid, c->read[i])
                             : cta_before(w, tid, g->read_cta, c->read[i], g->read_phase)))
      return c->read[i];
  for (uint64_t left = c->more; left; left &= left - 1) {
    Stamp s = c->late << STAMP_SHIFT | (uint32_t)__builtin_ctzll(left) * LANES;
    /* any lane of the warp may have been it */
    bool ordered = here ? (int)(s & STAMP_TID) / LANES == w->index
                              ? c->late < w->synced
                              : c->late <= w->seen[(s & STAMP_TID) / LANES]
                        : cta_before(w, tid, g->read_cta, s, g->read_phase) &&
                              cta_before(w, tid, g->read_cta, s + 1, g->read_phase);
    if (!ordered) return s;
  }
  return 0;
}

/* The same of readers that are kept by warp; NULL: none are. */
static uint32_t *readers_of(const Check *c, const Cell *cell, const Exec *x) {
  return c->readers ? &c->readers[(size_t)(cell - c->shared) * 2 * (size_t)x->nwarps] : NULL;
}

static Stamp warp_beside(const Warp *w, unsigned tid, const uint32_t *readers) {
  for (int n = 0; n < w->x->nwarps; n++) {
    Stamp s = readers[2 * n] << STAMP_SHIFT | (uint32_t)n * LANES;
    Stamp agent = readers[2 * n + 1] << STAMP_SHIFT | agent_of_warp(w->x, n);
    /* any lane of the warp may have been it */
    if (readers[2 * n] && !(before(w, tid, s) && before(w, tid, s + 1))) return s;
    if (readers[2 * n + 1] && !before(w, tid, agent)) return agent;
  }
  return 0;
}

static const char *verb(int access) {
  return access == ACCESS_READ ? "reads" : access == ACCESS_WRITE ? "writes" : "updates";
}

/* ---- a cell ---- */
static void conflict(Warp *w, int lane, bool shared, uint64_t address, int access,
                     const char *other_verb, Stamp other) {
  unsigned t[3], tid = other & STAMP_TID;
  const PtxKind kind = shared ? PTX_RACE_SHARED : PTX_RACE_GLOBAL;
  if (tid >= (unsigned)(w->x->nwarps * LANES)) {
    bool copy = tid >= agent_of_mbarrier(w->x, 0);
    report(w, lane, kind, address, "%s what %s %s, which it does not know to be over", verb(access),
           copy ? "a bulk copy" : "a wgmma or a bulk copy of a warp", other_verb);
    return;
  }
  thread_of(w->x, tid, t);
  report(w, lane, kind, address,
         "%s what thread (%u,%u,%u) of the same CTA %s with no barrier between", verb(access), t[0],
         t[1], t[2], other_verb);
}

static void conflict_cta(Warp *w, int lane, uint64_t address, int access, const char *other_verb) {
  report(w, lane, PTX_RACE_GLOBAL, address, "%s what another CTA %s", verb(access), other_verb);
}

static void add_reader(const Warp *w, unsigned tid, Cell *c, Stamp now, uint32_t *readers) {
  if (c->more && !reader_beside(w, tid, &(Cell){.more = c->more, .late = c->late}, true))
    c->more = 0;
  for (int i = 0; i < 2; i++)
    if (!c->read[i] || before(w, tid, c->read[i])) {
      c->read[i] = now;
      return;
    }
  uint32_t lanes = LANES - 1; /* two lanes of the warp since it last synchronised stand for it */
  if ((c->read[0] | lanes) == (now | lanes) && (c->read[1] | lanes) == (now | lanes)) return;
  uint32_t clock = now >> STAMP_SHIFT;
  if (readers) {
    readers[2 * w->index] = clock;
    return;
  }
  c->late = c->more && c->late > clock ? c->late : clock;
  c->more |= (uint64_t)1 << w->index;
}

/* g: the cell of global memory that c is, or NULL */
static void cell_access(Warp *w, int lane, Cell *c, GlobalCell *g, uint64_t address, int access,
                        bool same) {
  const bool shared = !g;
  Exec *x = w->x;
  unsigned tid = (unsigned)(w->index * LANES + lane);
  uint32_t cta = x->cluster_index + 1;
  Stamp now = w->seen[w->index] << STAMP_SHIFT | tid |
              (access == ACCESS_ATOMIC ? (uint32_t)STAMP_ATOMIC : 0);
  if (access == ACCESS_READ && c->read[0] == now && (shared || g->read_cta == cta))
    return; /* again: whoever wrote since has been told */
  bool atomics = access == ACCESS_ATOMIC && c->write & STAMP_ATOMIC;
  bool harmless = access == ACCESS_WRITE && same; /* stores what is there already */
  bool written_here = shared || g->write_cta == cta;
  bool after_write = written_here ? before(w, tid, c->write)
                                  : cta_before(w, tid, g->write_cta, c->write, g->write_phase);
  if (!after_write && !atomics && !harmless) {
    if (written_here)
      conflict(w, lane, shared, address, access, "wrote", c->write);
    else
      conflict_cta(w, lane, address, access, "wrote");
  }
  bool read_here = shared || g->read_cta == cta;
  uint32_t *readers = shared ? readers_of(&x->check, c, x) : NULL;
  if (access == ACCESS_READ) {
    if (!read_here) {
      bool many = g->read_cta == READ_MANY || (g->read_cta && reader_beside(w, tid, c, false));
      g->read_cta = many ? READ_MANY : cta;
      c->read[0] = c->read[1] = c->more = 0;
    }
    add_reader(w, tid, c, x->agent ? (now & ~(Stamp)STAMP_TID) | x->agent : now, readers);
    if (g) g->read_phase = x->check.phase;
    return;
  }
  if (!harmless && g && g->read_cta == READ_MANY)
    conflict_cta(w, lane, address, access, "read");
  else if (!harmless && (c->read[0] || c->more)) {
    Stamp other = reader_beside(w, tid, c, read_here);
    if (other && read_here) conflict(w, lane, shared, address, access, "read", other);
    if (other && !read_here) conflict_cta(w, lane, address, access, "read");
  }
  if (!harmless && readers) {
    Stamp other = warp_beside(w, tid, readers);
    if (other) conflict(w, lane, shared, address, access, "reads", other);
  }
  if (harmless && !after_write) return; /* the earlier write still counts */
  c->write = now;
  if (!harmless) c->read[0] = c->read[1] = c->more = 0; /* all are before the write */
  if (!g) return;
  g->write_cta = cta;
  g->write_phase = x->check.phase;
  if (!harmless) g->read_cta = 0;
}

/* ---- shared ---- */
static Cell *shared_cell(Check *c, int cta, uint64_t address, size_t *cells, size_t size) {
  uint64_t first = address, base = c->shared_cells * (size_t)cta;
  if (address >= SHARED_DYNAMIC) {
    first -= SHARED_DYNAMIC;
    base += c->dynamic_at;
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
  if (access != ACCESS_READ || !c->valid || c->async || c->mbarrier) return false;
  if (c->read[0] == (warp | (unsigned)lane)) return true;
  if ((c->write & STAMP_TID) / LANES == (unsigned)w->index) return false;
  if (c->more >> w->index & 1 && c->late == w->seen[w->index]) return true;
  return (c->read[0] & ~lanes) == warp && (c->read[1] & ~lanes) == warp;
}

static void still_read(Warp *w, int lane, const Cell *c, uint64_t address) {
  if (c->reads)
    report(w, lane, PTX_ASYNC, address,
           "writes shared memory that a wgmma or a bulk copy may still read");
}

void check_shared(Warp *w, int lane, int cta, uint64_t address, size_t size, int access,
                  bool same) {
  Check *c = &w->x->check;
  size_t n;
  Cell *cell = shared_cell(c, cta, address, &n, size);
  bool unwritten = false;
  for (size_t i = 0; i < n; i++) {
    if (quiet_read(w, lane, &cell[i], access)) continue;
    if (cell[i].async) {
      unsigned t[3];
      thread_of(w->x, cell[i].async - 1u, t);
      report(w, lane, PTX_ASYNC, address,
             "%s shared memory that a copy of thread (%u,%u,%u) is still to fill", verb(access),
             t[0], t[1], t[2]);
    } else if (cell[i].mbarrier) {
      report(w, lane, PTX_MBARRIER, address, "%s the bytes of an mbarrier", verb(access));
    } else {
      unwritten |= access != ACCESS_WRITE && !cell[i].valid;
    }
    if (access != ACCESS_READ) still_read(w, lane, &cell[i], address);
    if (c->race)
      cell_access(w, lane, &cell[i], NULL, address + i * c->shared_granule, access, same);
    if (access != ACCESS_READ) cell[i].valid = true, cell[i].brought = false;
  }
  if (unwritten && c->init)
    report(w, lane, PTX_UNINIT, address, "%s shared memory that nobody wrote", verb(access));
}

/* A read with nothing to tell but that it was: of a cell that was written before, and of which
 * another reader's place is free. false: it is not that. */
static bool plain_read(const Warp *w, Cell *c, Stamp now) {
  if (!c->valid || c->async || c->mbarrier || c->more) return false;
  if (c->read[0] == now) return true;
  const unsigned tid = now & STAMP_TID;
  if (!before(w, tid, c->write)) return false;
  for (int i = 0; i < 2; i++)
    if (!c->read[i] || before(w, tid, c->read[i])) {
      c->read[i] = now;
      return true;
    }
  return false;
}

void check_shared_reads(Warp *w, uint32_t mask, const uint64_t *address, size_t size) {
  enum { PLACES = 64 };
  uint64_t at[PLACES];
  uint8_t lanes[PLACES] = {0};
  const Check *c = &w->x->check;
  const bool plain = c->race && !w->x->know;
  const Stamp clock = w->seen[w->index] << STAMP_SHIFT;
  const int shift = __builtin_ctzll(size);
  FOR_LANES(l, mask) {
    const uint64_t place = address[l];
    const size_t h = place >> shift & (PLACES - 1);
    if (lanes[h] && at[h] == place) {
      if (lanes[h] > 1) continue;
      lanes[h] = 2;
    } else {
      at[h] = place, lanes[h] = 1;
    }
    size_t n, i = 0;
    Cell *cell = shared_cell(&w->x->check, w->cta, place, &n, size);
    const Stamp now = clock | (Stamp)(w->index * LANES + (int)l);
    while (plain && i < n &&
           (plain_read(w, &cell[i], now) || quiet_read(w, (int)l, &cell[i], ACCESS_READ)))
      i++;
    if (i < n) check_shared(w, (int)l, w->cta, place, size, ACCESS_READ, false);
  }
}

void check_async(Warp *w, int lane, int cta, uint64_t address, size_t size, bool landed) {
  Check *c = &w->x->check;
  size_t n;
  Cell *cell = shared_cell(c, cta, address, &n, size);
  for (size_t i = 0; i < n; i++) {
    if (!landed && cell[i].async)
      report(w, lane, PTX_ASYNC, address, "a second copy goes where one is still on its way");
    if (!landed) still_read(w, lane, &cell[i], address);
    if (!landed && cell[i].mbarrier)
      report(w, lane, PTX_MBARRIER, address, "copies over an mbarrier");
    if (landed) cell[i].async = 0;
    if (c->race)
      cell_access(w, lane, &cell[i], NULL, address + i * c->shared_granule, ACCESS_WRITE, false);
    if (!landed) cell[i].async = (uint16_t)(w->index * LANES + lane + 1);
    if (landed) cell[i].valid = true, cell[i].brought = false;
  }
}

void check_landed(Exec *x, int cta, uint64_t address, size_t size, unsigned agent,
                  uint32_t written) {
  size_t n;
  Cell *cell = shared_cell(&x->check, cta, address, &n, size);
  const uint32_t all = (uint32_t)(((uint64_t)1 << size / n) - 1);
  for (size_t i = 0; i < n; i++) {
    cell[i].async = 0;
    cell[i].valid = (~written >> i * (size / n) & all) == 0;
    cell[i].brought = !cell[i].valid;
    cell[i].write = x->clock << STAMP_SHIFT | agent;
    cell[i].read[0] = cell[i].read[1] = 0; /* all are before the copy: check_async saw to it */
  }
}

bool check_reads(Warp *w, int lane, int cta, uint64_t address, size_t size, uint32_t clock,
                 bool passes_on) {
  Exec *x = w->x;
  bool brought = false;
  Check *c = &x->check;
  size_t n;
  unsigned tid = (unsigned)(w->index * LANES + lane);
  Cell *cell = shared_cell(c, cta, address, &n, size);
  for (size_t i = 0; i < n; i++) {
    Cell *q = &cell[i];
    uint64_t at = address + i * c->shared_granule;
    unsigned by = q->write & STAMP_TID;
    bool copied = by >= (unsigned)(x->nwarps * LANES), passed = passes_on && q->brought;
    brought |= passed;
    if (q->async)
      report(w, lane, PTX_ASYNC, at, "reads shared memory that a copy is still to fill");
    else if (!q->valid && !passed && c->init)
      report(w, lane, PTX_UNINIT, at, "reads shared memory that nobody wrote");
    else if (c->race && !before(w, tid, q->write))
      conflict(w, lane, true, at, ACCESS_READ, copied ? "writes" : "wrote", q->write);
    else if (c->race && q->write && !copied && know_fenced(x, tid)[by] < q->write >> STAMP_SHIFT)
      report(w, lane, PTX_PROXY, at,
             "reads by the async proxy what a thread wrote, with no fence.proxy.async between");
    q->reads++;
    readers_of(c, q, x)[2 * w->index + 1] = clock;
  }
  return brought;
}

uint32_t check_brought(Exec *x, int cta, uint64_t address, size_t size) {
  size_t n;
  const Cell *cell = shared_cell(&x->check, cta, address, &n, size);
  uint32_t all = 0;
  for (size_t b = 0; b < size; b++) all |= (uint32_t)cell[b * n / size].brought << b;
  return all;
}

void check_reads_done(Exec *x, int cta, uint64_t address, size_t size) {
  size_t n;
  Cell *cell = shared_cell(&x->check, cta, address, &n, size);
  for (size_t i = 0; i < n; i++) cell[i].reads--;
}

void check_mbarrier(Exec *x, int cta, uint64_t address, unsigned number) {
  size_t n;
  Cell *cell = shared_cell(&x->check, cta, address, &n, 8);
  for (size_t i = 0; i < n; i++) {
    cell[i].mbarrier = (uint8_t)number;
    cell[i].valid = false;
  }
}

/* ---- global ---- */
static Page *page_slot(Page *pages, size_t cap, uint64_t base) {
  size_t h = (size_t)((base / PAGE_BYTES * 0x9E3779B97F4A7C15u) >> 20) & (cap - 1);
  while (pages[h].cells && pages[h].base != base) h = (h + 1) & (cap - 1);
  return &pages[h];
}

static GlobalCell *page_cells(Exec *x, uint64_t base) {
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

static void *grown(Exec *x, void *at, size_t n, size_t *cap, size_t item) {
  if (n < *cap) return at;
  *cap = *cap ? 2 * *cap : 8;
  void *p = *cap > (size_t)1 << 24 ? NULL : realloc(at, *cap * item);
  if (!p) give_up(x, "out of memory for fences and atomics");
  return p;
}

/* An atomic after a fence tells what the thread knew at the fence; any atomic may learn what was
 * told at its address, by the thread's next fence. */
static void release_acquire(Exec *x, unsigned tid, uint64_t address) {
  Check *c = &x->check;
  uint32_t fence = c->fence_of[tid];
  size_t i = 0;
  while (i < c->nreleases && c->releases[i].address != address) i++;
  if (i == c->nreleases) {
    if (!fence) return;
    c->releases = grown(x, c->releases, c->nreleases, &c->releases_cap, sizeof *c->releases);
    c->releases[c->nreleases++] = (Release){.address = address};
  }
  Release *r = &c->releases[i];
  if (r->n) {
    c->pending = grown(x, c->pending, c->npending, &c->pending_cap, sizeof *c->pending);
    c->pending[c->npending++] = (Pending){tid, i, r->n};
  }
  if (!fence) return;
  r->at = grown(x, r->at, r->n, &r->cap, sizeof *r->at);
  r->at[r->n++] = (Known){fence - 1, tid};
  c->fences[fence - 1].told = true;
}

static void learn(Exec *x, Fence *f, size_t *cap, Known k, uint32_t by) {
  if (++x->check.facts > (size_t)1 << 26) give_up(x, "too much is told by fences and atomics");
  f->learned = grown(x, f->learned, f->nlearned, cap, sizeof *f->learned);
  f->learned[f->nlearned++] = (Learned){k, by};
}

void check_fence(Warp *w, uint32_t mask) {
  Exec *x = w->x;
  Check *c = &x->check;
  if (!c->race) return;
  Stamp here = w->seen[w->index] << STAMP_SHIFT;
  size_t kept = 0;
  for (size_t i = 0; i < c->npending; i++) {
    Pending p = c->pending[i];
    if ((int)p.tid / LANES != w->index || !(mask >> (p.tid % LANES) & 1)) {
      c->pending[kept++] = p;
      continue;
    }
    for (size_t n = 0; n < p.n; n++) {
      c->acquired = grown(x, c->acquired, c->nacquired, &c->acquired_cap, sizeof *c->acquired);
      c->acquired[c->nacquired++] = (Acquired){c->releases[p.release].at[n], p.tid, here | p.tid};
    }
  }
  c->npending = kept;
  c->fences = grown(x, c->fences, c->nfences, &c->fences_cap, sizeof *c->fences);
  Fence *f = &c->fences[c->nfences++];
  *f = (Fence){
      .cta = x->cluster_index + 1, .phase = c->phase, .warp = w->index, .synced = w->synced};
  f->seen = malloc((size_t)x->nwarps * sizeof *f->seen);
  if (!f->seen) give_up(x, "out of memory for fences and atomics");
  memcpy(f->seen, w->seen, (size_t)x->nwarps * sizeof *f->seen);
  size_t cap = 0;
  for (size_t i = 0; i < c->nacquired; i++) {
    const Acquired *a = &c->acquired[i];
    int warp = (int)a->tid / LANES;
    bool own = warp == w->index && mask >> (a->tid % LANES) & 1;
    uint32_t clock = a->at >> STAMP_SHIFT;
    bool all = warp == w->index ? clock < w->synced : clock <= w->seen[warp];
    if (!all && !own) continue;
    uint32_t by = all ? ANY_THREAD : a->tid;
    learn(x, f, &cap, a->known, by);
    const Fence *from = &c->fences[a->known.fence];
    for (size_t n = 0; n < from->nlearned; n++)
      if (from->learned[n].by == ANY_THREAD || from->learned[n].by == a->known.tid)
        learn(x, f, &cap, from->learned[n].known, by);
  }
  FOR_LANES(l, mask) c->fence_of[(uint32_t)w->index * LANES + l] = (uint32_t)c->nfences;
  c->phase++;
}

/* Notes the first access of all to a cell, which cannot race; false: it is not that. */
static bool first_access(const Warp *w, int lane, GlobalCell *g, int access) {
  const Exec *x = w->x;
  Stamp now = w->seen[w->index] << STAMP_SHIFT | (unsigned)(w->index * LANES + lane);
  if (g->c.write || g->read_cta || access == ACCESS_ATOMIC || x->agent) return false;
  if (access == ACCESS_READ) {
    g->c.read[0] = now;
    g->read_cta = x->cluster_index + 1;
    g->read_phase = x->check.phase;
  } else {
    g->c.write = now;
    g->write_cta = x->cluster_index + 1;
    g->write_phase = x->check.phase;
  }
  return true;
}

void check_global(Warp *w, int lane, uint64_t address, size_t size, int access, bool same) {
  Check *c = &w->x->check;
  if (access == ACCESS_ATOMIC) release_acquire(w->x, (unsigned)(w->index * LANES + lane), address);
  const uint64_t granule = c->global_granule, end = address + size;
  for (uint64_t a = address & ~(granule - 1); a < end; a += granule) {
    uint64_t base = a & ~(uint64_t)(PAGE_BYTES - 1);
    GlobalCell *cell = page_cells(w->x, base) + (a - base) / granule;
    if (w->x->read_only && cell->c.write)
      report(w, lane, PTX_READ_ONLY, a, "reads by the read-only path what this launch has written");
    if (access != ACCESS_READ && !same && cell->c.read_only)
      report(w, lane, PTX_READ_ONLY, a, "writes what this launch has read by the read-only path");
    cell->c.read_only |= w->x->read_only;
    if (!first_access(w, lane, cell, access)) cell_access(w, lane, &cell->c, cell, a, access, same);
  }
}
