/* What single threads know to be over, where warps are too coarse: in kernels with mbarriers, bulk
 * copies, wgmma or clusters. A thread's knowledge says of each agent how far its accesses are
 * ordered before now: of each thread of the cluster; of each warp for its wgmma and its bulk
 * copies' reads; of each mbarrier for the copies that arrive there. A second row says how far
 * writes of threads are also before a proxy fence on the way here, so that the async proxy sees
 * them. Knowledge moves at barriers, mbarriers and bar.warp.sync; check.c asks for it where the
 * clocks of warps do not order two accesses. */
#include "exec.h"
#include <stdlib.h>

bool know_start(Exec *x) {
  if (!x->k->async) return true;
  x->nknown = (size_t)x->nwarps * (LANES + 1) + MBARRIERS;
  x->know = calloc((size_t)x->nwarps * LANES + 1, 2 * x->nknown * sizeof *x->know);
  return x->know != NULL;
}

void know_cluster(Exec *x) {
  if (x->know) memset(x->know, 0, (size_t)x->nwarps * LANES * 2 * x->nknown * sizeof *x->know);
}

void know_free(Exec *x) { free(x->know); }

uint32_t *know_new(Exec *x) {
  uint32_t *v = calloc(2 * x->nknown + 1, sizeof *v);
  if (!v) give_up(x, "out of memory for what threads know");
  return v;
}

static void join(uint32_t *into, const uint32_t *from, size_t n) {
  for (size_t i = 0; i < n; i++) into[i] = from[i] > into[i] ? from[i] : into[i];
}

/* Of all that the warp's clocks say, as one row: lanes of the mask have done all until now. */
static void of_warp(const Warp *w, uint32_t mask, uint32_t *into) {
  for (int n = 0; n < w->x->nwarps; n++)
    for (int l = 0; l < LANES; l++) {
      bool own = n == w->index;
      uint32_t c = !own ? w->seen[n] : mask >> l & 1 ? w->seen[n] : w->synced - 1;
      uint32_t *at = &into[n * LANES + l];
      *at = c > *at ? c : *at;
    }
}

void know_gather(const Warp *w, uint32_t mask, uint32_t *into) {
  of_warp(w, mask, into);
  FOR_LANES(l, mask) join(into, know_seen(w->x, w->index * LANES + l), 2 * w->x->nknown);
}

void know_acquire(const Warp *w, uint32_t mask, const uint32_t *from) {
  FOR_LANES(l, mask) join(know_seen(w->x, w->index * LANES + l), from, 2 * w->x->nknown);
}

void know_release(Warp *w, uint32_t mask, uint32_t *into) {
  know_gather(w, mask, into);
  w->seen[w->index] = check_tick(w->x); /* what follows is not part of it */
}

void know_sync(Warp *w, uint32_t mask) {
  if (!w->x->know) return;
  uint32_t *all = know_new(w->x);
  know_release(w, mask, all);
  know_acquire(w, mask, all);
  free(all);
}

/* fence.proxy.async: what a lane knows now the async proxy sees, if it is told by this lane. */
void know_fence(Warp *w, uint32_t mask) {
  Exec *x = w->x;
  FOR_LANES(l, mask) {
    unsigned tid = (unsigned)w->index * LANES + l;
    of_warp(w, 1u << l, know_fenced(x, tid));
    join(know_fenced(x, tid), know_seen(x, tid), x->nknown);
  }
  w->seen[w->index] = check_tick(x);
}

void know_agent(const Warp *w, uint32_t mask, unsigned agent, uint32_t clock) {
  FOR_LANES(l, mask) {
    uint32_t *at = &know_seen(w->x, (unsigned)w->index * LANES + l)[agent];
    *at = clock > *at ? clock : *at;
  }
}
