/* Prints ops whose addresses come from data: gather, gather_grad (gather_grad.c) and one_hot as
   kernels of their own.
   Contract: an id out of range stops the program after the step (gcrt_fault) and reads or adds
   nothing. */
#include "codegen/cpu/gather.h"
#include "codegen/program/extent.h"

enum { BLOCK = 64 /* elements of a unit, where threads share one run */ };

void gather_open_ids(Gen *g, const Group *gr, Text *x, const Type *ids, const char *from,
                     const char *to) {
  const char *at = place_text(g, gr->e, ids, 0, ids->rank, "u");
  bool side_by_side = strcmp(at, "u") == 0;
  const char *i = side_by_side ? "i" : "u";
  text_open(x, "for (long %s = %s; %s < %s; %s++) {", i, from, i, to, i);
  if (!side_by_side) text_line(x, "const long i = %s;", at);
}

void gather_id(Gen *g, const Group *gr, Text *x, const Gather *s, const char *skip) {
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

const char *gather_open_pieces(Text *x, const RowPieces *p) {
  if (strcmp(p->n, "1") == 0) return p->at;
  text_open(x, "for (long r = 0; r < %s; r++) {", p->n);
  text_line(x, "const long piece = %s;", p->at);
  return "piece";
}

void gather_close_pieces(Text *x, const RowPieces *p) {
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
  const char *piece = gather_open_pieces(x, &p), *plus = "";
  if (strcmp(piece, "0") != 0) plus = arena_printf(g->a, " + %s * %d", piece, size);
  const char *moved = text_is_number(p.each)
                          ? arena_printf(g->a, "%llu", bytes)
                          : arena_printf(g->a, "(size_t)(%s * %d)", p.each, size);
  text_line(x,
            "__builtin_memcpy((char *)out0 + i * %lluL%s, (const char *)in%d + %s * %lluL%s, %s);",
            bytes, plus, s->table_arg, at, bytes, plus, moved);
  gather_close_pieces(x, &p);
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
  gather_open_ids(g, gr, &k->text, ids, k->units == 1 ? "0" : "u0", k->units == 1 ? all : "u1");
  const char *zero = intern_printf(g->ctx, "__builtin_memset((char *)out0 + i * %lluL, 0, %llu);",
                                   (unsigned long long)bytes, (unsigned long long)bytes);
  gather_id(g, gr, &k->text, &s, intern_printf(g->ctx, "%s continue;", zero));
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
  gather_open_ids(g, gr, &k->text, ids, k->units == 1 ? "0" : "u0", k->units == 1 ? all : "u1");
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
    cpu_gather_grad(g, gr);
  else if (gr->root->kind == OP_NMS)
    cpu_nms(g, gr);
  else
    print_one_hot(g, gr);
}
