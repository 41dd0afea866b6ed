/* From planned entries to the tables of gcrt.h; see tables.h.
   Contract: the same module gives the same bytes. Order: what entries point to, then the entries,
   then the program. */
#include "codegen/program/extent.h"
#include "codegen/program/tables_impl.h"

#include <inttypes.h>

static const char *const region_name[] = {
    [PLAN_ARENA] = "GC_ARENA",   [PLAN_GLOBALS] = "GC_GLOBALS", [PLAN_INPUTS] = "GC_INPUTS",
    [PLAN_HYPERS] = "GC_HYPERS", [PLAN_COUNTS] = "GC_COUNTS",   [PLAN_PREPARED] = "GC_PREPARED"};

const char *tables_region(PlanRegion r) { return region_name[r]; }

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
  text_add(x, ", %" PRIu64 ", %s, %" PRIu64 ", %d", at.bytes, tables_region(at.region), at.offset,
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
  if (l && l->interleaved) text_add(x, ", .interleaved = %d", l->interleaved);
  if (e && t->extent) extent_fields(p, e, t);
  text_add(x, "%s}", more);
}

void tables_tensor(Tables *p, const Entry *e, const char *name, const Type *t, const Layout *l,
                   Address at) {
  tensor_row(p, e, name, t, l, at, NULL, "");
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

/* Gives how many there are. */
static uint32_t inputs_table(Tables *p, const Entry *e, const char *id, const InputUses *uses) {
  Text *x = &p->text;
  const uint32_t n = entry_inputs(e);
  if (n) text_add(x, "static const GcTensor %s_inputs[] = {\n", id);
  for (uint32_t i = 0; i < n; i++) {
    const ValueId in = e->body->args.at[i];
    const Value *v = value_at(e, in);
    text_add(x, "  ");
    tensor_row(p, e, v->name, v->type, v->layout, address_of(e, in), &uses->limits[i],
               input_is_compact(p->g->target, e, in) ? ", .compact = true" : "");
    text_add(x, ",\n");
  }
  if (n) text_add(x, "};\n");
  return n;
}

/* Gives how many there are; loss: which of them is the loss of an entry that trains, or -1. */
static int outputs_table(Tables *p, const Entry *e, const char *id, int *loss) {
  Text *x = &p->text;
  const ValueId *outputs;
  const char *const *names;
  const int n = entry_outputs(e, &outputs, &names);
  *loss = -1;
  if (n) text_add(x, "static const GcTensor %s_outputs[] = {\n", id);
  for (int i = 0; i < n; i++) {
    const Value *v = value_at(e, outputs[i]);
    const char *how = e->training ? NULL : aggregate_enum[output_aggregate(e, i)];
    text_add(x, "  ");
    tensor_row(p, e, names[i], v->type, v->layout, address_made(e, address_of(e, outputs[i])), NULL,
               how ? arena_printf(p->g->a, ", .aggregate = %s", how) : "");
    text_add(x, ",\n");
    bool scalar = v->type->rank == 0 && dtype_is_float(v->type->dtype);
    if (e->training && scalar && (*loss < 0 || strcmp(names[i], "loss") == 0)) *loss = i;
  }
  if (n) text_add(x, "};\n");
  return n;
}

static int extents_table(Tables *p, const Entry *e, const char *id) {
  Text *x = &p->text;
  const Extent *extents[ENTRY_EXTENTS];
  const int n = entry_extents(e, extents);
  if (n) text_add(x, "static const GcExtent %s_extents[] = {", id);
  for (int i = 0; i < n; i++) {
    const LeastExtent *least = entry_least(e, extents[i]);
    text_add(x, "%s{%s, %" PRId64, i ? ", " : "", text_quoted(p->g->a, extents[i]->name),
             extents[i]->bound);
    if (least) text_add(x, ", %" PRId64 ", %s", least->n, text_quoted(p->g->a, least->window));
    text_add(x, "}");
  }
  if (n) text_add(x, "};\n");
  return n;
}

/* Prints the steps, inputs and outputs of an entry; the GcEntry itself is put into `row`. */
static void entry_tables(Tables *p, const Entry *e, const char *id, Text *row) {
  Arena *a = p->g->a;
  Launches l = {0};
  const InputUses *uses = launches_with_ahead(p->g, e, &p->globals, &l);
  steps_tables(p, e, id, &l);
  int loss;
  const uint32_t nin = inputs_table(p, e, id, uses);
  const int nout = outputs_table(p, e, id, &loss), nextents = extents_table(p, e, id);
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
  tables_tensor(p, NULL, q->path, q->type, NULL, (Address){.bytes = q->type->bytes});
  text_add(&p->text, ", %d, %d, %d, %s}", q->axis, q->bits, q->group, q->scales ? "true" : "false");
}

/* Where the table has a global: hypers have one of their own. */
static int global_row(const Module *m, int global) {
  int row = 0;
  for (int i = 0; i < global; i++) row += m->globals.at[i].kind != GLOBAL_HYPER;
  return row;
}

/* The elements of constant tables; the runtime rounds halves. */
static void constants(Tables *p) {
  enum { A_LINE = 8 };
  const Module *m = p->g->m;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    if (!g->table) continue;
    const Dtype dt = g->type->dtype;
    text_add(&p->text, "static const %s table%u[] = {",
             dtype_is_half(dt) ? "float" : dtype_storage(dt), i);
    for (int64_t k = 0; k < g->type->numel; k++)
      text_add(&p->text, "%s%s",
               k % A_LINE ? ", "
               : k        ? ",\n  "
                          : "\n  ",
               scalar_literal(p->g->a, dt, g->table[k]));
    text_add(&p->text, "};\n");
  }
}

static void globals_tables(Tables *p, int *nglobals) {
  static const char *const kind[] = {[GLOBAL_PARAM] = "GC_PARAM",
                                     [GLOBAL_STATE] = "GC_STATE",
                                     [GLOBAL_OPTIMIZER] = "GC_OPTIMIZER"};
  Module *m = p->g->m;
  Text *x = &p->text;
  constants(p);
  const bool *random = plan_random(m), *by_rows = plan_read_by_rows(m);
  *nglobals = 0;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    if (g->kind == GLOBAL_HYPER) continue;
    if (!(*nglobals)++) text_add(x, "static const GcGlobal globals[] = {\n");
    uint64_t bytes = 0;
    (void)layout_bytes(g->type, g->layout, &bytes);
    text_add(x, "  {");
    tables_tensor(
        p, NULL, g->path, g->whole ? g->whole : g->type, g->layout,
        (Address){.region = PLAN_GLOBALS, .offset = p->globals.offset[i], .bytes = bytes});
    text_add(x, ", %s", kind[g->kind]);
    if (g->origin.name) text_add(x, ", .origin = %s", text_quoted(p->g->a, g->origin.name));
    if (g->origin.other) text_add(x, ", .other_origin = %s", text_quoted(p->g->a, g->origin.other));
    if (g->origin.transposed) text_add(x, ", .transposed = true");
    if (g->transient) text_add(x, ", .transient = true");
    if (g->table) text_add(x, ", .table = table%u", i);
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
