/* Precision: products and convolutions, with bf16 attention too, take operands of fewer bits, and
   the backward pass saves activations in them.
   Contract: runs after autodiff. Sums of products are f32, and so are parameters, reductions,
   softmax, losses, optimizers, and everything in `init`. Values of other dtypes than f32 stay, and
   so do products that a target multiplies by the integers of quantized matrices.
   Method: bf16 is a dtype, so a narrowed value is a conversion that fuses into its producer, and
   its bytes are half. tf32 is f32 with the last 13 bits off: it saves time on tensor cores, not
   bytes. If a product reads a value narrowed, sums and the whole backward pass read it narrowed,
   too: else both would be saved. It is narrowed at its definition, so that a loop reads a value
   that was narrowed once. Convolutions round weights themselves, which need no copies then. Of
   element-wise ops on saved activations the backward pass saves no results, but computes them
   again: of a gelu only its input is saved. */
#include "passes/autodiff/precision.h"

#include "passes/manager/pass_list.h"

typedef struct Narrow {
  Precision p;
  const Entry *old;
  ValueId *low;        /* by old value: narrowed, in the new entry; NO_ID: not yet */
  const Block **where; /* ... of a view: made for the readers in this block; NULL: for all */
  bool *product;       /* by old value: a product reads it, perhaps through views */
  bool *stays;         /* by old value: a sum that keeps the axes which it sums over, as ones */
  bool *again;         /* by old value: the backward pass computes it again; NULL: none */
  int64_t made;
} Narrow;

bool precision_arg(const PassRun *r, const char *key, Precision *out) {
  static const char *const names[] = {"f32", "tf32", "bf16"};
  const char *s = pass_arg_str(r, key, names[0]);
  for (int i = 0; i < 3; i++)
    if (strcmp(s, names[i]) == 0) return *out = (Precision)i, true;
  diag(r->m->ctx, SEV_ERROR, (Loc){0}, "%s= takes f32, tf32 or bf16, not '%s'", key, s);
  return false;
}

/* ---- where a value comes from ---- */

/* The same numbers, one for one or repeated. */
static bool is_view(const Op *op) {
  return op && op_info[op->kind].cls == CLASS_VIEW && op->noperands == 1 && op->kind != OP_PAD &&
         op->kind != OP_COPY;
}

/* The same numbers beside others. */
static bool is_concat(const Op *op) { return op && op->kind == OP_CONCAT; }

static ValueId source_of(const Entry *e, ValueId v) {
  for (const Op *def = value_def(e, v); is_view(def); def = value_def(e, v)) v = def->operands[0];
  return v;
}

static bool is_f32(const Entry *e, ValueId v) { return value_type(e, v)->dtype == DT_F32; }

static bool is_conv(const Op *op) {
  return op->kind == OP_CONV || op->kind == OP_CONV_INPUT_GRAD || op->kind == OP_CONV_FILTER_GRAD;
}

/* How many operands are narrowed, from the first on: both of a product or convolution; of attention
   in bf16 the queries, keys and values, of its gradient also dy, which precedes them. 0: none. */
static int product_operands(const Entry *e, const Op *op, Precision p) {
  int n = 0;
  if (op->kind == OP_MATMUL) n = op->attr[AT_TF32].i ? 0 : 2;
  if (is_conv(op)) n = op->attr[AT_TF32_OPERANDS].i ? 0 : 2;
  if (op->kind == OP_ATTENTION && p == PRECISION_BF16) n = 3;
  if (op->kind == OP_ATTENTION_GRAD && p == PRECISION_BF16) n = 4;
  return n && is_f32(e, op->operands[0]) ? n : 0;
}

/* Its filters are a weight, which it rounds on the way: no copy is needed. */
static bool rounds_filters(const Entry *e, const Op *op) {
  if (!is_conv(op) || op->kind == OP_CONV_FILTER_GRAD) return false;
  const Op *def = value_def(e, source_of(e, op->operands[1]));
  return def && def->kind == OP_LOAD;
}

