/* The plan for people: a table an entry, sorted by time, with the peak marked; notes behind the
   lines of the IR's text; the buffers as rows for any packer. Contract: needs a plan with offsets;
   writes nothing but text. */
#include "passes/plan/plan_impl.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- notes ---- */

static const char *region_word(PlanRegion r) {
  switch (r) {
  case PLAN_ARENA: return "ws";
  case PLAN_GLOBALS: return "globals";
  case PLAN_INPUTS: return "in";
  case PLAN_HYPERS: return "hypers";
  case PLAN_COUNTS: return "counts";
  case PLAN_PREPARED: return "ahead";
  case PLAN_REGIONS: break;
  }
  return "?";
}

static void note_value(FILE *f, const Entry *e, ValueId v) {
  const Place *x = &plan_of(e)->place[v];
  fprintf(f, "%s+0x%llx", region_word(x->region), (unsigned long long)x->offset);
  for (int d = 0; x->stride && d < plan_of(e)->depth; d++)
    if (x->stride[d]) fprintf(f, "+%lldk%d", (long long)x->stride[d], d);
  fprintf(f, " live %d..%d", x->first, x->last);
  if (plan_of(e)->streams > 1) fprintf(f, " stream %d", x->stream);
  if (x->of == NO_ID) return;
  if (x->how == HOW_INPLACE) fprintf(f, " in place of %s", value_str(e, x->of));
  if (x->how == HOW_REUSE) fprintf(f, " over %s", value_str(e, x->of));
}

void plan_note(FILE *f, const Entry *e, const Op *op, void *unused) {
  if (!plan_of(e) || (op->parent->op && op->parent->op->kind != OP_SCAN)) return;
  const char *sep = "   ; ";
  for (int i = 0; i < plan_nmade(op); i++, sep = ", ") {
    fputs(sep, f);
    if (i >= op->nresults) fprintf(f, "%s ", value_str(e, plan_made(op, i)));
    note_value(f, e, plan_made(op, i));
  }
  const Place *s = &plan_of(e)->scratch[op->id];
  if (s->bytes)
    fprintf(f, "%sscratch ws+0x%llx", sep, (unsigned long long)s->offset);
  else if (op->kind == OP_STORE)
    fputs(plan_is_alias(e, op) ? "   ; in place" : "   ; copy", f);
}

/* ---------------------------------------------------------------- the table ---- */

enum { STREAM = 7, COLUMNS = 9 }; /* with one stream its column is left out */
static const char *const heading[COLUMNS] = {"value",  "op",   "from",   "type", "bytes",
                                             "offset", "life", "stream", "how"};
static const bool to_right[COLUMNS] = {false, false, false, false, true, true, true, true, false};

typedef struct Row {
  const char *cell[COLUMNS];
  bool at_peak;
} Row;

typedef struct Table {
  Arena *a;
  const Entry *e;
  VEC(Row) rows;
  int peak; /* step */
} Table;

static const char *commas(Arena *a, uint64_t n) {
  char buf[32];
  return arena_strdup(a, plan_commas(buf, n));
}

static const char *how_str(const Table *t, const Place *x) {
  const char *of = x->of == NO_ID ? "" : value_str(t->e, x->of);
  switch (x->how) {
  case HOW_NEW: return "new";
  case HOW_INPLACE: return arena_printf(t->a, "in place of %s", of);
  case HOW_REUSE: return *of ? arena_printf(t->a, "reuses %s", of) : "reuses scratch";
  case HOW_EXTERNAL:
    if (x->region == PLAN_COUNTS) return "counter";
    if (x->global < 0) return "input";
    return arena_printf(t->a, "in @%s", t->e->module->globals.at[x->global].path);
  }
  return "";
}

static const char *scope_and_place(const Table *t, const Op *op) {
  if (!op) return "";
  Ctx *c = t->e->module->ctx;
  const char *loc = op->loc.line ? loc_str(c, op->loc) : "";
  if (!op->scope || !*op->scope) return loc;
  return arena_printf(t->a, "%s%s%s", op->scope, *loc ? " " : "", loc);
}

/* A slice moves with the iteration of the loops around it: k0 is that of the outermost. */
static const char *offset_str(const Table *t, const Place *x) {
  const char *s =
      arena_printf(t->a, "%s+0x%llx", region_word(x->region), (unsigned long long)x->offset);
  for (int d = 0; x->stride && d < plan_of(t->e)->depth; d++)
    if (x->stride[d]) s = arena_printf(t->a, "%s+%lldk%d", s, (long long)x->stride[d], d);
  return s;
}

