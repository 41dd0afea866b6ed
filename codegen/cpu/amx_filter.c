/* Prints a tile of the gradient of a convolution's filters in tile registers; see
   schedule/amx_filter.c and filter.c, whose chunks and units these are. Contract: an element is one
   sum per chunk, of 32 places after the other, whose order within is the instruction's; chunks are
   added in order. Which pixels lie in which places follows from the images of a run. */
#include "codegen/cpu/amx_conv.h"
#include "codegen/program/extent.h"

static int64_t tile_rows_of(const Filter *f) {
  return f->s.rows + (f->s.low < f->s.tiles) > LINE ? 2 * LINE : LINE;
}

/* Numbers of a plane of x, and words of a panel of dy. */
static int64_t plane_size(const Filter *f) { return tile_rows_of(f) * f->s.places; }
static int64_t panel_size(const Filter *f) { return f->s.places / 2 * f->s.nr; }

static void print_offsets(Text *x, const char *name, const AmxAxis *axis, int64_t plane,
                          const char *pitch) {
  text_add(x, "%*sconst long %s[] = {", 2 * x->indent, "", name);
  for (int t = 0; t < axis->phase->ntaps; t++)
    text_add(x, "%s%lld + %lld * %s", t ? ", " : "", (long long)(axis->phase->tap[t].plane * plane),
             (long long)axis->phase->tap[t].shift, pitch);
  text_add(x, "};\n");
}

static void print_shapes(const Filter *f, Text *x, const AmxAxis *h, const AmxAxis *w) {
  const ConvGeom *c = &f->s.c;
  const char *in_rows = dims_text(f->g, f->gr->e, c->x, 2, 3);
  const char *in_columns = dims_text(f->g, f->gr->e, c->x, 3, 4);
  amx_print_pitch(f->g, x, "pitch", w, filter_columns(f), in_columns);
  amx_print_pitch(f->g, x, "of_image", h, filter_rows(f), in_rows);
  amx_print_firsts(x, "first_rows", h);
  amx_print_firsts(x, "first_columns", w);
  text_line(x, "const long none[] = {0};");
  text_line(x,
            "const GcImages of_x = {%s, %s, %lld, %lld, %lld, %lld, {%lld, %lld}, {%d, %d}, "
            "{first_rows, first_columns}, %lld, pitch, 0, 0};",
            in_rows, in_columns, (long long)(c->h.in * c->w.in * c->cin),
            (long long)(c->w.in * c->cin), (long long)c->cin, (long long)c->gin, (long long)h->over,
            (long long)w->over, h->nplanes, w->nplanes, (long long)w->before);
  text_line(x,
            "const GcImages of_dy = {%s, %s, %lld, %lld, %lld, %lld, {1, 1}, {1, 1}, {none, none}, "
            "0, pitch, 0, 0};",
            filter_rows(f), filter_columns(f), (long long)(c->h.out * c->w.out * c->cout),
            (long long)(c->w.out * c->cout), (long long)c->cout, (long long)c->gout);
}

void amx_filter_begin(const Filter *f, Kernel *k) {
  Text *x = &k->text;
  const ConvGeom *c = &f->s.c;
  const AmxAxis h = amx_axis(f->g->a, &c->h, false), w = amx_axis(f->g->a, &c->w, false);
  const int64_t planes = (int64_t)h.nplanes * w.nplanes,
                zeros = c->gin > c->gout ? c->gin : c->gout;
  print_shapes(f, x, &h, &w);
  print_offsets(x, "row_at", &h, w.nplanes * plane_size(f), "pitch");
  print_offsets(x, "column_at", &w, plane_size(f), "1L");
  kernel_buffer(f->g, k, x, "uint16_t", 2, "turned", f->s.x_slots * planes * plane_size(f));
  kernel_buffer(f->g, k, x, "i32", 4, "paired", f->s.dy_slots * panel_size(f));
  kernel_buffer(f->g, k, x, "const uint16_t *", sizeof(void *), "at", f->s.places);
  kernel_buffer(f->g, k, x, "uint16_t", 2, "zeros", zeros + 2 * AMX_DEPTH);
  kernel_buffer(f->g, k, x, "f32", 4, "tile", tile_rows_of(f) * f->s.nr);
  text_line(x, "memset(zeros, 0, %lld);", (long long)(zeros + 2 * AMX_DEPTH) * 2);
  text_line(x, "long of_turned[%lld], of_paired[%lld]; /* which tile and panel lies there */",
            (long long)f->s.x_slots, (long long)f->s.dy_slots);
  text_line(x, "memset(of_turned, -1, sizeof of_turned);");
  text_line(x, "memset(of_paired, -1, sizeof of_paired);");
  text_line(x, "amx_configure();");
}

/* Copies what the unit multiplies, unless it is there: the chunk's channels of x of its tile, in
   planes, and of dy of its panel. */
