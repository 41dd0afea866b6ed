/* The state of recomputation: uses of every storage, the ops recomputed in front of every step, and
   the bytes live at each step, exact after every move. Contract: primitive changes are logged with
   their inverse, so that a move is tried by making it; the cost of a move is the length of the gaps
   it changes. */
#include "ir/support/search.h"
#include "passes/remat/remat_impl.h"

bool remat_may_rerun(const StepGraph *p, int step, int before) {
  return before <= p->step[step].latest;
}

/* ---------------------------------------------------------------- primitive changes ---- */

static void note(RematState *s, int kind, int a, int b, int c, int d) {
  vec_push(s->a, &s->log, (RematChange){kind, a, b, c, d});
}

int remat_use_after(const RematState *s, int storage, int step) {
  const RematUses *t = &s->use[storage];
  int i;
  SEARCH_FIRST(i, (int)t->n, t->at[i].step >= step);
  return i;
}

int remat_use_at(const RematState *s, int storage, int step) {
  int i = remat_use_after(s, storage, step);
  return i < (int)s->use[storage].n && s->use[storage].at[i].step == step ? i : -1;
}

static void use_in(RematState *s, int v, int i, RematUse x) {
  RematUses *t = &s->use[v];
  vec_push(s->a, t, x);
  memmove(t->at + i + 1, t->at + i, sizeof x * (t->n - 1 - (size_t)i));
  t->at[i] = x;
  note(s, USE_IN, v, x.step, 0, 0);
}

static void use_out(RematState *s, int v, int i) {
  RematUses *t = &s->use[v];
  RematUse x = t->at[i];
  t->n--;
  memmove(t->at + i, t->at + i + 1, sizeof x * (t->n - (size_t)i));
  note(s, USE_OUT, v, x.step, x.readers, x.held);
}

static void use_readers(RematState *s, int v, int i, int more) {
  RematUse *x = &s->use[v].at[i];
  x->readers += more;
  note(s, USE_READERS, v, x->step, more, 0);
}

static void use_held(RematState *s, int v, int i, bool held) {
  RematUse *x = &s->use[v].at[i];
  x->held = held;
  note(s, USE_HELD, v, x->step, held, 0);
}

static void bytes(RematState *s, int a, int b, int d) {
  if (a > b || !d) return;
  remat_add(s, a, b, d);
  note(s, BYTES, a, b, d, 0);
}

static int slot(const RematAgain *r, int step) {
  int i;
  SEARCH_FIRST(i, (int)r->n, r->at[i] >= step);
  return i;
}

static bool runs_again(const RematState *s, int at, int step) {
  const RematAgain *r = &s->again[at];
  int i = slot(r, step);
  return i < (int)r->n && r->at[i] == step;
}

static void rerun_in(RematState *s, int at, int step) {
  RematAgain *r = &s->again[at];
  int i = slot(r, step);
  vec_push(s->a, r, step);
  memmove(r->at + i + 1, r->at + i, sizeof *r->at * (r->n - 1 - (size_t)i));
  r->at[i] = step;
  s->cost += s->p->step[step].cost;
  s->flops += s->p->step[step].flops;
  note(s, RERUN_IN, at, step, 0, 0);
}

static void rerun_out(RematState *s, int at, int step) {
  RematAgain *r = &s->again[at];
  int i = slot(r, step);
  r->n--;
  memmove(r->at + i, r->at + i + 1, sizeof *r->at * (r->n - (size_t)i));
  s->cost -= s->p->step[step].cost;
  s->flops -= s->p->step[step].flops;
  note(s, RERUN_OUT, at, step, 0, 0);
}

void remat_unsettle(RematState *s, int step) {
  if (s->queued[step]) return;
  s->queued[step] = true;
  s->queue[s->nqueue++] = step;
}

void remat_undo(RematState *s, uint32_t to) {
  while (s->log.n > to) {
    RematChange g = s->log.at[--s->log.n];
    uint32_t kept = s->log.n;
    switch (g.kind) {
    case USE_IN: use_out(s, g.a, remat_use_at(s, g.a, g.b)); break;
    case USE_OUT:
      use_in(s, g.a, remat_use_after(s, g.a, g.b), (RematUse){g.b, g.c, g.d != 0});
      break;
    case USE_READERS: use_readers(s, g.a, remat_use_at(s, g.a, g.b), -g.c); break;
    case USE_HELD: use_held(s, g.a, remat_use_at(s, g.a, g.b), !g.c); break;
    case BYTES: remat_add(s, g.a, g.b, -g.c); break;
    case RERUN_IN: rerun_out(s, g.a, g.b); break;
    case RERUN_OUT: rerun_in(s, g.a, g.b); break;
    case STEP_BYTES:
      remat_add(s, g.a, g.a, g.b - s->within[g.a]);
      s->within[g.a] = g.b;
      break;
    }
    s->log.n = kept;
  }
}

