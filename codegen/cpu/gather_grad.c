/* Prints the gradient of gather: sums of rows that ids name.
   Contract: the rows of one id are added in their order, behind the accumulator, whatever the
   number of threads. An id out of range stops the program after the step and adds nothing. Each
   thread owns whole tables of many, or rows of the only one. It looks through all ids for those of
   its rows, and lists them block by block, since a branch for each id would be mispredicted half of
   the time. Many ids are sorted for many threads first, by a launch that shares chunks of them: by
   runs of rows, in their order (a counting sort). Scratch has the order, and where each run ends in
   each chunk, so the ids of neighbouring runs, which a thread owns, lie side by side. */
#include "codegen/cpu/gather.h"
#include "codegen/program/extent.h"
#include "codegen/schedule/scatter.h"

enum { IDS_LISTED = 512 /* ids of which a thread lists its own at once */ };

static ScatterSchedule schedule_of(const Gather *s) {
  const ScatterSchedule tables = {0}; /* which threads share */
  return s->tables > 1 ? tables : scatter_schedule(s->ids->numel, s->rows, s->row);
}

/* Half precisions are summed in f32, in scratch. */
static uint64_t sum_bytes(const Gather *s) {
  const uint64_t n = dtype_is_half(s->out->dtype) ? (uint64_t)s->out->numel : 0;
  return (n * sizeof(float) + 7) / 8 * 8;
}

uint64_t cpu_index_scratch(const Group *g) {
  if (g->op->kind == OP_NMS) return cpu_nms_scratch(g);
  if (!g->root || g->root->kind != OP_GATHER_GRAD) return 0;
  const Gather s = gather_of(g);
  const ScatterSchedule of = schedule_of(&s);
  return sum_bytes(&s) + scatter_scratch(&of);
}

typedef struct GatherGrad { /* a unit is a row of the only table, or one of many tables */
  Gen *g;
  const Group *gr;
  Gather s;
  int batch;
  bool half, apart;  /* apart: tables that do not lie side by side */
  const char *table; /* a unit's */
  int64_t units;
  long long width; /* elements of a unit */
  ScatterSchedule of;
} GatherGrad;

/* What the rows are added to: zeros, or the accumulator. */
static void print_begin_sums(const GatherGrad *v, Text *x) {
  const bool given = v->s.start_arg >= 0;
  Arena *a = v->g->a;
  const char *start =
      given ? scalar_load(a, v->s.out->dtype, arena_printf(a, "in%d", v->s.start_arg), "i") : "0";
  if (given && !v->half) /* where it does not begin in the accumulator's bytes */
    text_open(x, "if ((const void *)in%d != (const void *)out0) {", v->s.start_arg);
  if (v->apart) {
    text_open(x, "for (long u = u0; u < u1; u++) {");
    text_line(x, "for (long i = %s * %lld; i < (%s + 1) * %lld; i++) sum[i] = %s;", v->table,
              v->width, v->table, v->width, start);
    text_close(x, "}");
  } else {
    text_line(x, "for (long i = u0 * %lld; i < u1 * %lld; i++) sum[i] = %s;", v->width, v->width,
              start);
  }
  if (given && !v->half) text_close(x, "}");
}

/* Adds row i of the gradient, whose id is `id`. */
static void print_add_row(const GatherGrad *v, Text *x) {
  const Gather *s = &v->s;
  Gen *g = v->g;
  const char *at = "id";
  if (s->tables > 1)
    at = arena_printf(g->a, "(i / %lld * %lld + id)", (long long)s->ids_each, (long long)s->rows);
  const RowPieces p = row_pieces(g, v->gr, s);
  const char *piece = gather_open_pieces(x, &p), *plus = "";
  if (strcmp(piece, "0") != 0) plus = arena_printf(g->a, "%s + ", piece);
  text_line(x, "GC_IVDEP for (long j = 0; j < %s; j++) sum[%s * %lld + %sj] += %s;", p.each, at,
            (long long)s->row, plus,
            scalar_load(g->a, s->table->dtype, arena_printf(g->a, "in%d", s->table_arg),
                        intern_printf(g->ctx, "i * %lld + %sj", (long long)s->row, plus)));
  gather_close_pieces(x, &p);
}

/* Of all ids from `from` to `to`, which fall on rows or tables of this thread. */
static void print_add_all(const GatherGrad *v, Text *x, const char *from, const char *to) {
  gather_open_ids(v->g, v->gr, x, v->s.ids, from, to);
  gather_id(v->g, v->gr, x, &v->s, "continue;");
  print_add_row(v, x);
  text_close(x, "}");
}

