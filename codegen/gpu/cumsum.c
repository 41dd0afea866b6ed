/* Running sums along an axis: a block brings a tile of a few lines into shared memory, neighbouring
   threads neighbouring elements, one of its threads adds up each line in the CPU's order, and the
   tile goes to the result. Chunks of few long lines are lines, summed by a launch of their own;
   what is in front of each is then known to a third launch. Contract: a tile is read before its
   sums are written, so the result may lie over the operand. */
#include "codegen/schedule/cumsum.h"
#include "codegen/gpu/gpu.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

typedef struct Lines {
  Gen *g;
  const Group *gr;
  const Type *t;
  GridCumsumSchedule s;
  long long n, inner, chunks; /* elements and chunks of a line at its bound */
  bool backward;
  const char *length, *lines; /* elements of a line, and lines or their chunks, of this run */
  const char *T;              /* of sums */
} Lines;

/* Elements of a line that a block goes through, at most. */
static long long elements_of_block(const Lines *l) { return l->s.split ? SCAN_CHUNK : l->n; }

static bool once(const Lines *l) { return l->s.depth >= elements_of_block(l); }

/* A tile may have columns behind the last line, or rows behind the end of a line. */
static bool lines_end_within(const Lines *l) {
  const long long all = (long long)(l->s.outer * l->inner) * (l->s.split ? l->chunks : 1);
  return all % l->s.width || !text_is_number(l->lines);
}

static bool line_ends_within(const Lines *l) {
  return l->n % (l->s.split ? SCAN_CHUNK : l->s.depth) || !text_is_number(l->length);
}

/* Opens a condition, or a block. */
static void open_if(Text *x, Text *condition) {
  text_open(x, condition->s.n ? "if (%s) {" : "{%s", text_str(condition));
}

/* Row and column of element m of a tile. */
static void place_in_tile(const Lines *l, Text *x) {
  const int width = l->s.width, depth = l->s.depth;
  if (width == 1) {
    text_line(x, "const int row = m, column = 0;");
  } else if (l->s.along) {
    text_line(x, "const int row = m %% %d, column = m / %d;", depth, depth);
  } else if (l->s.split && width > l->inner && l->inner < WARP) { /* whole rows of lines */
    text_line(x, "const int row = m / %lld %% %d;", l->inner, depth);
    text_line(x, "const int column = m / %lld * %lld + m %% %lld;", l->inner * depth, l->inner,
              l->inner);
  } else {
    text_line(x, "const int row = m / %d, column = m %% %d;", width, width);
  }
}

/* Opens a loop over the elements of a tile: row and column in it, and place `at` of all. A thread
   has the same elements each time. */
static void open_tile(const Lines *l, Text *x) {
  Gen *g = l->g;
  const char *I = g->index;
  const int all = l->s.width * l->s.depth, each = (all + l->s.threads - 1) / l->s.threads;
  if (each > 1) {
    text_line(x, "#pragma unroll %d", each < 16 ? each : 16);
    text_open(x, "for (int q = 0; q < %d; q++) {", each);
    text_line(x, "const int m = q * %d + (int)threadIdx.x;", l->s.threads);
  } else {
    text_open(x, "{");
    text_line(x, "const int m = (int)threadIdx.x;");
  }
  place_in_tile(l, x);
  text_line(x, "const %s line = line0 + column;", I);
  const char *around = arena_printf(g->a, "line / %lld", l->inner), *i = "i0 + row";
  if (l->s.split) {
    text_line(x, "const %s chunk = line / %lld %% %lld;", I, l->inner, l->chunks);
    around = arena_printf(g->a, "line / %lld", l->inner * l->chunks);
    i = arena_printf(g->a, "chunk * %d + i0 + row", SCAN_CHUNK);
  }
  text_line(x, "const %s i = %s;", I, i);
  Text in = text_new(g->a, 0);
  if (all % l->s.threads) text_add(&in, "m < %d", all);
  if (line_ends_within(l)) text_add(&in, "%si < %s", in.s.n ? " && " : "", l->length);
  if (lines_end_within(l)) text_add(&in, "%sline < %s", in.s.n ? " && " : "", l->lines);
  open_if(x, &in);
  const char *place = l->backward ? arena_printf(g->a, "(%s - 1 - i)", l->length) : "i";
  if (l->inner == 1)
    text_line(x, "const %s at = %s * %lld + %s;", I, around, l->n, place);
  else
    text_line(x, "const %s at = %s * %lld + line %% %lld + %s * %lld;", I, around, l->n * l->inner,
              l->inner, place, l->inner);
}

