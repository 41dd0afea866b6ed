/* Prints convolutions of bf16 images in NHWC, and their gradients with respect to the images, in
   tile registers (text/amx.h), with an element-wise epilogue; see schedule/amx_conv.h. Contract:
   filters lie as in conv.c. An element is one sum: of filter rows, in these columns, in these
   groups of 32 channels, whose order within is the instruction's. A tap in the padding multiplies
   zeros. So its bits depend neither on blocks nor on threads, nor on the bounds of extents. */
#include "codegen/cpu/amx_conv.h"
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/epilogue.h"
#include "codegen/cpu/pixel.h"
#include "codegen/cpu/target.h"
#include "codegen/program/extent.h"

typedef struct AmxConv {
  Gen *g;
  const Group *gr;
  AmxConvSchedule s;
  const char *images, *rows, *columns; /* of the result: numbers, or extents */
  const char *source_rows, *source_columns;
  const char *blocks; /* a factor */
} AmxConv;

enum { WORDS = AMX_DEPTH / 2 /* of a position, of each 32 channels */ };

static const char *num(Arena *a, int64_t n) { return arena_printf(a, "%lld", (long long)n); }

/* Words of a panel's filters for one tap. */
static int64_t words_of_tap(const AmxConv *v) { return v->s.chunks * WORDS * v->s.nr; }

/* ---- what the whole kernel uses ---- */

void amx_print_pitch(Gen *g, Text *x, const char *name, const AmxAxis *axis, const char *result,
                     const char *source) {
  if (text_is_number(result) && text_is_number(source)) {
    text_line(x, "const long %s = %lld;", name, (long long)amx_axis_pitch(axis));
    return;
  }
  text_line(x, "const long %s_of_result = %s + %lld, %s_of_source = %s + %lld;", name,
            text_ceil_div(g->a, result, axis->step), (long long)axis->behind, name,
            text_ceil_div(g->a, source, axis->over), (long long)axis->before);
  text_line(x, "const long %s = %s_of_result > %s_of_source ? %s_of_result : %s_of_source;", name,
            name, name, name, name);
}

void amx_print_firsts(Text *x, const char *name, const AmxAxis *axis) {
  text_add(x, "%*sconst long %s[] = {", 2 * x->indent, "", name);
  for (int p = 0; p < axis->nplanes; p++)
    text_add(x, "%s%lld", p ? ", " : "", (long long)axis->plane[p]);
  text_add(x, "};\n");
}

static void print_shape(const AmxConv *v, Text *x) {
  const ConvSchedule *c = &v->s.conv;
  const AmxAxis *h = &v->s.h, *w = &v->s.w;
  const int64_t row = c->in_columns * c->from_channels, planes = (int64_t)h->nplanes * w->nplanes;
  if (amx_conv_cuts_rows(&v->s))
    text_line(x, "const long pitch = %lld;", (long long)amx_conv_pitch(&v->s));
  else
    amx_print_pitch(v->g, x, "pitch", w, v->columns, v->source_columns);
  amx_print_pitch(v->g, x, "of_image", h, v->rows, v->source_rows);
  amx_print_firsts(x, "first_rows", h);
  amx_print_firsts(x, "first_columns", w);
  text_line(x, "enum { plane = %lld, chunk = %lld };", (long long)(v->s.plane * WORDS),
            (long long)(planes * v->s.plane * WORDS));
  text_line(x,
            "const GcImages shape = {%s, %s, %lld, %lld, %lld, %lld, {%lld, %lld}, {%d, %d}, "
            "{first_rows, first_columns}, %lld, pitch, plane, chunk};",
            v->source_rows, v->source_columns, (long long)(c->in_rows * row), (long long)row,
            (long long)c->from_channels, (long long)v->s.depth, (long long)h->over,
            (long long)w->over, h->nplanes, w->nplanes,
            amx_conv_cuts_rows(&v->s) ? 0 : (long long)w->before);
}

/* Taps of a phase along one axis, `plane` words from plane to plane, `pitch` from place to place,
   and `filter` words from tap to tap of the filters. */
static void print_taps(Text *x, const char *name, const AmxPhase *f, const char *plane,
                       const char *pitch, int64_t filter) {
  text_add(x, "%*sconst GcTap %s[] = {", 2 * x->indent, "", name);
  for (int t = 0; t < f->ntaps; t++)
    text_add(x, "%s{%lld * %s + %lld * %s, %lld}", t ? ", " : "", (long long)f->tap[t].plane, plane,
             (long long)f->tap[t].shift, pitch, (long long)(f->tap[t].index * filter));
  text_add(x, "%s};\n", f->ntaps ? "" : "{0}");
}

