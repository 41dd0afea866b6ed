/* Updates of what a map computes: the map's kernel writes its results where dynamic_update puts
   them, so no launch copies them. Contract: the update alone reads the map's one result, perhaps
   behind reshapes that move nothing, and no product or loop runs between the two; the group then
   takes no other member. For targets that have such kernels. */
#include "passes/fuse/fuse_impl.h"

/* The value before the reshapes in front of it, each read by the next alone; NO_ID: others read. */
static ValueId before_reshapes(const Fuse *f, ValueId v) {
  for (;;) {
    const Op *def = value_def(f->e, v);
    if (f->users[v].n != 1 || !def || def->parent != f->block) return NO_ID;
    if (def->kind != OP_RESHAPE || f->unit[def->id]) return v;
    if (reshape_moves(value_type(f->e, def->operands[0]), value_type(f->e, v))) return NO_ID;
    v = def->operands[0];
  }
}

static bool has_other_readers(const Fuse *f, const FusionGroup *u, ValueId result) {
  for (uint32_t i = 0; i < u->members.n; i++) {
    const Op *op = u->members.at[i];
    for (int k = 0; k < op->nresults; k++)
      for (uint32_t n = 0; n < f->users[op->results[k]].n; n++)
        if (op->results[k] != result && f->unit[f->users[op->results[k]].at[n]->id] != u)
          return true;
  }
  return false;
}

/* No product or loop comes between. */
static bool runs_next(const Fuse *f, const FusionGroup *u, const Op *op) {
  for (uint32_t i = 0; i < u->members.n; i++)
    if (f->anchors[u->members.at[i]->id] == f->anchors[op->id]) return true;
  return false;
}

FusionGroup *fuse_updated(const Fuse *f, const Op *op) {
  const Target *t = f->r->opt->target;
  if (op->kind != OP_DYNAMIC_UPDATE || !t || !t->can_fuse(t, f->e, op) || f->in_order) return NULL;
  const ValueId v = before_reshapes(f, op->operands[1]);
  if (v == NO_ID) return NULL;
  const Op *def = value_def(f->e, v);
  FusionGroup *u = f->unit[def->id];
  if (!u || u->form != FORM_MAP || !type_same_dims(value_type(f->e, v), u->domain)) return NULL;
  if (has_other_readers(f, u, v) || !runs_next(f, u, op)) return NULL;
  return *f->watch && passes_watched(def, f->e, f->watch) ? NULL : u;
}
