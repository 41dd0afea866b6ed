/* Prints ops whose addresses come from data: gather, gather_grad and one_hot as kernels of
   their own.
   Contract: an id out of range stops the program after the step (gcrt_fault) and reads or adds
   nothing; gather_grad adds the rows of one id in their order, behind its accumulator, whatever the
   number of threads: each thread owns rows of the table and looks through all ids, or owns whole
   tables of many. It lists its own ids of a block first, since a branch for each id would be
   mispredicted half of the time. */
#include "codegen/print/gather.h"
#include "codegen/cpu/cpu.h"
#include "codegen/program/extent.h"
#include "codegen/schedule/scatter.h"

enum {
  BLOCK = 64,      /* elements of a unit, where threads share one run */
  IDS_LISTED = 512 /* ids of which a thread lists its own at once */
};

/* Half precisions are summed in f32, in scratch. */
uint64_t cpu_index_scratch(const Group *g) {
  if (g->op->kind == OP_NMS) return cpu_nms_scratch(g);
  if (!g->root || g->root->kind != OP_GATHER_GRAD || !dtype_is_half(gather_of(g).out->dtype))
    return 0;
  return (uint64_t)gather_of(g).out->numel * 4;
}

/* Opens the loop over ids, each at i as they lie: by number u where inner axes are bounded. */
static void open_ids(Gen *g, const Group *gr, Text *x, const Type *ids, const char *from,
                     const char *to) {
  const char *at = place_text(g, gr->e, ids, 0, ids->rank, "u");
  bool side_by_side = strcmp(at, "u") == 0;
  const char *i = side_by_side ? "i" : "u";
  text_open(x, "for (long %s = %s; %s < %s; %s++) {", i, from, i, to, i);
  if (!side_by_side) text_line(x, "const long i = %s;", at);
}

/* Loads id i and leaves it in `id`; `skip` runs for one out of range. */
static void print_id(Gen *g, const Group *gr, Text *x, const Gather *s, const char *skip) {
  const char *base = arena_printf(g->a, "in%d", s->ids_arg);
  text_line(x, "const int64_t id = (int64_t)%s;", scalar_load(g->a, s->ids->dtype, base, "i"));
  int batch = (int)gr->root->attr[AT_BATCH].i;
  const Type *table = gr->root->kind == OP_GATHER_GRAD ? s->out : s->table;
  const char *rows = count_text(g, gr->e, s->rows, type_extent(table, batch));
  text_open(x, "if (__builtin_expect(id < 0 || id >= %s, 0)) {", rows);
  text_line(x, "%s", gen_fault_below(g, gr, gr->root, "an index", "i", "id", rows));
  text_line(x, "%s", skip);
  text_close(x, "}");
}

/* The loop over the pieces of a row, if there are several: piece r begins at the text returned. */
static const char *open_pieces(Text *x, const RowPieces *p) {
  if (strcmp(p->n, "1") == 0) return p->at;
  text_open(x, "for (long r = 0; r < %s; r++) {", p->n);
  text_line(x, "const long piece = %s;", p->at);
  return "piece";
}

static void close_pieces(Text *x, const RowPieces *p) {
  if (strcmp(p->n, "1") != 0) text_close(x, "}");
}

/* Copies row `id`, or what a run has of it. */
static void print_row(Gen *g, Text *x, const Group *gr, const Gather *s) {
  int size = dtype_size(s->table->dtype);
  unsigned long long bytes = (unsigned long long)s->row * (unsigned long long)size;
  const char *at = "id";
  if (s->tables > 1)
    at = arena_printf(g->a, "(i / %lld * %lld + id)", (long long)s->ids_each, (long long)s->rows);
  const RowPieces p = row_pieces(g, gr, s);
  const char *piece = open_pieces(x, &p), *plus = "";
  if (strcmp(piece, "0") != 0) plus = arena_printf(g->a, " + %s * %d", piece, size);
  const char *moved = text_is_number(p.each)
                          ? arena_printf(g->a, "%llu", bytes)
                          : arena_printf(g->a, "(size_t)(%s * %d)", p.each, size);
  text_line(x,
            "__builtin_memcpy((char *)out0 + i * %lluL%s, (const char *)in%d + %s * %lluL%s, %s);",
            bytes, plus, s->table_arg, at, bytes, plus, moved);
  close_pieces(x, &p);
}