static void close_tile(Text *x) {
  text_close(x, "}");
  text_close(x, "}");
}

/* The element of a tile at a row and a column. */
static const char *element(const Lines *l, const char *row, const char *column) {
  if (l->s.width == 1) return arena_printf(l->g->a, "tile[%s]", row);
  return arena_printf(l->g->a, "tile[%s * %d + %s]", row, grid_tile_stride(l->s.width), column);
}

static void load_tile(const Lines *l, Text *x) {
  Gen *g = l->g;
  open_tile(l, x);
  const char *load = scalar_load(g->a, l->t->dtype, "in0", "at");
  const char *inside = inside_text(g, l->gr->e, l->t, "at");
  if (inside) load = arena_printf(g->a, "%s ? %s : (%s)0", inside, load, l->T);
  text_line(x, "%s = %s;", element(l, "row", "column"), load);
  close_tile(x);
}

static void store_tile(const Lines *l, Text *x) {
  open_tile(l, x);
  text_line(x, "out0[at] = %s;", scalar_store(l->g->a, l->t->dtype, element(l, "row", "column")));
  close_tile(x);
}

/* Opens what the threads do that have a line of the block. */
static void open_lines(const Lines *l, Text *x) {
  text_open(x, "if ((int)threadIdx.x < %d%s) {", l->s.width,
            lines_end_within(l)
                ? arena_printf(l->g->a, " && line0 + (int)threadIdx.x < %s", l->lines)
                : "");
}

/* A whole line goes from chunk to chunk, and from group to group of them. */
static void next_chunk(const Lines *l, Text *x, const char *start) {
  text_open(x, "if (i0 && i0 %% %d == 0) {", SCAN_CHUNK);
  text_line(x, "before += sum;");
  text_line(x, "sum = %s;", start);
  if (l->n > SCAN_CHUNK * SCAN_GROUP) {
    text_open(x, "if (i0 %% %d == 0) {", SCAN_CHUNK * SCAN_GROUP);
    text_line(x, "group += before;");
    text_line(x, "before = %s;", start);
    text_close(x, "}");
    text_line(x, "base = group + before;");
  } else {
    text_line(x, "base = before;");
  }
  text_close(x, "}");
}

/* A thread adds up the rows of a tile; keep: sums go where the elements were. */
static void add_tile(const Lines *l, Text *x, const char *start, bool keep) {
  const bool chunks = !l->s.split && l->n > SCAN_CHUNK;
  open_lines(l, x);
  if (chunks) next_chunk(l, x, start);
  const char *end = l->length;
  if (l->s.split && line_ends_within(l)) {
    text_line(x, "const %s chunk = (line0 + (int)threadIdx.x) / %lld %% %lld;", l->g->index,
              l->inner, l->chunks);
    end = arena_printf(l->g->a, "%s - chunk * %d", l->length, SCAN_CHUNK);
  }
  text_line(x, "#pragma unroll 8");
  text_open(x,
            line_ends_within(l) ? "for (int h = 0; h < %d && i0 + h < %s; h++) {"
                                : "for (int h = 0; h < %d; h++) {",
            l->s.depth, end);
  const char *at = element(l, "h", "(int)threadIdx.x");
  text_line(x, "sum += %s;", at);
  if (keep) text_line(x, chunks || l->s.split ? "%s = base + sum;" : "%s = sum;", at);
  text_close(x, "}");
  text_close(x, "}");
}

