/* A launch: checks the request, sets up one CTA after the other, and takes turns among its warps.
 * Order 0 runs CTAs and warps as numbered, 1 backwards, any other shuffled, a warp a random while
 * at a time. CTAs run one after another: a kernel whose CTAs wait for each other meets the step
 * limit. */
#include "alu.h"
#include "exec.h"
#include <stdio.h>
#include <stdlib.h>

static uint64_t next_random(Exec *x) { /* xorshift64* */
  x->rng ^= x->rng >> 12;
  x->rng ^= x->rng << 25;
  x->rng ^= x->rng >> 27;
  return x->rng * 0x2545F4914F6CDD1Du;
}

/* ---- a CTA's registers ---- */
static void set_all(Warp *w, const Opd *o, uint64_t bits) {
  for (int l = 0; l < LANES; l++) lane_set(w, o, l, bits);
  if (o->cls == SLOT_PRED) *slot_pred(w, o) = bits ? ~0u : 0;
  opd_define(w, o, ~0u, ~0u);
}

/* t: the thread of the lane in its CTA */
static uint64_t special_value(const Exec *x, int special, const Warp *w, unsigned lane,
                              const unsigned t[3]) {
  unsigned warp = (unsigned)(w->index - w->cta * x->cta_warps);
  const PtxLaunch *l = x->l;
  const unsigned *c = x->k->cluster, *id = x->ctas[w->cta].id;
  switch (special) {
  case SPECIAL_TID_X: return t[0];
  case SPECIAL_TID_Y: return t[1];
  case SPECIAL_TID_Z: return t[2];
  case SPECIAL_NTID_X: return l->block[0];
  case SPECIAL_NTID_Y: return l->block[1];
  case SPECIAL_NTID_Z: return l->block[2];
  case SPECIAL_CTAID_X: return id[0];
  case SPECIAL_CTAID_Y: return id[1];
  case SPECIAL_CTAID_Z: return id[2];
  case SPECIAL_NCTAID_X: return l->grid[0];
  case SPECIAL_NCTAID_Y: return l->grid[1];
  case SPECIAL_NCTAID_Z: return l->grid[2];
  case SPECIAL_LANEID: return lane;
  case SPECIAL_WARPID: return warp;
  case SPECIAL_NWARPID: return (unsigned)x->cta_warps;
  case SPECIAL_LANEMASK_EQ: return 1u << lane;
  case SPECIAL_LANEMASK_LT: return (1u << lane) - 1;
  case SPECIAL_LANEMASK_LE: return (2u << lane) - 1;
  case SPECIAL_LANEMASK_GT: return ~((2u << lane) - 1);
  case SPECIAL_LANEMASK_GE: return ~((1u << lane) - 1);
  case SPECIAL_CLUSTER_RANK: return (unsigned)w->cta;
  case SPECIAL_CLUSTER_NRANK: return (unsigned)x->nctas;
  case SPECIAL_CLUSTER_X: return id[0] % c[0];
  case SPECIAL_CLUSTER_Y: return id[1] % c[1];
  case SPECIAL_CLUSTER_Z: return id[2] % c[2];
  case SPECIAL_CLUSTER_NX: return c[0];
  case SPECIAL_CLUSTER_NY: return c[1];
  case SPECIAL_CLUSTER_NZ: return c[2];
  case SPECIAL_CLUSTERID_X: return id[0] / c[0];
  case SPECIAL_CLUSTERID_Y: return id[1] / c[1];
  case SPECIAL_CLUSTERID_Z: return id[2] / c[2];
  case SPECIAL_NCLUSTERID_X: return l->grid[0] / c[0];
  case SPECIAL_NCLUSTERID_Y: return l->grid[1] / c[1];
  case SPECIAL_NCLUSTERID_Z: return l->grid[2] / c[2];
  case SPECIAL_SMID: return (x->cluster_index * (unsigned)x->nctas + (unsigned)w->cta) % 132;
  case SPECIAL_NSMID: return 132;
  case SPECIAL_DYNAMIC_SMEM: return l->dynamic_shared;
  case SPECIAL_TOTAL_SMEM: return l->dynamic_shared + x->k->shared_used;
  default: return x->r->steps; /* the clocks */
  }
}

