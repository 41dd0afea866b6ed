/* Prints pools over images in NHWC and their gradients, with an element-wise epilogue. Contract: a
   unit is an image row of the result, a block of channels is computed side by side. The terms of a
   sum and their order are those of print/window.c. Rows and columns that the same taps reach have
   code of their own without tests if the window has few taps; then a tap is one line for all
   channels of the block. A window of more taps is specialised by columns alone, with a loop over
   its rows. In a very wide one each tap is tested, and where bounded rows or columns are so few in
   a run that a position is near both sides. Halves are rounded and stored for some pixels at a
   time: sums of a single one would still be on their way to the cache. If such pixels read
   neighbours, one loop goes over the channels of all. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/epilogue.h"
#include "codegen/cpu/pixel.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"
#include "ir/op/window.h"

enum {
  CELL = POOL_CELL,
  TILE = 512,   /* numbers of pixels that are stored at once, unless a pixel has more */
  REGISTER = 16 /* numbers of the largest one */
};

typedef struct Pool {
  Window w;
  PoolSchedule s;
  WindowAxis h, v; /* rows, columns */
  bool back;       /* from the pooled image to the image */
  bool index;      /* acc are taps */
  bool descending; /* in the order of the windows that a pixel is in */
  /* Rows of the source and of the result, and columns: numbers, or extents. */
  const char *source, *rows, *source_columns, *columns;
  bool less;       /* a run has so many positions of a phase of columns less */
  bool less_rows;  /* the same of rows, whose spans at the lower side lie so much higher */
  int64_t tile;    /* pixels that are stored at once; 0: each for itself */
  bool named;      /* taps of a tile's pixels are in arrays of 32 bits, one for each tap */
  bool wide;       /* numbers that a tile reads are in arrays of f32, one for each row … */
  int64_t wide_lo; /* … from this column on, over that of its first pixel */
} Pool;

static bool reads_halves(const Group *gr) {
  return dtype_is_half(value_type(gr->e, gr->root->operands[0])->dtype);
}

/* How many pixels are read and stored at once: their channels lie behind each other, and some are
   halves. */
static int64_t pixels_at_once(const Pool *p, const Group *gr) {
  bool halves = reads_halves(gr);
  for (int i = 0; i < gr->nout && !p->index; i++)
    halves |= dtype_is_half(value_type(gr->e, gr->yield[i])->dtype);
  if (!halves || p->s.taps == TAPS_IN_LOOPS || p->s.block != p->s.channels) return 0;
  const int64_t pixels = TILE / p->s.channels;
  return pixels > 1 ? pixels : 1;
}

static Pool pool_of(Gen *g, const Group *gr, Text *x, uint64_t flops) {
  Pool p = {0};
  const Op *op = gr->root;
  PoolGeom c = pool_geom(gr->e, op);
  p.h = c.h, p.v = c.w;
  p.back = op->kind == OP_MAX_POOL_GRAD || op->kind == OP_AVG_POOL_GRAD;
  p.index = op->kind == OP_MAX_POOL_INDEX;
  p.descending = op->kind == OP_MAX_POOL_GRAD || op->kind == OP_AVG_POOL_GRAD;
  int64_t rows = gr->domain->dim[0] * gr->domain->dim[2];
  const bool bounded = type_extent(c.x, 2) != NULL;
  p.s = pool_schedule(g->a, &p.h, &p.v, p.back, c.c, rows, bounded, flops);
  p.source = dims_text(g, gr->e, p.back ? c.y : c.x, 2, 3);
  p.rows = dims_text(g, gr->e, gr->domain, 2, 3);
  p.source_columns = dims_text(g, gr->e, p.back ? c.y : c.x, 3, 4);
  p.columns = dims_text(g, gr->e, gr->domain, 3, 4);
  p.less = type_extent(c.y, 3) != NULL;
  if (p.less && !window_least_whole(&p.v, p.back)) p.s.taps = TAPS_IN_LOOPS;
  for (int i = 0; bounded && p.s.taps == TAPS_UNROLLED && i < p.s.nrows; i++)
    p.less_rows |= p.s.row[i].side != 0;
  p.tile = pixels_at_once(&p, gr);
  p.w = (Window){.g = g, .gr = gr, .op = op, .x = x};
  return p;
}

