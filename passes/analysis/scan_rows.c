/* Rows of a table by a loop's counter: each iteration reads another row, and all rows are one slice
   of the table. Declared in pass_list.h. */
#include "passes/manager/pass_list.h"

/* The id is sign * counter + shift. */
static bool counts(const Entry *e, ValueId counter, ValueId id, int *sign, int64_t *shift) {
  const Op *op = value_def(e, id);
  Attr c;
  *sign = 1;
  *shift = 0;
  if (id == counter) return true;
  if (!op || (op->kind != OP_ADD && op->kind != OP_SUB)) return false;
  bool add = op->kind == OP_ADD;
  for (int k = 0; k < 2; k++) {
    if (op->operands[k] != counter || !value_const(e, op->operands[!k], &c)) continue;
    *sign = add || k == 0 ? 1 : -1;
    *shift = add || k == 1 ? c.i : -c.i;
    return true;
  }
  return false;
}

bool rows_by_counter(const Entry *e, const Op *scan, ValueId id, int64_t depth, int *sign,
                     int64_t *from) {
  int64_t shift, trips = scan_trips(scan);
  if (!counts(e, scan->blocks[0]->args.at[0], id, sign, &shift)) return false;
  *from = *sign < 0 ? shift - (trips - 1) : shift;
  return *from >= 0 && *from <= depth - trips;
}

bool row_by_counter(const Entry *e, const Op *scan, const Op *op, int *sign, int64_t *from) {
  return op->kind == OP_GATHER && !op->attr[AT_BATCH].i &&
         rows_by_counter(e, scan, op->operands[1], value_type(e, op->operands[0])->dim[0], sign,
                         from);
}

ValueId rows_slice(Builder *b, ValueId table, int64_t from, int64_t n, int sign) {
  if (n < value_type(b->e, table)->dim[0]) table = build_slice(b, table, 0, from, n);
  if (sign < 0) {
    Attr attr[MAX_ATTRS] = {[AT_AXES] = {.ints = intern_ints(b->m->ctx, (int64_t[]){0}, 1)}};
    table = build(b, OP_REVERSE, &table, 1, attr, NULL);
  }
  return table;
}
