/* The sums and searches of windows over row-major images, the same text for every target; see
   window.h. Contract: padding is left out of every sum, and the bits depend on the shape alone. An
   element of a convolution is one chain of fma in the order of the filter's rows, columns and
   channels. An element of its gradient with respect to the images is the same, with filters for
   channels. An element of its gradient with respect to the filters is one chain per chunk of
   pixels, chunks added in order. Pools add in the order of the windows. */
#include "codegen/print/window.h"

#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"
#include "ir/op/window.h"

/* The sum of a column, by its text; where a block is one column there is one. */
static const char *sum_at(const Window *w, const char *column) {
  return w->columns == 1 ? "acc[0]" : arena_printf(w->g->a, "acc[%s]", column);
}

/* Rows or columns (axis 2 or 3) of the image x or of the result y, in this run. */
static const char *run_of(const Window *w, const Type *t, int axis) {
  return dims_text(w->g, w->gr->e, t, axis, axis + 1);
}

static void apart(const Window *w) { /* the next loop's iterations */
  if (w->g->ivdep) text_line(w->x, "%s", w->g->ivdep);
}

static const char *load(const Window *w, int operand, const char *index) {
  Dtype dt = value_type(w->gr->e, w->op->operands[operand])->dtype;
  return scalar_load(w->g->a, dt, arena_printf(w->g->a, "in%d", w->in[operand]), index);
}

/* A filter's number, perhaps rounded on the way. */
static const char *load_filter(const Window *w, const char *index) {
  const char *text = load(w, 1, index);
  if (!w->op->attr[AT_ROUND_FILTERS].i) return text;
  return w->op->attr[AT_TF32_OPERANDS].i ? arena_printf(w->g->a, "f32_tf32(%s)", text)
                                         : scalar_round_text(w->g->a, w->dt, text);
}

/* acc = acc + a b, rounded once */
static const char *fma_text(const Window *w, const char *a, const char *b, const char *acc) {
  const char *f = w->dt == DT_F64 ? "__builtin_fma" : "__builtin_fmaf";
  return arena_printf(w->g->a, "%s(%s, %s, %s)", f, a, b, acc);
}

/* Skips the taps whose row is padding: `row` of the image for tap r of output row i2. */
static void image_row(Text *x, const WindowAxis *h, const char *rows) {
  text_open(x, "for (pos r = 0; r < %lld; r++) {", (long long)h->taps);
  text_line(x, "const pos row = i2 * %lld + r * %lld - %lld;", (long long)h->stride,
            (long long)h->dilation, (long long)h->lo);
  text_line(x, "if (row < 0 || row >= %s) continue;", rows);
}

/* Skips the taps that no output has on image row i2: `row` of the output, ascending. */
static void output_row(Text *x, const WindowAxis *h, const char *rows, bool ascending) {
  if (ascending)
    text_open(x, "for (pos r = %lld; r >= 0; r--) {", (long long)h->taps - 1);
  else
    text_open(x, "for (pos r = 0; r < %lld; r++) {", (long long)h->taps);
  text_line(x, "const pos from = i2 + %lld - r * %lld, row = from / %lld;", (long long)h->lo,
            (long long)h->dilation, (long long)h->stride);
  text_line(x, "if (from < 0 || row >= %s || row * %lld != from) continue;", rows,
            (long long)h->stride);
}

/* `at`: column of the image under tap s of output 0. Columns of the output [a, z) with that tap on
   the image, those outside the block at hand left out. */
static void outputs_of_tap(Text *x, const WindowAxis *w, const char *columns) {
  text_line(x, "const pos at = s * %lld - %lld;", (long long)w->dilation, (long long)w->lo);
  text_line(x, "pos a = at < 0 ? (-at + %lld) / %lld : 0;", (long long)w->stride - 1,
            (long long)w->stride);
  text_line(x, "pos z = at >= %s ? 0 : (%s - at) / %lld + 1;", columns, text_last(x->a, columns),
            (long long)w->stride);
}

