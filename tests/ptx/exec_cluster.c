/* Clusters of CTAs, and instructions of a whole warpgroup that are no products: barrier.cluster,
 * mapa, elect, setmaxnreg.
 * Registers: a CTA has as many as its threads got at its launch: the most that fit the SM by the
 * kernel's launch bounds, in units of 8. setmaxnreg.inc waits until enough are free. */
#include "exec.h"
#include "exec_ops.h"

bool cta_runs(const Exec *x, int cta) {
  uint32_t live = 0;
  for (int n = cta * x->cta_warps; n < (cta + 1) * x->cta_warps; n++) live |= x->warps[n].live;
  return live;
}

/* ---- barrier.cluster ---- */
static void end_phase(Exec *x) {
  struct ClusterBarrier *b = &x->cluster;
  unsigned live = 0;
  for (int n = 0; n < x->nwarps; n++) live += (unsigned)__builtin_popcount(x->warps[n].live);
  if (!b->arrived || b->arrived < live) return;
  b->phase++;
  b->arrived = 0;
  memcpy(b->done, b->now, 2 * x->nknown * sizeof *b->done);
  x->progress++;
}

void exec_cluster_arrive(Warp *w, const Ins *i, uint32_t mask) {
  Exec *x = w->x;
  FOR_LANES(l, mask) {
    if (w->cluster_due[l])
      report(w, (int)l, PTX_BARRIER, 0, "arrives at the cluster's barrier twice in a phase");
    w->cluster_due[l] = x->cluster.phase + 1;
  }
  if (!(i->mods & MBARRIER_RELAXED)) know_release(w, mask, x->cluster.now);
  x->cluster.arrived += (unsigned)__builtin_popcount(mask);
  end_phase(x);
}

bool wait_cluster(Warp *w, const Ins *i, uint32_t mask) {
  Exec *x = w->x;
  end_phase(x); /* others may have exited since */
  FOR_LANES(l, mask) {
    if (!w->cluster_due[l])
      report(w, (int)l, PTX_BARRIER, 0, "waits at the cluster's barrier without arriving first");
    if (w->cluster_due[l] > x->cluster.phase) return false;
  }
  memset(w->cluster_due, 0, sizeof w->cluster_due);
  know_acquire(w, mask, x->cluster.done);
  return true;
}

/* ---- addresses in other CTAs ---- */
void exec_mapa(Warp *w, const Ins *i, uint32_t mask) {
  FOR_LANES(l, mask) {
    uint64_t a = lane_bits(w, &i->opd[1], (int)l) + (uint64_t)i->opd[1].offset;
    uint64_t rank = lane_bits(w, &i->opd[2], (int)l);
    uint64_t old = (uint64_t)SHARED_RANKS << SHARED_RANK_SHIFT;
    if (rank >= (uint64_t)w->x->nctas)
      report(w, (int)l, PTX_CLUSTER, a, "maps an address to CTA %llu of a cluster of %d",
             (unsigned long long)rank, w->x->nctas);
    lane_set(w, &i->opd[0], (int)l, (a & ~old) | (rank + 1) << SHARED_RANK_SHIFT);
  }
}

/* The lowest lane of the member mask that is here leads. */
void exec_elect(Warp *w, const Ins *i, uint32_t mask) {
  uint32_t leader = mask & -mask;
  uint32_t *p = slot_pred(w, &i->opd[1]);
  if (i->opd[1].cls != SLOT_NONE) *p = (*p & ~mask) | leader;
  FOR_LANES(l, mask) lane_set(w, &i->opd[0], (int)l, (uint64_t)__builtin_ctz(leader));
}

/* ---- setmaxnreg ---- */
enum { SM_REGISTERS = 65536, THREAD_REGISTERS = 255 };
unsigned launch_registers(const Exec *x) {
  unsigned blocks = x->k->min_ctas ? x->k->min_ctas : 1;
  unsigned most = SM_REGISTERS / blocks / x->k->max_threads;
  most = most > THREAD_REGISTERS ? THREAD_REGISTERS : most;
  return x->k->max_registers && x->k->max_registers < most ? x->k->max_registers & ~7u : most & ~7u;
}

bool wait_registers(Warp *w, const Ins *i, uint32_t mask) {
  Exec *x = w->x;
  unsigned want = (unsigned)lane_bits(w, &i->opd[0], __builtin_ctz(mask)), used = 0;
  if (mask != w->live) report(w, __builtin_ctz(mask), PTX_WARP_SYNC, mask, "lanes are missing");
  if (!x->k->min_ctas && !x->k->max_registers)
    report(w, 0, PTX_REGISTERS, want, "setmaxnreg of a kernel with no .minnctapersm or .maxnreg");
  if (want < 24 || want > 256 || want & 7)
    report(w, 0, PTX_REGISTERS, want, "setmaxnreg to %u registers", want);
  if (i->mode ? want < w->registers : want > w->registers)
    report(w, 0, PTX_REGISTERS, want, "%s to %u of %u registers", i->mode ? "raises" : "lowers",
           want, w->registers);
  for (int n = w->cta * x->cta_warps; n < (w->cta + 1) * x->cta_warps; n++)
    if (&x->warps[n] != w) used += x->warps[n].registers;
  if (used + want > launch_registers(x) * (unsigned)x->cta_warps) return false;
  if (want < w->registers) x->progress++;
  w->registers = want;
  return true;
}

/* ---- why a group that waits for progress is stuck ---- */
void wait_stuck(Warp *w, int lane) {
  const Ins *i = w->at;
  if (i->wait == wait_mbarrier)
    mbarrier_stuck(w, i, lane);
  else if (i->wait == wait_cluster)
    report(w, lane, PTX_BARRIER, 0, "waits at a cluster's barrier that %u threads reach",
           w->x->cluster.arrived);
  else
    report(w, lane, PTX_REGISTERS, 0, "waits for registers that no warp gives up");
}
