/* From planned entries to the tables of gcrt.h; see tables.h.
   Contract: the same module gives the same bytes. Order: what entries point to, then the entries,
   then the program. */
#include "codegen/program/tables.h"
#include "codegen/program/extent.h"

#include <inttypes.h>

static const char *const region_name[] = {
    [PLAN_ARENA] = "GC_ARENA",   [PLAN_GLOBALS] = "GC_GLOBALS", [PLAN_INPUTS] = "GC_INPUTS",
    [PLAN_HYPERS] = "GC_HYPERS", [PLAN_COUNTS] = "GC_COUNTS",   [PLAN_PREPARED] = "GC_PREPARED"};

static const char *const aggregate_enum[AGGREGATES] = {
    [AGGREGATE_MEAN] = "GC_MEAN", [AGGREGATE_SUM] = "GC_SUM",           [AGGREGATE_MAX] = "GC_MAX",
    [AGGREGATE_MIN] = "GC_MIN",   [AGGREGATE_EXP_MEAN] = "GC_EXP_MEAN", [AGGREGATE_RMS] = "GC_RMS"};

/* By axis: as GcTensor.extents. Parts stand in a table of their own. */
static uint32_t factors_of(const Entry *e, const Extent *x) {
  uint32_t factors = 0;
  for (int k = x ? x->nfactors : 0; k-- > 0;)
    if (!x->factor[k]->whole)
      factors = factors << 4 | (uint32_t)(1 + entry_extent(e, x->factor[k]));
  return factors;
}

/* The part that is a factor of the axis, or NULL. */
static const Extent *part_of_axis(const Type *t, int i) {
  const Extent *x = type_extent(t, i);
  for (int k = 0; x && k < x->nfactors; k++)
    if (x->factor[k]->whole) return x->factor[k];
  return NULL;
}

static void extent_fields(Tables *p, const Entry *e, const Type *t) {
  Text *x = &p->text;
  bool any = false;
  text_add(x, ", .extents = (const uint32_t[]){");
  for (int i = 0; i < t->rank; i++) {
    text_add(x, i ? ", %u" : "%u", factors_of(e, type_extent(t, i)));
    any |= part_of_axis(t, i) != NULL;
  }
  text_add(x, "}");
  if (!any) return;
  text_add(x, ", .parts = (const GcPart[]){");
  for (int i = 0; i < t->rank; i++) {
    const Extent *part = part_of_axis(t, i),
                 *of = part ? axis_extent(p->g->ctx, part->whole) : NULL;
    if (part)
      text_add(x, "{%" PRId64 ", %" PRId64 ", %" PRId64 ", %u}, ", part->first, part->bound,
               axis_multiple(part->whole) * of->bound, factors_of(e, of));
    else
      text_add(x, "{0}, ");
  }
  text_add(x, "}");
}

/* e: whose extents the type has; NULL: it has none. more: further fields, ", .name = value". */
static void tensor_row(Tables *p, const Entry *e, const char *name, const Type *t, const Layout *l,
                       Address at, const InputLimits *limits, const char *more) {
  Text *x = &p->text;
  text_add(x, "{%s, %s, %d, ", text_quoted(p->g->a, name), dtype_enum(t->dtype), t->rank);
  if (t->rank) {
    text_add(x, "(const int64_t[]){");
    for (int i = 0; i < t->rank; i++) text_add(x, "%s%" PRId64, i ? ", " : "", t->dim[i]);
    text_add(x, "}");
  } else {
    text_add(x, "NULL");
  }
  text_add(x, ", %" PRIu64 ", %s, %" PRIu64 ", %d", at.bytes, region_name[at.region], at.offset,
           l ? l->nr : 0);
  if (limits && limits->n) {
    text_add(x, ", .nlimits = %u, .limits = (const GcLimit[]){", limits->n);
    for (uint32_t i = 0; i < limits->n; i++)
      text_add(x, "%s{%" PRId64 ", %" PRId64 "}", i ? ", " : "", limits->at[i].count,
               limits->at[i].limit);
    text_add(x, "}");
  }
  if (l && l->order) {
    text_add(x, ", .order = (const int[]){");
    for (int i = 0; i < l->order->n; i++) text_add(x, i ? ", %d" : "%d", (int)l->order->at[i]);
    text_add(x, "}");
  }
  if (e && t->extent) extent_fields(p, e, t);
  text_add(x, "%s}", more);
}

