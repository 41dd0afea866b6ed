/* Operands that an op may overwrite with its result, for the checker of a plan.
   Contract: a rule of its own, which shares nothing with the planner's (inplace_rule.c). An op that
   the rule does not understand is refused. */
#include "passes/verify/verify_impl.h"

static bool equal_dims(const Type *a, const Type *b, int n) {
  for (int i = 0; i < n; i++)
    if (a->dim[i] != b->dim[i]) return false;
  return true;
}

/* Which elements of an inner value are wanted while the result's element at one position is made; a
   value can be wanted in several ways. Found from the yields upwards. */
enum {
  AT_ELEMENT = 1, /* the element at the same position */
  AT_ROW = 2,     /* elements of the same row, before any of its results is written */
  ANYWHERE = 4    /* others, too */
};

typedef struct Want {
  const Entry *e;
  const Type *full;
  bool rows;           /* of a product: what keeps the last axis is the full shape, too */
  unsigned char *want; /* by value, from `base` */
  ValueId base;
  int lead; /* leading axes of a row, -1: no reduction was seen */
} Want;

static bool is_full(const Want *w, ValueId v) {
  const Type *t = value_type(w->e, v);
  return type_same_dims(t, w->full) || (w->rows && type_same_rows(t, w->full));
}

/* One row a position: [lead axes] with extents 1 behind them. */
static bool is_row(const Want *w, ValueId v) {
  const Type *t = value_type(w->e, v);
  if (w->lead < 0 || t->rank < w->lead || !equal_dims(t, w->full, w->lead)) return false;
  for (int i = w->lead; i < t->rank; i++)
    if (t->dim[i] != 1) return false;
  return true;
}

static void want_all(Want *w, const Op *op, unsigned how) {
  for (int i = 0; i < op->noperands; i++) w->want[op->operands[i] - w->base] |= (unsigned char)how;
}

static void want_reduce(Want *w, const Op *op, unsigned how) {
  ValueId x = op->operands[0];
  const Type *t = value_type(w->e, x);
  int lead = t->rank - 1;
  bool inner = true;
  if (op->kind == OP_ARGMAX || op->kind == OP_ARGMIN) {
    inner = op->attr[AT_AXIS].i == t->rank - 1;
  } else {
    const Ints *axes = op->attr[AT_AXES].ints;
    lead = t->rank - (axes ? axes->n : 0);
    for (int i = 0; axes && i < axes->n; i++) inner &= axes->at[i] == lead + i;
    inner &= axes && axes->n > 0;
  }
  if (!inner)
    how |= ANYWHERE;
  else if (is_full(w, x) && w->lead != lead)
    how |= ANYWHERE;
  else if (!is_full(w, x) && (how & (AT_ELEMENT | AT_ROW)) == AT_ROW)
    how |= ANYWHERE;
  want_all(w, op, is_full(w, x) ? (how & ANYWHERE) | AT_ROW : how);
  if (op->noperands > 1) w->want[op->operands[1] - w->base] |= ANYWHERE;
}

static void want_view(Want *w, const Op *op, unsigned how) {
  ValueId x = op->operands[0], y = op->results[0];
  if (op->kind == OP_COPY) {
    want_all(w, op, how);
    return;
  }
  const Type *from = value_type(w->e, x), *to = value_type(w->e, y);
  bool spreads = op->kind == OP_BROADCAST && is_row(w, x) && is_full(w, y) &&
                 (from->rank == to->rank || w->lead == 0);
  bool renames = op->kind == OP_RESHAPE && is_row(w, x) && is_row(w, y);
  if (w->rows && op->kind == OP_RESHAPE && is_full(w, x) && is_full(w, y))
    want_all(w, op, how);
  else
    want_all(w, op, spreads || renames ? AT_ROW | (how & ANYWHERE) : ANYWHERE);
}

static void want_rows(Want *w, const Op *op, unsigned how) {
  if (w->lead != w->full->rank - 1) how |= ANYWHERE;
  for (int i = 0; i < op->noperands; i++) {
    ValueId x = op->operands[i];
    unsigned want = is_full(w, x) || is_row(w, x) ? AT_ROW | (how & ANYWHERE) : ANYWHERE;
    w->want[x - w->base] |= (unsigned char)want;
  }
}

/* A dynamic_update leaves what it does not write. */
static void want_index(Want *w, const Op *op, unsigned how) {
  for (int i = 0; i < op->noperands; i++) {
    const bool stays = op->kind == OP_DYNAMIC_UPDATE && i == 0;
    w->want[op->operands[i] - w->base] |= (unsigned char)(stays ? how : ANYWHERE);
  }
}

/* The number of leading axes that all reductions of full values leave, or -1. */
static int row_lead(const Entry *e, const Block *b, const Type *full) {
  Want w = {.e = e, .full = full, .lead = -1};
  int lead = -1;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op_info[op->kind].cls == CLASS_ROWS) lead = full->rank - 1;
    if (op_info[op->kind].cls != CLASS_REDUCE || !is_full(&w, op->operands[0])) continue;
    int n = op->kind == OP_ARGMAX || op->kind == OP_ARGMIN ? 1
            : op->attr[AT_AXES].ints                       ? op->attr[AT_AXES].ints->n
                                                           : 0;
    lead = full->rank - n;
  }
  return lead;
}

