/* The functions behind passes.def, and what passes share that is no business of other floors.
   Contract: a pass returns false after a diagnostic; it counts what it changed in r->changes. */
#ifndef GC_PASSES_PASS_LIST_H
#define GC_PASSES_PASS_LIST_H
#include "passes/passes.h"

#define PASS(ID, NAME, NEEDS, GIVES, KEEPS, ARGS, HELP) bool pass_##ID(PassRun *r);
#include "passes/passes.def"
#undef PASS

/* Entry k of the module, init being the last: what every pass walks over. NULL behind the end. */
static inline Entry *pass_entry(const Module *m, uint32_t k) {
  return k < m->entries.n ? m->entries.at[k] : k == m->entries.n ? m->init : NULL;
}

/* Values that a gradient is asked for, by value id of the entry, inputs and loads left out: see
   pin.c. NULL where there are none. */
bool *pass_pinned(Arena *a, const Entry *e);
/* For the pinned old value `was`, which became `now`: a value that nothing else can become one
 * with. */
ValueId pass_pin(Builder *b, const Entry *old, ValueId was, ValueId now);
#endif
