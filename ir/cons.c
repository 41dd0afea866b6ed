/* Hash-consing of pure ops: one index a block, over kind, operands, attributes and type.
   Contract: an op that any code appends to the block is in its table when it is next asked for. */
#include "ir/cons.h"

/* A copy is built to have bytes of its own, so two copies never merge. */
bool cons_merges(OpKind k) {
  const OpInfo *i = &op_info[k];
  return i->results == 1 && i->blocks == 0 && !(i->flags & OPF_EFFECT) && k != OP_COPY;
}

static uint64_t cons_hash(const ConsKey *k) {
  uint64_t h = hash_word(k->kind, (uint64_t)(uintptr_t)k->type);
  for (int i = 0; i < k->n; i++) h = hash_word(h, k->x[i]);
  for (int i = 0; i < MAX_ATTRS; i++) h = hash_word(h, (uint64_t)k->attr[i].i);
  return h;
}

static bool cons_equal(const void *entry, uint32_t id, const void *key) {
  const Entry *e = entry;
  const Op *op = op_at(e, id);
  const ConsKey *k = key;
  if (op->kind != k->kind || op->noperands != k->n || value_type(e, op->results[0]) != k->type)
    return false;
  if (k->n && memcmp(op->operands, k->x, sizeof k->x[0] * (size_t)k->n) != 0) return false;
  for (int i = 0; i < MAX_ATTRS; i++)
    if (op->attr[i].i != k->attr[i].i) return false;
  return true;
}

OpId cons_enter(const Builder *b, struct ConsTable *t, const ConsKey *k, OpId fresh) {
  return index_enter(b->m->arena, &t->index, cons_hash(k), cons_equal, b->e, k, fresh);
}

static bool is_within(const Block *b, const Block *outer) {
  while (b != outer && b->op) b = b->op->parent;
  return b == outer;
}

struct ConsTable *cons_table(Builder *b) {
  while (b->cons && !is_within(b->b, b->cons->block)) b->cons = b->cons->outer;
  if (!b->cons || b->cons->block != b->b) {
    struct ConsTable *fresh = ARENA_NEW(b->m->arena, struct ConsTable);
    fresh->block = b->b;
    fresh->outer = b->cons;
    b->cons = fresh;
  }
  struct ConsTable *t = b->cons;
  for (; t->entered < b->b->ops.n; t->entered++) {
    const Op *op = op_at(b->e, b->b->ops.at[t->entered]);
    /* a value with a layout of its own is not what a new op would give */
    bool plain = op->kind == OP_LOAD || !op->nresults || !value_at(b->e, op->results[0])->layout;
    if (!cons_merges(op->kind) || !plain) continue;
    ConsKey k = {op->kind, op->operands, op->noperands, op->attr, value_type(b->e, op->results[0])};
    (void)cons_enter(b, t, &k, op->id);
  }
  return t;
}
