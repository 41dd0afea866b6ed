/* Prints convolutions of f32 images that lie [N, H, W, C] and their gradients by the images, with
   element-wise work on the result behind, without a copy of the input: a tile of the result is some
   pixels of one image row by a panel of channels; for one row of the filter its operands lie side
   by side, so the tile runs through the filter's rows, columns and channels as through the depth of
   a product. Contract: filters lie in panels of the result's channels (passes/layout/images.c).
   Padding is left out: rows are clipped, and at an image's sides each filter column has its own
   loop over just the pixels that it reaches. Where image rows are short, a tile is one pixel of
   several images instead: of those every filter column reaches all or none. Every element is one
   chain of fma in the order of the filter's rows, columns and channels, as in window.c. With a
   stride the gradient's columns fall into as many phases, each with filter columns of its own. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/pixel.h"
#include "codegen/cpu/tile.h"

enum {
  BLOCK_BYTES = 1 << 18, /* of image rows that a panel of filters goes over */
  ROW_BYTES = 1 << 17,   /* of a row of the result that waits on the stack for its epilogue */
  FEW_ROWS = 16,         /* of the result: then panels are divided among threads, too */
  FEW_COLUMNS = 64       /* of the result, at most, where a tile may be of several images */
};

typedef struct Conv {
  Gen *g;
  const Group *gr;
  const CpuTarget *cpu;
  const Op *op;
  bool back;
  ConvGeom c;
  int64_t n, rows, columns;           /* of the result */
  int64_t in_rows, in_columns;        /* of the source */
  int64_t from_channels, to_channels; /* all groups */
  int64_t depth, width;               /* channels of a group: source, result */
  const Value *filter;
  int nr;                 /* columns of a panel */
  int64_t np;             /* panels of a group */
  int64_t lb, tap, panel; /* elements from one row of a panel to the next, from one filter column to
                             the next, from panel to panel */
  bool epilogue;
  bool whole; /* ... on a row at a time */
  bool once;  /* a panel's tiles have no pixel of the source in common: it asks for the next ones */
  Phase *phase;
  int nphases;
  int64_t blocks;      /* of images, of which a tile has a pixel each; 0: a tile is one image's */
  int64_t images, low; /* of a block: `low` blocks have one less */
  Phase *span;
  int nspans;
} Conv;

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

/* ---- tiles ---- */

/* A filter row's operands lie side by side. */
static bool is_run(const Conv *v) { return v->c.groups == 1 && !v->back && v->c.w.dilation == 1; }

/* Asks for as many rows of c with each filter row that all have come at its end. */
static Tile tile_new(const Conv *v, int rows, int64_t width) {
  int taps = (int)v->c.h.taps;
  return (Tile){
      .rows = rows, .width = width, .lb = v->lb, .lk = 1, .prefetch = (rows + taps - 1) / taps};
}

/* Pixels [i0, i0 + rows) of a phase. */
static Tile tile_at(const Conv *v, const Phase *f, int64_t i0, int rows, int64_t width) {
  Tile t = tile_new(v, rows, width);
  t.li = f->over * v->from_channels;
  if (v->once) t.next = rows * t.li;
  t.run = ARENA_ARRAY(v->g->a, Run, f->nreach + 1);
  bool all = is_run(v);
  for (int k = 0; k < f->nreach; k++) {
    const Reach *c = &f->reach[k];
    int lo = 0, hi = rows;
    while (lo < rows && c->at + (i0 + lo) * f->over < 0) lo++;
    while (hi > lo && c->at + (i0 + hi - 1) * f->over >= v->in_columns) hi--;
    if (lo < hi)
      t.run[t.nruns++] = (Run){c->at * v->from_channels, c->tap * v->tap, v->depth, lo, hi};
    all = all && lo == 0 && hi == rows;
  }
  if (all && t.nruns) {
    t.run[0].depth *= t.nruns;
    t.nruns = 1;
  }
  return t;
}

