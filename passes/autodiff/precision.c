/* Precision: products and convolutions, with bf16 attention too, take operands of fewer bits, and
   the backward pass saves activations in them.
   Contract: runs after autodiff. Sums of products are f32, and so are parameters, reductions,
   softmax, losses, optimizers, and everything in `init`. Values of other dtypes than f32 stay, and
   so do products that a target multiplies by the integers of quantized matrices, in tf32 and unless
   it wants halves there: their rows, of which a run may have any number, do not decide that.
   Method: bf16 is a dtype, so a narrowed value is a conversion that fuses into its producer, and
   its bytes are half. tf32 is f32 with the last 13 bits off: it saves time on tensor cores, not
   bytes. If a product reads a value narrowed, sums and the whole backward pass read it narrowed,
   too: else both would be saved. It is narrowed at its definition, so that a loop reads a value
   that was narrowed once. Convolutions round weights themselves, which need no copies then. Of
   element-wise ops on saved activations the backward pass saves no results, but computes them
   again: of a gelu only its input is saved. */
#include "passes/autodiff/narrow.h"
#include "passes/manager/pass_list.h"

bool precision_arg(const PassRun *r, const char *key, Precision *out) {
  static const char *const names[] = {"f32", "tf32", "bf16"};
  const char *s = pass_arg_str(r, key, names[0]);
  for (int i = 0; i < 3; i++)
    if (strcmp(s, names[i]) == 0) return *out = (Precision)i, true;
  diag(r->m->ctx, SEV_ERROR, (Loc){0}, "%s= takes f32, tf32 or bf16, not '%s'", key, s);
  return false;
}

/* ---- products ---- */

/* A sum over rows of which there is one, so that a batch of one is rounded as one of more. */
static bool is_sum_of_one(const Entry *e, const Op *op) {
  if (op->kind != OP_RESHAPE || !op->backward) return false;
  const Type *from = value_type(e, op->operands[0]), *to = value_type(e, op->results[0]);
  int lead = from->rank - to->rank;
  for (int i = 0; i < from->rank; i++)
    if (lead < 1 || (i < lead ? from->dim[i] != 1 : from->dim[i] != to->dim[i - lead]))
      return false;
  return true;
}

/* Sums of what a product reads narrowed: the gradients of biases. Not of a param that has an axis
   of one element for the rows: of one row there is no sum. */
static bool sum_reads_low(const void *data, const Op *op, int i) {
  const Narrow *n = data;
  if (op->nresults && n->stays[op->results[0]]) return false;
  return (op->kind == OP_SUM || is_sum_of_one(n->old, op)) && i == 0 &&
         is_f32(n->old, op->operands[i]) && n->product[source_of(n->old, op->operands[i])];
}

static void narrow_matmul(Narrow *n, Builder *b, const Op *op, ValueId *map) {
  ValueId x = narrow_low(n, b, op->operands[0], map), y = narrow_low(n, b, op->operands[1], map);
  b->name = value_at(n->old, op->results[0])->name;
  map[op->results[0]] =
      build_matmul_narrow(b, x, y, op->attr[AT_TA].i != 0, op->attr[AT_TB].i != 0);
}

/* By a quantized matrix, whose numbers count as rounded to bf16, which its scales are: the integers
   stay, unless the target would rather dequantize them in memory. */
static void narrow_quantized(Narrow *n, Builder *b, const Op *op, ValueId *map) {
  const ValueId x[] = {narrow_low(n, b, op->operands[0], map), map[op->operands[1]],
                       map[op->operands[2]]};
  Attr attr[MAX_ATTRS];
  memcpy(attr, op->attr, sizeof attr);
  attr[AT_WIDE_PRODUCT].i = 1;
  b->name = value_at(n->old, op->results[0])->name;
  ValueId y = build(b, OP_QUANTIZED_MATMUL, x, 3, attr, NULL);
  const Op *low = value_def(b->e, y);
  if (!n->t->multiplies_quantized || !n->t->multiplies_quantized(n->t, b->e, low))
    y = op_info[OP_QUANTIZED_MATMUL].expand(b, low, value_type(b->e, y), x);
  map[op->results[0]] = y;
}

