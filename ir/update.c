/* Which part of a value stays where an op writes the rest; see update.h. */
#include "ir/update.h"

const Op *op_update(const Entry *e, const Op *op) {
  if (op->kind != OP_KERNEL) return op->kind == OP_DYNAMIC_UPDATE ? op : NULL;
  const Block *b = op->blocks[0];
  const Op *last = b->ops.n > 1 ? op_at(e, b->ops.at[b->ops.n - 2]) : NULL;
  return last && last->kind == OP_DYNAMIC_UPDATE ? last : NULL;
}

int op_updated(const Entry *e, const Op *op) {
  const Op *update = op_update(e, op);
  if (!update || update == op) return update ? 0 : -1;
  for (int i = 0; i < op->noperands; i++)
    if (op->blocks[0]->args.at[i] == update->operands[0]) return i;
  return -1;
}