/* The same for a block of the image's columns: outputs whose tap s is in it. */
static void outputs_into_block(Text *x, const WindowAxis *w, const char *columns) {
  text_line(x, "const pos at = s * %lld - %lld;", (long long)w->dilation, (long long)w->lo);
  text_line(x, "const pos a = j0 <= at ? 0 : (j0 - at + %lld) / %lld;", (long long)w->stride - 1,
            (long long)w->stride);
  text_line(x, "pos z = j0 + w <= at ? 0 : (j0 + w - 1 - at) / %lld + 1;", (long long)w->stride);
  text_line(x, "if (z > %s) z = %s;", columns, columns);
}

/* ---- convolutions: leave acc[0 … w) ---- */

static void conv(const Window *w, const ConvGeom *g) {
  Text *x = w->x;
  long long gin = g->gin, h = g->h.in, width = g->w.in, kh = g->h.taps, kw = g->w.taps;
  text_line(x, "const pos image = i0 * %lld + i1 / %lld * %lld;", (long long)g->cin,
            (long long)g->gout, gin);
  text_line(x, "for (int l = 0; l < w; l++) acc[l] = 0;");
  image_row(x, &g->h, run_of(w, g->x, 2));
  text_open(x, "for (pos s = 0; s < %lld; s++) {", kw);
  outputs_of_tap(x, &g->w, run_of(w, g->x, 3));
  text_line(x, "if (a < j0) a = j0;");
  text_line(x, "if (z > j0 + w) z = j0 + w;");
  text_open(x, "for (pos c = 0; c < %lld; c++) {", gin);
  text_line(x, "const %s k = %s;", w->T,
            load_filter(
                w, arena_printf(w->g->a, "((i1 * %lld + c) * %lld + r) * %lld + s", gin, kh, kw)));
  text_line(x, "const pos from = ((image + c) * %lld + row) * %lld + at;", h, width);
  apart(w);
  text_open(x, "for (pos j = a; j < z; j++) {");
  text_line(x, "const %s v = %s;", w->T,
            load(w, 0, arena_printf(w->g->a, "from + j * %lld", (long long)g->w.stride)));
  const char *to = sum_at(w, "j - j0");
  text_line(x, "%s = %s;", to, fma_text(w, "k", "v", to));
  for (int i = 0; i < 4; i++) text_close(x, "}");
}

static void conv_input_grad(const Window *w, const ConvGeom *g) {
  Text *x = w->x;
  long long gin = g->gin, gout = g->gout, kh = g->h.taps, kw = g->w.taps;
  text_line(x, "const pos o0 = i1 / %lld * %lld;", gin, gout);
  text_line(x, "for (int l = 0; l < w; l++) acc[l] = 0;");
  output_row(x, &g->h, run_of(w, g->y, 2), false);
  text_open(x, "for (pos s = 0; s < %lld; s++) {", kw);
  outputs_into_block(x, &g->w, run_of(w, g->y, 3));
  text_open(x, "for (pos o = o0; o < o0 + %lld; o++) {", gout);
  text_line(x, "const %s k = %s;", w->T,
            load_filter(w, arena_printf(w->g->a, "((o * %lld + i1 %% %lld) * %lld + r) * %lld + s",
                                        gin, gin, kh, kw)));
  text_line(x, "const pos base = ((i0 * %lld + o) * %lld + row) * %lld;", (long long)g->cout,
            (long long)g->h.out, (long long)g->w.out);
  apart(w);
  text_open(x, "for (pos j = a; j < z; j++) {");
  const char *to = sum_at(w, arena_printf(w->g->a, "j * %lld + at - j0", (long long)g->w.stride));
  text_line(x, "const %s v = %s;", w->T, load(w, 0, "base + j"));
  text_line(x, "%s = %s;", to, fma_text(w, "k", "v", to));
  for (int i = 0; i < 4; i++) text_close(x, "}");
}

/* i0 is the filter, i1 its channel, i2 its row; a column is a tap. The partial sum of
   the first chunk stays as it is, also a -0, unless an accumulator is added to. */