static void tensor(Tables *p, const Entry *e, const char *name, const Type *t, const Layout *l,
                   Address at, const InputLimits *limits) {
  tensor_row(p, e, name, t, l, at, limits, "");
}

static void strides(Text *x, const int64_t *stride, int depth) {
  if (!stride) return;
  text_add(x, ", (const int64_t[]){");
  for (int i = 0; i < depth; i++) text_add(x, "%s%" PRId64, i ? ", " : "", stride[i]);
  text_add(x, "}");
}

static void arguments(Tables *p, const char *entry, uint32_t i, const Launch *l, int depth) {
  Text *x = &p->text;
  text_add(x, "static const GcArg %s_a%u[] = {", entry, i);
  for (int k = 0; k < l->kernel->nargs; k++) {
    const Address *at = &l->args[k];
    text_add(x, "%s{%s, %" PRIu64 ", %" PRIu64, k ? ", " : "", region_name[at->region], at->offset,
             at->bytes);
    strides(x, at->stride, depth);
    text_add(x, "}");
  }
  text_add(x, "};\n");
}

/* A table of the launches that one waits for, and its initialisers in a step's row. */
static const char *waits(Tables *p, const char *name, const Launch *l, int streams) {
  Arena *a = p->g->a;
  if (streams <= 1) return "";
  if (!l->after.n) return arena_printf(a, ", .stream = %d", l->stream);
  text_add(&p->text, "static const int %s[] = {", name);
  for (uint32_t k = 0; k < l->after.n; k++)
    text_add(&p->text, "%s%u", k ? ", " : "", l->after.at[k]);
  text_add(&p->text, "};\n");
  return arena_printf(a, ", .stream = %d, .after = %s, .nafter = %u", l->stream, name, l->after.n);
}

static void result(Tables *p, const Entry *e, int arg, const char *name, const Type *t,
                   const Layout *l) {
  text_add(&p->text, "  {%d, ", arg);
  tensor(p, e, name ? name : "", t, l, (Address){.region = PLAN_ARENA}, NULL);
  text_add(&p->text, "},\n");
}

/* Transformed filters are as many numbers as they take, whatever they were. */
static const Type *stored_type(Ctx *c, const Value *v) {
  uint64_t bytes = 0;
  (void)layout_bytes(v->type, v->layout, &bytes);
  return type_get(c, v->type->dtype, 1, (int64_t[]){(int64_t)bytes / dtype_size(v->type->dtype)});
}

/* A table of the floats that are complete behind the launch, the last one of its op, and its
   initialisers in a step's row. A collective that is looked at ends where it begins. */
static const char *results(Tables *p, const Entry *e, const char *name, const Launches *l,
                           uint32_t i) {
  const Launch *x = &l->at.at[i];
  uint32_t n = 0;
  bool last = i + 1 == l->at.n || l->at.at[i + 1].op != x->op || l->at.at[i + 1].ends;
  for (int k = 0; k < x->kernel->nargs && last && !x->ends; k++) {
    const KernelArg *a = &x->kernel->args[k];
    const Global *g = a->kind == ARG_GLOBAL ? &p->g->m->globals.at[a->global] : NULL;
    if (a->kind == ARG_SCRATCH || !a->access.write) continue;
    const Value *v = g ? NULL : value_at(e, a->value);
    if (!dtype_is_float(g ? g->type->dtype : v->type->dtype)) continue;
    if (!n++) text_add(&p->text, "static const GcResult %s[] = {\n", name);
    if (g)
      result(p, NULL, k, g->path, g->type, g->layout);
    else if (v->layout && v->layout->winograd)
      result(p, NULL, k, v->name, stored_type(p->g->ctx, v), NULL);
    else
      result(p, e, k, v->name, v->type, v->layout);
  }
  const char *backward = x->op->backward ? ", .backward = true" : "";
  if (!n) return backward;
  text_add(&p->text, "};\n");
  return arena_printf(p->g->a, ", .results = %s, .nresults = %u%s", name, n, backward);
}

