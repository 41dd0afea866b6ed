/* How ops keep, move and sum values by rows; see aggregate.c. Contract: a value is called by rows
   only if each part of it follows from one row of the batch. */
#include "ir/aggregate_impl.h"

/* The operands that are by rows are so alike, and the others are the same in all batches; else
   `other`. */
static State common_rows(const Walk *w, const Op *op) {
  State rows = other;
  for (int i = 0; i < op->noperands; i++) {
    State s = w->of[op->operands[i]];
    if (s.how == SAME) continue;
    if (s.how != BY_ROW || (rows.how == BY_ROW && !same_rows(rows, s))) return other;
    rows = s;
  }
  return rows;
}

bool aggregate_has_batch(const Walk *w, const Extent *x) {
  bool found = x == w->extent;
  for (int i = 0; x && x->nfactors > 1 && i < x->nfactors; i++) found |= x->factor[i] == w->extent;
  return found;
}

/* The axis of the result that has the rows: in row-major order as many elements stand before them
   as in the operand. */
static State reshaped(const Walk *w, ValueId from, ValueId to) {
  Ctx *c = w->e->module->ctx;
  const Type *x = value_type(w->e, from), *y = value_type(w->e, to);
  const State s = w->of[from];
  int64_t batch = w->extent ? axis_of_extent(w->extent, 1) : w->rows, before = s.outer;
  for (int i = 0; i < s.axis; i++) before = axis_product(c, before, type_axis(x, i));
  for (int i = 0; i < y->rank && before; i++) { /* what is before the rows, from axis i on */
    int64_t rows = axis_product(c, before, batch);
    if (rows && axis_quotient(c, type_axis(y, i), rows)) return by_row(i, before);
    before = axis_quotient(c, before, type_axis(y, i));
  }
  return other;
}

static bool has_axis(const Ints *axes, int axis) {
  for (int i = 0; axes && i < axes->n; i++)
    if (axes->at[i] == axis) return true;
  return false;
}

static State view_of_rows(const Walk *w, const Op *op, State s) {
  int axis = s.axis;
  const Type *x = value_type(w->e, op->operands[0]), *y = value_type(w->e, op->results[0]);
  switch ((int)op->kind) {
  case OP_COPY: return s;
  case OP_RESHAPE: return reshaped(w, op->operands[0], op->results[0]);
  case OP_TRANSPOSE:
    for (int i = 0; i < y->rank; i++)
      if (op->attr[AT_PERM].ints->at[i] == axis) return moved_to(s, i);
    return other;
  case OP_BROADCAST: return moved_to(s, axis + y->rank - x->rank);
  case OP_REVERSE: return has_axis(op->attr[AT_AXES].ints, axis) ? other : s;
  case OP_CONCAT: return op->attr[AT_AXIS].i == axis ? other : s;
  case OP_SLICE:
  case OP_PAD: return type_axis(x, axis) == type_axis(y, axis) ? s : other;
  default: return other;
  }
}

Aggregate aggregate_of_reduction(OpKind k) {
  return k == OP_SUM          ? AGGREGATE_SUM
         : k == OP_REDUCE_MAX ? AGGREGATE_MAX
         : k == OP_REDUCE_MIN ? AGGREGATE_MIN
                              : AGGREGATE_NONE;
}

static State reduced(const Op *op, State s) {
  int axis = s.axis;
  if (op->kind == OP_ARGMAX || op->kind == OP_ARGMIN) {
    int64_t at = op->attr[AT_AXIS].i;
    return at == axis ? other : moved_to(s, axis - (at < axis));
  }
  const Ints *axes = op->attr[AT_AXES].ints;
  if (has_axis(axes, axis)) return whole(aggregate_of_reduction(op->kind));
  int before = 0;
  for (int i = 0; axes && i < axes->n; i++) before += axes->at[i] < axis;
  return moved_to(s, axis - before);
}

/* Scales of a quantized operand go with it. */
static bool scales_go_along(const Walk *w, const Op *op) {
  for (int i = 2; i < op->noperands; i++) {
    State of = w->of[op->operands[i - (op->noperands == 4 ? 2 : 1)]], s = w->of[op->operands[i]];
    if (s.how != of.how || (s.how == BY_ROW && !same_rows(s, of))) return false;
  }
  return true;
}

