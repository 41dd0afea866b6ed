/* Storage sharing: gives every storage its bytes by the strategy that was asked for.
   Contract: needs lives and in-place decisions; leaves offsets, and the bytes that each strategy
   would take, which are ordered: arena <= pool <= inplace <= naive for the strategy pack. Times are
   steps. */
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- who lay there before ---- */

typedef struct ByFirst {
  int64_t first;
  int i;
} ByFirst;

static int by_first(const void *pa, const void *pb) {
  const ByFirst *a = pa, *b = pb;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  return a->i < b->i ? -1 : a->i > b->i;
}

/* By buffer: the one whose bytes it takes most of, or -1. */
static int *predecessors(Arena *a, const Buffers *b) {
  int *before = ARENA_ARRAY(a, int, b->n);
  ByFirst *order = ARENA_ARRAY(a, ByFirst, b->n);
  ArenaOccupancy *g = occupancy_new(a, b);
  for (int i = 0; i < b->n; i++) order[i] = (ByFirst){b->at[i].first, i};
  qsort(order, (size_t)b->n, sizeof *order, by_first);
  for (int k = 0; k < b->n; k++) before[order[k].i] = occupancy_add(g, order[k].i, NULL);
  return before;
}

/* ---------------------------------------------------------------- strategies ---- */

typedef enum Strategy {
  SHARE_NONE,
  SHARE_INPLACE,
  SHARE_POOL,
  SHARE_COLOR,
  SHARE_PACK,
  STRATEGIES
} Strategy;
static const char *const strategy_name[STRATEGIES] = {"none", "inplace", "pool", "color", "pack"};

static bool strategy_parse(PassRun *r, Strategy *out) {
  const char *name = pass_arg_str(r, "strategy", r->opt->memory ? r->opt->memory : "pack");
  for (int i = 0; i < STRATEGIES; i++)
    if (strcmp(name, strategy_name[i]) == 0) {
      *out = (Strategy)i;
      return true;
    }
  diag(r->m->ctx, SEV_ERROR, (Loc){0}, "there is no memory strategy '%s'", name);
  const char *near = nearest_name(r->m->ctx, name, strategy_name, STRATEGIES);
  if (near)
    diag(r->m->ctx, SEV_HINT, (Loc){0}, "did you mean '%s'?", near);
  else
    diag(r->m->ctx, SEV_HINT, (Loc){0}, "it is one of none, inplace, pool, color, pack");
  return false;
}

/* Undoes every in-place decision but that of views: what the strategy none shows. */
static void forget_inplace(const Entry *e, Plan *p) {
  for (int t = 0; t < p->nsteps; t++) {
    const Op *op = p->steps[t];
    for (int k = 0; k < plan_nmade(op); k++) {
      Place *x = &p->place[plan_made(op, k)];
      ValueId of = plan_same(e, plan_made(op, k));
      if (of != NO_ID) {
        const Place *y = &p->place[of];
        x->region = y->region;
        x->global = y->global;
        x->offset = y->offset + plan_shift(e, plan_made(op, k)) - plan_shift(e, of);
        x->how = HOW_INPLACE;
        x->of = of;
      } else if (x->region != PLAN_COUNTS) {
        x->region = PLAN_ARENA;
        x->global = -1;
        x->offset = 0;
        x->how = HOW_NEW;
        x->of = NO_ID;
      }
    }
  }
}

static uint64_t with_slack(uint64_t bytes, uint64_t slack) {
  uint64_t sum;
  return bytes == 0 ? 0 : checked_add(bytes, slack, &sum) ? sum : UINT64_MAX;
}

/* Steps of the packing search that take about a second. */
#define STEPS_A_SECOND 5e8