/* A table of dead ranges; its name, or "NULL". */
static const char *ranges(Tables *p, const char *name, const DeadRanges *dead) {
  Text *x = &p->text;
  if (!dead->n) return "NULL";
  text_add(x, "static const GcRange %s[] = {", name);
  for (uint32_t k = 0; k < dead->n; k++)
    text_add(x, "%s{%" PRIu64 ", %" PRIu64 "}", k ? ", " : "", dead->at[k].offset,
             dead->at[k].bytes);
  text_add(x, "};\n");
  return name;
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

/* The path of the first global that is assigned; NULL: none is. */
static const char *assigned(const Module *m, const Entry *e, const Block *b) {
  const char *path = NULL;
  for (uint32_t i = 0; i < b->ops.n && !path; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind == OP_STORE) path = m->globals.at[op->attr[AT_GLOBAL].i].path;
    for (int k = 0; k < op->nblocks && !path; k++) path = assigned(m, e, op->blocks[k]);
  }
  return path;
}

/* Prints the steps, inputs and outputs of an entry; the GcEntry itself is put into `row`. */
static void entry_tables(Tables *p, const Entry *e, const char *id, Text *row) {
  Arena *a = p->g->a;
  Text *x = &p->text;
  Launches l = {0};
  const unsigned char *makes = e == p->g->m->init ? plan_init_uses(p->g->m) : NULL;
  const InputUses *uses = launches_with_ahead(p->g, e, &p->globals, &l);
  VEC(StepText) run = {0};
  for (uint32_t i = 0; i < l.at.n; i++)
    vec_push(a, &run, p->step(p, i < l.ahead ? e->ahead : e, &l.at.at[i], l.depth));
  text_add(x, "\n/* ---- %s ---- */\n", text_comment(a, e->name));
  VEC(const char *) dead = {0}, after = {0}, made = {0};
  for (uint32_t i = 0; i < l.at.n; i++) {
    arguments(p, id, i, &l.at.at[i], l.depth);
    vec_push(a, &after, waits(p, arena_printf(a, "%s_w%u", id, i), &l.at.at[i], l.streams));
    vec_push(a, &dead, ranges(p, arena_printf(a, "%s_d%u", id, i), &l.at.at[i].dead));
    bool own = e == p->g->m->init || e == p->g->m->gather;
    vec_push(a, &made,
             own ? ""
                 : results(p, i < l.ahead ? e->ahead : e, arena_printf(a, "%s_r%u", id, i), &l, i));
  }
  loops(p, e, id, &l);
  if (l.at.n) {
    text_add(x, "static const GcStep %s_steps[] = {\n", id);
    for (uint32_t i = 0; i < l.at.n; i++) {
      const Launch *s = &l.at.at[i];
      text_add(x, "  {%s, %s, %s, %s, %s_a%u, %d, %d, %s, %u, %" PRIu64 ", %" PRIu64,
               run.at[i].kernel, text_quoted(a, s->kernel->name), text_quoted(a, s->op->scope),
               text_quoted(a, s->op->loc.line ? loc_str(p->g->ctx, s->op->loc) : ""), id, i,
               s->kernel->nargs, s->barrier, dead.at[i], s->dead.n, s->flops, s->bytes);
      if (run.at[i].launch) text_add(x, ", %s", run.at[i].launch);
      if (makes) text_add(x, ", .makes = %d", makes[s->op->id]);
      if (run.at[i].collective)
        text_add(x, ", .collective = &(const GcCollective){%s}", run.at[i].collective);
      text_add(x, "%s%s},\n", after.at[i], made.at[i]);
    }
    text_add(x, "};\n");
  }
  uint32_t nin = entry_inputs(e);
  if (nin) {
    text_add(x, "static const GcTensor %s_inputs[] = {\n", id);
    for (uint32_t i = 0; i < nin; i++) {
      const Value *v = value_at(e, e->body->args.at[i]);
      text_add(x, "  ");
      const ValueId in = e->body->args.at[i];
      tensor_row(p, e, v->name, v->type, v->layout, address_of(e, in), &uses->limits[i],
                 input_is_compact(p->g->target, e, in) ? ", .compact = true" : "");
      text_add(x, ",\n");
    }
    text_add(x, "};\n");
  }
  const ValueId *outputs;
  const char *const *names;
  int nout = entry_outputs(e, &outputs, &names), loss = -1;
  if (nout) {
    text_add(x, "static const GcTensor %s_outputs[] = {\n", id);
    for (int i = 0; i < nout; i++) {
      const Value *v = value_at(e, outputs[i]);
      text_add(x, "  ");
      const char *how = e->training ? NULL : aggregate_enum[output_aggregate(e, i)];
      tensor_row(p, e, names[i], v->type, v->layout, address_made(e, address_of(e, outputs[i])),
                 NULL, how ? arena_printf(a, ", .aggregate = %s", how) : "");
      text_add(x, ",\n");
      bool scalar = v->type->rank == 0 && dtype_is_float(v->type->dtype);
      if (e->training && scalar && (loss < 0 || strcmp(names[i], "loss") == 0)) loss = i;
    }
    text_add(x, "};\n");
  }
  const Extent *extents[ENTRY_EXTENTS];
  int nextents = entry_extents(e, extents);
  if (nextents) {
    text_add(x, "static const GcExtent %s_extents[] = {", id);
    for (int i = 0; i < nextents; i++) {
      const LeastExtent *least = entry_least(e, extents[i]);
      text_add(x, "%s{%s, %" PRId64, i ? ", " : "", text_quoted(a, extents[i]->name),
               extents[i]->bound);
      if (least) text_add(x, ", %" PRId64 ", %s", least->n, text_quoted(a, least->window));
      text_add(x, "}");
    }
    text_add(x, "};\n");
  }
  const Plan *plan = plan_of(e), *first = e->ahead ? plan_of(e->ahead) : NULL;
  text_add(row, "{%s, %s, %d, %s, %u, %s, %d, %s, %u,\n", text_quoted(a, e->name),
           e->training ? "true" : "false", loss, nin ? arena_printf(a, "%s_inputs", id) : "NULL",
           nin, nout ? arena_printf(a, "%s_outputs", id) : "NULL", nout,
           l.at.n ? arena_printf(a, "%s_steps", id) : "NULL", l.at.n);
  text_add(row,
           "   .arena_bytes = %" PRIu64 ", .inputs_bytes = %" PRIu64 ", .outputs_bytes = %" PRIu64
           ", .naive_bytes = %" PRIu64 ", .inplace_bytes = %" PRIu64 ",\n   .pool_bytes = %" PRIu64
           ", .lower_bound_bytes = %" PRIu64 ", .flops = %" PRIu64,
           plan->arena_bytes, first ? first->inputs_bytes : plan->inputs_bytes, plan->outputs_bytes,
           plan->naive_bytes, plan->inplace_bytes, plan->pool_bytes, plan->lower_bound_bytes,
           plan->flops + (first ? first->flops : 0));
  if (first)
    text_add(row, ",\n   .ahead = %u, .ahead_bytes = %" PRIu64, l.ahead, first->arena_bytes);
  if (l.loops.n)
    text_add(row, ",\n   .loops = %s_loops, .nloops = %u, .depth = %d", id, l.loops.n, l.depth);
  uint64_t counts = plan->counts_bytes;
  if (first && first->counts_bytes > counts) counts = first->counts_bytes;
  if (counts) text_add(row, ",\n   .counts_bytes = %" PRIu64, counts);
  text_add(row, ",\n   .unwritten_bytes = %" PRIu64, plan_unwritten(e));
  if (l.streams > 1) text_add(row, ",\n   .streams = %d", l.streams);
  if (e->ranks)
    text_add(row, ",\n   .ranks = %d, .under_way_bytes = %" PRIu64 ", .waits = %.3f", e->ranks,
             l.under_way, plan->seconds > 0 ? plan->waiting / plan->seconds : -1);
  if (entry_reads_gathered(e)) text_add(row, ",\n   .gathers = true");
  if (nextents)
    text_add(row, ",\n   .extents = %s_extents, .nextents = %d, .batch = %d", id, nextents,
             entry_batch(e) ? 1 + entry_extent(e, entry_batch(e)) : 0);
  if (e != p->g->m->init && e != p->g->m->gather) hypers_unread(p, e, id, row);
  const char *path = e->training ? NULL : assigned(p->g->m, e, e->body);
  if (path) text_add(row, ",\n   .assigns = %s", text_quoted(a, path));
  text_add(row, "}");
}

