/* Makes the bounded batch of an entry a static one, of as many rows as its bound: ranks whose
   shares must be equal gather rows, and a share of one row has no extent. Contract: the entry is as
   autodiff leaves it; its other extents stay. */
#include "passes/distribute/distribute_impl.h"

typedef enum Of { OTHERS, BATCH, BOTH } Of;

/* What a dim depends on. */
static Of depends_on(Ctx *c, const Extent *x, const Extent *batch) {
  bool here = false, others = false;
  for (int i = 0; i < x->nfactors; i++) {
    const Extent *f = x->factor[i];
    const Of of = f->whole     ? depends_on(c, axis_extent(c, f->whole), batch)
                  : f == batch ? BATCH
                               : OTHERS;
    here |= of != OTHERS;
    others |= of != BATCH;
  }
  return here && others ? BOTH : here ? BATCH : OTHERS;
}

/* The axis with all rows of the batch; 0: it is a part of one that has another extent, too. */
static int64_t static_axis(Ctx *c, int64_t axis, const Extent *batch) {
  const Extent *x = axis_extent(c, axis);
  int64_t all = x ? axis_multiple(axis) : axis;
  for (int i = 0; x && i < x->nfactors; i++) {
    const Of of = depends_on(c, x->factor[i], batch);
    if (of == BOTH) return 0;
    all = axis_product(c, all, of == BATCH ? x->factor[i]->bound : axis_of_extent(x->factor[i], 1));
  }
  return all;
}

bool batch_made_static(Arena *a, Entry *e, const Extent *batch) {
  Ctx *c = e->module->ctx;
  const Type **t = ARENA_ARRAY(a, const Type *, e->values.n + 1);
  for (ValueId v = 0; v < e->values.n; v++) {
    const Type *x = value_type(e, v);
    int64_t *axis = ARENA_ARRAY(a, int64_t, x->rank + 1);
    for (int i = 0; i < x->rank; i++)
      if ((axis[i] = static_axis(c, type_axis(x, i), batch)) == 0) return false;
    t[v] = type_get(c, x->dtype, x->rank, axis);
  }
  for (ValueId v = 0; v < e->values.n; v++) value_at(e, v)->type = t[v];
  for (uint32_t i = 0; i < e->ops.n; i++) {
    Op *op = op_at(e, i);
    if (op->kind == OP_SCAN && op->attr[AT_EXTENT].str == batch->name)
      op->attr[AT_EXTENT].str = NULL;
    if (op->kind != OP_EXTENT || op->attr[AT_NAME].str != batch->name) continue;
    op->kind = OP_CONST;
    memset(op->attr, 0, sizeof op->attr);
    op->attr[AT_VALUE].i = batch->bound;
  }
  return true;
}