static void print_all_taps(const AmxConv *v, Text *x) {
  Arena *a = v->g->a;
  const int64_t tap = words_of_tap(v);
  for (int p = 0; p < v->s.h.nphases; p++)
    print_taps(x, arena_printf(a, "rows%d", p), &v->s.h.phase[p],
               arena_printf(a, "%dL * plane", v->s.w.nplanes), arena_printf(a, "pitch * %d", WORDS),
               v->s.conv.c.w.taps * tap);
  for (int p = 0; p < v->s.w.nphases; p++)
    print_taps(x, arena_printf(a, "columns%d", p), &v->s.w.phase[p], "(long)plane", num(a, WORDS),
               tap);
}

/* ---- a unit ---- */

/* Packs the filters of panels q0 to q1 of group g. */
static void print_filters(const AmxConv *v, Text *x) {
  const ConvSchedule *c = &v->s.conv;
  const int64_t group = c->c.groups == 1 ? 0 : v->s.back ? c->depth * c->lb : c->width;
  const long long nr = v->s.nr, width = v->s.width, taps = c->c.h.taps * c->c.w.taps;
  Arena *a = v->g->a;
  text_open(x, "if (part != packed_part) {");
  text_line(x, "packed_part = part;");
  text_open(x, "for (long q = q0; q < q1; q++) {");
  text_line(x, "const long w = %lld - q * %lld < %lld ? %lld - q * %lld : %lld;", width, nr, nr,
            width, nr, nr);
  text_open(x, "for (long tap = 0; tap < %lld; tap++) {", taps);
  text_line(x, "i32 *to = packed + ((q - q0) * %lld + tap) * %lld;", taps,
            (long long)words_of_tap(v));
  text_line(x, "pairs_pack(filter + %s + tap * %lld, %lld, to, %lld, %lld, w);",
            text_plus(a, text_times(a, "g", group), text_times(a, "q", c->panel)),
            (long long)c->tap, (long long)c->lb, nr, (long long)v->s.depth);
  text_line(x, "amx_fill(to, %lld, %lld);", nr, (long long)v->s.depth);
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
}

/* Copies the block's images, if another block's are there. */
static void print_images(const AmxConv *v, Text *x) {
  const ConvSchedule *c = &v->s.conv;
  const AmxAxis *h = &v->s.h;
  text_open(x, "if (g * %s + block != copied) {", v->blocks);
  text_line(x, "copied = g * %s + block;", v->blocks);
  text_line(
      x,
      "amx_images(&shape, image + n0 * shape.image + g * %lld, of_image, %lld, y0, %s, %lld + "
      "(images - 1) * of_image + lines, source);",
      (long long)c->depth, (long long)h->before,
      amx_conv_cuts_rows(&v->s) ? text_minus(v->g->a, "x0", num(v->g->a, v->s.w.before)) : "0",
      (long long)(h->before + h->behind));
  text_close(x, "}");
}

/* The block's images from n0 on, and its lines and columns of positions from y0 and x0 on. */
static void print_block(const AmxConv *v, Text *x) {
  Arena *a = v->g->a;
  const long long images = v->s.images, lines = v->s.lines;
  const char *down = text_ceil_div(a, v->rows, v->s.h.step);
  const char *place = "block";
  if (amx_conv_cuts_rows(&v->s)) {
    const char *of_row = text_ceil_div(a, v->columns, v->s.w.step * v->s.across);
    text_line(x, "const long place = block / %s, x0 = block %% %s * %lld;", of_row, of_row,
              (long long)v->s.across);
    place = "place";
  }
  if (v->s.lines == v->s.h.positions) {
    text_line(x, "const long n0 = %s * %lld, y0 = 0, lines = %s;", place, images, down);
    text_line(x, "const long images = %s - n0 < %lld ? %s - n0 : %lld;", v->images, images,
              v->images, images);
    return;
  }
  const char *of_image = text_ceil_div(a, v->rows, v->s.h.step * lines);
  text_line(x, "const long n0 = %s / %s, y0 = %s %% %s * %lld, images = 1;", place, of_image, place,
            of_image, lines);
  text_line(x, "const long lines = %s - y0 < %lld ? %s - y0 : %lld;", down, lines, down, lines);
}

typedef struct Pixels {
  const AmxConv *v;
  int64_t first, step; /* of a phase's columns */
} Pixels;

static void print_pixel(const void *of, Text *x) {
  const Pixels *p = of;
  const AmxConvSchedule *s = &p->v->s;
  text_line(x, "const long ox = %lld + (%scolumn + r) * %lld;", (long long)p->first,
            amx_conv_cuts_rows(s) ? "x0 + " : "", (long long)p->step);
  text_line(x, "const long flat = ((n * %lld + oy) * %lld + ox) * %lld + k0;", (long long)s->rows,
            (long long)s->columns, (long long)s->conv.to_channels);
  text_line(x, "const f32 *acc = from + r * %d;", s->nr);
}