enum { TO_DO = 40 }; /* nanoseconds of a task, about */

/* ---------------------------------------------------------------- moves ----
   What one change asks for is done by a stack of tasks, since a chain of reruns may be as long as
   the program. A task pushes what follows from it in reverse, so that it happens in order. */

enum {
  NEED,   /* storage, step: one more reader there */
  UNNEED, /* storage, step: one reader less */
  EXTEND, /* storage, step: it is there, and may be held for the next reader */
  IDLE,   /* storage, step: is it still made there for a reader? */
  USE,    /* storage, step: its maker runs there anyway */
  RERUN,  /* step, op: is recomputed there */
  DROP    /* step, op: does not, unless one of its results is of use */
};

static void task(RematState *s, int kind, int a, int b) {
  vec_push(s->a, &s->tasks, (RematTask){kind, a, b});
}

/* Holding v over steps a to b is worth no more than running its maker again costs. */
static bool cheap_to_hold(RematState *s, int v, int a, int b) {
  const StepStorage *x = &s->p->storage[v];
  return (double)remat_rise(s, a, b, x->size) <= s->price * s->p->step[x->maker].cost;
}

/* Made at this use for a reader here or behind. */
static bool of_use(const RematState *s, int v, int i) {
  const RematUses *t = &s->use[v];
  return t->at[i].readers || (i + 1 < (int)t->n && t->at[i + 1].held);
}

static void drop_if_idle(RematState *s, int v, int step) {
  int i = remat_use_at(s, v, step);
  if (i > 0 && !s->use[v].at[i].held && !of_use(s, v, i))
    task(s, DROP, step, s->p->storage[v].maker);
}

/* The op is recomputed at this step anyway. Its other results need not be live before it, and may
   stay live after it instead of being recomputed again. */
static void use_result(RematState *s, int v, int at) {
  const StepStorage *x = &s->p->storage[v];
  int i = remat_use_after(s, v, at), n = (int)s->use[v].n;
  if (i == 0 || i == n) return;
  int before = s->use[v].at[i - 1].step, next = s->use[v].at[i].step;
  bool held = s->use[v].at[i].held;
  if (next == at && !held) return;
  task(s, IDLE, v, before);
  if (next == at) {
    use_held(s, v, i, false);
    bytes(s, before + 1, at - 1, -x->size);
  } else if (held) {
    use_in(s, v, i, (RematUse){at, 0, false});
    bytes(s, before + 1, at, -x->size);
  } else {
    if (s->by_price && !cheap_to_hold(s, v, at + 1, next - 1)) {
      s->tasks.n--;
      return;
    }
    use_in(s, v, i, (RematUse){at, 0, false});
    use_held(s, v, i + 1, true);
    bytes(s, at + 1, next - 1, x->size);
    remat_unsettle(s, next);
    task(s, DROP, next, x->maker);
  }
  remat_unsettle(s, before);
  remat_unsettle(s, at);
}

static void add_rerun(RematState *s, int at, int step) {
  if (runs_again(s, at, step)) return;
  rerun_in(s, at, step);
  remat_unsettle(s, at);
  const StepNode *o = &s->p->step[step];
  for (int k = o->nout; k-- > 0;) task(s, USE, o->out[k], at);
  for (int k = o->nin; k-- > 0;) task(s, NEED, o->in[k], at);
}

static void drop_rerun(RematState *s, int at, int step) {
  const StepNode *o = &s->p->step[step];
  for (int k = 0; k < o->nout; k++) {
    int i = remat_use_at(s, o->out[k], at);
    if (i > 0 && !s->use[o->out[k]].at[i].held && of_use(s, o->out[k], i)) return;
  }
  if (!runs_again(s, at, step)) return;
  rerun_out(s, at, step);
  remat_unsettle(s, at);
  for (int k = 0; k < o->nout; k++) {
    int i = remat_use_at(s, o->out[k], at);
    if (i > 0 && !s->use[o->out[k]].at[i].held) use_out(s, o->out[k], i);
  }
  for (int k = o->nin; k-- > 0;) task(s, UNNEED, o->in[k], at);
}