/* ---- globals ---- */

static void quantized_field(Tables *p, const QuantizedGlobal *q) {
  text_add(&p->text, ", .quantized = &(const GcQuantized){");
  tensor(p, NULL, q->path, q->type, NULL, (Address){.bytes = q->type->bytes}, NULL);
  text_add(&p->text, ", %d, %d, %d, %s}", q->axis, q->bits, q->group, q->scales ? "true" : "false");
}

/* Where the table has a global: hypers have one of their own. */
static int global_row(const Module *m, int global) {
  int row = 0;
  for (int i = 0; i < global; i++) row += m->globals.at[i].kind != GLOBAL_HYPER;
  return row;
}

static void globals_tables(Tables *p, int *nglobals) {
  static const char *const kind[] = {[GLOBAL_PARAM] = "GC_PARAM",
                                     [GLOBAL_STATE] = "GC_STATE",
                                     [GLOBAL_OPTIMIZER] = "GC_OPTIMIZER"};
  Module *m = p->g->m;
  Text *x = &p->text;
  const bool *random = plan_random(m), *by_rows = plan_read_by_rows(m);
  *nglobals = 0;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    if (g->kind == GLOBAL_HYPER) continue;
    if (!(*nglobals)++) text_add(x, "static const GcGlobal globals[] = {\n");
    uint64_t bytes = 0;
    (void)layout_bytes(g->type, g->layout, &bytes);
    text_add(x, "  {");
    tensor(p, NULL, g->path, g->whole ? g->whole : g->type, g->layout,
           (Address){.region = PLAN_GLOBALS, .offset = p->globals.offset[i], .bytes = bytes}, NULL);
    text_add(x, ", %s", kind[g->kind]);
    if (g->origin.name) text_add(x, ", .origin = %s", text_quoted(p->g->a, g->origin.name));
    if (g->origin.transposed) text_add(x, ", .transposed = true");
    if (g->transient) text_add(x, ", .transient = true");
    if (g->whole) text_add(x, ", .ranks = %d", p->g->opt->ranks);
    if (g->master)
      text_add(x, ", .master = &globals[%d]", global_row(m, module_find_global(m, g->master)));
    if (random[i] && !g->master) text_add(x, ", .random = true");
    if (by_rows[i]) text_add(x, ", .by_rows = true");
    if (g->quantized) quantized_field(p, g->quantized);
    text_add(x, "},\n");
  }
  if (*nglobals) text_add(x, "};\n");
}

