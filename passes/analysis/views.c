/* Views: values that are other names of the same bytes, and ops that only give such names and move
   nothing.
   Contract: pure questions; the decisions of a plan count if the entry has one. */
#include "ir/update.h"
#include "passes/plan/plan_impl.h"

ValueId plan_same(const Entry *e, ValueId v) {
  const Op *def = value_def(e, v);
  if (def) return plan_is_view(e, def) ? def->operands[0] : NO_ID;
  const Op *scan = value_block(e, v)->op;
  int k = (int)value_at(e, v)->index - 1;
  if (!scan || k < 0) return NO_ID;
  return k < scan_carries(scan) ? scan->results[k] : scan->operands[k];
}

/* Rows that lie side by side, at a place that every target takes: all of them or all but one of
   many, so that it costs little to hold the whole for their sake. */
static bool rows_in_place(const Entry *e, const Op *op) {
  if (op->kind != OP_SLICE) return false; /* others may have no operands */
  const Type *x = value_type(e, op->operands[0]), *y = value_type(e, op->results[0]);
  if (!x->rank || !y->numel) return false;
  if (y->dim[0] < x->dim[0] && (x->dim[0] < PLAN_MANY_ROWS || y->dim[0] + 1 < x->dim[0]))
    return false;
  const Ints *start = op->attr[AT_STARTS].ints, *step = op->attr[AT_STEPS].ints;
  for (int i = 0; i < x->rank; i++)
    if (step->at[i] != 1 || (i && x->dim[i] != y->dim[i])) return false;
  return (uint64_t)start->at[0] * (x->bytes / (uint64_t)x->dim[0]) % PLAN_ROW_ALIGN == 0;
}

bool plan_is_view(const Entry *e, const Op *op) {
  if (op->kind != OP_RESHAPE && !rows_in_place(e, op)) return false;
  const Value *x = value_at(e, op->operands[0]), *y = value_at(e, op->results[0]);
  if (op->kind == OP_RESHAPE && reshape_moves(x->type, y->type)) return false;
  if (!x->layout && !y->layout) return true;
  return op->kind == OP_RESHAPE && layout_same_rows(x->type, x->layout, y->type, y->layout);
}

ValueId *plan_viewed(Arena *a, const Entry *e) {
  ValueId *of = ARENA_ARRAY(a, ValueId, e->values.n + 1);
  for (ValueId v = 0; v < e->values.n; v++) of[v] = v;
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    if (plan_is_view(e, op)) of[op->results[0]] = of[op->operands[0]];
  }
  return of;
}

uint64_t plan_shift(const Entry *e, ValueId v) {
  uint64_t shift = 0;
  for (ValueId of; (of = plan_same(e, v)) != NO_ID; v = of) {
    const Op *def = value_def(e, v);
    const Type *t = value_type(e, of);
    if (def && def->kind == OP_SLICE)
      shift += (uint64_t)def->attr[AT_STARTS].ints->at[0] * (t->bytes / (uint64_t)t->dim[0]);
  }
  return shift;
}

bool plan_is_alias(const Entry *e, const Op *op) {
  const Plan *p = plan_of(e);
  if (op->kind == OP_RESHAPE || op->kind == OP_SLICE) {
    ValueId of = op->operands[0], v = op->results[0];
    if (!plan_is_view(e, op)) return false;
    if (!p) return true;
    const Place *x = &p->place[of], *y = &p->place[v];
    return x->region == y->region && x->offset - plan_shift(e, of) == y->offset - plan_shift(e, v);
  }
  if (op->kind != OP_STORE || !p) return false;
  const Place *x = &p->place[op->operands[0]];
  return x->region == PLAN_GLOBALS && x->global == (int)op->attr[AT_GLOBAL].i;
}

bool plan_updates_part(const Entry *e, const Plan *p, const Op *op) {
  const int x = op_updated(e, op);
  if (x < 0) return false;
  const Place *y = &p->place[op->results[0]];
  return y->how == HOW_INPLACE && y->of == op->operands[x];
}
