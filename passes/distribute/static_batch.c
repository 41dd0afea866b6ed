/* Makes the bounded batch of an entry a static one, of as many rows as its bound: ranks whose
   shares must be equal gather rows, and a share of one row has no extent. Contract: the entry is as
   autodiff leaves it; false, and the entry as it was, if an axis has no static form. Algorithm:
   every axis is a product of extents, of which the batch's own and the parts of it become their
   bounds. */
#include "passes/distribute/distribute_impl.h"

/* As type_get takes it; 0: there is none. */
static int64_t static_axis(Ctx *c, const Extent *batch, int64_t axis) {
  const Extent *x = axis_extent(c, axis);
  int64_t all = x ? axis_multiple(axis) : axis;
  for (int i = 0; x && all && i < x->nfactors; i++) {
    const Extent *f = x->factor[i];
    int64_t whole = f->whole ? static_axis(c, batch, f->whole) : 0;
    int64_t one = f == batch          ? f->bound
                  : whole == f->whole ? axis_of_extent(f, 1) /* 0 of what is no part */
                  : !axis_is_bounded(whole) && whole ? f->bound
                                                     : 0;
    all = one ? axis_product(c, all, one) : 0;
  }
  return all;
}

/* NULL: an axis has no static form. */
static const Type *static_type(Ctx *c, Arena *a, const Extent *batch, const Type *t) {
  int64_t *axis = ARENA_ARRAY(a, int64_t, t->rank + 1);
  for (int i = 0; i < t->rank; i++) {
    axis[i] = static_axis(c, batch, type_axis(t, i));
    if (!axis[i] && t->dim[i]) return NULL;
  }
  return type_get(c, t->dtype, t->rank, axis);
}

bool batch_made_static(Arena *a, Entry *e, const Extent *batch) {
  const Type **type = ARENA_ARRAY(a, const Type *, e->values.n + 1);
  for (ValueId v = 0; v < e->values.n; v++)
    if (!(type[v] = static_type(e->module->ctx, a, batch, value_type(e, v)))) return false;
  for (uint32_t i = 0; i < e->ops.n; i++) {
    Op *op = op_at(e, i);
    if (op->kind == OP_SCAN && scan_extent(e, op) == batch) op->attr[AT_EXTENT].str = NULL;
    if (op->kind != OP_EXTENT || op->attr[AT_NAME].str != batch->name) continue;
    op->kind = OP_CONST;
    memset(op->attr, 0, sizeof op->attr);
    op->attr[AT_VALUE].i = batch->bound;
  }
  for (ValueId v = 0; v < e->values.n; v++) value_at(e, v)->type = type[v];
  return true;
}
