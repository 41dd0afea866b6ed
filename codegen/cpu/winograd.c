/* Prints Winograd's convolution of f32 images in NHWC with an element-wise epilogue, and the copy
   that transforms its filters; see schedule/winograd.c.
   Contract: transformed filters lie [panel][16][channel of the source][channel of the result].
   Each of the 16 positions sums its channels in one chain of fma, in order. Tiles that overhang
   the result compute what is not stored. The gradient by the images is the convolution by filters
   turned by 180 degrees, whose transforms are in the planes of the opposite rows and columns. */
#include "codegen/schedule/winograd.h"
#include "codegen/cpu/pixel.h"
#include "codegen/cpu/tile.h"
#include "codegen/program/extent.h"

typedef struct Winograd {
  Gen *g;
  const Group *gr;
  WinogradSchedule s;
  /* Of the result, and tiles over them: numbers, or extents. */
  const char *rows, *down, *columns, *across;
} Winograd;

static const char *num(Arena *a, int64_t n) { return arena_printf(a, "%lld", (long long)n); }

static const char *tiles_of_image(const Winograd *v) {
  if (text_is_number(v->down) && text_is_number(v->across))
    return num(v->g->a, v->s.down * v->s.across);
  return text_product(v->g->a, v->down, v->across);
}

/* Tiles over so many rows or columns: `n` at the bound. */
static const char *tiles_over(Arena *a, const char *places, int64_t n) {
  return text_is_number(places) ? num(a, n) : text_ceil_div(a, places, WINOGRAD_TILE);
}

/* ---- of bounded images ---- */

const Layout *cpu_winograd_direct(Gen *g, const Type *filter, const Layout *l) {
  const int64_t columns = filter->dim[layout_axis(l, 3)];
  return layout_get(g->ctx, l->order->at, 4,
                    g->target->filter_panel(g->target, filter->dtype, columns));
}

void cpu_winograd_if(Gen *g, Text *x, const Entry *e, const Type *filter, const Layout *l) {
  const bool back = l->order->at[2] == 0;
  const GcWinogradCost c =
      winograd_cost(filter->dim[!back], filter->dim[back], l->padding->at, back);
  text_line(
      x, "static const GcWinogradCost cost = {%lld, %lld, %lld, {%lld, %lld, %lld, %lld}, %d};",
      c.direct, c.tile, c.filters, c.padding[0], c.padding[1], c.padding[2], c.padding[3], c.back);
  text_open(x, "if (winograd_wins(&cost, %s, %s)) {", dims_text(g, e, l->image, 0, 1),
            dims_text(g, e, l->image, 1, 2));
}

/* Panels of a program whose layouts were chosen for longer or shorter vectors may not be whole. */
static void check_panels(const Gen *g, int nr) {
  const int lanes = machine_lanes(&cpu_target(g->target)->machine, 4);
  if (nr % lanes)
    gc_bug(g->ctx, "filters are transformed in panels of %d columns, for vectors of %d", nr, lanes);
}

/* Products of a block of tiles with panel q, `width` channels of the result. */
static void print_products(const Winograd *v, Text *x, int64_t width) {
  Tile t = winograd_tile(v->g->a, &v->s, width);
  text_open(x, "for (long r = 0; r < 4; r++) {");
  text_open(x, "for (long c = 0; c < 4; c++) {");
  text_line(x, "const f32 *a = source + (4 * r + c) * %lld;", (long long)v->s.source_plane);
  if (v->s.back)
    text_line(x, "const long plane = (r %% 3 ? r : 3 - r) * 4 + (c %% 3 ? c : 3 - c);");
  else
    text_line(x, "const long plane = 4 * r + c;");
  text_line(x, "const f32 *b = filter + (q * %d + plane) * %lld;", WINOGRAD_PLANES,
            (long long)(v->s.depth * v->s.nr));
  text_line(x, "f32 *to = result + (4 * r + c) * %lld;", (long long)v->s.result_plane);
  text_line(x, "for (long i = 0; i < count; i += %d)", v->s.tile_rows);
  text_line(x, "  %s(a + i * %lld, 0, 0, b, 0, 0, to + i * %d, %d, 1, 1%s);",
            tile_function(v->g, &t), (long long)v->s.pixel, v->s.nr, v->s.nr,
            tile_arguments(v->g, &t));
  text_close(x, "}");
  text_close(x, "}");
}

