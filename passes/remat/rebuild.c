/* The state as it is before any move: made from a graph of steps and the ops that are recomputed,
   saved as a list of those, and restored. Contract: live bytes are exact, all steps are unsettled
   and then settled, and nothing is left to undo. */
#include "passes/remat/remat_impl.h"

RematState remat_state(Arena *a, const StepGraph *p) {
  RematState s = {.a = a, .p = p, .limit = INT32_MAX};
  int64_t sum = 0;
  int pairs = 0;
  for (int t = 0; t < p->nsteps; t++)
    if (p->step[t].npairs > pairs) pairs = p->step[t].npairs;
  s.taken = ARENA_ARRAY(a, bool, pairs + 1);
  s.use = ARENA_ARRAY(a, RematUses, p->nstorages + 1);
  s.again = ARENA_ARRAY(a, RematAgain, p->nsteps + 1);
  s.live = ARENA_ARRAY(a, int, p->nsteps + 1);
  s.block = ARENA_ARRAY(a, RematBlock, p->nsteps / REMAT_BLOCK + 1);
  s.within = ARENA_ARRAY(a, int, p->nsteps + 1);
  s.queue = ARENA_ARRAY(a, int, p->nsteps + 1);
  s.queued = ARENA_ARRAY(a, bool, p->nsteps + 1);
  s.left = ARENA_ARRAY(a, int, p->nstorages + 1);
  s.at = ARENA_ARRAY(a, int, p->nstorages + 1);
  s.mark = ARENA_ARRAY(a, int, p->nstorages + 1);
  for (int v = 0; v < p->nstorages; v++) sum += p->storage[v].size;
  s.tiny = p->nstorages ? (int)(sum / p->nstorages / 64) : 0;
  return s;
}

static void forget(RematState *s) {
  size_t n = (size_t)s->p->nsteps + 1;
  s->log.n = 0;
  s->nqueue = 0;
  s->excess = 0;
  s->cost = s->flops = 0;
  memset(s->queued, 0, n * sizeof *s->queued);
  memset(s->live, 0, n * sizeof *s->live);
  memset(s->within, 0, n * sizeof *s->within);
  for (int v = 0; v < s->p->nstorages; v++) s->use[v].n = 0;
}

static void build_uses(RematState *s, int step, const StepNode *o) {
  for (int k = 0; k < o->nin; k++) {
    RematUses *t = &s->use[o->in[k]];
    if (t->n && t->at[t->n - 1].step == step)
      t->at[t->n - 1].readers++;
    else
      vec_push(s->a, t, (RematUse){step, 1, true});
  }
  for (int k = 0; k < o->nout; k++) vec_push(s->a, &s->use[o->out[k]], (RematUse){step, 0, false});
}

/* A use without readers and without later uses is a result that is recomputed for nothing. */
static void drop_idle(RematUses *t) {
  for (uint32_t i = t->n; i-- > 1;) {
    if (t->at[i].readers || (i + 1 < t->n && t->at[i + 1].held)) continue;
    memmove(t->at + i, t->at + i + 1, sizeof *t->at * (t->n - 1 - i));
    t->n--;
  }
}

void remat_rebuild(RematState *s) {
  int n = s->p->nsteps;
  forget(s);
  s->work += n + s->p->nstorages;
  for (int step = 0; step < n; step++)
    for (int j = 0; j <= (int)s->again[step].n; j++) {
      const StepNode *o = remat_op_of(s, step, j);
      build_uses(s, step, o);
      if (j == (int)s->again[step].n) continue;
      s->cost += o->cost;
      s->flops += o->flops;
    }
  for (int v = 0; v < s->p->nstorages; v++) {
    RematUses *t = &s->use[v];
    if (s->p->storage[v].kept) vec_push(s->a, t, (RematUse){n, 1, true});
    drop_idle(t);
    for (uint32_t i = 1; i < t->n; i++)
      if (t->at[i].held && t->at[i - 1].step + 1 < t->at[i].step) {
        s->live[t->at[i - 1].step + 1] += s->p->storage[v].size;
        s->live[t->at[i].step] -= s->p->storage[v].size;
      }
  }
  for (int step = 1; step <= n; step++) s->live[step] += s->live[step - 1];
  remat_set_live(s);
  remat_set_limit(s, s->limit);
  for (int step = 0; step < n; step++) remat_unsettle(s, step);
  remat_settle(s);
  s->log.n = 0;
}

void remat_reset(RematState *s) {
  for (int step = 0; step <= s->p->nsteps; step++) s->again[step].n = 0;
  remat_rebuild(s);
}

void remat_save(const RematState *s, RematSaved *out) {
  out->n = 0;
  for (int t = 0; t < s->p->nsteps; t++)
    for (uint32_t k = 0; k < s->again[t].n; k++)
      vec_push(s->a, out, ((RematRerun){t, s->again[t].at[k]}));
}

void remat_restore(RematState *s, const RematSaved *x, int limit) {
  for (int t = 0; t <= s->p->nsteps; t++) s->again[t].n = 0;
  for (uint32_t k = 0; k < x->n; k++) vec_push(s->a, &s->again[x->at[k].at], x->at[k].step);
  remat_rebuild(s);
  remat_set_limit(s, limit);
}
