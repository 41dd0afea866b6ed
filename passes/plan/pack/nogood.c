/* What the packing search learns: sets of buffers with a least offset each that do not fit
   together. Contract: a nogood is said to hold only where it was proven for at least the capacity
   at hand and every one of its buffers lies, or must lie, at its least offset or higher. One
   watched buffer a nogood, as SAT solvers watch literals (Moskewicz et al., 2001): one that lies
   too low for it, so that only what raises that buffer has to look. Old nogoods are forgotten,
   which costs time alone. */
#include "passes/plan/pack/search_impl.h"

enum { LONGEST = 4096, MAX_NEEDS = 1 << 21 /* 16 MiB */ };

typedef struct Nogood {
  uint32_t at, n; /* its needs */
  int32_t capacity;
} Nogood;

typedef VEC(uint32_t) Watched;

struct Nogoods {
  Arena *a;
  int n;
  Watched *watched; /* by buffer: nogoods that do not hold because it lies too low */
  VEC(Nogood) list;
  VEC(NogoodLiteral) need;
};

Nogoods *nogoods_new(Arena *a, int n) {
  Nogoods *g = ARENA_NEW(a, Nogoods);
  g->a = a;
  g->n = n;
  g->watched = ARENA_ARRAY(a, Watched, n);
  return g;
}

void nogoods_trim(Nogoods *g) {
  if (g->need.n < MAX_NEEDS / 2) return;
  uint32_t from = g->list.n / 2, needs = g->list.at[from].at, kept = 0;
  for (int i = 0; i < g->n; i++) {
    Watched *w = &g->watched[i];
    uint32_t k = 0;
    for (uint32_t q = 0; q < w->n; q++)
      if (w->at[q] >= from) w->at[k++] = w->at[q] - from;
    w->n = k;
  }
  for (uint32_t q = from; q < g->list.n; q++, kept++) {
    g->list.at[kept] = g->list.at[q];
    g->list.at[kept].at -= needs;
  }
  g->list.n = kept;
  g->need.n -= needs;
  memmove(g->need.at, g->need.at + needs, g->need.n * sizeof *g->need.at);
}

void nogoods_learn(Nogoods *g, const Conflict *c, int32_t capacity, const int32_t *low) {
  int watch = -1;
  if (c->n > LONGEST || g->need.n + (uint32_t)c->n > MAX_NEEDS) return;
  for (int a = 0; a < c->n; a++) {
    int i = c->in[a];
    if (c->exact[i]) return; /* it says less: only while that one lies where it was put */
    if (c->min[i] > low[i]) watch = i;
  }
  if (watch < 0) return;
  vec_push(g->a, &g->watched[watch], g->list.n);
  vec_push(g->a, &g->list, ((Nogood){g->need.n, (uint32_t)c->n, capacity}));
  for (int a = 0; a < c->n; a++)
    vec_push(g->a, &g->need, ((NogoodLiteral){c->in[a], c->min[c->in[a]]}));
}

const NogoodLiteral *nogoods_raised(Nogoods *g, int i, int32_t capacity, const int32_t *low, int *n,
                                    int64_t *work) {
  const NogoodLiteral *found = NULL;
  uint32_t kept = 0;
  for (uint32_t q = 0; q < g->watched[i].n; q++) {
    uint32_t id = g->watched[i].at[q], k = 0;
    const Nogood *x = &g->list.at[id];
    const NogoodLiteral *need = g->need.at + x->at;
    if (!found && x->capacity >= capacity) {
      while (k < x->n && low[need[k].i] >= need[k].min) k++;
      *work -= k + 2;
      if (k == x->n) {
        found = need;
        *n = (int)x->n;
      } else if (need[k].i != i) {
        vec_push(g->a, &g->watched[need[k].i], id);
        continue;
      }
    }
    g->watched[i].at[kept++] = id;
  }
  g->watched[i].n = kept;
  return found;
}
