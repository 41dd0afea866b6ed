/* What a rank takes in memory, by the plan of a module that is distributed among so many: of the
   process on the host, and of the device elsewhere, where two batches take turns. */
#include "codegen/program/launch.h"

static uint64_t max_bytes(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* One arena and one region of inputs serve an entry and what runs before it. */
static EntryBytes of_entry(const Module *m, const Entry *e, const RankBytes *b, int batches) {
  const Entry *all[] = {e, m->init, m->gather};
  EntryBytes x = {.name = e->name, .messages = e->ranks ? entry_under_way(e) : 0};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!all[i]) continue;
    x.arena = max_bytes(x.arena, plan_of(all[i])->arena_bytes);
    x.inputs = max_bytes(x.inputs, plan_of(all[i])->inputs_bytes);
  }
  if (e->ahead) { /* the inputs that it makes lie in its own arena, of which there are two */
    x.inputs = plan_of(e->ahead)->inputs_bytes;
    x.arena += 2 * plan_of(e->ahead)->arena_bytes;
    batches = 2;
  }
  x.inputs *= (uint64_t)batches;
  x.total = b->globals + x.inputs + x.arena;
  return x;
}

RankBytes codegen_rank_bytes(Arena *a, const Module *m, const CodegenPart *part, int ranks) {
  RankBytes b = {.target = part->target, .ranks = ranks, .nentries = (int)m->entries.n};
  b.globals = plan_globals(m, part->target->align).bytes;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    uint64_t bytes = 0;
    (void)layout_bytes(g->type, g->layout, &bytes);
    if (g->kind == GLOBAL_PARAM) b.params += bytes;
    if (g->kind == GLOBAL_STATE) b.states += bytes;
    if (g->kind == GLOBAL_OPTIMIZER) b.optimizer += bytes;
  }
  EntryBytes *entry = ARENA_ARRAY(a, EntryBytes, m->entries.n + 1);
  for (int i = 0; i < b.nentries; i++) {
    entry[i] = of_entry(m, m->entries.at[i], &b, part->backend == backend_host() ? 1 : 2);
    entry[i].name = arena_printf(a, "%s", entry[i].name);
  }
  b.entry = entry;
  return b;
}
