/* mbarriers: phases that end when enough threads have arrived and all expected bytes have.
 * They are kept beside shared memory, whose bytes nobody else may touch then. A wait for a phase
 * that has not ended makes the threads wait for progress of any kind; in orders other than 0 it is
 * answered with false first, every other time, as the hardware may at any time. Arriving tells what
 * a thread knows, waiting learns it (order.c), unless the form is .relaxed. */
#include "exec.h"
#include "exec_ops.h"
#include <stdlib.h>

typedef struct Mbarrier {
  int cta;
  uint64_t address;
  bool live, fenced;       /* not invalidated; a fence followed the initialisation */
  uint32_t count, pending; /* arrivals of each phase; still to come in this one */
  int64_t bytes;           /* expected and not arrived; below 0: arrived and not expected yet */
  uint32_t phase;
  uint32_t *now, *done; /* told in this phase and before; in phases before */
  Stamp made;
} Mbarrier;
enum { BYTES_MAX = (1 << 20) - 1, COUNT_MAX = (1 << 20) - 1 };

bool mbarrier_start(Exec *x) {
  if (!x->k->async) return true;
  x->mbarriers = calloc(MBARRIERS, sizeof *x->mbarriers);
  x->cluster.now = know_new(x);
  x->cluster.done = know_new(x);
  return x->mbarriers != NULL;
}

void mbarrier_cluster(Exec *x) {
  if (!x->know) return;
  for (int i = 0; i < x->nmbarriers; i++) {
    free(x->mbarriers[i].now);
    free(x->mbarriers[i].done);
  }
  x->nmbarriers = 0;
  x->cluster.phase = x->cluster.arrived = 0;
  memset(x->cluster.now, 0, 2 * x->nknown * sizeof(uint32_t));
  memset(x->cluster.done, 0, 2 * x->nknown * sizeof(uint32_t));
}

void mbarrier_free(Exec *x) {
  if (x->mbarriers && x->know) mbarrier_cluster(x);
  free(x->mbarriers);
  free(x->cluster.now);
  free(x->cluster.done);
}

static int find(const Exec *x, int cta, uint64_t address) {
  for (int i = 0; i < x->nmbarriers; i++)
    if (x->mbarriers[i].cta == cta && x->mbarriers[i].address == address) return i;
  return -1;
}

bool mbarrier_known(const Warp *w, int lane, int number) {
  return check_before(w, (unsigned)(w->index * LANES + lane), w->x->mbarriers[number].made);
}

/* Reports what is wrong with it. */
int mbarrier_number(Warp *w, int lane, uint64_t address, int *cta) {
  if (address & 7) {
    report(w, lane, PTX_ALIGN, address, "an mbarrier at an address that is not a multiple of 8");
    return -1;
  }
  if (!memory_shared(w, lane, &address, 8, cta)) return -1;
  int n = find(w->x, *cta, address);
  if (n < 0 || !w->x->mbarriers[n].live) {
    report(w, lane, PTX_MBARRIER, address, "no mbarrier is initialised here");
    return -1;
  }
  if (w->x->check.race && !mbarrier_known(w, lane, n))
    report(w, lane, PTX_MBARRIER, address,
           "uses an mbarrier whose initialisation by another thread it does not know of");
  return n;
}

static void end_phase(Exec *x, Mbarrier *b) {
  x->progress++;
  if (b->pending || b->bytes) return;
  b->phase++;
  b->pending = b->count;
  memcpy(b->done, b->now, 2 * x->nknown * sizeof *b->done);
}

void mbarrier_complete(Exec *x, int number, uint32_t bytes) {
  Mbarrier *b = &x->mbarriers[number];
  unsigned agent = agent_of_mbarrier(x, number);
  b->now[agent] = x->clock;
  b->bytes -= bytes;
  end_phase(x, b);
}

