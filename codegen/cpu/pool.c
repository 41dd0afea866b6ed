/* Prints windows over images that lie [N, H, W, C] in which no channel meets another: pools, and
   convolutions with a filter for each channel; with element-wise work on the result behind.
   Contract: a unit is an image row of the result (of the gradient by the filters: a tap), a block
   of channels is computed side by side; what is added, and in which order, is what codegen/window.c
   says. */
#include "codegen/cpu/pixel.h"
#include "codegen/reduction.h"
#include "ir/op/window.h"

enum { BLOCK = 64 }; /* channels */

typedef struct Pool {
  Window w;
  int64_t channels;
  WindowAxis h, v; /* rows, columns */
  bool back;       /* from the pooled image to the image */
  bool index;      /* acc are taps */
  int block;
} Pool;

static bool is_conv(const Op *op) {
  return op->kind == OP_CONV || op->kind == OP_CONV_INPUT_GRAD || op->kind == OP_CONV_FILTER_GRAD;
}

static Pool pool_of(Gen *g, const Group *gr, Text *x) {
  Pool p = {0};
  const Op *op = gr->root;
  if (is_conv(op)) {
    ConvGeom c = conv_geom(gr->e, op);
    p.channels = c.cout;
    p.h = c.h, p.v = c.w;
  } else {
    PoolGeom c = pool_geom(gr->e, op);
    p.channels = c.c;
    p.h = c.h, p.v = c.w;
  }
  p.back = op->kind == OP_CONV_INPUT_GRAD || op->kind == OP_MAX_POOL_GRAD ||
           op->kind == OP_AVG_POOL_GRAD;
  p.index = op->kind == OP_MAX_POOL_INDEX;
  p.block = p.channels < BLOCK ? (int)p.channels : BLOCK;
  p.w = (Window){.g = g, .gr = gr, .op = op, .x = x};
  return p;
}

/* Channel k0 + l of the pixel of image `n` at (row, col). */
static const char *load(const Pool *p, int operand, int64_t rows, int64_t columns) {
  Dtype dt = value_type(p->w.gr->e, p->w.op->operands[operand])->dtype;
  const char *index = arena_printf(p->w.g->a, "((n * %lld + row) * %lld + col) * %lld + k0 + l",
                                   (long long)rows, (long long)columns, (long long)p->channels);
  return scalar_load(p->w.g->a, dt, arena_printf(p->w.g->a, "in%d", p->w.in[operand]), index);
}

/* Opens the loop over taps of one axis: `row` or `col` of what is read, those outside left out. */
static void print_axis(const Pool *p, const WindowAxis *a, const char *tap, const char *at,
                       const char *to, bool descending) {
  Text *x = p->w.x;
  if (descending)
    text_open(x, "for (long %s = %lld; %s >= 0; %s--) {", tap, (long long)a->taps - 1, tap, tap);
  else
    text_open(x, "for (long %s = 0; %s < %lld; %s++) {", tap, tap, (long long)a->taps, tap);
  if (!p->back) {
    text_line(x, "const long %s = %s * %lld + %s * %lld - %lld;", at, to, (long long)a->stride, tap,
              (long long)a->dilation, (long long)a->lo);
    text_line(x, "if (%s < 0 || %s >= %lld) continue;", at, at, (long long)a->in);
    return;
  }
  text_line(x, "const long %s_from = %s + %lld - %s * %lld, %s = %s_from / %lld;", at, to,
            (long long)a->lo, tap, (long long)a->dilation, at, at, (long long)a->stride);
  text_line(x, "if (%s_from < 0 || %s >= %lld || %s * %lld != %s_from) continue;", at, at,
            (long long)a->out, at, (long long)a->stride, at);
}