static void add_row(Table *t, const char *name, const char *op, const char *from, const char *type,
                    const Place *x, const char *how) {
  const Plan *p = plan_of(t->e);
  const char *last = x->last >= p->nsteps ? "end" : arena_printf(t->a, "%d", x->last);
  vec_push(t->a, &t->rows,
           (Row){.cell = {name, op, from, type, commas(t->a, x->bytes), offset_str(t, x),
                          arena_printf(t->a, "%d..%s", x->first, last),
                          x->first < 0 ? "" : arena_printf(t->a, "%d", x->stream), how},
                 .at_peak = x->region == PLAN_ARENA && x->bytes && x->first <= t->peak &&
                            t->peak <= x->last});
}

static void add_value(Table *t, ValueId v, const Op *op) {
  const Place *x = &plan_of(t->e)->place[v];
  add_row(t, value_str(t->e, v), op ? plan_op_name(op) : "input", scope_and_place(t, op),
          type_str(t->e->module->ctx, value_type(t->e, v)), x, how_str(t, x));
}

static bool counter_read(const Entry *e, const Op *scan) {
  const Place *x = &plan_of(e)->place[scan->blocks[0]->args.at[0]];
  return x->last > x->first;
}

static void add_op(Table *t, const Op *op) {
  for (int k = 0; k < plan_nmade(op); k++) {
    ValueId v = plan_made(op, k);
    bool counter = op->kind == OP_SCAN && plan_of(t->e)->place[v].region == PLAN_COUNTS;
    if (!counter || counter_read(t->e, op)) add_value(t, v, op);
  }
  const Place *s = &plan_of(t->e)->scratch[op->id];
  if (s->bytes) add_row(t, "", "scratch", scope_and_place(t, op), "", s, plan_op_name(op));
}

static void add_block(Table *t, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(t->e, b->ops.at[i]);
    add_op(t, op);
    if (op->kind == OP_SCAN) add_block(t, op->blocks[0]);
  }
}

/* The first step at which the most bytes of the arena are live: the storages, each counted once. */
static int peak_step(const Entry *e, Arena *a) {
  const Plan *p = plan_of(e);
  Storages s = plan_storages(a, e, p, 1, true);
  uint64_t *more = ARENA_ARRAY(a, uint64_t, p->nsteps + 2), live = 0, max = 0;
  int at = 0;
  for (int i = 0; i < s.b.n; i++) {
    more[s.b.at[i].first] += s.b.at[i].bytes; /* unsigned differences wrap and come back */
    more[s.b.at[i].last + 1] -= s.b.at[i].bytes;
  }
  for (int t = 0; t < p->nsteps; t++) {
    live += more[t];
    if (live > max) {
      max = live;
      at = t;
    }
  }
  return at;
}

static void print_row(FILE *f, const Row *r, const int *width) {
  fputc(r->at_peak ? '*' : ' ', f);
  for (int c = 0; c < COLUMNS; c++) {
    bool last = c + 1 == COLUMNS;
    if (width[c] == 0) continue;
    if (to_right[c])
      fprintf(f, " %*s ", width[c], r->cell[c]);
    else
      fprintf(f, " %-*s%s", last ? 0 : width[c], r->cell[c], last ? "" : " ");
  }
  fputc('\n', f);
}

static void print_rows(FILE *f, const Table *t) {
  int width[COLUMNS];
  Row head = {0};
  for (int c = 0; c < COLUMNS; c++) {
    head.cell[c] = heading[c];
    width[c] = (int)strlen(heading[c]);
    for (uint32_t i = 0; i < t->rows.n; i++)
      if ((int)strlen(t->rows.at[i].cell[c]) > width[c])
        width[c] = (int)strlen(t->rows.at[i].cell[c]);
  }
  if (plan_of(t->e)->streams <= 1) width[STREAM] = 0;
  print_row(f, &head, width);
  for (uint32_t i = 0; i < t->rows.n; i++) print_row(f, &t->rows.at[i], width);
}

static void print_figure(FILE *f, const char *what, uint64_t bytes, uint64_t naive) {
  char buf[32];
  fprintf(f, "  %-25s %12s", what, plan_commas(buf, bytes));
  if (naive) fprintf(f, "  %5.1f %%", 100.0 * (double)bytes / (double)naive);
  fputc('\n', f);
}