/* Transforms the products back, and finishes the pixels of each tile that are of the result. */
static void print_results(const Winograd *v, Text *x, int64_t width) {
  const WinogradSchedule *s = &v->s;
  text_open(x, "for (long i = 0; i < count; i++) {");
  text_line(x, "const long tile = first + i, n = tile / %s;", tiles_of_image(v));
  text_line(x, "const long down = tile / %s %% %s, across = tile %% %s;", v->across, v->down,
            v->across);
  text_line(x, "winograd_result(result + i * %d, %lld, %d, pixels);", s->nr,
            (long long)s->result_plane, s->nr);
  text_open(x, "for (long p = 0; p < 4; p++) {");
  text_line(x, "const long oy = 2 * down + p / 2, ox = 2 * across + p %% 2;");
  text_line(x, "if (oy >= %s || ox >= %s) continue;", v->rows, v->columns);
  text_line(x, "GC_BRANCH;");
  text_line(x, "const long flat = ((n * %lld + oy) * %lld + ox) * %lld + k0;", (long long)s->rows,
            (long long)s->columns, (long long)s->width);
  text_line(x, "const f32 *acc = pixels + p * %d;", s->nr);
  if (s->epilogue) {
    text_open(x, "GC_IVDEP for (long j = 0; j < %lld; j++) {", (long long)width);
    EpilogueSite site = {.shape = v->gr->domain,
                         .coord = (const char *[]){"n", "(k0 + j)", "oy", "ox"},
                         .flat = "(flat + j)",
                         .layout = pixel_layout(v->g->ctx),
                         .have = v->gr->root->results[0],
                         .have_text = "acc[j]"};
    epilogue_body(v->g, x, v->gr, &site);
    text_close(x, "}");
  } else {
    text_line(x, "memcpy((f32 *)out0 + flat, acc, %lld * sizeof *acc);", (long long)width);
  }
  text_close(x, "}");
  text_close(x, "}");
}

static void print_panel(const Winograd *v, Text *x, int64_t width) {
  print_products(v, x, width);
  print_results(v, x, width);
}

/* The image, the filter, and what a thread has of its own. */
static void print_operands(const Winograd *v, Kernel *k) {
  const WinogradSchedule *s = &v->s;
  const Op *op = v->gr->root;
  Gen *g = v->g;
  Text *x = &k->text;
  text_line(x, "const f32 *image = in%d, *filter = in%d;", group_arg(v->gr, op->operands[0]),
            group_arg(v->gr, op->operands[1]));
  kernel_buffer(g, k, x, "f32", 4, "source", WINOGRAD_PLANES * s->source_plane);
  kernel_buffer(g, k, x, "f32", 4, "result", WINOGRAD_PLANES * s->result_plane);
  kernel_buffer(g, k, x, "f32", 4, "pixels", 4 * (int64_t)s->nr);
  kernel_buffer(g, k, x, "f32", 4, "zeros", s->pixel);
  text_line(x, "memset(zeros, 0, %lld);", (long long)s->pixel * 4);
}

/* The unit's tiles, transformed unless the unit before had the same. */
static void print_source(const Winograd *v, Text *x, const char *images) {
  const WinogradSchedule *s = &v->s;
  text_line(x, "const long q = u %% %lld, k0 = q * %d, first = u / %lld * %lld;", (long long)s->np,
            s->nr, (long long)s->np, (long long)s->block);
  text_line(x, "const long count = tiles - first < %lld ? tiles - first : %lld;",
            (long long)s->block, (long long)s->block);
  text_open(x, "if (first != have) {");
  text_line(x, "have = first;");
  text_line(x, "winograd_source(&shape, image, %s, first, (count + %d) / %d * %d, zeros, source);",
            images, s->tile_rows - 1, s->tile_rows, s->tile_rows);
  text_close(x, "}");
}

/* The last panel may be narrower than the others. */
static void print_panels(const Winograd *v, Text *x) {
  const WinogradSchedule *s = &v->s;
  const int64_t tail = s->width - (s->np - 1) * s->nr;
  if (tail == s->nr || s->np == 1) {
    print_panel(v, x, tail);
    return;
  }
  text_open(x, "if (q < %lld) {", (long long)s->np - 1);
  print_panel(v, x, s->nr);
  x->indent--;
  text_open(x, "} else {");
  print_panel(v, x, tail);
  text_close(x, "}");
}