State aggregate_of_product(const Walk *w, const Op *op) {
  if (!scales_go_along(w, op)) return other;
  State s[2] = {w->of[op->operands[0]], w->of[op->operands[1]]};
  int rank = value_type(w->e, op->operands[0])->rank, sums = 0;
  bool quantized = op->kind == OP_QUANTIZED_MATMUL || op->kind == OP_SCALED_MATMUL;
  bool ta = op->attr[AT_TA].i, tb = quantized ? op->attr[AT_AXIS].i == 1 : op->attr[AT_TB].i;
  int inner[2] = {ta ? rank - 2 : rank - 1, tb ? rank - 1 : rank - 2};
  if (s[0].how == WHOLE || s[1].how == WHOLE) { /* linear in either */
    State x = s[0].how == WHOLE ? s[0] : s[1], y = s[0].how == WHOLE ? s[1] : s[0];
    return y.how == SAME && (is_sum(x) || is(x, AGGREGATE_MEAN)) ? x : other;
  }
  for (int i = 0; i < 2; i++) sums += s[i].how == BY_ROW && s[i].axis == inner[i];
  bool both = s[0].how == BY_ROW && s[1].how == BY_ROW;
  if (both && s[0].outer != s[1].outer) return other;
  if (sums) return both && sums < 2 ? other : whole(AGGREGATE_SUM);
  if (both) return s[0].axis == s[1].axis && s[0].axis < rank - 2 ? s[0] : other;
  State x = s[0].how == BY_ROW ? s[0] : s[1];
  if (x.axis < rank - 2) return x;
  return moved_to(x, s[0].how == BY_ROW ? rank - 2 : rank - 1);
}

static State indexed(const Walk *w, const Op *op, State rows) {
  State table = w->of[op->operands[0]];
  int axis = rows.axis, batch = op->kind == OP_GATHER ? (int)op->attr[AT_BATCH].i : 0;
  switch ((int)op->kind) {
  case OP_ONE_HOT: return rows;
  case OP_GATHER: {
    State ids = w->of[op->operands[1]];
    int inner =
        value_type(w->e, op->operands[1])->rank - batch - 1; /* axes more than the table's */
    if (axis < batch || table.how == SAME) return rows;
    return ids.how == SAME && axis > batch ? moved_to(rows, axis + inner) : other;
  }
  case OP_DYNAMIC_UPDATE:
    return axis != op->attr[AT_AXIS].i && w->of[op->operands[2]].how == SAME ? rows : other;
  default: return other;
  }
}

static bool has_filters(const Op *op) {
  return op->kind == OP_CONV || op->kind == OP_CONV_INPUT_GRAD || op->kind == OP_CONV_FILTER_GRAD;
}

/* Only the first operand is by rows: filters and statistics are the same for all. */
static bool rest_is_same(const Walk *w, const Op *op) {
  for (int i = 1; i < op->noperands; i++)
    if (w->of[op->operands[i]].how != SAME) return false;
  return true;
}

State aggregate_of_rows(const Walk *w, const Op *op) {
  const Type *x = value_type(w->e, op->operands[0]);
  const State rows = common_rows(w, op);
  int axis = rows.axis;
  if (rows.how == OTHER && op_info[op->kind].cls != CLASS_CONTRACT) return other;
  switch ((int)op_info[op->kind].cls) {
  case CLASS_ELEMENT: return rows;
  case CLASS_VIEW: return view_of_rows(w, op, rows);
  case CLASS_REDUCE: return op->noperands == 1 ? reduced(op, rows) : other;
  case CLASS_CONTRACT: return aggregate_of_product(w, op);
  case CLASS_WINDOW: return axis == 0 && (!has_filters(op) || rest_is_same(w, op)) ? rows : other;
  case CLASS_COMPOSITE:
    if (op->kind == OP_VARIANCE) return reduced(op, rows);
    if (op->kind == OP_QUANTIZE_SCALE || op->kind == OP_QUANTIZE || op->kind == OP_DEQUANTIZE)
      return axis == op->attr[AT_AXIS].i ? other : rows;
    return axis == 0 && rest_is_same(w, op) ? rows : other;
  case CLASS_ATTENTION: return axis < x->rank - 3 ? rows : other;
  case CLASS_INDEX: return indexed(w, op, rows);
  case CLASS_ORDER: {
    bool along = op->kind == OP_ARGSORT ? axis == x->rank - 1 : axis == op->attr[AT_AXIS].i;
    return along ? other : rows;
  }
  case CLASS_ROWS: return axis < x->rank - 1 ? rows : other;
  case CLASS_META: return op->kind == OP_STOP_GRADIENT ? rows : other;
  default: return other;
  }
}
