/* Prints the gradient of a convolution with respect to its filters, for f32 images in NHWC. For one
   filter row and column it is a product, summed over pixels: channels of x by channels of dy.
   Contract: the filters' layout is that of the convolution (passes/layout/images.c). A unit is a
   tile of the result, whose thread goes over all pixels. Where that leaves threads without work,
   they share the chunks of pixels, too, and a second launch adds these up. Pixels come in
   chunks of whole rows of one image, or of whole images if they are small. Every element is one
   chain of fma per chunk, in the order of images, rows and columns; chunks are added in order, as
   in print/window.c. Blocking: a chunk's part of x and dy stays in the cache while tiles go over
   it. Pixels of many channels conflict in few cache sets, so dy is packed panel by panel; for 1x1
   filters, which read each pixel of x once a panel, x is packed, too, a block of tiles for all
   panels. */
#include "codegen/cpu/filter.h"
#include "codegen/cpu/amx_conv.h"
#include "codegen/cpu/pixel.h"
#include "codegen/program/extent.h"

enum { X_PREFETCH = 8 }; /* pixels of x are prefetched so early */

/* Filters that a group's gradient is wanted as: what its root makes, whatever comes behind. */
static const Layout *layout_of(Ctx *c, const Group *gr) {
  for (int i = 0; i < gr->nout; i++) {
    const Layout *l = value_at(gr->e, gr->out[i])->layout;
    if (l && l->nr) return l;
  }
  return filter_layout(c, 0);
}

/* Of the gradient, in the layout that takes the most. */
static uint64_t sum_bytes(const Group *gr, const ConvGeom *c) {
  uint64_t bytes = c->f->bytes;
  for (int i = 0; i < gr->nout; i++) {
    uint64_t padded;
    if (layout_bytes(c->f, value_at(gr->e, gr->out[i])->layout, &padded) && padded > bytes)
      bytes = padded;
  }
  return bytes;
}

static Filter filter_of(Gen *g, const Group *gr) {
  const Layout *l = layout_of(g->ctx, gr);
  FilterShape shape = {.c = conv_geom(gr->e, gr->root), .panel = l->nr, .epilogue = gr->nops > 1};
  shape.amx = dtype_is_half(value_type(gr->e, gr->root->operands[0])->dtype);
  shape.bytes = sum_bytes(gr, &shape.c);
  return (Filter){.g = g,
                  .gr = gr,
                  .op = gr->root,
                  .layout = l,
                  .s = filter_schedule(&cpu_target(g->target)->machine, &shape)};
}

/* The sum, where an epilogue waits for it, and those of chunks behind it. */
uint64_t cpu_filter_scratch(const Group *gr) {
  ConvGeom c = conv_geom(gr->e, gr->root);
  uint64_t bytes = sum_bytes(gr, &c);
  return ((uint64_t)filter_chunks(&c, bytes) + (gr->nops > 1)) * bytes;
}

void filter_extent(const Filter *f, Text *x) {
  int64_t tail = f->s.c.gout - (f->s.np - 1) * f->s.nr;
  text_line(x, "const long e = %s - m;", filter_row_text(f, "(k + 1)"));
  text_line(x, "const long w = q < %lld ? %d : %lld;", (long long)f->s.np - 1, f->s.nr,
            (long long)tail);
}

static void print_epilogue(const Filter *f, Text *x) {
  filter_extent(f, x);
  text_open(x, "for (long i = 0; i < e; i++) {");
  if (f->s.merged)
    text_line(x, "const long s = (m + i) / %lld, ch = (m + i) %% %lld;", (long long)f->s.c.gin,
              (long long)f->s.c.gin);
  else
    text_line(x, "const long s = v, ch = m + i;");
  text_line(x, "const f32 *acc = c + i * %lld;", (long long)f->s.ld);
  text_line(x, "const long place = acc - sum;");
  text_line(x, "(void)s, (void)ch, (void)place;");
  text_open(x, "GC_IVDEP for (long j = 0; j < w; j++) {");
  EpilogueSite s = {.shape = f->gr->domain,
                    .coord = (const char *[]){"(k0 + j)", "ch", "r", "s"},
                    .flat = "(place + j)",
                    .panel = "(place + j)",
                    .layout = f->layout,
                    .have = f->op->results[0],
                    .have_text = "acc[j]"};
  epilogue_body(f->g, x, f->gr, &s);
  text_close(x, "}");
  text_close(x, "}");
}

