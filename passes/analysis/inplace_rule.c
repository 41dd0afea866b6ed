/* The rule of in-place results: may a result lie in the bytes of an operand? The op or kernel alone
   decides; lives are not asked.
   Contract: true only if every element of the operand is last read by the computation of the
   element that overwrites it. A row counts as one element: it is all trailing axes that a reduction
   or a row op covers. Codegen writes the results of a row after all reads of that row. */
#include "passes/plan/plan_impl.h"

/* Members of a kernel with a product stand in row-major order, each element alone. */
static bool has_product(const Entry *e, const Op *op) {
  const Block *b = op->kind == OP_KERNEL ? op->blocks[0] : NULL;
  for (uint32_t i = 0; b && i < b->ops.n; i++)
    if (op_info[op_at(e, b->ops.at[i])->kind].cls == CLASS_CONTRACT) return true;
  return false;
}

/* Equal positions of elements: the same shape, element size and layout. A reshape is as good where
   the kernel has a product and both are row-major. */
static bool same_storage(const Entry *e, const Op *op, ValueId x, ValueId y) {
  const Type *a = value_type(e, x), *b = value_type(e, y);
  const Layout *l = value_at(e, x)->layout;
  if (dtype_size(a->dtype) != dtype_size(b->dtype) || value_at(e, y)->layout != l) return false;
  return type_same_dims(a, b) || (!l && type_same_rows(a, b) && has_product(e, op));
}

/* Operands of a row op that are whole rows of its result's shape. */
static bool rows_operand(const Op *op, int operand) {
  switch ((int)op->kind) {
  case OP_SOFTMAX:
  case OP_LOG_SOFTMAX:
  case OP_LAYER_NORM:
  case OP_RMS_NORM: return operand == 0;
  case OP_LAYER_NORM_GRAD:
  case OP_RMS_NORM_GRAD:
  case OP_SOFTMAX_GRAD:
  case OP_LOG_SOFTMAX_GRAD: return operand <= 1;
  case OP_XENT_GRAD: return operand == 1;
  default: return false;
  }
}

/* ---- kernels ---- */

/* How an inner value depends on the operand that would be overwritten. */
typedef enum Dep {
  DEP_NONE, /* not at all */
  DEP_FULL, /* it has the operand's shape, and an element depends on its own row alone */
  DEP_ROW,  /* it has the leading axes alone, and an element depends on the row there */
  DEP_LESS, /* less than a row each: a sum of rows; must not come back to the full shape */
  DEP_BAD   /* anything else */
} Dep;

typedef struct KernelRule {
  const Entry *e;
  const Type *full; /* shape of the operand, and of the result, but for a reshape of a product */
  bool product; /* it has one: elements of full shapes are made one by one, in row-major order */
  int row;      /* leading axes that number the rows: -1 until a reduction says */
  Dep *dep;     /* by value id, from `base` */
  ValueId base;
} KernelRule;

static Dep dep_of(const KernelRule *k, ValueId v) { return k->dep[v - k->base]; }

/* The reduction leaves the first `lead` axes of its operand: are they all that it leaves? */
static bool trailing(const Op *op, const Type *t, int *lead) {
  if (op->kind == OP_ARGMAX || op->kind == OP_ARGMIN) {
    *lead = t->rank - 1;
    return op->attr[AT_AXIS].i == t->rank - 1;
  }
  const Ints *axes = op->attr[AT_AXES].ints;
  int n = axes ? axes->n : 0;
  *lead = t->rank - n;
  return n > 0 && axes->at[0] == t->rank - n; /* ascending: so it is all from there on */
}

static Dep set_row(KernelRule *k, int lead) {
  if (k->row >= 0 && k->row != lead) return DEP_BAD;
  k->row = lead;
  return DEP_ROW;
}

static Dep reduce_dep(KernelRule *k, const Op *op) {
  if (op_accumulator(op) >= 0 && dep_of(k, op->operands[op_accumulator(op)]) != DEP_NONE)
    return DEP_BAD;
  Dep d = dep_of(k, op->operands[0]);
  int lead;
  if (d == DEP_NONE) return DEP_NONE;
  if (!trailing(op, value_type(k->e, op->operands[0]), &lead))
    return DEP_BAD; /* columns are summed over rows: no row is done with before the last */
  if (d == DEP_FULL) return set_row(k, lead);
  return d == DEP_ROW || d == DEP_LESS ? DEP_LESS : DEP_BAD;
}

/* Row values [lead…] may become [lead…, 1…] and then the full shape; behind a product the full
   shape may become another one. */