static Narrow narrow_new(Arena *a, const Entry *e, Precision p) {
  Narrow n = {.p = p, .old = e};
  n.low = ARENA_ARRAY(a, ValueId, e->values.n + 1);
  n.where = ARENA_ARRAY(a, const Block *, e->values.n + 1);
  n.product = ARENA_ARRAY(a, bool, e->values.n + 1);
  n.stays = ARENA_ARRAY(a, bool, e->values.n + 1);
  memset(n.low, 0xff, sizeof n.low[0] * e->values.n); /* NO_ID */
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    for (int k = product_operands(e, op, p); k-- > 0;)
      if (k != 1 || !rounds_filters(e, op)) n.product[source_of(e, op->operands[k])] = true;
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

/* Of an old f32 value that is mapped. */
static ValueId low_of(Narrow *n, Builder *b, ValueId v, const ValueId *map) {
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
    for (int i = 0; i < def->noperands; i++) x[i] = low_of(n, b, def->operands[i], map);
    n->low[v] = build(b, def->kind, x, def->noperands, def->attr, t);
    n->where[v] = b->b;
  } else {
    n->low[v] = narrowed(n, b, map[v]);
  }
  b->name = name;
  return n->low[v];
}

/* Narrows what is wanted so: the arguments of the block that an op begins, and what the op makes.
 */
static void narrow_arguments(Narrow *n, Builder *b, const Op *op, const ValueId *map,
                             const bool *wanted) {
  const Block *block = op->parent;
  if (block->ops.at[0] != op->id) return;
  for (uint32_t i = 0; i < block->args.n; i++)
    if (wanted[block->args.at[i]]) (void)low_of(n, b, block->args.at[i], map);
}

static void narrow_results(Narrow *n, Builder *b, const Op *op, const ValueId *map,
                           const bool *wanted) {
  for (int k = 0; k < op->nresults; k++)
    if (wanted[op->results[k]]) (void)low_of(n, b, op->results[k], map);
}

/* What the backward pass computes again, in f32, from what is saved. */
static ValueId recomputed(Narrow *n, Builder *b, ValueId v, const ValueId *map);

/* In f32, of an old value that is narrowed, or computed again. */
static ValueId read_low(Narrow *n, Builder *b, ValueId v, const ValueId *map) {
  if (n->again && n->again[source_of(n->old, v)]) return recomputed(n, b, v, map);
  return build_convert(b, low_of(n, b, v, map), DT_F32);
}

/* Copies an op that reads those of its operands narrowed that `reads` says. */
typedef bool ReadsLow(const void *data, const Op *op, int operand);
static void copy_reading(Narrow *n, Builder *b, const Op *op, ValueId *map, ReadsLow *reads,
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

/* ---- what the backward pass reads ---- */

struct Saved {
  Narrow n;
  bool *keep; /* by value: narrowed where it is made */
};

/* Results of reductions, and what is computed of them alone: statistics of norms, losses. */
static bool *find_statistics(Arena *a, const Entry *e) {
  bool *is = ARENA_ARRAY(a, bool, e->values.n + 1);
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    OpClass c = op_info[op->kind].cls;
    for (int k = 0; k < op->nresults; k++) {
      int64_t n = value_type(e, op->results[k])->numel;
      bool stat = c == CLASS_REDUCE;
      for (int j = 0; j < op->noperands; j++) {
        int64_t of = value_type(e, op->operands[j])->numel;
        stat |= (c == CLASS_ROWS || c == CLASS_COMPOSITE) && n < of; /* a number a row */
        stat |= (c == CLASS_ELEMENT || is_view(op)) && n == of && is[op->operands[j]];
      }
      is[op->results[k]] = stat;
    }
  }
  return is;
}

