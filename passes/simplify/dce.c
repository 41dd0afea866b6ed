/* Dead code: drops what no effect and no terminator reads.
   Contract: effects stay, and so do the keys of random ops (a value never depends on what else is
   in the program); a kernel loses the ops, results and operands that no op reads, a loop also the
   carries that only they themselves need. Algorithm: one walk backwards over each block, since
   every use follows its definition; over the body of a loop until no more of it is wanted. */
#include "passes/manager/pass_list.h"

typedef struct Dce {
  Arena *a;
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

/* What a region op gives at this place is wanted: it is read, or is the next value of a carry. */
static bool wants(const Dce *d, const Op *holder, int result) {
  if (d->live[holder->results[result]]) return true;
  return holder->kind == OP_SCAN && result < scan_carries(holder) &&
         d->live[holder->blocks[0]->args.at[result + 1]];
}

/* The argument of its block that an operand becomes. */
static ValueId arg_of(const Op *op, int operand) {
  return op->blocks[0]->args.at[operand + (op->kind == OP_SCAN)];
}

/* The operand is read in the block; a carry that is wanted after the loop begins with it, too. */
static bool reads(const Dce *d, const Op *op, int operand) {
  if (op->nblocks == 0 || d->live[arg_of(op, operand)]) return true;
  return op->kind == OP_SCAN && operand < scan_carries(op) && wants(d, op, operand);
}

static int count_wanted(const Dce *d, const Op *op) {
  int n = 0;
  for (int k = 0; k < op->nresults; k++) n += wants(d, op, k);
  return n;
}

static void mark_op(Dce *d, const Op *op, const Op *holder) {
  if (op->kind == OP_YIELD && holder) {
    d->kept[op->id] = true;
    for (int k = 0; k < op->noperands; k++)
      if (wants(d, holder, k)) d->live[op->operands[k]] = true;
    return;
  }
  if (!(op_info[op->kind].flags & OPF_EFFECT) && !any_live(d, op)) return;
  d->kept[op->id] = true;
  for (int was = -1; op->nblocks && was != count_wanted(d, op);) {
    was = count_wanted(d, op);
    mark_block(d, op->blocks[0], op);
  }
  for (int k = 0; k < op->noperands; k++)
    if (reads(d, op, k)) d->live[op->operands[k]] = true;
}

/* What is dropped. */
static int64_t count_dead(const Dce *d, const Block *b) {
  int64_t n = 0;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(d->e, b->ops.at[i]);
    if (!d->kept[op->id]) {
      n++;
      continue;
    }
    if (!op->nblocks) continue;
    n += op->nresults - count_wanted(d, op);
    for (int k = 0; k < op->noperands; k++) n += !reads(d, op, k);
    n += count_dead(d, op->blocks[0]);
  }
  return n;
}

static void mark_block(Dce *d, const Block *b, const Op *holder) {
  for (uint32_t i = b->ops.n; i-- > 0;) mark_op(d, op_at(d->e, b->ops.at[i]), holder);
}

static void dce_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data);

/* The inside of a region op, without what is dead. */
static void copy_inside(Dce *d, Builder *b, const Entry *old, const Op *op, Block *into,
                        ValueId *map) {
  const Block *from = op->blocks[0];
  Block *outer = b->b;
  builder_at(b, into);
  if (op->kind == OP_SCAN) /* the counter */
    map[from->args.at[0]] = block_add_arg(b->e, into, *value_at(old, from->args.at[0]));
  for (int k = 0; k < op->noperands; k++)
    if (reads(d, op, k))
      map[arg_of(op, k)] = block_add_arg(b->e, into, *value_at(old, arg_of(op, k)));
  for (uint32_t i = 0; i < from->ops.n; i++) {
    const Op *in = op_at(old, from->ops.at[i]);
    if (in->kind != OP_YIELD) {
      dce_each(b, old, in, map, d);
      continue;
    }
    ValueId *y = ARENA_ARRAY(d->a, ValueId, in->noperands);
    int n = 0;
    for (int k = 0; k < in->noperands; k++)
      if (wants(d, op, k)) y[n++] = map[in->operands[k]];
    builder_like(b, in);
    build_op(b, OP_YIELD, y, n, in->attr, NULL, 0);
  }
  builder_at(b, outer);
}

static void copy_region(Dce *d, Builder *b, const Entry *old, const Op *op, ValueId *map) {
  ValueId *x = ARENA_ARRAY(d->a, ValueId, op->noperands);
  const Type **types = ARENA_ARRAY(d->a, const Type *, op->nresults);
  Attr attr[MAX_ATTRS];
  int nx = 0, ny = 0;
  memcpy(attr, op->attr, sizeof attr);
  for (int k = 0; k < op->noperands; k++)
    if (reads(d, op, k)) x[nx++] = map[op->operands[k]];
  for (int k = 0; k < op->nresults; k++)
    if (wants(d, op, k)) types[ny++] = value_type(old, op->results[k]);
  if (op->kind == OP_SCAN) {
    attr[AT_CARRIES].i = 0;
    for (int k = 0; k < scan_carries(op); k++) attr[AT_CARRIES].i += wants(d, op, k);
  }
  builder_like(b, op);
  Op *copy = build_op(b, op->kind, x, nx, attr, types, ny);
  ny = 0;
  for (int k = 0; k < op->nresults; k++) {
    if (!wants(d, op, k)) continue;
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
  if (op->nblocks)
    copy_region(d, b, old, op, map);
  else
    build_copy(b, old, op, map);
}

int64_t dce_entry(Arena *a, Entry *e) {
  Dce d = {.a = a, .e = e};
  d.live = ARENA_ARRAY(a, bool, e->values.n);
  d.kept = ARENA_ARRAY(a, bool, e->ops.n);
  mark_block(&d, e->body, NULL);
  int64_t dead = count_dead(&d, e->body);
  if (dead) entry_rebuild(e, dce_each, &d, false, false);
  return dead;
}

bool pass_dce(PassRun *r) {
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) r->changes += dce_entry(r->scratch, e);
  return true;
}
