/* Copies that let a program run in place: a reader of a global's old value behind its store gets a
   copy, and carries that begin with one constant get a constant each.
   Contract: the entry is rebuilt if anything needs a copy, and only then. */
#include "passes/manager/pass_list.h"
#include "passes/schedule/order_impl.h"

typedef struct Stores {
  bool *stored;   /* by global */
  uint32_t *uses; /* by value: how often ops have it as an operand */
} Stores;

/* A carry begins in the bytes of its first value, which a constant has for one carry alone. */
static bool shares_constant(const Entry *e, const Stores *s, const Op *op, int i) {
  if (op->kind != OP_SCAN || i >= scan_carries(op) || s->uses[op->operands[i]] < 2) return false;
  const Op *def = value_def(e, op->operands[i]);
  return def && def->kind == OP_CONST;
}

/* The yield of a loop brings each value to its carry, where it must not find another carry's. */
static bool moves_carry(const Entry *e, const Op *yield, int i) {
  const Op *scan = yield->parent->op;
  if (!scan || scan->kind != OP_SCAN || i >= scan_carries(scan)) return false;
  ValueId v = order_source(e, yield->operands[i]);
  const Value *x = value_at(e, v);
  return x->block == scan->blocks[0] && (int)x->index <= scan_carries(scan) && x->index > 0 &&
         x->index != (uint32_t)i + 1;
}

/* Reading the operand at the end, or after other stores, would find a new value in its bytes. */
static bool needs_copy(const Entry *e, const Stores *s, const Op *op, int i) {
  if (op->kind == OP_YIELD) return moves_carry(e, op, i);
  const Op *def = value_def(e, order_source(e, op->operands[i]));
  if (!def || def->kind != OP_LOAD || !s->stored[def->attr[AT_GLOBAL].i]) return false;
  if (op->kind == OP_RETURN) return true;
  return op->kind == OP_STORE && op->attr[AT_GLOBAL].i != def->attr[AT_GLOBAL].i;
}

/* Each of the loop's carries begins with a constant of its own. */
static void copy_scan(Builder *b, const Entry *old, const Stores *s, const Op *op, ValueId *map) {
  int carries = scan_carries(op);
  ValueId *own = ARENA_ARRAY(b->m->arena, ValueId, carries + 1);
  for (int i = 0; i < carries; i++) {
    own[i] = map[op->operands[i]];
    if (!shares_constant(old, s, op, i)) continue;
    const Value *v = value_at(old, op->operands[i]);
    own[i] = build_op(b, OP_CONST, NULL, 0, op_at(old, v->def)->attr, &v->type, 1)->results[0];
    value_at(b->e, own[i])->layout = v->layout;
  }
  build_copy(b, old, op, map);
  if (!carries) return;
  ValueId *operands = (ValueId *)value_def(b->e, map[op->results[0]])->operands; /* built here */
  memcpy(operands, own, sizeof *own * (size_t)carries);
}

static void rebuild_with_copies(Builder *b, const Entry *old, const Op *op, ValueId *map,
                                void *data) {
  const Stores *s = data;
  ValueId *was = NULL;
  for (int i = 0; i < op->noperands; i++) {
    if (!needs_copy(old, s, op, i)) continue;
    if (!was) { /* what op reads is mapped to the copy for this op alone */
      was = ARENA_ARRAY(b->m->arena, ValueId, op->noperands);
      for (int k = 0; k < op->noperands; k++) was[k] = map[op->operands[k]];
    }
    b->loc = op->loc;
    b->scope = op->scope;
    ValueId x = was[i];
    if (map[op->operands[i]] != x) continue; /* the same operand twice: one copy */
    ValueId copy = build_op(b, OP_COPY, &x, 1, NULL, &b->e->values.at[x].type, 1)->results[0];
    value_at(b->e, copy)->layout = value_at(b->e, x)->layout;
    map[op->operands[i]] = copy;
  }
  if (op->kind == OP_SCAN)
    copy_scan(b, old, s, op, map);
  else
    build_copy(b, old, op, map);
  for (int i = 0; was && i < op->noperands; i++) map[op->operands[i]] = was[i];
}

bool order_copies(Arena *scratch, Entry *e) {
  Stores s = {ARENA_ARRAY(scratch, bool, e->module->globals.n),
              ARENA_ARRAY(scratch, uint32_t, e->values.n)};
  bool needed = false;
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    if (op->kind == OP_STORE) s.stored[op->attr[AT_GLOBAL].i] = true;
  }
  for (uint32_t i = 0; i < e->ops.n; i++)
    for (int k = 0; k < op_at(e, i)->noperands; k++) s.uses[op_at(e, i)->operands[k]]++;
  for (uint32_t i = 0; i < e->ops.n; i++)
    for (int k = 0; k < op_at(e, i)->noperands; k++)
      needed |= needs_copy(e, &s, op_at(e, i), k) || shares_constant(e, &s, op_at(e, i), k);
  if (needed) entry_rebuild(e, rebuild_with_copies, &s, false, true);
  return needed;
}
