/* Shares as counters: see claim.h. A step counts in one of two places, and clears the other, which
   nobody reads before the barrier behind it. */
#include "runtime/exec/claim.h"

void claims_clear(Claims *all, int n) {
  for (int t = 0; t < n; t++) atomic_store_explicit(&all[t].taken[0], 0, memory_order_relaxed);
}

/* Read first: who finds nothing leaves the line to its owner. */
static bool take(_Atomic int *taken, int *part) {
  if (atomic_load_explicit(taken, memory_order_relaxed) >= CLAIM_PARTS) return false;
  *part = atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
  return *part < CLAIM_PARTS;
}

void claim_step(Claimant *c, ClaimRun *run, const void *arg) {
  const int turn = c->turn, nt = c->nt;
  c->turn = !turn;
  atomic_store_explicit(&c->all[c->t].taken[!turn], 0, memory_order_relaxed);
  for (int i = 0, part; i < nt; i++) {
    const int of = c->t + i < nt ? c->t + i : c->t + i - nt;
    while (take(&c->all[of].taken[turn], &part))
      run(arg, of * CLAIM_PARTS + part, nt * CLAIM_PARTS);
  }
}