/* The tiles begin with what has been added up so far, which may lie there already, or with 0. */
static void print_start(const Filter *f, Text *x, const char *first, const char *last) {
  int from = op_accumulator(f->op);
  if (from >= 0) {
    text_line(x, "const f32 *before = in%d;", group_arg(f->gr, f->op->operands[from]));
    text_open(x, "for (long u = %s; before != sum && u < %s; u++) {", first, last);
  } else {
    text_open(x, "for (long u = %s; u < %s; u++) {", first, last);
  }
  filter_unit(f, x);
  filter_extent(f, x);
  text_line(x, "for (long i = 0; i < e; i++)");
  if (from >= 0)
    text_line(x,
              "  __builtin_memcpy(c + i * %lld, before + (c - sum) + i * %lld, w * sizeof(f32));",
              (long long)f->s.ld, (long long)f->s.ld);
  else
    text_line(x, "  __builtin_memset(c + i * %lld, 0, w * sizeof(f32));", (long long)f->s.ld);
  text_close(x, "}");
}

/* The same of columns that the run decides. */
static void print_narrow_packing(const Filter *f, Text *x, int64_t width) {
  const WindowAxis *h = &f->s.c.h, *w = &f->s.c.w;
  text_open(x, "{");
  text_line(x, "f32 *to = panel;");
  text_open(x, "for (long i = 0; i < images * (y1 - y0); i++) {");
  text_line(x, "const f32 *row = from + (i / (y1 - y0) * %lld + i %% (y1 - y0)) * %lld;",
            (long long)h->out, (long long)(w->out * f->s.c.cout));
  text_line(x, "for (long p = 0; p < %s; p++, to += %d)", filter_columns(f), f->s.nr);
  text_line(x, "  GC_IVDEP for (long j = 0; j < %lld; j++) to[j] = row[p * %lld + j];",
            (long long)width, (long long)f->s.c.cout);
  text_close(x, "}");
  text_close(x, "}");
}

/* Copies the chunk's pixels of panel q of group g, `width` channels of each, if it is another one
   than before: with many channels they lie so far apart that the cache has few places for them. */
static void print_packing(const Filter *f, Text *x, int64_t width) {
  const bool narrow = type_extent(f->s.c.y, 3); /* nor do columns of one fill a row's */
  const bool apart = type_extent(f->s.c.y, 2);  /* rows of a run do not fill an image's place */
  if (narrow) {
    print_narrow_packing(f, x, width);
    return;
  }
  const char *pixels = arena_printf(f->g->a, "(y1 - y0) * %lld", (long long)f->s.c.w.out);
  if (apart) text_open(x, "for (long n = 0; n < images; n++) {");
  text_line(x, "for (long i = 0; i < %s%s; i++)", apart ? "" : "images * ", pixels);
  const char *to = "panel[i", *source = "from[i";
  if (apart) {
    to = arena_printf(f->g->a, "panel[(n * (%s) + i)", pixels);
    source = arena_printf(f->g->a, "from[(n * %lld + i)", (long long)(f->s.c.h.out * f->s.c.w.out));
  }
  text_line(x, "  GC_IVDEP for (long j = 0; j < %lld; j++) %s * %d + j] = %s * %lld + j];",
            (long long)width, to, f->s.nr, source, (long long)f->s.c.cout);
  if (apart) text_close(x, "}");
}