/* Of a table whose rows several threads own. An id out of range is in no list. */
static void print_add_listed(const GatherGrad *v, Text *x, const char *all, const char *rows) {
  Gen *g = v->g;
  const char *base = arena_printf(g->a, "in%d", v->s.ids_arg);
  const char *id = scalar_load(g->a, v->s.ids->dtype, base, "i");
  text_open(x, "for (long w = 0, end; w < %s; w = end) {", all);
  text_line(x, "long own[%d], n = 0;", IDS_LISTED);
  text_line(x, "bool wrong = false;");
  text_line(x, "end = %s - w < %d ? %s : w + %d;", all, IDS_LISTED, all, IDS_LISTED);
  gather_open_ids(g, v->gr, x, v->s.ids, "w", "end");
  text_line(x, "const uint64_t id = (uint64_t)(int64_t)%s;", id);
  text_line(x, "own[n] = i;");
  text_line(x, "n += id - (uint64_t)u0 < (uint64_t)(u1 - u0);");
  text_line(x, "wrong |= id >= (uint64_t)%s;", rows);
  text_close(x, "}");
  text_open(x, "if (__builtin_expect(wrong, 0)) {");
  gather_open_ids(g, v->gr, x, v->s.ids, "w", "end");
  gather_id(g, v->gr, x, &v->s, "continue;");
  text_close(x, "}");
  text_close(x, "}");
  text_open(x, "for (long k = 0; k < n; k++) {");
  text_line(x, "const long i = own[k];");
  text_line(x, "const int64_t id = (int64_t)%s;", id);
  print_add_row(v, x);
  text_close(x, "}");
  text_close(x, "}");
}

static void print_add_rows(const GatherGrad *v, Text *x, bool shared) {
  const Gather *s = &v->s;
  Gen *g = v->g;
  const Entry *e = v->gr->e;
  if (s->tables > 1) {
    const char *each = dims_text(g, e, s->ids, v->batch, s->ids->rank);
    print_add_all(v, x, text_product(g->a, "u0", each), text_product(g->a, "u1", each));
    return;
  }
  const char *all = dims_text(g, e, s->ids, 0, s->ids->rank);
  if (!shared) {
    print_add_all(v, x, "0", all);
    return;
  }
  const char *rows = count_text(g, e, s->rows, type_extent(s->out, v->batch));
  text_open(x, "if (u1 - u0 == %s) {", rows);
  print_add_all(v, x, "0", all);
  x->indent--;
  text_open(x, "} else {");
  print_add_listed(v, x, all, rows);
  text_close(x, "}");
}

/* Sums of halves are rounded once. */
static void print_round_sums(const GatherGrad *v, Text *x) {
  const char *rounded = scalar_store(v->g->a, v->s.out->dtype, "sum[i]");
  if (!v->apart) {
    text_line(x, "for (long i = u0 * %lld; i < u1 * %lld; i++) out0[i] = %s;", v->width, v->width,
              rounded);
    return;
  }
  text_open(x, "for (long u = u0; u < u1; u++) {");
  text_open(x, "for (long k = 0; k < %lld; k++) {", v->width);
  text_line(x, "const long i = %s * %lld + k;", v->table, v->width);
  text_line(x, "out0[i] = %s;", rounded);
  text_close(x, "}");
  text_close(x, "}");
}

/* Of a table whose rows many ids name: those of the thread's runs of rows, chunk after chunk. */
static void print_add_sorted(const GatherGrad *v, Text *x) {
  const ScatterSchedule *of = &v->of;
  Gen *g = v->g;
  const Type *ids = v->s.ids;
  const char *base = arena_printf(g->a, "in%d", v->s.ids_arg);
  text_open(x, "if (nt < %d) {", SORTING_THREADS);
  print_add_rows(v, x, true);
  x->indent--;
  text_open(x, "} else {");
  text_open(x, "for (long from = 0, c = 0; from < %s; from += %lld, c++) {",
            dims_text(g, v->gr->e, ids, 0, ids->rank), (long long)of->chunk);
  text_line(x, "const uint16_t *const end = ends + c * %lld;", (long long)of->runs);
  text_line(x,
            "const long first = run0 ? end[run0 - 1] : 0, last = run1 > run0 ? end[run1 - 1] : 0;");
  text_open(x, "for (long k = first; k < last; k++) {");
  text_line(x, "const long u = from + order[from + k];");
  text_line(x, "const long i = %s;", place_text(g, v->gr->e, ids, 0, ids->rank, "u"));
  text_line(x, "const int64_t id = (int64_t)%s;", scalar_load(g->a, ids->dtype, base, "i"));
  print_add_row(v, x);
  for (int i = 0; i < 3; i++) text_close(x, "}");
}

/* Where the order of the ids of each chunk lies in scratch, and where the runs end in it. */
static void declare_order(const GatherGrad *v, Text *x) {
  text_line(x, "uint16_t *const order = (uint16_t *)(scratch + %llu), *const ends = order + %lld;",
            (unsigned long long)sum_bytes(&v->s), (long long)v->of.ids);
}

/* The launch that sorts ids, chunk by chunk, for so many threads that it takes less time than that
   each of them looks through all. */