/* Channel k0 of the pixel of image `n` at (row, col). */
static const char *pixel_at(const Pool *p, int64_t rows, int64_t columns) {
  return arena_printf(p->w.g->a, "((n * %lld + row) * %lld + col) * %lld + k0", (long long)rows,
                      (long long)columns, (long long)p->s.channels);
}

/* Channel k0 + l of it. */
static const char *load(const Pool *p, int operand, int64_t rows, int64_t columns) {
  Dtype dt = value_type(p->w.gr->e, p->w.op->operands[operand])->dtype;
  const char *index = arena_printf(p->w.g->a, "%s + l", pixel_at(p, rows, columns));
  return scalar_load(p->w.g->a, dt, arena_printf(p->w.g->a, "in%d", p->w.in[operand]), index);
}

/* Opens the loop over taps of one axis: `row` or `col` of what is read, those outside left out. */
static void print_axis(const Pool *p, const WindowAxis *a, const char *tap, const char *at,
                       const char *to, bool descending) {
  Text *x = p->w.x;
  const char *places = a == &p->h ? p->source : p->source_columns;
  if (descending)
    text_open(x, "for (long %s = %lld; %s >= 0; %s--) {", tap, (long long)a->taps - 1, tap, tap);
  else
    text_open(x, "for (long %s = 0; %s < %lld; %s++) {", tap, tap, (long long)a->taps, tap);
  if (!p->back) {
    text_line(x, "const long %s = %s * %lld + %s * %lld - %lld;", at, to, (long long)a->stride, tap,
              (long long)a->dilation, (long long)a->lo);
    text_line(x, "if (%s < 0 || %s >= %s) continue;", at, at, places);
    return;
  }
  text_line(x, "const long %s_from = %s + %lld - %s * %lld, %s = %s_from / %lld;", at, to,
            (long long)a->lo, tap, (long long)a->dilation, at, at, (long long)a->stride);
  text_line(x, "if (%s_from < 0 || %s >= %s || %s * %lld != %s_from) continue;", at, at, places, at,
            (long long)a->stride, at);
}

/* What a tap is called in a tile: it has an array of what windows name, its row one of numbers,
   from this place on for the tile's first pixel. */
typedef struct TapName {
  const char *named, *row;
  const char *place;
} TapName;

/* What tap (r, s) does with channel l: `acc` is the sum so far, `most` the largest value. The tap's
   place in the source is (row, col). */
static void print_tap(const Pool *p, const char *tap, const TapName *name, const char *acc,
                      const char *most) {
  const Op *op = p->w.op;
  Gen *g = p->w.g;
  Text *x = p->w.x;
  int64_t rows = p->back ? p->h.out : p->h.in, columns = p->back ? p->v.out : p->v.in;
  text_line(x, "const %s v = %s;", p->w.T,
            p->wide ? arena_printf(g->a, "wide%s[%s + l]", name->row, name->place)
                    : load(p, 0, rows, columns));
  switch ((int)op->kind) {
  case OP_MAX_POOL:
    text_line(x, "const %s m = %s;", p->w.T, acc);
    text_line(x, "%s = %s;", acc, reduce_step(g, OP_REDUCE_MAX, "m", "v"));
    break;
  case OP_MAX_POOL_INDEX:
    text_line(x, "const %s m = %s;", p->w.T, most);
    text_line(x, "const int32_t old = %s;", acc);
    text_line(x, "const int better = (old < 0) | (%s);",
              reduce_beats(g, OP_ARGMAX, p->w.dt, "v", "m"));
    text_line(x, "%s = better ? (int32_t)(%s) : old;", acc, tap);
    text_line(x, "%s = better ? v : m;", most);
    break;
  case OP_MAX_POOL_TAKE:
  case OP_MAX_POOL_GRAD: {
    const char *index =
        p->named ? arena_printf(g->a, "named%s[l]", name->named)
        : op->kind == OP_MAX_POOL_GRAD
            ? load(p, 1, rows, columns)
            : arena_printf(g->a, "in%d[((n * %lld + oy) * %lld + ox) * %lld + k0 + l]", p->w.in[1],
                           (long long)p->h.out, (long long)p->v.out, (long long)p->s.channels);
    text_line(x, "const int32_t named = %s;", index);
    text_line(x, "const %s m = %s, with = %s;", p->w.T, acc,
              op->kind == OP_MAX_POOL_GRAD ? "m + v" : "v");
    text_line(x, "%s = named == (int32_t)(%s) ? with : m;", acc, tap);
    break;
  }
  case OP_AVG_POOL: text_line(x, "%s += v;", acc); break;
  default: text_line(x, "%s += v / count;", acc); break; /* OP_AVG_POOL_GRAD */
  }
}

