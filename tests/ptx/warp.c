/* Runs the lanes of a warp in lockstep groups.
 * Lanes with the same program counter form a group; the group with the lowest one runs until it
 * meets another, so that branches rejoin at the first common instruction (the order of NVRTC's text
 * makes that the post-dominator). Warp-wide instructions wait for the lanes of their member mask,
 * as on hardware with independent threads; nothing assumes that lanes are together. */
#include "exec.h"

void warp_start(Warp *w, uint32_t live) {
  w->live = w->started = live;
  w->ngroups = live ? 1 : 0;
  w->group[0] = (Group){.mask = live};
  w->ncopies = 0;
  memset(w->copy_group, 0, sizeof w->copy_group);
  memset(w->bulk_group, 0, sizeof w->bulk_group);
  memset(w->cluster_due, 0, sizeof w->cluster_due);
  w->tries = 0;
  w->registers = launch_registers(w->x);
}

static void drop(Warp *w, int g) { w->group[g] = w->group[--w->ngroups]; }

/* Lanes that go their own way; a group never is empty, so 32 places are enough. */
static void split(Warp *w, int g, uint32_t mask, int pc) {
  w->group[g].mask &= ~mask;
  w->group[w->ngroups++] = (Group){.pc = pc, .mask = mask};
}

/* All that wait at one warp-wide instruction become one group. */
static void gather(Warp *w) {
  for (int i = 0; i < w->ngroups; i++) {
    if (w->group[i].wait != WAIT_WARP) continue;
    for (int j = w->ngroups - 1; j > i; j--)
      if (w->group[j].wait == WAIT_WARP && w->group[j].pc == w->group[i].pc) {
        w->group[i].mask |= w->group[j].mask;
        drop(w, j);
      }
  }
}

/* The group to run, after rejoining all that stand at its instruction; -1: none can run. */
static int lowest(Warp *w) {
  int best = -1;
  for (int i = 0; i < w->ngroups; i++)
    if (w->group[i].wait == WAIT_NOT && (best < 0 || w->group[i].pc < w->group[best].pc)) best = i;
  if (best < 0) return -1;
  for (int j = w->ngroups - 1; j > best;
       j--) /* none before it has its pc: the first one was taken */
    if (w->group[j].wait == WAIT_NOT && w->group[j].pc == w->group[best].pc) {
      w->group[best].mask |= w->group[j].mask;
      drop(w, j);
    }
  return best;
}

/* A waiting group whose missing lanes have all exited can go on. */
static bool wake(Warp *w) {
  bool any = false;
  gather(w);
  for (int i = 0; i < w->ngroups; i++) {
    Group *g = &w->group[i];
    if (g->wait == WAIT_WARP && !(g->need & w->live & ~g->mask)) {
      g->wait = WAIT_NOT;
      any = true;
    }
    if (g->wait == WAIT_PROGRESS && g->need != w->x->progress) {
      g->wait = WAIT_NOT;
      any = true;
    }
  }
  return any;
}

uint32_t warp_waiting(const Warp *w) {
  uint32_t lanes = 0;
  for (int i = 0; i < w->ngroups; i++)
    if (w->group[i].wait == WAIT_WARP) lanes |= w->group[i].mask;
  return lanes;
}

static uint32_t guarded(Warp *w, const Ins *i, uint32_t mask) {
  if (i->guard.cls == SLOT_NONE) return mask;
  need_defined(w, &i->guard, mask, i->flow == FLOW_BRANCH ? "a branch" : "a guard");
  return mask & pred_lanes(w, &i->guard);
}

/* The result is defined where all sources are, or their parts that count. */
static void run_plain(Warp *w, const Ins *i, uint32_t mask) {
  i->run(w, i, mask);
  if (i->own_init) return;
  Quarters all = {UINT64_MAX, UINT64_MAX};
  for (int n = i->ndst; n < i->nopd; n++) {
    const Quarters q = opd_quarters(w, &i->opd[n]);
    all.low &= q.low, all.high &= q.high;
  }
  const uint32_t ok = whole_lanes(all);
  if (i->parts && mask & ~ok)
    parts_define(w, i, mask);
  else
    for (int n = 0; n < i->ndst; n++) opd_define(w, &i->opd[n], mask, ok);
}

