/* Guard: no entry needs a larger arena than the program as it is written, planned without
   optimization, by more than the largest weight that it would convert if that had no copy.
   Contract: stands in front of every pass that an entry may leave out. Its decisions are
   EntryNotes.left_out, in_order, overlap_free and goal, which those passes, fusion, streams and
   remat obey.
   Merged values live longer, fused ops wait for each other, and the best order of one program may
   not be found for another. If an arena has grown, the rest of the pipeline runs without
   recomputation, then without bytes for collectives that overlap with computation, then with fusion
   within the live bytes of the written order, then without more and more passes, then with
   recomputation within the goal: first of little arithmetic, then of any. The first variant that
   needs no more is kept.
   Passes in front of autodiff decide in which order gradients are added up. They are not left out,
   since the bits of no entry should depend on its sizes; with reassociate=1 they are as others. The
   goal is that of the program as it is written all the same.
   With whole=1 all this is done with the program of one process, so that its ops, and its bits, are
   those of every number of ranks.
 */
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

/* What may be left out: kinds of passes. */
typedef enum Kind {
  RECOMPUTE = 1, /* cheap values that are computed again far behind */
  MERGE = 2,     /* equal ops become one, and leave loops */
  FOLD = 4,
  REST = 8 /* all that a program as it is written does not go through */
} Kind;

static const struct {
  const char *pass;
  Kind kind;
} optional[] = {{"cheap-remat", RECOMPUTE}, {"cse", MERGE}, {"hoist", MERGE}, {"fold", FOLD},
                {"shared-stacks", REST},    {"fuse", REST}};
enum { OPTIONAL = sizeof optional / sizeof *optional };

typedef struct Variant {
  unsigned left_out; /* bits of Kind */
  bool in_order;     /* its ops come in the order that the program has as it is written */
  bool overlaps;     /* collectives overlap as they do with all passes, else within the bytes of the
                        order */
  bool in_goal;      /* values are recomputed, until the arena is within the goal */
  bool at_any_cost;  /* ... whatever arithmetic that takes */
  bool of_ranks;     /* without collectives there is another variant like it */
  const char *what;  /* for a remark */
} Variant;

