/* Snapshots of a program, for passes that try a rewrite and come back, and the results of the
   trial.
   Contract: the restored program is as it was, globals with their types and layouts
   included. */
#include "passes/manager/pass_list.h"

Snapshot snapshot_take(Arena *a, const Module *m) {
  uint32_t n = module_entries(m);
  Snapshot s = {ARENA_ARRAY(a, Entry, n + 1), m->gather, ARENA_ARRAY(a, Global, m->globals.n + 1),
                m->globals.n};
  for (uint32_t g = 0; g < m->globals.n; g++) s.global[g] = m->globals.at[g];
  for (uint32_t k = 0; k < n; k++) {
    s.entry[k] = *pass_entry(m, k);
    entry_copy(pass_entry(m, k));
  }
  return s;
}

Snapshot snapshot_copy(Arena *a, const Module *m) {
  Snapshot s = snapshot_take(a, m);
  for (uint32_t k = 0; pass_entry(m, k); k++) {
    Entry copy = *pass_entry(m, k);
    *pass_entry(m, k) = s.entry[k];
    s.entry[k] = copy;
  }
  return s;
}

void snapshot_restore(Module *m, const Snapshot *s) {
  m->gather = s->gather;
  for (uint32_t k = 0; pass_entry(m, k); k++) *pass_entry(m, k) = s->entry[k];
  bool others = m->globals.n != s->globals;
  m->globals.n = s->globals; /* none is freed, so there is room for them */
  for (uint32_t g = 0; g < m->globals.n; g++) m->globals.at[g] = s->global[g];
  if (others) module_keep_globals(m, s->globals);
}

static uint64_t largest_copy(const Entry *e) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    const Global *g = op->kind == OP_LOAD ? &e->module->globals.at[op->attr[AT_GLOBAL].i] : NULL;
    if (g && g->master && g->type->bytes > most) most = g->type->bytes;
  }
  return most;
}

uint64_t trial_prepared(const Entry *e) {
  const Plan *p = e->ahead ? plan_of(e->ahead) : NULL;
  return p ? prepared_bytes(p->arena_bytes) : 0;
}

Trial trial_of(const Entry *e, const Target *t) {
  const Plan *p = plan_of(e);
  if (!p)
    return (Trial){.again = notes_of(e)->rerun_flops}; /* of a pipeline that ends before the plan */
  return (Trial){.arena = p->arena_bytes,
                 .bound = p->lower_bound_bytes,
                 .copies = layout_copies(e, t->align),
                 .converted = largest_copy(e),
                 .again = notes_of(e)->rerun_flops,
                 .flops = p->flops};
}