/* The loops over the window's taps, and what each does with channel l. */
static void print_taps(const Pool *p) {
  const Op *op = p->w.op;
  Gen *g = p->w.g;
  Text *x = p->w.x;
  bool descending = op->kind == OP_MAX_POOL_GRAD || op->kind == OP_AVG_POOL_GRAD;
  int64_t rows = p->back ? p->h.out : p->h.in, columns = p->back ? p->v.out : p->v.in;
  print_axis(p, &p->h, "r", "row", "oy", descending);
  print_axis(p, &p->v, "s", "col", "ox", descending);
  const char *count = NULL;
  if (op->kind == OP_AVG_POOL_GRAD) {
    PoolGeom c = pool_geom(p->w.gr->e, op);
    count = window_count_text(&p->w, &c, "row", "col");
    text_line(x, "const %s count = %s;", p->w.T, count);
  }
  text_line(x, "GC_BRANCH;");
  text_line(x, "GC_IVDEP");
  text_open(x, "for (int l = 0; l < w; l++) {");
  text_line(x, "const %s v = %s;", p->w.T, load(p, 0, rows, columns));
  switch ((int)op->kind) {
  case OP_CONV:
  case OP_CONV_INPUT_GRAD:
    text_line(x, "const %s k = in%d[(r * %lld + s) * %lld + k0 + l];", p->w.T, p->w.in[1],
              (long long)p->v.taps, (long long)p->channels);
    text_line(x, "acc[l] = __builtin_fmaf(k, v, acc[l]);");
    break;
  case OP_MAX_POOL:
    text_line(x, "const %s m = acc[l];", p->w.T);
    text_line(x, "acc[l] = %s;", reduce_step(g, OP_REDUCE_MAX, "m", "v"));
    break;
  case OP_MAX_POOL_INDEX:
    text_line(x, "const %s m = most[l];", p->w.T);
    text_line(x, "const int32_t old = acc[l], tap = (int32_t)(r * %lld + s);",
              (long long)p->v.taps);
    text_line(x, "const int better = (old < 0) | (%s);",
              reduce_beats(g, OP_ARGMAX, p->w.dt, "v", "m"));
    text_line(x, "acc[l] = better ? tap : old;");
    text_line(x, "most[l] = better ? v : m;");
    break;
  case OP_MAX_POOL_TAKE:
  case OP_MAX_POOL_GRAD: {
    const char *index =
        op->kind == OP_MAX_POOL_GRAD
            ? load(p, 1, rows, columns)
            : arena_printf(g->a, "in%d[((n * %lld + oy) * %lld + ox) * %lld + k0 + l]", p->w.in[1],
                           (long long)p->h.out, (long long)p->v.out, (long long)p->channels);
    text_line(x, "const int32_t named = %s;", index);
    text_line(x, "const %s m = acc[l], with = %s;", p->w.T,
              op->kind == OP_MAX_POOL_GRAD ? "m + v" : "v");
    text_line(x, "acc[l] = named == (int32_t)(r * %lld + s) ? with : m;", (long long)p->v.taps);
    break;
  }
  case OP_AVG_POOL: text_line(x, "acc[l] += v;"); break;
  default: text_line(x, "acc[l] += v / count;"); break; /* OP_AVG_POOL_GRAD */
  }
  for (int i = 0; i < 3; i++) text_close(x, "}");
}

static void print_start(const Pool *p) {
  Text *x = p->w.x;
  const char *start = "0";
  if (p->w.op->kind == OP_MAX_POOL) start = reduce_start(p->w.g, OP_REDUCE_MAX, p->w.dt);
  if (p->index) {
    start = "-1";
    text_line(x, "%s most[%d];", p->w.T, p->block);
    text_line(x, "for (int l = 0; l < w; l++) most[l] = %s;",
              reduce_start(p->w.g, OP_REDUCE_MAX, p->w.dt));
  }
  text_line(x, "for (int l = 0; l < w; l++) acc[l] = %s;", start);
}

/* Opens the loop over blocks of channels from k0 on, `w` of them. */
static void print_blocks(const Pool *p) {
  Text *x = p->w.x;
  text_open(x, "for (long k0 = 0; k0 < %lld; k0 += %d) {", (long long)p->channels, p->block);
  if (p->channels % p->block)
    text_line(x, "const int w = %lld - k0 < %d ? (int)(%lld - k0) : %d;", (long long)p->channels,
              p->block, (long long)p->channels, p->block);
  else
    text_line(x, "enum { w = %d };", p->block);
}

static void print_results(const Pool *p, const char *const *coord, const char *flat) {
  const Group *gr = p->w.gr;
  Text *x = p->w.x;
  text_line(x, "const long flat = %s;", flat);
  text_line(x, "(void)flat;");
  text_line(x, "GC_IVDEP");
  text_open(x, "for (int l = 0; l < w; l++) {");
  Site s = {.shape = gr->domain,
            .coord = coord,
            .flat = "(flat + l)",
            .layout = value_at(gr->e, gr->out[0])->layout,
            .have = p->w.op->results[0],
            .have_text = p->w.sum};
  site_body(p->w.g, x, gr, &s);
  text_close(x, "}");
}