static void start_warp(Exec *x, Warp *w, unsigned first_thread) {
  const PtxKernel *k = x->k;
  unsigned left = x->threads - first_thread;
  memset(w->defined, 0, (k->nslots + 1) * sizeof *w->defined);
  for (size_t i = 0; i < k->nconsts; i++) opd_define(w, &k->consts[i].opd, ~0u, ~0u);
  unsigned t[3];
  thread_of(x, first_thread, t);
  for (unsigned l = 0; l < LANES; l++) {
    for (size_t i = 0; i < k->nspecials; i++)
      lane_set(w, &k->specials[i].opd, (int)l, special_value(x, k->specials[i].id, w, l, t));
    for (int d = 0; d < 3 && ++t[d] == x->l->block[d]; d++) t[d] = 0; /* the next one */
  }
  for (size_t i = 0; i < k->nspecials; i++) opd_define(w, &k->specials[i].opd, ~0u, ~0u);
  memset(w->seen, 0, (size_t)x->nwarps * sizeof *w->seen);
  w->seen[w->index] = w->synced = x->clock;
  wgmma_cta(w);
  local_cta(w);
  w->grid_waited = k->grid_control ? 0 : ~0u;
  warp_start(w, left >= LANES ? ~0u : (1u << left) - 1);
}

static void wake_all(const Exec *x, WarpState *state) {
  for (int n = 0; n < x->nwarps; n++)
    if (state[n] == WARP_BLOCKED) state[n] = WARP_PAUSED;
}

/* The grid behind waits for the end of this one alone: if that came before the end of the grids in
   front, nobody would wait for those. */
static void grid_end(Exec *x) {
  for (int n = 0; n < x->nwarps; n++)
    if (!x->warps[n].grid_waited)
      report(&x->warps[n], 0, PTX_GRID, 0, "ends without griddepcontrol.wait");
}

static void run_cluster(Exec *x) {
  x->clock = 1;
  check_cta(x);
  know_cluster(x);
  mbarrier_cluster(x);
  bulk_cluster(x);
  barrier_start(x);
  for (int c = 0; c < x->nctas; c++) { /* what nobody wrote is a NaN */
    memset(x->ctas[c].shared_static, 0xff, x->k->shared);
    memset(x->ctas[c].shared_dynamic, 0xff, x->l->dynamic_shared);
  }
  for (int n = 0; n < x->nwarps; n++)
    start_warp(x, &x->warps[n], (unsigned)(n % x->cta_warps * LANES));
  bool shuffled = x->l->order > 1;
  WarpState state[CLUSTER_WARPS] = {WARP_DONE};
  uint32_t progress = x->progress;
  for (int n = 0; n < x->nwarps; n++) state[n] = WARP_PAUSED;
  for (;;) {
    int ready = 0, done = 0;
    int from = shuffled ? (int)(next_random(x) % (unsigned)x->nwarps) : 0;
    for (int n = 0; n < x->nwarps; n++) {
      int i = x->l->order == 1 ? x->nwarps - 1 - n : (n + from) % x->nwarps;
      if (state[i] != WARP_PAUSED) continue;
      state[i] = warp_run(&x->warps[i], shuffled ? 1 + next_random(x) % 96 : UINT64_MAX);
      ready += state[i] == WARP_PAUSED;
    }
    if (shuffled && x->nbulk && next_random(x) % 8 == 0) bulk_land(x, next_random(x) % x->nbulk);
    if (progress != x->progress) wake_all(x, state);
    if (ready || progress != x->progress) {
      progress = x->progress;
      continue;
    }
    for (int n = 0; n < x->nwarps; n++) done += state[n] == WARP_DONE;
    if (done == x->nwarps) break;
    size_t late = x->l->order && x->nbulk ? next_random(x) % x->nbulk : 0;
    if (!barrier_release(x) && !bulk_land(x, late) && !bulk_land(x, 0)) {
      barrier_stuck(x);
      longjmp(x->stop, 1);
    }
    wake_all(x, state);
  }
  bulk_end(x);
  wgmma_end(x);
  grid_end(x);
}