static void conv_filter_grad(const Window *w, const ConvGeom *g) {
  Text *x = w->x;
  text_line(x, "const pos channel = i0 / %lld * %lld + i1, r = i2;", (long long)g->gout,
            (long long)g->gin);
  text_open(x, "for (int l = 0; l < w; l++) {");
  text_line(x, "const pos s = j0 + l;");
  outputs_of_tap(x, &g->w, run_of(w, g->x, 3));
  text_line(x, "if (z > %s) z = %s;", run_of(w, g->y, 3), run_of(w, g->y, 3));
  bool goes_on = op_accumulator(w->op) >= 0;
  if (goes_on)
    text_line(x, "%s total = %s;", w->T,
              load(w, 2,
                   arena_printf(w->g->a, "((i0 * %lld + i1) * %lld + i2) * %lld + s",
                                (long long)g->gin, (long long)g->h.taps, (long long)g->w.taps)));
  else
    text_line(x, "%s total = 0;", w->T);
  window_chunks(w->g, w->gr->e, x, g, "0", window_chunk_count(w->g, w->gr->e, g));
  window_chunk_rows(w->g, w->gr->e, x, g);
  text_line(x, "%s part = 0;", w->T);
  text_open(x, "for (pos n = n0; n < n0 + images; n++) {");
  text_open(x, "for (pos i = y; i < y + rows; i++) {");
  text_line(x, "const pos to = ((n * %lld + i0) * %lld + i) * %lld;", (long long)g->cout,
            (long long)g->h.out, (long long)g->w.out);
  text_line(x, "const pos from = ((n * %lld + channel) * %lld + i * %lld + up) * %lld + at;",
            (long long)g->cin, (long long)g->h.in, (long long)g->h.stride, (long long)g->w.in);
  text_open(x, "for (pos j = a; j < z; j++) {");
  text_line(x, "const %s u = %s;", w->T, load(w, 0, "to + j"));
  text_line(x, "const %s v = %s;", w->T,
            load(w, 1, arena_printf(w->g->a, "from + j * %lld", (long long)g->w.stride)));
  text_line(x, "part = %s;", fma_text(w, "u", "v", "part"));
  for (int i = 0; i < 3; i++) text_close(x, "}");
  text_line(x, goes_on ? "total = total + part;" : "total = h ? total + part : part;");
  text_close(x, "}");
  text_line(x, "acc[l] = total;");
  text_close(x, "}");
}

/* ---- pools ---- */

static const char *image_index(const Window *w, const PoolGeom *g, const char *row,
                               const char *col) {
  return arena_printf(w->g->a, "((i0 * %lld + i1) * %lld + %s) * %lld + %s", (long long)g->c,
                      (long long)g->h.in, row, (long long)g->w.in, col);
}

static const char *pooled_index(const Window *w, const PoolGeom *g, const char *row,
                                const char *col) {
  return arena_printf(w->g->a, "((i0 * %lld + i1) * %lld + %s) * %lld + %s", (long long)g->c,
                      (long long)g->h.out, row, (long long)g->w.out, col);
}

/* Row by row of the window over the block's columns: opens the loops down to the column j, where v
   is the pixel. */
static void over_windows(const Window *w, const PoolGeom *g) {
  Text *x = w->x;
  image_row(x, &g->h, run_of(w, g->x, 2));
  text_open(x, "for (pos s = 0; s < %lld; s++) {", (long long)g->w.taps);
  outputs_of_tap(x, &g->w, run_of(w, g->x, 3));
  text_line(x, "if (a < j0) a = j0;");
  text_line(x, "if (z > j0 + w) z = j0 + w;");
  text_line(x, "const pos from = %s;", image_index(w, g, "row", "at"));
  apart(w);
  text_open(x, "for (pos j = a; j < z; j++) {");
  text_line(x, w->columns == 1 ? "const pos l = 0;" : "const pos l = j - j0;");
  text_line(x, "const %s v = %s;", w->T,
            load(w, 0, arena_printf(w->g->a, "from + j * %lld", (long long)g->w.stride)));
}

static void largest(const Window *w, const PoolGeom *g, bool index) {
  Text *x = w->x;
  const char *most = index ? "most[l]" : "acc[l]";
  if (index) text_line(x, "GC_LANES %s most[%d];", w->T, w->columns);
  text_line(x, "for (int l = 0; l < w; l++) %s = %s;", most,
            reduce_start(w->g, OP_REDUCE_MAX, w->dt, 1));
  if (index) text_line(x, "for (int l = 0; l < w; l++) acc[l] = -1;");
  over_windows(w, g);
  text_line(x, "const %s m = %s;", w->T, most);
  if (index) {
    text_line(x, "const int32_t old = acc[l], tap = (int32_t)(r * %lld + s);",
              (long long)g->w.taps);
    text_line(x, "const int better = old < 0 || (%s);",
              reduce_beats(w->g, OP_ARGMAX, w->dt, "v", "m"));
    text_line(x, "acc[l] = better ? tap : old;");
    text_line(x, "%s = better ? v : m;", most);
  } else {
    text_line(x, "%s = %s;", most, reduce_step(w->g, OP_REDUCE_MAX, "m", "v"));
  }
  for (int i = 0; i < 3; i++) text_close(x, "}");
}

