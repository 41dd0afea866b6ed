/* Prints the gradient of a depthwise convolution with respect to its filters, for f32 images in
   NHWC. A register tile sums the taps of some filter rows and columns for a vector of channels, so
   that a chunk of pixels is read once for all of them. Contract: filters lie as [R, S, C]; sums are
   made in the result, or in scratch if there is an epilogue. A unit is a block of channels and a
   group of taps; its thread goes over all pixels, so no sum crosses threads. Every element is one
   chain of fma per chunk, in the order of images, rows and columns; chunks are added in order, as
   in print/window.c. Near the sides of an image only some taps reach a pixel; the other chains wait
   in memory. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/pixel.h"
#include "codegen/cpu/tile.h"
#include "codegen/program/extent.h"

enum { BLOCK = DEPTHWISE_BLOCK };

typedef struct Depthwise {
  Gen *g;
  const Group *gr;
  ConvGeom c;
  DepthwiseSchedule s;
  bool less; /* a run has so many columns less */
} Depthwise;

/* Pixels [from, to) that each of the filter columns from s0 on reaches; [first, last): all do. At
   the bound. */
typedef struct Columns {
  int64_t s0, *from, *to, first, last;
} Columns;

/* Pixel j of both images at a tap. */
static void print_step(const Depthwise *d, Text *x, int64_t r, int64_t s, int64_t k) {
  const WindowAxis *w = &d->c.w;
  text_line(x, "__builtin_memcpy(&v, q + (j * %lld + %lld) * C, VBYTES);", (long long)w->stride,
            (long long)(r * d->c.h.dilation * w->in + s * w->dilation - w->lo));
  text_line(x, "sum[%lld] = vfma_f32(u, v, sum[%lld]);", (long long)k, (long long)k);
}

/* Pixels of a row that one tap has to itself: of [from, first) and [last, to) those that a run
   has, if it has `less` than that. */
static void print_left(const Depthwise *d, Text *x, int64_t r, int64_t s, int64_t k,
                       const Columns *c) {
  const int64_t from = c->from[s], to = c->to[s] < c->first ? c->to[s] : c->first;
  if (from >= to) return;
  const char *rolled = to - from > 1 ? "GC_ROLLED " : "";
  if (d->less)
    text_open(x, "%sfor (long j = %lld; j < %lld && j < %lld - less; j++) {", rolled,
              (long long)from, (long long)to, (long long)c->to[s]);
  else
    text_open(x, "%sfor (long j = %lld; j < %lld; j++) {", rolled, (long long)from, (long long)to);
  text_line(x, "__builtin_memcpy(&u, p + j * C, VBYTES);");
  print_step(d, x, r, c->s0 + s, k);
  text_close(x, "}");
}

static void print_right(const Depthwise *d, Text *x, int64_t r, int64_t s, int64_t k,
                        const Columns *c) {
  const int64_t from = c->from[s] > c->last ? c->from[s] : c->last, to = c->to[s];
  if (from >= to) return;
  const char *rolled = to - from > 1 ? "GC_ROLLED " : "";
  const int64_t least = c->from[s] > c->first ? c->from[s] : c->first;
  if (d->less)
    text_open(x, "for (long j = %lld < %lld - less ? %lld - less : %lld; j < %lld - less; j++) {",
              (long long)least, (long long)from, (long long)from, (long long)least, (long long)to);
  else
    text_open(x, "%sfor (long j = %lld; j < %lld; j++) {", rolled, (long long)from, (long long)to);
  text_line(x, "__builtin_memcpy(&u, p + j * C, VBYTES);");
  print_step(d, x, r, c->s0 + s, k);
  text_close(x, "}");
}

/* The name of a function that adds `rows` rows of pixels, all of them on the image, to the chains
   of filter rows [0, nr) under its x and columns [s0, s0 + ns). */
