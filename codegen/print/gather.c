/* The operands of ops whose addresses come from data; see gather.h. */
#include "codegen/print/gather.h"

static const Type *operand(const Group *gr, int i, int *arg) {
  *arg = group_arg(gr, gr->root->operands[i]);
  return value_type(gr->e, gr->in[*arg]);
}

Gather gather_of(const Group *gr) {
  const Op *op = gr->root;
  bool grad = op->kind == OP_GATHER_GRAD;
  Gather s = {.out = value_type(gr->e, gr->out[0]), .tables = 1};
  s.table = operand(gr, 0, &s.table_arg);
  s.ids = operand(gr, 1, &s.ids_arg);
  int batch = (int)op->attr[AT_BATCH].i;
  for (int i = 0; i < batch; i++) s.tables *= s.ids->dim[i];
  s.ids_each = s.tables ? s.ids->numel / s.tables : 0;
  s.rows = grad ? op->attr[AT_ROWS].i : s.table->dim[batch];
  if (grad)
    s.row = s.out->numel ? s.out->numel / s.tables / s.rows : 0;
  else
    s.row = s.ids->numel ? s.out->numel / s.ids->numel : 0;
  return s;
}

Update update_of(const Group *gr) {
  Update u = {.axis = (int)gr->root->attr[AT_AXIS].i};
  u.x = operand(gr, 0, &u.x_arg);
  u.y = operand(gr, 1, &u.y_arg);
  u.start = operand(gr, 2, &u.start_arg);
  u.starts = u.x->dim[u.axis] - u.y->dim[u.axis] + 1;
  return u;
}
