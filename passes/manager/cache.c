/* Notes of passes on an entry and a module: see cache.h. */
#include "passes/manager/cache.h"

const AnalysisCache *cache_of(const Entry *e) {
  static const AnalysisCache none;
  return e->cache ? e->cache : &none;
}

AnalysisCache *cache_change(Entry *e) {
  AnalysisCache *own = ARENA_NEW(e->module->arena, AnalysisCache);
  *own = *cache_of(e);
  return e->cache = own;
}

const EntryNotes *notes_of(const Entry *e) {
  static const EntryNotes none;
  return e->notes ? e->notes : &none;
}

EntryNotes *notes_change(Entry *e) {
  EntryNotes *own = ARENA_NEW(e->module->arena, EntryNotes);
  *own = *notes_of(e);
  return e->notes = own;
}

ModuleNotes *module_notes(Module *m) {
  if (!m->notes) m->notes = ARENA_NEW(m->arena, ModuleNotes);
  return m->notes;
}

Plan *plan_of(const Entry *e) { return cache_of(e)->plan; }

const LeastExtent *entry_least(const Entry *e, const Extent *x) {
  const EntryNotes *notes = notes_of(e);
  for (uint32_t i = 0; i < notes->least.n; i++)
    if (notes->least.at[i].x == x) return &notes->least.at[i];
  return NULL;
}
