/* Prints convolutions of f32 or bf16 images in NHWC, and their gradients with respect to the
   images, as direct convolution without im2col, with an element-wise epilogue. A register tile of
   the result is some pixels of one image row by a panel of channels. Its operands for one filter
   row are contiguous, so the tile's loop over filter rows, columns and channels is the depth loop
   of a product. Contract: filters lie in panels of the result's channels (passes/layout/images.c).
   Every element is one chain of fma in the order of the filter's rows, columns and channels,
   without the padding, as in print/window.c. Rows are clipped; at an image's sides each filter
   column has a loop of its own over the pixels that it reaches. If image rows are short, a tile is
   one pixel of several images, of which every filter column reaches all or none; of a bounded batch
   the images behind the last whole tile are done row by row. With a stride, the
   gradient's columns fall into as many phases, each with its own filter columns. */
#include "codegen/cpu/conv.h"
#include "codegen/cpu/pixel.h"
#include "codegen/program/extent.h"

/* ---- rows ---- */

/* Filter rows that reach row `oy` of the result: `taps` of them from r0 on, and the source's row
   under the first. */
static void print_taps(const Conv *v, Text *x, int64_t *a_step, int64_t *b_step) {
  const WindowAxis *h = &v->s.c.h;
  int64_t row = v->s.in_columns * v->s.from_channels, filter_row = v->s.c.w.taps * v->s.tap;
  if (!v->s.back) {
    Arena *a = v->g->a;
    long long dilation = h->dilation;
    text_line(x, "const long at = %s;",
              h->lo ? arena_printf(a, "%s - %lld", text_times(a, "oy", h->stride), (long long)h->lo)
                    : text_times(a, "oy", h->stride));
    text_line(x, "const long r0 = at < 0 ? %s : 0;",
              dilation > 1 ? arena_printf(a, "(-at + %lld) / %lld", dilation - 1, dilation)
                           : "-at");
    text_line(x, "long r1 = at >= %s ? 0 : %s;", v->source,
              dilation > 1
                  ? arena_printf(a, "(%s - at) / %lld + 1", text_last(a, v->source), dilation)
                  : arena_printf(a, "%s - at", v->source));
    text_line(x, "if (r1 > %lld) r1 = %lld;", (long long)h->taps, (long long)h->taps);
    text_line(x, "const long taps = r1 > r0 ? r1 - r0 : 0, row = at + %s;",
              text_times(a, "r0", dilation));
    *a_step = h->dilation * row;
    *b_step = filter_row;
    return;
  }
  int64_t common = gcd(h->stride, h->dilation), step = h->stride / common;
  text_line(x, "const long at = oy + %lld;", (long long)h->lo);
  text_line(x, "long r0 = 0, taps = 0;");
  text_line(
      x,
      "while (r0 < %lld && at >= r0 * %lld && ((at - r0 * %lld) %% %lld || (at - r0 * %lld) / "
      "%lld >= %s)) r0++;",
      (long long)h->taps, (long long)h->dilation, (long long)h->dilation, (long long)h->stride,
      (long long)h->dilation, (long long)h->stride, v->source);
  text_line(x, "for (long r = r0; r < %lld && at >= r * %lld; r += %lld) taps++;",
            (long long)h->taps, (long long)h->dilation, (long long)step);
  text_line(x, "const long row = (at - r0 * %lld) / %lld;", (long long)h->dilation,
            (long long)h->stride);
  *a_step = -(h->dilation / common) * row;
  *b_step = step * filter_row;
}

/* Where the tiles of row oy of image `n` read and write. */
static void print_places(const Conv *v, Text *x, const char *n) {
  text_line(x, "const %s *a = image + %s;", v->s.pairs ? "uint16_t" : "f32",
            text_plus(v->g->a,
                      arena_printf(v->g->a, "(%s * %lld + row) * %lld", n, (long long)v->s.in_rows,
                                   (long long)(v->s.in_columns * v->s.from_channels)),
                      v->s.own ? text_times(v->g->a, v->panel, v->s.nr)
                               : text_times(v->g->a, v->group, v->s.depth)));
  if (v->s.epilogue && (v->s.whole || v->s.blocks))
    text_line(x, "f32 *out = tile;");
  else if (!v->s.epilogue)
    text_line(x, "f32 *out = (f32 *)out0 + (%s * %lld + oy) * %lld + k0;", n, (long long)v->s.rows,
              (long long)(v->s.columns * v->s.to_channels));
}

