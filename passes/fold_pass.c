/* Fold: computes what is constant and undoes what has no effect, by building the entry again.
   Contract: nothing that the builder's folding rules (ir/fold.c) can see is left; pinned values
   stay apart (pin.c); the blocks of kernels are copied as they are, since they were folded before.
   Equal ops merge on the way, so that a rule sees that its operands are one value. */
#include "passes/pass_list.h"

typedef struct Fold {
  PassRun *r;
  const bool *pinned; /* by old value, or NULL */
} Fold;

static void fold_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Fold *f = data;
  OpId before = b->e->ops.n;
  build_copy(b, old, op, map);
  if (op->nresults != 1 || op->nblocks) return;
  ValueId was = op->results[0];
  const Op *now = value_def(b->e, map[was]);
  if (!now || now->id < before || now->kind != op->kind || now->noperands != op->noperands)
    f->r->changes++;
  if (f->pinned && f->pinned[was]) map[was] = pass_pin(b, old, was, map[was]);
}

bool pass_fold(PassRun *r) {
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    Fold f = {.r = r, .pinned = pass_pinned(r->scratch, e)};
    entry_rebuild(e, fold_each, &f, true, false);
  }
  return true;
}
