/* Ops whose addresses come from data: gather, gather_grad and one_hot as kernels of
   their own.
   Contract: an id out of range is reported and reads or adds nothing; gather_grad adds the rows of
   one id in their order, behind its accumulator, as the CPU does. Of many ids it sorts the places
   first, stable, so that those of one id follow each other; of few a warp owns a part of a row of
   the table and looks through all of them, 32 at once. */
#include "codegen/print/gather.h"
#include "codegen/gpu/sort.h"
#include "codegen/program/extent.h"
#include "codegen/schedule/scatter.h"
#include "passes/plan.h"

static const char *integer(Gen *g, int64_t n) { return arena_printf(g->a, "%lld", (long long)n); }

/* Tables of this run, and ids of each: as many as hold all, where others lie between them. */
static const char *tables_text(Gen *g, const Group *gr, const Gather *s) {
  return prefix_axes_text(g, gr->e, s->ids, (int)gr->root->attr[AT_BATCH].i);
}

static const char *ids_text(Gen *g, const Group *gr, const Gather *s) {
  int batch = (int)gr->root->attr[AT_BATCH].i;
  if (type_is_mixed(s->ids)) return integer(g, s->ids_each);
  return dims_text(g, gr->e, s->ids, batch, s->ids->rank);
}

/* Id `at` of all, a factor; behind the last row of the table where it is not of this run. */
static const char *load_id(Gen *g, const Group *gr, const char *at) {
  const Gather s = gather_of(gr);
  const char *inside = type_is_mixed(s.ids) ? inside_text(g, gr->e, s.ids, at) : NULL;
  const char *id = scalar_load(g->a, s.ids->dtype, arena_printf(g->a, "in%d", s.ids_arg), at);
  return inside ? arena_printf(g->a, "(%s ? (int64_t)%s : %lld)", inside, id, (long long)s.rows)
                : id;
}

/* `id`, number `at`, is of this run and no row of the table. */
static const char *is_wrong(Gen *g, const Group *gr, const Gather *s, const char *at) {
  const char *inside = type_is_mixed(s->ids) ? inside_text(g, gr->e, s->ids, at) : NULL;
  const char *wrong = arena_printf(g->a, "(id < 0 || id >= %lld)", (long long)s->rows);
  return inside ? arena_printf(g->a, "%s && %s", wrong, inside) : wrong;
}

/* Threads of this run, `each` a table; NULL: their number is known. */
static const char *threads_text(Gen *g, const Group *gr, const Gather *s, int64_t each) {
  const char *tables = tables_text(g, gr, s);
  return text_is_number(tables) ? NULL : text_product(g->a, tables, integer(g, each));
}

/* `load` of element j of a row, a factor; 0 where j is behind an extent. */
static const char *in_row(Gen *g, const Group *gr, const Gather *s, const char *j,
                          const char *load) {
  const char *inside = inside_text(g, gr->e, s->inner, j);
  return inside ? arena_printf(g->a, "(%s ? %s : 0)", inside, load) : load;
}

/* The axes of a row in units of v elements; those behind the last extent are one. */
static const Type *in_vectors(Gen *g, const Type *row, int v) {
  int64_t *axis = ARENA_ARRAY(g->a, int64_t, row->rank + 1);
  int n = row->rank;
  int64_t units = 1;
  for (; n > 0 && !type_extent(row, n - 1); n--) units *= row->dim[n - 1];
  for (int i = 0; i < n; i++) axis[i] = type_axis(row, i);
  axis[n] = units / v;
  return type_get(g->ctx, row->dtype, n + 1, axis);
}