static bool can_save(const Saved *s, const Entry *e, const bool *statistic, ValueId v) {
  const Op *def = value_def(e, v);
  if (!def || def->backward || !is_f32(e, v) || value_type(e, v)->numel < 2) return false;
  OpClass c = op_info[def->kind].cls;
  bool computed = c == CLASS_ELEMENT || c == CLASS_CONTRACT || c == CLASS_WINDOW ||
                  c == CLASS_COMPOSITE || c == CLASS_ROWS || c == CLASS_INDEX || c == CLASS_ORDER;
  return computed && !statistic[v] && (s->n.p == PRECISION_BF16 || s->n.product[v]);
}

/* A rounded operand changes the result by about as much as rounding the result would: not exp, not
   a difference, not a quotient. */
static bool keeps_errors_small(const Op *op) {
  switch ((int)op->kind) {
  case OP_ADD:
  case OP_MUL:
  case OP_NEG:
  case OP_MAX:
  case OP_MIN:
  case OP_RELU:
  case OP_TANH:
  case OP_SIGMOID:
  case OP_ERF: return true;
  default: return false;
  }
}

/* The operand that the op's result follows from alone, beside constants. */
static ValueId only_operand(const Entry *e, const Op *op) {
  ValueId only = NO_ID;
  for (int k = 0; k < op->noperands; k++) {
    const Op *def = value_def(e, source_of(e, op->operands[k]));
    if (def && def->kind == OP_CONST) continue;
    if (only != NO_ID && only != op->operands[k]) return NO_ID;
    only = op->operands[k];
  }
  return only;
}

/* In place of two values that follow from a third, the third is saved: the input of a gelu. */
static void save_common(Saved *s, Arena *a, const Entry *e, const bool *statistic,
                        const bool *in_memory) {
  int *follow = ARENA_ARRAY(a, int, e->values.n + 1);
  for (uint32_t i = e->body->ops.n; i-- > 0;) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    ValueId v = op->nresults == 1 ? op->results[0] : NO_ID;
    if (v != NO_ID && follow[v] > 1 && can_save(s, e, statistic, v)) s->keep[v] = true;
    if (v == NO_ID || !s->keep[v] || !keeps_errors_small(op)) continue;
    if (in_memory[v] || s->n.product[v]) continue;
    ValueId x = only_operand(e, op);
    if (x != NO_ID) follow[x]++;
  }
}

/* Element-wise ops of the forward pass on what is saved anyway. */
static void find_recomputed(Saved *s, Arena *a, const Entry *e, const bool *in_memory) {
  enum { LONGEST = 24 }; /* ops that are computed again for one value */
  int *ops = ARENA_ARRAY(a, int, e->values.n + 1);
  s->n.again = ARENA_ARRAY(a, bool, e->values.n + 1);
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    if (op->backward || op->nresults != 1 || !keeps_errors_small(op)) continue;
    ValueId v = op->results[0];
    if (!is_f32(e, v) || in_memory[v] || s->n.product[v]) continue;
    bool can = true, saved = false;
    ops[v] = 1;
    for (int k = 0; k < op->noperands; k++) {
      ValueId x = source_of(e, op->operands[k]);
      const Op *def = value_def(e, x);
      bool there = !def || op_info[def->kind].cls == CLASS_GLOBAL || def->kind == OP_CONST;
      saved |= s->keep[x] || s->n.again[x];
      can &= there || s->keep[x] || s->n.again[x];
      ops[v] += s->n.again[x] ? ops[x] : 0;
    }
    if (!can || !saved || ops[v] > LONGEST) continue;
    s->n.again[v] = true;
    s->keep[v] = false;
  }
}

static ValueId recomputed(Narrow *n, Builder *b, ValueId v, const ValueId *map) {
  const Op *def = value_def(n->old, v);
  ValueId source = source_of(n->old, v);
  if (!n->again[source])
    return n->low[source] == NO_ID ? map[v] : build_convert(b, low_of(n, b, v, map), DT_F32);
  if (n->low[v] != NO_ID && n->where[v] == b->b) return n->low[v];
  ValueId *x = ARENA_ARRAY(b->m->arena, ValueId, def->noperands);
  for (int i = 0; i < def->noperands; i++) x[i] = recomputed(n, b, def->operands[i], map);
  b->name = NULL;
  ValueId y = build(b, def->kind, x, def->noperands, def->attr, value_type(n->old, v));
  n->low[v] = y;
  n->where[v] = b->b;
  return y;
}