static void take(const Window *w, const PoolGeom *g) {
  Text *x = w->x;
  text_open(x, "for (int l = 0; l < w; l++) {");
  text_line(x, "const pos j = j0 + l, tap = (pos)%s;", load(w, 1, pooled_index(w, g, "i2", "j")));
  text_line(x, "const pos r = tap / %lld, s = tap %% %lld;", (long long)g->w.taps,
            (long long)g->w.taps);
  text_line(x, "const pos row = i2 * %lld + r * %lld - %lld;", (long long)g->h.stride,
            (long long)g->h.dilation, (long long)g->h.lo);
  text_line(x, "const pos col = j * %lld + s * %lld - %lld;", (long long)g->w.stride,
            (long long)g->w.dilation, (long long)g->w.lo);
  text_line(x, "acc[l] = 0;");
  text_line(x,
            "if (tap < 0 || r >= %lld || row < 0 || row >= %s || col < 0 || col >= %s) continue;",
            (long long)g->h.taps, run_of(w, g->x, 2), run_of(w, g->x, 3));
  text_line(x, "acc[l] = %s;", load(w, 0, image_index(w, g, "row", "col")));
  text_close(x, "}");
}

/* The windows of the output row over the block, in order: each dy goes where its index says. */
static void max_pool_grad(const Window *w, const PoolGeom *g) {
  Text *x = w->x;
  long long reach = (g->w.taps - 1) * g->w.dilation, stride = g->w.stride;
  text_line(x, "for (int l = 0; l < w; l++) acc[l] = 0;");
  text_line(x, "const pos first = j0 + %lld, last = j0 + w - 1 + %lld;", (long long)g->w.lo - reach,
            (long long)g->w.lo);
  text_line(x, "const pos a = first <= 0 ? 0 : (first + %lld) / %lld;", stride - 1, stride);
  const char *columns = run_of(w, g->y, 3);
  text_line(x, "const pos z = last / %lld + 1 < %s ? last / %lld + 1 : %s;", stride, columns,
            stride, columns);
  output_row(x, &g->h, run_of(w, g->y, 2), true);
  text_line(x, "const pos base = %s;", pooled_index(w, g, "row", "0"));
  text_open(x, "for (pos j = a; j < z; j++) {");
  text_line(x, "const pos s = (pos)%s - r * %lld;", load(w, 1, "base + j"), (long long)g->w.taps);
  text_line(x, "const pos l = j * %lld + s * %lld - %lld - j0;", stride, (long long)g->w.dilation,
            (long long)g->w.lo);
  text_line(x, "if (s >= 0 && s < %lld && l >= 0 && l < w) %s += %s;", (long long)g->w.taps,
            sum_at(w, "l"), load(w, 0, "base + j"));
  text_close(x, "}");
  text_close(x, "}");
}

/* Every window counts as many places. */
static bool counts_all(const WindowAxis *a, int64_t lo, int64_t hi) {
  for (int64_t o = 0; o < a->out; o++)
    if (window_count(a, o, lo, hi) != a->taps) return false;
  return true;
}

static const char *count_helper(Gen *g) {
  gen_helper(g,
             "/* places of the window whose first tap is at `at`: those from lo to before hi */\n"
             "INL int64_t gc_count(int64_t at, int64_t taps, int64_t lo, int64_t hi) {\n"
             "  const int64_t a = at < lo ? lo - at : 0, z = hi - at < taps ? hi - at : taps;\n"
             "  return z - a;\n"
             "}\n");
  return "gc_count";
}

