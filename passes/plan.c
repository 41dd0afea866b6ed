/* What every planning pass asks of an entry: what an op reads, what moves no bytes, how much
   arithmetic it does, where globals lie.
   Contract: pure questions; nothing here decides. */
#include "passes/plan_impl.h"

/* Defined in the entry's body, or one of its inputs: only such values have a place. */
static bool in_body(const Entry *e, ValueId v) {
  const Value *x = &e->values.at[v];
  if (x->def != NO_ID) return e->ops.at[x->def]->parent == e->body;
  return x->index < e->body->args.n && e->body->args.at[x->index] == v;
}

static void nested_reads(Arena *a, const Entry *e, const Op *op, ValueList *out) {
  for (int k = 0; k < op->nblocks; k++) {
    const Block *b = op->blocks[k];
    for (uint32_t i = 0; i < b->ops.n; i++) {
      const Op *inner = op_at(e, b->ops.at[i]);
      for (int j = 0; j < inner->noperands; j++)
        if (in_body(e, inner->operands[j])) vec_push(a, out, inner->operands[j]);
      nested_reads(a, e, inner, out);
    }
  }
}

void plan_reads(Arena *a, const Entry *e, const Op *op, ValueList *out) {
  out->n = 0;
  for (int i = 0; i < op->noperands; i++) vec_push(a, out, op->operands[i]);
  if (op->nblocks) nested_reads(a, e, op, out);
}

bool plan_is_view(const Entry *e, const Op *op) {
  return op->kind == OP_RESHAPE && !value_at(e, op->operands[0])->layout &&
         !value_at(e, op->results[0])->layout;
}

bool plan_is_alias(const Entry *e, const Op *op) {
  const Plan *p = e->plan;
  if (op->kind == OP_RESHAPE) {
    if (!plan_is_view(e, op)) return false;
    if (!p) return true;
    const Place *x = &p->place[op->operands[0]], *y = &p->place[op->results[0]];
    return x->region == y->region && x->offset == y->offset;
  }
  if (op->kind != OP_STORE || !p) return false;
  const Place *x = &p->place[op->operands[0]];
  return x->region == PLAN_GLOBALS && x->global == (int)op->attr[AT_GLOBAL].i;
}

const char *plan_op_name(const Op *op) {
  if (op->kind == OP_KERNEL && op->attr[0].str) return op->attr[0].str;
  return op_info[op->kind].name;
}

const char *plan_commas(char *buf, uint64_t n) {
  char digits[24];
  int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), w = 0;
  for (int i = 0; i < len; i++) {
    if (i && (len - i) % 3 == 0) buf[w++] = ',';
    buf[w++] = digits[i];
  }
  buf[w] = 0;
  return buf;
}

/* ---- arithmetic ---- */

enum { ROW_PASSES = 4 }; /* softmax and its kin: largest, exp, sum, scale */

static uint64_t numel(const Entry *e, ValueId v) { return (uint64_t)value_type(e, v)->numel; }

uint64_t op_flops(const Entry *e, const Op *op) {
  uint64_t sum = 0;
  switch (op_info[op->kind].cls) {
  case CLASS_ELEMENT: return numel(e, op->results[0]);
  case CLASS_REDUCE: return numel(e, op->operands[0]);
  case CLASS_ROWS: {
    for (int i = 0; i < op->noperands; i++)
      if (numel(e, op->operands[i]) > sum) sum = numel(e, op->operands[i]);
    return ROW_PASSES * sum;
  }
  case CLASS_CONTRACT: {
    const Type *a = value_type(e, op->operands[0]);
    int64_t k = a->dim[a->rank - (op->attr[AT_TA].i ? 2 : 1)];
    return 2 * (uint64_t)k * numel(e, op->results[0]);
  }
  case CLASS_INDEX: return op->kind == OP_GATHER_GRAD ? numel(e, op->operands[0]) : 0;
  case CLASS_REGION:
    for (int k = 0; k < op->nblocks; k++)
      for (uint32_t i = 0; i < op->blocks[k]->ops.n; i++)
        sum += op_flops(e, op_at(e, op->blocks[k]->ops.at[i]));
    return sum;
  case CLASS_LEAF:
  case CLASS_GLOBAL:
  case CLASS_VIEW:
  case CLASS_META: return 0;
  }
  return 0;
}

/* ---- globals ---- */

GlobalsPlan plan_globals(const Module *m, int align) {
  GlobalsPlan g = {.offset = ARENA_ARRAY(m->arena, uint64_t, m->globals.n + 1)};
  uint64_t hypers = 0, bytes;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *x = &m->globals.at[i];
    if (x->kind == GLOBAL_HYPER) {
      g.offset[i] = hypers;
      hypers += sizeof(float);
      continue;
    }
    g.offset[i] = g.bytes;
    if (!layout_bytes(x->type, x->layout, &bytes) || !checked_add(g.bytes, bytes, &g.bytes) ||
        !checked_align(g.bytes, (uint64_t)align, &g.bytes)) {
      diag(m->ctx, SEV_ERROR, x->loc, "the parameters and states need more than 2^64 bytes");
      g.bytes = UINT64_MAX;
      return g;
    }
  }
  return g;
}
