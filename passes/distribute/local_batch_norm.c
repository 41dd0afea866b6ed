/* Batch norm by each rank's own rows, as PyTorch's DistributedDataParallel has it. Contract: runs
   in front of autodiff, on entries that train; a batch norm whose statistics are not of x, or are
   made of it by an op that has no meaning on a rank's rows, stays as it is. What is made of x
   between it and the batch norm is made again of to_local(x), and so is what that reads besides;
   from_local is behind the batch norm. Gradients follow from these two (ir/op/collective.c). Other
   readers of the statistics, as running averages are, have those of all rows. */
#include "passes/distribute/distribute_impl.h"

typedef struct Local {
  PassRun *r;
  const Entry *old;
  ValueId *map;  /* by old value: the new one */
  ValueId *made; /* by old value: the rank's own; NO_ID: not made yet */
  int8_t *of_x;  /* by old value: 1: made of x, 0: not, -1: not known yet */
  ValueId x;
  int norms;
} Local;

/* Operands come before what is made of them. */
static bool is_made_of_x(Local *c, ValueId v) {
  if (v <= c->x) return v == c->x;
  if (c->of_x[v] >= 0) return c->of_x[v];
  const Op *op = value_def(c->old, v);
  c->of_x[v] = 0;
  for (int i = 0; op && i < op->noperands; i++)
    if (is_made_of_x(c, op->operands[i])) c->of_x[v] = 1;
  return c->of_x[v];
}

/* Each op between x and v means the same on the rows of a rank. */
static bool has_meaning(Local *c, ValueId v) {
  if (v == c->x || !is_made_of_x(c, v)) return true;
  const Op *op = value_def(c->old, v);
  const OpInfo *info = &op_info[op->kind];
  bool element = info->cls == CLASS_ELEMENT && !(info->flags & OPF_POSITION);
  bool view = op->kind == OP_RESHAPE || op->kind == OP_TRANSPOSE || op->kind == OP_BROADCAST;
  if (op->nresults != 1 || !dtype_is_float(value_type(c->old, v)->dtype)) return false;
  if (!element && !view && op->kind != OP_SUM && op->kind != OP_VARIANCE) return false;
  for (int i = 0; i < op->noperands; i++)
    if (!has_meaning(c, op->operands[i])) return false;
  return true;
}

static ValueId own(Local *c, Builder *b, ValueId v) {
  if (c->made[v] != NO_ID) return c->made[v];
  Attr value;
  if (v != c->x && is_made_of_x(c, v)) {
    const Op *op = value_def(c->old, v);
    ValueId *x = ARENA_ARRAY(c->r->scratch, ValueId, op->noperands + 1);
    for (int i = 0; i < op->noperands; i++) x[i] = own(c, b, op->operands[i]);
    const bool typed = op_info[op->kind].flags & OPF_TYPED;
    c->made[v] =
        build(b, op->kind, x, op->noperands, op->attr, typed ? value_type(c->old, v) : NULL);
  } else if (value_const(c->old, v, &value) || !dtype_is_float(value_type(c->old, v)->dtype)) {
    c->made[v] = c->map[v];
  } else {
    c->made[v] = build1(b, OP_TO_LOCAL, c->map[v]);
  }
  return c->made[v];
}

static void each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Local *c = data;
  bool norm = op->kind == OP_BATCH_NORM, of_x = false, meaning = true;
  c->old = old;
  c->map = map;
  if (norm) {
    c->x = op->operands[0];
    memset(c->of_x, -1, old->values.n);
    memset(c->made, 0xff, sizeof *c->made * old->values.n); /* NO_ID */
  }
  for (int i = 1; norm && i < op->noperands; i++) {
    of_x |= is_made_of_x(c, op->operands[i]);
    meaning = meaning && has_meaning(c, op->operands[i]);
  }
  if (!of_x || !meaning) {
    build_copy(b, old, op, map);
    return;
  }
  ValueId x[4];
  for (int i = 0; i < 4; i++) x[i] = own(c, b, op->operands[i]);
  ValueId y = build(b, OP_BATCH_NORM, x, 4, op->attr, NULL);
  b->name = value_at(old, op->results[0])->name;
  map[op->results[0]] = build1(b, OP_FROM_LOCAL, y);
  b->name = NULL;
  c->norms++;
}

bool pass_local_batch_norm(PassRun *r) {
  Local c = {.r = r};
  for (uint32_t k = 0; k < r->m->entries.n; k++) {
    Entry *e = r->m->entries.at[k];
    if (!e->training) continue;
    c.made = ARENA_ARRAY(r->scratch, ValueId, e->values.n + 1);
    c.of_x = ARENA_ARRAY(r->scratch, int8_t, e->values.n + 1);
    entry_rebuild(e, each, &c, false, false);
    notes_change(e)->distributed = true;
  }
  r->changes = c.norms;
  if (!c.norms)
    diag(r->m->ctx, SEV_WARNING, (Loc){0},
         "--batch-norm=local changes nothing: no batch norm of training has statistics of its "
         "batch");
  return true;
}

/* ---- where there are no ranks ---- */

static void drop(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  (void)data;
  if (op->kind == OP_TO_LOCAL || op->kind == OP_FROM_LOCAL)
    map[op->results[0]] = map[op->operands[0]];
  else
    build_copy(b, old, op, map);
}

void local_drop(Module *m) {
  for (uint32_t k = 0; k < m->entries.n; k++) {
    Entry *e = m->entries.at[k];
    bool any = false;
    for (uint32_t i = 0; i < e->ops.n && !any; i++)
      any = op_at(e, i)->kind == OP_TO_LOCAL || op_at(e, i)->kind == OP_FROM_LOCAL;
    if (any) entry_rebuild(e, drop, NULL, false, false);
  }
}
