/* Cycles: may two groups become one, and at which places do all others stand then?
   Contract: groups, and ops in none, stand in an order in which readers are behind their operands.
   Two groups may become one if no path leads from the first to the second through a third. Paths
   are looked for in a tree over the ops first, then from both ends at once. One end soon has
   nothing left, and only the nodes found from there must move. This is the dynamic topological
   order of Pearce and Kelly, 2006, on numbers with gaps, so that no other number has to change. */
#include "passes/fuse/fuse_impl.h"

#include <stdlib.h>

enum { MAX_BETWEEN = 2000 }; /* groups that are looked at: more of them are too far apart */

/* ---- the order ---- */

static OpId node_of(const Fuse *f, const Op *op) {
  return f->unit[op->id] ? f->unit[op->id]->node : op->id;
}

static const Op *last_read(Fuse *f, const Op *op, ValueList *reads) {
  const Op *last = NULL;
  plan_reads(f->a, f->e, op, reads);
  for (uint32_t k = 0; k < reads->n; k++) {
    const Op *def = value_def(f->e, reads->at[k]);
    if (def && def->parent == f->block && (!last || f->pos[def->id] > f->pos[last->id])) last = def;
  }
  return last;
}

/* Every op stands below the last of those that it reads, and has enter <= its own enter < leave. */
static void grow_tree(Fuse *f) {
  const Block *b = f->block;
  const Op **above = ARENA_ARRAY(f->a, const Op *, b->ops.n + 1);
  uint32_t *size = ARENA_ARRAY(f->a, uint32_t, b->ops.n + 1);
  uint32_t *free = ARENA_ARRAY(f->a, uint32_t, b->ops.n + 1), top = 0; /* where the next enters */
  ValueList reads = {0};
  for (uint32_t i = 0; i < b->ops.n; i++)
    above[i] = last_read(f, op_at(f->e, b->ops.at[i]), &reads);
  for (uint32_t i = b->ops.n; i-- > 0;) {
    size[i]++;
    if (above[i]) size[f->pos[above[i]->id]] += size[i];
  }
  for (uint32_t i = 0; i < b->ops.n; i++) {
    uint32_t *at = above[i] ? &free[f->pos[above[i]->id]] : &top;
    f->enter[b->ops.at[i]] = *at;
    f->leave[b->ops.at[i]] = *at + size[i];
    free[i] = *at + 1;
    *at += size[i];
  }
}

static const uint64_t gap = UINT64_C(1) << 32;

void fuse_order(Fuse *f) {
  const Block *b = f->block;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    OpId id = b->ops.at[i];
    f->rank[id] = (i + 1) * gap;
    f->before[id] = i ? b->ops.at[i - 1] : NO_ID;
    f->next[id] = i + 1 < b->ops.n ? b->ops.at[i + 1] : NO_ID;
  }
  grow_tree(f);
}

static void leave_order(Fuse *f, OpId node) {
  if (f->before[node] != NO_ID) f->next[f->before[node]] = f->next[node];
  if (f->next[node] != NO_ID) f->before[f->next[node]] = f->before[node];
}

static void relabel(Fuse *f, OpId any) {
  while (f->before[any] != NO_ID) any = f->before[any];
  for (uint64_t rank = gap; any != NO_ID; any = f->next[any], rank += gap) f->rank[any] = rank;
}

static void insert_before(Fuse *f, OpId node, OpId behind) {
  OpId ahead = f->before[behind];
  uint64_t from = ahead == NO_ID ? 0 : f->rank[ahead];
  f->before[node] = ahead;
  f->next[node] = behind;
  f->before[behind] = node;
  if (ahead != NO_ID) f->next[ahead] = node;
  f->rank[node] = from + (f->rank[behind] - from) / 2;
  if (f->rank[node] == from) relabel(f, node);
}

/* The end of a block stands behind all that is in groups. */
static void insert_after(Fuse *f, OpId node, OpId ahead) { insert_before(f, node, f->next[ahead]); }

/* ---- a way in the tree ---- */

static const Op *behind_views(const Fuse *f, const Op *def) {
  while (def && f->inlined[def->id])
    def = def->noperands ? value_def(f->e, def->operands[0]) : NULL;
  return def;
}

static bool is_tree_ancestor(const Fuse *f, const Op *x, const Op *z) {
  return f->enter[x->id] <= f->enter[z->id] && f->enter[z->id] < f->leave[x->id];
}

/* What the back one reads of a third stands below the front one: so it is in a deep net, where a
   layer's backward pass lies far behind its forward pass. */
static bool has_path_in_tree(Fuse *f, const FusionGroup *front, const FusionGroup *back) {
  ValueList reads = {0};
  for (uint32_t i = 0; i < back->members.n; i++) {
    plan_reads(f->a, f->e, back->members.at[i], &reads);
    for (uint32_t k = 0; k < reads.n; k++) {
      const Op *def = behind_views(f, value_def(f->e, reads.at[k]));
      if (!def || def->parent != f->block) continue;
      if (f->unit[def->id] && (f->unit[def->id] == front || f->unit[def->id] == back)) continue;
      for (uint32_t j = 0; j < front->members.n; j++)
        if (is_tree_ancestor(f, front->members.at[j], def)) return true;
    }
  }
  return false;
}