/* A pixel of a span in so many images. */
static Tile tile_across(const Conv *v, const Phase *span, int images, int64_t width) {
  Tile t = tile_new(v, images, width);
  t.li = v->in_rows * v->in_columns * v->from_channels;
  if (v->once) t.next = span->over * v->from_channels;
  t.run = ARENA_ARRAY(v->g->a, Run, span->nreach + 1);
  for (int k = 0; k < span->nreach; k++) {
    const Reach *c = &span->reach[k];
    t.run[t.nruns++] = (Run){c->at * v->from_channels, c->tap * v->tap, v->depth, 0, images};
  }
  if (is_run(v) && t.nruns) {
    t.run[0].depth *= t.nruns;
    t.nruns = 1;
  }
  return t;
}

/* Of the tiles of a row of one panel: tile k has `n` or n + 1 of `of`, so that none is short. */
static int rows_of(int64_t k, int64_t tiles, int64_t of) {
  return (int)(of / tiles + (k >= tiles - of % tiles));
}

/* Half cycles that a tile takes, by the rows that each run reaches: in a cycle it can load two
   registers and do two fma; and a chain goes on after four, and a bit. */
static int64_t tile_cost(const Conv *v, const Tile *t) {
  enum { CHAIN = 10 };
  int64_t lanes = v->cpu->vector / 4, vectors = (t->width + lanes - 1) / lanes, cost = 0;
  for (int i = 0; i < t->nruns; i++) {
    int64_t rows = t->run[i].hi - t->run[i].lo, most = rows * vectors;
    if (most < rows + vectors) most = rows + vectors;
    cost += t->run[i].depth * (most > CHAIN ? most : CHAIN);
  }
  return cost;
}

/* Whether tiles go across images: where they are cheaper so, with what they read still near. */
static void choose_tiles(Conv *v) {
  int64_t width = v->np == 1 ? v->width : v->nr, most = tile_rows(v->cpu, width);
  int64_t blocks = (v->n + most - 1) / most, along = 0, across = 0;
  if (v->n == 0 || v->n * v->rows < FEW_ROWS || v->columns > FEW_COLUMNS) return;
  for (int p = 0; p < v->nphases; p++) {
    const Phase *f = &v->phase[p];
    int64_t tiles = (f->n + most - 1) / most, i0 = 0;
    for (int64_t k = 0; k < tiles; k++) {
      Tile t = tile_at(v, f, i0, rows_of(k, tiles, f->n), width);
      along += tile_cost(v, &t);
      i0 += t.rows;
    }
  }
  for (int p = 0; p < v->nspans; p++)
    for (int64_t k = 0; k < blocks; k++) {
      Tile t = tile_across(v, &v->span[p], rows_of(k, blocks, v->n), width);
      across += v->span[p].n * tile_cost(v, &t);
    }
  int64_t images = rows_of(blocks - 1, blocks, v->n);
  int64_t bytes = images * v->c.h.taps * v->in_columns * v->from_channels * 4;
  bool fits = bytes <= BLOCK_BYTES && images * v->columns * v->nr * 4 <= ROW_BYTES;
  if (!fits || across * 20 > along * v->n * 19) return;
  v->blocks = blocks;
  v->images = images;
  v->low = v->n % blocks ? blocks - v->n % blocks : 0;
}

static Conv conv_of(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  Conv v = {.g = g, .gr = gr, .cpu = cpu_target(g->target), .op = op};
  v.back = op->kind == OP_CONV_INPUT_GRAD;
  v.c = conv_geom(gr->e, op);
  const Type *from = v.back ? v.c.y : v.c.x, *to = v.back ? v.c.x : v.c.y;
  v.n = v.c.n;
  v.rows = to->dim[2];
  v.columns = to->dim[3];
  v.in_rows = from->dim[2];
  v.in_columns = from->dim[3];
  v.from_channels = from->dim[1];
  v.to_channels = to->dim[1];
  v.depth = v.back ? v.c.gout : v.c.gin;
  v.width = v.back ? v.c.gin : v.c.gout;
  v.filter = value_at(gr->e, gr->in[group_arg(gr, op->operands[1])]);
  v.nr = v.filter->layout ? v.filter->layout->nr : 0;
  if (v.nr) {
    v.lb = v.nr;
    v.panel = v.c.h.taps * v.c.w.taps * v.depth * v.nr;
  } else {
    int lanes = v.cpu->vector / 4, most = v.cpu->vectors * lanes;
    int64_t panels = (v.width + most - 1) / most;
    v.nr = (int)(((v.width + panels - 1) / panels + lanes - 1) / lanes * lanes);
    v.lb = v.back ? v.width : v.to_channels; /* [KH][KW][O][C / groups] */
    v.panel = v.nr;
  }
  v.np = (v.width + v.nr - 1) / v.nr;
  v.tap = (v.back ? v.from_channels : v.depth) * v.lb; /* [KH][KW][O][C / groups] has all outputs */
  v.epilogue = gr->nops > 1;
  v.whole = v.epilogue && v.columns * v.nr * 4 <= ROW_BYTES;
  v.once = v.c.h.taps * v.c.w.taps == 1;
  v.phase = window_phases(g->a, &v.c.w, v.back, &v.nphases);
  v.span = window_spans(g->a, &v.c.w, v.back, &v.nspans);
  choose_tiles(&v);
  return v;
}