/* Copies the chunk's pixels of the block's tiles, if it is another one than before. */
static void print_block_of_x(const Filter *f, Text *x) {
  long long step = f->s.c.w.stride * f->s.c.cin;
  text_open(x, "if (packed_x != block) {");
  text_line(x, "packed_x = block;");
  text_line(x, "f32 *to = tiles;");
  const char *rows = filter_rows(f);
  text_open(x, "for (long p = n0 * %s + y0; p < (n0 + images - 1) * %s + y1; p++) {", rows, rows);
  text_line(x, "const f32 *from = image + (p / %s * %lld + p %% %s * %lld) * %lld;", rows,
            (long long)f->s.c.h.in, rows, (long long)f->s.c.h.stride,
            (long long)(f->s.c.w.in * f->s.c.cin));
  text_open(x, "for (long j = 0; j < %s; j++, from += %lld, to += %lld) {", filter_columns(f), step,
            (long long)f->s.la);
  text_open(x, "for (long t = block; t < block + few; t++) {");
  text_line(x, "const f32 *row = from + (%s);", filter_row_text(f, "t"));
  text_line(x, "GC_PREFETCH(row, %lld);", X_PREFETCH * step);
  text_line(x, "__builtin_memcpy(to + (t - block) * %lld, row, %lld * sizeof(f32));",
            (long long)(window_chunk_pixels(&f->s.c) * f->s.la), (long long)f->s.la);
  for (int i = 0; i < 4; i++) text_close(x, "}");
}

static void print_panel_of_dy(const Filter *f, Text *x) {
  int64_t tail = f->s.c.gout - (f->s.np - 1) * f->s.nr;
  text_open(x, "if (packed != g * %lld + q) {", (long long)f->s.np);
  text_line(x, "packed = g * %lld + q;", (long long)f->s.np);
  text_line(x, "const f32 *from = dy + (n0 * %lld + y0) * %lld + k0;", (long long)f->s.c.h.out,
            (long long)(f->s.c.w.out * f->s.c.cout));
  if (f->s.np > 1 && tail != f->s.nr) {
    text_line(x, "if (q < %lld)", (long long)f->s.np - 1);
    x->indent++;
    print_packing(f, x, f->s.nr);
    x->indent--;
    text_line(x, "else");
    x->indent++;
    print_packing(f, x, tail);
    x->indent--;
  } else {
    print_packing(f, x, tail);
  }
  text_close(x, "}");
}

/* Declares how many tiles there are where that depends on the number of threads. */
static void print_tile_count(const Filter *f, Kernel *k) {
  if (!filter_varies(&f->s)) return;
  text_line(&k->head, "const long count = tiles_for(nt, %lld, %lld, %lld);",
            (long long)(f->s.all_units / f->s.tiles), (long long)f->s.tiles,
            (long long)(f->s.row / f->s.least));
  text_line(&k->head,
            "const uint64_t step = ((UINT64_C(%lld) << 32) + (uint64_t)count - 1) / "
            "(uint64_t)count;",
            (long long)f->s.row);
}

static const char *units_text(const Filter *f) {
  Arena *a = f->g->a;
  const char *others = arena_printf(a, "%lld", (long long)(f->s.all_units / f->s.tiles));
  return text_product(a, others, filter_tiles_text(f));
}

/* Where the sum lies, and sums of chunks, so many numbers after each other. */
static const char *sum_text(const Filter *f) { return f->s.epilogue ? "scratch" : "out0"; }

static void print_sums(const Filter *f, Text *x) {
  uint64_t bytes = sum_bytes(f->gr, &f->s.c);
  text_line(x, "f32 *all = (f32 *)%s, *partial = (f32 *)(scratch + %llu);", sum_text(f),
            (unsigned long long)(f->s.epilogue ? bytes : 0));
  text_line(x, "enum { size = %llu };", (unsigned long long)(bytes / sizeof(float)));
  text_line(x, "const long units = %s, chunks = %s;", units_text(f),
            window_chunk_count(f->g, f->gr->e, &f->s.c));
  text_line(x, "const int apart = filter_apart(nt, units);");
}

/* Opens the loops over chunks and units of those that the thread has: the same units of all chunks,
   or if they are apart, chunk after chunk of those of each. */
static void open_chunks(const Filter *f, Kernel *k, const char *first, const char *last) {
  Text *x = &k->text;
  const ConvGeom *c = &f->s.c;
  const Entry *e = f->gr->e;
  if (f->s.chunks) {
    text_line(x, "const long h0 = apart ? u0 / units : 0;");
    text_line(x, "const long h1 = apart ? (u1 + units - 1) / units : chunks;");
  }
  window_chunks(f->g, e, x, c, f->s.chunks ? "h0" : "0",
                f->s.chunks ? "h1" : window_chunk_count(f->g, e, c));
  if (f->s.pack) text_line(x, "long packed = -1;");
  if (f->s.block) text_line(x, "long packed_x = -1;");
  if (f->s.chunks) {
    text_line(x, "f32 *sum = apart ? partial + h * size : all;");
    text_line(x, "const long done = apart ? h * units : 0, last = apart && u1 - done > units ? "
                 "units : u1 - done;");
    first = "(u0 > done ? u0 - done : 0)", last = "last";
  }
  text_open(x, "for (long u = %s; u < %s; u++) {", first, last);
}