static void open_kernel(const Lines *l, Kernel *k, const char *start) {
  const char *I = l->g->index;
  Text *x = &k->text;
  k->block = l->s.threads;
  k->grid = l->s.blocks;
  kernel_schedule(k, &grid_cumsum_kind, &l->s, sizeof l->s);
  text_line(x, "const %s line0 = (%s)blockIdx.x * %d;", I, I, l->s.width);
  text_line(x, "__shared__ %s tile[%d];", l->T, l->s.depth * grid_tile_stride(l->s.width));
  text_line(x, "%s sum = %s;", l->T, start);
}

static void open_tiles(const Lines *l, Text *x) {
  if (once(l))
    text_line(x, "const %s i0 = 0;", l->g->index);
  else if (l->s.split)
    text_open(x, "for (int i0 = 0; i0 < %d; i0 += %d) {", SCAN_CHUNK, l->s.depth);
  else
    text_open(x, "for (%s i0 = 0; i0 < %s; i0 += %d) {", l->g->index, l->length, l->s.depth);
}

static const char *chunk_sum(const Lines *l, const char *line) {
  return arena_printf(l->g->a, "((%s *)scratch)[%s]", l->T, line);
}

/* The launch that sums chunks. */
static void sum_chunks(const Lines *l, Kernel *k, const char *start) {
  Text *x = &k->text;
  open_kernel(l, k, start);
  open_tiles(l, x);
  load_tile(l, x);
  text_line(x, "block_sync();");
  add_tile(l, x, start, false);
  if (!once(l)) {
    text_line(x, "block_sync();");
    text_close(x, "}");
  }
  open_lines(l, x);
  text_line(x, "%s = sum;", chunk_sum(l, "line0 + (int)threadIdx.x"));
  text_close(x, "}");
}

/* Sums of chunks become those of all in front of them: a thread adds up a group, the first one
   those of groups, and each goes through its group again. A block does a line, so many groups at a
   time as it has threads. */
static void add_chunks(const Lines *l, Kernel *k, const char *start) {
  const char *I = l->g->index, *T = l->T;
  Text *x = &k->text;
  const char *chunks = text_ceil_div(l->g->a, l->length, SCAN_CHUNK);
  if (text_is_number(l->length)) chunks = arena_printf(l->g->a, "%lld", l->chunks);
  const int threads = l->s.group_threads;
  k->block = threads;
  k->grid = l->s.outer * l->inner;
  kernel_schedule(k, &grid_cumsum_kind, &l->s, sizeof l->s);
  text_line(x, "const %s line = blockIdx.x;", I);
  if (!text_is_number(l->lines))
    text_line(x, "if (line * %lld >= %s) return;", l->chunks, l->lines);
  text_line(x, "%s *const of = (%s *)scratch + line / %lld * %lld + line %% %lld;", T, T, l->inner,
            l->inner * l->chunks, l->inner);
  text_line(x, "__shared__ %s before[%d];", T, threads);
  text_line(x, "%s all = %s;", T, start);
  text_open(x, "for (int g0 = 0; g0 * %d < %s; g0 += %d) {", SCAN_GROUP, chunks, threads);
  text_line(x, "const int c0 = (g0 + (int)threadIdx.x) * %d, end = smaller(c0 + %d, (int)(%s));",
            SCAN_GROUP, SCAN_GROUP, chunks);
  text_line(x, "%s sum = %s;", T, start);
  text_line(x, "#pragma unroll 8");
  text_line(x, "for (int c = c0; c < end; c++) sum += of[(%s)c * %lld];", I, l->inner);
  text_line(x, "before[threadIdx.x] = sum;");
  text_line(x, "block_sync();");
  text_open(x, "for (int q = 0; threadIdx.x == 0 && q < %d && (g0 + q) * %d < %s; q++) {", threads,
            SCAN_GROUP, chunks);
  text_line(x, "const %s own = before[q];", T);
  text_line(x, "before[q] = all;");
  text_line(x, "all += own;");
  text_close(x, "}");
  text_line(x, "block_sync();");
  text_line(x, "const %s group = before[threadIdx.x];", T);
  text_line(x, "sum = %s;", start);
  text_line(x, "#pragma unroll 8");
  text_open(x, "for (int c = c0; c < end; c++) {");
  text_line(x, "const %s own = of[(%s)c * %lld];", T, I, l->inner);
  text_line(x, "of[(%s)c * %lld] = group + sum;", I, l->inner);
  text_line(x, "sum += own;");
  text_close(x, "}");
  text_close(x, "}");
}

