/* Offsets of parameters and states in their region, and the slack behind the end of every region.
   Contract: offsets are the same for all entries of a module. Fails after a diagnostic if a size
   overflows. */
#include "passes/plan/plan_impl.h"

uint64_t plan_slack(const Target *t) {
  uint64_t slack = 0;
  return checked_align((uint64_t)t->slack, (uint64_t)t->align, &slack) ? slack : 0;
}

GlobalsPlan plan_globals(const Module *m, int align) {
  GlobalsPlan g = {.offset = ARENA_ARRAY(m->arena, uint64_t, m->globals.n + 1)};
  uint64_t hypers = 0, bytes;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *x = &m->globals.at[i];
    if (x->kind == GLOBAL_HYPER) {
      g.offset[i] = hypers;
      hypers += HYPER_BYTES;
      continue;
    }
    g.offset[i] = g.bytes;
    if (!layout_bytes(x->type, x->layout, &bytes) || !checked_add(g.bytes, bytes, &g.bytes) ||
        !checked_align(g.bytes, (uint64_t)align, &g.bytes)) {
      diag(m->ctx, SEV_ERROR, x->loc, "the parameters and states need more than 2^64 bytes");
      g.bytes = UINT64_MAX;
      return g;
    }
  }
  return g;
}