/* ---- rows ---- */

/* Filter rows that reach row `oy` of the result: `taps` of them from r0 on, and the source's row
   under the first. */
static void print_taps(const Conv *v, Text *x, int64_t *a_step, int64_t *b_step) {
  const WindowAxis *h = &v->c.h;
  int64_t row = v->in_columns * v->from_channels, filter_row = v->c.w.taps * v->tap;
  if (!v->back) {
    text_line(x, "const long at = oy * %lld - %lld;", (long long)h->stride, (long long)h->lo);
    text_line(x, "const long r0 = at < 0 ? (-at + %lld) / %lld : 0;", (long long)h->dilation - 1,
              (long long)h->dilation);
    text_line(x, "long r1 = at >= %lld ? 0 : (%lld - at) / %lld + 1;", (long long)h->in,
              (long long)h->in - 1, (long long)h->dilation);
    text_line(x, "if (r1 > %lld) r1 = %lld;", (long long)h->taps, (long long)h->taps);
    text_line(x, "const long taps = r1 > r0 ? r1 - r0 : 0, row = at + r0 * %lld;",
              (long long)h->dilation);
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
      "%lld >= %lld)) r0++;",
      (long long)h->taps, (long long)h->dilation, (long long)h->dilation, (long long)h->stride,
      (long long)h->dilation, (long long)h->stride, (long long)h->out);
  text_line(x, "for (long r = r0; r < %lld && at >= r * %lld; r += %lld) taps++;",
            (long long)h->taps, (long long)h->dilation, (long long)step);
  text_line(x, "const long row = (at - r0 * %lld) / %lld;", (long long)h->dilation,
            (long long)h->stride);
  *a_step = -(h->dilation / common) * row;
  *b_step = step * filter_row;
}

/* Element-wise work on `count` pixels, which are in the tile's buffer: those of the phase from i0
   on, or with `f` NULL the whole row. */
static void print_epilogue(const Conv *v, Text *x, const Phase *f, int64_t count, int64_t width) {
  const Type *t = v->gr->domain;
  text_open(x, "for (long i = 0; i < %lld; i++) {", (long long)count);
  if (f)
    text_line(x, "const long ox = %lld + (i0 + i) * %lld;", (long long)f->first,
              (long long)f->step);
  else
    text_line(x, "const long ox = i;");
  text_line(x, "const long flat = ((n * %lld + oy) * %lld + ox) * %lld + k0;", (long long)v->rows,
            (long long)v->columns, (long long)v->to_channels);
  text_line(x, "const f32 *acc = from + i * %d;", v->nr);
  text_line(x, "(void)flat;");
  text_open(x, "GC_IVDEP for (long j = 0; j < %lld; j++) {", (long long)width);
  Site s = {.shape = t,
            .coord = (const char *[]){"n", "(k0 + j)", "oy", "ox"},
            .flat = "(flat + j)",
            .layout = pixel_layout(v->g->ctx),
            .have = v->op->results[0],
            .have_text = "acc[j]"};
  site_body(v->g, x, v->gr, &s);
  text_close(x, "}");
  text_close(x, "}");
}

