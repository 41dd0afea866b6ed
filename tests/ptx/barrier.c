/* CTA barriers: who waits, who is missing, and what becomes ordered.
 * Called when no warp can run. A barrier without a count needs every thread that has not exited;
 * all of them must stand at the same instruction. Releasing joins the clocks of the warps that took
 * part with all their lanes; a barrier that a part of a warp reaches orders nothing of that warp.
 */
#include "exec.h"

void barrier_start(Exec *x) {
  for (int b = 0; b < BARRIERS * x->nctas; b++) {
    Barrier *at = &x->ctas[b / BARRIERS].barrier[b % BARRIERS];
    at->arrived = 0;
    memset(at->clock, 0, (size_t)x->nwarps * sizeof(uint32_t));
    if (at->know) memset(at->know, 0, 2 * x->nknown * sizeof *at->know);
  }
}

/* The warps of a CTA: n from first_warp(x, cta) on, and below last_warp(x, cta). */
static int first_warp(const Exec *x, int cta) { return cta * x->cta_warps; }
static int last_warp(const Exec *x, int cta) { return (cta + 1) * x->cta_warps; }

static unsigned barrier_id(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *o = &i->opd[i->ndst];
  w->at = i;
  need_defined(w, o, mask, "a barrier's number");
  uint64_t id = lane_bits(w, o, __builtin_ctz(mask));
  if (id >= BARRIERS)
    give_up(w->x, "line %d: there is no barrier %llu", i->line, (unsigned long long)id);
  return (unsigned)id;
}

/* 0: every live thread. */
static unsigned barrier_count(const Warp *w, const Ins *i, uint32_t mask) {
  const Opd *o = &i->opd[i->ndst + 1];
  return o->cls == SLOT_NONE ? 0 : (unsigned)lane_bits(w, o, __builtin_ctz(mask));
}

void barrier_arrive(Warp *w, const Ins *i, uint32_t mask) {
  Barrier *b = &w->x->ctas[w->cta].barrier[barrier_id(w, i, mask)];
  b->arrived += (unsigned)__builtin_popcount(mask);
  if (b->know) know_release(w, mask, b->know);
  if (mask != w->live) return; /* of a part of a warp nothing is known to be done */
  for (int n = 0; n < w->x->nwarps; n++)
    if (w->seen[n] > b->clock[n]) b->clock[n] = w->seen[n];
  w->seen[w->index] = check_tick(w->x); /* what this warp does from here on is not part of it */
}

typedef struct Waiting {
  unsigned threads, count; /* that wait; that are asked for */
  Warp *first;
  const Ins *at; /* where the first one waits */
  Warp *other;   /* one that waits elsewhere */
  const Ins *other_at;
  uint32_t other_mask, first_mask;
} Waiting;

static void reduce(Exec *x, int cta, unsigned id, unsigned threads) {
  unsigned votes = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int n = first_warp(x, cta); n < last_warp(x, cta); n++) {
      Warp *w = &x->warps[n];
      for (int g = 0; g < w->ngroups; g++) {
        Group *q = &w->group[g];
        const Ins *i = &x->k->ins[q->pc];
        if (q->wait != WAIT_BARRIER || i->mode != 1 || barrier_id(w, i, q->mask) != id) continue;
        const Opd *p = &i->opd[i->ndst + 2];
        if (!pass) {
          votes += (unsigned)__builtin_popcount(pred_lanes(w, p) & q->mask);
          continue;
        }
        opd_define(w, &i->opd[0], q->mask, opd_defined(w, p));
        if (i->mode2 == 0) { /* popc */
          FOR_LANES(l, q->mask) lane_set(w, &i->opd[0], (int)l, votes);
        } else {
          bool yes = i->mode2 == 1 ? votes == threads : votes > 0;
          uint32_t *d = slot_pred(w, &i->opd[0]);
          *d = (*d & ~q->mask) | (yes ? q->mask : 0);
        }
      }
    }
}

/* Threads that wait tell what they know, also those of a part of a warp. */
static void tell(Exec *x, int cta, unsigned id) {
  uint32_t *know = x->ctas[cta].barrier[id].know;
  for (int n = first_warp(x, cta); know && n < last_warp(x, cta); n++) {
    Warp *w = &x->warps[n];
    for (int g = 0; g < w->ngroups; g++) {
      const Group *q = &w->group[g];
      if (q->wait == WAIT_BARRIER && barrier_id(w, &x->k->ins[q->pc], q->mask) == id)
        know_gather(w, q->mask, know);
    }
  }
}

