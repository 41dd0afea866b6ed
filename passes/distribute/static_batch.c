/* Makes the bounded batch of an entry a static one, of as many rows as its bound: ranks whose
   shares must be equal gather rows, and a share of one row has no extent. Contract: the entry has
   no other extent, and is as autodiff leaves it. */
#include "passes/distribute/distribute_impl.h"

void batch_made_static(Entry *e, const Extent *batch) {
  for (ValueId v = 0; v < e->values.n; v++) {
    Value *x = value_at(e, v);
    x->type = type_get(e->module->ctx, x->type->dtype, x->type->rank, x->type->dim);
  }
  for (uint32_t i = 0; i < e->ops.n; i++) {
    Op *op = op_at(e, i);
    if (op->kind == OP_SCAN) op->attr[AT_EXTENT].str = NULL;
    if (op->kind != OP_EXTENT) continue;
    op->kind = OP_CONST;
    memset(op->attr, 0, sizeof op->attr);
    op->attr[AT_VALUE].i = batch->bound;
  }
}
