/* The rectangles of a plan, and the live bytes at every step: what all pictures are made of.
   Contract: needs a plan with offsets. */
#include "passes/report/drawing.h"

static const char *how_of(const Drawing *d, const Place *x, const char **kind) {
  const char *of = x->of == NO_ID ? "" : value_str(d->e, x->of);
  *kind = x->how == HOW_INPLACE ? "inplace" : x->how == HOW_REUSE ? "reuse" : "new";
  if (x->how == HOW_INPLACE) return arena_printf(d->a, "in place of %s", of);
  if (x->how == HOW_REUSE) return *of ? arena_printf(d->a, "reuses %s", of) : "reuses scratch";
  return "new bytes";
}

static void add_rect(Drawing *d, const Op *op, const char *name, const char *type, const Place *x,
                     int row, bool scratch) {
  Ctx *c = d->e->module->ctx;
  const char *loc = op->loc.line ? loc_str(c, op->loc) : "", *kind;
  const char *how = how_of(d, x, &kind);
  bool scoped = op->scope && *op->scope;
  Rect r = {.name = name,
            .op = plan_op_name(op),
            .layer = op->scope ? op->scope : "",
            .from = scoped ? arena_printf(d->a, "%s %s", op->scope, loc) : arena_strdup(d->a, loc),
            .type = type,
            .how = scratch ? "scratch of the kernel" : how,
            .kind = scratch ? "scratch" : kind,
            .place = x,
            .row = row};
  vec_push(d->a, &d->rects, r);
}

static void find_live(Drawing *d, const Storages *s) {
  const Plan *p = d->p;
  d->live = ARENA_ARRAY(d->a, uint64_t, p->nsteps + 2);
  for (int i = 0; i < s->b.n; i++) {
    const Buffer *b = &s->b.at[i];
    live_add(d->live, b->first, b->last, b->bytes);
  }
  live_sum(d->live, p->nsteps);
  for (int t = 0; t < p->nsteps; t++)
    if (d->live[t] > d->live[d->peak]) d->peak = t;
}

Drawing drawing_new(Arena *a, const Entry *e) {
  Drawing d = {.a = a, .e = e, .p = plan_of(e), .top = plan_of(e)->arena_bytes};
  d.title = arena_printf(a, "entry %s", e->name);
  Storages s = plan_storages(a, e, plan_of(e), 1, true);
  find_live(&d, &s);
  for (int t = 0; t < plan_of(e)->nsteps; t++) {
    const Op *op = plan_of(e)->steps[t];
    for (int k = 0; k < plan_nmade(op); k++) {
      ValueId v = plan_made(op, k);
      const Place *x = &plan_of(e)->place[v];
      if (x->region == PLAN_ARENA && x->bytes && s.storage[v] >= 0)
        add_rect(&d, op, value_str(e, v), type_str(e->module->ctx, value_type(e, v)), x,
                 s.storage[v], false);
    }
    const Place *x = &plan_of(e)->scratch[op->id];
    if (x->bytes) add_rect(&d, op, "scratch", "", x, s.scratch[op->id], true);
  }
  return d;
}