/* One row of the result, `u`, or of a block of images, for panel q of group g. */
static void print_row(const Conv *v, Text *x, int64_t width) {
  int64_t a_step, b_step;
  const char *step[2];
  const char *block = v->s.low ? arena_printf(v->g->a, " * %lld - (u / %s < %lld ? u / %s : %lld)",
                                              (long long)v->s.images, v->rows, (long long)v->s.low,
                                              v->rows, (long long)v->s.low)
                      : v->s.blocks ? arena_printf(v->g->a, " * %lld", (long long)v->s.images)
                                    : "";
  text_line(x, "const long n0 = u / %s%s, oy = u %% %s, k0 = %s;", v->rows, block, v->rows,
            text_plus(v->g->a, text_times(v->g->a, v->group, v->s.width),
                      text_times(v->g->a, v->panel, v->s.nr)));
  print_taps(v, x, &a_step, &b_step);
  step[0] = arena_printf(v->g->a, "%lldL", (long long)a_step);
  step[1] = arena_printf(v->g->a, "%lldL", (long long)b_step);
  print_places(v, x, "n0");
  int64_t group = v->s.c.groups == 1 ? 0 : v->s.back ? v->s.depth * v->s.lb : v->s.width;
  const char *panel = text_plus(v->g->a, text_times(v->g->a, v->group, group),
                                text_times(v->g->a, v->panel, v->s.panel));
  text_line(x, "const %s *b = filter + %s;", v->s.pairs ? "uint16_t" : "f32",
            text_plus(v->g->a, panel, text_times(v->g->a, "r0", v->s.c.w.taps * v->s.tap)));
  if (!v->s.blocks) {
    if (v->s.epilogue) text_line(x, "const long n = n0;");
    conv_row(v, x, 0, width, step);
    return;
  }
  if (v->s.low) {
    const char *low = arena_printf(v->g->a, "%lld", (long long)v->s.low);
    if (text_is_number(v->rows))
      text_open(x, "if (u < %lld) {", (long long)(v->s.low * v->s.rows));
    else
      text_open(x, "if (u < %s) {", text_product(v->g->a, v->rows, low));
    conv_row(v, x, (int)v->s.images - 1, width, step);
    x->indent--;
    text_open(x, "} else {");
  } else if (v->bounded) {
    text_open(x, "if (n0 + %lld > %s) {", (long long)v->s.images, v->images);
    text_open(x, "for (long n = n0; n < %s; n++) {", v->images);
    print_places(v, x, "n");
    conv_row(v, x, 0, width, step);
    text_close(x, "}");
    x->indent--;
    text_open(x, "} else {");
  } else {
    text_open(x, "{");
  }
  conv_row(v, x, (int)v->s.images, width, step);
  text_close(x, "}");
}

static void print_panel(const Conv *v, Text *x) {
  int64_t tail = v->s.width - (v->s.np - 1) * v->s.nr;
  if (v->s.together > 1 || tail == v->s.nr || v->s.np == 1) {
    print_row(v, x, v->s.np == 1 ? v->s.width : v->s.nr);
    return;
  }
  text_open(x, "if (q < %lld) {", (long long)v->s.np - 1);
  print_row(v, x, v->s.nr);
  x->indent--;
  text_open(x, "} else {");
  print_row(v, x, tail);
  text_close(x, "}");
}

static Conv conv_of(Gen *g, const Group *gr, int panel) {
  const Op *op = gr->root;
  ConvShape shape = {.c = conv_geom(gr->e, op),
                     .back = op->kind == OP_CONV_INPUT_GRAD,
                     .panel = panel,
                     .epilogue = gr->nops > 1,
                     .pairs = dtype_is_half(value_type(gr->e, op->operands[0])->dtype)};
  const VectorMachine *machine = &cpu_target(g->target)->machine;
  Conv v = {
      .g = g, .gr = gr, .op = op, .machine = machine, .s = conv_schedule(g->a, machine, &shape)};
  v.group = v.s.c.groups > 1 ? "g" : "0";
  v.panel = v.s.np > 1 ? "q" : "0";
  v.bounded = type_extent(gr->domain, 0) != NULL;
  v.images = dims_text(g, gr->e, gr->domain, 0, 1);
  v.rows = dims_text(g, gr->e, v.s.back ? v.s.c.x : v.s.c.y, 2, 3);
  v.columns = dims_text(g, gr->e, gr->domain, 3, 4);
  if (type_extent(gr->domain, 3)) v.windows = dims_text(g, gr->e, v.s.c.y, 3, 4);
  v.source = dims_text(g, gr->e, v.s.back ? v.s.c.y : v.s.c.x, 2, 3);
  return v;
}

/* Which panels from q on a tile goes over at once: `full` ones, and the narrow last one if `many`
   is more; and how many channels they have. */
static void print_together(const Conv *v, Text *x, const char *end) {
  const long long together = v->s.together, np = v->s.np, nr = v->s.nr, lack = np * nr - v->s.width;
  text_line(x, "const long many = %s - q < %lld ? %s - q : %lld;", end, together, end, together);
  if (!lack) {
    text_line(x, "const long full = many, wide = many * %lld;", nr);
    return;
  }
  text_line(x, "const long full = q + many < %lld ? many : many - 1;", np);
  text_line(x, "const long wide = many * %lld - (full < many ? %lld : 0);", nr, lack);
}

void cpu_conv(Gen *g, const Group *gr) {
  const Value *filter = value_at(gr->e, gr->in[group_arg(gr, gr->root->operands[1])]);
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  cpu_conv_text(g, k, gr, filter->layout ? filter->layout->nr : 0);
}

