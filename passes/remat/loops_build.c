/* Recomputes loops for their backward passes, as a point of the frontier says.
   Contract: the entry is in order and stays so. Iterations compute the same numbers from the same
   numbers, and sums are added up in the same order, so results are the same bits. Ops left
   without readers go as dead code.
   With a block of 1 the loop stacks the carries before each iteration, and the body of the backward
   pass begins with the iteration again. Longer blocks make a loop over blocks of a loop over the
   block's iterations, twice. The forward one keeps the carries at the beginning of each block. The
   backward one recomputes the block, stacking, and then runs its backward pass. The iterations
   behind the last block are loops of their own, which stack as before. These loops read rows of
   sliced tensors, and write rows in place into stacked ones. The number of the iteration in the
   whole loop selects the row; a slice of a table brings it. */
#include "passes/remat/loops_again.h"

/* The store waits for a loop that is recomputed from what it overwrites. */
static bool waits(const Climb *w, const Op *store) {
  for (int i = 0; i < w->n; i++)
    for (int k = 0; k < w->again[i].p->nlate && !w->again[i].done; k++)
      if (w->again[i].p->late[k] == store) return true;
  return false;
}

/* The backward pass is there, and what waited for nothing else is stored. */
static void store_late(Climb *w, Again *g) {
  g->done = true;
  for (int k = 0; k < g->p->nlate; k++)
    if (!waits(w, g->p->late[k])) build_copy(w->b, w->old, g->p->late[k], w->map);
}

static void apply_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Climb *w = data;
  w->b = b;
  w->old = old;
  w->map = map;
  for (int i = 0; i < w->n; i++) {
    Again *g = &w->again[i];
    bool each = g->schedule->block == 1;
    if (op == g->p->forward) {
      each ? again_forward_each(w, g) : again_forward_blocks(w, g);
      return;
    }
    if (op == g->p->backward) {
      each ? again_backward_each(w, g) : again_backward_blocks(w, g);
      store_late(w, g);
      return;
    }
  }
  if (op->kind != OP_STORE || !waits(w, op)) build_copy(b, old, op, map);
}

static uint64_t flops_of(const Entry *e) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < e->body->ops.n; i++) sum += op_flops(e, op_at(e, e->body->ops.at[i]));
  return sum;
}

void remat_apply_loops(Arena *a, Entry *e, const LoopFrontier *l, const LoopPoint *r) {
  Climb w = {.a = a, .again = ARENA_ARRAY(a, Again, l->npairs + 1)};
  uint64_t before = flops_of(e);
  for (int i = 0; i < l->npairs; i++) {
    if (!r->schedule[i]) continue;
    Again *g = &w.again[w.n++];
    *g = (Again){.p = &l->pair[i], .schedule = r->schedule[i]};
    g->carry = ARENA_ARRAY(a, ValueId, scan_carries(g->p->forward) + 1);
    g->stack = ARENA_ARRAY(a, ValueId, g->p->forward->nresults + 1);
  }
  entry_rebuild(e, apply_each, &w, false, false);
  (void)dce_entry(a, e);
  notes_change(e)->rerun_flops += flops_of(e) - before;
}
