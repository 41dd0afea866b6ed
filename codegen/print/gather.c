/* The operands of ops whose addresses come from data; see gather.h. */
#include "codegen/print/gather.h"
#include "codegen/program/extent.h"

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
  s.start_arg = -1;
  if (op_accumulator(op) >= 0) (void)operand(gr, op_accumulator(op), &s.start_arg);
  int batch = (int)op->attr[AT_BATCH].i;
  for (int i = 0; i < batch; i++) s.tables *= s.ids->dim[i];
  s.ids_each = s.tables ? s.ids->numel / s.tables : 0;
  s.rows = grad ? op->attr[AT_ROWS].i : s.table->dim[batch];
  if (grad)
    s.row = s.out->numel ? s.out->numel / s.tables / s.rows : 0;
  else
    s.row = s.ids->numel ? s.out->numel / s.ids->numel : 0;
  const Type *out = s.out;
  int lead = grad ? batch + 1 : s.ids->rank;
  int64_t *axis = ARENA_ARRAY(gr->e->module->arena, int64_t, out->rank + 1);
  for (int i = lead; i < out->rank; i++) axis[i - lead] = type_axis(out, i);
  s.inner = type_get(gr->e->module->ctx, out->dtype, out->rank - lead, axis);
  return s;
}

RowPieces row_pieces(Gen *g, const Group *gr, const Gather *s) {
  const Type *row = s->inner;
  int last = row->rank - 1;
  int64_t piece = 1;
  while (last >= 0 && !type_extent(row, last)) last--;
  if (last < 0) return (RowPieces){"1", arena_printf(g->a, "%lld", (long long)s->row), "0"};
  for (int i = last; i < row->rank; i++) piece *= row->dim[i];
  const char *each = dims_text(g, gr->e, row, last, row->rank);
  const char *n = dims_text(g, gr->e, row, 0, last);
  if (strcmp(n, "1") == 0) return (RowPieces){"1", each, "0"};
  const char *at = place_text(g, gr->e, row, 0, last, "r");
  return (RowPieces){n, each, text_product(g->a, at, arena_printf(g->a, "%lld", (long long)piece))};
}

Update update_of(const Group *gr) {
  Update u = {.axis = (int)gr->root->attr[AT_AXIS].i};
  u.x = operand(gr, 0, &u.x_arg);
  u.y = value_type(gr->e, gr->root->operands[1]);
  u.y_arg = group_arg(gr, gr->root->operands[1]);
  u.start = operand(gr, 2, &u.start_arg);
  return u;
}

const char *starts_text(Gen *g, const Group *gr, const Update *u) {
  const Extent *part = type_extent(u->y, u->axis), *all = type_extent(u->x, u->axis);
  const long long x = u->x->dim[u->axis], y = u->y->dim[u->axis];
  if (!part && !all) return arena_printf(g->a, "%lld", x - y + 1);
  const char *of_x = count_text(g, gr->e, x, all), *of_y = count_text(g, gr->e, y, part);
  if (!part || !all) return arena_printf(g->a, "%s + 1 - %s", of_x, of_y);
  /* a tile of rows behind the run's last has none, and may stand anywhere */
  return arena_printf(g->a, "(%s > 0 ? %s + 1 - %s : %lld)", of_y, of_x, of_y, x + 1);
}