/* The tiles of a row of the result for one panel; those that are alike in one loop. */
static void print_phase(const Conv *v, Text *x, const Phase *f, int64_t width, int64_t a_step,
                        int64_t b_step) {
  int most = tile_rows(v->cpu, width);
  int64_t ld = v->epilogue ? v->nr : v->to_channels;
  int64_t tiles = (f->n + most - 1) / most, i0 = 0;
  for (int64_t k = 0; k < tiles;) {
    int rows = rows_of(k, tiles, f->n);
    Tile t = tile_at(v, f, i0, rows, width);
    int64_t end = i0 + rows;
    for (k++; k < tiles; k++, end += rows) {
      if (rows_of(k, tiles, f->n) != rows) break;
      Tile next = tile_at(v, f, end, rows, width);
      if (!tile_same(&t, &next)) break;
    }
    text_open(x, "for (long i0 = %lld; i0 < %lld; i0 += %d) {", (long long)i0, (long long)end,
              rows);
    if (v->epilogue && !v->whole)
      text_line(x, "f32 *c = tile;");
    else
      text_line(x, "f32 *c = out + (%lld + i0 * %lld) * %lld;", (long long)f->first,
                (long long)f->step, (long long)ld);
    text_line(x, "%s(a + i0 * %lld, %lldL, 0, b, %lldL, 0, c, %lldL, taps, 1, 1);",
              tile_function(v->g, &t), (long long)t.li, (long long)a_step, (long long)b_step,
              (long long)(v->epilogue && !v->whole ? ld : f->step * ld));
    if (v->epilogue && !v->whole) print_epilogue(v, x, f, rows, width);
    text_close(x, "}");
    i0 = end;
  }
}

/* The rows oy of `images` images from n0 on: each pixel's tile. */
static void print_across(const Conv *v, Text *x, int images, int64_t width, int64_t a_step,
                         int64_t b_step) {
  int64_t pixel = v->epilogue ? v->nr : v->to_channels;
  int64_t image = v->epilogue ? v->columns * v->nr : v->rows * v->columns * v->to_channels;
  for (int p = 0; p < v->nspans; p++) {
    const Phase *f = &v->span[p];
    Tile t = tile_across(v, f, images, width);
    text_open(x, "for (long i = 0; i < %lld; i++) {", (long long)f->n);
    text_line(x,
              "%s(a + i * %lld, %lldL, 0, b, %lldL, 0, out + (%lld + i * %lld) * %lld, %lldL, "
              "taps, 1, 1);",
              tile_function(v->g, &t), (long long)(f->over * v->from_channels), (long long)a_step,
              (long long)b_step, (long long)f->first, (long long)f->step, (long long)pixel,
              (long long)image);
    text_close(x, "}");
  }
  if (!v->epilogue) return;
  text_open(x, "for (long m = 0; m < %d; m++) {", images);
  text_line(x, "const long n = n0 + m;");
  text_line(x, "const f32 *from = tile + m * %lld;", (long long)image);
  print_epilogue(v, x, NULL, v->columns, width);
  text_close(x, "}");
}

/* One row of the result, `u`, or of a block of images, for panel q of group g. */
static void print_row(const Conv *v, Text *x, int64_t width) {
  int64_t a_step, b_step;
  text_line(x, "const long n0 = u / %lld%s, oy = u %% %lld, k0 = g * %lld + q * %d;",
            (long long)v->rows,
            v->blocks ? arena_printf(v->g->a, " * %lld - (u / %lld < %lld ? u / %lld : %lld)",
                                     (long long)v->images, (long long)v->rows, (long long)v->low,
                                     (long long)v->rows, (long long)v->low)
                      : "",
            (long long)v->rows, (long long)v->width, v->nr);
  print_taps(v, x, &a_step, &b_step);
  text_line(x, "const f32 *a = image + (n0 * %lld + row) * %lld + g * %lld;", (long long)v->in_rows,
            (long long)(v->in_columns * v->from_channels), (long long)v->depth);
  int64_t group = v->c.groups == 1 ? 0 : v->back ? v->depth * v->lb : v->width;
  text_line(x, "const f32 *b = filter + g * %lld + q * %lld + r0 * %lld;", (long long)group,
            (long long)v->panel, (long long)(v->c.w.taps * v->tap));
  if (v->epilogue && (v->whole || v->blocks))
    text_line(x, "f32 *out = tile;");
  else if (!v->epilogue)
    text_line(x, "f32 *out = (f32 *)out0 + (n0 * %lld + oy) * %lld + k0;", (long long)v->rows,
              (long long)(v->columns * v->to_channels));
  if (!v->blocks) {
    if (v->epilogue) text_line(x, "const long n = n0;");
    if (v->epilogue) text_line(x, "const f32 *from = tile;");
    for (int p = 0; p < v->nphases; p++) print_phase(v, x, &v->phase[p], width, a_step, b_step);
    if (v->whole) print_epilogue(v, x, NULL, v->columns, width);
    return;
  }
  if (v->low) {
    text_open(x, "if (u < %lld) {", (long long)(v->low * v->rows));
    print_across(v, x, (int)v->images - 1, width, a_step, b_step);
    x->indent--;
    text_open(x, "} else {");
  } else {
    text_open(x, "{");
  }
  print_across(v, x, (int)v->images, width, a_step, b_step);
  text_close(x, "}");
}