static const char *chains_function(const Depthwise *d, int64_t nr, int64_t s0, int64_t ns) {
  const WindowAxis *w = &d->c.w;
  Columns c = {.s0 = s0, .last = w->out};
  c.from = ARENA_ARRAY(d->g->a, int64_t, ns), c.to = ARENA_ARRAY(d->g->a, int64_t, ns);
  for (int64_t s = 0; s < ns; s++) {
    window_outputs(w, s0 + s, &c.from[s], &c.to[s]);
    if (c.to[s] < c.from[s]) c.to[s] = c.from[s];
    if (c.from[s] > c.first) c.first = c.from[s];
    if (c.to[s] < c.last) c.last = c.to[s];
  }
  if (c.last < c.first) c.last = c.first;
  Text x = text_new(d->g->a, 1);
  text_line(&x, "enum { C = %lld };", (long long)d->s.channels);
  text_open(&x, "for (int l = 0; l < %d; l += VW, dy += VW, x += VW) {", BLOCK);
  text_line(&x, "Vf32 sum[%lld], u, v;", (long long)(nr * ns));
  text_line(&x,
            "UNROLL for (int k = 0; k < %lld; k++) __builtin_memcpy(&sum[k], part + k * %d + "
            "l, VBYTES);",
            (long long)(nr * ns), BLOCK);
  text_line(&x, "const f32 *p = dy, *q = x;");
  text_open(&x, "for (long i = 0; i < rows; i++, p += %lldL * C, q += %lldL * C) {",
            (long long)w->out, (long long)(d->c.h.stride * w->in));
  for (int64_t k = 0; k < nr * ns; k++) print_left(d, &x, k / ns, k % ns, k, &c);
  if (c.first < c.last) {
    text_open(&x, "for (long j = %lld; j < %lld%s; j++) {", (long long)c.first, (long long)c.last,
              d->less ? " - less" : "");
    text_line(&x, "__builtin_memcpy(&u, p + j * C, VBYTES);");
    for (int64_t k = 0; k < nr * ns; k++) print_step(d, &x, k / ns, s0 + k % ns, k);
    text_close(&x, "}");
  }
  for (int64_t k = 0; k < nr * ns; k++) print_right(d, &x, k / ns, k % ns, k, &c);
  text_close(&x, "}");
  text_line(&x,
            "UNROLL for (int k = 0; k < %lld; k++) __builtin_memcpy(part + k * %d + l, "
            "&sum[k], VBYTES);",
            (long long)(nr * ns), BLOCK);
  text_close(&x, "}");
  return tile_helper(d->g, arena_printf(d->g->a, "chains_%lldx%lld", (long long)nr, (long long)ns),
                     d->less ? "const f32 *dy, const f32 *x, f32 *part, long rows, long less"
                             : "const f32 *dy, const f32 *x, f32 *part, long rows",
                     text_str(&x));
}

/* Adds `rows` rows from row `i` of image n on: filter rows from r on, the chains from `part` on. */
static void print_call(const Depthwise *d, Text *x, const char *function, const char *row,
                       const char *r, const char *part, const char *rows) {
  const WindowAxis *h = &d->c.h, *w = &d->c.w;
  text_line(x,
            "%s(dy + (n * %lld + %s) * %lld + k0, image + (n * %lld + %s * %lld + %s * %lld - "
            "%lld) * %lld + k0, %s, %s%s);",
            function, (long long)h->out, row, (long long)(w->out * d->s.channels), (long long)h->in,
            row, (long long)h->stride, r, (long long)h->dilation, (long long)h->lo,
            (long long)(w->in * d->s.channels), part, rows, d->less ? ", less" : "");
}

/* A group's chains of the chunk: rows that all of its filter rows reach together, others one by
 * one.
 */
static void print_chains(const Depthwise *d, Text *x, int64_t nr, int64_t s0, int64_t ns) {
  const WindowAxis *h = &d->c.h;
  long long stride = h->stride, reach = (nr - 1) * h->dilation;
  text_line(x, "for (int l = 0; l < %lld; l++) part[l] = 0;", (long long)(nr * ns * BLOCK));
  text_line(x, "const long at = r0 * %lld - %lld; /* row of x over row 0 of y */",
            (long long)h->dilation, (long long)h->lo);
  text_line(x, "long top = at < 0 ? (-at + %lld) / %lld : 0;", stride - 1, stride);
  const char *in = dims_text(d->g, d->gr->e, d->c.x, 2, 3);
  text_line(x, "long end = at + %lld >= %s ? 0 : (%s - %lld - at) / %lld + 1;", reach, in,
            text_last(d->g->a, in), reach, stride);
  text_line(x, "if (top < y0) top = y0;");
  text_line(x, "if (end > y1) end = y1;");
  text_open(x, "for (long n = n0; n < n0 + images; n++) {");
  const char *all = chains_function(d, nr, s0, ns);
  if (nr == 1) {
    text_open(x, "if (top < end) {");
    print_call(d, x, all, "top", "r0", "part", "end - top");
    text_close(x, "}");
    text_close(x, "}");
    return;
  }
  text_open(x, "for (long i = y0; i < y1; i++) {");
  text_open(x, "if (i == top && top < end) {");
  print_call(d, x, all, "top", "r0", "part", "end - top");
  text_line(x, "i = end - 1;");
  text_line(x, "continue;");
  text_close(x, "}");
  text_open(x, "for (long r = r0; r < r0 + %lld; r++) {", (long long)nr);
  text_line(x, "const long row = i * %lld + r * %lld - %lld;", stride, (long long)h->dilation,
            (long long)h->lo);
  text_line(x, "if (row < 0 || row >= %s) continue;", in);
  print_call(d, x, chains_function(d, 1, s0, ns), "i", "r",
             arena_printf(d->g->a, "part + (r - r0) * %lld", (long long)(ns * BLOCK)), "1");
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
}

/* Opens the loop over a thread's units: channels k0 … k0 + w, the taps of rows [r0, r0 + nr) and
   columns [s0, s0 + ns). */