typedef struct ConvUnits { /* how a launch is cut into units, as texts */
  const char *row_count, *panels, *all;
  bool by_run; /* the run decides how many there are */
  bool parts;  /* a unit is a row and a panel */
} ConvUnits;

static ConvUnits conv_units(const Conv *v, Kernel *k) {
  Arena *a = v->g->a;
  ConvUnits n = {.row_count = arena_printf(a, "%lld", (long long)v->s.row_count),
                 .by_run = v->bounded || !text_is_number(v->rows)};
  if (n.by_run) {
    const char *blocks = arena_printf(a, "%lld", (long long)(v->s.blocks ? v->s.blocks : v->s.n));
    if (v->bounded) blocks = text_ceil_div(a, v->images, v->s.blocks ? v->s.images : 1);
    n.row_count = text_product(a, blocks, v->rows);
  }
  n.panels = arena_printf(a, "%lld", (long long)(v->s.np * v->s.c.groups));
  n.all = text_product(a, n.row_count, n.panels);
  kernel_units_of(k, v->s.units, !n.by_run ? "1" : v->s.by_panels ? n.all : n.row_count);
  n.parts = v->s.by_rows && v->s.by_panels && k->units > 1;
  return n;
}

/* Blocks of rows, each over all panels or those of its part. */
static void open_row_blocks(const Conv *v, Text *x, const ConvUnits *n, bool units) {
  const char *first = n->parts ? "part.row0" : units ? "u0" : "0";
  const char *last = n->parts ? "part.row1" : units ? "u1" : n->row_count;
  const long long block = v->s.row_block, np = v->s.np, together = v->s.together;
  text_open(x, "for (long w0 = %s, w1; w0 < %s; w0 = w1) {", first, last);
  text_line(x, "w1 = w0 + %lld < %s ? w0 + %lld : %s;", block, last, block, last);
  if (v->s.c.groups > 1)
    text_open(x, "for (long g = 0; g < %lld; g++) {", (long long)v->s.c.groups);
  if (n->parts)
    text_open(x, "for (long q = part.column0; q < part.column1; q += %lld) {", together);
  else if (np > 1)
    text_open(x, "for (long q = 0; q < %lld; q += %lld) {", np, together);
  if (together > 1)
    print_together(v, x, n->parts ? "part.column1" : arena_printf(v->g->a, "%lld", np));
  text_open(x, "for (long u = w0; u < w1; u++) {");
}

/* One panel of one row after the other. */
static void open_panels(const Conv *v, Text *x, const ConvUnits *n, bool units) {
  const long long all = (long long)(v->s.row_count * v->s.np * v->s.c.groups);
  text_open(x, "for (long w = %s; w < %s; w++) {", units ? "u0" : "0",
            units       ? "u1"
            : n->by_run ? n->all
                        : arena_printf(v->g->a, "%lld", all));
  text_line(x, "const long u = w %% %s, p = w / %s;", n->row_count, n->row_count);
  if (v->s.c.groups > 1) text_line(x, "const long g = p / %lld;", (long long)v->s.np);
  if (v->s.np > 1) text_line(x, "const long q = p %% %lld;", (long long)v->s.np);
}

void cpu_conv_text(Gen *g, Kernel *k, const Group *gr, int panel) {
  const Conv v = conv_of(g, gr, panel);
  Text *x = &k->text;
  k->flops = v.s.flops;
  kernel_schedule(k, &conv_kind, &v.s, sizeof v.s);
  const ConvUnits n = conv_units(&v, k);
  const bool units = k->units > 1;
  if (units && v.s.by_rows && !v.s.blocks && text_is_number(v.rows) && !v.windows) {
    cpu_split_full(k, gr, pixel_layout(g->ctx), 1, 0, gr->domain->numel);
    for (int i = 0; n.parts && i < k->nargs; i++)
      if (k->args[i].access.rows) k->args[i].access.parts = v.s.row_count;
  }
  text_line(x, "const %s *image = in%d, *filter = in%d;", v.s.pairs ? "uint16_t" : "f32",
            group_arg(gr, v.op->operands[0]), group_arg(gr, v.op->operands[1]));
  if (v.s.epilogue) kernel_buffer(g, k, x, "f32", 4, "tile", v.s.buffer * v.s.nr);
  if (v.windows) text_line(x, "const long less = %lld - %s;", (long long)v.s.c.w.out, v.windows);
  const int outside = x->indent;
  if (n.parts) { /* whole rows, or some panels of one */
    text_open(x, "for (long w = u0, next; w < u1; w = next) {");
    text_line(x, "const GcRectangle part = rectangle_at(w, u1, %s, %s);", n.row_count, n.panels);
    text_line(x, "next = w + (part.row1 - part.row0) * (part.column1 - part.column0);");
  }
  if (v.s.by_rows)
    open_row_blocks(&v, x, &n, units);
  else
    open_panels(&v, x, &n, units);
  print_panel(&v, x);
  while (x->indent > outside) text_close(x, "}");
}
