/* The region of ops that can follow a product row by row, chunk after chunk, so that the product is
   never whole. Contract: reads the IR alone. The region is closed: only the region reads a value as
   wide as the product, and no op in it needs a result of the whole, such as a mean over all rows.
   Sums over rows may be in it: products with the rows as depth, sums of columns. */
#include "passes/shrink/row_tiles_impl.h"

/* So many leading axes are the rows, with the extent that those have. */
static bool leads(const Region *g, const Type *t, int n) {
  Ctx *c = g->e->module->ctx;
  int64_t all = 1;
  bool outermost = true;
  for (int i = 0; i < t->rank; i++) {
    if (type_extent(t, i) && (!outermost || i >= n)) return false;
    outermost &= t->dim[i] == 1;
    if (i < n) all = axis_product(c, all, type_axis(t, i));
  }
  return all == g->axis;
}

int region_lead(const Region *g, const Type *t) {
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) {
    n *= t->dim[i];
    if (n == g->rows) return leads(g, t, i + 1) ? i + 1 : 0;
    if (n > g->rows) return 0;
  }
  return 0;
}

static const Type *operand_type(const Region *g, const Op *op, int i) {
  return value_type(g->e, op->operands[i]);
}

/* ---- ops ---- */

/* Every operand and result has rows, and some axes behind them where rows have elements. */
static bool all_have_rows(const Region *g, const Op *op) {
  for (int i = 0; i < op->noperands; i++)
    if (!region_lead(g, operand_type(g, op, i))) return false;
  for (int i = 0; i < op->nresults; i++)
    if (!region_lead(g, value_type(g->e, op->results[i]))) return false;
  return true;
}

static bool keeps_rows(const Region *g, const Op *op) {
  const Type *x = operand_type(g, op, 0);
  int lead = region_lead(g, x);
  if (op->kind == OP_ARGMAX || op->kind == OP_ARGMIN) return op->attr[AT_AXIS].i >= lead;
  const Ints *axes = op->attr[AT_AXES].ints;
  return axes && axes->n > 0 && axes->at[0] >= lead;
}

static bool spreads_in_rows(const Region *g, const Op *op) {
  const Type *x = operand_type(g, op, 0), *y = value_type(g->e, op->results[0]);
  int lead = region_lead(g, x);
  if (x->rank != y->rank || lead != region_lead(g, y)) return false;
  for (int i = 0; i < lead; i++)
    if (x->dim[i] != y->dim[i]) return false;
  return true;
}

bool region_is_row_op(const Region *g, const Op *op) {
  if (op->nblocks || op->noperands == 0 || op->nresults == 0 || op_accumulator(op) >= 0)
    return false;
  if (op->kind == OP_MATMUL)
    return !op->attr[AT_TA].i && operand_type(g, op, 0)->rank == 2 &&
           type_axis(operand_type(g, op, 0), 0) == g->axis;
  if (!all_have_rows(g, op)) return false;
  switch (op_info[op->kind].cls) {
  case CLASS_ELEMENT: return !(op_info[op->kind].flags & OPF_POSITION);
  case CLASS_ROWS: {
    const Type *t = operand_type(g, op, op->kind == OP_XENT_GRAD);
    return region_lead(g, t) < t->rank;
  }
  case CLASS_REDUCE: return keeps_rows(g, op);
  case CLASS_VIEW:
    if (op->kind == OP_RESHAPE)
      return !reshape_moves(operand_type(g, op, 0), value_type(g->e, op->results[0]));
    return op->kind == OP_BROADCAST && spreads_in_rows(g, op);
  case CLASS_INDEX: return op->kind == OP_ONE_HOT;
  case CLASS_LEAF:
  case CLASS_GLOBAL:
  case CLASS_CONTRACT:
  case CLASS_WINDOW:
  case CLASS_COMPOSITE:
  case CLASS_ATTENTION:
  case CLASS_ORDER:
  case CLASS_COLLECTIVE:
  case CLASS_REGION:
  case CLASS_META: return false;
  }
  return false;
}

static bool is_single(const Region *g, const Op *op) { /* sums are kept as they are added up */
  Dtype dt = value_type(g->e, op->results[0])->dtype;
  return dt == DT_F32 || dt == DT_F64;
}

/* The op adds up what all rows have. */
static bool is_sum(const Region *g, const Op *op) {
  if (op->kind == OP_MATMUL) {
    const Type *x = operand_type(g, op, 0);
    return op->attr[AT_TA].i && !op->attr[AT_TB].i && x->rank == 2 && type_axis(x, 0) == g->axis &&
           is_single(g, op);
  }
  if (op->kind != OP_SUM || !is_single(g, op) || op_accumulator(op) >= 0) return false;
  int lead = region_lead(g, operand_type(g, op, 0));
  const Ints *axes = op->attr[AT_AXES].ints;
  return lead && axes && axes->n == lead && axes->at[lead - 1] == lead - 1;
}

/* ---- closing over the ops ---- */

