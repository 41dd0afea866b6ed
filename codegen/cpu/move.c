/* Kernels that move elements and compute nothing: copies between layouts, stores to globals,
   concat. Contract: bits are kept as they are, and the tail of panels is zero; concat has one
   layout, without panels, for operands and result: axes below are those of storage. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/pixel.h"
#include "codegen/program/extent.h"

enum { BLOCK = 64 }; /* elements of a unit */

static const Layout *layout_of(const Group *gr, ValueId v) { return value_at(gr->e, v)->layout; }

static int64_t storage_elements(const Type *t, const Layout *l) {
  uint64_t bytes = 0;
  (void)layout_bytes(t, l, &bytes);
  return (int64_t)bytes / dtype_size(t->dtype);
}

/* All of one layout: the storage, end to end. */
static void copy_flat(Gen *g, Kernel *k, const Group *gr, int64_t n) {
  int64_t units = n < SERIAL_MOVES ? 1 : (n + BLOCK - 1) / BLOCK;
  const Type *t = value_type(gr->e, gr->in[0]);
  const char *count = arena_printf(g->a, "%lld", (long long)n); /* bounded: the outermost axis */
  const Layout *l = layout_of(gr, gr->in[0]);
  bool bounded = t->extent && !(l && l->nr);
  if (bounded) count = dims_text(g, gr->e, t, 0, t->rank);
  uint64_t size = (uint64_t)dtype_size(value_type(gr->e, gr->in[0])->dtype);
  kernel_units_of(k, units, bounded ? text_ceil_div(g->a, count, BLOCK) : "1");
  if (units > 1) {
    kernel_split_in(k, gr, 0, 1, 0, (uint64_t)(units * BLOCK) * size);
    k->args[1].access.rows = !bounded;
    k->args[1].access.width = (uint64_t)(units * BLOCK) * size;
    text_line(&k->text, "const long end = u1 * %d < %s ? u1 * %d : %s;", BLOCK, count, BLOCK,
              count);
    text_line(&k->text, "if (end > u0 * %d)", BLOCK);
    text_line(&k->text, "  memmove(out0 + u0 * %d, in0 + u0 * %d, (size_t)(end - u0 * %d) * %d);",
              BLOCK, BLOCK, BLOCK, (int)size);
  } else if (bounded) {
    text_line(&k->text, "memmove(out0, in0, (size_t)(%s * %d));", count, (int)size);
  } else {
    text_line(&k->text, "memmove(out0, in0, %lld);", (long long)n * (long long)size);
  }
}

/* A layout as panels: without them all columns are one. */
typedef struct Side {
  const Layout *layout;
  int64_t *stride;
  int column; /* axis */
  int64_t nr, panels, panel;
} Side;

static Side side_of(Gen *g, const Type *t, const Layout *l) {
  Side s = {.layout = l, .stride = ARENA_ARRAY(g->a, int64_t, t->rank)};
  s.panel = layout_strides(t, l, s.stride);
  s.column = layout_axis(l, t->rank - 1);
  s.nr = s.panel ? l->nr : t->dim[s.column];
  s.panels = (t->dim[s.column] + s.nr - 1) / s.nr;
  return s;
}

/* Columns of panel `q`, as the constant `w`. */
static void print_width(Text *x, const char *w, const Type *t, const Side *s, const char *q) {
  long long all = t->dim[s->column], nr = s->nr;
  text_line(x, "const long %s = %lld - %s * %lld < %lld ? %lld - %s * %lld : %lld;", w, all, q, nr,
            nr, all, q, nr, nr);
}

/* The loops over all axes but two, and the offsets that they add on both sides. */
typedef struct Others {
  const char *in, *out;
  int n;
} Others;

static Others print_others(Gen *g, Text *x, const Type *t, const Side *from, const Side *to) {
  Others o = {.in = "", .out = ""};
  for (int i = 0; i + 1 < t->rank; i++) {
    int axis = layout_axis(to->layout, i);
    if (axis == from->column) continue;
    text_open(x, "for (long i%d = 0; i%d < %lld; i%d++) {", axis, axis, (long long)t->dim[axis],
              axis);
    o.in = arena_printf(g->a, "%s + i%d * %lld", o.in, axis, (long long)from->stride[axis]);
    o.out = arena_printf(g->a, "%s + i%d * %lld", o.out, axis, (long long)to->stride[axis]);
    o.n++;
  }
  return o;
}