/* Behind a launch that summed chunks apart: adds them up in their order, and does the epilogue. */
static void print_combine(Filter *f) {
  Gen *g = f->g;
  const Group *gr = f->gr;
  Kernel *k = kernel_next(g, gr, "combine");
  Text *x = &k->text;
  int before = op_accumulator(f->op);
  kernel_args(g, k, gr);
  k->one_share = true;
  print_tile_count(f, k);
  print_sums(f, x);
  text_line(x, "if (!apart) return;");
  if (f->s.all_units == 1) {
    kernel_units(k, 1);
    text_line(x, "const long u0 = 0, u1 = 1;");
  } else {
    k->units = f->s.all_units;
    text_line(x, "const long u0 = units * t / nt, u1 = units * (t + 1) / nt;");
  }
  text_line(x, "f32 *sum = all;");
  if (before >= 0)
    text_line(x, "const f32 *before = in%d;", group_arg(gr, f->op->operands[before]));
  text_open(x, "for (long u = u0; u < u1; u++) {");
  filter_unit(f, x);
  text_open(x, "{");
  filter_extent(f, x);
  text_open(x, "for (long i = 0; i < e; i++) {");
  text_line(x, "f32 *to = c + i * %lld;", (long long)f->s.ld);
  text_line(x, "const long place = to - sum;");
  const char *first = before >= 0 ? "before[place + j] + partial[place + j]" : "partial[place + j]";
  if (!text_is_number(window_chunk_count(g, gr->e, &f->s.c))) /* there may be none */
    first = arena_printf(g->a, "chunks ? %s : %s", first, before >= 0 ? "before[place + j]" : "0");
  text_line(x, "for (long j = 0; j < w; j++) to[j] = %s;", first);
  text_line(x, "for (long h = 1; h < chunks; h++)");
  text_line(x, "  GC_IVDEP for (long j = 0; j < w; j++) to[j] += partial[h * size + place + j];");
  text_close(x, "}");
  text_close(x, "}");
  if (f->s.epilogue) print_epilogue(f, x);
  text_close(x, "}");
  kernel_touched(k, gr);
}

/* Which units a thread has: of chunks of sums, or of whole results. */
static void print_work(Filter *f, Kernel *k) {
  Text *x = &k->text;
  print_tile_count(f, k);
  if (f->s.chunks) {
    print_sums(f, x);
    k->one_share = true;
    k->units = f->s.all_units * f->s.chunks;
    text_line(x, "const long parts = apart ? units * chunks : units;");
    text_line(x, "const long u0 = parts * t / nt, u1 = parts * (t + 1) / nt;");
  } else {
    kernel_units_of(k, f->s.units, units_text(f));
    text_line(x, "f32 *sum = (f32 *)%s;", sum_text(f));
  }
  k->balance = f->s.amx ? NULL : filter_balance;
}

/* The tiles of one panel lie in their order: a thread's part of the results is a run of bytes. */
static void split_results(const Filter *f, Kernel *k, const Group *gr) {
  if (k->units <= 1 || f->s.chunks || f->s.low != f->s.tiles || filter_varies(&f->s) ||
      f->s.block || f->s.amx || (!f->layout->nr && f->s.np * f->s.c.groups != 1))
    return;
  for (int i = 0; i < gr->nout; i++) {
    const Value *v = value_at(gr->e, gr->out[i]);
    uint64_t bytes;
    if (layout_same(v->type, v->layout, f->layout) && layout_bytes(v->type, v->layout, &bytes))
      kernel_split_out(k, gr, i, 1, 0, bytes);
  }
}

