/* Runs the stages of a pipeline: all of it, the stages behind a pass, or the whole once more.
   Contract: a property that a pass does not keep is lost, and with the liveness goes the plan; a
   pass that an entry leaves out does not see the entry. */
#include "ir/support/clock.h"
#include "passes/manager/manager_impl.h"

/* Text of all entries, with the plan where there is one. */
static void print_module(FILE *f, const Module *m, const char *after, int64_t changes,
                         bool planned) {
  fprintf(f, "; after %s, changes: %lld\n", after, (long long)changes);
  PrintOptions o = {.locs = false, .note = planned ? plan_note : NULL};
  module_print(f, m, &o);
}

static void print_table(FILE *f, const Pipeline *p, const double *ms, const int64_t *changes,
                        const PassOptions *opt) {
  double total = 0;
  for (uint32_t i = 0; i < p->stages.n; i++) total += ms[i];
  fprintf(f, "%-14s", "pass");
  if (opt->time_passes) fprintf(f, " %10s %6s", "ms", "%");
  if (opt->stats) fprintf(f, " %10s", "changes");
  fputc('\n', f);
  for (uint32_t i = 0; i < p->stages.n; i++) {
    fprintf(f, "%-14s", p->stages.at[i].pass->name);
    if (opt->time_passes) fprintf(f, " %10.3f %6.1f", ms[i], total > 0 ? 100 * ms[i] / total : 0);
    if (opt->stats) fprintf(f, " %10lld", (long long)changes[i]);
    fputc('\n', f);
  }
  if (opt->time_passes) fprintf(f, "%-14s %10.3f %6.1f\n", "total", total, 100.0);
}

/* Of EntryNotes.left_out; a stage far behind is left out by none. */
static uint64_t stage_bit(uint32_t stage) { return stage < 64 ? UINT64_C(1) << stage : 0; }

/* Takes the entries that leave the stage out from the module's; `all` are all of them. */
static bool is_left_out(Entry *e, uint64_t bit) { return notes_of(e)->left_out & bit; }

static void hide_entries(Module *m, uint64_t bit, Arena *a, Module *all) {
  bool any = false;
  *all = *m;
  for (uint32_t k = 0; k < m->entries.n; k++) any |= is_left_out(m->entries.at[k], bit);
  if (!any) return;
  m->entries.at = ARENA_ARRAY(a, Entry *, m->entries.n + 1);
  m->entries.n = 0;
  for (uint32_t k = 0; k < all->entries.n; k++)
    if (!is_left_out(all->entries.at[k], bit)) m->entries.at[m->entries.n++] = all->entries.at[k];
}

static bool run_stage(Module *m, const Pipeline *p, uint32_t stage, const PassOptions *opt,
                      double *ms, int64_t *changes, bool *ends) {
  Arena *scratch = arena_new();
  const Stage *st = &p->stages.at[stage];
  PassRun r = {
      .m = m, .opt = opt, .scratch = scratch, .args = st->args, .pipeline = p, .stage = stage};
  double start = clock_seconds();
  Module all;
  hide_entries(m, stage_bit(stage), scratch, &all);
  bool ok = st->pass->run(&r);
  m->entries = all.entries;
  *ms = 1e3 * (clock_seconds() - start);
  *changes = r.changes;
  *ends = r.ends;
  arena_free(scratch);
  return ok;
}

/* The stages of the pipeline from this one on, up to another one. */
bool manager_run(Module *m, const Pipeline *p, uint32_t from, uint32_t end,
                 const PassOptions *opt) {
  FILE *f = opt->out ? opt->out : stderr;
  double *ms = ARENA_ARRAY(ctx_arena(m->ctx), double, p->stages.n);
  int64_t *changes = ARENA_ARRAY(ctx_arena(m->ctx), int64_t, p->stages.n);
  unsigned have = 0;
  bool ok = true, ends = false;
  for (uint32_t i = from; ok && !ends && i < end; i++) {
    const Pass *pass = p->stages.at[i].pass;
    if (!(pass->keeps & HAS_LIVENESS)) { /* also a plan of an earlier pipeline is void now */
      Entry *e;
      for (uint32_t k = 0; (e = pass_entry(m, k)); k++) cache_change(e)->plan = NULL;
    }
    if (opt->stage) *opt->stage = pass->name;
    ok = run_stage(m, p, i, opt, &ms[i], &changes[i], &ends);
    have = (have & pass->keeps) | pass->gives;
    if (ok && opt->verify_each) ok = module_verify(m, pass->name);
    const char *after = opt->print_after;
    bool asked = after && (strcmp(after, "all") == 0 || strcmp(after, pass->name) == 0);
    if (ok && (asked || (opt->print_changed && changes[i] > 0)))
      print_module(f, m, pass->name, changes[i], have & HAS_OFFSETS);
  }
  if (ok && (opt->time_passes || opt->stats)) print_table(f, p, ms, changes, opt);
  return ok;
}

bool passes_again(const PassRun *r, uint64_t limit, uint32_t k, Trial *out) {
  const Pipeline *p = r->pipeline;
  Module *m = r->m;
  if (!p->came) return false;
  PassOptions own = {.target = r->opt->target,
                     .plan_seconds = r->opt->plan_seconds,
                     .limit = {.bytes = limit},
                     .probe = true};
  const Snapshot now = snapshot_take(r->scratch, m);
  snapshot_restore(m, p->came);
  const Snapshot came = snapshot_take(r->scratch, m); /* which stays for the next time */
  bool ok = manager_run(m, p, 0, p->stages.n, &own);
  if (ok) *out = trial_of(m->entries.at[k], r->opt->target);
  if (ok) out->arena += trial_prepared(m->entries.at[k]);
  snapshot_restore(m, &came);
  snapshot_restore(m, &now);
  return ok;
}

bool passes_rest(const PassRun *r, const PassOptions *opt) {
  return manager_run(r->m, r->pipeline, r->stage + 1, r->pipeline->stages.n, opt);
}

uint64_t passes_stages(const PassRun *r, const char *name, const char *until) {
  const Pipeline *p = r->pipeline;
  uint64_t bits = 0;
  for (uint32_t i = r->stage + 1; i < p->stages.n; i++) {
    const char *pass = p->stages.at[i].pass->name;
    if (until && strcmp(pass, until) == 0) break;
    if (strcmp(pass, name) == 0) bits |= stage_bit(i);
  }
  return bits;
}

uint64_t passes_behind(const PassRun *r, const char *name) {
  const Pipeline *p = r->pipeline;
  uint64_t bits = 0;
  for (uint32_t i = p->stages.n; i-- > r->stage + 1;) {
    if (strcmp(p->stages.at[i].pass->name, name) == 0) return bits;
    if (!stage_bit(i)) return 0;
    bits |= stage_bit(i);
  }
  return 0;
}

bool passes_until(const PassRun *r, const char *name, const PassOptions *opt) {
  const Pipeline *p = r->pipeline;
  for (uint32_t i = r->stage + 1; i < p->stages.n; i++)
    if (strcmp(p->stages.at[i].pass->name, name) == 0)
      return manager_run(r->m, p, r->stage + 1, i + 1, opt);
  return false;
}