static void gather(Gen *g, const Group *gr) {
  const Gather s = gather_of(gr);
  const Type *ids = s.ids, *out = s.out;
  long long rows = s.rows;
  const Type *row = in_vectors(g, s.inner, 1);
  int v = 16 / dtype_size(out->dtype);
  while (v > 1 && row->dim[row->rank - 1] % v) v /= 2;
  row = in_vectors(g, s.inner, v);
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  const char *count = dims_text(g, gr->e, ids, 0, ids->rank); /* none behind an extent is read */
  const char *parts = dims_text(g, gr->e, row, 0, row->rank);
  if (!text_is_number(count) || !text_is_number(parts)) count = text_product(g->a, count, parts);
  cuda_threads_of(g, k, ids->numel * row->numel, count, "t");
  const char *u = arena_printf(g->a, "(t / %s)", parts);
  const char *T = arena_printf(g->a, "Vec<%s, %d>", dtype_storage(out->dtype), v);
  text_line(x, "const %s i = %s, j = %s * %d;", g->index,
            place_text(g, gr->e, ids, 0, ids->rank, u),
            place_text(g, gr->e, row, 0, row->rank, arena_printf(g->a, "(t %% %s)", parts)), v);
  text_line(x, "const int64_t id = (int64_t)%s;",
            scalar_load(g->a, ids->dtype, arena_printf(g->a, "in%d", s.ids_arg), "i"));
  text_line(x, "%s x;", T);
  const int axis = (int)gr->root->attr[AT_BATCH].i;
  const char *limit = dims_text(g, gr->e, s.table, axis, axis + 1);
  text_open(x, "if (id < 0 || id >= %s) {", limit);
  text_line(x, "%s", gen_fault_below(g, gr, gr->root, "an index", "i", "id", limit));
  text_line(x, "#pragma unroll");
  text_line(x, "for (int l = 0; l < %d; l++) x.at[l] = 0;", v);
  x->indent--;
  text_open(x, "} else {");
  const char *at = "id";
  if (s.tables > 1) at = arena_printf(g->a, "(i / %lld * %lld + id)", (long long)s.ids_each, rows);
  text_line(x, "x = *(const %s *)(in0 + %s * %lld + j);", T, at, (long long)s.row);
  text_close(x, "}");
  text_line(x, "*(%s *)(out0 + (%s)(i * %lld + j)) = x;", T, g->index, (long long)s.row);
}

/* What the sum of an element of the result begins with: 0, or that of the accumulator, which has no
   rows behind the extent of a bounded table. */
static const char *start_text(Gen *g, const Group *gr, const Gather *s, const char *at) {
  if (s->start_arg < 0) return "0";
  const char *load = scalar_load(g->a, s->out->dtype, arena_printf(g->a, "in%d", s->start_arg), at);
  const char *inside = inside_text(g, gr->e, s->out, arena_printf(g->a, "(%s)", at));
  return inside ? arena_printf(g->a, "(%s ? %s : 0)", inside, load) : load;
}

static void look_through(Gen *g, const Group *gr, Kernel *k, const Gather s) {
  const Type *out = s.out;
  int64_t depth = s.rows, row = s.row, many = s.tables, n = s.ids_each;
  int64_t parts = (row + WARP - 1) / WARP;
  Text *x = &k->text;
  cuda_threads_of(g, k, many * depth * parts * WARP, threads_text(g, gr, &s, depth * parts * WARP),
                  "t"); /* whole warps leave */
  const char *T = dtype_compute(out->dtype), *own = "own", *reports = "u == 0";
  const char *first = "0", *ids_each = ids_text(g, gr, &s), *last = ids_each;
  text_line(x, "const int lane = (int)threadIdx.x %% %d;", WARP);
  text_line(x, "const %s u = t / %d, own = u / %lld, j = u %% %lld * %d + lane;", g->index, WARP,
            (long long)parts, (long long)parts, WARP);
  if (many > 1) {
    text_line(x, "const %s row = own %% %lld, first = own / %lld * %lld;", g->index,
              (long long)depth, (long long)depth, (long long)n);
    first = "first", own = "row", last = arena_printf(g->a, "first + %s", ids_each);
    reports = arena_printf(g->a, "u %% %lld == 0", (long long)(depth * parts));
  }
  const char *at = arena_printf(g->a, "own * %lld + j", (long long)row);
  if (s.start_arg >= 0 && row % WARP)
    text_line(x, "%s sum = j < %lld ? %s : 0;", T, (long long)row, start_text(g, gr, &s, at));
  else
    text_line(x, "%s sum = %s;", T, start_text(g, gr, &s, at));
  text_open(x, "for (%s i0 = %s; i0 < %s; i0 += %d) {", g->index, first, last, WARP);
  text_line(x, "const %s i = i0 + lane;", g->index);
  text_line(x, "int64_t id = -1;");
  text_open(x, n % WARP || !text_is_number(ids_each) ? "if (i < %s) {" : "{", last);
  text_line(x, "id = (int64_t)%s;", load_id(g, gr, "i"));
  text_line(x, "if (%s && %s) %s", reports, is_wrong(g, gr, &s, "i"),
            gen_fault(g, gr, gr->root, "an index", "i", "id", depth));
  text_close(x, "}");
  text_open(x, "for (uint32_t mine = warp_ballot(id == %s); mine; mine &= mine - 1) {", own);
  text_line(x, "const %s from = i0 + __ffs((int)mine) - 1;", g->index);
  const char *load = scalar_load(g->a, s.table->dtype, "in0",
                                 arena_printf(g->a, "from * %lld + j", (long long)row));
  load = in_row(g, gr, &s, "j", load);
  if (row % WARP)
    text_line(x, "if (j < %lld) sum += %s;", (long long)row, load);
  else
    text_line(x, "sum += %s;", load);
  text_close(x, "}");
  text_close(x, "}");
  if (row % WARP) text_line(x, "if (j >= %lld) return;", (long long)row);
  text_line(x, "out0[%s] = %s;", at, scalar_store(g->a, out->dtype, "sum"));
}

