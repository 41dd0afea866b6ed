/* Params in slices, one on each rank, if their optimizers' state is (ZeRO: Rajbhandari et al.,
   2020), and states that are made of them, as moving averages. Contract: an entry that trains
   gathers a param in front of its first reader, beside the ops that do not need it yet, and updates
   the slice: no message stands at the end of a step. Entries that do not train load a copy of the
   whole param, which the entry `gather` makes; the runtime runs it before them if params have
   changed. An entry that trains leaves what it has gathered in the same copy, so that both share
   their bytes. */
#include "passes/distribute/distribute_impl.h"

/* What reads it but the store makes of it what is in slices, too, as moving averages are. */
static bool stays_in_slices(const Distribution *d, const Op *store) {
  const ValueId v = store->operands[0];
  for (uint32_t i = 0; i < d->e->ops.n; i++) {
    const Op *op = op_at(d->e, i);
    bool reads = false;
    for (int k = 0; k < op->noperands; k++) reads |= op->operands[k] == v;
    if (!reads || op == store) continue;
    if (op_info[op->kind].cls != CLASS_ELEMENT || d->at[op->results[0]].kind != SLICED)
      return false;
  }
  return true;
}

/* The rank makes its slice of what is stored alone, and nothing needs the rest of it. */
static bool is_updated_in_slices(const Distribution *d, const Op *store) {
  const Global *g = &d->e->module->globals.at[store->attr[AT_GLOBAL].i];
  const bool kept = g->kind == GLOBAL_PARAM || g->kind == GLOBAL_STATE;
  return kept && !g->quantized && !g->master && !g->whole && slices_fit(g->type, d->ranks) &&
         store->parent == d->e->body && d->at[store->operands[0]].kind == SLICED &&
         stays_in_slices(d, store);
}

static void look(const Distribution *d, const Entry *e, const Block *b, ParamChoice *choice) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    for (int k = 0; k < op->nblocks; k++) look(d, e, op->blocks[k], choice);
    bool stores = op->kind == OP_STORE, loads = op->kind == OP_LOAD;
    if (!stores && !loads) continue;
    ParamChoice *x = &choice[op->attr[AT_GLOBAL].i];
    if (stores && d && is_updated_in_slices(d, op))
      *x = *x == PARAM_UNSEEN ? PARAM_SLICED : *x;
    else if (stores || (e->training && !d))
      *x = PARAM_WHOLE;
  }
}

void params_look(const Distribution *d, const Entry *e, ParamChoice *choice) {
  look(d, e, e->body, choice);
}

/* ---- copies ---- */

static bool loads(const Entry *e, uint32_t global) {
  for (uint32_t i = 0; i < e->ops.n; i++)
    if (op_at(e, i)->kind == OP_LOAD && op_at(e, i)->attr[AT_GLOBAL].i == (int64_t)global)
      return true;
  return false;
}

static int add_copy(Module *m, uint32_t g) {
  Global copy = {.kind = GLOBAL_PARAM,
                 .master = m->globals.at[g].path,
                 .type = m->globals.at[g].type,
                 .loc = m->globals.at[g].loc};
  copy.path = intern_printf(m->ctx, "%s.gathered", copy.master);
  while (module_find_global(m, copy.path) >= 0) copy.path = intern_printf(m->ctx, "%s_", copy.path);
  return module_add_global(m, copy);
}

static void load_copy(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  const int *copy = data;
  if (op->kind != OP_LOAD || copy[op->attr[AT_GLOBAL].i] < 0) {
    build_copy(b, old, op, map);
    return;
  }
  b->name = value_at(old, op->results[0])->name;
  map[op->results[0]] = build_load(b, copy[op->attr[AT_GLOBAL].i]);
}

int *params_slice(Arena *a, Module *m, const ParamChoice *choice, bool *sliced) {
  const uint32_t n = m->globals.n;
  int *copy = ARENA_ARRAY(a, int, 2 * n + 1);
  bool any = false;
  for (uint32_t g = 0; g < 2 * n; g++) copy[g] = -1;
  for (uint32_t g = 0; g < n; g++) {
    if (choice[g] != PARAM_SLICED) continue;
    sliced[g] = true;
    for (uint32_t k = 0; k < m->entries.n && copy[g] < 0; k++)
      if (!m->entries.at[k]->training && loads(m->entries.at[k], g)) copy[g] = add_copy(m, g);
    any |= copy[g] >= 0;
  }
  for (uint32_t k = 0; any && k < m->entries.n; k++)
    if (!m->entries.at[k]->training) entry_rebuild(m->entries.at[k], load_copy, copy, true, true);
  return copy;
}

void params_gather(Module *m, const int *copy, uint32_t n) {
  Builder *b = NULL;
  for (uint32_t g = 0; g < n; g++) {
    if (copy[g] < 0) continue;
    if (!b) {
      m->gather = entry_new(m, "gather", m->init ? m->init->loc : (Loc){0});
      b = builder_new(m->gather, m->gather->body);
    }
    b->loc = m->globals.at[g].loc;
    build_store(b, copy[g], slice_gather(b, build_load(b, (int)g), m->globals.at[g].whole));
  }
  if (b) build_return(b, NULL, NULL, 0);
}
