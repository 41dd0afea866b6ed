/* What the backward pass reads of the forward pass in fewer bits, and what it computes again.
   Contract: see precision.h. Statistics of norms and losses stay f32, and so does what gradients of
   losses read. Of values that follow from a third by element-wise ops that keep errors small, the
   third is saved. */
#include "passes/autodiff/narrow.h"

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

/* Logarithms of probabilities, and logits, lose too much: their errors are the results' relative
 * ones. */
static bool needs_f32(const Op *op) {
  return op->kind == OP_XENT_GRAD || op->kind == OP_LOG_SOFTMAX_GRAD;
}

Saved *saved_new(Arena *a, const Entry *e, Precision p, const Target *t) {
  Saved *s = ARENA_NEW(a, Saved);
  *s = (Saved){.n = narrow_new(a, e, p, t)};
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
  narrow_copy(&s->n, b, op, map, reads_saved, s);
  narrow_results(&s->n, b, op, map, s->keep);
}

int64_t saved_count(const Saved *s) { return s->n.made; }