static GridScatterSchedule schedule_of(const CudaTarget *t, const Gather *s) {
  GridScatterShape shape = {
      .tables = s->tables, .ids = s->ids_each, .rows = s->rows, .row = s->row};
  return grid_scatter_schedule(&t->machine, &shape);
}

uint64_t cuda_index_scratch(const CudaTarget *t, const Group *gr) {
  if (gr->root->kind == OP_NMS) return cuda_nms_scratch(gr);
  if (gr->root->kind != OP_GATHER_GRAD) return 0;
  const Gather s = gather_of(gr);
  return schedule_of(t, &s).scratch;
}

/* Where the places of each row's ids begin in their order, and where the last one's end. */
static void find_starts(Gen *g, const Group *gr, Kernel *k, const Gather *s, const char *order,
                        const char *starts) {
  const char *I = g->index;
  Text *x = &k->text;
  long long n = s->ids_each, all = s->rows + 1;
  cuda_threads_of(g, k, s->tables * all, threads_text(g, gr, s, all), "t");
  text_line(x, "const %s first = t / %lld * %lld;", I, all, n);
  text_line(x, "const int64_t row = t %% %lld;", all);
  text_line(x, "%s lo = 0, hi = %s;", I, ids_text(g, gr, s));
  text_open(x, "while (lo < hi) {");
  text_line(x, "const %s at = (lo + hi) / 2;", I);
  text_line(x, "const %s place = first + (%s)[first + at];", I, order);
  text_line(x, "const int64_t id = (int64_t)%s;", load_id(g, gr, "place"));
  text_line(x, "if (id < row) lo = at + 1;");
  text_line(x, "else hi = at;");
  text_close(x, "}");
  text_line(x, "(%s)[t] = (int)lo;", starts);
}

static void add_rows(Gen *g, const Group *gr, Kernel *k, const Gather *s, int width,
                     const char *order, const char *starts) {
  const char *I = g->index, *T = dtype_compute(s->out->dtype);
  Text *x = &k->text;
  long long row = s->row, n = s->ids_each, part = row / width;
  cuda_threads_of(g, k, s->out->numel / width, threads_text(g, gr, s, s->rows * part), "t");
  text_line(x, "const %s own = t / %lld, j = t %% %lld, table = own / %lld;", I, part, part,
            (long long)s->rows);
  text_line(x, "const int *starts = %s + own + table;", starts);
  text_line(x, "const int *order = %s + table * %lld;", order, n);
  text_line(x, "const int end = starts[1];");
  if (plan_moves(gr->e, gr->root) == MOVES_PART) text_line(x, "if (starts[0] == end) return;");
  text_line(x, "%s sum[%d];", T, width);
  for (int l = 0; l < width; l++)
    text_line(x, "sum[%d] = %s;", l,
              start_text(g, gr, s, arena_printf(g->a, "own * %lld + j + %lld", row, l * part)));
  text_line(x, "#pragma unroll 4");
  text_open(x, "for (int i = starts[0]; i < end; i++) {");
  text_line(x, "const %s from = table * %lld + order[i];", I, n);
  for (int l = 0; l < width; l++) {
    const char *at = arena_printf(g->a, "j + %lld", l * part);
    const char *load =
        scalar_load(g->a, s->table->dtype, "in0", arena_printf(g->a, "from * %lld + %s", row, at));
    text_line(x, "sum[%d] += %s;", l, in_row(g, gr, s, arena_printf(g->a, "(%s)", at), load));
  }
  text_close(x, "}");
  for (int l = 0; l < width; l++)
    text_line(x, "out0[own * %lld + j + %lld] = %s;", row, l * part,
              scalar_store(g->a, s->out->dtype, arena_printf(g->a, "sum[%d]", l)));
}