/* To panels or from them, or to panels of other columns: a unit is a panel of the result, or of the
   operand where the result has none. */
static void copy_panels(Gen *g, Kernel *k, const Type *t, const Layout *from_layout,
                        const Layout *to_layout) {
  Side from = side_of(g, t, from_layout), to = side_of(g, t, to_layout);
  bool same = from.column == to.column;
  if ((from_layout && from_layout->interleaved) || (to_layout && to_layout->interleaved))
    gc_bug(g->ctx, "a copy of interleaved rows to another layout");
  if (same && from.panel && to.panel) gc_bug(g->ctx, "a copy between panels of two widths");
  const Side *by = to.panel ? &to : &from, *other = to.panel ? &from : &to;
  kernel_units(k, t->numel < SERIAL_MOVES ? 1 : by->panels);
  Text *x = &k->text;
  if (k->units > 1) {
    k->args[to.panel ? 1 : 0].access.rows = 1;
    k->args[to.panel ? 1 : 0].access.width =
        (uint64_t)(by->panels * by->panel * dtype_size(t->dtype));
    text_open(x, "for (long u = u0; u < u1; u++) {");
  } else {
    text_open(x, "for (long u = 0; u < %lld; u++) {", (long long)by->panels);
  }
  print_width(x, "w", t, by, "u");
  Others o = print_others(g, x, t, &from, &to);
  const char *in =
      arena_printf(g->a, "u * %lld%s",
                   (long long)(by == &from ? from.panel : from.stride[by->column] * by->nr), o.in);
  const char *out =
      arena_printf(g->a, "u * %lld%s",
                   (long long)(by == &to ? to.panel : to.stride[by->column] * by->nr), o.out);
  bool tail = to.panel && t->dim[to.column] % to.nr;
  if (same) {
    text_line(x, "GC_IVDEP");
    text_line(x, "for (long j = 0; j < w; j++) out0[%s + j] = in0[%s + j];", out, in);
    if (tail)
      text_line(x, "for (long j = w; j < %lld; j++) out0[%s + j] = 0;", (long long)to.nr, out);
  } else {
    text_open(x, "for (long v = 0; v < %lld; v++) {", (long long)other->panels);
    print_width(x, "d", t, other, "v");
    in = arena_printf(
        g->a, "%s + v * %lld", in,
        (long long)(other == &from ? from.panel : from.stride[other->column] * other->nr));
    out = arena_printf(g->a, "%s + v * %lld", out,
                       (long long)(other == &to ? to.panel : to.stride[other->column] * other->nr));
    const char *rows = by == &to ? "d" : "w", *columns = by == &to ? "w" : "d";
    long long ld = from.stride[to.column], step = to.stride[from.column];
    if (t->dtype == DT_F32) {
      gen_helper(g, intern_printf(g->ctx, "GC_PACK(f32)\n"));
      text_line(x, "pack_t_f32(in0 + %s, %lld, out0 + %s, %lld, %s, %s);", in, ld, out, step, rows,
                columns);
    } else {
      text_line(x, "for (long e = 0; e < %s; e++)", rows);
      text_line(x, "  for (long j = 0; j < %s; j++)", columns);
      text_line(x, "    out0[%s + e * %lld + j] = in0[%s + j * %lld + e];", out, step, in, ld);
    }
    if (tail) {
      text_line(x, "for (long e = 0; e < %s; e++)", rows);
      text_line(x, "  for (long j = %s; j < %lld; j++) out0[%s + e * %lld + j] = 0;", columns,
                (long long)to.nr, out, step);
    }
    text_close(x, "}");
  }
  for (int i = 0; i <= o.n; i++) text_close(x, "}");
}

/* To panels whose rows are interleaved, of a row-major matrix: a unit is a panel. Rows and columns
   that are left over are zero. */