/* v is there already, or is held longer, or is recomputed. */
static void need(RematState *s, int v, int step) {
  const StepStorage *x = &s->p->storage[v];
  int i = remat_use_after(s, v, step), n = (int)s->use[v].n;
  remat_unsettle(s, step);
  if (i < n && s->use[v].at[i].step == step) {
    use_readers(s, v, i, 1);
    return;
  }
  if (i < n && s->use[v].at[i].held) { /* its bytes are counted with the step's own from now on */
    use_in(s, v, i, (RematUse){step, 1, true});
    bytes(s, step, step, -x->size);
    return;
  }
  int before = s->use[v].at[i - 1].step;
  bool hold = !remat_may_rerun(s->p, x->maker, step) || x->size < s->tiny;
  if (!hold && s->by_price) {
    s->choices++;
    hold = cheap_to_hold(s, v, before + 1, step - 1);
  }
  use_in(s, v, i, (RematUse){step, 1, hold});
  if (i < n) task(s, EXTEND, v, step);
  if (hold) {
    bytes(s, before + 1, step - 1, x->size);
    remat_unsettle(s, before);
  } else {
    task(s, RERUN, step, x->maker);
  }
}

static void extend(RematState *s, int v, int step) {
  const StepStorage *x = &s->p->storage[v];
  int i = remat_use_after(s, v, step) + 1, next = s->use[v].at[i].step;
  if (s->by_price && !cheap_to_hold(s, v, step + 1, next - 1)) return;
  use_held(s, v, i, true);
  bytes(s, step + 1, next - 1, x->size);
  remat_unsettle(s, next);
  task(s, DROP, next, x->maker);
}

static void unneed(RematState *s, int v, int step) {
  const StepStorage *x = &s->p->storage[v];
  int i = remat_use_at(s, v, step);
  remat_unsettle(s, step);
  use_readers(s, v, i, -1);
  if (s->use[v].at[i].readers || i == 0) return;
  bool held = s->use[v].at[i].held, later = i + 1 < (int)s->use[v].n;
  bool goes = later && s->use[v].at[i + 1].held;
  int before = s->use[v].at[i - 1].step, next = later ? s->use[v].at[i + 1].step : 0;
  if (held && goes) {
    use_out(s, v, i);
    bytes(s, step, step, x->size);
  } else if (held) {
    use_out(s, v, i);
    bytes(s, before + 1, step - 1, -x->size);
    remat_unsettle(s, before);
  } else if (!goes) {
    use_out(s, v, i);
    task(s, DROP, step, x->maker);
  } else if (remat_may_rerun(s->p, x->maker, next)) { /* made later, where it is read */
    use_held(s, v, i + 1, false);
    bytes(s, step + 1, next - 1, -x->size);
    use_out(s, v, i);
    remat_unsettle(s, next);
    task(s, RERUN, next, x->maker);
    task(s, DROP, step, x->maker);
  }
}

static void do_tasks(RematState *s) {
  while (s->tasks.n) {
    RematTask t = s->tasks.at[--s->tasks.n];
    s->work += TO_DO;
    switch (t.kind) {
    case NEED: need(s, t.a, t.b); break;
    case UNNEED: unneed(s, t.a, t.b); break;
    case EXTEND: extend(s, t.a, t.b); break;
    case IDLE: drop_if_idle(s, t.a, t.b); break;
    case USE: use_result(s, t.a, t.b); break;
    case RERUN: add_rerun(s, t.a, t.b); break;
    case DROP: drop_rerun(s, t.a, t.b); break;
    }
  }
}

bool remat_droppable(const RematState *s, int v, int i) {
  const RematUse *t = &s->use[v].at[i];
  const StepStorage *x = &s->p->storage[v];
  return i > 0 && t->held && t->step < s->p->nsteps && x->size >= s->tiny &&
         remat_may_rerun(s->p, x->maker, t->step);
}

void remat_drop(RematState *s, int v, int i) {
  int before = s->use[v].at[i - 1].step, at = s->use[v].at[i].step;
  use_held(s, v, i, false);
  bytes(s, before + 1, at - 1, -s->p->storage[v].size);
  remat_unsettle(s, before);
  remat_unsettle(s, at);
  task(s, IDLE, v, before);
  task(s, RERUN, at, s->p->storage[v].maker);
  do_tasks(s);
}

void remat_hold(RematState *s, int v, int i) {
  int before = s->use[v].at[i - 1].step, at = s->use[v].at[i].step;
  use_held(s, v, i, true);
  bytes(s, before + 1, at - 1, s->p->storage[v].size);
  remat_unsettle(s, before);
  remat_unsettle(s, at);
  task(s, DROP, at, s->p->storage[v].maker);
  do_tasks(s);
}