static void print_panel(const Conv *v, Text *x) {
  int64_t tail = v->width - (v->np - 1) * v->nr;
  if (tail == v->nr || v->np == 1) {
    print_row(v, x, v->np == 1 ? v->width : v->nr);
    return;
  }
  text_open(x, "if (q < %lld) {", (long long)v->np - 1);
  print_row(v, x, v->nr);
  x->indent--;
  text_open(x, "} else {");
  print_row(v, x, tail);
  text_close(x, "}");
}

void cpu_conv(Gen *g, const Group *gr) {
  Conv v = conv_of(g, gr);
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  k->flops = 2 * (uint64_t)(v.c.y->numel * v.c.gin * v.c.h.taps * v.c.w.taps);
  int64_t rows = (v.blocks ? v.blocks : v.n) * v.rows, panels = v.np * v.c.groups;
  bool by_rows = v.blocks || rows >= FEW_ROWS || panels == 1;
  kernel_units(k, k->flops < SERIAL_WORK ? 1 : by_rows ? rows : rows * panels);
  if (k->units > 1 && by_rows && !v.blocks)
    cpu_split_full(k, gr, pixel_layout(g->ctx), 1, 0, gr->domain->numel);
  const char *first = k->units > 1 ? "u0" : "0";
  text_line(x, "const f32 *image = in%d, *filter = in%d;", group_arg(gr, v.op->operands[0]),
            group_arg(gr, v.op->operands[1]));
  int64_t tail = v.width - (v.np - 1) * v.nr; /* the narrowest panel has the tallest tiles */
  if (v.epilogue)
    kernel_buffer(g, k, x, "f32", 4, "tile",
                  (v.blocks  ? v.images * v.columns
                   : v.whole ? v.columns
                             : tile_rows(v.cpu, tail)) *
                      v.nr);
  if (by_rows) {
    int64_t bytes = v.in_columns * v.from_channels * 4 * (v.blocks ? v.images : 1),
            block = BLOCK_BYTES / (bytes ? bytes : 1);
    const char *last = k->units > 1 ? "u1" : arena_printf(g->a, "%lld", (long long)rows);
    text_open(x, "for (long w0 = %s, w1; w0 < %s; w0 = w1) {", first, last);
    text_line(x, "w1 = w0 + %lld < %s ? w0 + %lld : %s;", (long long)(block ? block : 1), last,
              (long long)(block ? block : 1), last);
    text_open(x, "for (long g = 0; g < %lld; g++) {", (long long)v.c.groups);
    text_open(x, "for (long q = 0; q < %lld; q++) {", (long long)v.np);
    text_open(x, "for (long u = w0; u < w1; u++) {");
  } else {
    text_open(x, "for (long w = %s; w < %s; w++) {", first,
              k->units > 1 ? "u1" : arena_printf(g->a, "%lld", (long long)(rows * panels)));
    text_line(x, "const long u = w %% %lld, p = w / %lld;", (long long)rows, (long long)rows);
    text_line(x, "const long g = p / %lld, q = p %% %lld;", (long long)v.np, (long long)v.np);
    text_open(x, "{");
  }
  print_panel(&v, x);
  for (int i = 0; i < (by_rows ? 4 : 2); i++) text_close(x, "}");
}
