/* Orders for the bodies of loops. Contract: bodies of one depth do not overlap in time, so that one
   plan of the entry for each rule gives the peaks of all of them: the whole is linear in the number
   of loops. */
#include "passes/schedule/order_impl.h"

typedef struct LoopOrders {
  Block *block;
  int depth;
  OpId *given, *tried[ORDER_IMPROVED];
  uint64_t peak[ORDER_IMPROVED]; /* of the steps of the body, by order */
} LoopOrders;

typedef struct Loops {
  VEC(LoopOrders) v;
  int depth; /* of the innermost */
} Loops;

static void find_loops(Arena *a, const Entry *e, const Block *b, int depth, Loops *out) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind != OP_SCAN) continue;
    vec_push(a, &out->v, (LoopOrders){.block = op->blocks[0], .depth = depth});
    if (depth > out->depth) out->depth = depth;
    find_loops(a, e, op->blocks[0], depth + 1, out);
  }
}

static void try_loop(Arena *a, const Entry *e, LoopOrders *l) {
  uint32_t n = l->block->ops.n;
  int *node[ORDER_IMPROVED];
  l->given = ARENA_ARRAY(a, OpId, n);
  memcpy(l->given, l->block->ops.at, n * sizeof(OpId));
  for (int k = 0; k < ORDER_IMPROVED; k++) l->tried[k] = ARENA_ARRAY(a, OpId, n);
  Arena *scratch = arena_new();
  Graph g = order_graph(scratch, e, l->block);
  order_tries(e, &g, node, l->tried);
  arena_free(scratch);
}

/* The loop among those at hand in whose body the step is; -1: in none. */
static int loop_of(const Op *step, const int *loop) {
  for (const Block *b = step->parent; b->op; b = b->op->parent)
    if (loop[b->op->id] >= 0) return loop[b->op->id];
  return -1;
}

/* Peaks of the steps in each loop at hand, in the order that they have now, and of all other steps.
   All are UINT64_MAX where a size overflows. */
static uint64_t peaks_of(Arena *a, const Entry *e, const PassRun *r, const GlobalsPlan *g,
                         const int *loop, Loops *all, int k) {
  Plan *p;
  uint64_t *live = NULL, outside = 0;
  if (plan_times(a, e, r->opt->target, g, &p)) {
    plan_inplace(a, e, p, g, r->opt->target, NULL);
    Storages s = plan_storages(a, e, p, r->opt->target->align, true);
    live = buffers_live(a, &s.b);
  }
  for (uint32_t i = 0; i < all->v.n; i++) all->v.at[i].peak[k] = live ? 0 : UINT64_MAX;
  for (int t = 0; live && t < p->nsteps; t++) {
    int i = loop_of(p->steps[t], loop);
    uint64_t *peak = i < 0 ? &outside : &all->v.at[i].peak[k];
    if (live[t] > *peak) *peak = live[t];
  }
  return live ? outside : UINT64_MAX;
}

/* Orders the bodies of all loops of one depth. Bodies do not overlap in time, so that one plan of
   the entry for each rule gives the peaks of all of them: the whole is linear in the number of
   loops. A loop whose peak is below that of the rest stays as it would be alone. */
static int64_t order_depth(PassRun *r, Entry *e, const GlobalsPlan *globals, Loops *all,
                           int depth) {
  Arena *a = arena_new();
  int *loop = ARENA_ARRAY(a, int, e->ops.n);
  int64_t changes = 0;
  uint64_t rest = 0;
  for (uint32_t i = 0; i < e->ops.n; i++) loop[i] = -1;
  for (uint32_t i = 0; i < all->v.n; i++) {
    LoopOrders *l = &all->v.at[i];
    if (l->depth != depth) continue;
    loop[l->block->op->id] = (int)i;
    try_loop(a, e, l);
  }
  for (int k = 0; k < ORDER_IMPROVED; k++) {
    Arena *scratch = arena_new();
    for (uint32_t i = 0; i < all->v.n; i++) {
      const LoopOrders *l = &all->v.at[i];
      if (l->depth == depth) memcpy(l->block->ops.at, l->tried[k], l->block->ops.n * sizeof(OpId));
    }
    uint64_t outside = peaks_of(scratch, e, r, globals, loop, all, k);
    if (k == ORDER_GIVEN) rest = outside;
    arena_free(scratch);
  }
  /* What the loops behind each one hold as they were given; those before it are chosen. */
  uint64_t *behind = ARENA_ARRAY(a, uint64_t, all->v.n + 1);
  for (uint32_t i = all->v.n; i-- > 0;) {
    const LoopOrders *l = &all->v.at[i];
    uint64_t peak = l->depth == depth ? l->peak[ORDER_GIVEN] : 0;
    behind[i] = peak > behind[i + 1] ? peak : behind[i + 1];
  }
  for (uint32_t i = 0; i < all->v.n; i++) {
    const LoopOrders *l = &all->v.at[i];
    uint64_t others = rest > behind[i + 1] ? rest : behind[i + 1], min = UINT64_MAX;
    int best = ORDER_GIVEN;
    if (l->depth != depth) continue;
    for (int k = 0; k < ORDER_IMPROVED; k++) {
      uint64_t peak = l->peak[k] > others ? l->peak[k] : others;
      if (!order_is_chosen(k, peak, min)) continue;
      min = peak;
      best = k;
    }
    if (l->peak[best] > rest) rest = l->peak[best];
    uint32_t n = l->block->ops.n;
    memcpy(l->block->ops.at, l->tried[best], n * sizeof(OpId));
    changes += order_moved(l->tried[best], l->given, n);
  }
  arena_free(a);
  return changes;
}

int64_t order_loops(PassRun *r, Entry *e, const GlobalsPlan *globals) {
  int64_t changes = 0;
  Loops loops = {0};
  find_loops(r->scratch, e, e->body, 1, &loops);
  for (int depth = loops.depth; depth > 0; depth--)
    changes += order_depth(r, e, globals, &loops, depth);
  return changes;
}
