/* Narrowing: where a value comes from, which readers want it in fewer bits, and its narrowed copy.
   Contract: a value is narrowed at most once in a block; views and concats of narrowed values are
   views and concats of their sources, narrowed. What the backward pass computes again is built in
   f32 from what is saved. */
#include "passes/autodiff/narrow.h"

/* ---- where a value comes from ---- */

/* The same numbers beside others. */
static bool is_concat(const Op *op) { return op && op->kind == OP_CONCAT; }

int narrow_operands(const Entry *e, const Op *op, Precision p, const Target *t) {
  int n = 0;
  if (op->kind == OP_MATMUL) n = op->attr[AT_TF32].i ? 0 : 2;
  if (is_conv(op)) n = op->attr[AT_TF32_OPERANDS].i ? 0 : 2;
  if (op->kind == OP_ATTENTION && p == PRECISION_BF16) n = 3;
  if (op->kind == OP_ATTENTION_GRAD && p == PRECISION_BF16) n = 4;
  if (op->kind == OP_QUANTIZED_MATMUL && p == PRECISION_BF16) n = t && t->narrow_quantized;
  return n && is_f32(e, op->operands[0]) ? n : 0;
}

bool narrow_rounds_filters(const Entry *e, const Op *op) {
  if (!is_conv(op) || op->kind == OP_CONV_FILTER_GRAD) return false;
  const Op *def = value_def(e, source_of(e, op->operands[1]));
  return def && def->kind == OP_LOAD;
}

Narrow narrow_new(Arena *a, const Entry *e, Precision p, const Target *t) {
  Narrow n = {.p = p, .t = t, .old = e};
  n.low = ARENA_ARRAY(a, ValueId, e->values.n + 1);
  n.where = ARENA_ARRAY(a, const Block *, e->values.n + 1);
  n.product = ARENA_ARRAY(a, bool, e->values.n + 1);
  n.stays = ARENA_ARRAY(a, bool, e->values.n + 1);
  memset(n.low, 0xff, sizeof n.low[0] * e->values.n); /* NO_ID */
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    for (int k = narrow_operands(e, op, p, t); k-- > 0;)
      if (k != 1 || !narrow_rounds_filters(e, op)) n.product[source_of(e, op->operands[k])] = true;
    const Op *sum = op->kind == OP_RESHAPE ? value_def(e, op->operands[0]) : NULL;
    if (sum && sum->kind == OP_SUM)
      n.stays[sum->results[0]] =
          value_type(e, sum->operands[0])->rank == value_type(e, op->results[0])->rank;
  }
  return n;
}

/* ---- narrowing ---- */

static ValueId narrowed(Narrow *n, Builder *b, ValueId x) {
  n->made++;
  return n->p == PRECISION_TF32 ? build1(b, OP_TF32, x) : build_convert(b, x, DT_BF16);
}

ValueId narrow_low(Narrow *n, Builder *b, ValueId v, const ValueId *map) {
  if (n->low[v] != NO_ID && (!n->where[v] || n->where[v] == b->b)) return n->low[v];
  const Op *def = value_def(n->old, v);
  const char *name = b->name;
  b->name = value_at(n->old, v)->name;
  bool was_low = def && n->p == PRECISION_BF16 && def->kind == OP_CONVERT &&
                 value_type(n->old, def->operands[0])->dtype == DT_BF16;
  bool was_tf32 =
      def && n->p == PRECISION_TF32 &&
      (def->kind == OP_TF32 ||
       (def->kind == OP_CONVERT && dtype_is_half(value_type(n->old, def->operands[0])->dtype)));
  if (was_low || was_tf32) {
    n->low[v] = was_low ? map[def->operands[0]] : map[v];
  } else if (is_view(def) || is_concat(def)) {
    const Type *t = value_type(n->old, v);
    if (n->p == PRECISION_BF16) t = type_with_dtype(b->m->ctx, t, DT_BF16);
    b->name = NULL;
    ValueId *x = ARENA_ARRAY(b->m->arena, ValueId, def->noperands);
    for (int i = 0; i < def->noperands; i++) x[i] = narrow_low(n, b, def->operands[i], map);
    n->low[v] = build(b, def->kind, x, def->noperands, def->attr, t);
    n->where[v] = b->b;
  } else {
    n->low[v] = narrowed(n, b, map[v]);
  }
  b->name = name;
  return n->low[v];
}

void narrow_arguments(Narrow *n, Builder *b, const Op *op, const ValueId *map, const bool *wanted) {
  const Block *block = op->parent;
  if (block->ops.at[0] != op->id) return;
  for (uint32_t i = 0; i < block->args.n; i++)
    if (wanted[block->args.at[i]]) (void)narrow_low(n, b, block->args.at[i], map);
}

void narrow_results(Narrow *n, Builder *b, const Op *op, const ValueId *map, const bool *wanted) {
  for (int k = 0; k < op->nresults; k++)
    if (wanted[op->results[k]]) (void)narrow_low(n, b, op->results[k], map);
}

/* What the backward pass computes again, in f32, from what is saved. */
static ValueId recomputed(Narrow *n, Builder *b, ValueId v, const ValueId *map) {
  const Op *def = value_def(n->old, v);
  ValueId source = source_of(n->old, v);
  if (!n->again[source])
    return n->low[source] == NO_ID ? map[v] : build_convert(b, narrow_low(n, b, v, map), DT_F32);
  if (n->low[v] != NO_ID && n->where[v] == b->b) return n->low[v];
  ValueId *x = ARENA_ARRAY(b->m->arena, ValueId, def->noperands);
  for (int i = 0; i < def->noperands; i++) x[i] = recomputed(n, b, def->operands[i], map);
  b->name = NULL;
  ValueId y = build(b, def->kind, x, def->noperands, def->attr, value_type(n->old, v));
  n->low[v] = y;
  n->where[v] = b->b;
  return y;
}

/* In f32, of an old value that is narrowed, or computed again. */
static ValueId read_low(Narrow *n, Builder *b, ValueId v, const ValueId *map) {
  if (n->again && n->again[source_of(n->old, v)]) return recomputed(n, b, v, map);
  return build_convert(b, narrow_low(n, b, v, map), DT_F32);
}

void narrow_copy(Narrow *n, Builder *b, const Op *op, ValueId *map, ReadsLow *reads,
                 const void *data) {
  enum { MAX = 3 }; /* operands of an op that computes; others read no single values */
  ValueId kept[MAX];
  int many = op->noperands <= MAX && !op->nblocks ? op->noperands : 0;
  for (int i = 0; i < many; i++) {
    ValueId v = op->operands[i];
    kept[i] = map[v];
    for (int k = 0; k < i; k++)
      if (op->operands[k] == v) kept[i] = kept[k];
  }
  for (int i = 0; i < many; i++) {
    if (!reads(data, op, i)) continue;
    map[op->operands[i]] = read_low(n, b, op->operands[i], map);
  }
  build_copy(b, n->old, op, map);
  for (int i = many; i-- > 0;) map[op->operands[i]] = kept[i];
}
