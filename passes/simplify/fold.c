/* Fold: computes constants and removes ops without effect, by rebuilding the entry.
   Contract: no folding rule of the builder (ir/fold/fold.c) applies afterwards, in the blocks of
   kernels neither. Targets of gradients stay apart (grad_targets.c). Equal ops merge on the way, so
   that a rule sees equal operands as one value. */
#include "passes/manager/pass_list.h"

typedef struct Fold {
  PassRun *r;
  const bool *is_target; /* by old value, or NULL */
} Fold;

/* The copy of a nested block has as many ops of the same kinds: nothing in it was folded. */
static bool same_block(const Entry *old, const Block *was, const Entry *e, const Block *now) {
  if (was->ops.n != now->ops.n) return false;
  for (uint32_t i = 0; i < was->ops.n; i++) {
    const Op *a = op_at(old, was->ops.at[i]), *b = op_at(e, now->ops.at[i]);
    if (a->kind != b->kind || a->noperands != b->noperands) return false;
    for (int k = 0; k < a->nblocks; k++)
      if (!same_block(old, a->blocks[k], e, b->blocks[k])) return false;
  }
  return true;
}

static void fold_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Fold *f = data;
  OpId before = b->e->ops.n;
  build_copy(b, old, op, map);
  for (int k = 0; k < op->nblocks && op->kind == OP_KERNEL; k++)
    if (!same_block(old, op->blocks[k], b->e, op_at(b->e, before)->blocks[k])) f->r->changes++;
  if (op->nresults != 1 || op->nblocks) return;
  ValueId was = op->results[0];
  const Op *now = value_def(b->e, map[was]);
  if (!now || now->id < before || now->kind != op->kind || now->noperands != op->noperands)
    f->r->changes++;
  if (f->is_target && f->is_target[was]) map[was] = mark_grad_target(b, old, was, map[was]);
}

bool pass_fold(PassRun *r) {
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    Fold f = {.r = r, .is_target = grad_targets(r->scratch, e)};
    entry_rebuild(e, fold_each, &f, true, false);
  }
  return true;
}