/* How near the arena is to the least one of this order, as far as that is known. */
static const char *certificate(char *buf, size_t n, const Plan *p) {
  if (p->arena_bytes == p->lower_bound_bytes) return "arena (optimal)";
  if (p->optimal) return "arena (optimal by search)";
  double gap = p->proven_bytes ? (double)p->arena_bytes / (double)p->proven_bytes - 1 : 0;
  snprintf(buf, n, "arena (gap %.2f %%)", 100 * gap);
  return buf;
}

static void print_summary(FILE *f, const Table *t) {
  const Plan *p = plan_of(t->e);
  char buf[32];
  fprintf(f, "entry %s: %s, %d steps, memory %s\n", t->e->name,
          t->e->training ? "training" : "inference", p->nsteps, p->strategy ? p->strategy : "?");
  print_figure(f, "without sharing", p->naive_bytes, p->naive_bytes);
  print_figure(f, "in place", p->inplace_bytes, p->naive_bytes);
  print_figure(f, "pool", p->pool_bytes, p->naive_bytes);
  print_figure(f, certificate(buf, sizeof buf, p), p->arena_bytes, p->naive_bytes);
  print_figure(f, "lower bound", p->lower_bound_bytes, p->naive_bytes);
  fprintf(f, "  inputs %s bytes,", plan_commas(buf, p->inputs_bytes));
  fprintf(f, " outputs %s bytes,", plan_commas(buf, p->outputs_bytes));
  fprintf(f, " %s flops a run\n", plan_commas(buf, p->flops));
  if (p->streams > 1)
    fprintf(f, "  %d streams, %d edges between them, %.2f at work on the average\n", p->streams,
            p->nedges, p->average_parallelism);
}

static void print_entry(FILE *f, const Entry *e) {
  Arena *a = arena_new();
  Table t = {.a = a, .e = e};
  const Plan *p = plan_of(e);
  t.peak = peak_step(e, a);
  print_summary(f, &t);
  if (p->nsteps)
    fprintf(f, "  most bytes are live at step %d, %s; values live then are marked *\n", t.peak,
            plan_op_name(p->steps[t.peak]));
  for (uint32_t i = 0; i < e->body->args.n; i++) add_value(&t, e->body->args.at[i], NULL);
  add_block(&t, e->body);
  print_rows(f, &t);
  arena_free(a);
}

void plan_print_table(FILE *f, const Module *m, const Target *target) {
  char buf[32];
  fprintf(f, "%s for %s: globals %s bytes\n", m->source, target->name,
          plan_commas(buf, plan_globals(m, target->align).bytes));
  const Entry *e;
  for (uint32_t k = 0; (e = plan_listed(m, k)); k++) {
    fputc('\n', f);
    print_entry(f, e);
  }
  if (m->init && plan_of(m->init))
    fprintf(f, "\ninitialisation: arena %s bytes\n",
            plan_commas(buf, plan_of(m->init)->arena_bytes));
  if (m->gather && plan_of(m->gather))
    fprintf(f, "\ngathering of parameters: arena %s bytes\n",
            plan_commas(buf, plan_of(m->gather)->arena_bytes));
}

/* ---------------------------------------------------------------- rows for packers ---- */

/* Entries one after the other in time: they never run together, so one packing serves them all. */
void plan_print_csv(FILE *f, const Module *m) {
  long long base = 0;
  fputs("id,lower,upper,size,offset\n", f);
  const Entry *e;
  for (uint32_t k = 0; (e = plan_listed(m, k)); k++) {
    Arena *a = arena_new();
    Storages s = plan_storages(a, e, plan_of(e), 1, true);
    for (int i = 0; i < s.b.n; i++) {
      const Buffer *b = &s.b.at[i];
      uint64_t offset = b->owner == NO_ID ? 0 : plan_of(e)->place[b->owner].offset;
      if (b->owner == NO_ID) {
        const Op *op = plan_of(e)->steps[b->first];
        offset = plan_of(e)->scratch[op->id].offset;
        fprintf(f, "%s/scratch.%lld", e->name, (long long)b->first);
      } else {
        fprintf(f, "%s/%s", e->name, value_str(e, b->owner));
      }
      fprintf(f, ",%lld,%lld,%llu,%llu\n", base + (long long)b->first,
              base + (long long)b->last + 1, (unsigned long long)b->bytes,
              (unsigned long long)offset);
    }
    base += plan_of(e)->nsteps + 1;
    arena_free(a);
  }
}