/* Of the program's target; returns how many. */
static int rank_bytes_tables(const Gen *g, FILE *f) {
  int n = 0;
  for (int i = 0; i < g->opt->nrank_bytes; i++) {
    const RankBytes *b = &g->opt->rank_bytes[i];
    if (b->target != g->target) continue;
    if (!n++) fputs("static const GcRankBytes rank_bytes[] = {\n", f);
    fprintf(f, "  {%d, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", (const GcEntryBytes[]){", b->ranks,
            b->params, b->states, b->optimizer);
    for (int k = 0; k < b->nentries; k++)
      fprintf(f, "%s{%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "}", k ? ", " : "",
              b->entry[k].inputs, b->entry[k].arena, b->entry[k].messages, b->entry[k].total);
    fputs("}},\n", f);
  }
  if (n) fputs("};\n", f);
  return n;
}

/* "dir/mnist.g" is the program mnist. */
static const char *program_name(Arena *a, const char *source) {
  const char *slash = strrchr(source, '/'), *s = slash ? slash + 1 : source;
  const char *dot = strrchr(s, '.');
  return arena_printf(a, "%.*s", (int)(dot && dot > s ? dot - s : (long)strlen(s)), s);
}

void tables_make(Tables *p) {
  Arena *a = p->g->a;
  Module *m = p->g->m;
  p->text = text_new(a, 0);
  p->entries = text_new(a, 0);
  p->init = text_new(a, 0);
  p->gather = text_new(a, 0);
  p->globals = plan_globals(m, p->g->target->align);
  globals_tables(p, &p->nglobals);
  hypers_table(p);
  for (uint32_t i = 0; i < m->entries.n; i++) {
    text_add(&p->entries, "  ");
    entry_tables(p, m->entries.at[i], arena_printf(a, "e%u", i), &p->entries);
    text_add(&p->entries, ",\n");
  }
  if (m->init) entry_tables(p, m->init, "init", &p->init);
  if (m->gather) entry_tables(p, m->gather, "gather", &p->gather);
}