static const char *sum_type(const Pool *p) { return p->index ? "int32_t" : p->w.T; }

static const char *start_of(const Pool *p) {
  if (p->index) return "-1";
  return p->w.op->kind == OP_MAX_POOL ? reduce_start(p->w.g, OP_REDUCE_MAX, p->w.dt, 1) : "0";
}

/* By the pooled image's window at (row, col), of which a gradient takes a part. */
static void print_count(const Pool *p) {
  if (p->w.op->kind != OP_AVG_POOL_GRAD) return;
  PoolGeom c = pool_geom(p->w.gr->e, p->w.op);
  text_line(p->w.x, "const %s count = %s;", p->w.T, window_count_text(&p->w, &c, "row", "col"));
}

/* ---- taps in loops ---- */

static void print_taps(const Pool *p) {
  Text *x = p->w.x;
  print_axis(p, &p->h, "r", "row", "oy", p->descending);
  print_axis(p, &p->v, "s", "col", "ox", p->descending);
  print_count(p);
  text_line(x, "GC_BRANCH;");
  text_line(x, "GC_IVDEP");
  text_open(x, "for (int l = 0; l < w; l++) {");
  print_tap(p, arena_printf(p->w.g->a, "r * %lld + s", (long long)p->v.taps), NULL, "acc[l]",
            "most[l]");
  for (int i = 0; i < 3; i++) text_close(x, "}");
}

/* Sums of `n` channels, with the largest values where acc are their taps. */
static void print_start(const Pool *p, const char *n) {
  Text *x = p->w.x;
  if (p->index) {
    text_line(x, "GC_LANES %s most[%d];", p->w.T, (p->s.block + CELL - 1) / CELL * CELL);
    text_line(x, "for (int l = 0; l < %s; l++) most[l] = %s;", n,
              reduce_start(p->w.g, OP_REDUCE_MAX, p->w.dt, 1));
  }
  text_line(x, "for (int l = 0; l < %s; l++) acc[l] = %s;", n, start_of(p));
}

/* Opens the loop over blocks of channels from k0 on, `w` of them. */
static void print_blocks(const Pool *p) {
  Text *x = p->w.x;
  text_open(x, "for (long k0 = 0; k0 < %lld; k0 += %d) {", (long long)p->s.channels, p->s.block);
  if (p->s.channels % p->s.block)
    text_line(x, "const int w = %lld - k0 < %d ? (int)(%lld - k0) : %d;", (long long)p->s.channels,
              p->s.block, (long long)p->s.channels, p->s.block);
  else
    text_line(x, "enum { w = %d };", p->s.block);
}

static void print_results(const Pool *p, const char *const *coord, const char *flat) {
  const Group *gr = p->w.gr;
  Text *x = p->w.x;
  text_line(x, "const long flat = %s;", flat);
  text_line(x, "(void)flat;");
  text_line(x, "GC_IVDEP");
  text_open(x, "for (int l = 0; l < w; l++) {");
  EpilogueSite s = {.shape = gr->domain,
                    .coord = coord,
                    .flat = "(flat + l)",
                    .layout = pixel_layout(p->w.g->ctx),
                    .have = p->w.op->results[0],
                    .have_text = p->w.sum};
  epilogue_body(p->w.g, x, gr, &s);
  text_close(x, "}");
}

/* A mean is a sum by the pixels of the window at (oy, ox). */
static void print_division(const Pool *p) {
  const Group *gr = p->w.gr;
  if (gr->root->kind != OP_AVG_POOL) return;
  PoolGeom c = pool_geom(gr->e, gr->root);
  text_line(p->w.x, "const %s count = %s;", p->w.T, window_count_text(&p->w, &c, "oy", "ox"));
  text_line(p->w.x, "for (int l = 0; l < w; l++) acc[l] /= count;");
}

/* The row among those of all images. */
static const char *row_of(const Pool *p) {
  if (text_is_number(p->rows)) return "u";
  return arena_printf(p->w.g->a, "(n * %lld + oy)", (long long)p->w.gr->domain->dim[2]);
}