enum { AS_WRITTEN = RECOMPUTE | MERGE | FOLD | REST };
#define IN_LIVE_BYTES "fusion within the live bytes of the program's order"
#define IN_BYTES "recomputation within the bytes of the program as it is written"
static const Variant variants[] = {
    {.left_out = RECOMPUTE, .overlaps = true, .what = "no recomputation"},
    {.of_ranks = true, .what = "no bytes for collectives that overlap"},
    {.left_out = RECOMPUTE,
     .of_ranks = true,
     .what = "no bytes for collectives that overlap, no recomputation"},
    {.in_order = true, .what = IN_LIVE_BYTES},
    {.left_out = RECOMPUTE, .in_order = true, .what = IN_LIVE_BYTES ", no recomputation"},
    {.left_out = RECOMPUTE | MERGE, .what = "no merging of equal ops"},
    {.left_out = RECOMPUTE | MERGE,
     .in_order = true,
     .what = "fusion within live bytes, no merging of equal ops"},
    {.left_out = RECOMPUTE | MERGE | FOLD,
     .in_order = true,
     .what = "fusion within live bytes, and nothing else"},
    {.left_out = RECOMPUTE, .in_goal = true, .what = IN_BYTES},
    {.left_out = RECOMPUTE,
     .in_order = true,
     .in_goal = true,
     .what = IN_BYTES ", fusion within live bytes"},
    {.left_out = RECOMPUTE | MERGE, .in_goal = true, .what = IN_BYTES ", no merging of equal ops"},
    {.left_out = AS_WRITTEN,
     .in_goal = true,
     .what = IN_BYTES ", no optimization behind the gradients"},
    {.left_out = AS_WRITTEN, .overlaps = true, .what = "no optimization behind the gradients"},
    {.left_out = RECOMPUTE, .in_goal = true, .at_any_cost = true, .what = IN_BYTES},
    {.left_out = RECOMPUTE,
     .in_order = true,
     .in_goal = true,
     .at_any_cost = true,
     .what = IN_BYTES ", fusion within live bytes"},
    {.left_out = RECOMPUTE | MERGE,
     .in_goal = true,
     .at_any_cost = true,
     .what = IN_BYTES ", no merging of equal ops"},
    {.left_out = AS_WRITTEN,
     .in_goal = true,
     .at_any_cost = true,
     .what = IN_BYTES ", no optimization behind the gradients"},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

typedef struct Guard {
  PassRun *r;
  uint32_t n;      /* entries */
  uint64_t *goal;  /* by entry: bytes of its arena as it is written, and of a converted weight */
  uint64_t *given; /* of which so many are given for speed, to copies of weights for loops */
  Trial *first;    /* with all passes */
  uint64_t *min;   /* bytes of the best variant so far that count */
  int *best;       /* that variant; -1: all passes */
  Entry *written;  /* by entry */
  Entry *ordered;  /* by entry: in the order that it has as it is written */
  uint64_t whole;  /* stages that trials leave out: those that divide the batch among ranks */
  uint64_t kept;   /* in front of autodiff, of entries with gradients */
  bool overlaps;   /* entries may have collectives */
} Guard;

static Entry *entry_of(const Guard *g, uint32_t k) { return g->r->m->entries.at[k]; }

static bool has_gradient(const Entry *e) {
  for (uint32_t i = 0; i < e->ops.n; i++)
    if (op_at(e, i)->kind == OP_GRAD) return true;
  return false;
}

/* The stages that leave such passes out. What no op reads goes early only for the sake of others.
 */
static uint64_t all_stages_of(const Guard *g, unsigned kinds) {
  uint64_t bits = kinds & REST ? passes_stages(g->r, "dce", "autodiff") : 0;
  for (int i = 0; i < OPTIONAL; i++)
    if (kinds & optional[i].kind) bits |= passes_stages(g->r, optional[i].pass, NULL);
  return bits;
}

/* ... but for those in front of autodiff, if entry k has gradients: they are added up as at each
   other size. */
static uint64_t stages_of(const Guard *g, uint32_t k, unsigned kinds) {
  return all_stages_of(g, kinds) & ~(has_gradient(&g->written[k]) ? g->kept : 0);
}

/* Copies of weights for loops that the program as it is written has not. */
static uint64_t more_copies(const Guard *g, uint32_t k, const Trial *t) {
  return t->copies > g->given[k] ? t->copies - g->given[k] : 0;
}

static void set_variant(Guard *g, uint32_t k, int variant) {
  Entry *e = entry_of(g, k);
  const Variant *w = variant < 0 ? &(Variant){0} : &variants[variant];
  *e = w->in_order ? g->ordered[k] : g->written[k];
  EntryNotes *notes = notes_change(e);
  notes->left_out = stages_of(g, k, w->left_out) | g->whole;
  notes->in_order = w->in_order;
  notes->goal = w->in_goal ? g->goal[k] + more_copies(g, k, &g->first[k]) : 0;
  notes->overlap_free = variant >= 0 && !w->overlaps && g->overlaps;
}

static bool is_over(const Guard *g, uint32_t k) { return g->min[k] > g->goal[k]; }

/* In the next trial the entry has no plan: it needs no other variant, and what others get of it are
   the layouts of globals, which are chosen with it. */
static void leave_unplanned(Guard *g, uint32_t k) {
  notes_change(entry_of(g, k))->left_out |= passes_behind(g->r, "layout");
}

/* The order in which each entry would run with no pass that it may leave out. */
static bool order_entries(Guard *g) {
  PassRun *r = g->r;
  PassOptions own = {.target = r->opt->target, .plan_seconds = r->opt->plan_seconds, .trial = true};
  Entry *others = ARENA_ARRAY(r->scratch, Entry, module_entries(r->m)); /* init and its like */
  for (uint32_t k = g->n; pass_entry(r->m, k); k++) {
    others[k - g->n] = *pass_entry(r->m, k);
    entry_copy(pass_entry(r->m, k));
  }
  for (uint32_t k = 0; k < g->n; k++) {
    *entry_of(g, k) = g->written[k];
    notes_change(entry_of(g, k))->left_out = stages_of(g, k, AS_WRITTEN) | g->whole;
    entry_copy(entry_of(g, k));
  }
  bool ok = passes_until(r, "autodiff", &own) &&
            passes_run(r->m, "autodiff,dce,order", &own); /* which leaves nothing out */
  for (uint32_t k = 0; k < g->n; k++) g->ordered[k] = *entry_of(g, k);
  for (uint32_t k = g->n; pass_entry(r->m, k); k++) *pass_entry(r->m, k) = others[k - g->n];
  return ok;
}

/* Every entry in its best variant. */
static void choose(Guard *g) {
  for (uint32_t k = 0; k < g->n; k++) set_variant(g, k, g->best[k]);
}

/* What counts of an arena: not the copies for loops that the program as it is written has not. */
static uint64_t counted(const Guard *g, uint32_t k, const Trial *t) {
  const uint64_t more = more_copies(g, k, t);
  return t->arena > more ? t->arena - more : 0;
}

/* Without optimization, so that the goals are known; to their bounds, and then exactly where that
 * is not enough. */
static bool find_goals(Guard *g, bool exactly) {
  Trial *found = ARENA_ARRAY(g->r->scratch, Trial, g->n + 1);
  for (uint32_t k = 0; k < g->n; k++) {
    notes_change(entry_of(g, k))->left_out = all_stages_of(g, AS_WRITTEN) | g->whole;
    if (exactly && !is_over(g, k)) leave_unplanned(g, k);
  }
  bool ok = exactly ? trial_run(g->r, 0, found) : trial_brief(g->r, 0, found);
  for (uint32_t k = 0; k < g->n; k++) {
    if (exactly && !is_over(g, k)) continue;
    g->goal[k] = (exactly ? found[k].arena : found[k].bound) + found[k].converted;
    g->given[k] = found[k].copies;
    g->min[k] = counted(g, k, &g->first[k]);
  }
  choose(g);
  return ok;
}

/* Some entry is over its goal. */
static bool any_over(const Guard *g) {
  for (uint32_t k = 0; k < g->n; k++)
    if (is_over(g, k)) return true;
  return false;
}

/* Recomputation costs little time. */
static bool is_cheap(const Trial *t) {
  enum { PART = 20 };
  return t->again <= t->flops / PART;
}

static bool try_variant(Guard *g, int variant, Trial *found) {
  for (uint32_t k = 0; k < g->n; k++)
    if (is_over(g, k))
      set_variant(g, k, variant);
    else
      leave_unplanned(g, k);
  bool ok = trial_run(g->r, 0, found);
  for (uint32_t k = 0; ok && k < g->n; k++)
    if (is_over(g, k) && counted(g, k, &found[k]) < g->min[k] &&
        (variants[variant].at_any_cost || is_cheap(&found[k]))) {
      g->min[k] = counted(g, k, &found[k]);
      g->best[k] = variant;
    }
  choose(g);
  return ok;
}

/* ---- the rest of the pipeline as it is ---- */

/* Nothing is printed on the way, and it plans as trials do: the first run may be the last. */
static bool is_quiet(const PassOptions *o) {
  if (o->memory && strcmp(o->memory, "pack") != 0) return false;
  return o->streams <= 1 && !o->trial && !o->remarks && !o->print_after && !o->print_changed &&
         !o->print_liveness && !o->time_passes && !o->stats && !o->curve && !o->limit.bytes &&
         o->limit.share <= 0;
}

/* Plans the program with all passes; the program itself stays as it is. */
static bool plan_all(Guard *g, Snapshot *planned) {
  PassRun *r = g->r;
  if (g->whole || !is_quiet(r->opt)) return trial_run(r, 0, g->first);
  const Snapshot written = snapshot_take(r->scratch, r->m);
  if (!passes_rest(r, r->opt)) return false;
  for (uint32_t k = 0; k < g->n; k++) g->first[k] = trial_of(entry_of(g, k), r->opt->target);
  *planned = snapshot_take(r->scratch, r->m);
  snapshot_restore(r->m, &written);
  return true;
}

/* The first variant of each entry that meets its goal, else the one with the minimum. */
static bool try_variants(Guard *g) {
  PassRun *r = g->r;
  Trial *found = ARENA_ARRAY(r->scratch, Trial, g->n + 1);
  uint64_t *all = ARENA_ARRAY(r->scratch, uint64_t, g->n + 1);
  memcpy(all, g->min, sizeof *all * g->n);
  if (!order_entries(g)) return false;
  choose(g);
  for (int variant = 0; variant < VARIANTS && any_over(g); variant++) {
    if (variants[variant].of_ranks && !g->overlaps) continue;
    if (!try_variant(g, variant, found)) return false;
  }
  for (uint32_t k = 0; k < g->n; k++) {
    if (g->best[k] < 0) continue;
    r->changes++;
    char is[32], was[32];
    remarks_of(r, entry_of(g, k));
    remark(r, REMARK_FUSE, "fuse-limited", entry_of(g, k)->loc,
           "'%s' takes %s bytes instead of %s: %s", entry_of(g, k)->name,
           plan_commas(is, g->min[k]), plan_commas(was, all[k]), variants[g->best[k]].what);
  }
  return true;
}

bool pass_guard(PassRun *r) {
  uint32_t n = r->m->entries.n;
  Guard g = {.r = r, .n = n};
  g.goal = ARENA_ARRAY(r->scratch, uint64_t, n + 1);
  g.given = ARENA_ARRAY(r->scratch, uint64_t, n + 1);
  g.first = ARENA_ARRAY(r->scratch, Trial, n + 1);
  g.min = ARENA_ARRAY(r->scratch, uint64_t, n + 1);
  g.best = ARENA_ARRAY(r->scratch, int, n + 1);
  g.written = ARENA_ARRAY(r->scratch, Entry, n + 1);
  g.ordered = ARENA_ARRAY(r->scratch, Entry, n + 1);
  for (int i = 0; i < OPTIONAL && !pass_arg_int(r, "reassociate", 0); i++)
    g.kept |= passes_stages(r, optional[i].pass, "autodiff");
  if (pass_arg_int(r, "whole", 0))
    g.whole = passes_stages(r, "distribute", NULL) | passes_stages(r, "buckets", NULL);
  g.overlaps = !g.whole && passes_stages(r, "distribute", NULL);
  for (uint32_t k = 0; k < n; k++) {
    g.best[k] = -1;
    g.written[k] = *entry_of(&g, k);
  }
  if (g.whole) choose(&g);
  Snapshot planned = {0};
  if (!plan_all(&g, &planned) || !find_goals(&g, false)) return false;
  if (any_over(&g) && !find_goals(&g, true)) return false;
  if (any_over(&g)) {
    if (!try_variants(&g)) return false;
  } else if (planned.entry) {
    snapshot_restore(r->m, &planned);
    r->ends = true;
  }
  for (uint32_t k = 0; g.whole && k < n; k++) notes_change(entry_of(&g, k))->left_out &= ~g.whole;
  return true;
}