/* The launch that writes sums: of whole lines, or of chunks of which a launch has summed what is in
   front. */
static void write_sums(const Lines *l, Kernel *k, const char *start) {
  Text *x = &k->text;
  open_kernel(l, k, start);
  if (l->s.split) {
    text_line(x, "%s base = %s;", l->T, start);
    open_lines(l, x);
    text_line(x, "base = %s;", chunk_sum(l, "line0 + (int)threadIdx.x"));
    text_close(x, "}");
  } else if (l->n > SCAN_CHUNK) {
    text_line(x, "%s before = %s, base = %s;", l->T, start, start);
    if (l->n > SCAN_CHUNK * SCAN_GROUP) text_line(x, "%s group = %s;", l->T, start);
  }
  open_tiles(l, x);
  load_tile(l, x);
  text_line(x, "block_sync();");
  add_tile(l, x, start, true);
  text_line(x, "block_sync();");
  store_tile(l, x);
  if (!once(l)) text_close(x, "}");
}

static GridCumsumSchedule schedule_of(const CudaTarget *target, const Group *gr) {
  const Type *t = value_type(gr->e, gr->in[0]);
  const int axis = (int)gr->root->attr[AT_AXIS].i;
  CumsumShape s = {.outer = 1, .elements = t->dim[axis], .inner = 1};
  for (int i = 0; i < axis; i++) s.outer *= t->dim[i];
  for (int i = axis + 1; i < t->rank; i++) s.inner *= t->dim[i];
  return grid_cumsum_schedule(&target->machine, &s,
                              t->dtype == DT_F64 || t->dtype == DT_I64 ? 8 : 4);
}

uint64_t cuda_cumsum_scratch(const CudaTarget *t, const Group *gr) {
  return schedule_of(t, gr).scratch;
}

void cuda_cumsum(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  const Type *t = value_type(gr->e, gr->in[0]);
  const int axis = (int)op->attr[AT_AXIS].i;
  Lines l = {.g = g,
             .gr = gr,
             .t = t,
             .s = schedule_of(cuda_target(g->target), gr),
             .n = t->dim[axis],
             .chunks = cumsum_chunks(t->dim[axis]),
             .backward = op->attr[AT_BACKWARD].i,
             .T = dtype_compute(t->dtype)};
  l.inner = l.s.inner;
  Kernel *k = cuda_kernel(g, gr);
  k->flops = (uint64_t)t->numel;
  if (t->numel == 0) {
    k->block = l.s.threads;
    k->grid = l.s.blocks;
    kernel_schedule(k, &grid_cumsum_kind, &l.s, sizeof l.s);
    return;
  }
  const long long each = l.s.split ? l.inner * l.chunks : l.inner;
  l.length = dims_text(g, gr->e, t, axis, axis + 1);
  l.lines = arena_printf(g->a, "%lld", (long long)l.s.outer * each);
  if (dims_bounded(t, 0, axis))
    l.lines =
        text_product(g->a, prefix_axes_text(g, gr->e, t, axis), arena_printf(g->a, "%lld", each));
  const char *start = reduce_start(g, OP_SUM, t->dtype, l.n);
  if (l.s.split) {
    sum_chunks(&l, k, start);
    k = cuda_kernel_next(g, gr, "before");
    add_chunks(&l, k, start);
    k = cuda_kernel_next(g, gr, "sums");
  }
  write_sums(&l, k, start);
}