/* Text of what the window at (row, col) of the pooled image divides by. */
const char *window_count_text(const Window *w, const PoolGeom *g, const char *row,
                              const char *col) {
  const WindowAxis *axis[2] = {&g->h, &g->w};
  const char *at[2] = {row, col}, *n[2];
  for (int i = 0; i < 2; i++) {
    const WindowAxis *a = axis[i];
    int64_t lo = g->count[2 * i], hi = g->count[2 * i + 1];
    if (counts_all(a, lo, hi))
      n[i] = arena_printf(w->g->a, "%lldL", (long long)a->taps);
    else
      n[i] = arena_printf(w->g->a, "%s(%s * %lld - %lld, %lld, %lld, %lld)", count_helper(w->g),
                          at[i], (long long)a->stride, (long long)a->lo, (long long)a->taps,
                          (long long)-lo, (long long)(a->in + hi));
  }
  return arena_printf(w->g->a, "(%s)(%s * %s)", w->T, n[0], n[1]);
}

static void average(const Window *w, const PoolGeom *g) {
  Text *x = w->x;
  text_line(x, "for (int l = 0; l < w; l++) acc[l] = 0;");
  over_windows(w, g);
  text_line(x, "acc[l] += v;");
  for (int i = 0; i < 3; i++) text_close(x, "}");
  text_line(x, "for (int l = 0; l < w; l++) acc[l] = divide(acc[l], %s);",
            window_count_text(w, g, "i2", "(j0 + l)"));
}

static void average_grad(const Window *w, const PoolGeom *g) {
  Text *x = w->x;
  text_line(x, "for (int l = 0; l < w; l++) acc[l] = 0;");
  output_row(x, &g->h, run_of(w, g->y, 2), true);
  text_line(x, "const pos base = %s;", pooled_index(w, g, "row", "0"));
  text_open(x, "for (pos s = %lld; s >= 0; s--) {", (long long)g->w.taps - 1);
  outputs_into_block(x, &g->w, run_of(w, g->y, 3));
  apart(w);
  text_open(x, "for (pos j = a; j < z; j++) {");
  text_line(x, "const %s v = %s;", w->T, load(w, 0, "base + j"));
  text_line(x, "%s += divide(v, %s);",
            sum_at(w, arena_printf(w->g->a, "j * %lld + at - j0", (long long)g->w.stride)),
            window_count_text(w, g, "row", "j"));
  for (int i = 0; i < 3; i++) text_close(x, "}");
}

/* ---- any of them ---- */

void window_sums(const Window *w) {
  const Op *op = w->op;
  if (op->kind == OP_CONV || op->kind == OP_CONV_INPUT_GRAD || op->kind == OP_CONV_FILTER_GRAD) {
    ConvGeom g = conv_geom(w->gr->e, op);
    if (op->kind == OP_CONV) conv(w, &g);
    if (op->kind == OP_CONV_INPUT_GRAD) conv_input_grad(w, &g);
    if (op->kind == OP_CONV_FILTER_GRAD) conv_filter_grad(w, &g);
    return;
  }
  PoolGeom g = pool_geom(w->gr->e, op);
  switch ((int)op->kind) {
  case OP_MAX_POOL: largest(w, &g, false); break;
  case OP_MAX_POOL_INDEX: largest(w, &g, true); break;
  case OP_MAX_POOL_TAKE: take(w, &g); break;
  case OP_MAX_POOL_GRAD: max_pool_grad(w, &g); break;
  case OP_AVG_POOL: average(w, &g); break;
  default: average_grad(w, &g); break;
  }
}

Window window_new(Gen *g, const Group *gr, Text *x, int columns) {
  Window w = {.g = g, .gr = gr, .op = gr->root, .x = x, .columns = columns};
  w.dt = value_type(gr->e, w.op->operands[0])->dtype;
  w.T = dtype_compute(w.dt);
  for (int i = 0; i < w.op->noperands; i++) w.in[i] = group_arg(gr, w.op->operands[i]);
  bool index = w.op->kind == OP_MAX_POOL_INDEX;
  Dtype out = value_type(gr->e, w.op->results[0])->dtype;
  const char *sum = columns == 1 ? "acc[0]" : "acc[l]";
  w.sum = index ? arena_printf(g->a, "(%s)%s", dtype_compute(out), sum) : sum;
  if (columns) text_line(x, "GC_LANES %s acc[%d];", index ? "int32_t" : w.T, columns);
  return w;
}
