/* The tables of an entry's steps: their arguments, what they wait for, the bytes that are dead
   behind them, what they make, and the loops around them. Steps whose tables are equal share one:
   an unrolled loop has thousands, and C compilers take long over each.
   Contract: as of tables.h; the launches are printed in order. */
#include "codegen/program/extent.h"
#include "codegen/program/tables_impl.h"

#include <inttypes.h>

static void strides(Text *x, const int64_t *stride, int depth) {
  if (!stride) return;
  text_add(x, ", (const int64_t[]){");
  for (int i = 0; i < depth; i++) text_add(x, "%s%" PRId64, i ? ", " : "", stride[i]);
  text_add(x, "}");
}

typedef struct OpenTable {
  const char *type, *name;
  uint32_t start, rows; /* of the text: where its definition begins, and its rows */
} OpenTable;

static OpenTable open_table(Tables *p, const char *type, const char *name) {
  OpenTable t = {type, name, p->text.s.n, 0};
  text_add(&p->text, "static const %s %s[] = {", type, name);
  t.rows = p->text.s.n;
  return t;
}

/* Ends the table; takes it out again where one of the same rows stands before it. Its name, or that
   one's. */
static const char *close_table(Tables *p, OpenTable t) {
  Text *x = &p->text;
  const char *rows =
      intern_printf(p->g->ctx, "%s {%.*s", t.type, (int)(x->s.n - t.rows), x->s.at + t.rows);
  uint32_t before;
  if (map_get(&p->shared, rows, &before)) {
    x->s.n = t.start;
    return p->names.at[before];
  }
  map_put(p->g->a, &p->shared, rows, p->names.n);
  vec_push(p->g->a, &p->names, t.name);
  text_add(x, "};\n");
  return t.name;
}

static const char *arguments(Tables *p, const char *name, const Launch *l, int depth) {
  Text *x = &p->text;
  const OpenTable t = open_table(p, "GcArg", name);
  for (int k = 0; k < l->kernel->nargs; k++) {
    const Address *at = &l->args[k];
    text_add(x, "%s{%s, %" PRIu64 ", %" PRIu64, k ? ", " : "", tables_region(at->region),
             at->offset, at->bytes);
    strides(x, at->stride, depth);
    text_add(x, "}");
  }
  return close_table(p, t);
}

/* A table of the launches that one waits for, and its initialisers in a step's row. */
static const char *waits(Tables *p, const char *name, const Launch *l, int streams) {
  Arena *a = p->g->a;
  if (streams <= 1) return "";
  if (!l->after.n) return arena_printf(a, ", .stream = %d", l->stream);
  const OpenTable t = open_table(p, "int", name);
  for (uint32_t k = 0; k < l->after.n; k++)
    text_add(&p->text, "%s%u", k ? ", " : "", l->after.at[k]);
  name = close_table(p, t);
  return arena_printf(a, ", .stream = %d, .after = %s, .nafter = %u", l->stream, name, l->after.n);
}

static void result(Tables *p, const Entry *e, int arg, const char *name, const Type *t,
                   const Layout *l) {
  text_add(&p->text, "  {%d, ", arg);
  tables_tensor(p, e, name ? name : "", t, l, (Address){.region = PLAN_ARENA});
  text_add(&p->text, "},\n");
}

/* Transformed filters are as many numbers as they take, whatever they were. */
static const Type *stored_type(Ctx *c, const Value *v) {
  uint64_t bytes = 0;
  (void)layout_bytes(v->type, v->layout, &bytes);
  return type_get(c, v->type->dtype, 1, (int64_t[]){(int64_t)bytes / dtype_size(v->type->dtype)});
}

/* The second product of a stack writes its results over this one. */
static bool is_written_again(const Launch *x, int arg) {
  for (int k = arg + 1; k < x->kernel->nargs && x->kernel->stacked; k++)
    if (x->kernel->args[k].access.write && address_overlap(&x->args[arg], &x->args[k])) return true;
  return false;
}

/* A table of the floats that are complete behind the launch, the last one of its op, and its
   initialisers in a step's row. A collective that is looked at ends where it begins. */
static const char *results(Tables *p, const Entry *e, const char *name, const Launches *l,
                           uint32_t i) {
  const Launch *x = &l->at.at[i];
  uint32_t n = 0;
  OpenTable t = {0};
  bool last = i + 1 == l->at.n || l->at.at[i + 1].op != x->op || l->at.at[i + 1].ends;
  for (int k = 0; k < x->kernel->nargs && last && !x->ends; k++) {
    const KernelArg *a = &x->kernel->args[k];
    const Global *g = a->kind == ARG_GLOBAL ? &p->g->m->globals.at[a->global] : NULL;
    if (a->kind == ARG_SCRATCH || !a->access.write || is_written_again(x, k)) continue;
    const Value *v = g ? NULL : value_at(e, a->value);
    if (!dtype_is_float(g ? g->type->dtype : v->type->dtype)) continue;
    if (!n++) t = open_table(p, "GcResult", name), text_add(&p->text, "\n");
    if (g)
      result(p, NULL, k, g->path, g->type, g->layout);
    else if (v->layout && v->layout->winograd)
      result(p, NULL, k, v->name, stored_type(p->g->ctx, v), NULL);
    else
      result(p, e, k, v->name, v->type, v->layout);
  }
  const char *backward = x->op->backward ? ", .backward = true" : "";
  if (!n) return backward;
  name = close_table(p, t);
  return arena_printf(p->g->a, ", .results = %s, .nresults = %u%s", name, n, backward);
}

