/* Dry runs: a pass whose worth shows only in the plan runs the rest of the pipeline and reads the
   arena. Contract: entries and layouts of globals are as before afterwards; the passes print
   nothing, and a missed limit is no error. */
#include "passes/manager/pass_list.h"

/* out: may be NULL; brief: with little search */
static bool dry_run(PassRun *r, uint64_t limit, FILE *curve, bool brief, Trial *out) {
  enum { BRIEF = 20 }; /* of the time for packing, as of the search for recomputation */
  Module *m = r->m;
  /* Under a limit streams take no more bytes than one: each number of them has the same rewrites.
   */
  bool limited = r->opt->limit.bytes || r->opt->limit.share > 0;
  PassOptions own = {.target = r->opt->target,
                     .plan_seconds = r->opt->plan_seconds / (brief ? BRIEF : 1),
                     .limit = {.bytes = limit},
                     .streams = limited ? 1 : r->opt->streams,
                     .memory = r->opt->memory,
                     .verify_each = r->opt->verify_each,
                     .curve = curve,
                     .trial = true,
                     .brief = brief};
  const Snapshot now = snapshot_take(r->scratch, m);
  bool ok = passes_rest(r, &own);
  for (uint32_t k = 0; out && k < m->entries.n; k++) {
    out[k] = trial_of(m->entries.at[k], r->opt->target);
    if (limited) out[k].arena += trial_prepared(m->entries.at[k]);
  }
  snapshot_restore(m, &now);
  return ok;
}

bool trial_run(PassRun *r, uint64_t limit, Trial *out) {
  return dry_run(r, limit, NULL, false, out);
}

bool trial_brief(PassRun *r, uint64_t limit, Trial *out) {
  return dry_run(r, limit, NULL, true, out);
}

bool trial_curve(PassRun *r) { return dry_run(r, 0, r->opt->curve, false, NULL); }

bool trial_limit(PassRun *r, uint64_t *limit) {
  const MemoryLimit *l = &r->opt->limit;
  Module *m = r->m;
  ModuleNotes *notes = module_notes(m);
  *limit = l->bytes;
  if (l->bytes) return true;
  if (!notes->whole_arena) {
    Trial *now = ARENA_ARRAY(r->scratch, Trial, m->entries.n + 1);
    if (!trial_run(r, 0, now)) return false;
    for (uint32_t k = 0; k < m->entries.n; k++)
      if (now[k].arena > notes->whole_arena) notes->whole_arena = now[k].arena;
  }
  *limit = (uint64_t)((double)notes->whole_arena * l->share);
  return true;
}

/* ---- what is worth it under a limit ---- */

bool trial_is_better(const Trial *now, const Trial *was, uint64_t limit) {
  bool fits = now->arena <= limit, fitted = was->arena <= limit;
  if (fits != fitted) return fits;
  return fits ? now->again < was->again : now->arena < was->arena;
}

/* Bytes of the largest value that the entry makes. */
static uint64_t largest_of(const Entry *e) {
  uint64_t max = 0;
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    for (int k = 0; k < op->nresults && op->kind != OP_LOAD; k++)
      if (value_type(e, op->results[k])->bytes > max) max = value_type(e, op->results[k])->bytes;
  }
  return max;
}

/* Something that the entry makes is large for the limit: what is rewritten may pay. */
static bool is_large(const TrialRewrite *w, const Entry *e, uint64_t limit) {
  return !w->share || largest_of(e) >= limit / (uint64_t)w->share;
}

/* What is rewritten follows from the entry alone: it is the same under all limits, so that the
   least that a refusal names is met. */
static uint64_t min_of(const TrialRewrite *w, const Entry *e) {
  enum { PART = 4 }; /* of the largest: what has less is not worth it */
  return w->share ? largest_of(e) / PART : 0;
}

/* Rewrites entries that do not fit as they are, or run something large again to fit; false if there
   is none. */
