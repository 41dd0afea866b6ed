/* Batch norm by each rank's own rows, as PyTorch's DistributedDataParallel has it. Contract: runs
   in front of autodiff, on entries that train; a batch norm whose statistics are not of x, or are
   made of it by an op that has no meaning on a rank's rows, stays as it is. The ops from x
   to the batch norm's operands are repeated on to_local(x), with to_local of what else they read;
   from_local is behind the batch norm. Gradients follow from these two (ir/op/collective.c). Other
   readers of the statistics, as running averages are, have those of all rows. */
#include "passes/distribute/distribute_impl.h"

/* Whether a value is made of x, by ops that all mean the same on the rows of a rank, or not. */
typedef enum OfX { UNKNOWN = -1, APART, MEANS, LOSES } OfX;

typedef struct Local {
  PassRun *r;
  const Entry *old;
  ValueId *map;  /* by old value: the new one */
  ValueId *made; /* by old value: the rank's own; NO_ID: not made yet */
  int8_t *of_x;  /* by old value: OfX */
  ValueId x;
  int norms;
  bool refused;
} Local;

/* An op that means the same on the rows of a rank. */
static bool has_meaning(const Entry *e, const Op *op) {
  const OpInfo *info = &op_info[op->kind];
  bool element = info->cls == CLASS_ELEMENT && !(info->flags & OPF_POSITION);
  bool view = op->kind == OP_RESHAPE || op->kind == OP_TRANSPOSE || op->kind == OP_BROADCAST;
  return op->nresults == 1 && dtype_is_float(value_type(e, op->results[0])->dtype) &&
         (element || view || op->kind == OP_SUM || op->kind == OP_VARIANCE);
}

/* Operands come before what is made of them; each value is looked at once. */
static OfX of_x(Local *c, ValueId v) {
  if (v <= c->x) return v == c->x ? MEANS : APART;
  if (c->of_x[v] != UNKNOWN) return (OfX)c->of_x[v];
  const Op *op = value_def(c->old, v);
  OfX made = APART;
  for (int i = 0; op && i < op->noperands; i++) {
    const OfX x = of_x(c, op->operands[i]);
    if (made == APART || x == LOSES) made = x == APART ? made : x;
  }
  if (made == MEANS && !has_meaning(c->old, op)) made = LOSES;
  c->of_x[v] = (int8_t)made;
  return made;
}

static ValueId own(Local *c, Builder *b, ValueId v) {
  if (c->made[v] != NO_ID) return c->made[v];
  Attr value;
  if (v != c->x && of_x(c, v) != APART) {
    const Op *op = value_def(c->old, v);
    ValueId *x = ARENA_ARRAY(c->r->scratch, ValueId, op->noperands + 1);
    for (int i = 0; i < op->noperands; i++) x[i] = own(c, b, op->operands[i]);
    c->made[v] = build(b, op->kind, x, op->noperands, op->attr, value_type(c->old, v));
  } else if (value_const(c->old, v, &value) || !dtype_is_float(value_type(c->old, v)->dtype)) {
    c->made[v] = c->map[v];
  } else {
    c->made[v] = build1(b, OP_TO_LOCAL, c->map[v]);
  }
  return c->made[v];
}

/* Rows of a rank are axes of their own, for which other axes must have a size. */
static bool has_size(const Entry *e, const Op *norm) {
  const Type *t = value_type(e, norm->operands[0]);
  Ctx *c = e->module->ctx;
  for (int i = 1; i < t->rank; i++) {
    const Extent *x = type_extent(t, i);
    if (!x) continue;
    diag(c, SEV_ERROR, norm->loc,
         "--batch-norm=local takes no batch norm of %s: the extent %s is known only at run time",
         type_str(c, t), x->name);
    diag(
        c, SEV_HINT, (Loc){0},
        "--batch-norm=global has statistics of all ranks' rows, of any extents; or give the axis a "
        "size in place of a bound");
    return false;
  }
  return true;
}

static void each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Local *c = data;
  bool norm = op->kind == OP_BATCH_NORM, any = false, meaning = true;
  c->old = old;
  c->map = map;
  if (norm) {
    c->x = op->operands[0];
    memset(c->of_x, UNKNOWN, old->values.n);
    memset(c->made, 0xff, sizeof *c->made * old->values.n); /* NO_ID */
  }
  for (int i = 1; norm && i < op->noperands; i++) {
    any |= of_x(c, op->operands[i]) != APART;
    meaning &= of_x(c, op->operands[i]) != LOSES;
  }
  if (any && meaning && !c->refused) c->refused = !has_size(old, op);
  if (!any || !meaning || c->refused) {
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
  if (c.refused) return false;
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