static void copy_interleaved(Gen *g, Kernel *k, const Type *t, const Layout *l) {
  const Side from = side_of(g, t, NULL), to = side_of(g, t, l);
  const int row = layout_axis(l, 0);
  const long long by = l->interleaved, rows = t->dim[row], down = from.stride[row],
                  across = from.stride[to.column];
  kernel_units(k, t->numel < SERIAL_MOVES ? 1 : to.panels);
  Text *x = &k->text;
  if (k->units > 1) {
    k->args[1].access.rows = 1;
    k->args[1].access.width = (uint64_t)(to.panels * to.panel * dtype_size(t->dtype));
  }
  text_open(x, "for (long u = %s; u < %s; u++) {", k->units > 1 ? "u0" : "0",
            k->units > 1 ? "u1" : arena_printf(g->a, "%lld", (long long)to.panels));
  print_width(x, "w", t, &to, "u");
  text_open(x, "for (long i = 0; i < %lld; i++) {", (rows + by - 1) / by * by);
  text_line(x, "for (long j = 0; j < %lld; j++)", (long long)to.nr);
  text_line(x,
            "  out0[u * %lld + i / %lld * %lld + j * %lld + i %% %lld] = i < %lld && j < w ? in0[i "
            "* %lld + (u * %lld + j) * %lld] : 0;",
            (long long)to.panel, by, (long long)to.stride[row], by, by, rows, down,
            (long long)to.nr, across);
  text_close(x, "}");
  text_close(x, "}");
}

/* Axes that lie side by side in both orders are one; outermost first as the source lies. */
typedef struct AxisRun {
  int64_t n, from, to;  /* elements; from one to the next on both sides */
  const Extent *extent; /* that n is a multiple of */
} AxisRun;

static int runs_of(Gen *g, const Type *t, const Layout *from, const Layout *to, AxisRun *run) {
  int64_t *x = ARENA_ARRAY(g->a, int64_t, t->rank), *y = ARENA_ARRAY(g->a, int64_t, t->rank);
  int n = 0;
  layout_strides(t, from, x);
  layout_strides(t, to, y);
  for (int i = 0; i < t->rank; i++) {
    int axis = layout_axis(from, i);
    if (t->dim[axis] == 1) continue;
    AxisRun *last = n ? &run[n - 1] : NULL;
    const Extent *extent = type_extent(t, axis);
    if (!extent && last && last->from == x[axis] * t->dim[axis] &&
        last->to == y[axis] * t->dim[axis])
      *last = (AxisRun){last->n * t->dim[axis], x[axis], y[axis], last->extent};
    else
      run[n++] = (AxisRun){t->dim[axis], x[axis], y[axis], extent};
  }
  return n;
}

/* The axis along which elements lie side by side in the result, if it and the innermost axis of the
   source have as many as a block of a transposition; else -1. */
static int transposed(const AxisRun *run, int n) {
  enum { SIDE = 16 };
  if (n < 3 || run[n - 1].from != 1 || run[n - 1].n < SIDE) return -1;
  for (int i = 0; i < n - 1; i++)
    if (run[i].to == 1) return run[i].n < SIDE ? -1 : i;
  return -1;
}

/* Between two orders of axes. Mostly each of many matrices is transposed: by blocks that stay in
   registers; units are rows of such blocks. */
