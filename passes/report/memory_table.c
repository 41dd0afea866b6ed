/* --memory-report: the bytes that each idea saves, entry by entry, in the rows of the classic
   memory-cost experiment (Chen et al. 2016, section 6): nothing, in place alone, sharing alone,
   both (the arena), and that of the forward pass alone; beside them the other figures of the plan.
   Contract: both modules are planned; the second is the same program without its updates. */
#include "passes/plan/plan_impl.h"

/* Drops what only training does: no update, hence no gradient. What an entry returns stays. */
static void leave_out_stores(Builder *b, const Entry *old, const Op *op, ValueId *map,
                             void *unused) {
  if (op->kind != OP_STORE) build_copy(b, old, op, map);
}

void module_drop_updates(Module *m) {
  for (uint32_t i = 0; i < m->entries.n; i++) {
    if (!m->entries.at[i]->training) continue;
    entry_rebuild(m->entries.at[i], leave_out_stores, NULL, false, true);
    m->entries.at[i]->training = false;
  }
}

/* Bytes shared by values that do not live together, none of them in place. */
static uint64_t shared_alone(Arena *a, const Entry *e, const Target *t, int64_t work) {
  Storages s = plan_storages(a, e, plan_of(e), t->align, false);
  PackLimit limit = {.work = work};
  return s.b.n ? pack_plan(a, &s.b, &limit).arena + plan_slack(t) : 0;
}

static void print_row(FILE *f, const char *what, uint64_t bytes, uint64_t all) {
  char buf[32];
  fprintf(f, "  %-24s %18s  %5.1f %%\n", what, plan_commas(buf, bytes),
          all ? 100 * (double)bytes / (double)all : 0.0);
}

void plan_report(FILE *f, const Module *m, const Module *forward, const Target *t) {
  enum { WORK = 500 * 1000 * 1000 }; /* as much as a plan has by default */
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i], *fwd = forward->entries.at[i];
    const Plan *p = plan_of(e);
    Arena *a = arena_new();
    fprintf(f, "entry %s: bytes of intermediate values\n", e->name);
    print_row(f, "without sharing", p->naive_bytes, p->naive_bytes);
    print_row(f, "in place", p->inplace_bytes, p->naive_bytes);
    print_row(f, "shared, not in place", shared_alone(a, e, t, WORK), p->naive_bytes);
    print_row(f, "pool", p->pool_bytes, p->naive_bytes);
    print_row(f, "arena", p->arena_bytes, p->naive_bytes);
    print_row(f, "lower bound", p->lower_bound_bytes, p->naive_bytes);
    if (e->training) print_row(f, "arena, forward only", plan_of(fwd)->arena_bytes, p->naive_bytes);
    arena_free(a);
  }
}