/* Copies row `id` of a matrix in panels, element by element. */
static void print_row_of_panels(Gen *g, Text *x, const Gather *s, const Layout *l) {
  int64_t stride[2], panel = layout_strides(s->table, l, stride);
  int along = layout_axis(l, 1); /* that is cut into panels */
  const char *at[] = {"id", "c"}, *T = dtype_storage(s->table->dtype);
  for (int i = 0; i < 2; i++) {
    if (i == along && l->nr)
      at[i] =
          arena_printf(g->a, "%s / %d * %lld + %s", at[i], l->nr, (long long)panel,
                       text_times(g->a, arena_printf(g->a, "%s %% %d", at[i], l->nr), stride[i]));
    else if (l->interleaved)
      at[i] = arena_printf(g->a, "%s / %d * %lld + %s %% %d", at[i], l->interleaved,
                           (long long)stride[i], at[i], l->interleaved);
    else
      at[i] = arena_printf(g->a, "%s * %lld", at[i], (long long)stride[i]);
  }
  text_line(x, "const %s *from = (const %s *)in%d + %s;", T, T, s->table_arg, at[0]);
  text_line(x, "for (long c = 0; c < %lld; c++) ((%s *)out0)[i * %lld + c] = from[%s];",
            (long long)s->row, T, (long long)s->row, at[1]);
}

static void print_gather(Gen *g, const Group *gr) {
  const Gather s = gather_of(gr);
  const Layout *layout = value_at(gr->e, gr->root->operands[0])->layout;
  const Type *ids = s.ids;
  int size = dtype_size(s.table->dtype);
  uint64_t bytes = (uint64_t)s.row * (uint64_t)size;
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  const char *all = dims_text(g, gr->e, ids, 0, ids->rank);
  kernel_units_of(k, s.out->numel < SERIAL_MOVES ? 1 : ids->numel, all);
  open_ids(g, gr, &k->text, ids, k->units == 1 ? "0" : "u0", k->units == 1 ? all : "u1");
  const char *zero = intern_printf(g->ctx, "__builtin_memset((char *)out0 + i * %lluL, 0, %llu);",
                                   (unsigned long long)bytes, (unsigned long long)bytes);
  print_id(g, gr, &k->text, &s, intern_printf(g->ctx, "%s continue;", zero));
  if (layout)
    print_row_of_panels(g, &k->text, &s, layout);
  else
    print_row(g, &k->text, gr, &s);
  text_close(&k->text, "}");
  if (k->units > 1) {
    kernel_split_in(k, gr, s.ids_arg, 1, 0, ids->bytes);
    kernel_split_out(k, gr, 0, 1, 0, s.out->bytes);
  }
}

typedef struct GatherGrad { /* a unit is a row of the only table, or one of many tables */
  Gen *g;
  const Group *gr;
  Gather s;
  int batch;
  bool half, apart;  /* apart: tables that do not lie side by side */
  const char *table; /* a unit's */
  long long width;   /* elements of a unit */
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
  const char *piece = open_pieces(x, &p), *plus = "";
  if (strcmp(piece, "0") != 0) plus = arena_printf(g->a, "%s + ", piece);
  text_line(x, "GC_IVDEP for (long j = 0; j < %s; j++) sum[%s * %lld + %sj] += %s;", p.each, at,
            (long long)s->row, plus,
            scalar_load(g->a, s->table->dtype, arena_printf(g->a, "in%d", s->table_arg),
                        intern_printf(g->ctx, "i * %lld + %sj", (long long)s->row, plus)));
  close_pieces(x, &p);
}