/* Ids of the block's values lie in [*base, *base + the number returned). */
static size_t id_span(const Entry *e, const Block *b, ValueId *base) {
  ValueId min = NO_ID, max = 0;
  for (uint32_t i = 0; i < b->args.n + b->ops.n; i++) {
    const Op *op = i < b->args.n ? NULL : op_at(e, b->ops.at[i - b->args.n]);
    const ValueId *v = op ? op->results : &b->args.at[i];
    for (int k = 0; k < (op ? op->nresults : 1); k++) {
      min = v[k] < min ? v[k] : min;
      max = v[k] > max ? v[k] : max;
    }
  }
  *base = min;
  return (size_t)(max - min) + 1;
}

static bool wants_allow(Want *w, const Op *op, int result, int operand) {
  const Entry *e = w->e;
  const Block *b = op->blocks[0];
  ValueId arg = b->args.at[operand];
  for (uint32_t i = b->ops.n; i-- > 0;) {
    const Op *x = op_at(e, b->ops.at[i]);
    unsigned how = 0;
    if (x->nblocks) return false;
    if (x->kind == OP_YIELD) {
      for (int k = 0; k < x->noperands; k++) {
        if (x->operands[k] == arg) return false;
        w->want[x->operands[k] - w->base] |= AT_ELEMENT;
      }
      if (!is_full(w, x->operands[result])) return false;
      continue;
    }
    for (int k = 0; k < x->nresults; k++) how |= w->want[x->results[k] - w->base];
    if (!how) continue;
    switch (op_info[x->kind].cls) {
    case CLASS_ELEMENT: want_all(w, x, how); break;
    case CLASS_REDUCE: want_reduce(w, x, how); break;
    case CLASS_VIEW: want_view(w, x, how); break;
    case CLASS_ROWS: want_rows(w, x, how); break;
    case CLASS_INDEX: want_index(w, x, how); break;
    case CLASS_LEAF:
    case CLASS_GLOBAL:
    case CLASS_CONTRACT:
    case CLASS_WINDOW:
    case CLASS_COMPOSITE:
    case CLASS_ATTENTION:
    case CLASS_ORDER:
    case CLASS_COLLECTIVE:
    case CLASS_REGION:
    case CLASS_META: want_all(w, x, ANYWHERE); break;
    }
  }
  if (w->want[arg - w->base] & ANYWHERE) return false;
  return !(w->want[arg - w->base] & AT_ROW) || !value_at(e, op->operands[operand])->layout;
}

/* One element after the other, whatever shape it has before and behind. */
static bool has_product(const Entry *e, const Op *op) {
  for (uint32_t i = 0; op->kind == OP_KERNEL && i < op->blocks[0]->ops.n; i++)
    if (op_info[op_at(e, op->blocks[0]->ops.at[i])->kind].cls == CLASS_CONTRACT) return true;
  return false;
}

static bool kernel_allows(const Entry *e, const Op *op, int result, int operand) {
  Arena *a = arena_new();
  Want w = {.e = e, .full = value_type(e, op->operands[operand])};
  w.want = ARENA_ARRAY(a, unsigned char, id_span(e, op->blocks[0], &w.base));
  w.rows = has_product(e, op);
  w.lead = row_lead(e, op->blocks[0], w.full);
  bool ok = wants_allow(&w, op, result, operand);
  arena_free(a);
  return ok;
}

/* Axes with more than one element outside of bounded ones leave gaps between what a run has. */
static bool has_gaps(const Type *t) {
  bool gaps = false, outer = false;
  for (int i = 0; i < t->rank; i++) {
    gaps |= outer && type_extent(t, i) != NULL;
    outer |= t->dim[i] > 1;
  }
  return gaps;
}

/* Elements keep their order, and on one side there are no gaps: all go the same way. */
static bool reshape_allows(const Value *x, const Value *y) {
  return !x->layout && !y->layout && x->type->numel == y->type->numel &&
         x->type->dtype == y->type->dtype && (!has_gaps(x->type) || !has_gaps(y->type));
}

bool verify_overwrite(const Target *t, const Entry *e, const Op *op, int result, int operand) {
  const Value *x = value_at(e, op->operands[operand]), *y = value_at(e, op->results[result]);
  if (op->kind == OP_RESHAPE && t->moves_in_place) return reshape_allows(x, y);
  bool same = type_same_dims(x->type, y->type);
  if (!same && !x->layout && has_product(e, op)) same = type_same_rows(x->type, y->type);
  if (x->layout != y->layout || !same || dtype_size(x->type->dtype) != dtype_size(y->type->dtype))
    return false;
  if (op->kind == OP_KERNEL) return kernel_allows(e, op, result, operand);
  if (op->kind == OP_DYNAMIC_UPDATE) /* all of y is in its place, and nothing is read from there */
    return operand == 0 && !(x->layout && x->layout->nr);
  if (op->kind == OP_CUMSUM) return !x->layout; /* read where the sum is written, right before */
  if (op->kind == OP_GATHER_GRAD && x->layout) return false;
  if (op->kind == OP_SUM || op->kind == OP_CONV_FILTER_GRAD || op->kind == OP_GATHER_GRAD) {
    int last = op->kind == OP_SUM ? 1 : 2; /* only what it goes on from */
    for (int k = 0; k < last; k++)
      if (op->operands[k] == op->operands[operand]) return false;
    return operand == last;
  }
  if (op->kind == OP_COPY || op_info[op->kind].cls == CLASS_ELEMENT) return true;
  if (op->kind == OP_ALL_REDUCE || op->kind == OP_COLLECTIVE_BROADCAST)
    return operand == result; /* the runtime does it in place */
  if (op_info[op->kind].cls != CLASS_ROWS || x->layout) return false;
  return x->type == y->type; /* every operand of the result's own shape is read row by row */
}