/* ---- the grid ---- */
static uint64_t shuffle_cta(uint64_t i, uint64_t n, uint64_t seed) {
  /* A step that is prime to n visits all of them. */
  uint64_t step = (seed * 2654435761u) % n | 1;
  for (;; step += 2) {
    uint64_t a = step % n, b = n;
    while (a) {
      uint64_t t = b % a;
      b = a;
      a = t;
    }
    if (b == 1) break;
  }
  return (uint64_t)((unsigned __int128)i * step % n + seed) % n;
}

static void run_grid(Exec *x) {
  const unsigned *k = x->k->cluster;
  const unsigned g[3] = {x->l->grid[0] / k[0], x->l->grid[1] / k[1], x->l->grid[2] / k[2]};
  uint64_t all = (uint64_t)g[0] * g[1] * g[2], some = x->l->some / (unsigned)x->nctas;
  uint64_t n = some && some < all ? some : all;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t c = x->l->order == 0   ? i
                 : x->l->order == 1 ? n - 1 - i
                                    : shuffle_cta(i, n, x->l->order);
    if (n < all && x->l->ends)
      c += c < n / 2 ? 0 : all - n;
    else if (n < all)
      c = n > 1 ? c * (all - 1) / (n - 1) : 0;
    const unsigned at[3] = {(unsigned)(c % g[0]), (unsigned)(c / g[0] % g[1]),
                            (unsigned)(c / g[0] / g[1])};
    for (unsigned r = 0; r < (unsigned)x->nctas; r++) {
      const unsigned in[3] = {r % k[0], r / k[0] % k[1], r / k[0] / k[1]};
      for (int d = 0; d < 3; d++) x->ctas[r].id[d] = at[d] * k[d] + in[d];
    }
    x->cluster_index = (uint32_t)i;
    run_cluster(x);
  }
}