static bool reads(const Region *g, const Op *op, const bool *what) {
  ValueList read = {0};
  plan_reads(g->a, g->e, op, &read);
  for (uint32_t i = 0; i < read.n; i++)
    if (what[read.at[i]]) return true;
  return false;
}

static void mark_operands(const Op *op, bool *what) {
  for (int i = 0; i < op->nresults; i++) what[op->results[i]] = true;
}

/* The right side of a product is whole for every row. */
static bool reads_rows_as_whole(const Region *g, const Op *op) {
  return op->kind == OP_MATMUL && !op->attr[AT_TA].i && g->by_row[op->operands[1]];
}

static void take_all(Region *g) {
  const Block *body = g->e->body;
  uint32_t first = 0;
  while (body->ops.at[first] != g->root->id) first++;
  for (uint32_t i = first; i < body->ops.n; i++) {
    const Op *op = op_at(g->e, body->ops.at[i]);
    bool rows = op == g->root || reads(g, op, g->by_row);
    bool late = reads(g, op, g->late) || reads(g, op, g->summed);
    if (!rows && !late) continue;
    if (late || reads_rows_as_whole(g, op)) {
      mark_operands(op, g->late);
    } else if (region_is_row_op(g, op)) {
      g->in[op->id] = true;
      mark_operands(op, g->by_row);
    } else if (is_sum(g, op)) {
      g->in[op->id] = true;
      mark_operands(op, g->summed);
    } else {
      mark_operands(op, g->late);
    }
  }
}

static bool is_wide(const Region *g, ValueId v) {
  return region_width(g, value_type(g->e, v)) >= g->wide;
}

/* Leaves out what is done on narrow rows that come to nothing wide again. */
static void leave_narrow(Region *g) {
  const Block *body = g->e->body;
  bool *wanted = ARENA_ARRAY(g->a, bool, g->e->values.n);
  for (uint32_t i = body->ops.n; i-- > 0;) {
    const Op *op = op_at(g->e, body->ops.at[i]);
    if (!g->in[op->id]) continue;
    bool keep = false;
    for (int k = 0; k < op->noperands; k++)
      keep |= g->by_row[op->operands[k]] && is_wide(g, op->operands[k]);
    for (int k = 0; k < op->nresults; k++)
      keep |= wanted[op->results[k]] || (g->by_row[op->results[k]] && is_wide(g, op->results[k]));
    g->in[op->id] = keep;
    for (int k = 0; keep && k < op->noperands; k++) wanted[op->operands[k]] = true;
    for (int k = 0; !keep && k < op->nresults; k++)
      g->by_row[op->results[k]] = g->summed[op->results[k]] = false;
  }
}

static bool is_made(const Region *g, ValueId v) { return g->by_row[v] || g->summed[v]; }

/* What stays outside and needs the loop; what the loop gives; false where that is the whole. */
static bool look_outside(Region *g) {
  const Block *body = g->e->body;
  ValueList read = {0};
  memset(g->late, 0, sizeof *g->late * g->e->values.n);
  bool gives = false;
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(g->e, body->ops.at[i]);
    if (g->in[op->id]) {
      g->last = op->id;
      g->backward |= op->backward;
      g->nsums += g->summed[op->results[0]];
      continue;
    }
    plan_reads(g->a, g->e, op, &read);
    for (uint32_t k = 0; k < read.n; k++) {
      ValueId v = read.at[k];
      if (!is_made(g, v) && !g->late[v]) continue;
      mark_operands(op, g->late);
      g->waits[op->id] = true;
      if (!is_made(g, v)) continue;
      if (g->by_row[v] && is_wide(g, v)) {
        g->what = op;
        return false;
      }
      g->given[v] = gives = true;
    }
  }
  return gives;
}

void region_free(Region *g) {
  if (g->a) arena_free(g->a);
  g->a = NULL;
}

bool region_find(Region *g, const Entry *e, const Op *root, int64_t chunk) {
  enum { UNROLLED = 64 }; /* chunks of bounded rows, which are larger where there were more */
  const Type *t = value_type(e, root->results[0]);
  *g = (Region){.e = e, .root = root, .chunk = chunk};
  if (root->attr[AT_TA].i || t->rank != 2 || root->parent != e->body) return false;
  g->rows = t->dim[0];
  g->axis = type_axis(t, 0);
  while (type_extent(t, 0) && g->rows / g->chunk > UNROLLED && g->rows % (2 * g->chunk) == 0)
    g->chunk *= 2;
  g->wide = t->dim[1];
  if (g->rows <= chunk || g->wide <= value_type(e, root->operands[0])->dim[1]) return false;
  Arena *a = g->a = arena_new();
  g->in = ARENA_ARRAY(a, bool, e->ops.n);
  g->waits = ARENA_ARRAY(a, bool, e->ops.n);
  g->by_row = ARENA_ARRAY(a, bool, e->values.n);
  g->summed = ARENA_ARRAY(a, bool, e->values.n);
  g->late = ARENA_ARRAY(a, bool, e->values.n);
  g->given = ARENA_ARRAY(a, bool, e->values.n);
  take_all(g);
  leave_narrow(g);
  return look_outside(g);
}