/* `count` pixels of a row, side by side in the tile and in the phase. */
static void print_results(const AmxConv *v, Text *x, const AmxPhase *column, int64_t width) {
  const Pixels pixels = {v, column->first, v->s.w.step};
  if (!v->s.conv.epilogue) {
    text_open(x, "for (long r = 0; r < count; r++) {");
    print_pixel(&pixels, x);
    text_line(x, "memcpy((f32 *)out0 + flat, acc, %lld * sizeof *acc);", (long long)width);
    text_close(x, "}");
    return;
  }
  EpilogueRows rows = {
      .row = "r", .rows = "count", .width = width, .place = print_pixel, .of = &pixels};
  EpilogueSite s = {.shape = v->gr->domain,
                    .coord = (const char *[]){"n", "(k0 + j)", "oy", "ox"},
                    .flat = "(flat + j)",
                    .layout = pixel_layout(v->g->ctx),
                    .have = v->gr->root->results[0],
                    .have_text = "acc[j]"};
  epilogue_rows(v->g, x, v->gr, &rows, &s);
}

static const char *sums_function(const AmxConv *v, int tiles, int64_t width) {
  const long long columns = ceil_div(width, AMX_DEPTH / 2);
  const char *name = intern_printf(v->g->ctx, "conv_amx_%dx%lld_b%d", tiles, columns, v->s.nr);
  gen_helper(v->g, intern_printf(v->g->ctx, "GC_CONV_AMX(%s, %d, %lld, %dL)\n", name, tiles,
                                 columns, v->s.nr));
  return name;
}

/* The positions of one phase of rows and of columns: tiles of them, and the pixels of each tile. */
static void print_phase(const AmxConv *v, Text *x, int row, int column, int64_t width) {
  Arena *a = v->g->a;
  const AmxPhase *h = &v->s.h.phase[row], *w = &v->s.w.phase[column];
  const AmxAxis *hs = &v->s.h, *ws = &v->s.w;
  const char *call = arena_printf(a, "(a, chunk, %lld, rows%d, %d, columns%d, %d, b, tile);",
                                  (long long)v->s.chunks, row, h->ntaps, column, w->ntaps);
  const char *rows = arena_printf(a, "(%s - %lld)", v->rows, (long long)h->first);
  const char *columns = arena_printf(a, "(%s - %lld)", v->columns, (long long)w->first);
  const char *across = text_ceil_div(a, columns, ws->step);
  text_open(x, "{");
  text_line(x, "const long down = %s - y0 < lines ? %s - y0 : lines;",
            text_ceil_div(a, rows, hs->step), text_ceil_div(a, rows, hs->step));
  if (amx_conv_cuts_rows(&v->s))
    text_line(x, "const long across = %s - x0 < %lld ? %s - x0 : %lld;", across,
              (long long)v->s.across, across, (long long)v->s.across);
  else
    text_line(x, "const long across = %s;", across);
  text_line(x, "const long last = ((images - 1) * of_image + down - 1) * pitch + across;");
  text_line(x, "long m = 0, line = 0, column = 0; /* of the position */");
  text_open(x, "for (long p = 0; p < last; p += %d) {", AMX_POSITIONS);
  text_line(x, "const i32 *a = source + (%lld * pitch + %lld + p) * %d;", (long long)hs->before,
            (long long)ws->before, WORDS);
  text_line(x, "if (last - p > %d) %s%s", AMX_POSITIONS / 2, sums_function(v, 2, width), call);
  text_line(x, "else %s%s", sums_function(v, 1, width), call);
  text_line(x, "const long end = p + %d < last ? p + %d : last;", AMX_POSITIONS, AMX_POSITIONS);
  text_open(x, "for (long at = p, some; at < end; at += some) {");
  text_line(x, "some = pitch - column < end - at ? pitch - column : end - at;");
  text_line(x, "const long count = across - column < some ? across - column : some;");
  text_open(x, "if (line < down && count > 0) {");
  text_line(x, "const long n = n0 + m, oy = %lld + (y0 + line) * %lld;", (long long)h->first,
            (long long)hs->step);
  text_line(x, "const f32 *from = tile + (at - p) * %d;", v->s.nr);
  print_results(v, x, w, width);
  text_close(x, "}");
  text_line(x, "column += some;");
  text_line(x, "if (column == pitch) column = 0, line++;");
  text_line(x, "if (line == of_image) line = 0, m++;");
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
}

static void print_phases(const AmxConv *v, Text *x, int64_t width) {
  for (int row = 0; row < v->s.h.nphases; row++)
    for (int column = 0; column < v->s.w.nphases; column++) print_phase(v, x, row, column, width);
}