static void narrow_conv(Narrow *n, Builder *b, const Op *op, ValueId *map) {
  ValueId in[3];
  bool tf32 = n->p == PRECISION_TF32, rounds = narrow_rounds_filters(n->old, op);
  for (int i = 0; i < op->noperands; i++) {
    bool narrow = i == 0 || (i == 1 && !rounds);
    in[i] = narrow ? narrow_low(n, b, op->operands[i], map) : map[op->operands[i]];
  }
  Attr attr[MAX_ATTRS];
  memcpy(attr, op->attr, sizeof attr);
  attr[AT_TF32_OPERANDS].i = tf32;
  attr[AT_WIDE_RESULT].i = !tf32;
  attr[AT_ROUND_FILTERS].i = rounds;
  b->name = value_at(n->old, op->results[0])->name;
  map[op->results[0]] =
      build(b, op->kind, in, op->noperands, attr, value_type(n->old, op->results[0]));
}

/* Its results are narrow, too, but for numbers a row. */
static void narrow_attention(Narrow *n, Builder *b, const Op *op, ValueId *map, int narrow) {
  ValueId *in = ARENA_ARRAY(b->m->arena, ValueId, op->noperands);
  for (int i = 0; i < op->noperands; i++)
    in[i] = i < narrow ? narrow_low(n, b, op->operands[i], map) : map[op->operands[i]];
  b->name = NULL;
  const Op *low = build_several(b, op->kind, in, op->noperands, op->attr);
  for (int k = 0; k < op->nresults; k++) {
    ValueId v = low->results[k], old = op->results[k];
    bool is_low = value_type(b->e, v)->dtype != DT_F32;
    if (is_low) n->low[old] = v;
    b->name = value_at(n->old, old)->name;
    map[old] = build_convert(b, v, DT_F32);
  }
}

/* ---- max pools ---- */

/* All readers of v, behind views and max pools, want it narrowed, and there is one. */
static bool read_low_alone(const Narrow *n, ValueId v) {
  bool any = false;
  for (uint32_t i = 0; i < n->old->ops.n; i++) {
    const Op *op = op_at(n->old, i);
    for (int k = 0; k < op->noperands; k++) {
      if (op->operands[k] != v) continue;
      const bool filters = k == 1 && narrow_rounds_filters(n->old, op);
      const bool low = op->kind == OP_CONVERT ? value_type(n->old, op->results[0])->dtype == DT_BF16
                       : is_view(op) || op->kind == OP_MAX_POOL
                           ? read_low_alone(n, op->results[0])
                           : k < narrow_operands(n->old, op, n->p, n->t);
      if (!low || filters) return false;
      any = true;
    }
  }
  return any;
}

/* The largest of the rounded numbers is the largest one, rounded. */
static bool pool_reads_low(const Narrow *n, const Op *op) {
  const Entry *e = n->old;
  if (op->kind != OP_MAX_POOL || n->p != PRECISION_BF16 || !is_f32(e, op->operands[0]))
    return false;
  const ValueId x = source_of(e, op->operands[0]);
  const Op *def = value_def(e, x);
  if (!def || def->parent != op->parent) return false;
  const bool was_low = def->kind == OP_CONVERT && value_type(e, def->operands[0])->dtype == DT_BF16;
  return was_low || read_low_alone(n, x);
}

static void narrow_pool(Narrow *n, Builder *b, const Op *op, ValueId *map) {
  ValueId x = narrow_low(n, b, op->operands[0], map);
  b->name = value_at(n->old, op->results[0])->name;
  ValueId y = n->low[op->results[0]] = build(b, OP_MAX_POOL, &x, 1, op->attr, NULL);
  map[op->results[0]] = build_convert(b, y, DT_F32);
}

static void narrow_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Narrow *n = data;
  n->old = old;
  narrow_arguments(n, b, op, map, n->product);
  int operands = narrow_operands(old, op, n->p, n->t);
  if (pool_reads_low(n, op))
    narrow_pool(n, b, op, map);
  else if (operands == 0)
    narrow_copy(n, b, op, map, sum_reads_low, n);
  else if (op->kind == OP_MATMUL)
    narrow_matmul(n, b, op, map);
  else if (op->kind == OP_QUANTIZED_MATMUL)
    narrow_quantized(n, b, op, map);
  else if (is_conv(op))
    narrow_conv(n, b, op, map);
  else
    narrow_attention(n, b, op, map, operands);
  narrow_results(n, b, op, map, n->product);
}

bool pass_precision(PassRun *r) {
  Precision p;
  if (!precision_arg(r, "products", &p)) return false;
  for (uint32_t k = 0; k < r->m->entries.n && p != PRECISION_F32; k++) {
    Narrow n = narrow_new(r->scratch, r->m->entries.at[k], p, r->opt->target);
    entry_rebuild(r->m->entries.at[k], narrow_each, &n, false, true);
    r->changes += n.made;
  }
  return true;
}
