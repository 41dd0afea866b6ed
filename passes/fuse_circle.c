/* Circles: may two groups become one, and where do all others stand then?
   Contract: the groups, and the ops in none, stand in an order in which readers are behind what
   they read. Two of them may become one where no way leads from the one in front to the other
   through a third; such a way stays between them in the order. Joining moves what must stand before
   and behind: the dynamic topological order of Pearce and Kelly, 2006. */
#include "passes/fuse_impl.h"

#include <stdlib.h>

enum { MOST_BETWEEN = 2000 }; /* groups that are looked at: more of them are too far apart */

typedef VEC(const Op *) OpList; /* one op of each group */

typedef struct Between {
  Fuse *f;
  const Op *front, *back; /* one op of each of both */
  OpList ahead, behind;   /* what the back one depends on, what depends on the front one */
} Between;

static uint32_t *rank_of(const Fuse *f, const Op *op) {
  Unit *u = f->unit[op->id];
  return u ? &u->rank : &f->rank[op->id];
}

static bool same_node(const Fuse *f, const Op *a, const Op *b) {
  return a == b || (f->unit[a->id] && f->unit[a->id] == f->unit[b->id]);
}

static bool first_visit(Fuse *f, const Op *op) {
  uint32_t *seen = f->unit[op->id] ? &f->unit[op->id]->seen : &f->seen[op->id];
  if (*seen == f->stamp) return false;
  *seen = f->stamp;
  return true;
}

/* Adds what reads v, behind views, up to the back one. True if that one reads it. */
static bool add_readers(Between *w, ValueId v) {
  bool back = false;
  for (uint32_t i = 0; i < w->f->users[v].n; i++) {
    const Op *op = w->f->users[v].at[i];
    while (op->parent != w->f->block) op = op->parent->op; /* a loop reads for its body */
    if (w->f->inlined[op->id])
      back |= add_readers(w, op->results[0]);
    else if (same_node(w->f, op, w->back))
      back = true;
    else if (!same_node(w->f, op, w->front) && *rank_of(w->f, op) < *rank_of(w->f, w->back) &&
             first_visit(w->f, op))
      vec_push(w->f->a, &w->behind, op);
  }
  return back;
}

static bool readers_of(Between *w, const Op *op) {
  const Unit *u = w->f->unit[op->id];
  uint32_t n = u ? u->members.n : 1;
  bool back = false;
  for (uint32_t i = 0; i < n; i++) {
    const Op *o = u ? u->members.at[i] : op;
    for (int k = 0; k < o->nresults; k++) back |= add_readers(w, o->results[k]);
  }
  return back;
}

static void sources_of(Between *w, const Op *op) {
  const Unit *u = w->f->unit[op->id];
  uint32_t n = u ? u->members.n : 1;
  for (uint32_t i = 0; i < n; i++) {
    const Op *o = u ? u->members.at[i] : op;
    ValueList reads = {0};
    plan_reads(w->f->a, w->f->e, o, &reads);
    for (uint32_t k = 0; k < reads.n; k++) {
      const Op *def = value_def(w->f->e, reads.at[k]);
      while (def && w->f->inlined[def->id])
        def = def->noperands ? value_def(w->f->e, def->operands[0]) : NULL;
      if (def && def->parent == w->f->block && !same_node(w->f, def, w->back) &&
          !same_node(w->f, def, w->front) && *rank_of(w->f, def) > *rank_of(w->f, w->front) &&
          first_visit(w->f, def))
        vec_push(w->f->a, &w->ahead, def);
    }
  }
}

static Between between(Fuse *f, const Unit *a, const Unit *b) {
  bool turned = a->rank > b->rank;
  return (Between){
      .f = f, .front = (turned ? b : a)->members.at[0], .back = (turned ? a : b)->members.at[0]};
}

bool fuse_circle(Fuse *f, const Unit *a, const Unit *b) {
  Between w = between(f, a, b);
  f->stamp++;
  (void)readers_of(&w, w.front);
  for (uint32_t i = 0; i < w.behind.n; i++)
    if (i == MOST_BETWEEN || readers_of(&w, w.behind.at[i])) return true;
  return false;
}

typedef struct Ranked {
  uint32_t rank;
  const Op *op;
} Ranked;

static int by_rank(const void *pa, const void *pb) {
  const Ranked *a = pa, *b = pb;
  return (a->rank > b->rank) - (a->rank < b->rank);
}

/* All at ranks that they had. */
void fuse_reorder(Fuse *f, Unit *a, Unit *b) {
  Between w = between(f, a, b);
  f->stamp++;
  (void)readers_of(&w, w.front);
  for (uint32_t i = 0; i < w.behind.n; i++) (void)readers_of(&w, w.behind.at[i]);
  sources_of(&w, w.back);
  for (uint32_t i = 0; i < w.ahead.n; i++) sources_of(&w, w.ahead.at[i]);
  uint32_t n = w.ahead.n + w.behind.n + 2, at = 0;
  Ranked *all = ARENA_ARRAY(f->a, Ranked, n), *old = ARENA_ARRAY(f->a, Ranked, n);
  for (uint32_t i = 0; i < w.ahead.n; i++)
    all[at++] = (Ranked){*rank_of(f, w.ahead.at[i]), w.ahead.at[i]};
  all[at++] = (Ranked){*rank_of(f, w.front), w.front};
  all[at++] = (Ranked){*rank_of(f, w.back), w.back};
  for (uint32_t i = 0; i < w.behind.n; i++)
    all[at++] = (Ranked){*rank_of(f, w.behind.at[i]), w.behind.at[i]};
  memcpy(old, all, n * sizeof *all);
  qsort(old, n, sizeof *old, by_rank);
  qsort(all, w.ahead.n, sizeof *all, by_rank);
  qsort(all + w.ahead.n + 2, w.behind.n, sizeof *all, by_rank);
  for (uint32_t i = 0; i < n; i++) *rank_of(f, all[i].op) = old[i].rank;
}