static void print_copies(const Filter *f, Text *x, const AmxAxis *h, const AmxAxis *w) {
  const ConvGeom *c = &f->s.c;
  const long long planes = (long long)h->nplanes * w->nplanes, places = f->s.places;
  text_line(x,
            "const long tile_of_x = (h * %lld + g) * %lld + k, panel_of_dy = (h * %lld + g) * "
            "%lld + q;",
            (long long)c->groups, (long long)f->s.tiles, (long long)c->groups, (long long)f->s.np);
  text_line(x, "const long lines = (images - 1) * of_image + y1 - y0;");
  text_line(x, "const long steps = ((lines - 1) * pitch + %s + %d) / %d;", filter_columns(f),
            AMX_DEPTH - 1, AMX_DEPTH);
  text_line(x, "const long count = (%lld * pitch + %lld + steps * %d + %d) / %d * %d;",
            (long long)(h->before + h->behind), (long long)(w->before + w->behind), AMX_DEPTH,
            AMX_DEPTH - 1, AMX_DEPTH, AMX_DEPTH);
  text_line(x, "uint16_t *x_tile = turned + k %% %lld * %lld;", (long long)f->s.x_slots,
            planes * (long long)plane_size(f));
  text_open(x, "if (of_turned[k %% %lld] != tile_of_x) {", (long long)f->s.x_slots);
  text_line(x, "of_turned[k %% %lld] = tile_of_x;", (long long)f->s.x_slots);
  text_open(x, "for (long plane = 0; plane < %lld; plane++) {", planes);
  text_line(x,
            "amx_pixels(&of_x, image + n0 * of_x.image + g * %lld + m, plane / %d, plane %% %d, "
            "of_image, %lld, y0, lines + %lld, zeros, at, count);",
            (long long)c->gin, w->nplanes, w->nplanes, (long long)h->before,
            (long long)(h->before + h->behind));
  text_line(x, "amx_turn(at, count, %lld, %s - m, x_tile + plane * %lld);", places,
            filter_row_text(f, "(k + 1)"), (long long)plane_size(f));
  text_close(x, "}");
  text_close(x, "}");
  text_line(x, "i32 *dy_panel = paired + q %% %lld * %lld;", (long long)f->s.dy_slots,
            (long long)panel_size(f));
  text_open(x, "if (of_paired[q %% %lld] != panel_of_dy) {", (long long)f->s.dy_slots);
  text_line(x, "of_paired[q %% %lld] = panel_of_dy;", (long long)f->s.dy_slots);
  text_line(x,
            "amx_pixels(&of_dy, dy + n0 * of_dy.image + k0, 0, 0, of_image, 0, y0, lines, zeros, "
            "at, steps * %d);",
            AMX_DEPTH);
  text_line(x, "amx_pair(at, steps * %d, %d, %lld - q * %d, dy_panel);", AMX_DEPTH, f->s.nr,
            (long long)c->gout, f->s.nr);
  text_close(x, "}");
}

static const char *sums_function(const Filter *f) {
  const int rows = (int)(tile_rows_of(f) / LINE), columns = f->s.nr / LINE;
  const char *name = intern_printf(f->g->ctx, "filter_amx_%dx%d_a%lld_b%d", rows, columns,
                                   (long long)f->s.places, f->s.nr);
  gen_helper(f->g, intern_printf(f->g->ctx, "GC_FILTER_AMX(%s, %d, %d, %lldL, %dL)\n", name, rows,
                                 columns, (long long)f->s.places, f->s.nr));
  return name;
}

void amx_filter_unit(const Filter *f, Text *x) {
  const ConvGeom *c = &f->s.c;
  const AmxAxis h = amx_axis(f->g->a, &c->h, false), w = amx_axis(f->g->a, &c->w, false);
  print_copies(f, x, &h, &w);
  text_line(x,
            "%s(x_tile + row_at[r] + column_at[v] + (%lld * pitch + %lld), dy_panel, steps, tile);",
            sums_function(f), (long long)h.before, (long long)w.before);
  filter_extent(f, x);
  text_line(x, "const bool first = %s%s;", f->s.chunks ? "apart || " : "",
            op_accumulator(f->op) < 0 ? "h == 0" : "false");
  text_open(x, "for (long i = 0; i < e; i++) {");
  text_line(x, "f32 *to = c + i * %lld;", (long long)f->s.ld);
  text_line(x, "const f32 *sums = tile + i * %d;", f->s.nr);
  text_line(x, "if (first)");
  text_line(x, "  memcpy(to, sums, (unsigned long)w * sizeof *to);");
  text_line(x, "else");
  text_line(x, "  GC_IVDEP for (long j = 0; j < w; j++) to[j] += sums[j];");
  text_close(x, "}");
}