/* What is done with the sums, for the pixel (oy, ox). */
static void print_pixel_end(const Pool *p) {
  print_division(p);
  print_results(p, (const char *[]){"n", "(k0 + l)", "oy", "ox"},
                arena_printf(p->w.g->a, "(%s * %lld + ox) * %lld + k0", row_of(p),
                             (long long)p->w.gr->domain->dim[3], (long long)p->s.channels));
}

/* Every pixel and its taps in loops, each tap tested. */
static void print_loops(Pool *p) {
  Text *x = p->w.x;
  text_open(x, "for (long ox = 0; ox < %s; ox++) {", p->columns);
  print_blocks(p);
  p->w = window_new(p->w.g, p->w.gr, x, p->s.block);
  print_start(p, "w");
  print_taps(p);
  print_pixel_end(p);
  for (int i = 0; i < 2; i++) text_close(x, "}");
}

/* ---- taps written out ---- */

/* The pixels of a tile read neighbours, so that their channels are one sequence. */
static bool is_flat(const Pool *p, const Phase *columns) {
  const OpKind kind = p->w.op->kind;
  return columns->over == 1 && (kind == OP_MAX_POOL || kind == OP_MAX_POOL_GRAD);
}

/* Opens the loop over tiles of a span's pixels. */
static void open_tiles(Pool *p, const Phase *columns) {
  Text *x = p->w.x;
  const char *from = p->less && columns->side > 0 ? "-less" : "0";
  const char *less = p->less && columns->side >= 0 ? " - less" : "";
  const long long channels = p->s.channels, n = columns->n, tile = p->tile;
  const Op *op = p->w.op;
  text_open(x, "for (long i0 = %s, many; i0 < %lld%s; i0 += many) {", from, n, less);
  text_line(x, "many = %lld%s - i0 < %lld ? %lld%s - i0 : %lld;", n, less, tile, n, less, tile);
  p->w = window_new(p->w.g, p->w.gr, x, 0);
  text_line(x, "GC_LANES %s tile[%lld];", sum_type(p), tile * channels + REGISTER);
  text_line(x, "enum { k0 = 0, w = %lld };", channels);
  p->named = is_flat(p, columns) && op->kind == OP_MAX_POOL_GRAD &&
             value_type(p->w.gr->e, op->operands[1])->dtype == DT_U8;
  p->wide = reads_halves(p->w.gr);
}

/* Opens the loop over a tile's pixels; what ends the loop over cells, of a pixel or of all. */
static const char *open_pixels(Pool *p, const Phase *columns) {
  Text *x = p->w.x;
  Gen *g = p->w.g;
  if (is_flat(p, columns)) {
    text_open(x, "{");
    text_line(x, "const long i = i0;");
    text_line(x, "%s *acc = tile;", sum_type(p));
    return arena_printf(g->a, "(many * w + %d) / %d * %d", REGISTER - 1, REGISTER, REGISTER);
  }
  text_open(x, "for (long i = i0; i < i0 + many; i++) {"); /* cells behind one are the next one's */
  text_line(x, "const long ox = %lld + i * %lld;", (long long)columns->first,
            (long long)columns->step);
  text_line(x, "(void)ox;");
  text_line(x, "%s *acc = tile + (i - i0) * w;", sum_type(p));
  return arena_printf(g->a, "%lld", (long long)(p->s.channels + CELL - 1) / CELL * CELL);
}

/* Opens the loops over the pixels of a span of columns and their blocks of channels; what ends the
   loop over a block's cells. */
static const char *open_span(Pool *p, const Phase *columns) {
  Text *x = p->w.x;
  Gen *g = p->w.g;
  const char *from = p->less && columns->side > 0 ? "-less" : "0";
  const char *less = p->less && columns->side >= 0 ? " - less" : "";
  if (p->tile) return open_pixels(p, columns);
  text_open(x, "for (long i = %s; i < %lld%s; i++) {", from, (long long)columns->n, less);
  text_line(x, "const long ox = %lld + i * %lld;", (long long)columns->first,
            (long long)columns->step);
  print_blocks(p);
  int wide = (p->s.block + CELL - 1) / CELL * CELL;
  p->w = window_new(g, p->w.gr, x, wide);
  return p->s.channels % p->s.block ? arena_printf(g->a, "(w + %d) / %d * %d", CELL - 1, CELL, CELL)
                                    : arena_printf(g->a, "%d", wide);
}

typedef struct Pixels {
  const Pool *p;
  const Phase *columns;
} Pixels;

