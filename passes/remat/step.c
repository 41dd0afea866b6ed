/* The bytes that one step needs, exactly: the ops recomputed in front of it and its own, one after
   the other, with results in place of operands that die. Contract: remat_settle brings s->within
   and what is live up to date at the queued steps, and logs what it changed. */
#include "passes/remat/remat_impl.h"

const StepNode *remat_op_of(const RematState *s, int step, int j) {
  const RematAgain *r = &s->again[step];
  return &s->p->step[j < (int)r->n ? r->at[j] : step];
}

/* The bytes of v stay after this step. */
static bool goes_on(const RematState *s, int v) {
  int i = s->at[v] + 1;
  return i > 0 && i < (int)s->use[v].n && s->use[v].at[i].held;
}

/* This step makes the instance of v that its readers mean. */
static bool made_here(const RematState *s, int v) {
  int i = s->at[v];
  return i == 0 || (i > 0 && !s->use[v].at[i].held);
}

/* Looks at what the step uses for the first time; returns the bytes of it that come from before.
 */
static int64_t enter(RematState *s, int step, const int *list, int n) {
  int64_t held = 0;
  for (int k = 0; k < n; k++) {
    int v = list[k];
    if (s->mark[v] == s->clock) continue;
    s->mark[v] = s->clock;
    int i = s->at[v] = remat_use_at(s, v, step);
    s->left[v] = i < 0 ? 0 : s->use[v].at[i].readers;
    if (i > 0 && s->use[v].at[i].held) held += s->p->storage[v].size;
  }
  return held;
}

/* Bytes of results that take those of an operand which dies here, each pair's once. */
static int64_t in_place(RematState *s, const StepNode *o) {
  int64_t saved = 0;
  for (int q = 0; q < o->npairs; q++) {
    const StepPair *pair = &o->pair[q];
    int x = o->in[pair->in];
    bool free = s->left[x] == 0 && !goes_on(s, x);
    for (int z = 0; z < q && free; z++)
      free = !s->taken[z] || (o->pair[z].out != pair->out && o->pair[z].in != pair->in);
    s->taken[q] = free;
    if (free) saved += s->p->storage[o->out[pair->out]].size;
  }
  return saved;
}

enum { TO_ENTER = 15 }; /* nanoseconds of a storage, about */

static int peak_within(RematState *s, int step) {
  int n = (int)s->again[step].n;
  int64_t now = 0, peak;
  s->clock++;
  for (int j = 0; j <= n; j++) {
    const StepNode *o = remat_op_of(s, step, j);
    now += enter(s, step, o->in, o->nin) + enter(s, step, o->out, o->nout);
    s->work += TO_ENTER * (o->nin + o->nout);
  }
  peak = now;
  for (int j = 0; j <= n; j++) {
    const StepNode *o = remat_op_of(s, step, j);
    int64_t made = 0, dead = 0;
    for (int k = 0; k < o->nin; k++)
      if (--s->left[o->in[k]] == 0 && !goes_on(s, o->in[k])) dead += s->p->storage[o->in[k]].size;
    for (int k = 0; k < o->nout; k++) {
      int w = o->out[k];
      made += s->p->storage[w].size;
      if (!made_here(s, w) || !(s->left[w] || goes_on(s, w))) dead += s->p->storage[w].size;
    }
    int64_t max = now + made - in_place(s, o) + o->extra;
    if (max > peak) peak = max;
    now += made - dead;
  }
  return (int)peak;
}

void remat_settle(RematState *s) {
  while (s->nqueue) {
    int step = s->queue[--s->nqueue];
    s->queued[step] = false;
    if (step == s->p->nsteps) continue;
    int now = peak_within(s, step), was = s->within[step];
    if (now == was) continue;
    s->within[step] = now;
    remat_add(s, step, step, now - was);
    vec_push(s->a, &s->log, ((RematChange){.kind = STEP_BYTES, .a = step, .b = was}));
  }
}

void remat_step_ops(RematState *s, int step, RematEmit *emit, void *data) {
  int n = (int)s->again[step].n, max = 0;
  s->clock++;
  for (int j = 0; j <= n; j++) {
    const StepNode *o = remat_op_of(s, step, j);
    enter(s, step, o->out, o->nout);
    if (o->nout > max) max = o->nout;
  }
  bool *made = ARENA_ARRAY(s->a, bool, max + 1);
  for (int j = 0; j <= n; j++) {
    const StepNode *o = remat_op_of(s, step, j);
    for (int k = 0; k < o->nout; k++) made[k] = made_here(s, o->out[k]);
    emit(data, (int)(o - s->p->step), made);
  }
}