/* Where the pixels of a chunk begin, of the image (a) and of the gradient (b). */
static void print_pixels(const Filter *f, Text *x) {
  const ConvGeom *c = &f->s.c;
  if (f->s.merged) { /* columns are counted in the tile's runs */
    text_line(x, "enum { at = 0, col = 0 };");
  } else {
    text_line(x, "const long at = v * %lld - %lld; /* column of x under output 0 */",
              (long long)c->w.dilation, (long long)c->w.lo);
    text_line(x, "const long col = at < 0 ? (-at + %lld) / %lld : 0; /* the first on the image */",
              (long long)c->w.stride - 1, (long long)c->w.stride);
  }
  if (f->s.block)
    text_line(x, "const f32 *a = tiles + (k - block) * %lld;",
              (long long)(window_chunk_pixels(c) * f->s.la));
  else
    text_line(
        x,
        "const f32 *a = image + ((n0 * %lld + y * %lld + r * %lld - %lld) * %lld + col * %lld + "
        "at) * %lld + g * %lld + m;",
        (long long)c->h.in, (long long)c->h.stride, (long long)c->h.dilation, (long long)c->h.lo,
        (long long)c->w.in, (long long)c->w.stride, (long long)c->cin, (long long)c->gin);
  if (f->s.pack)
    text_line(x, "const f32 *b = panel + ((y - y0) * %s + col) * %d;", filter_columns(f), f->s.nr);
  else
    text_line(x, "const f32 *b = dy + ((n0 * %lld + y) * %lld + col) * %lld + k0;",
              (long long)c->h.out, (long long)c->w.out, (long long)c->cout);
}

static void print_unit(const Filter *f, Text *x) {
  window_chunk_rows(f->g, f->gr->e, x, &f->s.c);
  if (f->s.pack) print_panel_of_dy(f, x);
  if (f->s.block) print_block_of_x(f, x);
  print_pixels(f, x);
  filter_panels(f, x);
}

void cpu_filter(Gen *g, const Group *gr) {
  Filter f = filter_of(g, gr);
  const ConvGeom *c = &f.s.c;
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  k->flops = f.s.flops;
  kernel_schedule(k, &filter_kind, &f.s, sizeof f.s);
  print_work(&f, k);
  split_results(&f, k, gr);
  text_line(x, "typedef long pos;");
  text_line(x, "const %s *dy = in%d, *image = in%d;", f.s.amx ? "uint16_t" : "f32",
            group_arg(gr, f.op->operands[0]), group_arg(gr, f.op->operands[1]));
  if (type_extent(c->y, 3))
    text_line(x, "const long less = %lld - %s;", (long long)c->w.out, filter_columns(&f));
  const char *first = k->units > 1 ? "u0" : "0";
  const char *last = k->units > 1 ? "u1" : arena_printf(g->a, "%lld", (long long)f.s.all_units);
  if (f.s.pack) kernel_buffer(g, k, x, "f32", 4, "panel", window_chunk_pixels(c) * f.s.nr);
  if (f.s.block)
    kernel_buffer(g, k, x, "f32", 4, "tiles", f.s.block * window_chunk_pixels(c) * f.s.la);
  if (f.s.amx) amx_filter_begin(&f, k);
  if (op_accumulator(f.op) >= 0 || c->y->numel == 0) { /* without images no chunk writes it */
    if (f.s.chunks) text_open(x, "if (!apart) {");
    if (f.s.chunks) text_line(x, "f32 *sum = all;");
    print_start(&f, x, first, last);
    if (f.s.chunks) text_close(x, "}");
  }
  open_chunks(&f, k, first, last);
  filter_unit(&f, x);
  if (f.s.amx)
    amx_filter_unit(&f, x);
  else
    print_unit(&f, x);
  text_close(x, "}");
  text_close(x, "}");
  if (f.s.amx) text_line(x, "amx_release();");
  if (f.s.epilogue) {
    if (f.s.chunks) text_line(x, "if (apart) return;");
    if (f.s.chunks) text_line(x, "f32 *sum = all;");
    text_open(x, "for (long u = %s; u < %s; u++) {", first, last);
    filter_unit(&f, x);
    print_epilogue(&f, x);
    text_close(x, "}");
  }
  if (f.s.chunks) print_combine(&f);
}
