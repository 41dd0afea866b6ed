/* Rounded operands: a product in tf32 can round its operands as it reads them. Then a param or an
   input, and whatever else is in memory unrounded, has no rounded copy, which a launch would make.
   Contract: bits of operands stay. Runs behind transpose-operands, whose copies are rounded on the
   way, and before fuse. What nothing else reads is rounded where it is computed, as before.
   Method: a rounding goes if all that reads it, perhaps behind views, are products that round, or
   round again themselves. */
#include "passes/manager/pass_list.h"

typedef struct Rounded {
  PassRun *r;
  const Entry *e;
  int *readers; /* by value */
  bool *stays;  /* by value: something reads it that does not round it */
} Rounded;

static bool is_view(const Op *op) {
  return op && op_info[op->kind].cls == CLASS_VIEW && op->noperands == 1;
}

/* In memory, as an f32 tensor of its own, whether it is read rounded or not. */
static bool is_there(const Rounded *t, ValueId x) {
  const Op *def = value_def(t->e, x);
  return !def || def->kind == OP_LOAD || (t->readers[x] > 1 && !is_view(def));
}

static bool goes(const Rounded *t, ValueId v) {
  const Op *def = value_def(t->e, v);
  return def && def->kind == OP_TF32 && !t->stays[v] && is_there(t, def->operands[0]);
}

static bool rounds(const Rounded *t, const Op *op, int i) {
  const Target *target = t->r->opt->target;
  return op->kind == OP_TF32 ||
         (op->kind == OP_MATMUL && target->rounds_operand(target, t->e, op, i));
}

/* False: none goes. A view is read behind what it shows, so ops are looked at from the last to the
   first. */
static bool look(Rounded *t) {
  const Entry *e = t->e;
  t->readers = ARENA_ARRAY(t->r->scratch, int, e->values.n + 1);
  t->stays = ARENA_ARRAY(t->r->scratch, bool, e->values.n + 1);
  for (OpId i = e->ops.n; i-- > 0;) {
    const Op *op = op_at(e, i);
    for (int k = 0; k < op->noperands; k++) {
      const ValueId x = op->operands[k];
      t->readers[x]++;
      t->stays[x] |= is_view(op) ? t->stays[op->results[0]] : !rounds(t, op, k);
    }
  }
  bool any = false;
  for (ValueId v = 0; v < e->values.n; v++) any |= goes(t, v);
  return any;
}

/* The operand is one whose rounding goes, or a view of it. */
static bool takes(const Rounded *t, ValueId v) {
  for (const Op *def = value_def(t->e, v); is_view(def); def = value_def(t->e, v))
    v = def->operands[0];
  return goes(t, v);
}

static void round_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Rounded *t = data;
  if (op->kind == OP_TF32 && goes(t, op->results[0])) {
    map[op->results[0]] = map[op->operands[0]];
    t->r->changes++;
    return;
  }
  const bool left = op->kind == OP_MATMUL && takes(t, op->operands[0]),
             right = op->kind == OP_MATMUL && takes(t, op->operands[1]);
  if (!left && !right) {
    build_copy(b, old, op, map);
    return;
  }
  Attr attr[MAX_ATTRS];
  memcpy(attr, op->attr, sizeof attr);
  attr[AT_ROUND_A].i |= left;
  attr[AT_ROUND_B].i |= right;
  b->name = value_at(old, op->results[0])->name;
  map[op->results[0]] =
      build(b, OP_MATMUL, (ValueId[]){map[op->operands[0]], map[op->operands[1]]}, 2, attr, NULL);
}

bool pass_round_operands(PassRun *r) {
  Entry *e;
  if (!r->opt->target || !r->opt->target->rounds_operand) return true;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    /* entry_rebuild changes *e: what is old stays in a copy */
    const Entry old = *e;
    Rounded t = {.r = r, .e = &old};
    if (look(&t)) entry_rebuild(e, round_each, &t, false, true);
  }
  return true;
}
