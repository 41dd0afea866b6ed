/* The chunks of pixels that a gradient with respect to filters adds up, in their order; see
   window.h. Contract: window_pixel_chunks says which they are; where the run decides the rows or
   columns, the same is counted at run time, so that bits are those of the program compiled for
   them. */
#include "codegen/print/window.h"
#include "codegen/program/extent.h"
#include "passes/target.h"

/* The name of a function that gives the images of a chunk, and one for the number of chunks, where
   rows or columns are known at run time: as window_pixel_chunks counts them. */
static const char *chunk_helpers(Gen *gen) {
  gen_helper(gen,
             intern_printf(gen->ctx,
                           "/* images of a chunk of the pixels of y; rows, where it is one */\n"
                           "INL long gc_chunk_images(long rows, long columns) {\n"
                           "  const long pixels = rows * columns;\n"
                           "  return pixels > 0 && %d / pixels > 1 ? %d / pixels : 1;\n"
                           "}\n"
                           "INL long gc_chunk_rows(long columns) {\n"
                           "  return columns > 0 && %d / columns > 1 ? %d / columns : 1;\n"
                           "}\n"
                           "INL long gc_chunks(long n, long rows, long columns) {\n"
                           "  const long images = gc_chunk_images(rows, columns);\n"
                           "  const long each = gc_chunk_rows(columns);\n"
                           "  return images > 1 ? (n + images - 1) / images\n"
                           "                    : n * ((rows + each - 1) / each);\n"
                           "}\n",
                           SUM_PIXELS, SUM_PIXELS, SUM_PIXELS, SUM_PIXELS));
  return "gc_chunk";
}

/* Chunks of pixels of y: whole rows of one image, or whole images where they are small. */
const char *window_chunk_count(Gen *gen, const Entry *e, const ConvGeom *g) {
  PixelChunks c = window_pixel_chunks(g);
  const char *all = dims_text(gen, e, g->y, 0, 1); /* images */
  if (dims_bounded(g->y, 2, 4))
    return arena_printf(gen->a, "%ss(%s, %s, %s)", chunk_helpers(gen), all,
                        dims_text(gen, e, g->y, 2, 3), dims_text(gen, e, g->y, 3, 4));
  if (!type_extent(g->x, 0)) return arena_printf(gen->a, "%lld", (long long)c.n);
  if (c.images > 1) return text_ceil_div(gen->a, all, c.images);
  long long of_image = (long long)ceil_div(g->h.out, c.rows);
  return text_product(gen->a, all, arena_printf(gen->a, "%lld", of_image));
}

void window_chunk_sizes(Gen *gen, const Entry *e, const ConvGeom *g, const char **frame,
                        const char **chunk) {
  if (!dims_bounded(g->y, 2, 4)) return;
  const char *f = chunk_helpers(gen), *rows = dims_text(gen, e, g->y, 2, 3);
  const char *columns = dims_text(gen, e, g->y, 3, 4), *image = text_product(gen->a, rows, columns);
  const char *most = arena_printf(gen->a, "%s_images(%s, %s)", f, rows, columns);
  *frame = arena_printf(gen->a, "(%s > 1 ? %s : %s)", most,
                        text_product(gen->a, dims_text(gen, e, g->y, 0, 1), image), image);
  *chunk = arena_printf(gen->a, "(%s > 1 ? %s * %s : %s_rows(%s) * %s)", most, most, image, f,
                        columns, columns);
}

/* The same where the run says which of both a chunk is. */
static void bounded_chunk(Gen *gen, const Entry *e, Text *x, const ConvGeom *g) {
  const char *f = chunk_helpers(gen), *all = dims_text(gen, e, g->y, 0, 1);
  const char *rows = dims_text(gen, e, g->y, 2, 3), *columns = dims_text(gen, e, g->y, 3, 4);
  text_line(x, "const pos most = %s_images(%s, %s), some = %s_rows(%s);", f, rows, columns, f,
            columns);
  text_line(x, "const pos each = most > 1 || %s <= some ? 1 : (%s + some - 1) / some;", rows, rows);
  text_line(x, "const pos n0 = h / each * most, y0 = most > 1 ? 0 : h %% each * some;");
  text_line(x, "const pos images = %s - n0 < most ? %s - n0 : most;", all, all);
  text_line(x, "const pos y1 = most > 1 || y0 + some > %s ? %s : y0 + some;", rows, rows);
}

void window_chunks(Gen *gen, const Entry *e, Text *x, const ConvGeom *g, const char *from,
                   const char *to) {
  PixelChunks c = window_pixel_chunks(g);
  const char *all = dims_text(gen, e, g->x, 0, 1);
  text_open(x, "for (pos h = %s; h < %s; h++) {", from, to);
  if (dims_bounded(g->y, 2, 4)) {
    bounded_chunk(gen, e, x, g);
    return;
  }
  if (c.images > 1) {
    text_line(x, "const pos n0 = h * %lld, y0 = 0, y1 = %lld;", (long long)c.images,
              (long long)g->h.out);
    text_line(x, "const pos images = %s - n0 < %lld ? %s - n0 : %lld;", all, (long long)c.images,
              all, (long long)c.images);
    return;
  }
  long long n = (long long)ceil_div(g->h.out, c.rows), rows = (long long)c.rows;
  text_line(x, "const pos n0 = h / %lld, y0 = h %% %lld * %lld, images = 1;", n, n, rows);
  text_line(x, "const pos y1 = y0 + %lld < %lld ? y0 + %lld : %lld;", rows, (long long)g->h.out,
            rows, (long long)g->h.out);
}

void window_chunk_rows(Gen *gen, const Entry *e, Text *x, const ConvGeom *g) {
  const WindowAxis *h = &g->h;
  const char *in = dims_text(gen, e, g->x, 2, 3);
  text_line(x, "const pos up = r * %lld - %lld; /* row of x over row 0 of y */",
            (long long)h->dilation, (long long)h->lo);
  text_line(x, "const pos top = up < 0 ? (-up + %lld) / %lld : 0, y = top > y0 ? top : y0;",
            (long long)h->stride - 1, (long long)h->stride);
  text_line(x, "const pos end = up >= %s ? 0 : (%s - up) / %lld + 1;", in, text_last(gen->a, in),
            (long long)h->stride);
  text_line(x, "const pos rows = (end < y1 ? end : y1) > y ? (end < y1 ? end : y1) - y : 0;");
}