/* ---- instructions ---- */
static uint64_t address_of(Warp *w, const Ins *i, const Opd *o, int lane) {
  uint64_t a = lane_bits(w, o, lane) + (uint64_t)o->offset;
  if (i->space == SPACE_SHARED) return o->cls == SLOT_32 ? (uint32_t)a : a;
  if (a >> WINDOW_SHIFT != WINDOW_SHARED)
    report(w, lane, PTX_BOUNDS, a, "an mbarrier outside of shared memory");
  return a & (((uint64_t)1 << WINDOW_SHIFT) - 1);
}

static uint32_t count_of(Warp *w, const Ins *i, int at, uint32_t lane, uint32_t none) {
  return i->vec ? (uint32_t)lane_bits(w, &i->opd[at], (int)lane) : none;
}

static void make(Warp *w, int lane, uint64_t address, uint32_t count) {
  Exec *x = w->x;
  int cta;
  if (address & 7) report(w, lane, PTX_ALIGN, address, "an mbarrier not at a multiple of 8 bytes");
  if (!memory_shared(w, lane, &address, 8, &cta)) return;
  int n = find(x, cta, address);
  if (n >= 0 && x->mbarriers[n].live) {
    report(w, lane, PTX_MBARRIER, address, "initialises an mbarrier again, with no mbarrier.inval");
    return;
  }
  if (!count || count > COUNT_MAX)
    report(w, lane, PTX_MBARRIER, address, "an mbarrier for %u arrivals", count);
  check_shared(w, lane, cta, address, 8, ACCESS_WRITE, false);
  if (n < 0) {
    if (x->nmbarriers == MBARRIERS) give_up(x, "a cluster has more than %d mbarriers", MBARRIERS);
    n = x->nmbarriers++;
    x->mbarriers[n] = (Mbarrier){.now = know_new(x), .done = know_new(x)};
  }
  Mbarrier *b = &x->mbarriers[n];
  uint32_t clock = w->seen[w->index];
  *b = (Mbarrier){cta,
                  address,
                  true,
                  false,
                  count,
                  count,
                  0,
                  0,
                  b->now,
                  b->done,
                  clock << STAMP_SHIFT | (unsigned)(w->index * LANES + lane)};
  check_mbarrier(x, cta, address, (unsigned)n + 1);
}

void exec_mbarrier_init(Warp *w, const Ins *i, uint32_t mask) {
  need_defined(w, &i->opd[0], mask, "an address");
  need_defined(w, &i->opd[1], mask, "the count of an mbarrier");
  FOR_LANES(l, mask)
  make(w, (int)l, address_of(w, i, &i->opd[0], (int)l), (uint32_t)lane_bits(w, &i->opd[1], (int)l));
}

void exec_mbarrier_inval(Warp *w, const Ins *i, uint32_t mask) {
  FOR_LANES(l, mask) {
    int cta;
    int n = mbarrier_number(w, (int)l, address_of(w, i, &i->opd[0], (int)l), &cta);
    if (n < 0) continue;
    w->x->mbarriers[n].live = false;
    check_mbarrier(w->x, cta, w->x->mbarriers[n].address, 0);
  }
}

static void expect(Warp *w, int lane, Mbarrier *b, uint32_t bytes) {
  b->bytes += bytes;
  if (b->bytes > BYTES_MAX)
    report(w, lane, PTX_MBARRIER, b->address, "an mbarrier expects %lld bytes, more than it can",
           (long long)b->bytes);
}

static void arrive(Warp *w, const Ins *i, int lane, Mbarrier *b, uint32_t count) {
  if (!count || count > b->pending) {
    report(w, lane, PTX_MBARRIER, b->address,
           "%u arrive at an mbarrier that waits for %u arrivals in this phase", count, b->pending);
    count = b->pending;
  }
  if (!(i->mods & MBARRIER_RELAXED)) know_release(w, 1u << lane, b->now);
  b->pending -= count;
  if (i->mode == MBARRIER_DROP) b->count -= count;
  end_phase(w->x, b);
}