/* The arena of the plan's strategy; the figures of all strategies. */
static uint64_t assign(const PassRun *r, const Entry *e, Plan *p, Strategy how, int match,
                       double seconds, uint64_t enough, Storages *s) {
  Arena *a = r->scratch;
  const Target *t = r->opt->target;
  uint64_t slack = plan_slack(t);
  Storages unshared = plan_storages(a, e, p, t->align, false);
  Storages in = plan_storages(a, e, p, t->align, true);
  p->naive_bytes = with_slack(buffers_stack(&unshared.b), slack);
  p->inplace_bytes = with_slack(buffers_stack(&in.b), slack);
  p->lower_bound_bytes = with_slack(buffers_bound(a, &in.b), slack);
  if (enough && p->lower_bound_bytes > enough) return p->lower_bound_bytes;
  p->pool_bytes = with_slack(pool_search(a, &in.b, match), slack);
  p->proven_bytes = p->lower_bound_bytes;
  *s = how == SHARE_NONE ? unshared : in;
  if (p->naive_bytes == UINT64_MAX) return UINT64_MAX;
  switch (how) {
  case SHARE_NONE: return p->naive_bytes;
  case SHARE_INPLACE: buffers_stack(&s->b); return p->inplace_bytes;
  case SHARE_POOL: return p->pool_bytes; /* offsets are those of the search */
  case SHARE_COLOR: return with_slack(color_plan(a, &s->b), slack);
  case SHARE_PACK:
  case STRATEGIES: break;
  }
  if (p->pool_bytes == p->lower_bound_bytes || p->pool_bytes <= enough) return p->pool_bytes;
  uint64_t *pooled = ARENA_ARRAY(a, uint64_t, s->b.n);
  for (int i = 0; i < s->b.n; i++) pooled[i] = s->b.at[i].offset;
  PackLimit limit = {.work = (int64_t)(seconds * STEPS_A_SECOND),
                     .capacity = enough > slack ? enough - slack : 0};
  PackResult found = pack_plan(a, &s->b, &limit);
  uint64_t arena = with_slack(found.arena, slack);
  p->optimal = found.arena <= found.proven;
  p->proven_bytes = with_slack(found.proven, slack);
  if (arena <= p->pool_bytes) return arena;
  for (int i = 0; i < s->b.n; i++) s->b.at[i].offset = pooled[i];
  return p->pool_bytes;
}

uint64_t plan_arena(const PassRun *r, const Entry *e, Plan *p, double seconds, uint64_t enough) {
  Storages s;
  return assign(r, e, p, SHARE_PACK, -1, seconds, enough, &s);
}

/* Whose the bytes of a buffer are: a value's, or the scratch of an op. */
static const char *owner_str(const PassRun *r, const Entry *e, const Storages *s, int b,
                             const Op *const *scratch_of) {
  if (scratch_of[b])
    return arena_printf(r->scratch, "the scratch of %s", plan_op_name(scratch_of[b]));
  return value_str(e, s->b.at[b].owner);
}

static void share_remark(PassRun *r, const Op *op, const char *who, const char *of,
                         const Place *x) {
  char buf[32];
  remark(r, REMARK_SHARE, "share", op->loc, "%s shares bytes of %s (%s at 0x%llx)", who, of,
         plan_commas(buf, x->bytes), (unsigned long long)x->offset);
}