/* Of all ids from `from` to `to`, which fall on rows or tables of this thread. */
static void print_add_all(const GatherGrad *v, Text *x, const char *from, const char *to) {
  open_ids(v->g, v->gr, x, v->s.ids, from, to);
  print_id(v->g, v->gr, x, &v->s, "continue;");
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
  open_ids(g, v->gr, x, v->s.ids, "w", "end");
  text_line(x, "const uint64_t id = (uint64_t)(int64_t)%s;", id);
  text_line(x, "own[n] = i;");
  text_line(x, "n += id - (uint64_t)u0 < (uint64_t)(u1 - u0);");
  text_line(x, "wrong |= id >= (uint64_t)%s;", rows);
  text_close(x, "}");
  text_open(x, "if (__builtin_expect(wrong, 0)) {");
  open_ids(g, v->gr, x, v->s.ids, "w", "end");
  print_id(g, v->gr, x, &v->s, "continue;");
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

static void print_gather_grad(Gen *g, const Group *gr) {
  GatherGrad v = {.g = g, .gr = gr, .s = gather_of(gr), .table = "u"};
  const Gather *s = &v.s;
  const Type *out = s->out;
  const int64_t units = s->tables > 1 ? s->tables : s->rows;
  const char *T = dtype_compute(out->dtype);
  v.width = units ? out->numel / units : 0;
  v.half = dtype_is_half(out->dtype);
  v.batch = (int)gr->root->attr[AT_BATCH].i;
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  const char *all = s->tables > 1 ? dims_text(g, gr->e, s->ids, 0, v.batch)
                                  : count_text(g, gr->e, s->rows, type_extent(out, v.batch));
  kernel_units_of(k, out->numel + s->table->numel < SERIAL_WORK ? 1 : units, all);
  if (k->units == 1) text_line(x, "const long u0 = 0, u1 = %s;", all);
  text_line(x, "%s *sum = (%s *)%s;", T, T, v.half ? "scratch" : "out0");
  if (s->tables > 1) v.table = place_text(g, gr->e, s->ids, 0, v.batch, "u");
  v.apart = strcmp(v.table, "u") != 0;
  print_begin_sums(&v, x);
  print_add_rows(&v, x, k->units > 1);
  if (v.half) print_round_sums(&v, x);
  if (k->units > 1) kernel_split_out(k, gr, 0, 1, 0, out->bytes);
  if (k->units > 1 && s->start_arg >= 0 && s->start_arg != s->table_arg)
    kernel_split_in(k, gr, s->start_arg, 1, 0, out->bytes);
  k->flops = (uint64_t)s->table->numel;
  if (s->tables > 1) return;
  k->one_share = k->units > 1; /* it looks at all ids */
  const ScatterSchedule schedule = {.ids = s->ids->numel, .rows = s->rows, .row = s->row};
  kernel_schedule(k, &scatter_kind, &schedule, sizeof schedule);
  k->balance = scatter_balance;
}

/* A thread's share of the bytes of the only run: of those in front of y and behind it, and of y. */
static void print_shared_update(Text *t, const char *run, const char *part, long long inner) {
  text_line(t, "(void)u0, (void)u1;");
  text_line(t, "const long run = %s, moved = %s, first = at * %lld, last = first + moved;", run,
            part, inner);
  text_open(t, "if (to != from) {");
  text_line(t, "const long lo = run * t / nt, hi = run * (t + 1) / nt;");
  text_line(t, "const long end = hi < first ? hi : first, start = lo > last ? lo : last;");
  text_line(t, "if (lo < end) memcpy(to + lo, from + lo, (size_t)(end - lo));");
  text_line(t, "if (start < hi) memcpy(to + start, from + start, (size_t)(hi - start));");
  text_close(t, "}");
  text_line(t, "const long lo = moved * t / nt, hi = moved * (t + 1) / nt;");
  text_line(t, "memcpy(to + first + lo, part + lo, (size_t)(hi - lo));");
}

/* The axes in front of the one that a part lies along, or behind it, in their order. */
static const Type *axes_beside(Gen *g, const Type *x, const Layout *order, int along, bool behind) {
  int64_t *axis = ARENA_ARRAY(g->a, int64_t, x->rank + 1);
  int n = 0;
  bool passed = false;
  for (int i = 0; i < x->rank; i++) {
    int a = layout_axis(order, i);
    if (a == along)
      passed = true;
    else if (passed == behind)
      axis[n++] = type_axis(x, a);
  }
  return type_get(g->ctx, x->dtype, n, axis);
}

/* Where the result lies over x, only y moves. All three lie in one order of axes. Rows whose axes
   are bounded lie apart by what they have at the bounds; the last one ends with what a run has. */
static void print_update(Gen *g, const Group *gr) {
  const Update s = update_of(gr);
  const Type *x = s.x, *y = s.y;
  const Layout *order = value_at(gr->e, gr->out[0])->layout;
  const Type *outside = axes_beside(g, x, order, s.axis, false);
  const Type *row = axes_beside(g, x, order, s.axis, true);
  const long long outer = outside->numel, inner = (long long)row->bytes,
                  size = dtype_size(x->dtype);
  const char *rows = dims_text(g, gr->e, outside, 0, outside->rank);
  const char *u = place_text(g, gr->e, outside, 0, outside->rank, "u");
  const bool side_by_side = strcmp(u, "u") == 0;
  long long all = x->dim[s.axis] * inner, pitch = y->dim[s.axis] * inner;
  const char *whole = arena_printf(g->a, "%lld", inner);
  const char *of_run = text_product(g->a, dims_text(g, gr->e, x, s.axis, s.axis + 1), whole);
  const char *part = text_product(g->a, dims_text(g, gr->e, y, s.axis, s.axis + 1), whole);
  if (row->extent && !type_extent(y, s.axis))
    part = arena_printf(
        g->a, "%lld + %s", pitch - inner,
        text_product(g->a, prefix_text(g, gr->e, row), arena_printf(g->a, "%lld", size)));
  const char *starts = starts_text(g, gr, &s);
  Kernel *k = kernel_new(g, gr);
  Text *t = &k->text;
  kernel_args(g, k, gr);
  const bool shares_run = outer == 1 && y->numel >= SERIAL_MOVES; /* threads do */
  if (shares_run)
    kernel_units(k, ceil_div(y->numel, BLOCK));
  else
    kernel_units_of(k, x->numel < SERIAL_MOVES ? 1 : outer, rows);
  if (k->units == 1) text_line(t, "const long u0 = 0, u1 = %s;", rows);
  text_line(t, "long at = (long)%s;",
            scalar_load(g->a, s.start->dtype, arena_printf(g->a, "in%d", s.start_arg), "0"));
  text_open(t, "if (__builtin_expect(at < 0 || at >= %s, 0)) {", starts);
  text_line(t, "%s", gen_fault_below(g, gr, gr->root, "a start", "0", "at", starts));
  text_line(t, "at = 0;");
  text_close(t, "}");
  text_line(t, "char *to = (char *)out0;");
  text_line(t, "const char *from = (const char *)in%d, *part = (const char *)in%d;", s.x_arg,
            s.y_arg);
  if (shares_run) {
    print_shared_update(t, of_run, part, inner);
    return;
  }
  text_open(t, "for (long u = u0; u < u1; u++) {");
  text_line(t, "if (to != from) memcpy(to + %s * %lld, from + %s * %lld, %s);", u, all, u, all,
            of_run);
  text_line(t, "memcpy(to + %s * %lld + at * %lld, part + %s * %lld, %s);", u, all, inner, u, pitch,
            part);
  text_close(t, "}");
  if (k->units == 1 || !side_by_side) return;
  kernel_split_in(k, gr, s.x_arg, 1, 0, x->bytes);
  if (s.y_arg != s.x_arg) kernel_split_in(k, gr, s.y_arg, 1, 0, y->bytes);
  kernel_split_out(k, gr, 0, 1, 0, x->bytes);
}

static void print_one_hot(Gen *g, const Group *gr) {
  const Type *ids = value_type(gr->e, gr->in[0]), *out = value_type(gr->e, gr->out[0]);
  int64_t depth = gr->root->attr[AT_DEPTH].i;
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  const char *all = dims_text(g, gr->e, ids, 0, ids->rank);
  kernel_units_of(k, out->numel < SERIAL_WORK ? 1 : ids->numel, all);
  open_ids(g, gr, &k->text, ids, k->units == 1 ? "0" : "u0", k->units == 1 ? all : "u1");
  text_line(&k->text, "const int64_t id = (int64_t)%s;", scalar_load(g->a, ids->dtype, "in0", "i"));
  text_line(&k->text, "for (long j = 0; j < %lld; j++) out0[i * %lld + j] = %s;", (long long)depth,
            (long long)depth,
            scalar_store(g->a, out->dtype,
                         intern_printf(g->ctx, "(%s)(j == id)", dtype_compute(out->dtype))));
  text_close(&k->text, "}");
  if (k->units > 1) {
    kernel_split_in(k, gr, 0, 1, 0, ids->bytes);
    kernel_split_out(k, gr, 0, 1, 0, out->bytes);
  }
}

void cpu_index(Gen *g, const Group *gr) {
  if (gr->root->kind == OP_GATHER)
    print_gather(g, gr);
  else if (gr->root->kind == OP_DYNAMIC_UPDATE)
    print_update(g, gr);
  else if (gr->root->kind == OP_GATHER_GRAD)
    print_gather_grad(g, gr);
  else if (gr->root->kind == OP_NMS)
    cpu_nms(g, gr);
  else
    print_one_hot(g, gr);
}