void exec_mbarrier(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *addr = &i->opd[i->ndst];
  int at = i->ndst + 1; /* the count or the bytes, if there is one */
  need_defined(w, addr, mask, "an address");
  if (i->vec) need_defined(w, &i->opd[at], mask, "the count of an mbarrier");
  FOR_LANES(l, mask) {
    int cta, n = mbarrier_number(w, (int)l, address_of(w, i, addr, (int)l), &cta);
    if (n < 0) continue;
    Mbarrier *b = &w->x->mbarriers[n];
    uint32_t value = count_of(w, i, at, l, 1);
    if (i->ndst) lane_set(w, &i->opd[0], (int)l, b->phase);
    switch ((MbarrierOp)i->mode) {
    case MBARRIER_EXPECT: expect(w, (int)l, b, value); break;
    case MBARRIER_COMPLETE:
      b->bytes -= value;
      end_phase(w->x, b);
      break;
    case MBARRIER_ARRIVE_EXPECT:
      expect(w, (int)l, b, value);
      arrive(w, i, (int)l, b, 1);
      break;
    case MBARRIER_ARRIVE:
    case MBARRIER_DROP: arrive(w, i, (int)l, b, value); break;
    }
  }
  if (i->ndst) opd_define(w, &i->opd[0], mask, ~0u);
}

/* mode: 1 by parity, else by the state of an arrival; parity p: has the phase of parity p ended? */
static bool ended(Warp *w, const Ins *i, uint32_t lane, const Mbarrier *b) {
  uint32_t of = (uint32_t)lane_bits(w, &i->opd[2], (int)lane);
  if (i->mode && of > 1) report(w, (int)lane, PTX_MBARRIER, b->address, "a parity of %u", of);
  return i->mode ? (b->phase & 1) != (of & 1) : b->phase != of;
}

bool wait_mbarrier(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *addr = &i->opd[1];
  uint32_t yes = 0;
  need_defined(w, addr, mask, "an address");
  need_defined(w, &i->opd[2], mask, "the phase of an mbarrier");
  FOR_LANES(l, mask) {
    int cta, n = mbarrier_number(w, (int)l, address_of(w, i, addr, (int)l), &cta);
    if (n >= 0 && !ended(w, i, l, &w->x->mbarriers[n])) continue;
    yes |= 1u << l;
    if (n >= 0 && !(i->mods & MBARRIER_RELAXED)) know_acquire(w, 1u << l, w->x->mbarriers[n].done);
  }
  bool answer = yes || (w->x->l->order && !(w->tries++ & 1));
  if (!answer) return false;
  uint32_t *d = slot_pred(w, &i->opd[0]);
  if (i->opd[0].cls != SLOT_NONE) *d = (*d & ~mask) | yes;
  opd_define(w, &i->opd[0], mask, ~0u);
  return true;
}

/* Also fence.proxy.async: the async proxy sees the initialisations that the lanes know. */
void exec_mbarrier_fence(Warp *w, const Ins *i, uint32_t mask) {
  Exec *x = w->x;
  for (int n = 0; n < x->nmbarriers; n++)
    FOR_LANES(l, mask) x->mbarriers[n].fenced |= mbarrier_known(w, (int)l, n);
}

void exec_proxy_fence(Warp *w, const Ins *i, uint32_t mask) {
  exec_mbarrier_fence(w, i, mask);
  know_fence(w, mask);
}

bool mbarrier_fenced(const Exec *x, int number) { return x->mbarriers[number].fenced; }

void mbarrier_stuck(Warp *w, const Ins *i, int lane) {
  int cta;
  int n = mbarrier_number(w, lane, address_of(w, i, &i->opd[1], lane), &cta);
  if (n < 0) return;
  const Mbarrier *b = &w->x->mbarriers[n];
  report(w, lane, PTX_MBARRIER, b->address,
         "waits for a phase that never ends: the mbarrier is in phase %u, %u arrivals and %lld "
         "bytes are missing",
         b->phase, b->pending, (long long)b->bytes);
}