static void print_sort(const GatherGrad *v) {
  const ScatterSchedule *of = &v->of;
  const Gather *s = &v->s;
  Gen *g = v->g;
  const Group *gr = v->gr;
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  const char *all = dims_text(g, gr->e, s->ids, 0, s->ids->rank);
  const char *base = arena_printf(g->a, "in%d", s->ids_arg);
  const long long chunk = of->chunk, runs = of->runs;
  k->one_share = true;
  k->units = ceil_div(of->ids, of->chunk);
  text_line(x, "if (nt < %d) return;", SORTING_THREADS);
  declare_order(v, x);
  text_line(x, "const long chunks = (%s + %lld) / %lld;", all, chunk - 1, chunk);
  text_open(x, "for (long c = chunks * t / nt; c < chunks * (t + 1) / nt; c++) {");
  text_line(x, "const long from = c * %lld, to = %s - from < %lld ? %s : from + %lld;", chunk, all,
            chunk, all, chunk);
  text_line(x, "uint16_t *const end = ends + c * %lld;", runs);
  text_line(x, "for (long r = 0; r < %lld; r++) end[r] = 0;", runs);
  gather_open_ids(g, gr, x, s->ids, "from", "to");
  gather_id(g, gr, x, s, "continue;");
  text_line(x, "end[id >> %d]++;", of->shift);
  text_close(x, "}");
  text_line(x, "uint16_t at = 0;");
  text_open(x, "for (long r = 0; r < %lld; r++) {", runs);
  text_line(x, "const uint16_t n = end[r];");
  text_line(x, "end[r] = at; /* where the run begins, up to the loop below */");
  text_line(x, "at = (uint16_t)(at + n);");
  text_close(x, "}");
  gather_open_ids(g, gr, x, s->ids, "from", "to");
  text_line(x, "const uint64_t id = (uint64_t)(int64_t)%s;",
            scalar_load(g->a, s->ids->dtype, base, "i"));
  text_line(x, "if (id < (uint64_t)%s) order[from + end[id >> %d]++] = (uint16_t)(%s - from);",
            count_text(g, gr->e, s->rows, type_extent(s->out, v->batch)), of->shift,
            strcmp(place_text(g, gr->e, s->ids, 0, s->ids->rank, "u"), "u") ? "u" : "i");
  text_close(x, "}");
  text_close(x, "}");
  kernel_touched(k, gr);
}

/* The rows u0 to u1 of the thread's runs. */
static void print_runs(const GatherGrad *v, Kernel *k, const char *rows) {
  const int shift = v->of.shift;
  Text *x = &k->text;
  k->units = v->of.runs;
  declare_order(v, x);
  text_line(x, "const long rows = %s, runs = (rows + %lld) >> %d;", rows, (1LL << shift) - 1,
            shift);
  text_line(x, "const long run0 = runs * t / nt, run1 = runs * (t + 1) / nt;");
  text_line(x, "const long u0 = run0 << %d, u1 = run1 < runs ? run1 << %d : rows;", shift, shift);
}

static GatherGrad gather_grad_of(Gen *g, const Group *gr) {
  GatherGrad v = {.g = g, .gr = gr, .s = gather_of(gr), .table = "u"};
  const Gather *s = &v.s;
  v.units = s->tables > 1 ? s->tables : s->rows;
  v.width = v.units ? s->out->numel / v.units : 0;
  v.half = dtype_is_half(s->out->dtype);
  v.batch = (int)gr->root->attr[AT_BATCH].i;
  v.of = schedule_of(s);
  if (s->tables > 1) v.table = place_text(g, gr->e, s->ids, 0, v.batch, "u");
  v.apart = strcmp(v.table, "u") != 0;
  return v;
}

void cpu_gather_grad(Gen *g, const Group *gr) {
  const GatherGrad v = gather_grad_of(g, gr);
  const Gather *s = &v.s;
  const Type *out = s->out;
  const char *T = dtype_compute(out->dtype);
  if (v.of.runs) print_sort(&v);
  Kernel *k = v.of.runs ? kernel_next(g, gr, "add") : kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  const char *all = s->tables > 1 ? dims_text(g, gr->e, s->ids, 0, v.batch)
                                  : count_text(g, gr->e, s->rows, type_extent(out, v.batch));
  if (v.of.runs)
    print_runs(&v, k, all);
  else
    kernel_units_of(k, out->numel + s->table->numel < SERIAL_WORK ? 1 : v.units, all);
  if (k->units == 1) text_line(x, "const long u0 = 0, u1 = %s;", all);
  text_line(x, "%s *sum = (%s *)%s;", T, T, v.half ? "scratch" : "out0");
  print_begin_sums(&v, x);
  if (v.of.runs)
    print_add_sorted(&v, x);
  else
    print_add_rows(&v, x, k->units > 1);
  if (v.half) print_round_sums(&v, x);
  if (k->units > 1 && !v.of.runs) kernel_split_out(k, gr, 0, 1, 0, out->bytes);
  if (k->units > 1 && !v.of.runs && s->start_arg >= 0 && s->start_arg != s->table_arg)
    kernel_split_in(k, gr, s->start_arg, 1, 0, out->bytes);
  k->flops = (uint64_t)s->table->numel;
  if (s->tables > 1) return;
  k->one_share = k->units > 1; /* it looks at all ids, or the launch before it sorted for so many */
  kernel_schedule(k, &scatter_kind, &v.of, sizeof v.of);
  k->balance = scatter_balance;
}