/* Logarithms of probabilities, and logits, lose too much: their errors are the results' relative
 * ones. */
static bool needs_f32(const Op *op) {
  return op->kind == OP_XENT_GRAD || op->kind == OP_LOG_SOFTMAX_GRAD;
}

Saved *saved_new(Arena *a, const Entry *e, Precision p) {
  Saved *s = ARENA_NEW(a, Saved);
  *s = (Saved){.n = narrow_new(a, e, p)};
  s->keep = ARENA_ARRAY(a, bool, e->values.n + 1);
  const bool *statistic = find_statistics(a, e);
  bool *in_memory = ARENA_ARRAY(a, bool, e->values.n + 1);
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    if (!op->backward) continue;
    OpClass c = op_info[op->kind].cls;
    bool elements = c == CLASS_ELEMENT || c == CLASS_REDUCE || c == CLASS_ROWS || is_view(op);
    for (int k = 0; k < op->noperands; k++) {
      ValueId v = source_of(e, op->operands[k]);
      in_memory[v] |= !elements || needs_f32(op);
      if (k != op_accumulator(op) && !needs_f32(op) && !op->nblocks)
        s->keep[v] |= can_save(s, e, statistic, v);
    }
  }
  if (p == PRECISION_BF16) save_common(s, a, e, statistic, in_memory);
  if (p == PRECISION_BF16) find_recomputed(s, a, e, in_memory);
  return s;
}

static bool is_read_low(const Saved *s, ValueId v) {
  return s->keep[v] || (s->n.again && s->n.again[v]);
}

static bool reads_saved(const void *data, const Op *op, int i) {
  const Saved *s = data;
  return op->backward && !needs_f32(op) && i != op_accumulator(op) &&
         is_f32(s->n.old, op->operands[i]) && is_read_low(s, source_of(s->n.old, op->operands[i]));
}

void saved_copy(Saved *s, Builder *b, const Entry *old, const Op *op, ValueId *map) {
  s->n.old = old;
  copy_reading(&s->n, b, op, map, reads_saved, s);
  narrow_results(&s->n, b, op, map, s->keep);
}

int64_t saved_count(const Saved *s) { return s->n.made; }

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
  ValueId x = low_of(n, b, op->operands[0], map), y = low_of(n, b, op->operands[1], map);
  b->name = value_at(n->old, op->results[0])->name;
  map[op->results[0]] =
      build_matmul_narrow(b, x, y, op->attr[AT_TA].i != 0, op->attr[AT_TB].i != 0);
}

static void narrow_conv(Narrow *n, Builder *b, const Op *op, ValueId *map) {
  ValueId in[3];
  bool tf32 = n->p == PRECISION_TF32, rounds = rounds_filters(n->old, op);
  for (int i = 0; i < op->noperands; i++) {
    bool narrow = i == 0 || (i == 1 && !rounds);
    in[i] = narrow ? low_of(n, b, op->operands[i], map) : map[op->operands[i]];
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
    in[i] = i < narrow ? low_of(n, b, op->operands[i], map) : map[op->operands[i]];
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

static void narrow_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Narrow *n = data;
  n->old = old;
  narrow_arguments(n, b, op, map, n->product);
  int operands = product_operands(old, op, n->p);
  if (operands == 0)
    copy_reading(n, b, op, map, sum_reads_low, n);
  else if (op->kind == OP_MATMUL)
    narrow_matmul(n, b, op, map);
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
    Narrow n = narrow_new(r->scratch, r->m->entries.at[k], p);
    entry_rebuild(r->m->entries.at[k], narrow_each, &n, false, true);
    r->changes += n.made;
  }
  return true;
}