static Winograd winograd_of(Gen *g, const Group *gr, const ConvGeom *c) {
  const Op *op = gr->root;
  const VectorMachine *machine = &cpu_target(g->target)->machine;
  const int nr = value_at(gr->e, gr->in[group_arg(gr, op->operands[1])])->layout->nr;
  Winograd v = {.g = g, .gr = gr};
  check_panels(g, nr);
  v.s = winograd_schedule(machine, c, op->kind == OP_CONV_INPUT_GRAD, nr, gr->nops > 1);
  v.rows = dims_text(g, gr->e, v.s.back ? c->x : c->y, 2, 3);
  v.columns = dims_text(g, gr->e, v.s.back ? c->x : c->y, 3, 4);
  v.down = tiles_over(g->a, v.rows, v.s.down);
  v.across = tiles_over(g->a, v.columns, v.s.across);
  return v;
}

static void winograd_text(Gen *g, Kernel *k, const Group *gr) {
  const ConvGeom c = conv_geom(gr->e, gr->root);
  const Winograd v = winograd_of(g, gr, &c);
  const WinogradSchedule *s = &v.s;
  Arena *a = g->a;
  Text *x = &k->text;
  k->flops = s->flops;
  kernel_schedule(k, &winograd_kind, s, sizeof *s);
  const char *images = dims_text(g, gr->e, gr->domain, 0, 1);
  const char *tiles = text_product(a, images, tiles_of_image(&v));
  const bool bounded =
      type_extent(gr->domain, 0) || !text_is_number(v.rows) || !text_is_number(v.columns);
  const Type *from = s->back ? c.y : c.x;
  const char *blocks = bounded ? text_ceil_div(a, tiles, (int)s->block) : num(a, s->blocks);
  const char *units = text_product(a, blocks, num(a, s->np));
  kernel_units_of(k, s->units, !bounded ? "1" : units);
  print_operands(&v, k);
  text_line(x,
            "const GcWinograd shape = {%s, %s, %lld, %lld, %lld, %lld, %lld, %s, %s, %lld, %lld};",
            dims_text(g, gr->e, from, 2, 3), dims_text(g, gr->e, from, 3, 4), (long long)s->depth,
            (long long)s->in_rows, (long long)s->in_columns, (long long)s->row_padding,
            (long long)s->column_padding, v.down, v.across, (long long)s->pixel,
            (long long)s->source_plane);
  text_line(x, "const long tiles = %s;", tiles);
  text_line(x, "long have = -1; /* the block in `source` */");
  if (k->units > 1)
    text_open(x, "for (long u = u0; u < u1; u++) {");
  else
    text_open(x, "for (long u = 0; u < %s; u++) {", units);
  print_source(&v, x, images);
  print_panels(&v, x);
  text_close(x, "}");
}

void cpu_winograd(Gen *g, const Group *gr) {
  const ValueId filter = gr->root->operands[1];
  const Layout *l = value_at(gr->e, gr->in[group_arg(gr, filter)])->layout;
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  if (!l->image) {
    winograd_text(g, k, gr);
    return;
  }
  const Type *t = value_type(gr->e, filter);
  cpu_winograd_if(g, &k->text, gr->e, t, l);
  winograd_text(g, k, gr);
  const ScheduleKind *kind = k->schedule_kind;
  const void *schedule = k->schedule;
  const int64_t units = k->units;
  const uint64_t work = k->work;
  k->work = 0; /* one or the other */
  k->text.indent--;
  text_open(&k->text, "} else {");
  const Layout *direct = cpu_winograd_direct(g, t, l);
  cpu_conv_text(g, k, gr, direct ? direct->nr : 0);
  text_close(&k->text, "}");
  k->schedule_kind = kind;
  k->schedule = schedule;
  if (units > k->units) k->units = units;
  if (work > k->work) k->work = work;
}

/* ---- filters ---- */

/* Elements from one to the next along an axis of filters as they are stored: all but that of the
   panels have one distance. */
typedef struct FilterSide {
  int64_t stride[4], panel; /* panel: from one to the next, or 0 */
  int64_t nr;               /* of a panel; without panels, all */
  int axis;                 /* of the panels */
} FilterSide;

