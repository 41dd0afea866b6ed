/* Virtual ranks: a data-parallel program in one process, an interpreter on a thread for each rank.
   Contract: the ranks of a group run one entry of one module, whose collectives all of them reach
   in the same order. A rank that ends early, with a fault, ends the others at their next
   collective. */
#include "ir/eval/interp.h"

#include <pthread.h>

typedef struct RankGroup {
  int n, here; /* ranks, and how many wait */
  uint64_t round;
  bool ended;           /* one of them runs no more */
  const Tensor **given; /* by rank, of the collective at hand */
  pthread_mutex_t lock;
  pthread_cond_t all;
} RankGroup;

/* A barrier that a rank which ended opens. False: one has. */
static bool wait_for_all(RankGroup *g) {
  pthread_mutex_lock(&g->lock);
  uint64_t round = g->round;
  if (++g->here == g->n) {
    g->here = 0;
    g->round++;
    pthread_cond_broadcast(&g->all);
  }
  while (g->round == round && !g->ended) pthread_cond_wait(&g->all, &g->lock);
  bool met = g->round != round;
  pthread_mutex_unlock(&g->lock);
  return met;
}

static void leave_for_good(RankGroup *g) {
  pthread_mutex_lock(&g->lock);
  g->ended = true;
  pthread_cond_broadcast(&g->all);
  pthread_mutex_unlock(&g->lock);
}

int ranks_of(const EvalCtx *c) { return c->it->group ? c->it->group->n : 1; }

/* A rank that is alone has a list of itself in its scratch. */
const Tensor *const *ranks_meet(EvalCtx *c, const Tensor *mine) {
  RankGroup *g = c->it->group;
  if (!g) {
    const Tensor **alone = ARENA_ARRAY(c->scratch, const Tensor *, 1);
    alone[0] = mine;
    return alone;
  }
  g->given[c->it->rank] = mine;
  if (wait_for_all(g)) return g->given;
  eval_fault(c, "another rank ended");
  return NULL;
}

/* Nobody gives a tensor to the next collective before all have read those of this one. */
void ranks_leave(EvalCtx *c) {
  if (c->it->group && !wait_for_all(c->it->group)) eval_fault(c, "another rank ended");
}

typedef struct RankRun {
  Interp *it;
  const Entry *e;
  const Tensor *inputs;
  Tensor *outputs;
  bool ok;
} RankRun;

static void *run_rank(void *arg) {
  RankRun *r = arg;
  r->ok = interp_run(r->it, r->e, r->inputs, r->outputs);
  if (!r->ok) leave_for_good(r->it->group);
  return NULL;
}

bool interp_run_ranks(Interp *const *it, int n, const Entry *e, const Tensor *const *inputs,
                      Tensor *const *outputs) {
  Arena *a = arena_new();
  RankGroup g = {.n = n, .given = ARENA_ARRAY(a, const Tensor *, n)};
  RankRun *run = ARENA_ARRAY(a, RankRun, n);
  pthread_t *thread = ARENA_ARRAY(a, pthread_t, n);
  bool ok = true;
  pthread_mutex_init(&g.lock, NULL);
  pthread_cond_init(&g.all, NULL);
  for (int r = 0; r < n; r++) {
    run[r] = (RankRun){it[r], e, inputs[r], outputs[r], false};
    it[r]->rank = r;
    it[r]->group = &g;
    if (pthread_create(&thread[r], NULL, run_rank, &run[r]) != 0)
      gc_bug(e->module->ctx, "no thread for rank %d", r);
  }
  for (int r = 0; r < n; r++) {
    pthread_join(thread[r], NULL);
    it[r]->group = NULL;
    ok &= run[r].ok;
  }
  pthread_cond_destroy(&g.all);
  pthread_mutex_destroy(&g.lock);
  arena_free(a);
  return ok;
}