/* A table of dead ranges; its name, or "NULL". */
static const char *ranges(Tables *p, const char *name, const DeadRanges *dead) {
  Text *x = &p->text;
  if (!dead->n) return "NULL";
  const OpenTable t = open_table(p, "GcRange", name);
  for (uint32_t k = 0; k < dead->n; k++)
    text_add(x, "%s{%" PRIu64 ", %" PRIu64 "}", k ? ", " : "", dead->at[k].offset,
             dead->at[k].bytes);
  return close_table(p, t);
}

static void loops(Tables *p, const Entry *e, const char *id, const Launches *l) {
  Arena *a = p->g->a;
  Text *x = &p->text;
  VEC(const char *) dead = {0};
  for (uint32_t i = 0; i < l->loops.n; i++)
    vec_push(a, &dead, ranges(p, arena_printf(a, "%s_l%u", id, i), &l->loops.at[i].dead));
  if (!l->loops.n) return;
  text_add(x, "static const GcLoop %s_loops[] = {\n", id);
  for (uint32_t i = 0; i < l->loops.n; i++) {
    const LaunchLoop *at = &l->loops.at[i];
    const Extent *extent = scan_extent(e, at->scan);
    text_add(x, "  {%u, %u, %d, %d, %s, %s, %u", at->first, at->end, at->depth,
             (int)scan_trips(at->scan), at->scan->attr[AT_REVERSE].i ? "true" : "false", dead.at[i],
             at->dead.n);
    text_add(x, extent ? ", %d},\n" : "},\n", extent ? 1 + entry_extent(e, extent) : 0);
  }
  text_add(x, "};\n");
}

void steps_tables(Tables *p, const Entry *e, const char *id, const Launches *l) {
  Arena *a = p->g->a;
  Text *x = &p->text;
  const unsigned char *makes = e == p->g->m->init ? plan_init_uses(p->g->m) : NULL;
  VEC(StepText) run = {0};
  for (uint32_t i = 0; i < l->at.n; i++)
    vec_push(a, &run, p->step(p, i < l->ahead ? e->ahead : e, &l->at.at[i], l->depth));
  text_add(x, "\n/* ---- %s ---- */\n", text_comment(a, e->name));
  VEC(const char *) args = {0}, dead = {0}, after = {0}, made = {0};
  for (uint32_t i = 0; i < l->at.n; i++) {
    const char *name = arena_printf(a, "%s_a%u", id, i);
    vec_push(a, &args, arguments(p, name, &l->at.at[i], l->depth));
    vec_push(a, &after, waits(p, arena_printf(a, "%s_w%u", id, i), &l->at.at[i], l->streams));
    vec_push(a, &dead, ranges(p, arena_printf(a, "%s_d%u", id, i), &l->at.at[i].dead));
    bool own = e == p->g->m->init || e == p->g->m->gather;
    vec_push(a, &made,
             own ? ""
                 : results(p, i < l->ahead ? e->ahead : e, arena_printf(a, "%s_r%u", id, i), l, i));
  }
  loops(p, e, id, l);
  if (l->at.n) {
    text_add(x, "static const GcStep %s_steps[] = {\n", id);
    for (uint32_t i = 0; i < l->at.n; i++) {
      const Launch *s = &l->at.at[i];
      text_add(x, "  {%s, %s, %s, %s, %s, %d, %d, %s, %u, %" PRIu64 ", %" PRIu64, run.at[i].kernel,
               text_quoted(a, s->kernel->name), text_quoted(a, s->op->scope),
               text_quoted(a, s->op->loc.line ? loc_str(p->g->ctx, s->op->loc) : ""), args.at[i],
               s->kernel->nargs, s->barrier, dead.at[i], s->dead.n, s->flops, s->bytes);
      if (run.at[i].launch) text_add(x, ", %s", run.at[i].launch);
      if (s->kernel->one_share) text_add(x, ", .one_share = true");
      if (makes) text_add(x, ", .makes = %d", makes[s->op->id]);
      if (run.at[i].collective)
        text_add(x, ", .collective = &(const GcCollective){%s}", run.at[i].collective);
      text_add(x, "%s%s},\n", after.at[i], made.at[i]);
    }
    text_add(x, "};\n");
  }
}