static void print_pixel(const void *of, Text *x) {
  const Pixels *s = of;
  const Pool *p = s->p;
  text_line(x, "const long ox = %lld + (i0 + i) * %lld;", (long long)s->columns->first,
            (long long)s->columns->step);
  text_line(x, "const long flat = (%s * %lld + ox) * %lld;", row_of(p),
            (long long)p->w.gr->domain->dim[3], (long long)p->s.channels);
  text_line(x, "const %s *acc = tile + i * w;", sum_type(p));
  text_line(x, "(void)flat, (void)acc;");
}

static const char *index_text(const Pool *p) {
  const Dtype dt = value_type(p->w.gr->e, p->w.op->results[0])->dtype;
  return arena_printf(p->w.g->a, "(%s)acc[j]", dtype_compute(dt));
}

/* Nothing is done with the sums, whose results lie as they do: one row for all pixels. */
static bool is_copied(const Pool *p, const Phase *columns) {
  const Group *gr = p->w.gr;
  const Value *v = value_at(gr->e, gr->out[0]);
  return p->index && gr->nops == 1 && columns->step == 1 && v->layout &&
         layout_same(v->type, v->layout, pixel_layout(p->w.g->ctx));
}

/* The sums of a tile become results. */
static void close_tiles(Pool *p, const Phase *columns) {
  Text *x = p->w.x;
  print_division(p);
  text_close(x, "}");
  const Pixels pixels = {p, columns};
  const bool copied = is_copied(p, columns);
  const EpilogueRows rows = {.row = "i",
                             .rows = copied ? "1" : "many",
                             .width = (copied ? p->tile : 1) * p->s.channels,
                             .columns = copied ? "many * w" : NULL,
                             .joined = columns->step == 1,
                             .compact = "tile",
                             .place = print_pixel,
                             .of = &pixels};
  const EpilogueSite s = {.shape = p->w.gr->domain,
                          .coord = (const char *[]){"n", "j", "oy", "ox"},
                          .flat = "(flat + j)",
                          .layout = pixel_layout(p->w.g->ctx),
                          .have = p->w.op->results[0],
                          .have_text = p->index ? index_text(p) : "acc[j]"};
  epilogue_rows(p->w.g, x, p->w.gr, &rows, &s);
  text_close(x, "}");
}

static void close_span(Pool *p, const Phase *columns) {
  if (p->tile) {
    close_tiles(p, columns);
    return;
  }
  print_pixel_end(p);
  for (int i = 0; i < 2; i++) text_close(p->w.x, "}");
}

static void print_column(const Pool *p, const Phase *columns, const Tap *c) {
  text_line(p->w.x, "const long col = i * %lld + %lld;", (long long)columns->over,
            (long long)c->at);
}

static void print_row_of(const Pool *p, const Phase *rows, const Tap *r) {
  text_line(p->w.x, "const long row = y * %lld + %lld;", (long long)rows->over, (long long)r->at);
}

/* A tap in the column of the window that `c` names. */
static void print_tap_at(const Pool *p, const Phase *columns, const Tap *c, const char *tap,
                         const char *named, const char *row, const char *acc, const char *most) {
  print_column(p, columns, c);
  print_count(p);
  const TapName name = {named, row,
                        arena_printf(p->w.g->a, "((i - i0) * %lld + %lld) * w",
                                     (long long)columns->over, (long long)(c->at - p->wide_lo))};
  print_tap(p, tap, &name, acc, most);
}

/* The numbers of a row that a tile's taps read, in f32. rows: NULL: `row` is known. */
static void print_wide(Pool *p, const Phase *rows, const Tap *r, const Phase *columns,
                       const char *name) {
  if (!p->wide || !columns->ntaps) return;
  Text *x = p->w.x;
  int64_t lo = columns->tap[0].at, hi = lo;
  for (int k = 1; k < columns->ntaps; k++) {
    if (columns->tap[k].at < lo) lo = columns->tap[k].at;
    if (columns->tap[k].at > hi) hi = columns->tap[k].at;
  }
  p->wide_lo = lo;
  const long long over = columns->over, span = hi - lo + 1;
  text_line(x, "GC_LANES f32 wide%s[%lld];", name,
            ((p->tile - 1) * over + span) * p->s.channels + REGISTER);
  text_open(x, "{");
  if (rows) print_row_of(p, rows, r);
  text_line(x, "const long col = i0 * %lld + %lld;", over, (long long)lo);
  text_line(x, "widen_row_%s(wide%s, in%d + %s, ((many - 1) * %lld + %lld) * w);",
            dtype_name(p->w.dt), name, p->w.in[0],
            pixel_at(p, p->back ? p->h.out : p->h.in, p->back ? p->v.out : p->v.in), over, span);
  text_close(x, "}");
}