static void print_units(const Depthwise *d, Text *x, const char *first, const char *last) {
  long long rows = d->s.row_groups, columns = d->s.column_groups;
  text_open(x, "for (long u = %s; u < %s; u++) {", first, last);
  text_line(
      x, "const long k0 = u / %lld * %d, r0 = u / %lld %% %lld * %lld, s0 = u %% %lld * %lld;",
      rows * columns, BLOCK, columns, rows, (long long)d->s.rows, columns, (long long)d->s.columns);
  text_line(x, "const long nr = r0 + %lld < %lld ? %lld : %lld - r0;", (long long)d->s.rows,
            (long long)d->c.h.taps, (long long)d->s.rows, (long long)d->c.h.taps);
  text_line(x, "const long ns = s0 + %lld < %lld ? %lld : %lld - s0;", (long long)d->s.columns,
            (long long)d->c.w.taps, (long long)d->s.columns, (long long)d->c.w.taps);
  text_line(x, "const long w = k0 + %d < %lld ? %d : %lld - k0;", BLOCK, (long long)d->s.channels,
            BLOCK, (long long)d->s.channels);
  text_line(x, "(void)nr, (void)ns, (void)w;");
}

/* ... over the taps of a unit, its channels innermost: `at` is the place of the first. */
static void print_taps(const Depthwise *d, Text *x) {
  text_open(x, "for (long k = 0; k < nr * ns; k++) {");
  text_line(x, "const long r = r0 + k / ns, s = s0 + k %% ns;");
  text_line(x, "const long flat = (r * %lld + s) * %lld + k0;", (long long)d->c.w.taps,
            (long long)d->s.channels);
  text_open(x, "GC_IVDEP for (long l = 0; l < w; l++) {");
}

static void print_epilogue(const Depthwise *d, Text *x) {
  print_taps(d, x);
  EpilogueSite s = {.shape = d->gr->domain,
                    .coord = (const char *[]){"(k0 + l)", "0", "r", "s"},
                    .flat = "(flat + l)",
                    .layout = filter_layout(d->g->ctx, 0),
                    .have = d->gr->root->results[0],
                    .have_text = "sum[flat + l]"};
  epilogue_body(d->g, x, d->gr, &s);
  text_close(x, "}");
  text_close(x, "}");
}

/* Groups at the filter's right and lower ends may be smaller: a text for each that there is. */
static void print_groups(const Depthwise *d, Text *x) {
  const int64_t r = d->c.h.taps, s = d->c.w.taps;
  for (int64_t s0 = 0; s0 < s; s0 += d->s.columns)
    for (int64_t tail = 0; tail < 2; tail++) {
      int64_t nr = tail ? r % d->s.rows : d->s.rows,
              ns = s - s0 < d->s.columns ? s - s0 : d->s.columns;
      if (!nr) continue;
      text_open(x, "if (s0 == %lld && nr == %lld) {", (long long)s0, (long long)nr);
      print_chains(d, x, nr, s0, ns);
      text_close(x, "}");
    }
}

void cpu_depthwise(Gen *g, const Group *gr) {
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  k->flops = op_flops(gr->e, gr->op);
  ConvGeom c = conv_geom(gr->e, gr->root);
  Depthwise d = {.g = g,
                 .gr = gr,
                 .c = c,
                 .less = type_extent(c.y, 3) != NULL,
                 .s = depthwise_schedule(&cpu_target(g->target)->machine, &c, k->flops)};
  kernel_schedule(k, &depthwise_kind, &d.s, sizeof d.s);
  kernel_units(k, d.s.units);
  const char *first = k->units > 1 ? "u0" : "0";
  const char *last = k->units > 1 ? "u1" : arena_printf(g->a, "%lld", (long long)d.s.all_units);
  text_line(x, "typedef long pos;");
  text_line(x, "const f32 *dy = in%d, *image = in%d;", group_arg(gr, gr->root->operands[0]),
            group_arg(gr, gr->root->operands[1]));
  text_line(x, "f32 *sum = (f32 *)%s;", gr->nops > 1 ? "scratch" : "out0");
  kernel_buffer(g, k, x, "f32", 4, "part", d.s.rows * d.s.columns * BLOCK);
  int start = op_accumulator(gr->root);
  if (d.less)
    text_line(x, "const long less = %lld - %s;", (long long)c.w.out,
              dims_text(g, gr->e, c.y, 3, 4));
  print_units(&d, x, first, last);
  print_taps(&d, x);
  if (start < 0)
    text_line(x, "sum[flat + l] = 0;");
  else
    text_line(x, "sum[flat + l] = in%d[flat + l];", group_arg(gr, gr->root->operands[start]));
  for (int i = 0; i < 3; i++) text_close(x, "}");
  window_chunks(g, gr->e, x, &d.c, "0", window_chunk_count(g, gr->e, &d.c));
  print_units(&d, x, first, last);
  print_groups(&d, x);
  print_taps(&d, x);
  if (start < 0)
    text_line(x, "sum[flat + l] = h ? sum[flat + l] + part[k * %d + l] : part[k * %d + l];", BLOCK,
              BLOCK);
  else
    text_line(x, "sum[flat + l] += part[k * %d + l];", BLOCK);
  for (int i = 0; i < 4; i++) text_close(x, "}");
  if (gr->nops == 1) return;
  print_units(&d, x, first, last);
  print_epilogue(&d, x);
  text_close(x, "}");
}
