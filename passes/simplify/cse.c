/* Common subexpressions: equal ops become one.
   Contract: ops with an effect, terminators, grads and their targets (grad_targets.c) stay;
   everything else is a function of its operands, attributes and types, random ops of their key as
   well, and loads give the value at entry. Kernels are equal where their blocks are, whatever they
   are called. Algorithm: value numbering over one block in order; an op's key is its text as words,
   with operands replaced by the values they became (a nested block's own values by their numbers in
   it). An op in the body of a loop can become one with an op before it there or around the loop.
 */
#include "passes/manager/pass_list.h"

typedef struct Slot {
  uint64_t hash;
  OpId op;        /* of the new entry */
  uint32_t at, n; /* its key: words of the pool */
  bool used;
} Slot;

typedef struct Cse {
  PassRun *r;
  const bool *is_target;
  VEC(uint64_t) pool; /* keys, one after the other */
  Slot *slot;
  uint32_t n, size; /* size is a power of two */
  uint32_t *local;  /* by old value: 1 + number in the nested block at hand; 0: from outside */
} Cse;

static void put(Cse *c, uint64_t word) { vec_push(c->r->scratch, &c->pool, word); }

static uint64_t type_word(const Entry *e, ValueId v) {
  return (uint64_t)(uintptr_t)value_type(e, v);
}

enum { LOCAL_BIT = 1 }; /* of an operand's word */

/* Not the least and greatest of floats, where the order tells which of -0 and 0 it is. */
static bool commutes(const Entry *e, const Op *op) {
  if (!(op_info[op->kind].flags & OPF_COMMUTATIVE)) return false;
  bool picks = op->kind == OP_MIN || op->kind == OP_MAX;
  return !picks || !dtype_is_float(value_type(e, op->operands[0])->dtype);
}

static void key_of(Cse *c, const Entry *e, const Op *op, const ValueId *map);

/* Everything in a block, its values numbered from 1 in order of definition. */
static void key_of_block(Cse *c, const Entry *e, const Block *blk, const ValueId *map) {
  uint32_t number = 0;
  put(c, blk->args.n);
  put(c, blk->ops.n);
  for (uint32_t i = 0; i < blk->args.n; i++) {
    c->local[blk->args.at[i]] = ++number;
    put(c, type_word(e, blk->args.at[i]));
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
  put(c, (uint64_t)op->kind << 32 | (uint32_t)op->noperands);
  put(c, (uint64_t)op->nresults << 32 | (uint32_t)op->nblocks);
  uint32_t first = c->pool.n;
  for (int k = 0; k < op->noperands; k++) {
    ValueId v = op->operands[k];
    put(c, c->local[v] ? (uint64_t)c->local[v] << 1 | LOCAL_BIT : (uint64_t)map[v] << 1);
  }
  if (commutes(e, op) && c->pool.at[first] > c->pool.at[first + 1]) {
    uint64_t t = c->pool.at[first];
    c->pool.at[first] = c->pool.at[first + 1];
    c->pool.at[first + 1] = t;
  }
  for (int k = 0; k < MAX_ATTRS && info->attr[k].kind != ATTR_NONE; k++)
    if (op->kind != OP_KERNEL) put(c, (uint64_t)op->attr[k].i); /* a kernel has a name alone */
  for (int k = 0; k < op->nresults; k++) {
    put(c, type_word(e, op->results[k]));
    put(c, (uint64_t)(uintptr_t)value_at(e, op->results[k])->layout);
  }
  for (int k = 0; k < op->nblocks; k++) key_of_block(c, e, op->blocks[k], map);
}

static uint64_t hash_words(const uint64_t *w, uint32_t n) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (uint32_t i = 0; i < n; i++) {
    h = (h ^ w[i]) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h;
}

static void grow(Cse *c) {
  Slot *old = c->slot;
  uint32_t n = c->size;
  c->size = n ? n * 2 : 256;
  c->slot = ARENA_ARRAY(c->r->scratch, Slot, c->size);
  for (uint32_t i = 0; i < n; i++) {
    if (!old[i].used) continue;
    uint32_t j = (uint32_t)old[i].hash & (c->size - 1);
    while (c->slot[j].used) j = (j + 1) & (c->size - 1);
    c->slot[j] = old[i];
  }
}

/* The slot of an equal op, or the free one where the key in the pool's words [at, n) belongs. */
static Slot *find(Cse *c, uint32_t at) {
  if (c->n * 2 >= c->size) grow(c);
  uint32_t n = c->pool.n - at;
  const uint64_t *key = c->pool.at + at;
  uint64_t h = hash_words(key, n);
  uint32_t j = (uint32_t)h & (c->size - 1);
  for (; c->slot[j].used; j = (j + 1) & (c->size - 1)) {
    const Slot *s = &c->slot[j];
    if (s->hash == h && s->n == n && memcmp(c->pool.at + s->at, key, sizeof *key * n) == 0)
      return &c->slot[j];
  }
  c->slot[j].hash = h;
  c->slot[j].at = at;
  c->slot[j].n = n;
  return &c->slot[j];
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
  Slot *s = find(c, at);
  if (!s->used || !in_sight(b, op_at(b->e, s->op)->parent)) {
    c->n += !s->used;
    s->used = true; /* of an op in a body that is over, another takes the slot */
    s->op = b->e->ops.n;
    build_copy(b, old, op, map); /* which may find slots for what is in the op, and move this one */
    return;
  }
  c->pool.n = at;
  const Op *same = op_at(b->e, s->op);
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