/* The taps that the windows of a tile's pixels name: gcc finds short vectors alone for a loop over
   numbers of 8 and 32 bits, and branches for what they leave over. rows: NULL: `row` is known. */
static void print_named(const Pool *p, const Phase *rows, const Tap *r, const Phase *columns,
                        const Tap *c, const char *name) {
  if (!p->named) return;
  Text *x = p->w.x;
  text_line(x, "GC_LANES i32 named%s[%lld];", name,
            (long long)(p->tile * p->s.channels + REGISTER));
  text_open(x, "{");
  if (rows) print_row_of(p, rows, r);
  text_line(x, "const long col = i0 * %lld + %lld;", (long long)columns->over, (long long)c->at);
  text_line(x, "widen_row_u8(named%s, in%d + %s, many * w);", name, p->w.in[1],
            pixel_at(p, p->h.out, p->v.out));
  text_close(x, "}");
}

static const Tap *tap_at(const Pool *p, const Phase *f, int k) {
  return &f->tap[p->descending ? f->ntaps - 1 - k : k];
}

static const char *tap_number(const Pool *p, const Tap *r, const Tap *c) {
  return arena_printf(p->w.g->a, "%lld", (long long)(r->index * p->v.taps + c->index));
}

/* Of the tap, and of its row. */
static const char *row_number(const Pool *p, const Tap *r) {
  return arena_printf(p->w.g->a, "%lld", (long long)r->index);
}

/* What a tile of pixels reads, in arrays. */
static void print_arrays(Pool *p, const Phase *rows, const Phase *columns) {
  for (int i = 0; i < rows->ntaps; i++) {
    const Tap *r = tap_at(p, rows, i);
    print_wide(p, rows, r, columns, row_number(p, r));
    for (int k = 0; k < columns->ntaps; k++) {
      const Tap *c = tap_at(p, columns, k);
      print_named(p, rows, r, columns, c, tap_number(p, r, c));
    }
  }
}

/* The pixels of a span of rows by one of columns. */
static void print_span(Pool *p, const Phase *rows, const Phase *columns) {
  Text *x = p->w.x;
  Gen *g = p->w.g;
  if (p->tile) open_tiles(p, columns);
  if (p->tile) print_arrays(p, rows, columns);
  const char *end = open_span(p, columns);
  text_line(x, "GC_BRANCH;");
  text_line(x, "GC_IVDEP");
  text_open(x, "for (int l = 0; l < %s; l++) {", end);
  text_line(x, "%s sum = %s;", sum_type(p), start_of(p));
  if (p->index) text_line(x, "%s best = %s;", p->w.T, reduce_start(g, OP_REDUCE_MAX, p->w.dt, 1));
  for (int i = 0; i < rows->ntaps; i++)
    for (int k = 0; k < columns->ntaps; k++) {
      const Tap *r = tap_at(p, rows, i), *c = tap_at(p, columns, k);
      text_open(x, "{");
      print_row_of(p, rows, r);
      const char *tap = tap_number(p, r, c);
      print_tap_at(p, columns, c, tap, tap, row_number(p, r), "sum", "best");
      text_close(x, "}");
    }
  text_line(x, "acc[l] = sum;");
  text_close(x, "}");
  close_span(p, columns);
}

/* The taps of a row of the window, one column after the other. */
static void print_columns(Pool *p, const Phase *columns, const char *end) {
  Text *x = p->w.x;
  Arena *a = p->w.g->a;
  for (int k = 0; k < columns->ntaps; k++) {
    const Tap *c = tap_at(p, columns, k);
    const char *name = arena_printf(a, "%lld", (long long)c->index);
    print_named(p, NULL, NULL, columns, c, name);
    text_line(x, "GC_IVDEP");
    text_open(x, "for (int l = 0; l < %s; l++) {", end);
    print_tap_at(p, columns, c, arena_printf(a, "r * %lld + %s", (long long)p->v.taps, name), name,
                 "", "acc[l]", "most[l]");
    text_close(x, "}");
  }
}

