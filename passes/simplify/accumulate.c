/* Rows scattered by ids, added to another tensor: add(x, gather_grad(dy, ids)) becomes
   gather_grad(dy, ids, x), which begins with x and reads and writes only the rows that the ids
   name. So a table that is also the matrix of a product, or that a loop reads by ids, has one
   gradient in memory, not two and their sum.
   Contract: behind the passes that cut sums into parts, before fusion, which leaves such sums where
   they are. An element's terms keep their order, but x comes first: the sum of several equal ids is
   rounded otherwise. So the pass runs at every level of optimization, and all have the same bits.
   Halves stay, since their sum is rounded once. With exact=1 rows are not added to what is made of
   a global, as a momentum: of that a rank may have a slice alone, and adds whole sums. The number
   of rows decides nothing, or a bounded batch would be rounded otherwise than the program of its
   extent. */
#include "passes/manager/pass_list.h"

typedef struct Accumulate {
  PassRun *r;
  uint32_t *readers; /* by value */
  bool *of_globals;  /* by value: made of elements of a global; NULL: it decides nothing */
} Accumulate;

/* Operands come before what is made of them. */
static void find_globals(Accumulate *a, const Entry *e) {
  a->of_globals = ARENA_ARRAY(a->r->scratch, bool, e->values.n + 1);
  for (ValueId v = 0; v < e->values.n; v++) {
    const Op *op = value_def(e, v);
    if (!op || value_type(e, v)->numel == 1) continue;
    const OpClass cls = op_info[op->kind].cls;
    bool any = op->kind == OP_LOAD;
    for (int i = 0; (cls == CLASS_ELEMENT || cls == CLASS_VIEW) && i < op->noperands; i++)
      any |= a->of_globals[op->operands[i]];
    a->of_globals[v] = any;
  }
}

/* The operand of the sum that scatters rows and that nothing else reads; -1: none does. */
static int scattered_operand(const Accumulate *a, const Entry *e, const Op *op) {
  if (op->kind != OP_ADD) return -1;
  for (int k = 0; k < 2; k++) {
    ValueId v = op->operands[k];
    const Op *def = value_def(e, v);
    if (!def || def->kind != OP_GATHER_GRAD || op_accumulator(def) >= 0) continue;
    const Type *t = value_type(e, v);
    const Op *other = value_def(e, op->operands[!k]);
    if (other && other->kind == OP_CONST) continue; /* has no bytes to add to */
    if (a->of_globals && a->of_globals[op->operands[!k]]) continue;
    if (a->readers[v] == 1 && def->parent == op->parent && !dtype_is_half(t->dtype) &&
        value_type(e, op->operands[!k]) == t)
      return k;
  }
  return -1;
}

static void accumulate_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Accumulate *a = data;
  int k = scattered_operand(a, old, op);
  if (k < 0) {
    build_copy(b, old, op, map);
    return;
  }
  const Op *def = value_def(old, op->operands[k]);
  b->loc = def->loc; /* where a row is named that is not there */
  b->scope = def->scope;
  ValueId in[] = {map[def->operands[0]], map[def->operands[1]], map[op->operands[!k]]};
  ValueId v = build(b, OP_GATHER_GRAD, in, 3, def->attr, value_type(old, op->results[0]));
  value_at(b->e, v)->name = value_at(old, op->results[0])->name;
  map[op->results[0]] = v;
  a->r->changes++;
}

bool pass_accumulate(PassRun *r) {
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    Accumulate a = {r, ARENA_ARRAY(r->scratch, uint32_t, e->values.n + 1), NULL};
    bool any = false;
    if (pass_arg_int(r, "exact", 0)) find_globals(&a, e);
    for (OpId i = 0; i < e->ops.n; i++)
      for (int o = 0; o < op_at(e, i)->noperands; o++) a.readers[op_at(e, i)->operands[o]]++;
    for (OpId i = 0; i < e->ops.n && !any; i++) any = scattered_operand(&a, e, op_at(e, i)) >= 0;
    if (any) entry_rebuild(e, accumulate_each, &a, false, true);
  }
  return true;
}