void tables_write(Tables *p, FILE *f, const char *symbol, const char *level, const char *march,
                  const char *code, const char *next) {
  Arena *a = p->g->a;
  Module *m = p->g->m;
  const char *version = p->g->opt->version;
  fputs("/* ---- tables ---- */\n\n", f);
  fputs(text_str(&p->text), f);
  if (m->entries.n)
    fprintf(f, "\nstatic const GcEntry entries[] = {\n%s};\n", text_str(&p->entries));
  if (m->init) fprintf(f, "static const GcEntry init = %s;\n", text_str(&p->init));
  if (m->gather) fprintf(f, "static const GcEntry gather = %s;\n", text_str(&p->gather));
  if (p->g->sites.n) fputs("static const GcCheckSite sites[] = {\n", f);
  for (uint32_t i = 0; i < p->g->sites.n; i++) fprintf(f, "  %s,\n", p->g->sites.at[i]);
  if (p->g->sites.n) fputs("};\n", f);
  if (next) fprintf(f, "extern const GcProgram %s;\n", next);
  const int numbers = rank_bytes_tables(p->g, f);
  fprintf(
      f,
      "\nconst GcProgram %s = {GCRT_ABI, %s, %s, %s, %s, %s, 0x%016" PRIx64 "u,\n  %s, %d, %" PRIu64
      ", %s, %d, %s, %u, %s, 0x%016" PRIx64 "u, %s, %u, %" PRIu64 "%s%s%s};\n",
      symbol, text_quoted(a, version ? version : ""), text_quoted(a, program_name(a, m->source)),
      text_quoted(a, p->g->target->name), text_quoted(a, level), text_quoted(a, march), m->identity,
      p->nglobals ? "globals" : "NULL", p->nglobals, p->globals.bytes,
      p->nhypers ? "hypers" : "NULL", p->nhypers, m->entries.n ? "entries" : "NULL", m->entries.n,
      m->init ? "&init" : "NULL", m->initial, p->g->sites.n ? "sites" : "NULL", p->g->sites.n,
      p->g->work,
      code || next ? arena_printf(a, ", %s%s, %s%s", code ? "&" : "", code ? code : "NULL",
                                  next ? "&" : "", next ? next : "NULL")
                   : "",
      p->g->opt->ranks ? arena_printf(a, ", .ranks = %d, .messages = %d%s", p->g->opt->ranks,
                                      p->g->messages, m->gather ? ", .gather = &gather" : "")
                       : "",
      numbers ? arena_printf(a, ", .rank_bytes = rank_bytes, .nrank_bytes = %d", numbers) : "");
}