static void copy_ordered(Gen *g, Kernel *k, const Group *gr, const Type *t, const Layout *from,
                         const Layout *to) {
  enum { ROWS = 64 };
  AxisRun *run = ARENA_ARRAY(g->a, AxisRun, t->rank);
  int n = runs_of(g, t, from, to, run);
  Text *x = &k->text;
  bool matrices = t->dtype == DT_F32 && n >= 2 && n <= 3 && run[n - 2].to == 1;
  if (matrices) {
    gen_helper(g, intern_printf(g->ctx, "GC_PACK(f32)\n"));
    const AxisRun *r = &run[n - 2], *c = &run[n - 1];
    const char *rows = count_text(g, gr->e, r->n, r->extent);
    const char *columns = count_text(g, gr->e, c->n, c->extent);
    const char *blocks = c->extent ? text_ceil_div(g->a, columns, ROWS)
                                   : arena_printf(g->a, "%lld", (long long)ceil_div(c->n, ROWS));
    const int64_t most = (n == 3 ? run[0].n : 1) * ceil_div(c->n, ROWS);
    const char *all = arena_printf(g->a, "%lld", (long long)most);
    if (c->extent || (n == 3 && run[0].extent)) /* known when it runs */
      all =
          text_product(g->a, n == 3 ? count_text(g, gr->e, run[0].n, run[0].extent) : "1", blocks);
    kernel_units_of(k, t->numel < SERIAL_MOVES ? 1 : most, all);
    if (k->units == 1)
      text_open(x, "for (long u = 0; u < %s; u++) {", all);
    else
      text_open(x, "for (long u = u0; u < u1; u++) {");
    text_line(x, "const long m = u / %s, k = u %% %s * %d;", blocks, blocks, ROWS);
    text_line(x, "const long depth = %s - k < %d ? %s - k : %d;", columns, ROWS, columns, ROWS);
    text_line(x,
              "pack_t_f32(in0 + m * %lld + k, %lld, out0 + m * %lld + k * %lld, %lld, depth, %s);",
              n == 3 ? (long long)run[0].from : 0LL, (long long)r->from,
              n == 3 ? (long long)run[0].to : 0LL, (long long)c->to, (long long)c->to, rows);
    text_close(x, "}");
    return;
  }
  const int row = t->dtype == DT_F32 ? transposed(run, n) : -1;
  const int first = row == 0 && n > 2 ? 1 : 0; /* the outermost loop */
  kernel_units_of(k, t->numel < SERIAL_MOVES || !n ? 1 : run[first].n,
                  n ? count_text(g, gr->e, run[first].n, run[first].extent) : "1");
  const char *a = "0", *b = "0";
  for (int i = 0; i < n; i++) {
    if (row >= 0 && (i == row || i == n - 1)) continue;
    if (i == first && k->units > 1)
      text_open(x, "for (long i%d = u0; i%d < u1; i%d++) {", i, i, i);
    else
      text_open(x, "for (long i%d = 0; i%d < %s; i%d++) {", i, i,
                count_text(g, gr->e, run[i].n, run[i].extent), i);
    a = arena_printf(g->a, "%s + i%d * %lld", a, i, (long long)run[i].from);
    b = arena_printf(g->a, "%s + i%d * %lld", b, i, (long long)run[i].to);
  }
  if (row >= 0) {
    const char *rows = count_text(g, gr->e, run[row].n, run[row].extent);
    const char *columns = count_text(g, gr->e, run[n - 1].n, run[n - 1].extent);
    gen_helper(g, intern_printf(g->ctx, "GC_PACK(f32)\n"));
    text_open(x, "for (long k = 0; k < %s; k += %d) {", columns, ROWS);
    text_line(x, "const long depth = %s - k < %d ? %s - k : %d;", columns, ROWS, columns, ROWS);
    text_line(x, "pack_t_f32(in0 + %s + k, %lld, out0 + %s + k * %lld, %lld, depth, %s);", a,
              (long long)run[row].from, b, (long long)run[n - 1].to, (long long)run[n - 1].to,
              rows);
    text_close(x, "}");
  } else {
    text_line(x, "out0[%s] = in0[%s];", b, a);
  }
  for (int i = row >= 0 ? 2 : 0; i < n; i++) text_close(x, "}");
}

static void copy_to(Gen *g, Kernel *k, const Group *gr, const Layout *to) {
  const Type *t = value_type(gr->e, gr->in[0]);
  const Layout *from = layout_of(gr, gr->in[0]);
  int first = 0; /* axis of more than one element */
  while (first < t->rank && t->dim[first] == 1) first++;
  bool panels = (from && from->nr) || (to && to->nr);
  if (layout_same(t, from, to) && (panels || !dims_bounded(t, first + 1, t->rank)))
    copy_flat(g, k, gr, storage_elements(t, from));
  else if (to && to->winograd)
    cpu_winograd_filters(g, k, t, from, to);
  else if (to && to->interleaved && !from)
    copy_interleaved(g, k, t, to);
  else if (panels)
    copy_panels(g, k, t, from, to);
  else
    copy_ordered(g, k, gr, t, from, to);
}