/* The block by each panel of the part. */
static void print_panels(const AmxConv *v, Text *x) {
  const int64_t tail = v->s.width - (v->s.np - 1) * v->s.nr;
  text_open(x, "for (long q = q0; q < q1; q++) {");
  text_line(
      x, "const long k0 = %s;",
      text_plus(v->g->a, text_times(v->g->a, "g", v->s.width), text_times(v->g->a, "q", v->s.nr)));
  text_line(x, "const i32 *b = packed + (q - q0) * %lld;",
            (long long)(v->s.conv.c.h.taps * v->s.conv.c.w.taps * words_of_tap(v)));
  if (v->s.np == 1 || tail == v->s.nr) {
    print_phases(v, x, tail);
  } else {
    text_open(x, "if (q < %lld) {", (long long)v->s.np - 1);
    print_phases(v, x, v->s.nr);
    x->indent--;
    text_open(x, "} else {");
    print_phases(v, x, tail);
    text_close(x, "}");
  }
  text_close(x, "}");
}

/* ---- the kernel ---- */

static const char *blocks_text(const AmxConv *v) {
  Arena *a = v->g->a;
  if (text_is_number(v->images) && text_is_number(v->rows) && text_is_number(v->columns))
    return num(a, v->s.blocks);
  const bool whole = v->s.lines == v->s.h.positions;
  const char *blocks =
      whole ? text_ceil_div(a, v->images, v->s.images)
            : text_product(a, v->images, text_ceil_div(a, v->rows, v->s.h.step * v->s.lines));
  if (!amx_conv_cuts_rows(&v->s)) return blocks;
  return text_product(a, blocks, text_ceil_div(a, v->columns, v->s.w.step * v->s.across));
}

static AmxConv conv_of(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  const Value *filter = value_at(gr->e, gr->in[group_arg(gr, op->operands[1])]);
  const ConvShape shape = {.c = conv_geom(gr->e, op),
                           .back = op->kind == OP_CONV_INPUT_GRAD,
                           .panel = filter->layout ? filter->layout->nr : 0,
                           .epilogue = gr->nops > 1,
                           .pairs = true};
  AmxConv v = {
      .g = g, .gr = gr, .s = amx_conv_schedule(g->a, &cpu_target(g->target)->machine, &shape)};
  const Type *from = shape.back ? shape.c.y : shape.c.x, *to = shape.back ? shape.c.x : shape.c.y;
  v.images = dims_text(g, gr->e, gr->domain, 0, 1);
  v.rows = dims_text(g, gr->e, to, 2, 3);
  v.columns = dims_text(g, gr->e, to, 3, 4);
  v.source_rows = dims_text(g, gr->e, from, 2, 3);
  v.source_columns = dims_text(g, gr->e, from, 3, 4);
  v.blocks = blocks_text(&v);
  return v;
}

void cpu_amx_conv(Gen *g, const Group *gr) {
  const AmxConv v = conv_of(g, gr);
  const int64_t taps = v.s.conv.c.h.taps * v.s.conv.c.w.taps;
  const long long of_channels = v.s.parts / v.s.conv.c.groups, group = v.s.group, np = v.s.np;
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  k->flops = v.s.flops;
  kernel_schedule(k, &amx_conv_kind, &v.s, sizeof v.s);
  const char *units = text_product(g->a, v.blocks, num(g->a, v.s.parts));
  kernel_units_of(k, v.s.units, text_is_number(v.blocks) ? num(g->a, v.s.units) : units);
  text_line(x, "const uint16_t *image = in%d, *filter = in%d;",
            group_arg(gr, gr->root->operands[0]), group_arg(gr, gr->root->operands[1]));
  print_shape(&v, x);
  print_all_taps(&v, x);
  kernel_buffer(g, k, x, "i32", 4, "source",
                v.s.chunks * v.s.h.nplanes * v.s.w.nplanes * v.s.plane * WORDS);
  kernel_buffer(g, k, x, "i32", 4, "packed", v.s.group * taps * words_of_tap(&v));
  kernel_buffer(g, k, x, "f32", 4, "tile", AMX_POSITIONS * (int64_t)v.s.nr);
  text_line(x, "long packed_part = -1, copied = -1; /* what lies in the buffers */");
  text_line(x, "amx_configure();");
  if (k->units > 1)
    text_open(x, "for (long u = u0; u < u1; u++) {");
  else
    text_open(x, "for (long u = 0; u < %s; u++) {", units);
  text_line(x, "const long part = u / %s, block = u %% %s, g = part / %lld;", v.blocks, v.blocks,
            of_channels);
  text_line(x, "const long q0 = part %% %lld * %lld, q1 = q0 + %lld < %lld ? q0 + %lld : %lld;",
            of_channels, group, group, np, group, np);
  print_block(&v, x);
  print_filters(&v, x);
  print_images(&v, x);
  print_panels(&v, x);
  text_close(x, "}");
  text_line(x, "amx_release();");
}
