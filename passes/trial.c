/* Trials: what the rest of a pipeline makes of the program as it is, for passes whose work shows
   its worth only in the plan. Contract: entries and layouts of globals are as before afterwards;
   what the passes print is not printed, and a limit that is not met is no error. */
#include "passes/pass_list.h"

static void copy_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  (void)data;
  build_copy(b, old, op, map);
}

/* out: may be NULL */
static bool run(PassRun *r, uint64_t limit, FILE *curve, Trial *out) {
  Module *m = r->m;
  PassOptions own = {.target = r->opt->target,
                     .plan_seconds = r->opt->plan_seconds,
                     .limit = {.bytes = limit},
                     .curve = curve,
                     .trial = true};
  uint32_t n = m->entries.n + (m->init != NULL);
  Entry *saved = ARENA_ARRAY(r->scratch, Entry, n + 1);
  const Layout **layout = ARENA_ARRAY(r->scratch, const Layout *, m->globals.n + 1);
  for (uint32_t g = 0; g < m->globals.n; g++) layout[g] = m->globals.at[g].layout;
  for (uint32_t k = 0; k < n; k++) {
    saved[k] = *pass_entry(m, k);
    entry_rebuild(pass_entry(m, k), copy_each, NULL, false, false);
  }
  bool ok = passes_rest(r, &own);
  for (uint32_t k = 0; out && k < m->entries.n; k++) {
    const Plan *p = m->entries.at[k]->plan; /* none of a pipeline that ends before the plan */
    out[k] = (Trial){.arena = p ? p->arena_bytes : 0, .again = m->entries.at[k]->rerun_flops};
  }
  for (uint32_t k = 0; k < n; k++) *pass_entry(m, k) = saved[k];
  for (uint32_t g = 0; g < m->globals.n; g++) m->globals.at[g].layout = layout[g];
  return ok;
}

bool trial_run(PassRun *r, uint64_t limit, Trial *out) { return run(r, limit, NULL, out); }

bool trial_curve(PassRun *r) { return run(r, 0, r->opt->curve, NULL); }

bool trial_limit(PassRun *r, uint64_t *limit) {
  const MemoryLimit *l = &r->opt->limit;
  Module *m = r->m;
  *limit = l->bytes;
  if (l->bytes) return true;
  if (!m->whole_arena) {
    Trial *now = ARENA_ARRAY(r->scratch, Trial, m->entries.n + 1);
    if (!trial_run(r, 0, now)) return false;
    for (uint32_t k = 0; k < m->entries.n; k++)
      if (now[k].arena > m->whole_arena) m->whole_arena = now[k].arena;
  }
  *limit = (uint64_t)((double)m->whole_arena * l->share);
  return true;
}