/* ---- a search from both ends ---- */

typedef VEC(const Op *) OpList; /* one op of each group */

typedef struct Between {
  Fuse *f;
  const FusionGroup *front, *back;
  OpList ahead, behind;           /* what the back one depends on, what depends on the front one */
  uint32_t from_front, from_back; /* their stamps */
  ValueList reads;
  bool cycle;
} Between;

/* Stands between them, is none of them, and was not met from this end. */
static bool first_visit(Between *w, const Op *op, uint32_t stamp) {
  Fuse *f = w->f;
  OpId node = node_of(f, op);
  uint64_t rank = f->rank[node];
  if (rank <= f->rank[w->front->node] || rank >= f->rank[w->back->node]) return false;
  if (f->seen[node] == stamp) return false;
  w->cycle |= f->seen[node] == w->from_front + w->from_back - stamp;
  f->seen[node] = stamp;
  return true;
}

/* What reads v, behind views. */
static void add_readers(Between *w, ValueId v) {
  Fuse *f = w->f;
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *op = f->users[v].at[i];
    while (op->parent != f->block) op = op->parent->op; /* a loop reads for its body */
    if (f->inlined[op->id])
      add_readers(w, op->results[0]);
    else if (first_visit(w, op, w->from_front))
      vec_push(f->a, &w->behind, op);
  }
}

static void add_sources(Between *w, const Op *op) {
  Fuse *f = w->f;
  plan_reads(f->a, f->e, op, &w->reads);
  for (uint32_t k = 0; k < w->reads.n; k++) {
    const Op *def = behind_views(f, value_def(f->e, w->reads.at[k]));
    if (def && def->parent == f->block && first_visit(w, def, w->from_back))
      vec_push(f->a, &w->ahead, def);
  }
}

static void visit(Between *w, const Op *op, bool from_front) {
  const FusionGroup *u = w->f->unit[op->id];
  for (uint32_t i = 0; i < (u ? u->members.n : 1); i++) {
    const Op *o = u ? u->members.at[i] : op;
    if (!from_front) add_sources(w, o);
    for (int k = 0; from_front && k < o->nresults; k++) add_readers(w, o->results[k]);
  }
}

typedef enum End { CYCLE, TOO_MANY, ALL_AHEAD, ALL_BEHIND } End;

/* Until they meet, or one end has found all. A third that reads the front one and is read by the
   back one is met from both ends. */
static End search(Fuse *f, const FusionGroup *a, const FusionGroup *b, Between *w) {
  bool turned = f->rank[a->node] > f->rank[b->node];
  *w = (Between){.f = f, .front = turned ? b : a, .back = turned ? a : b};
  w->from_front = ++f->stamp;
  w->from_back = ++f->stamp;
  visit(w, w->front->members.at[0], true);
  visit(w, w->back->members.at[0], false);
  for (uint32_t i = 0; !w->cycle; i++) {
    if (i == w->ahead.n) return ALL_AHEAD;
    if (i == w->behind.n) return ALL_BEHIND;
    if (i == MAX_BETWEEN) return TOO_MANY;
    visit(w, w->behind.at[i], true);
    if (!w->cycle) visit(w, w->ahead.at[i], false);
  }
  return CYCLE;
}

bool fuse_makes_cycle(Fuse *f, const FusionGroup *a, const FusionGroup *b) {
  bool turned = f->rank[a->node] > f->rank[b->node];
  Between w;
  return has_path_in_tree(f, turned ? b : a, turned ? a : b) || search(f, a, b, &w) <= TOO_MANY;
}

typedef struct Ranked {
  uint64_t rank;
  OpId node;
} Ranked;

static int by_rank(const void *pa, const void *pb) {
  const Ranked *a = pa, *b = pb;
  return (a->rank > b->rank) - (a->rank < b->rank);
}

void fuse_reorder(Fuse *f, FusionGroup *a, FusionGroup *b) {
  Between w;
  bool ahead = search(f, a, b, &w) == ALL_AHEAD;
  const OpList *moved = ahead ? &w.ahead : &w.behind;
  OpId front = w.front->node, back = w.back->node, stays = ahead ? front : back;
  Ranked *in_turn = ARENA_ARRAY(f->a, Ranked, moved->n + 1);
  for (uint32_t i = 0; i < moved->n; i++) {
    OpId node = node_of(f, moved->at[i]);
    in_turn[i] = (Ranked){f->rank[node], node};
  }
  qsort(in_turn, moved->n, sizeof *in_turn, by_rank);
  for (uint32_t i = 0; i < moved->n; i++) {
    OpId node = in_turn[ahead ? i : moved->n - 1 - i].node;
    leave_order(f, node);
    if (ahead)
      insert_before(f, node, stays);
    else
      insert_after(f, node, stays);
  }
  leave_order(f, ahead ? back : front);
  a->node = b->node = stays;
}