/* The most shared memory that a CTA can have, in bytes (CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"). An unknown architecture has as little as the least. */
static size_t shared_limit(int target) {
  static const struct {
    int from, to, kib;
  } rows[] = {{70, 72, 96}, {75, 75, 64},  {80, 80, 163},   {86, 86, 99},  {87, 87, 163},
              {89, 89, 99}, {90, 90, 227}, {100, 119, 227}, {120, 129, 99}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (target >= rows[i].from && target <= rows[i].to) return (size_t)rows[i].kib * 1024;
  return 48 * 1024;
}

static bool request_ok(const PtxKernel *k, const PtxLaunch *l, PtxResult *r) {
  uint64_t threads = 1, ctas = 1, cluster = 1;
  char *e = r->error;
  for (int i = 0; i < 3; i++) {
    static const unsigned most[3] = {1024, 1024, 64};
    if (!l->block[i] || l->block[i] > most[i] || !l->grid[i] ||
        l->grid[i] > (i ? 65535u : 0x7fffffffu)) {
      snprintf(e, sizeof r->error, "a dimension of the grid or the block is out of range");
      return false;
    }
    threads *= l->block[i];
    cluster *= k->cluster[i];
    if (l->grid[i] % k->cluster[i]) {
      snprintf(e, sizeof r->error, "the grid is not a multiple of the cluster");
      return false;
    }
    ctas *= l->grid[i];
    if (ctas > UINT32_MAX - 2) {
      snprintf(e, sizeof r->error, "more CTAs than can be told apart");
      return false;
    }
  }
  if (threads > k->max_threads)
    snprintf(e, sizeof r->error, "%llu threads a CTA; kernel '%s' allows %u",
             (unsigned long long)threads, k->name, k->max_threads);
  else if (l->params_size != k->params_size)
    snprintf(e, sizeof r->error, "%zu bytes of parameters; kernel '%s' takes %zu", l->params_size,
             k->name, k->params_size);
  else if (l->dynamic_shared + k->shared_used > shared_limit(k->module->target))
    snprintf(e, sizeof r->error, "%zu bytes of shared memory; on sm_%d a CTA can have %zu",
             l->dynamic_shared + k->shared_used, k->module->target,
             shared_limit(k->module->target));
  else if (cluster > CLUSTER_CTAS || cluster * ((threads + LANES - 1) / LANES) > CLUSTER_WARPS)
    snprintf(e, sizeof r->error, "%llu CTAs of %llu threads: a cluster has at most %d and %d warps",
             (unsigned long long)cluster, (unsigned long long)threads, CLUSTER_CTAS, CLUSTER_WARPS);
  else if ((uint64_t)k->reg_bytes * ((threads + 31) / 32) > (uint64_t)1 << 30)
    snprintf(e, sizeof r->error, "kernel '%s' has too many registers", k->name);
  else
    return true;
  return false;
}

static bool make_warps(Exec *x) {
  const PtxKernel *k = x->k;
  x->warps = calloc((size_t)x->nwarps, sizeof *x->warps);
  if (!x->warps) return false;
  for (int n = 0; n < x->nwarps; n++) {
    Warp *w = &x->warps[n];
    w->x = x;
    w->index = n;
    w->cta = n / x->cta_warps;
    w->regs = aligned_alloc(64, (k->reg_bytes + 63) & ~63u);
    w->defined = calloc(k->nslots + 1, sizeof *w->defined);
    w->seen = calloc((size_t)x->nwarps, sizeof *w->seen);
    if (!w->regs || !w->defined || !w->seen || !local_start(w) || !wgmma_start(w)) return false;
    memset(w->regs, 0xff, k->reg_bytes);
    for (size_t i = 0; i < k->nconsts; i++) set_all(w, &k->consts[i].opd, k->consts[i].bits);
  }
  if (!know_start(x) || !mbarrier_start(x)) return false;
  for (int n = 0; n < x->nctas; n++) {
    Cta *c = &x->ctas[n];
    for (int b = 0; b < BARRIERS; b++) {
      c->barrier[b].clock = calloc((size_t)x->nwarps, sizeof(uint32_t));
      if (!c->barrier[b].clock) return false;
      if (x->know) c->barrier[b].know = know_new(x);
    }
    c->shared_static = aligned_alloc(128, (k->shared + 255) & ~(size_t)127);
    c->shared_dynamic = aligned_alloc(128, (x->l->dynamic_shared + 255) & ~(size_t)127);
    if (!c->shared_static || !c->shared_dynamic) return false;
  }
  return check_start(x, x->l->dynamic_shared);
}

static void free_all(Exec *x) {
  for (int n = 0; x->warps && n < x->nwarps; n++) {
    Warp *w = &x->warps[n];
    free(w->regs);
    free(w->defined);
    free(w->seen);
    local_free(w);
    free(w->copies);
    wgmma_free(w);
  }
  for (int n = 0; n < x->nctas; n++) {
    for (int b = 0; b < BARRIERS; b++) {
      free(x->ctas[n].barrier[b].clock);
      free(x->ctas[n].barrier[b].know);
    }
    free(x->ctas[n].shared_static);
    free(x->ctas[n].shared_dynamic);
  }
  mbarrier_free(x);
  know_free(x);
  bulk_free(x);
  free(x->warps);
  check_free(x);
  memory_free(x);
}

static void run_all(Exec *x) {
  if (setjmp(x->stop)) return;
  memory_start(x);
  if (!make_warps(x)) give_up(x, "out of memory for the launch");
  run_grid(x);
}

PtxStatus ptx_launch(const PtxKernel *k, const PtxLaunch *l, PtxResult *r) {
  *r = (PtxResult){0};
  if (!request_ok(k, l, r)) return PTX_REFUSED;
  Exec x = {.k = k, .l = l, .r = r, .params = l->params};
  x.threads = l->block[0] * l->block[1] * l->block[2];
  x.cta_warps = (int)((x.threads + LANES - 1) / LANES);
  x.nctas = (int)(k->cluster[0] * k->cluster[1] * k->cluster[2]);
  x.nwarps = x.cta_warps * x.nctas;
  x.max_steps = l->max_steps ? l->max_steps : (uint64_t)1 << 40;
  x.max_reports = l->max_reports ? l->max_reports : 64;
  x.rng = l->order * 0x9E3779B97F4A7C15u | 1;
  run_all(&x);
  free_all(&x);
  return r->count ? PTX_FOUND : r->error[0] ? PTX_REFUSED : PTX_OK;
}