static void gather_grad(Gen *g, const Group *gr) {
  const Gather s = gather_of(gr);
  cuda_counts(g, gr->root, s.ids_each, "ids"); /* their order is of ints */
  const GridScatterSchedule d = schedule_of(cuda_target(g->target), &s);
  Kernel *k = cuda_kernel(g, gr);
  kernel_schedule(k, &grid_scatter_kind, &d, sizeof d);
  k->flops = (uint64_t)s.table->numel;
  if (!d.sorted) {
    look_through(g, gr, k, s);
    return;
  }
  const char *order = "(int *)scratch";
  const char *starts = arena_printf(g->a, "(int *)(scratch + %llu)", (unsigned long long)d.order);
  const char *other =
      arena_printf(g->a, "(int *)(scratch + %llu)", (unsigned long long)(d.order + d.starts));
  const char *fault = gen_fault(g, gr, gr->root, "an index", "own", "id", s.rows);
  Sort sort = {.dt = s.ids->dtype,
               .load = load_id,
               .check = arena_printf(g->a, "const int64_t id = (int64_t)key[i]; if (%s) %s",
                                     is_wrong(g, gr, &s, "own"), fault),
               .buffer = {order, other},
               .rows = tables_text(g, gr, &s),
               .elements = ids_text(g, gr, &s),
               .schedule = d.sort};
  sort_rows(g, gr, k, &sort);
  k = cuda_kernel_next(g, gr, "starts");
  kernel_schedule(k, &grid_scatter_kind, &d, sizeof d);
  find_starts(g, gr, k, &s, order, starts);
  k = cuda_kernel_next(g, gr, "sums");
  kernel_schedule(k, &grid_scatter_kind, &d, sizeof d);
  add_rows(g, gr, k, &s, d.width, order, starts);
}

static void one_hot(Gen *g, const Group *gr) {
  const Type *ids = value_type(gr->e, gr->in[0]), *out = value_type(gr->e, gr->out[0]);
  long long depth = gr->root->attr[AT_DEPTH].i;
  Kernel *k = cuda_kernel(g, gr);
  const char *count = dims_text(g, gr->e, out, 0, out->rank);
  bool mixed = type_is_mixed(out);
  cuda_threads_of(g, k, out->numel, count, mixed ? "u" : "t");
  if (mixed)
    text_line(&k->text, "const %s t = %s;", g->index, place_text(g, gr->e, out, 0, out->rank, "u"));
  text_line(&k->text, "const %s i = t / %lld, j = t %% %lld;", g->index, depth, depth);
  text_line(&k->text, "const int64_t id = (int64_t)%s;", scalar_load(g->a, ids->dtype, "in0", "i"));
  text_line(&k->text, "out0[t] = %s;",
            scalar_store(g->a, out->dtype,
                         arena_printf(g->a, "(%s)(j == id)", dtype_compute(out->dtype))));
}

void cuda_index(Gen *g, const Group *gr) {
  if (gr->root->kind == OP_GATHER)
    gather(g, gr);
  else if (gr->root->kind == OP_DYNAMIC_UPDATE)
    cuda_update(g, gr);
  else if (gr->root->kind == OP_GATHER_GRAD)
    gather_grad(g, gr);
  else if (gr->root->kind == OP_NMS)
    cuda_nms(g, gr);
  else
    one_hot(g, gr);
}
