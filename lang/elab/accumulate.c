/* minimize … accumulate = k: gradients are averaged over k runs of the entry, and the optimizer's
   assignments take effect in every k-th run. Contract: the sums are the states accumulate.PATH,
   which are zero after each update. The optimizer gets the mean, so clip limits the norm of the
   mean; in its body `step` counts updates. The optimizer is computed in every run, since an entry
   has no run-time branches. */
#include "lang/elab/elab_impl.h"

static ValueId integer(Elab *e, int64_t v, Loc loc) {
  return build_const_int(elab_at(e, loc), type_scalar(e->c, DT_I64), v);
}

ValueId accumulate_due(Elab *e, Loc loc) {
  ValueId step = global_read(e, global_step(e), loc);
  Builder *b = elab_at(e, loc);
  ValueId next = build2(b, OP_ADD, step, integer(e, 1, loc));
  ValueId over = build2(b, OP_MOD, next, integer(e, e->accumulate, loc));
  return build2(b, OP_EQ, over, integer(e, 0, loc));
}

Val accumulate_step(Elab *e, Loc loc) {
  ValueId step = global_read(e, global_step(e), loc);
  Builder *b = elab_at(e, loc);
  ValueId exact = build_convert(b, step, DT_F64);
  ValueId k = build_const(b, type_scalar(e->c, DT_F64), (double)e->accumulate);
  ValueId updates = build1(b, OP_FLOOR, build2(b, OP_DIV, exact, k));
  return val_tensor(e, build_convert(b, updates, DT_I64));
}

static ValueId choose(Elab *e, ValueId due, ValueId yes, ValueId no, Loc loc) {
  Builder *b = elab_at(e, loc);
  const Type *t = value_type(b->e, yes);
  ValueId all = build_broadcast(b, due, type_with_dtype(e->c, t, DT_BOOL));
  return build3(b, OP_WHERE, all, yes, no);
}

Val accumulate_add(Elab *e, ValueId due, const char *path, Val g, Loc loc) {
  const Type *t = g.tensor.type;
  int global = global_zeros(e, GLOBAL_OPTIMIZER, intern_printf(e->c, "accumulate.%s", path), t);
  ValueId sum = global_read(e, global, loc);
  Builder *b = elab_at(e, loc);
  ValueId share = build2(b, OP_MUL, g.tensor.id, build_const(b, t, 1.0 / (double)e->accumulate));
  ValueId total = build2(b, OP_ADD, sum, share);
  global_write(e, global, choose(e, due, build_const(b, t, 0), total, loc));
  return val_tensor(e, total);
}

ValueId *update_before(Elab *e) {
  uint32_t n = e->m->globals.n;
  ValueId *before = ARENA_ARRAY(e->a, ValueId, n + 1);
  for (uint32_t i = 0; i < n; i++)
    before[i] = i < e->run->current.n ? e->run->current.at[i] : NO_ID;
  return before;
}

void update_choose(Elab *e, ValueId due, const ValueId *before, int n, Loc loc) {
  for (uint32_t i = 0; i < e->run->stored.n; i++) {
    int global = e->run->stored.at[i].global;
    ValueId now = e->run->current.at[global], was = global < n ? before[global] : NO_ID;
    if (now == was) continue;
    if (was == NO_ID) was = build_load(elab_at(e, loc), global);
    if (now != was) global_write(e, global, choose(e, due, now, was, loc));
  }
}