/* The gradient by the filters: a unit is a tap. */
static void print_filters(Pool *p) {
  Text *x = p->w.x;
  ConvGeom c = conv_geom(p->w.gr->e, p->w.op);
  text_line(x, "const long r = u / %lld, s = u %% %lld;", (long long)c.w.taps, (long long)c.w.taps);
  print_blocks(p);
  p->w = window_new(p->w.g, p->w.gr, x, p->block);
  text_line(x, "f32 part[%d];", p->block);
  text_line(x, "for (int l = 0; l < w; l++) acc[l] = 0;");
  window_chunks(x, &c);
  window_chunk_rows(x, &c);
  text_line(x, "for (int l = 0; l < w; l++) part[l] = 0;");
  text_open(x, "for (long n = n0; n < n0 + images; n++) {");
  text_open(x, "for (long i = y; i < y + rows; i++) {");
  text_open(x, "for (long j = 0; j < %lld; j++) {", (long long)c.w.out);
  text_line(x, "const long row = i * %lld + r * %lld - %lld, col = j * %lld + s * %lld - %lld;",
            (long long)c.h.stride, (long long)c.h.dilation, (long long)c.h.lo,
            (long long)c.w.stride, (long long)c.w.dilation, (long long)c.w.lo);
  text_line(x, "if (col < 0 || col >= %lld) continue;", (long long)c.w.in);
  text_line(x, "const f32 *dy = in%d + ((n * %lld + i) * %lld + j) * %lld + k0;", p->w.in[0],
            (long long)c.h.out, (long long)c.w.out, (long long)p->channels);
  text_line(x, "const f32 *at = in%d + ((n * %lld + row) * %lld + col) * %lld + k0;", p->w.in[1],
            (long long)c.h.in, (long long)c.w.in, (long long)p->channels);
  text_line(x, "GC_BRANCH;");
  text_line(x, "GC_IVDEP");
  text_line(x, "for (int l = 0; l < w; l++) part[l] = __builtin_fmaf(dy[l], at[l], part[l]);");
  for (int i = 0; i < 3; i++) text_close(x, "}");
  text_line(x, "for (int l = 0; l < w; l++) acc[l] += part[l];");
  text_close(x, "}");
  print_results(p, (const char *[]){"(k0 + l)", "0", "r", "s"},
                arena_printf(p->w.g->a, "u * %lld + k0", (long long)p->channels));
  text_close(x, "}");
}

void cpu_pool(Gen *g, const Group *gr) {
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  Pool p = pool_of(g, gr, x);
  const Type *t = gr->domain;
  bool filters = gr->root->kind == OP_CONV_FILTER_GRAD;
  kernel_args(g, k, gr);
  k->flops = op_flops(gr->e, gr->op);
  int64_t units = filters ? t->dim[2] * t->dim[3] : t->dim[0] * t->dim[2];
  kernel_units(k, k->flops < SERIAL_WORK ? 1 : units);
  if (k->units > 1) cpu_split_full(k, gr, 1, 0, t->numel);
  text_line(x, "typedef long pos;");
  if (k->units > 1)
    text_open(x, "for (long u = u0; u < u1; u++) {");
  else
    text_open(x, "for (long u = 0; u < %lld; u++) {", (long long)units);
  if (filters) {
    print_filters(&p);
    text_close(x, "}");
    return;
  }
  text_line(x, "const long n = u / %lld, oy = u %% %lld;", (long long)t->dim[2],
            (long long)t->dim[2]);
  text_open(x, "for (long ox = 0; ox < %lld; ox++) {", (long long)t->dim[3]);
  print_blocks(&p);
  p.w = window_new(g, gr, x, p.block);
  print_start(&p);
  print_taps(&p);
  if (gr->root->kind == OP_AVG_POOL) {
    PoolGeom c = pool_geom(gr->e, gr->root);
    text_line(x, "const %s count = %s;", p.w.T, window_count_text(&p.w, &c, "oy", "ox"));
    text_line(x, "for (int l = 0; l < w; l++) acc[l] /= count;");
  }
  print_results(&p, (const char *[]){"n", "(k0 + l)", "oy", "ox"},
                arena_printf(g->a, "(u * %lld + ox) * %lld + k0", (long long)t->dim[3],
                             (long long)p.channels));
  for (int i = 0; i < 3; i++) text_close(x, "}");
}