static bool try_entries(PassRun *r, const TrialRewrite *w, const Trial *was, uint64_t limit) {
  bool any = false;
  for (uint32_t k = 0; k < r->m->entries.n; k++) {
    Entry *e = r->m->entries.at[k];
    uint64_t min = min_of(w, e);
    bool pays = was[k].arena > limit || (was[k].again && is_large(w, e, limit));
    if (!pays || !w->any(r, e, min)) continue;
    w->apply(r, e, min);
    any = true;
  }
  return any;
}

/* All entries do, and run at most one part in so many again. */
static bool all_fit(const Trial *was, uint32_t n, uint64_t limit, uint64_t part) {
  for (uint32_t k = 0; k < n; k++)
    if (was[k].arena > limit || was[k].again > was[k].flops / part) return false;
  return true;
}

/* A whole trial takes as long as the compilation. A brief one says whether the limit can be met
   without any rewriting: where something is large for the limit, for next to nothing. */
static bool under_limit(PassRun *r, const TrialRewrite *w) {
  enum { LITTLE = 1000 };
  const Module *m = r->m;
  uint32_t n = m->entries.n;
  uint64_t limit;
  bool any = false, large = false;
  Trial *was = ARENA_ARRAY(r->scratch, Trial, n), *now = ARENA_ARRAY(r->scratch, Trial, n);
  Entry *before = ARENA_ARRAY(r->scratch, Entry, n);
  if (!trial_limit(r, &limit)) return false;
  for (uint32_t k = 0; k < n; k++) {
    before[k] = *m->entries.at[k];
    bool found = w->any(r, m->entries.at[k], min_of(w, m->entries.at[k]));
    any |= found;
    large |= found && is_large(w, m->entries.at[k], limit);
  }
  if (!any) return true;
  if (!trial_brief(r, limit, was)) return false;
  if (all_fit(was, n, limit, large ? LITTLE : 1)) return true;
  if (!trial_run(r, limit, was)) return false;
  if (!try_entries(r, w, was, limit)) return true;
  if (!trial_run(r, limit, now)) return false;
  for (uint32_t k = 0; k < n; k++) {
    Entry *e = m->entries.at[k];
    if (e->body == before[k].body) continue;
    if (trial_is_better(&now[k], &was[k], limit))
      w->report(r, &before[k], min_of(w, &before[k]));
    else
      *e = before[k];
  }
  return true;
}

/* The curves of the program with the largest of them rewritten, which it then is no more. */
static bool curve_of(PassRun *r, const TrialRewrite *w) {
  enum { HALF = 2 }; /* of the arena: the limit that a curve takes for this */
  const Module *m = r->m;
  uint32_t n = m->entries.n;
  bool limited = r->opt->limit.bytes || r->opt->limit.share > 0; /* the program will be another */
  bool any = false;
  Trial *now = ARENA_ARRAY(r->scratch, Trial, n);
  Entry *before = ARENA_ARRAY(r->scratch, Entry, n);
  if (!trial_run(r, 0, now) || (limited && !trial_curve(r))) return false;
  for (uint32_t k = 0; k < n; k++) {
    Entry *e = m->entries.at[k];
    uint64_t min = min_of(w, e);
    before[k] = *e;
    if (!is_large(w, e, now[k].arena / HALF) || !w->any(r, e, min)) continue;
    w->apply(r, e, min);
    any = true;
  }
  bool ok = !any || trial_curve(r);
  for (uint32_t k = 0; k < n; k++) *m->entries.at[k] = before[k];
  return ok;
}

bool trial_rewrite(PassRun *r, const TrialRewrite *w, bool all) {
  bool any = false;
  for (uint32_t k = 0; k < r->m->entries.n; k++) {
    Entry *e = r->m->entries.at[k];
    if (!w->any(r, e, 0)) continue;
    if (all) {
      w->report(r, e, 0);
      w->apply(r, e, 0);
    }
    any = true;
  }
  bool limited = r->opt->limit.bytes || r->opt->limit.share > 0;
  if (r->opt->trial && !r->opt->curve)
    return true; /* trials in trials would double with each pass */
  if (r->opt->curve && !all && any && !curve_of(r, w)) return false;
  return all || !any || !limited || under_limit(r, w);
}