static Dep view_dep(KernelRule *k, const Op *op) {
  Dep d = dep_of(k, op->operands[0]);
  if (d == DEP_FULL && op->kind == OP_RESHAPE && k->product &&
      type_same_rows(value_type(k->e, op->results[0]), k->full))
    return DEP_FULL;
  const Type *t = value_type(k->e, op->results[0]);
  if (d != DEP_ROW || t->rank < k->row) return d == DEP_NONE ? DEP_NONE : DEP_BAD;
  const Type *from = value_type(k->e, op->operands[0]);
  for (int i = 0; i < k->row; i++)
    if (i >= from->rank || from->dim[i] != k->full->dim[i] || t->dim[i] != k->full->dim[i])
      return DEP_BAD;
  for (int i = k->row; i < from->rank; i++)
    if (from->dim[i] != 1) return DEP_BAD;
  if (op->kind == OP_RESHAPE) return t->numel == from->numel ? DEP_ROW : DEP_BAD;
  if (op->kind == OP_BROADCAST && type_same_dims(t, k->full) &&
      (from->rank == t->rank || k->row == 0))
    return DEP_FULL;
  return DEP_BAD;
}

static Dep rows_dep(KernelRule *k, const Op *op) {
  Dep worst = DEP_NONE;
  for (int i = 0; i < op->noperands; i++) {
    Dep d = dep_of(k, op->operands[i]);
    bool is_row = value_type(k->e, op->operands[i])->rank < k->full->rank;
    if (d == DEP_NONE) continue;
    if (d == DEP_BAD || d == DEP_LESS || (d == DEP_ROW) != is_row) return DEP_BAD;
    if (set_row(k, k->full->rank - 1) == DEP_BAD) return DEP_BAD;
    worst = DEP_FULL;
  }
  if (worst == DEP_NONE) return DEP_NONE;
  return value_type(k->e, op->results[0])->rank == k->full->rank ? DEP_FULL : DEP_ROW;
}

static Dep element_dep(const KernelRule *k, const Op *op) {
  Dep d = DEP_NONE;
  for (int i = 0; i < op->noperands; i++) {
    Dep x = dep_of(k, op->operands[i]);
    if (x == DEP_NONE) continue;
    if (d != DEP_NONE && d != x) return DEP_BAD; /* one shape, two levels: an axis of extent 1 */
    d = x;
  }
  return d;
}

static Dep any_dep(const KernelRule *k, const Op *op) {
  for (int i = 0; i < op->noperands; i++)
    if (dep_of(k, op->operands[i]) != DEP_NONE) return DEP_BAD;
  return DEP_NONE;
}

/* What is written does not depend on what stays. */
static Dep update_dep(const KernelRule *k, const Op *op) {
  if (dep_of(k, op->operands[1]) != DEP_NONE || dep_of(k, op->operands[2]) != DEP_NONE)
    return DEP_BAD;
  return dep_of(k, op->operands[0]);
}

static Dep op_dep(KernelRule *k, const Op *op) {
  if (op->nblocks) return DEP_BAD;
  switch (op_info[op->kind].cls) {
  case CLASS_ELEMENT: return element_dep(k, op);
  case CLASS_REDUCE: return reduce_dep(k, op);
  case CLASS_ROWS: return rows_dep(k, op);
  case CLASS_VIEW: return op->kind == OP_COPY ? element_dep(k, op) : view_dep(k, op);
  case CLASS_INDEX:
    if (op->kind == OP_DYNAMIC_UPDATE) return update_dep(k, op);
    return any_dep(k, op);
  case CLASS_LEAF: /* in a loop, a draw reads its place for every element */
  case CLASS_CONTRACT:
  case CLASS_WINDOW:
  case CLASS_COMPOSITE:
  case CLASS_ATTENTION:
  case CLASS_ORDER: return any_dep(k, op);
  case CLASS_GLOBAL:
  case CLASS_COLLECTIVE:
  case CLASS_REGION:
  case CLASS_META: return DEP_BAD;
  }
  return DEP_BAD;
}

static void value_range(const Entry *e, const Block *b, ValueId *lo, ValueId *hi) {
  *lo = NO_ID;
  *hi = 0;
  for (uint32_t i = 0; i < b->args.n; i++) {
    if (b->args.at[i] < *lo) *lo = b->args.at[i];
    if (b->args.at[i] > *hi) *hi = b->args.at[i];
  }
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    for (int r = 0; r < op->nresults; r++) {
      if (op->results[r] < *lo) *lo = op->results[r];
      if (op->results[r] > *hi) *hi = op->results[r];
    }
  }
}

/* A kernel has rows of one kind: what is reduced over a row, this operand or not, leaves the same
 * axes. */
static bool one_kind_of_row(const KernelRule *k, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(k->e, b->ops.at[i]);
    int lead = k->full->rank - 1;
    OpClass cls = op_info[op->kind].cls;
    if (cls != CLASS_REDUCE && cls != CLASS_ROWS) continue;
    if (cls == CLASS_REDUCE) {
      const Type *t = value_type(k->e, op->operands[0]);
      if (!type_same_dims(t, k->full)) continue;
      trailing(op, t, &lead);
    }
    if (lead != k->row) return false;
  }
  return true;
}