/* True when the instruction ran; else the lanes wait for others. */
static bool run_warp_wide(Warp *w, int g, const Ins *i, uint32_t mask) {
  uint32_t member = ~0u;
  if (i->member >= 0) {
    const Opd *o = &i->opd[i->member];
    need_defined(w, o, mask, "a member mask");
    member = (uint32_t)lane_bits(w, o, __builtin_ctz(mask));
    if (mask & ~member)
      report(w, __builtin_ctz(mask & ~member), PTX_WARP_SYNC, member,
             "a lane that is not in the member mask runs this");
  }
  w->group[g].need = member;
  if (member & w->live & ~mask) {
    w->group[g].wait = WAIT_WARP;
    return false;
  }
  run_plain(w, i, mask);
  return true;
}

/* Runs one group until it blocks, ends, or reaches where another group stands. */
static void run_group(Warp *w, int g, uint64_t *slice) {
  Exec *x = w->x;
  const PtxKernel *k = x->k;
  int meet = INT32_MAX;
  for (int j = 0; j < w->ngroups; j++)
    if (j != g && w->group[j].wait == WAIT_NOT && w->group[j].pc < meet) meet = w->group[j].pc;
  int pc = w->group[g].pc;
  uint32_t mask = w->group[g].mask;
  for (bool first = true; first || pc < meet; first = false) {
    if (!*slice) break;
    --*slice;
    if ((size_t)pc >= k->nins) { /* ran off the end: as ret */
      w->live &= ~mask;
      drop(w, g);
      return;
    }
    const Ins *i = &k->ins[pc];
    w->at = i;
    uint32_t m = guarded(w, i, mask);
    x->r->lane_steps += (unsigned)__builtin_popcount(m);
    if (++x->r->steps > x->max_steps) give_up(x, "line %d: the step limit is reached", i->line);
    w->group[g].pc = pc;
    if (m && k->wgmma) wgmma_watch(w, i, m);
    if (!m) {
      pc++;
      continue;
    }
    switch (i->flow) {
    case FLOW_PLAIN:
      run_plain(w, i, m);
      pc++;
      break;
    case FLOW_BRANCH:
      if (m != mask) {
        split(w, g, m, i->target);
        w->group[g].pc = pc + 1;
        return;
      }
      pc = i->target;
      break;
    case FLOW_EXIT:
      w->live &= ~m;
      if (m == mask) {
        drop(w, g);
        return;
      }
      w->group[g].mask = mask &= ~m;
      pc++;
      break;
    case FLOW_TRAP:
      report(w, __builtin_ctz(m), PTX_TRAP, 0, "the kernel trapped");
      give_up(x, "line %d: the kernel trapped", i->line);
    case FLOW_BARRIER:
    case FLOW_WARP:
    case FLOW_WAIT:
      if (m != mask) { /* those without the guard pass by */
        split(w, g, mask & ~m, pc + 1);
        mask = m;
        if (pc + 1 < meet) meet = pc + 1;
      }
      if (i->flow == FLOW_BARRIER && i->mode == 2) {
        barrier_arrive(w, i, m);
      } else if (i->flow == FLOW_BARRIER) {
        w->group[g].wait = WAIT_BARRIER;
        return;
      } else if (i->flow == FLOW_WAIT) {
        if (!i->wait(w, i, m)) {
          w->group[g].wait = WAIT_PROGRESS;
          w->group[g].need = x->progress;
          return;
        }
      } else if (!run_warp_wide(w, g, i, m)) {
        return;
      }
      pc++;
      break;
    }
  }
  w->group[g].pc = pc;
}

WarpState warp_run(Warp *w, uint64_t slice) {
  for (;;) {
    int g = lowest(w);
    if (g < 0) {
      if (!w->ngroups) return WARP_DONE;
      if (!wake(w)) return WARP_BLOCKED;
      continue;
    }
    if (!slice) return WARP_PAUSED;
    run_group(w, g, &slice);
    if (warp_waiting(w)) wake(w);
  }
}