static void write_places(PassRun *r, const Entry *e, Plan *p, const Storages *s) {
  int *before = predecessors(r->scratch, &s->b);
  remarks_of(r, e);
  bool reports = r->opt->remarks & REMARK_SHARE;
  const Op **scratch_of = ARENA_ARRAY(r->scratch, const Op *, s->b.n + 1); /* by buffer */
  for (int t = 0; t < p->nsteps; t++)
    if (p->scratch[p->steps[t]->id].bytes) scratch_of[s->scratch[p->steps[t]->id]] = p->steps[t];
  for (int t = 0; t < p->nsteps; t++) {
    const Op *op = p->steps[t];
    Place *tmp = &p->scratch[op->id];
    int own = tmp->bytes ? s->scratch[op->id] : -1;
    if (own >= 0) tmp->offset = s->b.at[own].offset;
    if (own >= 0 && before[own] >= 0 && reports)
      share_remark(r, op, owner_str(r, e, s, own, scratch_of),
                   owner_str(r, e, s, before[own], scratch_of), tmp);
    for (int k = 0; k < plan_nmade(op); k++) {
      ValueId v = plan_made(op, k);
      Place *x = &p->place[v];
      int b = s->storage[v];
      if (b < 0) continue;
      x->offset = s->b.at[b].offset + s->within[v] + plan_shift(e, v);
      if (x->how == HOW_INPLACE) continue;
      int was = before[b];
      while (was >= 0 && s->b.at[was].owner == NO_ID)
        was = before[was]; /* scratch: look below it */
      x->how = before[b] >= 0 ? HOW_REUSE : HOW_NEW;
      x->of = was >= 0 ? s->b.at[was].owner : NO_ID;
      if (before[b] < 0) continue;
      r->changes += x->of != NO_ID;
      if (reports)
        share_remark(r, op, value_str(e, v),
                     owner_str(r, e, s, was >= 0 ? was : before[b], scratch_of), x);
    }
  }
}

/* The arena of the entry, within what the pass remat has fitted it into: where the best packing is
   not, one that aims there, as that of remat did. */
static bool arena_of(PassRun *r, const Entry *e, Plan *p, Strategy how, int match, Storages *s) {
  Ctx *c = r->m->ctx;
  double seconds = r->opt->plan_seconds;
  uint64_t max =
      how == SHARE_PACK && notes_of(e)->memory_limit ? notes_of(e)->memory_limit : UINT64_MAX;
  int64_t effort = r->opt->trial ? 100 : pass_arg_int(r, "effort", 100);
  p->arena_bytes = assign(r, e, p, how, match, seconds, 0, s);
  if (how == SHARE_PACK && !p->optimal && p->arena_bytes > p->lower_bound_bytes && effort > 100) {
    Plan more = *p; /* searched for longer; the better one of both is kept */
    Storages at;
    more.arena_bytes = assign(r, e, &more, how, match, seconds * (double)effort / 100, 0, &at);
    if (more.arena_bytes < p->arena_bytes) *s = at;
    if (more.arena_bytes > p->arena_bytes) more.arena_bytes = p->arena_bytes;
    *p = more;
  }
  if (p->arena_bytes > max && p->lower_bound_bytes <= max)
    p->arena_bytes = assign(r, e, p, how, match, seconds, max, s);
  if (p->arena_bytes == UINT64_MAX) {
    diag(c, SEV_ERROR, e->loc, "the values of entry '%s' need more than 2^64 bytes", e->name);
  } else if (p->arena_bytes > max) {
    char b1[32], b2[32];
    diag(c, SEV_ERROR, e->loc, "entry '%s' takes %s bytes in %d streams, where %s are allowed",
         e->name, plan_commas(b1, p->arena_bytes), p->streams, plan_commas(b2, max));
    diag(c, SEV_HINT, e->loc, "allow as many, or fewer streams");
  }
  return p->arena_bytes < UINT64_MAX && p->arena_bytes <= max;
}

bool pass_share(PassRun *r) {
  Strategy how;
  int match = (int)pass_arg_int(r, "match", -1);
  if (!strategy_parse(r, &how)) return false;
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    Plan *p = plan_of(e);
    Storages s;
    p->strategy = strategy_name[how];
    p->optimal = false; /* what an earlier share proved is not about this one */
    if (!arena_of(r, e, p, how, match, &s)) return false;
    if (p->arena_bytes == p->lower_bound_bytes) p->optimal = true;
    if (how == SHARE_NONE) {
      forget_inplace(e, p);
      plan_strides(r->m->arena, e, p);
    }
    write_places(r, e, p, &s);
    if (p->streams > 1) plan_edges(r, e, p, &s);
    overlap_find(r, e);
  }
  return true;
}