static bool kernel_ok(const Entry *e, const Op *op, int result, int operand) {
  const Block *b = op->blocks[0];
  ValueId lo, hi;
  value_range(e, b, &lo, &hi);
  Arena *a = arena_new();
  KernelRule k = {.e = e, .full = value_type(e, op->operands[operand]), .row = -1, .base = lo};
  k.product = has_product(e, op);
  k.dep = ARENA_ARRAY(a, Dep, hi - lo + 1);
  k.dep[b->args.at[operand] - lo] = DEP_FULL;
  bool ok = true;
  for (uint32_t i = 0; ok && i < b->ops.n; i++) {
    const Op *inner = op_at(e, b->ops.at[i]);
    if (inner->kind == OP_YIELD) {
      for (int y = 0; y < inner->noperands; y++) /* an operand that is also a result stays whole */
        ok &= inner->operands[y] != b->args.at[operand];
      const Type *t = value_type(e, inner->operands[result]);
      ok &= type_same_dims(t, k.full) || (k.product && type_same_rows(t, k.full));
      break;
    }
    Dep d = op_dep(&k, inner);
    ok &= d != DEP_BAD;
    for (int r = 0; r < inner->nresults; r++) {
      bool less = value_type(e, inner->results[r])->rank < k.full->rank;
      bool row = op_info[inner->kind].cls == CLASS_ROWS && d == DEP_FULL && less;
      k.dep[inner->results[r] - lo] = row ? DEP_ROW : d;
    }
  }
  if (k.row >= 0 && (value_at(e, op->operands[operand])->layout || !one_kind_of_row(&k, b)))
    ok = false;
  arena_free(a);
  return ok;
}

/* The accumulator: each element is read by the thread that writes it, or before any is written. */
static bool is_accumulator(const Op *op, int operand) {
  for (int i = 0; i < op->noperands; i++)
    if (i != operand && op->operands[i] == op->operands[operand]) return false;
  return operand == op_accumulator(op);
}

const char *op_inplace_refusal(const Target *t, const Entry *e, const Op *op, int result,
                               int operand) {
  ValueId x = op->operands[operand], y = op->results[result];
  const Type *a = value_type(e, x), *b = value_type(e, y);
  if (op_inplace_ok(t, e, op, result, operand)) return NULL;
  if (dtype_size(a->dtype) != dtype_size(b->dtype)) return "has elements of another size";
  if (!type_same_dims(a, b)) return "has another shape";
  if (value_at(e, x)->layout != value_at(e, y)->layout) return "has another layout";
  return "is read elsewhere than the result is written";
}

/* The elements that a run has lie side by side: only the outermost axis is bounded. */
static bool lies_dense(const Type *t) {
  int64_t outer = 1;
  for (int i = 0; i < t->rank; outer *= t->dim[i++])
    if (type_extent(t, i) && outer != 1) return false;
  return true;
}

/* A reshape that moves elements keeps their order. Those of one side lie side by side, so each of
   them goes to no later place, or each to no earlier one: the first ones, or the last ones, go
   first. */
static bool moves_one_way(const Entry *e, const Op *op) {
  const Value *x = value_at(e, op->operands[0]), *y = value_at(e, op->results[0]);
  if (op->kind != OP_RESHAPE || !reshape_moves(x->type, y->type) || x->layout || y->layout)
    return false;
  return lies_dense(x->type) || lies_dense(y->type);
}

bool op_inplace_ok(const Target *t, const Entry *e, const Op *op, int result, int operand) {
  ValueId x = op->operands[operand], y = op->results[result];
  if (t->moves_in_place && moves_one_way(e, op)) return true;
  if (!same_storage(e, op, x, y)) return false;
  switch (op_info[op->kind].cls) {
  case CLASS_ELEMENT: return true;
  case CLASS_ROWS: return rows_operand(op, operand) && !value_at(e, x)->layout;
  case CLASS_INDEX:
    if (op->kind == OP_GATHER_GRAD) return is_accumulator(op, operand) && !value_at(e, x)->layout;
    return op->kind == OP_DYNAMIC_UPDATE && operand == 0 &&
           !(value_at(e, x)->layout && value_at(e, x)->layout->nr);
  case CLASS_ORDER: return op->kind == OP_CUMSUM && !value_at(e, x)->layout;
  case CLASS_COLLECTIVE:
    return (op->kind == OP_ALL_REDUCE || op->kind == OP_COLLECTIVE_BROADCAST) && result == operand;
  case CLASS_VIEW: return op->kind == OP_COPY || plan_is_view(e, op);
  case CLASS_REGION: /* a carry begins in the bytes of its first value */
    if (op->kind == OP_SCAN) return result == operand && result < scan_carries(op);
    return kernel_ok(e, op, result, operand);
  case CLASS_REDUCE:
  case CLASS_WINDOW: return is_accumulator(op, operand);
  case CLASS_LEAF:
  case CLASS_GLOBAL:
  case CLASS_CONTRACT:
  case CLASS_COMPOSITE:
  case CLASS_ATTENTION:
  case CLASS_META: return false;
  }
  return false;
}