/* Filters as a run's images want them. */
static void copy_filters(Gen *g, Kernel *k, const Group *gr, const Layout *to) {
  const Type *t = value_type(gr->e, gr->in[0]);
  cpu_winograd_if(g, &k->text, gr->e, t, to);
  cpu_winograd_filters(g, k, t, layout_of(gr, gr->in[0]), to);
  const int64_t units = k->units;
  k->text.indent--;
  text_open(&k->text, "} else {");
  copy_to(g, k, gr, cpu_winograd_direct(g, t, to));
  text_close(&k->text, "}");
  if (units > k->units) k->units = units;
  for (int i = 0; i < k->nargs; i++)
    k->args[i].access.rows = 0; /* units are other slices in each */
}

static void copy(Gen *g, Kernel *k, const Group *gr) {
  const Layout *to = gr->op->kind == OP_STORE ? g->m->globals.at[gr->op->attr[AT_GLOBAL].i].layout
                                              : layout_of(gr, gr->out[0]);
  if (to && to->image)
    copy_filters(g, k, gr, to);
  else
    copy_to(g, k, gr, to);
}

const Type *cpu_stored(Gen *g, const Group *gr, ValueId v) {
  const Type *t = value_type(gr->e, v);
  int64_t *axis = ARENA_ARRAY(g->a, int64_t, t->rank + 1);
  for (int i = 0; i < t->rank; i++) axis[i] = type_axis(t, layout_axis(layout_of(gr, v), i));
  return type_get(g->ctx, t->dtype, t->rank, axis);
}

static void concat(Gen *g, Kernel *k, const Group *gr) {
  const Type *t = value_type(gr->e, gr->out[0]);
  const int64_t *dim = cpu_stored(g, gr, gr->out[0])->dim;
  int axis = 0;
  while (layout_axis(layout_of(gr, gr->out[0]), axis) != gr->op->attr[AT_AXIS].i) axis++;
  long long outer = 1, total = 1, at = 0;
  for (int i = 0; i < axis; i++) outer *= dim[i];
  for (int i = axis; i < t->rank; i++) total *= dim[i];
  const Type *whole = cpu_stored(g, gr, gr->out[0]);
  const char *all = dims_text(g, gr->e, whole, 0, axis),
             *u = place_text(g, gr->e, whole, 0, axis, "u");
  const bool shares_rows = outer == 1 && t->numel >= SERIAL_MOVES; /* threads do */
  if (shares_rows)
    kernel_units(k, ceil_div(t->numel, BLOCK));
  else
    kernel_units_of(k, t->numel < SERIAL_MOVES ? 1 : outer, all);
  int size = dtype_size(t->dtype);
  Text *x = &k->text;
  if (shares_rows) {
    text_line(x, "(void)u0, (void)u1;");
  } else if (k->units > 1) {
    kernel_split_out(k, gr, 0, 1, 0, t->bytes);
    text_open(x, "for (long u = u0; u < u1; u++) {");
  } else {
    text_open(x, "for (long u = 0; u < %s; u++) {", all);
  }
  for (int i = 0; i < gr->nin; i++) {
    long long block = 1;
    for (int d = axis; d < t->rank; d++) block *= cpu_stored(g, gr, gr->in[i])->dim[d];
    int first = group_arg(gr, gr->arg[i]);
    if (shares_rows) {
      const char *lo = arena_printf(g->a, "%lldL * t / nt", block);
      text_line(x, "memcpy(out0 + %lld + %s, in%d + %s, (size_t)(%lldL * (t + 1) / nt - %s) * %d);",
                at, lo, first, lo, block, lo, size);
    } else {
      text_line(x, "memcpy(out0 + %s * %lld + %lld, in%d + %s * %lld, %lld);", u, total, at, first,
                u, block, block * size);
    }
    at += block;
  }
  if (!shares_rows) text_close(x, "}");
}

void cpu_move(Gen *g, const Group *gr) {
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  if (gr->op->kind == OP_CONCAT)
    concat(g, k, gr);
  else if (gr->op->kind == OP_RESHAPE)
    cpu_reshape(g, k, gr);
  else if (gr->op->kind == OP_PAD)
    cpu_pad(g, k, gr);
  else
    copy(g, k, gr);
}