static FilterSide filter_side(const Type *t, const Layout *l) {
  FilterSide s = {.axis = layout_axis(l, 3)};
  s.panel = layout_strides(t, l, s.stride);
  s.nr = s.panel ? l->nr : t->dim[s.axis];
  return s;
}

/* A unit is a panel of the result by a panel of the source, or by some of its rows. What lies
   across the panels is brought into their order first. */
void cpu_winograd_filters(Gen *g, Kernel *k, const Type *t, const Layout *from, const Layout *to) {
  enum { ROWS = 16 };
  check_panels(g, to->nr);
  FilterSide x = filter_side(t, from), y = filter_side(t, to);
  const int column = y.axis, row = column == 0 ? 1 : 0;
  const int64_t panels = ceil_div(t->dim[column], y.nr), tap = x.stride[3];
  const bool along = x.stride[column] == 1 && (!x.panel || x.axis == column);
  if (x.stride[2] != 3 * tap || (x.panel && x.axis == column && x.nr != y.nr))
    gc_bug(g->ctx, "filters lie in an order that has no transform");
  const int64_t rows = x.panel && x.axis == row ? x.nr : t->dim[row] < ROWS ? t->dim[row] : ROWS;
  const int64_t parts = ceil_div(t->dim[row], rows);
  const int64_t row_step = x.panel && x.axis == row ? x.panel : rows * x.stride[row];
  const int64_t column_step = x.panel && x.axis == column ? x.panel : y.nr * x.stride[column];
  Text *text = &k->text;
  kernel_units(k, t->numel < SERIAL_WORK ? 1 : panels * parts);
  if (!along) kernel_buffer(g, k, text, "f32", 4, "turned", 9 * rows * y.nr);
  if (k->units > 1)
    text_open(text, "for (long u = u0; u < u1; u++) {");
  else
    text_open(text, "for (long u = 0; u < %lld; u++) {", (long long)(panels * parts));
  text_line(text, "const long q = u / %lld, part = u %% %lld;", (long long)parts, (long long)parts);
  text_line(text, "const long w = %lld - q * %lld < %lld ? %lld - q * %lld : %lld;",
            (long long)t->dim[column], (long long)y.nr, (long long)y.nr, (long long)t->dim[column],
            (long long)y.nr, (long long)y.nr);
  text_line(text, "const long rows = %lld - part * %lld < %lld ? %lld - part * %lld : %lld;",
            (long long)t->dim[row], (long long)rows, (long long)rows, (long long)t->dim[row],
            (long long)rows, (long long)rows);
  text_line(text, "const f32 *from = in0 + q * %lld + part * %lld;", (long long)column_step,
            (long long)row_step);
  text_line(text, "f32 *to = (f32 *)out0 + q * %lld + part * %lld;", (long long)y.panel,
            (long long)(rows * y.nr));
  const char *filter = "from";
  int64_t filter_tap = tap, filter_row = x.stride[row];
  if (!along) {
    filter = "turned";
    filter_tap = rows * y.nr;
    filter_row = y.nr;
    if (x.stride[row] == 1) {
      gen_helper(g, intern_printf(g->ctx, "GC_PACK(f32)\n"));
      text_line(text, "for (long i = 0; i < 9; i++)");
      text_line(text, "  pack_t_f32(from + i * %lld, %lld, turned + i * %lld, %lld, rows, w);",
                (long long)tap, (long long)x.stride[column], (long long)filter_tap,
                (long long)y.nr);
    } else {
      text_line(text, "for (long d = 0; d < rows; d++)");
      text_line(text, "  for (long j = 0; j < w; j++)");
      text_line(text, "    for (long i = 0; i < 9; i++)");
      text_line(text,
                "      turned[i * %lld + d * %lld + j] = from[d * %lld + j * %lld + i * %lld];",
                (long long)filter_tap, (long long)y.nr, (long long)x.stride[row],
                (long long)x.stride[column], (long long)tap);
    }
  }
  text_line(text, "winograd_filter(%s, %lld, %lld, rows, w, %lld, to, %lld, %lld);", filter,
            (long long)filter_tap, (long long)filter_row, (long long)y.nr, (long long)y.nr,
            (long long)(t->dim[row] * y.nr));
  text_close(text, "}");
}
