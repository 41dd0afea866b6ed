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
  if (op && op->kind == OP_NEG && op->operands[0] == counter) { /* 0 - counter, of one iteration */
    *sign = -1;
    return true;
  }
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

/* The number is so many less 1 as an extent has, which was computed in integers. */
static bool is_last(const Entry *e, ValueId v, int64_t axis) {
  const Op *op = value_def(e, v);
  Attr c;
  int64_t times = 1;
  while (op && op->kind == OP_CONVERT) op = value_def(e, op->operands[0]);
  if (!op || op->kind != OP_SUB || !value_const(e, op->operands[1], &c) || c.i != 1) return false;
  for (op = value_def(e, op->operands[0]); op && op->kind != OP_EXTENT;) {
    bool convert = op->kind == OP_CONVERT && !dtype_is_float(value_type(e, op->results[0])->dtype);
    bool product = op->kind == OP_MUL && value_const(e, op->operands[1], &c);
    if (!convert && !product) return false;
    if (product) times *= c.i;
    op = value_def(e, op->operands[0]);
  }
  if (!op) return false;
  const Extent *x = extent_get(e->module->ctx, op->attr[AT_NAME].str, op->attr[AT_BOUND].i);
  return axis_of_extent(x, times) == axis;
}

/* Of a loop over an extent: the rows from the first on, or these in the other order. */
static bool rows_of_extent(const Entry *e, const Op *scan, ValueId id, int *sign) {
  ValueId counter = scan->blocks[0]->args.at[0];
  const Op *op = value_def(e, id);
  *sign = id == counter ? 1 : -1;
  return id == counter || (op && op->kind == OP_SUB && op->operands[1] == counter &&
                           is_last(e, op->operands[0], scan_axis(e, scan)));
}

bool rows_by_counter(const Entry *e, const Op *scan, ValueId id, int64_t depth, int *sign,
                     int64_t *from) {
  int64_t shift, trips = scan_trips(scan);
  *from = 0;
  if (scan_extent(e, scan)) return depth >= trips && rows_of_extent(e, scan, id, sign);
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
  if (n != type_axis(value_type(b->e, table), 0)) table = build_slice(b, table, 0, from, n);
  return sign < 0 ? build_reversed(b, table, 0) : table;
}
