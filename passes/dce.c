/* Dead code: drops what no effect and no terminator reads.
   Contract: effects stay, and so do the keys of random ops (a value never depends on what else is
   in the program); a kernel loses the ops, results and operands that nobody reads. Algorithm: one
   walk backwards over each block, since every use follows its definition. */
#include "passes/pass_list.h"

typedef struct Dce {
  PassRun *r;
  const Entry *e;
  bool *live; /* by value */
  bool *kept; /* by op */
} Dce;

static void mark_block(Dce *d, const Block *b, const Op *holder);

static bool any_live(const Dce *d, const Op *op) {
  for (int k = 0; k < op->nresults; k++)
    if (d->live[op->results[k]]) return true;
  return false;
}

static void mark_op(Dce *d, const Op *op, const Op *holder) {
  if (op->kind == OP_YIELD && holder && holder->kind == OP_KERNEL) {
    d->kept[op->id] = true;
    for (int k = 0; k < op->noperands; k++)
      if (d->live[holder->results[k]]) d->live[op->operands[k]] = true;
    return;
  }
  if (!(op_info[op->kind].flags & OPF_EFFECT) && !any_live(d, op)) {
    d->r->changes++;
    return;
  }
  d->kept[op->id] = true;
  for (int k = 0; k < op->nblocks; k++) mark_block(d, op->blocks[k], op);
  for (int k = 0; k < op->noperands; k++) {
    bool read = op->kind != OP_KERNEL || d->live[op->blocks[0]->args.at[k]];
    if (read)
      d->live[op->operands[k]] = true;
    else
      d->r->changes++;
  }
  for (int k = 0; k < op->nresults && op->kind == OP_KERNEL; k++)
    d->r->changes += !d->live[op->results[k]];
}

static void mark_block(Dce *d, const Block *b, const Op *holder) {
  for (uint32_t i = b->ops.n; i-- > 0;) mark_op(d, op_at(d->e, b->ops.at[i]), holder);
}

/* The inside of a kernel, without what is dead. */
static void copy_inside(Dce *d, Builder *b, const Entry *old, const Op *op, Block *into,
                        ValueId *map) {
  const Block *from = op->blocks[0];
  Block *outer = b->b;
  struct ConsTable *cons = b->cons; /* of the outer block: kept for what follows there */
  builder_at(b, into);
  for (uint32_t i = 0; i < from->args.n; i++) {
    ValueId was = from->args.at[i];
    if (!d->live[was]) continue;
    map[was] = block_add_arg(b->e, into, *value_at(old, was));
  }
  for (uint32_t i = 0; i < from->ops.n; i++) {
    const Op *in = op_at(old, from->ops.at[i]);
    if (!d->kept[in->id]) continue;
    if (in->kind != OP_YIELD) {
      build_copy(b, old, in, map);
      continue;
    }
    ValueId *y = ARENA_ARRAY(d->r->scratch, ValueId, in->noperands);
    int n = 0;
    for (int k = 0; k < in->noperands; k++)
      if (d->live[op->results[k]]) y[n++] = map[in->operands[k]];
    b->loc = in->loc;
    b->scope = in->scope;
    build_op(b, OP_YIELD, y, n, in->attr, NULL, 0);
  }
  b->b = outer;
  b->cons = cons;
}

static void copy_kernel(Dce *d, Builder *b, const Entry *old, const Op *op, ValueId *map) {
  ValueId *x = ARENA_ARRAY(d->r->scratch, ValueId, op->noperands);
  const Type **types = ARENA_ARRAY(d->r->scratch, const Type *, op->nresults);
  int nx = 0, ny = 0;
  for (int k = 0; k < op->noperands; k++)
    if (d->live[op->blocks[0]->args.at[k]]) x[nx++] = map[op->operands[k]];
  for (int k = 0; k < op->nresults; k++)
    if (d->live[op->results[k]]) types[ny++] = value_type(old, op->results[k]);
  b->loc = op->loc;
  b->scope = op->scope;
  Op *copy = build_op(b, OP_KERNEL, x, nx, op->attr, types, ny);
  ny = 0;
  for (int k = 0; k < op->nresults; k++) {
    if (!d->live[op->results[k]]) continue;
    const Value *was = value_at(old, op->results[k]);
    Value *v = value_at(b->e, copy->results[ny]);
    v->name = was->name;
    v->layout = was->layout;
    map[op->results[k]] = copy->results[ny++];
  }
  copy_inside(d, b, old, op, copy->blocks[0], map);
}

static void dce_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Dce *d = data;
  if (!d->kept[op->id]) return;
  if (op->kind == OP_KERNEL)
    copy_kernel(d, b, old, op, map);
  else
    build_copy(b, old, op, map);
}

bool pass_dce(PassRun *r) {
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    Dce d = {.r = r, .e = e};
    d.live = ARENA_ARRAY(r->scratch, bool, e->values.n);
    d.kept = ARENA_ARRAY(r->scratch, bool, e->ops.n);
    int64_t before = r->changes;
    mark_block(&d, e->body, NULL);
    if (r->changes > before) entry_rebuild(e, dce_each, &d, false, false);
  }
  return true;
}
