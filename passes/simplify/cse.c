/* Common subexpressions: equal ops become one.
   Contract: ops with an effect, terminators, grads and their targets (grad_targets.c) stay;
   everything else is a function of its operands, attributes and types, random ops of their key as
   well, and loads give the value at entry. Kernels are equal where their blocks are, whatever they
   are called. Algorithm: value numbering over one block in order; an op's key is its text as words,
   with operands replaced by the values they became (a nested block's own values by their numbers in
   it). An op in the body of a loop can become one with an op before it there or around the loop.
 */
#include "ir/fold/fold.h"
#include "passes/manager/pass_list.h"

typedef struct Numbered { /* an op that others may become */
  OpId op;                /* of the new entry */
  uint32_t at, n;         /* its key: words of the pool */
} Numbered;

typedef struct Cse {
  PassRun *r;
  const bool *is_target;
  VEC(uint64_t) pool; /* keys, one after the other */
  VEC(Numbered) ops;
  HashIndex index; /* of ops */
  uint32_t *local; /* by old value: 1 + number in the nested block at hand; 0: from outside */
} Cse;

static void put_word(Cse *c, uint64_t word) { vec_push(c->r->scratch, &c->pool, word); }

static uint64_t type_word(const Entry *e, ValueId v) {
  return (uint64_t)(uintptr_t)value_type(e, v);
}

enum { LOCAL_BIT = 1 }; /* of an operand's word */

static void key_of(Cse *c, const Entry *e, const Op *op, const ValueId *map);

/* Everything in a block, its values numbered from 1 in order of definition. */
static void key_of_block(Cse *c, const Entry *e, const Block *blk, const ValueId *map) {
  uint32_t number = 0;
  put_word(c, blk->args.n);
  put_word(c, blk->ops.n);
  for (uint32_t i = 0; i < blk->args.n; i++) {
    c->local[blk->args.at[i]] = ++number;
    put_word(c, type_word(e, blk->args.at[i]));
  }
  for (uint32_t i = 0; i < blk->ops.n; i++) {
    const Op *op = op_at(e, blk->ops.at[i]);
    key_of(c, e, op, map);
    for (int k = 0; k < op->nresults; k++) c->local[op->results[k]] = ++number;
  }
  for (uint32_t i = 0; i < blk->args.n; i++) c->local[blk->args.at[i]] = 0;
  for (uint32_t i = 0; i < blk->ops.n; i++)
    for (int k = 0; k < op_at(e, blk->ops.at[i])->nresults; k++)
      c->local[op_at(e, blk->ops.at[i])->results[k]] = 0;
}

static void key_of(Cse *c, const Entry *e, const Op *op, const ValueId *map) {
  const OpInfo *info = &op_info[op->kind];
  put_word(c, (uint64_t)op->kind << 32 | (uint32_t)op->noperands);
  put_word(c, (uint64_t)op->nresults << 32 | (uint32_t)op->nblocks);
  uint32_t first = c->pool.n;
  for (int k = 0; k < op->noperands; k++) {
    ValueId v = op->operands[k];
    put_word(c, c->local[v] ? (uint64_t)c->local[v] << 1 | LOCAL_BIT : (uint64_t)map[v] << 1);
  }
  if (op_commutes(e, op) && c->pool.at[first] > c->pool.at[first + 1]) {
    uint64_t t = c->pool.at[first];
    c->pool.at[first] = c->pool.at[first + 1];
    c->pool.at[first + 1] = t;
  }
  for (int k = 0; k < MAX_ATTRS && info->attr[k].kind != ATTR_NONE; k++)
    if (op->kind != OP_KERNEL) put_word(c, (uint64_t)op->attr[k].i); /* a kernel has a name alone */
  for (int k = 0; k < op->nresults; k++) {
    put_word(c, type_word(e, op->results[k]));
    put_word(c, (uint64_t)(uintptr_t)value_at(e, op->results[k])->layout);
  }
  for (int k = 0; k < op->nblocks; k++) key_of_block(c, e, op->blocks[k], map);
}

static bool same_key(const void *cse, uint32_t i, const void *key) {
  const Cse *c = cse;
  const Numbered *a = &c->ops.at[i], *b = key;
  return a->n == b->n &&
         memcmp(c->pool.at + a->at, c->pool.at + b->at, sizeof *c->pool.at * a->n) == 0;
}

/* The op whose key is that in the pool's words from `at` on; a new one has the op NO_ID. */
static uint32_t number_of(Cse *c, uint32_t at) {
  Numbered key = {NO_ID, at, c->pool.n - at};
  uint64_t h = HASH_START;
  for (uint32_t i = at; i < c->pool.n; i++) h = hash_word(h, c->pool.at[i]);
  uint32_t i = index_enter(c->r->scratch, &c->index, h, same_key, c, &key, c->ops.n);
  if (i == c->ops.n) vec_push(c->r->scratch, &c->ops, key);
  return i;
}

/* What is defined in this block is seen where the builder stands. */
static bool in_sight(const Builder *b, const Block *of) {
  const Block *here = b->b;
  while (here != of && here->op) here = here->op->parent;
  return here == of;
}

static bool mergeable(const Cse *c, const Op *op) {
  if (op_info[op->kind].flags & (OPF_EFFECT | OPF_TERMINATOR)) return false;
  if (op->kind == OP_GRAD || op->nresults == 0) return false;
  for (int k = 0; k < op->nresults; k++)
    if (c->is_target && c->is_target[op->results[k]]) return false;
  return true;
}

static void cse_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Cse *c = data;
  if (!mergeable(c, op)) {
    build_copy(b, old, op, map);
    return;
  }
  uint32_t at = c->pool.n;
  key_of(c, old, op, map);
  uint32_t number = number_of(c, at);
  OpId have = c->ops.at[number].op;
  if (have == NO_ID || !in_sight(b, op_at(b->e, have)->parent)) {
    c->ops.at[number].op = b->e->ops.n; /* in place of an op in a body that is over */
    build_copy(b, old, op, map);
    return;
  }
  c->pool.n = at;
  const Op *same = op_at(b->e, have);
  for (int k = 0; k < op->nresults; k++) {
    Value *kept = value_at(b->e, same->results[k]);
    if (!kept->name) kept->name = value_at(old, op->results[k])->name;
    map[op->results[k]] = same->results[k];
  }
  c->r->changes++;
}

bool pass_cse(PassRun *r) {
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    Cse c = {.r = r, .is_target = grad_targets(r->scratch, e)};
    c.local = ARENA_ARRAY(r->scratch, uint32_t, e->values.n);
    entry_rebuild(e, cse_each, &c, false, false);
  }
  return true;
}