static void release(Exec *x, int cta, unsigned id) {
  uint32_t join[CLUSTER_WARPS] = {0};
  Barrier *b = &x->ctas[cta].barrier[id];
  tell(x, cta, id);
  uint32_t now = check_tick(x);
  bool in[CLUSTER_WARPS] = {false};    /* warps of which all lanes that have not exited take part */
  bool whole[CLUSTER_WARPS] = {false}; /* ... and none has exited */
  for (int n = first_warp(x, cta); n < last_warp(x, cta); n++) {
    Warp *w = &x->warps[n];
    uint32_t lanes = 0;
    for (int g = 0; g < w->ngroups; g++) {
      Group *q = &w->group[g];
      if (q->wait == WAIT_BARRIER && barrier_id(w, &x->k->ins[q->pc], q->mask) == id)
        lanes |= q->mask;
    }
    in[n] = lanes && lanes == w->live;
    whole[n] = lanes == w->started;
    for (int o = 0; in[n] && o < x->nwarps; o++)
      if (o != n && w->seen[o] > join[o]) join[o] = w->seen[o];
    /* all that it has done; of lanes that have exited, before they last synchronised */
    uint32_t own = (whole[n] ? now : w->synced) - 1;
    if (in[n] && own > join[n]) join[n] = own;
    if (b->clock[n] > join[n]) join[n] = b->clock[n];
  }
  for (int n = first_warp(x, cta); n < last_warp(x, cta); n++) {
    Warp *w = &x->warps[n];
    for (int g = 0; g < w->ngroups; g++) {
      Group *q = &w->group[g];
      if (q->wait != WAIT_BARRIER || barrier_id(w, &x->k->ins[q->pc], q->mask) != id) continue;
      q->wait = WAIT_NOT;
      q->pc++;
      if (b->know) know_acquire(w, q->mask, b->know);
      if (b->know) w->seen[n] = now;
    }
    if (!in[n]) continue;
    for (int o = 0; o < x->nwarps; o++)
      if (join[o] > w->seen[o]) w->seen[o] = join[o];
    w->seen[n] = now;
    if (whole[n]) w->synced = now;
  }
  b->arrived = 0;
  memset(b->clock, 0, (size_t)x->nwarps * sizeof(uint32_t));
  if (b->know) memset(b->know, 0, 2 * x->nknown * sizeof *b->know);
}

static Waiting look(Exec *x, int cta, unsigned id) {
  Waiting r = {.threads = x->ctas[cta].barrier[id].arrived};
  for (int n = first_warp(x, cta); n < last_warp(x, cta); n++) {
    Warp *w = &x->warps[n];
    for (int g = 0; g < w->ngroups; g++) {
      Group *q = &w->group[g];
      const Ins *i = &x->k->ins[q->pc];
      if (q->wait != WAIT_BARRIER || barrier_id(w, i, q->mask) != id) continue;
      r.threads += (unsigned)__builtin_popcount(q->mask);
      if (!r.first) {
        r.first = w;
        r.first_mask = q->mask;
        r.at = i;
        r.count = barrier_count(w, i, q->mask);
      } else if (i != r.at && !r.other) {
        r.other = w;
        r.other_mask = q->mask;
        r.other_at = i;
      }
    }
  }
  return r;
}

static unsigned live_threads(const Exec *x, int cta) {
  unsigned live = 0;
  for (int n = first_warp(x, cta); n < last_warp(x, cta); n++)
    live += (unsigned)__builtin_popcount(x->warps[n].live);
  return live;
}

void barrier_stuck(Exec *x) {
  for (int n = 0; n < x->nwarps; n++) {
    Warp *w = &x->warps[n];
    for (int g = 0; g < w->ngroups; g++) {
      Group *q = &w->group[g];
      w->at = &x->k->ins[q->pc];
      int lane = __builtin_ctz(q->mask);
      if (q->wait == WAIT_WARP) {
        report(w, lane, PTX_WARP_SYNC, q->need,
               "waits for lanes %08x of its warp, which never come",
               (unsigned)(q->need & w->live & ~q->mask));
      } else if (q->wait == WAIT_PROGRESS) {
        wait_stuck(w, lane);
      } else {
        Waiting r = look(x, w->cta, barrier_id(w, w->at, q->mask));
        report(w, lane, PTX_BARRIER, 0, "waits at a barrier that %u threads reach; %u are needed",
               r.threads, r.count ? r.count : live_threads(x, w->cta));
      }
    }
  }
}

static bool release_cta(Exec *x, int cta) {
  unsigned live = live_threads(x, cta);
  bool any = false;
  for (unsigned id = 0; id < BARRIERS; id++) {
    Waiting r = look(x, cta, id);
    if (!r.first || r.threads < (r.count ? r.count : live)) continue;
    if (r.other && !r.count) {
      r.other->at = r.other_at;
      report(r.other, __builtin_ctz(r.other_mask), PTX_BARRIER, 0,
             "waits here while others wait at the barrier of line %d", r.at->line);
    }
    reduce(x, cta, id, r.threads);
    release(x, cta, id);
    any = true;
  }
  return any;
}

bool barrier_release(Exec *x) {
  bool any = false;
  for (int cta = 0; cta < x->nctas; cta++) any |= release_cta(x, cta);
  return any;
}