/* The pixels of a span of columns in any row: the window's rows in a loop. */
static void print_column_span(Pool *p, const Phase *columns) {
  Text *x = p->w.x;
  if (p->tile) open_tiles(p, columns);
  p->wide = false; /* each pixel has its own rows */
  const char *end = open_span(p, columns);
  print_start(p, end);
  print_axis(p, &p->h, "r", "row", "oy", p->descending);
  text_line(x, "GC_BRANCH;");
  print_columns(p, columns, end);
  text_close(x, "}");
  close_span(p, columns);
}

static void print_spans(Pool *p, const Phase *rows, int nrows, const Phase *columns, int ncolumns) {
  Text *x = p->w.x;
  for (int k = 0; k < nrows; k++) {
    const Phase *r = &rows[k];
    if (k > 0) x->indent--;
    const char *higher = arena_printf(p->w.g->a, " - less_rows * %lld", (long long)r->step);
    if (k + 1 < nrows)
      text_open(x, "%sif (oy >= %lld%s && oy < %lld%s && (oy - %lld) %% %lld == 0) {",
                k > 0 ? "} else " : "", (long long)r->first,
                p->less_rows && r->side > 0 ? higher : "", (long long)(r->first + r->n * r->step),
                p->less_rows && r->side >= 0 ? higher : "", (long long)r->first,
                (long long)r->step);
    else
      text_open(x, k > 0 ? "} else {" : "{");
    text_line(x, "const long y = (oy - %lld) / %lld;", (long long)r->first, (long long)r->step);
    for (int i = 0; i < ncolumns; i++) print_span(p, r, &columns[i]);
  }
  if (nrows) text_close(x, "}");
}

static void print_row(Pool *p) {
  switch (p->s.taps) {
  case TAPS_UNROLLED: print_spans(p, p->s.row, p->s.nrows, p->s.column, p->s.ncolumns); break;
  case TAPS_BY_COLUMN:
    for (int i = 0; i < p->s.ncolumns; i++) print_column_span(p, &p->s.column[i]);
    break;
  case TAPS_IN_LOOPS: print_loops(p); break;
  }
}

void cpu_pool(Gen *g, const Group *gr) {
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  const Type *t = gr->domain;
  kernel_args(g, k, gr);
  k->flops = op_flops(gr->e, gr->op);
  Pool p = pool_of(g, gr, x, k->flops);
  kernel_schedule(k, &pool_kind, &p.s, sizeof p.s);
  const char *all = text_product(g->a, dims_text(g, gr->e, t, 0, 1), p.rows);
  if (!type_extent(t, 0) && text_is_number(p.rows))
    all = arena_printf(g->a, "%lld", (long long)p.s.all_units);
  kernel_units_of(k, p.s.units, all);
  if (k->units > 1 && text_is_number(p.rows) && !p.less)
    cpu_split_full(k, gr, pixel_layout(g->ctx), 1, 0, t->numel);
  text_line(x, "typedef long pos;");
  if (p.less)
    text_line(x, "const long less = %lld - %s;", (long long)p.v.out,
              dims_text(g, gr->e, pool_geom(gr->e, gr->root).y, 3, 4));
  if (p.less_rows)
    text_line(x, "const long less_rows = %lld - %s;", (long long)p.h.out,
              dims_text(g, gr->e, pool_geom(gr->e, gr->root).y, 2, 3));
  if (k->units > 1)
    text_open(x, "for (long u = u0; u < u1; u++) {");
  else
    text_open(x, "for (long u = 0; u < %s; u++) {", all);
  text_line(x, "const long n = u / %s, oy = u %% %s;", p.rows, p.rows);
  const int64_t whole = p.less && p.s.taps != TAPS_IN_LOOPS ? window_least_whole(&p.v, p.back) : 1;
  const int64_t whole_rows = p.less_rows ? window_least_whole(&p.h, p.back) : 1;
  const char *few =
      whole > 1 ? arena_printf(g->a, "less > %lld", (long long)(p.v.out - whole)) : "";
  if (whole_rows > 1)
    few = arena_printf(g->a, "%s%sless_rows > %lld", few, *few ? " || " : "",
                       (long long)(p.h.out - whole_rows));
  if (*few) {
    text_open(x, "if (%s) {", few);
    print_loops(&p);
    x->indent--;
    text_open(x, "} else {");
  }
  print_row(&p);
  if (*few) text_close(x, "}");
  text_close(x, "}");
}
