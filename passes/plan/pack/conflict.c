/* Why a state of the packing search failed: buffers that do not fit at their least offsets or
   higher. Contract: s->why is the conflict at hand. That of a branch needs only what both of its
   sides need, so that the search goes back to a branch that matters (conflict-directed
   backjumping: Prosser, 1993). */
#include "passes/plan/pack/search_impl.h"

static void conflict_clear(Conflict *c) {
  for (int a = 0; a < c->n; a++) {
    c->min[c->in[a]] = -1;
    c->exact[c->in[a]] = false;
  }
  c->n = 0;
}

static void conflict_need(Conflict *c, int i, int32_t min, bool exact) {
  if (min < 0) min = 0;
  if (c->min[i] < 0) c->in[c->n++] = i;
  if (c->min[i] < min) c->min[i] = min;
  c->exact[i] |= exact;
}

/* A section is over the capacity: what is piled there without a gap, from where it is too high. */
void conflict_of_section(PackSearch *s, const int *o, int k) {
  const Pack *p = s->p;
  int c = s->over, from = 0, to = 0;
  int32_t top = 0, sum = 0;
  conflict_clear(&s->why);
  for (; to < k && top <= s->capacity; to++) {
    int i = o[to];
    if (p->from[i] > c || c >= p->to[i]) continue;
    if (s->low[i] > top) {
      from = to;
      sum = 0;
      top = s->low[i];
    }
    sum += s->size[i];
    top += s->size[i];
  }
  for (int a = from; a < to; a++)
    if (p->from[o[a]] <= c && c < p->to[o[a]])
      conflict_need(&s->why, o[a], s->capacity + 1 - sum, false);
}

void conflict_of_nogood(PackSearch *s, const NogoodLiteral *held) {
  conflict_clear(&s->why);
  for (int a = 0; a < s->nheld; a++) conflict_need(&s->why, held[a].i, held[a].min, false);
}

void conflict_of_state(PackSearch *s, const int *o, int k) {
  conflict_clear(&s->why);
  for (int a = 0; a < k; a++) conflict_need(&s->why, o[a], s->low[o[a]], false);
}

bool conflict_keep(PackSearch *s, int pick) {
  const Conflict *x = &s->why;
  bool needed = x->exact[pick];
  for (int a = 0; a < x->n; a++) needed |= x->min[x->in[a]] > s->low[x->in[a]];
  if (!needed) return false;
  nogoods_learn(s->nogoods, x, s->capacity, s->low);
  s->states.at[s->states.n - 1].pick = pick;
  for (int a = 0; a < x->n; a++) {
    int i = x->in[a];
    int32_t min = x->min[i]; /* what was lifted by it cannot lie below it */
    if (min > s->low[i]) min = s->low[pick] - s->size[i] + 1;
    vec_push(s->p->a, &s->reasons, ((Reason){i, min, x->exact[i] && i != pick}));
  }
  return true;
}

/* The reason at hand is that of the higher place. Where that needs the buffer to
   lie so high, it is for the reasons of both: it does not lie lowest, and it rests on something. */
void conflict_join(PackSearch *s, const State *t) {
  Conflict *x = &s->why;
  int c = t->pick;
  int32_t high = c < 0 ? 0 : x->min[c];
  if (c >= 0 && high > s->low[c]) {
    x->min[c] = s->low[c];
    for (uint32_t r = (uint32_t)t->why; r < s->reasons.n; r++)
      conflict_need(x, s->reasons.at[r].i, s->reasons.at[r].min, s->reasons.at[r].exact);
    for (int a = 0; a < x->n; a++) {
      int i = x->in[a];
      if (i == c || !search_meet(s->p, i, c) || x->min[i] + s->size[i] >= high) continue;
      x->exact[i] |= s->low[i] + s->size[i] < high; /* it lies below */
      x->min[i] = x->exact[i] ? s->low[i] : high - s->size[i];
    }
  }
  s->reasons.n = (uint32_t)t->why;
}
