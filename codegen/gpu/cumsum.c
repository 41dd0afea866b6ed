/* Running sums along an axis: a block brings a tile of a few lines into shared memory, neighbouring
   threads neighbouring elements, one of its threads adds up each line in the CPU's order, and the
   tile goes to the result. Contract: a tile is read before its sums are written, so the result may
   lie over the operand. */
#include "codegen/schedule/cumsum.h"
#include "codegen/gpu/gpu.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

/* A tile may have columns behind the last line. */
static bool ends_within(const GridCumsumSchedule *s, const char *lines) {
  return s->lines % s->width || !text_is_number(lines);
}

/* Opens a loop over the elements of a tile: row and column in it, line and place `at` of all. A
   thread has the same elements each time. lines: how many there are at run time. */
static void open_tile(Gen *g, Text *x, const GridCumsumSchedule *s, long long inner, bool backward,
                      const char *lines) {
  const char *I = g->index;
  int all = s->width * s->depth, each = (all + s->threads - 1) / s->threads;
  long long n = s->elements;
  if (each > 1) {
    text_line(x, "#pragma unroll %d", each < 16 ? each : 16);
    text_open(x, "for (int q = 0; q < %d; q++) {", each);
    text_line(x, "const int m = q * %d + (int)threadIdx.x;", s->threads);
  } else {
    text_open(x, "{");
    text_line(x, "const int m = (int)threadIdx.x;");
  }
  if (s->width == 1)
    text_line(x, "const int row = m;");
  else if (s->along)
    text_line(x, "const int row = m %% %d, column = m / %d;", s->depth, s->depth);
  else
    text_line(x, "const int row = m / %d, column = m %% %d;", s->width, s->width);
  Text in = text_new(g->a, 0);
  if (all % s->threads) text_add(&in, "m < %d", all);
  if (n % s->depth) text_add(&in, "%si0 + row < %lld", in.s.n ? " && " : "", n);
  if (ends_within(s, lines))
    text_add(&in, "%sline0 + %s < %s", in.s.n ? " && " : "", s->width == 1 ? "0" : "column", lines);
  text_open(x, in.s.n ? "if (%s) {" : "{%s", text_str(&in));
  const char *i = backward ? arena_printf(g->a, "(%lld - i0 - row)", n - 1) : "(i0 + row)";
  text_line(x, s->width == 1 ? "const %s line = line0;" : "const %s line = line0 + column;", I);
  if (inner == 1)
    text_line(x, "const %s at = line * %lld + %s;", I, n, i);
  else
    text_line(x, "const %s at = line / %lld * %lld + line %% %lld + %s * %lld;", I, inner,
              n * inner, inner, i, inner);
}

static void close_tile(Text *x) {
  text_close(x, "}");
  text_close(x, "}");
}

/* The element of a tile at a row and a column. */
static const char *element(Gen *g, const GridCumsumSchedule *s, const char *row,
                           const char *column) {
  if (s->width == 1) return arena_printf(g->a, "tile[%s]", row);
  return arena_printf(g->a, "tile[%s * %d + %s]", row, grid_tile_stride(s->width), column);
}

void cuda_cumsum(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  const Type *t = value_type(gr->e, gr->in[0]);
  int axis = (int)op->attr[AT_AXIS].i;
  long long n = t->dim[axis], inner = 1;
  for (int i = axis + 1; i < t->rank; i++) inner *= t->dim[i];
  const char *T = dtype_compute(t->dtype);
  GridCumsumSchedule s =
      grid_cumsum_schedule(&cuda_target(g->target)->machine, n ? t->numel / n : 0, n, inner,
                           t->dtype == DT_F64 || t->dtype == DT_I64 ? 8 : 4);
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  const char *I = g->index;
  k->flops = (uint64_t)t->numel;
  k->block = s.threads;
  k->grid = s.blocks;
  kernel_schedule(k, &grid_cumsum_kind, &s, sizeof s);
  if (t->numel == 0) return;
  bool backward = op->attr[AT_BACKWARD].i;
  const char *lines = arena_printf(g->a, "%lld", (long long)s.lines);
  if (dims_bounded(t, 0, axis))
    lines =
        text_product(g->a, prefix_axes_text(g, gr->e, t, axis), arena_printf(g->a, "%lld", inner));
  bool once = s.depth >= n;
  text_line(x, "const %s line0 = (%s)blockIdx.x * %d;", I, I, s.width);
  text_line(x, "__shared__ %s tile[%d];", T, s.depth * grid_tile_stride(s.width));
  text_line(x, "%s sum = %s;", T, reduce_start(g, OP_SUM, t->dtype, n));
  if (once)
    text_line(x, "const %s i0 = 0;", I);
  else
    text_open(x, "for (%s i0 = 0; i0 < %lld; i0 += %d) {", I, n, s.depth);
  open_tile(g, x, &s, inner, backward, lines);
  const char *load = scalar_load(g->a, t->dtype, "in0", "at");
  const char *inside = inside_text(g, gr->e, t, "at");
  if (inside) load = arena_printf(g->a, "%s ? %s : (%s)0", inside, load, T);
  text_line(x, "%s = %s;", element(g, &s, "row", "column"), load);
  close_tile(x);
  text_line(x, "block_sync();");
  text_open(x, "if ((int)threadIdx.x < %d%s) {", s.width,
            ends_within(&s, lines) ? arena_printf(g->a, " && line0 + (int)threadIdx.x < %s", lines)
                                   : "");
  text_line(x, "#pragma unroll 8");
  text_open(x,
            n % s.depth ? "for (int h = 0; h < %d && i0 + h < %lld; h++) {"
                        : "for (int h = 0; h < %d; h++) {",
            s.depth, n);
  const char *at = element(g, &s, "h", "(int)threadIdx.x");
  text_line(x, "sum += %s;", at);
  text_line(x, "%s = sum;", at);
  text_close(x, "}");
  text_close(x, "}");
  text_line(x, "block_sync();");
  open_tile(g, x, &s, inner, backward, lines);
  text_line(x, "out0[at] = %s;", scalar_store(g->a, t->dtype, element(g, &s, "row", "column")));
  close_tile(x);
  if (!once) text_close(x, "}");
}
